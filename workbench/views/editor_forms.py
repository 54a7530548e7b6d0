"""What the schedule editor offers at a box: the primitives, arguments that work, and the fields of their forms."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from itertools import chain, islice
from typing import Annotated, Any, Final, Literal

from ..schedule.arguments import Between
from ..schedule.errors import ScheduleError
from ..schedule.references import BlockRV, LoopRV, Reference
from ..schedule.registry import PRIMITIVES, Primitive, names_for
from ..schedule.schedule import Schedule
from ..target.target import Target
from ..tir import nodes as t
from .editor_boxes import key_of
from .schema import Parameter, ParameterKind
from .strings.tables import say

_TRIES: Final = 24
"""Combinations of arguments that are tried for one primitive at one box."""
_INNER: Final = 4
"""Iterations that a split puts into the inner loop, where they fit."""
_CATEGORIES: Final = ("loop", "place", "inline", "cache", "reduction", "tile", "layout", "annotation")
"""The order of the groups in which primitives are offered; others follow."""
_FIRST: Final = ("split", "reorder", "vectorize", "parallel", "unroll", "compute_at", "cache_write")
"""The primitives that most schedules are made of; each stands first in its group."""
_LAST: Final = ("add_unit_loop",)
"""Legal nearly everywhere and seldom of use: what few things are legal beside it is looked for first."""


def offered() -> list[Primitive]:
    """The primitives that the editor offers."""
    return sorted(
        (entry for entry in PRIMITIVES.values() if entry.category not in ("get", "sample", "other")),
        key=lambda entry: (
            _rank(_CATEGORIES, entry.category), entry.name in _LAST, _rank(_FIRST, entry.name), entry.name,
        ),
    )  # fmt: skip


def _rank(order: tuple[str, ...], name: str) -> int:
    return order.index(name) if name in order else len(order)


def unfit(entry: Primitive, target: Target) -> str:
    """Why a primitive is of no use for a target; empty where it is."""
    return say.schedule.needs_threads if entry.name == "bind" and not target.thread_axes else ""


def first_working(
    schedule: Schedule, entry: Primitive, reference: Reference
) -> tuple[ScheduleError | None, dict[str, Any]]:
    """None and arguments that work at `reference`; or, with none found, the first refusal and what was refused."""
    first: ScheduleError | None = None
    refused: dict[str, Any] = {}
    tried = islice(schedule.candidates(entry, reference), _TRIES)
    for arguments in chain(_fitting(schedule, entry, reference), tried):
        values = list(arguments.items())
        leading = entry.parameters[0]
        spread = arguments[leading.name] if leading.kind is leading.VAR_POSITIONAL else (arguments[leading.name],)
        refusal = schedule.why_not(entry.name, *spread, **dict(values[1:]))
        if refusal is None:
            return None, arguments
        if first is None:
            first, refused = refusal, arguments
    return first or schedule.first_refusal(entry, reference), refused


def _fitting(schedule: Schedule, entry: Primitive, reference: Reference) -> list[dict[str, Any]]:
    """Of a split, factors that fit the loop: four iterations inside where these divide it, else its own divisor."""
    if entry.name != "split":
        return []
    extent = getattr(schedule.state.tree.loops[id(reference.target)].loop.extent, "value", None)
    if not isinstance(extent, int) or extent < 2 or (extent > _INNER and extent % _INNER == 0):
        return []  # as `split` itself suggests
    inner = next((factor for factor in range(2 * _INNER, 1, -1) if factor < extent and extent % factor == 0), None)
    if inner is None and extent > _INNER:
        return []  # nothing divides it: a guard it is
    first, second = entry.parameters[:2]
    return [{first.name: reference, second.name: [None, inner or extent]}]


def shown_arguments(entry: Primitive, arguments: Mapping[str, Any], boxes: Mapping[Any, str]) -> dict[str, Any]:
    """Arguments as the form holds them: references as boxes, without the selection."""

    def shown(value: Any) -> Any:
        if isinstance(value, Reference):
            return boxes.get(key_of(value), "")
        return [shown(item) for item in value] if isinstance(value, (list, tuple)) else value

    return {
        item.name: shown(arguments[item.name])
        for position, item in enumerate(entry.parameters)
        if item.name in arguments and (position > 0 or item.kind is item.VAR_POSITIONAL)
    }


def chain_of(schedule: Schedule, reference: Reference, boxes: Mapping[Any, str]) -> list[str]:
    """The boxes of the loops that stand directly in one another around and inside a loop, outermost first."""
    return [boxes[id(loop.var)] for loop in _nest(schedule, reference)]


def movable(schedule: Schedule, reference: Reference, boxes: Mapping[Any, str]) -> list[str]:
    """Of `chain_of` the loops that may change places with this one: up to the next not serial one on either side."""
    nest = _nest(schedule, reference)
    at = next(index for index, loop in enumerate(nest) if loop.var is reference.target)
    others = [index for index, loop in enumerate(nest) if loop.kind is not t.ForKind.SERIAL]
    first = max((index + 1 for index in others if index <= at), default=0)
    last = min((index for index in others if index > at), default=len(nest))
    return [boxes[id(loop.var)] for loop in nest[first:last]]


def _nest(schedule: Schedule, reference: Reference) -> list[t.For]:
    site = schedule.state.tree.loops[id(reference.target)]
    chain = [site.loop]
    for outer in reversed([part for part in site.path if isinstance(part, t.For)]):
        if outer.body is not chain[0]:
            break
        chain.insert(0, outer)
    while isinstance(chain[-1].body, t.For):
        chain.append(chain[-1].body)
    return chain


def reason_of(refusal: ScheduleError) -> str:
    return say.schedule.refusal(refusal.message, refusal.hint)


def option_form(primitive: str) -> tuple[Parameter, ...]:
    """The fields of a primitive's form, by the primitive's name; see `parameters_of`.

    Raises `WorkbenchError` for a name that the table does not know.
    """
    return parameters_of(PRIMITIVES[primitive])


def parameters_of(entry: Primitive) -> tuple[Parameter, ...]:
    """The fields of a primitive's form; the first parameter is the selection."""
    made: list[Parameter] = []
    for position, item in enumerate(entry.parameters):
        annotation = entry.annotations[item.name]
        many = item.kind is item.VAR_POSITIONAL
        if position == 0 and not many:
            continue
        kind, choices = _kind(annotation, many)
        suggested = entry.values_for(item.name)
        default = item.default if item.default is not item.empty else suggested[0] if suggested else None
        made.append(Parameter(item.name, kind, "", default, choices, item.default is item.empty))
    return tuple(made)


