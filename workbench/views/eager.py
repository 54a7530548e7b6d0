"""What a screen computes before anybody asks: the passes of a graph, unless the graph is very large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..driver.session import Session

_NODES: Final = "nodes"
"""Where their number stands in a step's memo."""
_CHEAP: Final = 4_000
"""Nodes of a graph whose passes take less than a second together."""


def runs_graph_passes(session: Session) -> bool:
    """Whether a screen runs the graph passes of a session for its first picture."""
    imported = session.history.step(session.actions, 0)
    if _NODES not in imported.memo:
        imported.memo[_NODES] = sum(1 for _ in imported.stage.module.nodes())
    return imported.memo[_NODES] <= _CHEAP
