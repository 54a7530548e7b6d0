"""What the calls of a graph are, for searching, telling and marking them: operators, attributes, shapes, work.

    calls = calls_of(main)
    calls[0].place                      # where its box is: "2.0.1" (`graph_groups.Box.id`)
    calls[0].facts["channels"]          # 32
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..core.dtype import DataType
from ..core.errors import WorkbenchError, nearest
from ..core.node import map_children, post_order
from ..core.origin import OriginTable
from ..core.per_node import per_node
from ..core.source import literal
from ..core.walks import parents_first
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from ..relay.ir.types import TensorType
from .graph_groups import Box, boxes_of
from .schema import SCHEMA_VERSION, View

Value = int | float | str | bool
_TEXT: Final = 120
"""Characters of an attribute's value that are sent."""


@dataclass(frozen=True, slots=True)
class CallView(View):
    """One operator's call, in a box of the graph."""

    place: str
    """The id of the innermost box that holds it."""
    number: int
    """Its place among the operators of that box."""
    op: str
    facts: Mapping[str, Value]
    """Attributes by name, and what is computed: dtype, shape, out (bytes), flops."""
    doc: str
    attributes: tuple[str, ...]
    """Which of the facts are attributes, in the operator's order."""


@dataclass(frozen=True, slots=True)
class CallsView(View):
    """The calls of a graph, in order."""

    layer: str
    step: str
    calls: tuple[CallView, ...]
    version: int = SCHEMA_VERSION


def calls_of(main: r.Function) -> Iterator[CallView]:
    """The calls of operators, in order; those in fused functions stand in the box of the function's call."""
    for box in _leaves(boxes_of(main)):
        for number, call in enumerate(operator_calls(box.nodes[0])):
            op = _operator(call)
            yield CallView(box.id, number, op.name, _facts(call), _doc(op), tuple(op.attributes))


def call_at(main: r.Function, place: str, number: int) -> r.Call:
    """The call that a `CallView` tells of.  Raises `WorkbenchError` where there is none like that."""
    return _call_in_box(main, place, number)[1]


def _call_in_box(main: r.Function, place: str, number: int) -> tuple[r.Call, r.Call]:
    """The same, behind the call that its box is: another one where that calls a fused function."""
    boxes = {box.id: box for box in _leaves(boxes_of(main))}
    calls = operator_calls(boxes[place].nodes[0]) if place in boxes else []
    if not 0 <= number < len(calls):
        raise WorkbenchError("E-UI-ARGUMENT", "the graph has no such call", found=f"{place[:20]}, {number}")
    return boxes[place].nodes[0], calls[number]


def _leaves(boxes: Sequence[Box]) -> Iterator[Box]:
    return (box for box in parents_first(boxes, lambda one: one.children) if not box.children)


def operator_calls(call: r.Call) -> list[r.Call]:
    """The calls of operators that a call is: itself, or those of the fused function that it calls."""
    if isinstance(call.op, Operator):
        return [call]
    if isinstance(call.op, r.Function):
        inner = [one for one in post_order(call.op.body) if isinstance(one, r.Call)]
        return [one for one in inner if isinstance(one.op, Operator)]
    return []


def _operator(call: r.Call) -> Operator:
    """What a call of `operator_calls` calls."""
    assert isinstance(call.op, Operator)
    return call.op


def _doc(op: Operator) -> str:
    return (type(op).__doc__ or "").strip().split("\n")[0]


def _facts(call: r.Call) -> dict[str, Value]:
    facts: dict[str, Value] = {name: _plain(value) for name, value in _operator(call).attributes.items()}
    kind = call.type_or_none
    if isinstance(kind, TensorType):
        facts |= {"shape": "x".join(map(str, kind.shape)), "dtype": str(kind.dtype)}
        if all(isinstance(extent, int) for extent in kind.shape):
            facts["out"] = kind.size * max(1, DataType(str(kind.dtype)).bits // 8)
    work = work_of(call)
    if work is not None:
        facts["flops"] = work
    return facts


@per_node
def work_of(call: object) -> int | None:
    """The arithmetic of one operator's call; None for anything else, and where types or extents are not known."""
    if not isinstance(call, r.Call) or not isinstance(call.op, Operator):
        return None
    kinds = [argument.type_or_none for argument in call.args]
    if None in kinds:
        return None
    try:
        return int(call.op.flops(*kinds))
    except (WorkbenchError, TypeError, ValueError):  # symbolic extents
        return None


def _plain(value: Any) -> Value:
    if isinstance(value, (bool, int, float)):
        return value if value == value and abs(value) != float("inf") else str(value)
    return str(value)[:_TEXT]


# --- what a step changed ---


def changed_calls(before: r.Function, after: r.Function, origins: OriginTable) -> frozenset[int]:
    """The identities of calls that a step made or altered; those that it only gave new operands are none of them."""
    old = {id(node): node for node in post_order(before)}
    return frozenset(
        id(node)
        for node in post_order(after)
        if isinstance(node, r.Call) and id(node) not in old and not _only_rebuilt(node, origins)
    )


def _only_rebuilt(call: r.Call, origins: OriginTable) -> bool:
    for source in origins.of(call):
        if not isinstance(source, r.Call) or source.op is not call.op or len(source.args) != len(call.args):
            continue
        if all(
            one is other or other in origins.of(one) or _alike(one, other)
            for one, other in zip(call.args, source.args, strict=True)
        ):
            return True
    return False


def _alike(one: r.Expr, other: r.Expr) -> bool:
    """Calls of one operator, whatever its attributes: that these differ is told of the call itself."""
    if not isinstance(one, r.Call) or not isinstance(other, r.Call):
        return False
    return isinstance(one.op, Operator) and type(one.op) is type(other.op)


def changed_in(box: Box, changed: Iterable[int]) -> int:
    """How many calls of a box are among those."""
    wanted = frozenset(changed)
    return sum(id(node) in wanted for node in box.nodes)


# --- changing an attribute ---


def with_attribute(main: r.Function, place: str, number: int, name: str, text: str) -> r.Function:
    """The function with one attribute of one call changed.  Raises `WorkbenchError` where there is none like that.

    Where several calls share the fused function that holds it, the one of the box gets a function of its own.
    """
    box, target = _call_in_box(main, place, number)
    op = _operator(target)
    if name not in op.attributes:
        raise WorkbenchError(
            "E-OPERATOR-ATTRIBUTE", f"{op.name} has no attribute {name[:40]!r}",
            fix=nearest(name, op.attributes),
        )  # fmt: skip
    changed: Any = type(op)(**{**op.attributes, name: _value_of(text, op.attributes[name])})
    if box is not target:
        changed = _calling(box.op, target, changed)
    return _calling(main, box, changed)


def _value_of(text: str, now: Any) -> Any:
    """What a form's text says in place of the value `now`: a literal, or the text itself.

    Infinity is no literal of Python's, and 1e400 is one: a number may be either, written as the facts of a call are.
    """
    try:
        return literal(text)
    except ValueError:
        is_number = isinstance(now, (int, float)) and not isinstance(now, bool)
        return float(text) if is_number and text.strip().lstrip("+-").lower() in ("inf", "infinity") else text


def _calling(function: Any, target: r.Call, op: Any) -> Any:
    """The function in which one call calls something else."""
    done: dict[int, Any] = {}
    for node in post_order(function):
        if node is target:
            done[id(node)] = r.Call(op, tuple(done[id(argument)] for argument in target.args))
        else:
            done[id(node)] = map_children(node, lambda child: done.get(id(child), child))
    return done[id(function)]
