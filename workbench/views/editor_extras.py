"""What the schedule editor answers beside its picture: previews, drops, ranks, times, the tree of schedules, replays.

Everything is tried on copies; only `dropped`, `go` and `replay` answer with a schedule that is then taken over.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.errors import WorkbenchError
from ..core.source import PARSER_FAILURES, literal
from ..core.walks import parents_first
from ..driver.measure import measure
from ..schedule.errors import ScheduleError
from ..schedule.ranking import cycles_of
from ..schedule.references import BlockRV, LoopRV
from ..schedule.registry import PRIMITIVES
from ..schedule.schedule import Schedule
from .editor_boxes import meant, referenced, tree_of
from .editor_forms import chain_of, reason_of
from .strings.tables import say

_CODE_LIMIT: Final = 100_000
PATIENCE: Final = 0.05
"""Seconds that the runs of one option may take, if one run does not take longer."""


def previewed(made: Schedule, before: Schedule) -> dict[str, Any]:
    """A schedule that is not applied yet, for the picture beside the form: its boxes, those that are new, its code."""
    old = _names(tree_of(before.func, referenced(before)[1]))
    tree = tree_of(made.func, referenced(made)[1])
    code = made.moves.done[-1].code if made.moves.done else ""
    return {
        "tree": [node.to_json() for node in tree],
        "fresh": sorted({name for name, _, _ in _names(tree) - old}),
        "code": code,
    }


def _names(tree: Any) -> set[tuple[str, str, str]]:
    return {(node.name, node.extent, node.loop_kind) for node in parents_first(tree, lambda one: one.children)}


def rank_options(made: Mapping[str, Schedule], now: Schedule) -> dict[str, dict[str, Any]]:
    """For each option its place among all by the modelled cycles; 0 where the model says nothing.

    The cycles are good for an order, not for a factor, so that none is told.
    """
    cycles = {name: cycles_of(schedule) for name, schedule in made.items()}
    before = cycles_of(now)
    levels = sorted({count for count in cycles.values() if count is not None})
    return {
        name: {
            "rank": levels.index(count) + 1 if count is not None else 0,
            "of": len(levels),
            "gains": count is not None and before is not None and count < before,
        }
        for name, count in cycles.items()
    }


def time_of(schedule: Schedule, target: Any = None) -> dict[str, Any]:
    """A schedule's time on this machine, compiled for `target`, or why there is none."""
    try:
        found = measure(schedule, target, patience=PATIENCE)
    except WorkbenchError as error:
        return {"seconds": None, "rate": 0.0, "text": error.message}
    return {"seconds": found.seconds, "rate": found.rate, "text": str(found)}


# --- dragging ---


def targets_of(schedule: Schedule, selection: str) -> dict[str, str | None]:
    """For each loop that a box can be dropped on: None, or why it is refused."""
    made, references = referenced(schedule)
    held = references.get(selection)
    if held is None:
        raise WorkbenchError("E-SCHEDULE-SELECTION", "there is no such loop or block any more", found=selection[:60])
    boxes = {id(one.target): box for box, one in references.items() if isinstance(one, LoopRV)}
    found: dict[str, str | None] = {}
    if isinstance(held, BlockRV):
        for target in made.drop_targets(held):
            box = boxes.get(id(target.loop.var))
            if box is not None:
                refusals = (target.compute_at, target.reverse_compute_at)
                found[box] = None if None in refusals else reason_of(_nearer(*refusals))
        return found
    for box in references:
        if box != selection and box.startswith("l:"):
            order = _order(made, references, selection, box)
            if not order:
                found[box] = say.schedule.not_nested
                continue
            refusal = made.why_not("reorder", *(references[one] for one in order))
            found[box] = None if refusal is None else reason_of(refusal)
    return found


def _nearer(one: ScheduleError | None, other: ScheduleError | None) -> ScheduleError:
    """Of two refusals the one that speaks of the loop: a block that feeds nothing is refused for that reason."""
    assert one is not None and other is not None
    return one if len(one.message) >= len(other.message) else other


def _order(schedule: Schedule, references: Mapping[str, Any], moved: str, onto: str) -> list[str]:
    """The loops from one to the other with `moved` in the place of `onto`; empty where there is no such nest."""
    boxes = {id(one.target): box for box, one in references.items() if isinstance(one, LoopRV)}
    chain = chain_of(schedule, references[moved], boxes)
    if onto not in chain:
        return []
    here, there = chain.index(moved), chain.index(onto)
    between = chain[min(here, there) : max(here, there) + 1]
    rest = [box for box in between if box != moved]
    return [moved, *rest] if there < here else [*rest, moved]


