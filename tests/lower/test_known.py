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
from workbench.core.equal import fingerprint
from workbench.driver.open import open_session
from workbench.lower import known
from workbench.lower.kernel import make_kernel
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
    monkeypatch.setattr(KnownKernels, "kernel", lambda self, *given: make_kernel(*given))
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
    monkeypatch.setattr(KnownKernels, "kernel", lambda self, *given: make_kernel(*given))
    assert by_operator(other) == by_operator(edited(open_session(small_model())))


def test_names_of_parameters_are_its_own() -> None:
    """Equal up to names is not equal in print."""

    def lowered(name: str) -> Any:
        x = relay.var(name, shape=(4, 8))
        return relay.Function([x], relay.exp(x))

    kept = KnownKernels()
    texts = []
    for name in ("a", "b", "a"):
        function = wb.IRModule.from_expr(lowered(name))
        function = transform.InferType()(function)["main"]
        kernel = kept.kernel("k", function, fingerprint(function), Target("llvm"))
        texts.append(wb.IRModule({"k": kernel.func}).script())
    assert texts[0] == texts[2] != texts[1] and "b:" in texts[1]


def test_what_was_made_unheard_is_made_again_for_who_listens() -> None:
    function = transform.InferType()(wb.IRModule.from_expr(small_pair()))["main"]
    kept, key = KnownKernels(), fingerprint(function)
    first = kept.kernel("k", function, key, Target("llvm"))
    assert kept.kernel("k", function, key, Target("llvm")) is first
    with origin.recording() as table:
        second = kept.kernel("k", function, key, Target("llvm"))
    assert second is not first and second.func in table
    with origin.recording() as again:
        assert kept.kernel("k", function, key, Target("llvm")) is second
    assert {id(node) for node, _ in again.items()} == {id(node) for node, _ in table.items()}
    assert all(again.of(node) == sources for node, sources in table.items())


def test_kernels_end_with_the_last_session_that_holds_them() -> None:
    kept = KnownKernels()
    function = transform.InferType()(wb.IRModule.from_expr(small_pair()))["main"]
    made = weakref.ref(kept.kernel("k", function, fingerprint(function), Target("llvm")))
    gc.collect()
    assert made() is None
