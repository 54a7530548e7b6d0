"""Commands on what computes a kernel: its candidates, and going to a session in which another one computes it.

    screen.ask("candidates", kernel="fused_nn_conv2d")                   # a `views.candidates.CandidatesView`
    screen.ask("candidates.choose", kernel="fused_nn_conv2d", name="conv2d.blocks", config={"columns": 4})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from workbench.driver.choices import choosing_call
from workbench.ui.protocol import Answer, argument
from workbench.views.candidates import candidates_view

if TYPE_CHECKING:
    from workbench.driver.session import Session

CHOOSE: Final = "candidates.choose"


def candidate_commands(
    shown: Callable[[], Session], go: Callable[[Session, str], object]
) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The commands by name; `go(session, call)` shows another session."""

    def listed(args: dict[str, Any]) -> Answer:
        return Answer("", candidates_view(shown(), argument(args, "kernel", str)))

    def choose(args: dict[str, Any]) -> Answer:
        """Without a name and numbers, the cheapest.  Raises `WorkbenchError` for what cannot compute the kernel."""
        kernel, name = argument(args, "kernel", str), argument(args, "name", str, "")
        config = argument(args, "config", dict, {})
        session = shown()
        made = session.choose(kernel, name, **config)
        if made.plan != session.plan:  # choosing what is chosen already is no change
            go(made, choosing_call(kernel, name, config.items()))
        return Answer("")

    return {"candidates": listed, CHOOSE: choose}
