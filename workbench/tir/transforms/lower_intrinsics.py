"""LowerIntrinsics: float functions become arithmetic where the target has no instruction for them.

    before:  B[i] = T.exp(A[i])
    after:   B[i] = a polynomial in A[i], see `float_functions`

Which functions are replaced is a table by target kind; the rest are left to the backend.  float16 and bfloat16 are
computed in float32, and so is whatever is done with float8 and float4 (see `small_floats`).  The fast functions
(`fast_functions`) are the exact ones where the table has none for the dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import cast
from ...core.dtype import DataType
from ...core.node import rewrite
from ...core.transform import function_pass
from ...target.target import Target, target_of_function
from .. import nodes as t
from . import small_floats
from .fast_functions import EXACT, FAST
from .float_functions import FLOAT32, SCALING
from .intrinsic_rules import RULES

Lowering = Callable[[n.PrimExpr], n.PrimExpr]

_ARITHMETIC: Final = FLOAT32 | FAST
TABLES: Final[dict[str, Mapping[str, Lowering]]] = {"llvm": _ARITHMETIC, "c": _ARITHMETIC, "webassembly": _ARITHMETIC}
"""By target kind; GPU kinds have instructions of their own."""


@function_pass(name="LowerIntrinsics", applies_to=t.PrimFunc)
def LowerIntrinsics(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Replace float functions by arithmetic, from the table of the function's target."""
    return lower_intrinsics(func)


def lower_intrinsics(func: t.PrimFunc) -> t.PrimFunc:
    target = target_of_function(func.attrs) or Target.current()
    kind = str(target.kind) if target is not None else "llvm"
    table, rules = TABLES.get(kind, {}), RULES.has(kind)
    if kind == "llvm" and target is not None and "avx512f" in target.available_features:
        table = {**table, **SCALING}

    def post(node: Any) -> Any:
        small = small_floats.lowered(node)
        if small is not None:
            return small
        if not isinstance(node, n.Call):
            return None
        own = RULES.lowered(node, kind) if rules else None
        if own is not None or len(node.args) != 1:
            return own
        found = _lowered(table[node.op], node.args[0]) if node.op in table else None
        if found is None and node.op in EXACT:
            return n.Call(node.dtype, EXACT[node.op], node.args)
        return found

    return func.replace(body=rewrite(func.body, post, lambda node: node if isinstance(node, t.Buffer) else None))


def _lowered(lowering: Lowering, x: n.PrimExpr) -> n.PrimExpr | None:
    if not x.dtype.is_float or x.dtype.bits > 32:
        return None
    if x.dtype.bits == 32:
        return lowering(x)
    return cast(x.dtype, lowering(cast(DataType("float32").with_lanes(x.dtype.lanes), x)))
