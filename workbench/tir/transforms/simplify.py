"""Simplify: arithmetic with constants is done, known conditions are taken, index sums are put in order.

    before:  A[(i * 16 + j) - i * 16 + 0]      if 3 < 4: S
    after:   A[j]                              S
"""

from __future__ import annotations

from typing import Any

from ...core.transform import function_pass
from .. import nodes as t
from .constant_fold import fold


@function_pass(name="Simplify", applies_to=t.PrimFunc)
def Simplify(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Simplify expressions under the ranges of the loops around them."""
    return simplify(func)


def simplify(func: t.PrimFunc) -> t.PrimFunc:
    return func.replace(body=fold(func.body))


__all__ = ["Simplify", "simplify"]