def dropped(schedule: Schedule, selection: str, onto: str) -> Schedule:
    """The schedule after a box was dropped on a loop: reorder, or compute_at.  Raises `ScheduleError`."""
    prepared, references = referenced(schedule)
    if selection not in references or not isinstance(references.get(onto), LoopRV):
        raise WorkbenchError("E-SCHEDULE-SELECTION", "there is no such loop or block any more", found=selection[:60])
    made = schedule.copy()
    if isinstance(references[selection], BlockRV):
        pair = references[selection], references[onto]
        ways = [name for name in ("compute_at", "reverse_compute_at") if prepared.why_not(name, *pair) is None]
        name = ways[0] if ways else "compute_at"
        getattr(made, name)(meant(made, selection), meant(made, onto))
        return made
    order = _order(prepared, references, selection, onto)
    if not order:
        raise WorkbenchError(
            "E-SCHEDULE-DROP", "these two loops do not stand directly in one another",
            expected="a loop of the same nest", kept="the schedule is unchanged",
        )  # fmt: skip
    made.reorder(*(meant(made, box) for box in order))
    return made


# --- the tree of schedules ---


def history_of(schedule: Schedule, rates: Mapping[str, float]) -> dict[str, Any]:
    """Every state that a move has led to: number, the one before, the move, its rate where it was measured."""
    entries: list[dict[str, Any]] = []
    for number, parent, move in schedule.moves.tree:
        state = schedule.moves.state(number)
        entries.append({
            "number": number, "parent": parent, "name": move.name if move else say.schedule.as_it_began,
            "code": move.code if move else "", "rate": rates.get(state.fingerprint, 0.0),
        })  # fmt: skip
    return {"states": entries, "here": schedule.moves.here}


# --- the code, edited ---


def replay(schedule: Schedule, code: str) -> Schedule:
    """The schedule that a text of calls of `sch` leads to, from the beginning.

    Raises `WorkbenchError` as `carry_out` does.
    """
    made = schedule.copy()
    made.restart()
    carry_out(made, code)
    return made


def carry_out(schedule: Schedule, code: str) -> None:
    """Do what a text of calls of `sch` says.

    Only assignments and calls of primitives with names, literals and lists are understood; nothing else is run.
    Raises `WorkbenchError` with the line.
    """
    if len(code) > _CODE_LIMIT:
        raise WorkbenchError("E-SCHEDULE-CODE", "the text is too long", found=f"{len(code):,} characters")
    try:
        lines = ast.parse(code).body
    except PARSER_FAILURES as error:
        raise WorkbenchError(
            "E-SCHEDULE-CODE", "this is not Python", where=f"line {getattr(error, 'lineno', 0) or 1}",
            found=(str(error) or say.schedule.nested_deeply)[:80], kept="the schedule is unchanged",
        ) from None  # fmt: skip
    names: dict[str, Any] = {}
    for line in lines:
        try:
            _run(schedule, line, names)
        except WorkbenchError as error:
            error.where = f"line {line.lineno}" + (f": {error.where}" if error.where else "")
            raise


def _run(made: Schedule, line: ast.stmt, names: dict[str, Any]) -> None:
    call = line.value if isinstance(line, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or (isinstance(line, ast.Assign) and len(line.targets) != 1):
        raise _unknown(line)
    name = call.func.attr if isinstance(call.func, ast.Attribute) and _is_schedule(call.func.value) else ""
    if name not in PRIMITIVES:
        raise _unknown(line)
    positional: list[Any] = []
    for item in call.args:
        starred = isinstance(item, ast.Starred)
        value = _value(item.value if isinstance(item, ast.Starred) else item, names)
        positional.extend(value) if starred else positional.append(value)
    named = {item.arg: _value(item.value, names) for item in call.keywords if item.arg}
    function: Callable[..., Any] = getattr(made, name)
    results = function(*positional, **named)
    if isinstance(line, ast.Assign):
        _assign(line.targets[0], results, names)


def _is_schedule(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "sch"


def _assign(target: ast.expr, results: Any, names: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        names[target.id] = results
        return
    items = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    given = list(results) if isinstance(results, (list, tuple)) else [results]
    if len(items) != len(given) or not all(isinstance(item, ast.Name) for item in items):
        raise WorkbenchError(
            "E-SCHEDULE-CODE", "the names do not fit what the call gives", expected=f"{len(given)} names on the left"
        )
    names.update({item.id: value for item, value in zip(items, given, strict=True) if isinstance(item, ast.Name)})


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise WorkbenchError(
                "E-SCHEDULE-CODE", "this name has no meaning here", found=node.id[:60],
                expected="a name from a line above", kept="the schedule is unchanged",
            )  # fmt: skip
        return names[node.id]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, names) for item in node.elts]
    try:
        return literal(node)
    except ValueError:
        raise _unknown(node) from None


def _unknown(node: ast.AST) -> WorkbenchError:
    return WorkbenchError(
        "E-SCHEDULE-CODE", "this line is not understood", found=_written(node)[:80],
        expected="x, y = sch.primitive(name, [numbers])", kept="the schedule is unchanged",
    )  # fmt: skip


def _written(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return say.schedule.nested_deeply