def _kind(annotation: Any, many: bool) -> tuple[ParameterKind, tuple[str, ...]]:
    """How the form asks for an argument of this annotation."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        names = names_for(annotation)
        return ("choice", names) if names else _kind(arguments[0], many)
    if origin is Literal:
        return "choice", tuple(str(choice) for choice in arguments)
    if origin in (list, tuple):
        inner = _kind(_plain_item(arguments[0]), False)[0]
        return ("loops" if inner == "loop" else "integers" if inner == "integer" else "text"), ()
    if annotation is LoopRV:
        return ("loops" if many else "loop"), ()
    if LoopRV in arguments:
        return "loop", ()
    if annotation is BlockRV or BlockRV in arguments:
        return "block", ()
    simple: dict[Any, ParameterKind] = {int: "integer", float: "number", bool: "boolean"}
    return simple.get(annotation, "text"), ()


def _plain_item(annotation: Any) -> Any:
    """The item type of a list, None left out: ``Factor | None`` is a Factor."""
    kept = [part for part in typing.get_args(annotation) if part is not type(None) and not isinstance(part, Between)]
    return kept[0] if kept else annotation


def is_positional(item: Any) -> bool:
    return item.kind is item.VAR_POSITIONAL or (item.kind is item.POSITIONAL_OR_KEYWORD and item.default is item.empty)


def spread(item: Any, values: Mapping[str, Any]) -> list[Any]:
    if item.name not in values:
        return []
    if item.kind is item.VAR_POSITIONAL:
        return list(values[item.name])
    return [values[item.name]] if is_positional(item) else []
