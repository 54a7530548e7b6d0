"""Kernels known from before: an edit of one operator lowers that one, and all else says what it would say anew."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import workbench as wb
from tests.driver.programs import small_inputs, small_model
from tests.driver.test_function_memo import facts
from workbench import relay
from workbench.core import origin
from workbench.driver.open import open_session
from workbench.lower import known
from workbench.lower.kernel import kernel_key, make_kernel
from workbench.lower.known import KnownKernels
from workbench.relay import transform
from workbench.relay.ir.expr import Call, Expr
from workbench.relay.ir.operator import Operator
from workbench.target.target import Target


def edited(session: Any) -> Any:
    """The first convolution without its padding to the left."""
    step = session["Import"]
    text = step.program["main"].script()
    changed = text.replace("padding=(1, 1, 1, 1)", "padding=(1, 0, 1, 2)", 1)
    assert changed != text
    return step.edit(changed)


def kernels(session: Any) -> dict[str, Any]:
    return {kernel.name: kernel for kernel in session["Lower"].step.stage.lowered.kernels}


def typed(function: Any) -> Any:
    return transform.InferType()(wb.IRModule.from_expr(function))["main"]


def small_pair() -> Any:
    """A graph of two kernels."""
    x = relay.var("x", shape=(4, 8))
    return relay.Function([x], relay.nn.softmax(relay.nn.relu(relay.exp(x))))


def test_an_edit_of_one_operator_lowers_its_kernel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(name: str, *rest: Any) -> Any:
        made.append(name)
        return make_kernel(name, *rest)

    monkeypatch.setattr(known, "make_kernel", counted)
    session = open_session(small_model())
    session.build()
    first, made[:] = list(made), []
    other = edited(session)
    other.build()
    assert len(made) == 1 < len(first)
    assert [name for name, kernel in kernels(other).items() if kernels(session)[name] is not kernel] == made
    model = small_model()
    next(iter(model.graph.node)).attribute[0].ints[:] = (1, 0, 1, 2)
    (expected,) = ReferenceEvaluator(model).run(None, small_inputs())
    np.testing.assert_allclose(other.run(small_inputs())["y"], expected, rtol=1e-5, atol=1e-6)


def test_every_step_says_what_it_says_without(monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(small_model())
    session.build()
    other = edited(session)
    other.build()
    remembered = facts(other), [handle.after.script() for handle in other.steps]
    monkeypatch.setattr(KnownKernels, "kernel", lambda self, *given: make_kernel(*given[:4]))
    anew = edited(open_session(small_model()))
    anew.build()
    assert (facts(anew), [handle.after.script() for handle in anew.steps]) == remembered


def by_operator(session: Any) -> Counter[tuple[str, str, str]]:
    """Which operators the parts of kernels come from."""
    return Counter(
        (type(node).__name__, getattr(node, "name", ""), source.op.name)
        for node, found in session["Lower"].step.origins.items()
        for source in found
        if isinstance(source, Call) and isinstance(source.op, Operator)
    )


def test_origins_are_those_of_the_graph_that_was_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(small_model())
    session.build()
    other = edited(session)
    own = {id(node) for node in other["Lower"].before.nodes()}
    sources = [
        source
        for node, found in other["Lower"].step.origins.items()
        for source in found
        if isinstance(source, (Call, Expr)) and not isinstance(node, Expr)
    ]
    assert sources and all(id(source) in own for source in sources)
    monkeypatch.setattr(KnownKernels, "kernel", lambda self, *given: make_kernel(*given[:4]))
    assert by_operator(other) == by_operator(edited(open_session(small_model())))


def test_names_of_parameters_are_its_own() -> None:
    """Equal up to names is not equal in print."""

    def lowered(name: str) -> Any:
        x = relay.var(name, shape=(4, 8))
        return relay.Function([x], relay.exp(x))

    kept = KnownKernels()
    texts = []
    for name in ("a", "b", "a"):
        function = typed(lowered(name))
        kernel = kept.kernel("k", function, kernel_key(function), Target("llvm"))
        texts.append(wb.IRModule({"k": kernel.func}).script())
    assert texts[0] == texts[2] != texts[1] and "b:" in texts[1]


def test_the_same_is_told_each_time_also_of_what_was_made_unheard() -> None:
    function = typed(small_pair())
    kept, key = KnownKernels(), kernel_key(function)
    first = kept.kernel("k", function, key, Target("llvm"))
    tables = []
    for _ in range(2):
        with origin.recording() as table:
            assert kept.kernel("k", function, key, Target("llvm")) is first
        tables.append(table)
    one, two = tables
    assert first.func in one and len(one) == len(two)
    assert all(two.of(node) == sources for node, sources in one.items())
    with origin.recording() as anew:
        make_kernel("k", function, key, Target("llvm"))
    kinds = [Counter(type(node).__name__ for node, _ in table.items()) for table in (one, anew)]
    assert kinds[0] == kinds[1]


def test_expressions_of_one_type_are_found_whether_they_share_its_object() -> None:
    kept = KnownKernels()
    shared = relay.TensorType((4, 8), "float32")
    made = []
    for types in ((shared, shared), (shared, relay.TensorType((4, 8), "float32"))):
        x, y = (relay.Var(name, kind) for name, kind in zip("xy", types, strict=True))
        function = typed(relay.Function([x, y], relay.add(x, y)))
        made.append(kept.kernel("k", function, kernel_key(function), Target("llvm")))
    assert made[0] is made[1]


def unannotated(rows: int) -> Any:
    """A primitive function of a person, whose parameter has the type of what it is called with."""
    inner = relay.Var("p")
    apart = relay.Function([inner], relay.nn.relu(relay.exp(inner))).with_attr("Primitive", 1)
    x = relay.var("x", shape=(rows, 8))
    return relay.Function([x], relay.Call(apart, (x,)))


@pytest.mark.parametrize(("before", "after"), [(4, 8), (8, 4)])
def test_a_parameter_without_a_written_type_has_that_of_its_call(before: int, after: int) -> None:
    """The kernel of the earlier shape was taken: rows beyond it were left, or memory was overrun."""
    session = wb.open(unannotated(before))
    session.build()
    step = session["Import"]
    other = step.edit(step.program["main"].script().replace(f"({before}, 8)", f"({after}, 8)"))
    x = np.random.default_rng(0).standard_normal((after, 8)).astype("float32")
    (found,) = other.run({"x": x}).values()
    np.testing.assert_allclose(found, np.exp(x.astype("float64")), rtol=1e-5)


def test_two_calls_of_such_functions_have_kernels_of_their_own() -> None:
    x, y = relay.var("x", shape=(4, 8)), relay.var("y", shape=(2, 3))
    calls = [relay.Call(unannotated(1).body.op, (given,)) for given in (x, y)]
    session = wb.open(relay.Function([x, y], relay.Tuple(calls)))
    given = {"x": np.full((4, 8), 0.5, "float32"), "y": np.full((2, 3), -0.5, "float32")}
    for value, found in zip(given.values(), session.run(given).values(), strict=True):
        np.testing.assert_allclose(found, np.exp(value.astype("float64")), rtol=1e-5)


def test_constants_that_are_one_object_are_one_input() -> None:
    """Which of them are one was that of the program before."""
    kept = KnownKernels()
    p = relay.var("p", shape=(2,))
    one, two = (relay.const(np.array([1, 2], "float32")) for _ in range(2))
    found = []
    for constants in ((one, one, two), (one, two, two), (one, two, one)):
        function = typed(relay.Function([p], relay.concatenate([p, *constants], axis=0)))
        kernel = kept.kernel("k", function, kernel_key(function), Target("llvm"))
        anew = make_kernel("k", function, kernel_key(function), Target("llvm"))
        assert wb.IRModule({"k": kernel.func}).script() == wb.IRModule({"k": anew.func}).script()
        found.append(kernel)
    assert len({id(kernel) for kernel in found}) == 3


def test_other_limits_make_kernels_and_their_schedules_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    x = relay.var("x", shape=(64, 8))
    y = relay.nn.softmax(relay.tanh(relay.add(x, relay.const(1.5))))
    session = wb.open(relay.Function([x], relay.nn.softmax(relay.exp(y))))
    session.build()
    text = session["Import"].program["main"].script()
    monkeypatch.setattr(wb.limits, "inlined_nodes", 3)
    changed = text.replace("R.exp", "R.sqrt")
    other, fresh = session["Import"].edit(changed), wb.open(session["Import"].edit(changed)["Edit"].after["main"])
    assert other.kernels == fresh.kernels
    for name in other.kernels:
        assert other.schedule(name).trace.as_json() == fresh.schedule(name).trace.as_json()


def test_kernels_end_with_the_last_session_that_holds_them() -> None:
    kept = KnownKernels()
    function = typed(small_pair())
    made = weakref.ref(kept.kernel("k", function, kernel_key(function), Target("llvm")))
    gc.collect()
    assert made() is None
