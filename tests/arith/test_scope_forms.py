"""Forms of a scope: equal to the expressions they stand for, ends that hold, remainders found again."""

from __future__ import annotations

import itertools
import random

from workbench.arith import build
from workbench.arith import nodes as a
from workbench.arith.build import conjuncts
from workbench.arith.forms import FINITE
from workbench.arith.nodes import PrimExpr, Var
from workbench.arith.scope import Scope

I_, J, K = Var("i"), Var("j"), Var("k")
EXTENTS = {I_: 4, J: 8, K: 5}
_OPERATORS = {
    a.Add: lambda x, y: x + y, a.Sub: lambda x, y: x - y, a.Mul: lambda x, y: x * y, a.FloorDiv: lambda x, y: x // y,
    a.FloorMod: lambda x, y: x % y, a.Min: min, a.Max: max,
}  # fmt: skip


def scope_of(extents: dict[Var, int]) -> Scope:
    scope = Scope()
    for var, extent in extents.items():
        scope.enter(var, build.const(0), build.const(extent))
    return scope


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
    rng, scope = random.Random(1), scope_of(EXTENTS)
    points = [dict(zip(EXTENTS, at, strict=True)) for at in itertools.product(*(range(e) for e in EXTENTS.values()))]
    for _ in range(400):
        expr = random_expr(rng, 4)
        form = scope.linear(expr)
        again = scope.index(form)
        sample = rng.sample(points, 12)
        values = [value(expr, at) for at in sample]
        assert values == [value(again, at) for at in sample]
        low, high = scope.atoms.bound(form)
        assert low <= min(values) and max(values) <= high < FINITE


def test_random_extremes_bound_the_values() -> None:
    rng, scope = random.Random(2), scope_of(EXTENTS)
    for _ in range(200):
        expr = random_expr(rng, 3)
        low, high = scope.ends(scope.linear(expr), scope.numbers([J]))
        if low is None or high is None:
            continue
        for i, k in itertools.product(range(4), range(5)):
            values = [value(expr, {I_: i, J: j, K: k}) for j in range(8)]
            fixed = {I_: i, J: 0, K: k}
            assert value(scope.index(low), fixed) <= min(values) and max(values) <= value(scope.index(high), fixed)


def test_what_a_split_took_apart_cancels() -> None:
    scope = scope_of(EXTENTS)

    def variable(expr: PrimExpr) -> Var | None:
        return scope.only_variable(scope.linear(expr))

    fused = I_ * 40 + J * 5 + K
    assert variable((I_ * 8 + J) // 8) is I_ and variable((I_ * 8 + J) % 8) is J
    assert variable(fused % 5) is K and variable(fused // 5 % 8) is J
    assert scope.linear((fused // 5) * 5 + fused % 5).same_as(scope.linear(fused))


def test_remainders_of_quotients_print_as_such() -> None:
    scope = scope_of({I_: 120})
    units, offset = scope.atoms.split_offset(scope.linear(I_ // 5 % 6))
    assert offset == 0 and len(units) == 1 and units[0].modulus == 6


def test_symbolic_bounds_are_used() -> None:
    scope, n = Scope(), Var("n")
    scope.enter(I_, build.const(0), n)
    assert scope.holds(build.less(I_, n))
    assert not scope.holds(build.less(I_ + 1, n))
    assert not scope.holds(build.less(I_, 5))


def test_conjuncts_and_comparisons() -> None:
    condition = build.all_of(I_ < 3, J >= 2, build.const(True))
    assert len(conjuncts(condition)) == 2
    scope = Scope()
    form = scope.at_least_zero(I_ <= 3)
    assert form is not None and form.same_as(scope.linear(build.const(3) - I_))
    assert scope.at_least_zero(build.equal(I_, 3)) is None


def test_long_sums_do_not_recurse() -> None:
    total: PrimExpr = I_
    for _ in range(20_000):
        total = total + J
    scope = scope_of(EXTENTS)
    assert scope.atoms.bound(scope.linear(total)) == (0, 3 + 7 * 20_000)
