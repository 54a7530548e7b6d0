"""ConvertLayout: operators compute in the layouts asked for, and data moves between layouts only where it must.

    ConvertLayout({"nn.conv2d": ["NHWC", "default"]})
    R.nn.relu(R.nn.conv2d(x, w))
    ->  R.layout_transform(R.nn.relu(R.nn.conv2d(R.layout_transform(x, "NCHW", "NHWC"),
                                                 R.layout_transform(w, "OIHW", "HWIO"), data_layout="NHWC", ...)),
                           "NHWC", "NCHW")

Each operator's class says how it computes on rearranged data (`Operator.arrange`, rules in `topi.arrange`).  The walk
keeps, for every expression, how its axes lie now, and moves data only where an operator wants another arrangement:
a pair of moves that cancel is never made.  Parameters and results keep their layouts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import origin, rewrite
from ...core.errors import WorkbenchError, nearest
from ...core.module import IRModule
from ...core.node import Node, map_children
from ...core.transform import PassContext, function_pass
from ...topi.layout import parse
from .. import op as relay
from ..ir import expr as e
from ..ir import types as t
from ..ir.infer import keep_type
from ..ir.operator import OPERATORS, Arrangement, Operator, Placed
from ..ir.plan import LEAVES, expressions
from .rules import is_kernel

ARRANGE = rewrite.step("arrange", "An operator computes on data whose axes lie in another order.")
MOVE = rewrite.step("move", "Data is brought into the layout that an operator wants.")


@function_pass(opt_level=3, name="ConvertLayout", required=["InferType"], applies_to=e.Function)
def ConvertLayout(
    func: e.Function, mod: IRModule, ctx: PassContext, *, desired_layouts: str | Mapping[str, Sequence[str]]
) -> e.Function:
    """Convert operators to `desired_layouts`: by operator, the layouts of its operands ("default": the usual one).

    A single layout ("NHWC") stands for every operator that names the layout of its data and knows that one.
    Raises `WorkbenchError` for an unknown operator, one without layouts, or a text that is no layout.
    """
    wishes = Wishes.of(desired_layouts)
    return func if func.is_primitive else Converter(wishes).run(func)


@dataclass(frozen=True)
class Wishes:
    """What was asked for."""

    by_name: Mapping[str, tuple[str, ...]]
    everywhere: str = ""
    by_call: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    """Of single calls, by identity: these go before the others."""

    @staticmethod
    def of(given: Any) -> Wishes:
        """Read and check the pass's option."""
        if isinstance(given, str):
            parse(given)
            return Wishes({}, given)
        listed: Any = given
        if not isinstance(given, Mapping):
            raise WorkbenchError(
                "E-PASS-OPTION",
                "desired_layouts must be a layout or a dict",
                found=repr(given),
                expected='{"nn.conv2d": ["NHWC", "default"]}',
            )
        return Wishes({str(name): Wishes._checked(str(name), layouts) for name, layouts in listed.items()})

    @staticmethod
    def _checked(name: str, layouts: Any) -> tuple[str, ...]:
        if name not in OPERATORS:
            raise WorkbenchError("E-LAYOUT-OPERATOR", f"there is no operator {name!r}", fix=nearest(name, OPERATORS))
        if not layout_attribute(OPERATORS[name]):
            known = [other for other in OPERATORS if layout_attribute(OPERATORS[other])]
            raise WorkbenchError(
                "E-LAYOUT-OPERATOR",
                f"{name} has no layout of its own; it follows its operands",
                expected=", ".join(known),
            )
        texts = (layouts,) if isinstance(layouts, str) else tuple(str(text) for text in layouts)
        for text in texts:
            if text != "default":
                parse(text)
        return texts if texts and texts[0] != "default" else ()

    def of_call(self, call: e.Call, op: Operator) -> tuple[str, ...]:
        """The layouts wished for a call of an operator; none if there is no wish."""
        if id(call) in self.by_call:
            return self.by_call[id(call)]
        if op.name in self.by_name or not self.everywhere:
            return self.by_name.get(op.name, ())
        name = layout_attribute(type(op))
        same = name and set(parse(getattr(op, name)).letters) == set(parse(self.everywhere).letters)
        return (self.everywhere,) if same else ()


def layout_attribute(cls: type[Operator]) -> str:
    """The attribute that names the layout of an operator's data, or ""."""
    return next((name for name in ("data_layout", "layout") if name in cls.field_names), "")


@dataclass
class _Value:
    """A converted expression and how it lies: `Placed`, None (as written), or for a tuple one of these each."""

    expr: e.Expr
    placed: Any = None
    made: dict[Placed | None, e.Expr] = field(default_factory=dict["Placed | None", e.Expr])
    """Moves of it that were needed."""


