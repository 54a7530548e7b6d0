"""The simplifier keeps the value of every expression, and finds what schedules rely on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.arith import build as b
from workbench.arith import nodes as n
from workbench.arith.bounds import bounds
from workbench.arith.linear import linear
from workbench.arith.simplify import can_prove, simplify
from workbench.core.node import substitute

I, J, K = n.Var("i"), n.Var("j"), n.Var("k")
RANGES = {I: (0, 3), J: (0, 7), K: (-5, 5)}


def evaluate(expr: n.PrimExpr, values: dict[n.Var, int]) -> int | bool:
    """The value by constant folding of the builders, an independent route."""
    known = substitute(expr, {variable: b.const(value) for variable, value in values.items()})
    return folded(known).value  # type: ignore[attr-defined]


FOLD = {
    n.Add: b.add, n.Sub: b.subtract, n.Mul: b.multiply, n.FloorDiv: b.floordiv, n.FloorMod: b.floormod,
    n.Min: b.minimum, n.Max: b.maximum, n.LT: b.less, n.LE: b.less_equal, n.GT: b.greater, n.GE: b.greater_equal,
    n.EQ: b.equal, n.NE: b.not_equal, n.And: b.logical_and, n.Or: b.logical_or,
}  # fmt: skip


def folded(expr: n.PrimExpr) -> n.PrimExpr:
    from workbench.core.node import rewrite

    def post(node):
        if isinstance(node, n.Not):
            return b.logical_not(node.a)
        if isinstance(node, n.Select):
            return b.select(node.condition, node.true_value, node.false_value)
        return FOLD[type(node)](node.a, node.b) if type(node) in FOLD else None

    return rewrite(expr, post)


def integers(depth: int) -> st.SearchStrategy[n.PrimExpr]:
    leaf = st.one_of(st.sampled_from([I, J, K]), st.integers(-9, 9).map(b.const))
    if depth == 0:
        return leaf
    inner = integers(depth - 1)
    raw = st.sampled_from([n.Add, n.Sub, n.Mul, n.Min, n.Max])
    divided = st.tuples(st.sampled_from([n.FloorDiv, n.FloorMod]), inner, st.integers(1, 9))
    chosen = st.tuples(conditions(depth - 1), inner, inner).map(lambda parts: n.Select(*parts))
    return st.one_of(
        leaf,
        st.tuples(raw, inner, inner).map(lambda parts: parts[0](parts[1], parts[2])),
        divided.map(lambda parts: parts[0](parts[1], b.const(parts[2]))),
        chosen,
    )


def conditions(depth: int) -> st.SearchStrategy[n.PrimExpr]:
    inner = integers(max(depth - 1, 0))
    kinds = st.sampled_from([n.LT, n.LE, n.GT, n.GE, n.EQ, n.NE])
    plain = st.tuples(kinds, inner, inner).map(lambda parts: parts[0](parts[1], parts[2]))
    if depth == 0:
        return plain
    less = conditions(depth - 1)
    joined = st.tuples(st.sampled_from([n.And, n.Or]), less, less).map(lambda parts: parts[0](parts[1], parts[2]))
    return st.one_of(plain, joined, less.map(n.Not))


@given(st.one_of(integers(4), conditions(3)), st.integers(0, 2**32))
def test_values_are_kept(expr: n.PrimExpr, seed: int):
    made = simplify(expr, RANGES)
    random_values = random.Random(seed)
    for _ in range(8):
        values = {variable: random_values.randint(low, high) for variable, (low, high) in RANGES.items()}
        assert evaluate(made, values) == evaluate(expr, values)


@given(integers(4), st.integers(0, 2**32))
def test_bounds_hold(expr: n.PrimExpr, seed: int):
    low, high = bounds(expr, {id(variable): interval for variable, interval in RANGES.items()})
    random_values = random.Random(seed)
    for _ in range(8):
        values = {variable: random_values.randint(least, most) for variable, (least, most) in RANGES.items()}
        assert low <= evaluate(expr, values) <= high


@given(integers(3))
def test_linear_forms_keep_the_value(expr: n.PrimExpr):
    values = {I: 2, J: 5, K: -3}
    assert evaluate(linear(expr).expression(), values) == evaluate(expr, values)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((I * 8 + J) // 8, I),
        ((I * 8 + J) % 8, J),
        ((I * 8 + J + 8) // 8 - 1, I),
        ((I * 16 + J) // 8, I * 2),
        ((J // 2) // 4, b.const(0)),
        (b.minimum(I, 20), I),
        (b.maximum(I, -1), I),
        (I + J - I, J),
        (J < 8, b.const(True)),
        (J >= 8, b.const(False)),
        (n.Select(J < 8, I, J), I),
    ],
)
def test_what_schedules_rely_on(expr: n.PrimExpr, expected: n.PrimExpr):
    from workbench.core.equal import same

    made = simplify(expr, RANGES)
    assert same(made, expected), made


def test_can_prove():
    assert can_prove(I * 8 + J < 32, RANGES) and not can_prove(I * 8 + J < 31, RANGES)


def test_long_sums_are_fast_and_do_not_recurse():
    total: n.PrimExpr = I
    for _ in range(3_000):
        total = n.Add(total, b.const(1))
    assert bounds(total, {id(I): (0, 1)}) == (3000, 3001)
