"""SimplifyFCTranspose: a weight that is transposed before each product becomes a parameter that is transposed already.

    def main(x, w: (in, out)): dense(x, transpose(w, (1, 0)))   ->   def main(x, w: (out, in)): dense(x, w)

The caller then passes the named weights transposed: `transpose_weights(params, names)`.  A weight is changed only if
all of its uses are such transposes, since otherwise it would be needed both ways.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import rewrite
from ...core.errors import WorkbenchError, nearest
from ...core.module import IRModule
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.operator import Operator
from ..ir.plan import expressions, operands
from ..ir.types import TensorType
from .rules import rebuild

TURN = rewrite.step("weight-is-transposed", "A transposed weight is a parameter that is passed transposed.")


@function_pass(opt_level=1, name="SimplifyFCTranspose", required=["InferType"], applies_to=e.Function)
def SimplifyFCTranspose(
    func: e.Function, mod: IRModule, ctx: PassContext, *, target_weight_name: str | Sequence[str]
) -> e.Function:
    """Let the named parameters come in transposed, where they are only used transposed.

    Raises `WorkbenchError` E-PASS-OPTION for a name that is no parameter of any function of the module.
    """
    names = [target_weight_name] if isinstance(target_weight_name, str) else list(target_weight_name)
    _check(names, mod)
    chosen = {id(weight): weight for weight in weights_used_transposed(func) if weight.name_hint in names}
    if not chosen:
        return func
    turned = {key: _turned(weight) for key, weight in chosen.items()}

    def visit(old: e.Expr, new: e.Expr) -> e.Expr | None:
        if not _is_transpose(old) or not isinstance(old, e.Call) or id(old.args[0]) not in chosen:
            return None
        started = time.perf_counter_ns()
        made = turned[id(old.args[0])]
        rewrite.fired(TURN, old, made, started)
        return made

    made = rebuild(func, visit)
    return made.replace(params=tuple(turned.get(id(param), param) for param in made.params))


def _check(names: Sequence[str], mod: IRModule) -> None:
    functions = [func for func in mod.functions.values() if isinstance(func, e.Function)]
    known = [param.name_hint for func in functions for param in func.params]
    for name in names:
        if name not in known:
            raise WorkbenchError(
                "E-PASS-OPTION",
                f"no function has a parameter {name!r}",
                expected=", ".join(known[:12]) or "a module with parameters",
                fix=nearest(name, known),
            )


def _is_transpose(expr: e.Expr) -> bool:
    """Whether an expression swaps the axes of a matrix."""
    if not isinstance(expr, e.Call) or not isinstance(expr.op, Operator) or expr.op.name != "transpose":
        return False
    found = expr.args[0].type_or_none
    axes: Any = expr.op.attributes["axes"]
    two = isinstance(found, TensorType) and len(found.shape) == 2
    return two and (axes is None or tuple(axis % 2 for axis in axes) == (1, 0))


def weights_used_transposed(func: e.Function) -> list[e.Var]:
    """Parameters whose every use is a transpose that a dense product reads (`analysis.search_fc_transpose`)."""
    plain: set[int] = set()
    fed: set[int] = set()
    for expr in expressions(func):
        dense = isinstance(expr, e.Call) and isinstance(expr.op, Operator) and expr.op.name == "nn.dense"
        for place, operand in enumerate(operands(expr)):
            if isinstance(operand, e.Var) and not _is_transpose(expr):
                plain.add(id(operand))
            if isinstance(operand, e.Call) and _is_transpose(operand):
                (fed if dense and place == 1 else plain).add(id(operand.args[0]))
    return [param for param in func.params if id(param) in fed - plain]


def _turned(weight: e.Var) -> e.Var:
    found = weight.checked_type
    assert isinstance(found, TensorType)
    return e.Var(weight.name_hint, TensorType(tuple(reversed(found.shape)), found.dtype))


def transpose_weights(params: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The parameters with the named matrices transposed, as SimplifyFCTranspose expects them."""
    return {
        name: np.ascontiguousarray(np.transpose(data.numpy() if hasattr(data, "numpy") else data))
        if name in names
        else data
        for name, data in params.items()
    }
