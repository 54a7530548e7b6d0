"""Conditions: the conjuncts of a predicate, comparisons as affine forms, and whether they always hold.

>>> from workbench.arith.nodes import Var
>>> i = Var("i")
>>> holds(i < 4, Ranges.of({i: (0, 3)}))
True
"""

from __future__ import annotations

from ..arith import build
from ..arith import nodes as a
from ..arith.nodes import PrimExpr
from .affine import Affine, Ranges


def conjuncts(predicate: PrimExpr) -> list[PrimExpr]:
    """The conditions that `predicate` joins by `and`, in order, without those that are constantly true."""
    parts = build.conjuncts(predicate)
    return [part for part in parts if not (isinstance(part, a.IntImm) and part.value)]


def below(condition: PrimExpr, ranges: Ranges) -> Affine | None:
    """A form that is >= 0 exactly when an integer comparison holds; None if `condition` is of another kind."""
    if not isinstance(condition, (a.LT, a.LE, a.GT, a.GE)) or not condition.a.dtype.is_integer:
        return None
    left, right = Affine.of(condition.a, ranges), Affine.of(condition.b, ranges)
    if isinstance(condition, (a.LT, a.LE)):
        left, right = right, left
    difference = left.minus(right)
    return difference.plus(Affine.constant(-1)) if isinstance(condition, (a.LT, a.GT)) else difference


def holds(condition: PrimExpr, ranges: Ranges) -> bool:
    """True if an integer comparison is shown to hold for all values in `ranges`."""
    if isinstance(condition, a.IntImm):
        return bool(condition.value)
    form = below(condition, ranges)
    return form is not None and form.never_negative(ranges)
