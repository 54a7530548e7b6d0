"""The classic `Analyzer`: one object that is told ranges and asked for bounds, simpler forms and proofs.

>>> from workbench.arith.nodes import Var
>>> analyzer, i = Analyzer(), Var("i")
>>> analyzer.bind(i, (0, 8))
>>> analyzer.can_prove(i < 8)
True
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeGuard, cast

from ..core.errors import WorkbenchError
from . import build
from .forms import FINITE
from .nodes import PrimExpr, Var
from .simplify import Simplifier


class ConstIntBound:
    """Classic pair of constant bounds; `POS_INF` and `NEG_INF` mean none."""

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    def __init__(self, min_value: int, max_value: int) -> None:
        self.min_value = self.NEG_INF if min_value < -FINITE else min_value
        self.max_value = self.POS_INF if max_value > FINITE else max_value

    def __repr__(self) -> str:
        return f"ConstIntBound({self.min_value}, {self.max_value})"


class Modular(NamedTuple):
    """The integers coeff * k + base; coeff is 0 for a constant."""

    coeff: int
    base: int


def _is_pair(given: object) -> TypeGuard[tuple[Any, Any]]:
    return isinstance(given, tuple) and len(cast("tuple[Any, ...]", given)) == 2


class Analyzer:
    """See the module's header."""

    def __init__(self) -> None:
        self._simplifier = Simplifier()

    def bind(self, var: Var, expr: Any) -> None:
        """Tell what `var` is: a range (an object with `min` and `extent`, or a pair (begin, end)), or an expression."""
        if _is_pair(expr):
            begin, end = expr
            self._simplifier.bind(var, begin, end - 1)
        elif hasattr(expr, "extent"):
            last = build.subtract(build.add(expr.min, expr.extent), 1)
            self._simplifier.bind(var, expr.min, self._simplifier.simplify(last))
        elif isinstance(expr, (PrimExpr, int)):
            self._simplifier.bind(var, expr, expr)
        else:
            raise WorkbenchError(
                "E-ARITH-BIND", f"{var.name} cannot be bound to this", found=repr(expr)[:80],
                expected="a range, a pair (begin, end), or an expression",
            )  # fmt: skip

    def update(self, var: Var, info: ConstIntBound, override: bool = False) -> None:
        """Tell constant bounds of `var`, both ends included."""
        low = None if info.min_value == ConstIntBound.NEG_INF else info.min_value
        high = None if info.max_value == ConstIntBound.POS_INF else info.max_value
        if var in self._simplifier.ranges and not override:
            raise WorkbenchError(
                "E-ARITH-BIND", f"{var.name} is bound already", fix="pass override=True to replace its range"
            )
        self._simplifier.bind(var, low, high)

    @contextmanager
    def constraint_scope(self, constraint: PrimExpr) -> Generator[None]:
        """Inside the block `constraint` is known to hold."""
        outer = self._simplifier
        self._simplifier = outer.assuming(constraint)
        try:
            yield
        finally:
            self._simplifier = outer

    def simplify(self, expr: Any) -> PrimExpr:
        return self._simplifier.simplify(build.convert(expr))

    rewrite_simplify = simplify
    canonical_simplify = simplify

    def const_int_bound(self, expr: PrimExpr) -> ConstIntBound:
        return ConstIntBound(*self._simplifier.bound(expr))

    def modular_set(self, expr: PrimExpr) -> Modular:
        """What all values of `expr` share."""
        form = self._simplifier.form(expr)
        if form is None:
            return Modular(1, 0)
        common = form.common_divisor()
        return Modular(common, form.offset % common if common else form.offset)

    def can_prove(self, condition: Any) -> bool:
        """True if `condition` holds for all values; False means "not shown"."""
        return self._simplifier.can_prove(condition)

    def can_prove_equal(self, a: Any, b: Any) -> bool:
        return self._simplifier.can_prove_equal(a, b)
