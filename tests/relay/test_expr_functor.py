"""Visitors and mutators: classic behaviour, sharing, provenance, and programs far deeper than Python's stack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relay.programs import chain, let_chain, list_module, mixed_function, network
from workbench import relay
from workbench.core import origin
from workbench.core.equal import structural_equal
from workbench.core.errors import WorkbenchError
from workbench.relay import ExprFunctor, ExprMutator, ExprVisitor


class CountCalls(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def visit_call(self, call: Any) -> None:
        self.count += 1
        super().visit_call(call)


class TanhToRelu(ExprMutator):
    def visit_call(self, call: Any) -> Any:
        new = super().visit_call(call)
        return relay.nn.relu(new.args[0]) if new.op == relay.op.get("tanh") else new


def test_a_visitor_meets_each_expression_once() -> None:
    x = relay.var("x", shape=(2,))
    shared = relay.tanh(x)
    visitor = CountCalls()
    visitor.visit(relay.Function([x], relay.add(shared, shared)))
    assert visitor.count == 2
    visitor.visit(shared)
    assert visitor.count == 2, "answers are remembered"


def test_a_mutator_rebuilds_what_changed_only() -> None:
    x = relay.var("x", shape=(2,))
    kept = relay.exp(x)
    function = relay.Function([x], relay.add(relay.tanh(kept), relay.tanh(kept)))
    made = TanhToRelu().visit(function)
    assert structural_equal(made, relay.Function([x], relay.add(relay.nn.relu(kept), relay.nn.relu(kept))))
    assert made.body.args[0].args[0] is kept
    untouched = relay.Function([x], relay.exp(x))
    assert TanhToRelu().visit(untouched) is untouched


@pytest.mark.parametrize("make", [mixed_function, lambda: list_module()["main"], lambda: network()["main"]])
def test_every_kind_of_expression_is_visited_and_rebuilt(make: Any) -> None:
    function = make()
    ExprVisitor().visit(function)

    class Renamed(ExprMutator):
        def visit_var(self, var: Any) -> Any:
            made = relay.Var(f"{var.name_hint}_", var.type_annotation)
            return made

    made = Renamed().visit(function)
    assert made is not function
    if function.params:
        assert made.params[0].name_hint.endswith("_")
    assert ExprMutator().visit(function) is function


def test_what_a_mutator_makes_derives_from_what_was_there() -> None:
    x = relay.var("x", shape=(2,))
    old = relay.tanh(x)
    with origin.recording() as table:
        made = TanhToRelu().visit(relay.Function([x], relay.negative(old)))
    assert old in table.of(made.body.args[0])


def test_subclasses_may_leave_out_the_base_initialiser() -> None:
    class Plain(ExprVisitor):
        def __init__(self) -> None:
            self.names: list[str] = []

        def visit_var(self, var: Any) -> None:
            self.names.append(var.name_hint)

    visitor = Plain()
    visitor.visit(relay.Tuple((relay.var("a"), relay.var("b"))))
    assert visitor.names == ["a", "b"]


@pytest.mark.parametrize("make", [chain, let_chain])
def test_programs_deeper_than_the_stack(make: Any) -> None:
    function = make(20_000)
    visitor = CountCalls()
    visitor.visit(function)
    assert visitor.count >= 20_000
    assert ExprMutator().visit(function) is function


def test_an_exception_on_the_deep_stack_arrives() -> None:
    class Stop(ExprVisitor):
        def visit_var(self, var: Any) -> None:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Stop().visit(chain(3_000))


def test_refusals() -> None:
    x = relay.var("x", shape=(2,))
    with pytest.raises(WorkbenchError, match="has no visit_call"):
        ExprFunctor().visit(relay.tanh(x))
    with pytest.raises(WorkbenchError, match="no relay expression"):
        ExprVisitor().visit("text")  # type: ignore[arg-type]

    class Endless(ExprVisitor):
        def visit_var(self, var: Any) -> None:
            self.visit_var(var)

    with pytest.raises(WorkbenchError, match="too many Python frames"):
        Endless().visit(relay.tanh(x))


def test_bind() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    bound = relay.bind(relay.Function([x, y], relay.add(x, y)), {y: relay.const([1.0, 2.0])})
    assert bound.params == (x,) and isinstance(bound.body.args[1], relay.Constant)
    assert relay.bind(relay.add(x, y), {x: y}).args == (y, y)
