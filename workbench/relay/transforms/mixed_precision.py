"""ToMixedPrecision: heavy operators compute in a small float, what is sensitive stays in float32.

    R.nn.relu(R.nn.conv2d(x, w))
    ->  R.nn.relu(R.cast(R.nn.conv2d(R.cast(x, "float16"), R.cast(w, "float16"), out_dtype="float32"), "float16"))

The operator's class says what is done with it (`Operator.precision`).  ALWAYS: its operands are cast, it adds up in
float32.  FOLLOW: it is computed in the small float if its operands come in it (constants and parameters are cast).
NEVER: float32.  Where the class states nothing, `missing_op_mode` decides.
"""

from __future__ import annotations

import time

from ...core import origin, rewrite
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import Node, map_children
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..ir.infer import keep_type
from ..ir.operator import Operator, Precision
from ..ir.plan import LEAVES, expressions
from ..ir.types import TensorType
from .rules import is_kernel

CONVERT = rewrite.step("small-float", "An operator computes in a smaller float.")

KEEP = "relay.ToMixedPrecision.keep_orig_output_dtype"
WIDE = DataType("float32")


@function_pass(opt_level=0, name="ToMixedPrecision", required=["InferType"], applies_to=e.Function)
def ToMixedPrecision(
    func: e.Function,
    mod: IRModule,
    ctx: PassContext,
    *,
    mixed_precision_type: str = "float16",
    missing_op_mode: int = 1,
) -> e.Function:
    """Compute heavy operators of a float32 program in `mixed_precision_type` ("float16", "bfloat16").

    `missing_op_mode`: an operator whose class states no precision is refused (0), stays in float32 (1), or follows (2).
    Results come in the small float where they were computed in it, unless the context's config says
    "relay.ToMixedPrecision.keep_orig_output_dtype".
    """
    small = DataType(mixed_precision_type)
    if not small.is_float or small.bits != 16:
        raise WorkbenchError(
            "E-PASS-OPTION",
            "mixed_precision_type must be a float of 16 bits",
            found=repr(mixed_precision_type),
            expected='"float16" or "bfloat16"',
        )
    if missing_op_mode not in (0, 1, 2):
        raise WorkbenchError("E-PASS-OPTION", "missing_op_mode must be 0, 1 or 2", found=repr(missing_op_mode))
    if func.is_primitive:
        return func
    return _Converter(small, missing_op_mode, bool(ctx.config.get(KEEP, False))).run(func)


class _Converter:
    """Rebuilds a function; each expression may exist in both floats."""

    def __init__(self, small: DataType, missing: int, keep: bool) -> None:
        self.small = small
        self.missing = missing
        self.keep = keep
        self.done: dict[int, e.Expr] = {}
        self.is_small: set[int] = set()
        """Converted expressions whose floats are small; held in `done`."""
        self.casts: dict[tuple[int, str], e.Expr] = {}

    def run(self, func: e.Function) -> e.Function:
        for old in expressions(func, into_kernels=False):
            if old is not func:
                self.done[id(old)] = self.converted(old)
        body = self.done[id(func.body)] if not self.keep else self.wide(func.body)
        if body is func.body:
            return func
        return origin.derived(e.Function(func.params, body, None, func.type_params, func.attrs), func)

    def converted(self, old: e.Expr) -> e.Expr:
        if isinstance(old, LEAVES) or is_kernel(old):
            return old
        if isinstance(old, e.Tuple):
            return map_children(old, lambda child: self.done.get(id(child), child))
        if isinstance(old, e.Call) and isinstance(old.op, Operator):
            started = time.perf_counter_ns()
            made = self.operated(old, old.op)
            if id(made) in self.is_small:
                rewrite.fired(CONVERT, old, made, started)
            return made
        made = map_children(old, self.wide_child)
        keep_type(made, old)
        return made

    def wide_child(self, child: Node) -> Node:
        if isinstance(child, e.Clause):
            return map_children(child, self.wide_child)
        return self.wide(child) if isinstance(child, e.Expr) and id(child) in self.done else child

    # --- operators ---

    def operated(self, call: e.Call, op: Operator) -> e.Expr:
        if op.precision is Precision.ALWAYS and self._all_float32(call):
            return self._heavy(call, op)
        unstated = op.precision is Precision.UNSTATED
        follows = op.precision is Precision.FOLLOW or (unstated and self.missing == 2)
        if unstated and self.missing == 0:
            raise WorkbenchError(
                "E-PASS-OPERATOR",
                f"ToMixedPrecision has no rule for {op.name}",
                found="its class states no precision",
                fix="state `precision` in the operator's class; missing_op_mode=1 keeps it in float32",
                nodes=(call,),
            )
        if follows and self._comes_small(call):
            made = e.Call(op, tuple(self.narrow(argument) for argument in call.args))
            self.is_small.add(id(made))
            return origin.derived(made, call)
        made = map_children(call, self.wide_child)
        keep_type(made, call)
        return made

    def _heavy(self, call: e.Call, op: Operator) -> e.Expr:
        wide = op.replace(out_dtype=str(WIDE))
        made = e.Call(wide, tuple(self.narrow(argument) for argument in call.args))
        cast = relay.call("cast", made, dtype=str(self.small))
        self.is_small.add(id(cast))
        return origin.derived(cast, call)

    def _all_float32(self, call: e.Call) -> bool:
        return all(_dtype(argument) == WIDE for argument in call.args)

    def _comes_small(self, call: e.Call) -> bool:
        """Whether some float operand comes in the small float, and the others do or can be cast for nothing."""
        parts = [part for argument in call.args for part in _fields(argument)]
        floats = [part for part in parts if _dtype(part) == WIDE]
        ready = [id(self.done[id(part)]) in self.is_small for part in floats]
        free = all(one or isinstance(part, (e.Var, e.Constant)) for one, part in zip(ready, floats, strict=True))
        return any(ready) and free and _dtype(call) == WIDE

    # --- both versions ---

    def narrow(self, old: e.Expr) -> e.Expr:
        """The expression with its float32 in the small float."""
        if isinstance(old, e.Tuple):
            return origin.derived(e.Tuple(tuple(self.narrow(field) for field in old.fields)), old)
        made = self.done[id(old)]
        if id(made) in self.is_small or _dtype(old) != WIDE:
            return made
        return self._cast(made, self.small)

    def wide(self, old: e.Expr) -> e.Expr:
        """The expression with the floats that it had."""
        made = self.done[id(old)]
        if isinstance(old, e.Tuple):
            fields = tuple(self.wide(field) for field in old.fields)
            if all(a is b for a, b in zip(fields, old.fields, strict=True)):
                return old
            return origin.derived(e.Tuple(fields), old)
        return self._cast(made, WIDE) if id(made) in self.is_small else made

    def _cast(self, made: e.Expr, dtype: DataType) -> e.Expr:
        key = (id(made), str(dtype))
        if key not in self.casts:
            cast = relay.call("cast", made, dtype=str(dtype))
            self.casts[key] = origin.derived(cast, made)
        return self.casts[key]


def _dtype(expr: e.Expr) -> DataType | None:
    found = expr.type_or_none
    return found.dtype if isinstance(found, TensorType) else None


def _fields(expr: e.Expr) -> tuple[e.Expr, ...]:
    return expr.fields if isinstance(expr, e.Tuple) else (expr,)