class Converter:
    """Rebuilds one function, operands first."""

    def __init__(self, wishes: Wishes, silent: bool = False) -> None:
        """`silent`: what it does is only tried, and told to nobody."""
        self.wishes = wishes
        self._tell = _to_nobody if silent else rewrite.fired
        self.values: dict[int, _Value] = {}
        self.kept: list[Node] = []

    def run(self, func: e.Function) -> e.Function:
        for expr in expressions(func, into_kernels=False):
            self.values[id(expr)] = self._value(expr)
        made = self.values[id(func)].expr
        assert isinstance(made, e.Function)
        return made

    def _value(self, old: e.Expr) -> _Value:
        if isinstance(old, LEAVES) or is_kernel(old):
            return _Value(old)
        if isinstance(old, e.TupleGetItem):
            whole = self.values[id(old.tuple_value)]
            placed: Any = whole.placed
            if isinstance(placed, tuple):
                item = e.TupleGetItem(whole.expr, old.index)
                origin.derived(item, old)
                return _Value(item, placed[old.index])
        if isinstance(old, e.Call) and isinstance(old.op, Operator):
            started = time.perf_counter_ns()
            found = self._arrangement(old, old.op)
            if found is not None:
                return self._arranged(old, found, started)
        new = map_children(old, self._plain_child)
        keep_type(new, old)
        self.kept.append(new)
        return _Value(new)

    def _plain_child(self, child: Node) -> Node:
        if isinstance(child, e.Clause):
            return map_children(child, self._plain_child)
        return self.plain(child) if isinstance(child, e.Expr) and id(child) in self.values else child

    # --- operators ---

    def _arrangement(self, call: e.Call, op: Operator) -> Arrangement | None:
        operands = tuple(self._placed(argument) for argument in call.args)
        wish = self.wishes.of_call(call, op)
        if not wish and all(placed is None for placed in operands):
            return None
        types = tuple(argument.checked_type for argument in call.args)
        try:
            return op.arrange(operands, types, wish)
        except WorkbenchError:
            if op.name in self.wishes.by_name or id(call) in self.wishes.by_call:
                raise
            return op.arrange(operands, types)

    def _placed(self, argument: e.Expr) -> Any:
        """How an operand lies now; for a tuple that is written out, how its fields do."""
        if isinstance(argument, e.Tuple):
            fields = tuple(self.values[id(item)].placed for item in argument.fields)
            return tuple(placed if isinstance(placed, Placed) else None for placed in fields)
        found = self.values[id(argument)].placed
        return found if isinstance(found, Placed) else None

    def _arranged(self, old: e.Call, found: Arrangement, started: int) -> _Value:
        args = tuple(self._operand(argument, wanted) for argument, wanted in zip(old.args, found.operands, strict=True))
        if found.op is None:
            return _Value(args[0], found.result)
        made = e.Call(found.op, args)
        origin.derived(made, old)
        self._tell(ARRANGE, old, made, started)
        return _Value(made, found.result)

    def _operand(self, argument: e.Expr, wanted: Any) -> e.Expr:
        each: Any = wanted
        if isinstance(wanted, tuple):
            assert isinstance(argument, e.Tuple)
            made = e.Tuple(tuple(self.moved(item, each[at]) for at, item in enumerate(argument.fields)))
            return origin.derived(made, argument)
        return self.moved(argument, wanted)

    # --- moving data ---

    def plain(self, old: e.Expr) -> e.Expr:
        """The expression as it was written, whatever its arrangement now."""
        value = self.values[id(old)]
        if isinstance(value.placed, tuple):
            return self._plain_tuple(old, value)
        return self.moved(old, None)

    def _plain_tuple(self, old: e.Expr, value: _Value) -> e.Expr:
        if None not in value.made:
            fields = [e.TupleGetItem(value.expr, at) for at in range(len(value.placed))]
            moves = zip(fields, value.placed, strict=True)
            made = e.Tuple(tuple(_move(item, placed.now, placed.before) if placed else item for item, placed in moves))
            value.made[None] = origin.derived(made, old)
        return value.made[None]

    def moved(self, old: e.Expr, wanted: Placed | None) -> e.Expr:
        """The expression arranged as `wanted` (None: as written); moves are made once."""
        value = self.values[id(old)]
        now = value.placed
        if now == wanted or (now is None and wanted is not None and wanted.before == wanted.now):
            return value.expr
        if wanted not in value.made:
            started = time.perf_counter_ns()
            value.made[wanted] = self._move(old, value.expr, now, wanted)
            origin.derived(value.made[wanted], old)
            if value.made[wanted] is not value.expr:
                self._tell(MOVE, old, value.made[wanted], started)
        return value.made[wanted]

    def _move(self, old: e.Expr, expr: e.Expr, now: Placed | None, wanted: Placed | None) -> e.Expr:
        if wanted is None or wanted.before == wanted.now:
            assert now is not None
            return _move(expr, now.now, now.before)
        if now is not None and now.before == wanted.before:
            return _move(expr, now.now, wanted.now)
        return spread(self.plain(old) if now is not None else expr, wanted)


def _to_nobody(*told: Any) -> None:
    """Takes what `rewrite.fired` is told."""


def _move(expr: e.Expr, source: str, target: str) -> e.Expr:
    return expr if source == target else relay.call("layout_transform", expr, src_layout=source, dst_layout=target)


def spread(expr: e.Expr, wanted: Placed) -> e.Expr:
    """A tensor as written, of full or lesser rank, arranged so that it broadcasts against arranged ones.

    Missing leading axes get extent 1; an axis of extent 1 that is split becomes two of extent 1.
    """
    found = expr.checked_type
    assert isinstance(found, t.TensorType)
    rank = len(wanted.before)
    if all(extent == 1 for extent in found.shape):
        return expr
    if len(found.shape) < rank:
        expr = relay.call("expand_dims", expr, axis=0, num_newaxis=rank - len(found.shape))
    shape = (*(1,) * (rank - len(found.shape)), *found.shape)
    target = parse(wanted.now)
    single = {letter for letter in target.factors if shape[wanted.before.index(letter)] == 1}
    text = "".join(
        f"{factor}{letter.lower()}" if factor else letter
        for letter, factor in target.axes
        if not (factor and letter in single)
    )
    expr = _move(expr, wanted.before, text)
    for place, (letter, factor) in enumerate(target.axes):
        if factor and letter in single:
            expr = relay.call("expand_dims", expr, axis=place)
    return expr
