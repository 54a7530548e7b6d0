"""The interpreter: every kind of expression, sharing, depth, float64, observation, refusals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tests.relay.programs import chain, let_chain, list_module, mixed_function, network, network_input, sum_module
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t

X = np.arange(6, dtype="float32").reshape(2, 3)


def test_network_sums_to_one() -> None:
    np.testing.assert_allclose(interpret(network(), network_input()).sum(), 1, rtol=1e-6)


def test_recursion_of_any_depth() -> None:
    assert interpret(sum_module(), 20_000) == 20_000 * 20_001 // 2


def test_data_types() -> None:
    assert interpret(list_module(), X) == 2


def test_every_other_kind_of_expression() -> None:
    branch, closure, (unit, read), special, empty = interpret(mixed_function(), X / 10)
    shared = X / 10 + X / 10
    np.testing.assert_allclose(branch[0], np.exp(shared) * shared + shared, rtol=1e-6)
    assert type(closure).__name__ == "Closure" and unit == () and empty.shape == (0, 3)
    np.testing.assert_array_equal(read, shared)
    assert np.isinf(special[1]) and np.isnan(special[2]) and np.signbit(special[3])


def test_closures_keep_their_values() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    make = e.Function((x,), e.Function((y,), relay.subtract(x, y)))
    np.testing.assert_array_equal(interpret(e.Call(e.Call(make, (e.const(X),)), (e.const(X * 3),))), X - X * 3)


def test_references_are_cells() -> None:
    x, cell, unit = relay.var("x", shape=(2, 3)), e.Var("cell"), e.Var("unit")
    body = e.Let(unit, e.RefWrite(cell, relay.negative(x)), e.RefRead(cell))
    np.testing.assert_array_equal(interpret(e.Function((x,), e.Let(cell, e.RefCreate(x), body)), X), -X)


def test_shared_expressions_run_once() -> None:
    x = relay.var("x", shape=(2, 3))
    shared = relay.exp(x)
    seen: list[e.Expr] = []
    branch = e.If(e.const(True), relay.add(shared, shared), shared)
    interpret(e.Function((x,), relay.add(branch, shared)), X, observe=lambda expr, value: seen.append(expr))
    assert sum(expr is shared for expr in seen) == 1


def test_only_the_branch_taken_runs() -> None:
    x = relay.var("x", shape=(2, 3))
    other = relay.exp(x)
    seen: list[e.Expr] = []
    interpret(e.Function((x,), e.If(e.const(True), x, other)), X, observe=lambda expr, value: seen.append(expr))
    assert not any(expr is other for expr in seen)


@pytest.mark.parametrize("make", [chain, let_chain])
def test_chains(make) -> None:
    result = interpret(make(20_000), np.ones(2, "float32"))
    assert result[0] == 20_001


def test_float64_is_a_yardstick() -> None:
    x = relay.var("x", shape=(2, 3))
    function = e.Function((x,), relay.cast(relay.multiply(x, e.const(0.1)), dtype="float32"))
    exact = interpret(function, X, float64=True)
    assert exact.dtype == np.float64
    np.testing.assert_array_equal(exact, X.astype("float64") * np.float64(np.float32(0.1)))


def test_arguments_by_name() -> None:
    a, b = relay.var("a", shape=()), relay.var("b", shape=())
    assert interpret(e.Function((a, b), relay.subtract(a, b)), {"b": 1.0, "a": 3.0}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "1 arguments are needed, not 0"),
        ((X, X), "1 arguments are needed, not 2"),
        (({"y": X},), "there is no parameter 'y'"),
        (({},), "no value for x"),
        ((X.astype("float64"),), "parameter x does not fit"),
        ((X[0],), "parameter x does not fit"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message: str) -> None:
    x = relay.var("x", shape=(2, 3))
    with pytest.raises(WorkbenchError) as caught:
        interpret(e.Function((x,), x), *arguments)
    assert caught.value.code == "E-INTERPRET-ARGUMENT" and message in caught.value.message


def test_no_clause_fits() -> None:
    mod = list_module()
    pattern = e.PatternConstructor(e.Constructor("Nil", "List"), ())
    x = relay.var("x", shape=(2, 3))
    made = e.Call(e.Constructor("Cons", "List"), (x, e.Call(e.Constructor("Nil", "List"), ())))
    function = e.Function((x,), e.Match(made, (e.Clause(pattern, x),), complete=False))
    with pytest.raises(WorkbenchError, match="no clause of the match fits"):
        interpret(function, X, mod=mod)


def test_unbound_variable() -> None:
    with pytest.raises(WorkbenchError, match="has no value here"):
        interpret(e.Function((), e.Tuple((e.Var("y", t.TensorType(())),))))


def test_a_function_of_another_ir() -> None:
    from workbench.core.module import IRModule

    with pytest.raises(WorkbenchError, match="only relay programs"):
        interpret(IRModule({"main": t.TensorType(())}))


def test_a_value_is_forgotten_when_it_was_read_for_the_last_time() -> None:
    """A network held all that it computed until its end."""
    x = relay.var("x", shape=(256, 1024))
    body = kept = relay.nn.relu(x)
    for _ in range(40):
        body = relay.negative(body)
    function = relay.Function([x], relay.Tuple([relay.add(body, kept), kept]))
    given = np.ones((256, 1024), np.float32)
    tracemalloc.start()
    try:
        total, first = interpret(function, given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(total, 2 * given) and np.array_equal(first, given)
    assert peak < 8 * given.nbytes


def test_what_blocks_inside_read_stays() -> None:
    """A branch, a function and what is given to it again may read a value at any time."""
    x, y, condition = relay.var("x", shape=(3,)), relay.var("y", shape=(3,)), relay.var("c", shape=(), dtype="bool")
    outer = relay.exp(x)
    twice = relay.Function([y], relay.add(y, outer))
    chosen = relay.If(condition, relay.negative(outer), relay.multiply(outer, outer))
    body = relay.Tuple([relay.Call(twice, [relay.Call(twice, [x])]), chosen, relay.tanh(outer)])
    function, given = relay.Function([x, condition], body), np.array([0.5, 1.0, 2.0], np.float32)
    for flag in (True, False):
        sums, branch, last = interpret(function, given, np.array(flag))
        wide = np.exp(given)
        assert np.allclose(sums, given + 2 * wide) and np.allclose(last, np.tanh(wide))
        assert np.allclose(branch, -wide if flag else wide * wide)
