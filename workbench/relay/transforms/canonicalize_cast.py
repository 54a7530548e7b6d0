"""CanonicalizeCast: a cast that several operators read is done by each of them.

    let y = cast(x, "float32"); f(y), g(y)   ->   f(cast(x, "float32")), g(cast(x, "float32"))

A cast that widens costs nothing inside a fused kernel, while its shared result is a large tensor to write and read.
Only readers that compute element by element get a cast of their own.
"""

from __future__ import annotations

import time

from ...core import origin, rewrite
from ...core.module import IRModule
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.operator import Fusion, Operator
from ..ir.plan import expressions, operands
from ..ir.types import TensorType
from .rules import is_kernel, rebuild

COPY = rewrite.step("cast-for-each-reader", "An operator that reads a shared widening cast does the cast itself.")


@function_pass(opt_level=3, name="CanonicalizeCast", required=["InferType"], applies_to=e.Function)
def CanonicalizeCast(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Give each elementwise reader of a widening cast a cast of its own."""
    if func.is_primitive:
        return func
    readers: dict[int, int] = {}
    for expr in expressions(func, into_kernels=False):
        for operand in operands(expr) if not is_kernel(expr) else ():
            readers[id(operand)] = readers.get(id(operand), 0) + 1
    shared = {id(expr) for expr in expressions(func) if readers.get(id(expr), 0) > 1 and _widens(expr)}
    casts: dict[int, e.Call] = {}

    def visit(old: e.Expr, new: e.Expr) -> e.Expr | None:
        if id(old) in shared and isinstance(new, e.Call):
            casts[id(new)] = new
        if not isinstance(new, e.Call) or not isinstance(new.op, Operator) or new.op.fusion > Fusion.INJECTIVE:
            return None
        if not any(id(argument) in casts for argument in new.args):
            return None
        started = time.perf_counter_ns()
        own: dict[int, e.Expr] = {}
        for argument in new.args:
            own.setdefault(id(argument), _again(argument, casts))
        made = new.replace(args=tuple(own[id(argument)] for argument in new.args))
        rewrite.fired(COPY, old, made, started)
        return made

    return rebuild(func, visit, into_kernels=False)


def _widens(expr: e.Expr) -> bool:
    if not isinstance(expr, e.Call) or not isinstance(expr.op, Operator) or expr.op.name != "cast":
        return False
    before, after = expr.args[0].type_or_none, expr.type_or_none
    if not isinstance(before, TensorType) or not isinstance(after, TensorType):
        return False
    return before.dtype.bits < after.dtype.bits


def _again(argument: e.Expr, casts: dict[int, e.Call]) -> e.Expr:
    cast = casts.get(id(argument))
    if cast is None:
        return argument
    return origin.derived(e.Call(cast.op, cast.args), cast)
