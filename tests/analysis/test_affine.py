"""Affine forms: equal to the expressions they stand for, ranges that hold, remainders found again."""

from __future__ import annotations

import itertools
import random

import numpy as np

from workbench.analysis.affine import Affine, Ranges
from workbench.analysis.conditions import below, conjuncts, holds
from workbench.arith import build
from workbench.arith import nodes as a
from workbench.arith.nodes import PrimExpr, Var

I_, J, K = Var("i"), Var("j"), Var("k")
EXTENTS = {I_: 4, J: 8, K: 5}
RANGES = Ranges.of({var: (0, extent - 1) for var, extent in EXTENTS.items()})
_OPERATORS = {
    a.Add: lambda x, y: x + y, a.Sub: lambda x, y: x - y, a.Mul: lambda x, y: x * y, a.FloorDiv: lambda x, y: x // y,
    a.FloorMod: lambda x, y: x % y, a.Min: min, a.Max: max,
}  # fmt: skip


def value(expr: PrimExpr, at: dict[Var, int]) -> int:
    if isinstance(expr, Var):
        return at[expr]
    if isinstance(expr, a.IntImm):
        return expr.value
    assert isinstance(expr, a.BinaryExpr)
    return _OPERATORS[type(expr)](value(expr.a, at), value(expr.b, at))


def random_expr(rng: random.Random, depth: int) -> PrimExpr:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([I_, J, K, build.const(rng.randint(-5, 9))])
    left = random_expr(rng, depth - 1)
    kind = rng.randrange(8)
    if kind < 3:
        return left + random_expr(rng, depth - 1)
    if kind == 3:
        return left - random_expr(rng, depth - 1)
    if kind == 4:
        return left * rng.randint(-4, 9)
    if kind == 7:
        return build.minimum(left, random_expr(rng, depth - 1))
    divisor = rng.choice([2, 3, 4, 5, 8, 12, 16])
    return left // divisor if kind == 5 else left % divisor


def test_random_forms_have_the_values_of_their_expressions() -> None:
    rng = random.Random(1)
    points = [dict(zip(EXTENTS, at, strict=True)) for at in itertools.product(*(range(e) for e in EXTENTS.values()))]
    for _ in range(400):
        expr = random_expr(rng, 4)
        form = Affine.of(expr, RANGES)
        again = form.expr()
        sample = rng.sample(points, 12)
        values = [value(expr, at) for at in sample]
        assert values == [value(again, at) for at in sample]
        low, high = form.interval(RANGES)
        assert (low is None or low <= min(values)) and (high is None or max(values) <= high)


def test_random_extremes_bound_the_values() -> None:
    rng = random.Random(2)
    for _ in range(200):
        expr = random_expr(rng, 3)
        form = Affine.of(expr, RANGES)
        low, high = form.least(frozenset((id(J),)), RANGES), form.greatest(frozenset((id(J),)), RANGES)
        if low is None or high is None:
            continue
        for i, k in itertools.product(range(4), range(5)):
            values = [value(expr, {I_: i, J: j, K: k}) for j in range(8)]
            fixed = {I_: i, J: 0, K: k}
            assert value(low.expr(), fixed) <= min(values) and max(values) <= value(high.expr(), fixed)


def test_what_a_split_took_apart_cancels() -> None:
    assert Affine.of((I_ * 8 + J) // 8, RANGES).is_variable() is I_
    assert Affine.of((I_ * 8 + J) % 8, RANGES).is_variable() is J
    fused = I_ * 40 + J * 5 + K
    assert Affine.of(fused % 5, RANGES).is_variable() is K
    assert Affine.of(fused // 5 % 8, RANGES).is_variable() is J
    assert Affine.of((fused // 5) * 5 + fused % 5, RANGES).same_as(Affine.of(fused, RANGES))


def test_remainders_of_quotients_print_as_such() -> None:
    wide = Ranges.of({I_: (0, 119)})
    units, offset = Affine.of(I_ // 5 % 6, wide).grouped()
    assert offset == 0 and len(units) == 1 and units[0][1].modulus == 6


def test_symbolic_bounds_are_used() -> None:
    n = Var("n")
    ranges = Ranges.of({I_: (0, n - 1)})
    assert holds(build.less(I_, n), ranges)
    assert not holds(build.less(I_ + 1, n), ranges)
    assert not holds(build.less(I_, 5), ranges)


def test_conjuncts_and_comparisons() -> None:
    condition = build.all_of(I_ < 3, J >= 2, build.const(True))
    assert len(conjuncts(condition)) == 2
    form = below(I_ <= 3, RANGES)
    assert form is not None and form.same_as(Affine.of(build.const(3) - I_, RANGES))
    assert below(build.equal(I_, 3), RANGES) is None


def test_long_sums_do_not_recurse() -> None:
    total: PrimExpr = I_
    for _ in range(20_000):
        total = total + J
    form = Affine.of(total, RANGES)
    assert form.interval(RANGES) == (0, 3 + 7 * 20_000)
    assert np.isfinite(form.interval(RANGES)[1] or 0)
