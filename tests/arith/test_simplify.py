"""The simplifier: every law by random values of both sides, whole random expressions, goldens, speed of growth."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nightly import examples
from workbench.arith import build
from workbench.arith import nodes as n
from workbench.arith.evaluate import evaluate
from workbench.arith.matching import instance
from workbench.arith.nodes import Var
from workbench.arith.rules import FORM_LAWS, REWRITES, constant_names, variables
from workbench.arith.simplify import Simplifier, can_prove, simplify
from workbench.core.dtype import DataType
from workbench.core.equal import same
from workbench.core.errors import WorkbenchError

I, J, K, N = Var("i"), Var("j"), Var("k"), Var("n")  # noqa: E741
RANGES = {I: (0, 3), J: (0, 7), K: (-5, 15), N: (1, 40)}
BOOL = DataType("bool")


@pytest.mark.parametrize("rule", [*REWRITES, *FORM_LAWS], ids=lambda rule: rule.name)
def test_law_holds_for_random_values(rule):
    chance = random.Random(rule.name)
    tried = 0
    for _ in range(400):
        constants = {name: chance.randint(-9, 12) for name in constant_names(rule)}
        if rule.when is not None and not rule.when(constants):
            continue
        if any(value == 0 for value in constants.values()):
            continue
        values = {
            variable: constants.get(
                variable.name, chance.random() < 0.5 if variable.dtype == "bool" else chance.randint(-30, 30)
            )
            for variable in variables(rule.left)
        }
        assert evaluate(rule.left, values) == evaluate(rule.right, values), (rule.law, values)
        tried += 1
    assert tried >= 20


@pytest.mark.parametrize("rule", [*REWRITES, *FORM_LAWS], ids=lambda rule: rule.name)
def test_simplifier_applies_the_law(rule):
    chance = random.Random(rule.name)
    for _ in range(30):
        constants = {name: chance.randint(1, 12) for name in constant_names(rule)}
        if rule.when is not None and not rule.when(constants):
            continue
        bound = {
            v.name: n.IntImm(constants[v.name]) if v.name in constants else Var(v.name, v.dtype)
            for v in variables(rule.left)
        }
        one = Simplifier()
        left, right = one.simplify(instance(rule.left, bound)), one.simplify(instance(rule.right, bound))
        assert one.result(left).key == one.result(right).key, (rule.law, constants)


def _expressions() -> st.SearchStrategy[n.PrimExpr]:
    leaves = st.one_of(st.sampled_from([I, J, K, N]), st.integers(-9, 20).map(n.IntImm))

    def grow(inner):
        pair = st.tuples(inner, inner)
        positive = st.integers(1, 9).map(n.IntImm)
        condition = st.tuples(st.sampled_from([n.LT, n.LE, n.GT, n.GE, n.EQ, n.NE]), inner, inner).map(
            lambda t: t[0](t[1], t[2])
        )
        return st.one_of(
            st.tuples(st.sampled_from([n.Add, n.Sub, n.Min, n.Max]), pair).map(lambda t: t[0](*t[1])),
            st.tuples(inner, st.integers(-6, 9).map(n.IntImm)).map(lambda t: n.Mul(*t)),
            pair.map(lambda t: n.Mul(*t)),
            st.tuples(st.sampled_from([n.FloorDiv, n.FloorMod]), inner, positive).map(lambda t: t[0](t[1], t[2])),
            st.tuples(
                st.sampled_from([n.FloorDiv, n.FloorMod, n.Div, n.Mod]), inner, st.sampled_from([N, n.IntImm(-3)])
            ).map(lambda t: t[0](t[1], t[2])),
            st.tuples(condition, inner, inner).map(lambda t: n.Select(*t)),
            st.tuples(condition, inner, inner).map(lambda t: n.Call(t[1].dtype, "if_then_else", t)),
        )

    return st.recursive(leaves, grow, max_leaves=14)


def _conditions() -> st.SearchStrategy[n.PrimExpr]:
    inner = _expressions()
    plain = st.tuples(st.sampled_from([n.LT, n.LE, n.GT, n.GE, n.EQ, n.NE]), inner, inner).map(
        lambda t: t[0](t[1], t[2])
    )
    return st.recursive(
        plain,
        lambda part: st.one_of(
            st.tuples(st.sampled_from([n.And, n.Or]), part, part).map(lambda t: t[0](t[1], t[2])), part.map(n.Not)
        ),
        max_leaves=4,
    )


def _samples(seed: int):
    chance = random.Random(seed)
    return [{variable: chance.randint(*RANGES[variable]) for variable in RANGES} for _ in range(12)]


@settings(max_examples=examples(400))
@given(_expressions(), st.integers(0, 1000))
def test_random_expressions_keep_their_value(expr, seed):
    simplifier = Simplifier(RANGES)
    made = simplifier.simplify(expr)
    bound = simplifier.bound(expr)
    assert made.dtype == expr.dtype
    for values in _samples(seed):
        found = evaluate(made, values)
        assert found == evaluate(expr, values)
        assert bound.low <= found <= bound.high


@settings(max_examples=examples(300))
@given(_conditions(), st.integers(0, 1000))
def test_random_conditions_keep_their_value(expr, seed):
    simplifier = Simplifier(RANGES)
    made = simplifier.simplify(expr)
    for values in _samples(seed):
        assert bool(evaluate(made, values)) == bool(evaluate(expr, values))
    if simplifier.can_prove(expr):
        assert all(evaluate(expr, values) for values in _samples(seed))


@settings(max_examples=examples(200))
@given(_expressions())
def test_simplifying_again_changes_nothing(expr):
    once = simplify(expr, RANGES)
    assert simplify(once, RANGES) is once


@pytest.mark.parametrize("expr", [(I + I // N) * (I // 2), J * (I * (J + 1)), J // 4 + N * K])
def test_factors_keep_their_places(expr):
    once = simplify(expr, RANGES)
    assert simplify(once, RANGES) is once


def test_what_a_dropped_branch_held_does_not_count():
    never = n.Select(n.LT(I, I), n.Div(K, N), n.Div(I, n.IntImm(-3, "int64")))
    once = simplify(n.FloorDiv(never, n.IntImm(-3, "int64")), RANGES)
    assert simplify(once, RANGES) is once


def test_what_is_divided_towards_zero_is_no_larger():
    simplifier = Simplifier({K: (-5, 15)})
    assert simplifier.bound(n.Div(K, N)) == (-15, 15)
    assert simplifier.bound(n.Mod(K, N)) == (-15, 15)


def test_factors_of_many_divisions_have_short_places():
    """Each held the text of those inside it: 28 of them took 8 s, twice that for each further one."""
    expr = I // 2
    for _ in range(40):
        expr = (expr + J // 3) // 5
    simplifier = Simplifier()
    simplifier.simplify(expr * K)
    assert max(len(place[1]) for place in simplifier.atoms._places.values()) <= 64


def test_arms_that_come_out_equal_are_one():
    """A zero that was written and one that was computed are the same."""
    found = simplify(build.if_then_else(I * 0 < I, 0, I * 0), RANGES)
    assert isinstance(found, n.IntImm) and found.value == 0


@settings(max_examples=examples(150))
@given(_conditions(), _expressions(), st.integers(0, 1000))
def test_assumed_conditions_are_used_soundly(condition, expr, seed):
    made = Simplifier(RANGES).assuming(condition).simplify(expr)
    for values in _samples(seed):
        if evaluate(condition, values):
            assert evaluate(made, values) == evaluate(expr, values)


def test_examples_simplify_as_written(golden):
    from workbench.tir.script import script

    f, g = Var("f"), Var("g")
    ranges = {**RANGES, K: (0, 15), f: (0, 959), g: (0, 63)}
    cases = [
        (I * 8 + J) // 8, (I * 8 + J) % 8, f // 60 * 60 + f % 60 // 3 * 3 + f % 3, (I * 8 + J) // 4, (I * 8 + J) % 4,
        build.minimum(I * 4 + 3, I * 4 + J), I * 8 + J < 32, I * 8 + J < 31, build.all_of(I < 2, I < 3),
        I * N + J - N * I, I // 2 * 2 + I % 2, 3 - I, -I, (I + 4) // 4, K // 4 * 4 + K % 4 - K,
        ((I * 8 + J) * 16 + K) // 128, ((I * 8 + J) * 16 + K) % 128 // 16, (J * 2 + 1) % 4, 7 - J < I,
        build.select(I < 9, J, K), build.select(I < 2, J, J), g // 8 * 8 + g % 8, (g // 16 * 2 + g % 16 // 8) * 8,
        build.maximum(build.minimum(I, 5), 0), (I * 4 + J) // 2, (I * 6 + J * 4) % 8, I * 2 - J * 2 < 4,
        build.equal(I * 4, J * 4), build.equal(I * 4 + 1, J * 2), build.not_equal(I, 9), build.logical_not(I < J),
        build.cast("int32", I) + build.cast("int32", J), (N * I + J * N) // N, N * 4 % N,
    ]  # fmt: skip
    golden("\n".join(f"{script(case)}  ->  {script(simplify(case, ranges))}" for case in cases))


def test_symbolic_ranges_decide():
    simplifier = Simplifier({N: (1, None)})
    simplifier.bind(I, 0, N - 1)
    assert simplifier.simplify((J * N + I) // N) is J
    assert simplifier.simplify((J * N + I) % N) is I
    assert simplifier.can_prove(I < N)
    assert simplifier.can_prove(I + 1 <= N)
    assert not simplifier.can_prove(I + 1 < N)


def test_narrow_integers_that_may_wrap_are_left_alone():
    x = Var("x", DataType("int8"))
    expr = n.FloorDiv(n.Add(x, n.IntImm(100, DataType("int8"))), n.IntImm(2, DataType("int8")))
    assert simplify(expr) is expr
    assert simplify(n.Sub(x, x)).value == 0
    in_range = n.LT(n.Add(x, n.IntImm(1, DataType("int8"))), n.IntImm(9, DataType("int8")))
    assert can_prove(in_range, {x: (0, 7)})


def test_floats_are_not_reassociated():
    x = Var("x", DataType("float32"))
    for expr in (x + 0.0, x * 2.0 * 3.0, x - x, (x + 1.0) - 1.0, x * 0.0):
        assert simplify(expr) is expr
    assert simplify(n.Mul(x, n.FloatImm(1.0))) is x
    assert simplify(n.Sub(x, n.FloatImm(0.0))) is x
    assert simplify(n.Sub(x, n.FloatImm(-0.0))) is not x
    assert isinstance(simplify(n.Add(x, n.FloatImm(0.0))), n.Add)


def test_division_by_zero_is_left_alone():
    expr = n.FloorDiv(I, n.IntImm(0))
    assert simplify(expr) is expr


def test_long_chain_is_simplified_without_recursion():
    expr: n.PrimExpr = I
    for number in range(20_000):
        expr = n.Add(expr, I if number % 2 else n.IntImm(1))
    made = simplify(expr)
    assert evaluate(made, {I: 3}) == 3 + 10_000 * 4


def test_a_range_that_changes_changes_answers():
    simplifier = Simplifier({I: (0, 3)})
    assert simplifier.can_prove(I < 4)
    simplifier.bind(I, 0, 9)
    assert not simplifier.can_prove(I < 4)


def test_missing_value_is_an_error():
    with pytest.raises(WorkbenchError, match="variable j has no value"):
        evaluate(I + J, {I: 1})
    with pytest.raises(WorkbenchError, match="division by zero"):
        evaluate(n.FloorDiv(I, J), {I: 1, J: 0})


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((I * 8 + J) // 8, I),
        ((I * 8 + J) % 8, J),
        ((I * 8 + J + 8) // 8 - 1, I),
        ((I * 16 + J) // 8, I * 2),
        ((J // 2) // 4, build.const(0)),
        (build.minimum(I, 20), I),
        (build.maximum(I, -1), I),
        (I + J - I, J),
        (J < 8, build.const(True)),
        (J >= 8, build.const(False)),
        (n.Select(J < 8, I, J), I),
    ],
)
def test_what_schedules_rely_on(expr, expected):
    assert same(simplify(expr, RANGES), expected)


def test_remainders_of_one_variable_keep_their_order() -> None:
    """Of two that begin with the same variable, each simplification turned the order around."""
    i, j = (next(var for var in RANGES if var.name == name) for name in "ij")
    by = n.IntImm(-3, "int64")
    once = simplify(n.Add(n.FloorMod(j, by), n.FloorMod(n.Add(j, i), by)), RANGES)
    assert simplify(once, RANGES) is once
