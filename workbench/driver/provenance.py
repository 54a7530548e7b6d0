"""Walking origins through the history: where a thing came from, and what it became."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..core.origin import ImportedFrom, OriginTable

if TYPE_CHECKING:
    from .history import Step
    from .session import Session


def _computed(session: Session) -> list[Step]:
    """The steps computed so far, in order."""
    found = (session.history.peek(session.plan, index) for index in range(len(session.plan)))
    return [step for step in found if step is not None]


def origins(session: Session, thing: Any) -> tuple[Any, ...]:
    """What `thing` came from: labels of the imported file where they are known, else the earliest nodes."""
    frontier: dict[int, Any] = {id(thing): thing}
    for step in reversed(_computed(session)):
        frontier = _back(frontier.values(), step.origins)
    return tuple(_labels_first(frontier.values()))


def _back(things: Iterable[Any], table: OriginTable) -> dict[int, Any]:
    """The things of the program before a step that `things` of the program after it derive from."""
    result: dict[int, Any] = {}
    seen: set[int] = set()
    stack = list(things)
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        sources = table.of(current)
        if sources and not table.is_old(current):
            stack.extend(sources)
        else:
            result[id(current)] = current
    return result


def _labels_first(things: Iterable[Any]) -> list[Any]:
    found = list(things)
    labels = {thing for thing in found if isinstance(thing, ImportedFrom)}
    return sorted(labels, key=lambda label: label.name) if labels else found


def became(session: Session, thing: Any) -> dict[str, tuple[Any, ...]]:
    """What `thing` (a node, an `ImportedFrom`, or the name of one) became in each step computed so far."""
    steps = _computed(session)
    current: dict[int, Any] = {id(thing): thing}
    wanted = thing if isinstance(thing, (str, ImportedFrom)) else None
    result: dict[str, tuple[Any, ...]] = {}
    for label, step in zip(session.labels, steps, strict=False):
        current = _forward(current, step, wanted)
        result[label] = tuple(current.values())
    return result


def _forward(current: dict[int, Any], step: Step, wanted: str | ImportedFrom | None) -> dict[int, Any]:
    """The things of the program after a step that stem from `current`."""
    descendants = dict(current)
    pending = [(node, sources) for node, sources in step.origins.items() if not step.origins.is_old(node)]
    grown = True
    while grown:
        grown = False
        for node, sources in pending:
            if id(node) not in descendants and any(
                id(source) in descendants or _is_label(source, wanted) for source in sources
            ):
                descendants[id(node)] = node
                grown = True
    present = {id(node) for node in step.stage.module.nodes()}
    return {key: node for key, node in descendants.items() if key in present}


def _is_label(source: Any, wanted: str | ImportedFrom | None) -> bool:
    if wanted is None or not isinstance(source, ImportedFrom):
        return False
    return source == wanted or source.name == wanted
