"""Why a pass left an operator as it is: the first clause that fails, with the value found."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_session
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import post_order
from workbench.core.rewrite import Match, RuleTable
from workbench.core.transform import PassContext
from workbench.relay.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard
from workbench.relay.ir import expr as e
from workbench.relay.patterns import any_, is_float, op
from workbench.relay.transforms.rules import apply_rules

RULES = RuleTable("test_why_not")


@RULES.rule("relu-of-negative", op("nn.relu", op("negative", any_("x"), once=True)))
def relu_of_negative(m: Match) -> Any:
    """Never wanted, but well formed."""
    return relay.nn.relu(relay.negative(m["x"]))


@RULES.rule("float-abs", op("abs", any_("x")), when=[is_float("x")])
def float_abs(m: Match) -> Any:
    """Declines always."""
    return None


@RULES.rule("wide-softmax", op("nn.softmax", any_("x"), attrs={"axis": 0}))
def wide_softmax(m: Match) -> Any:
    """Softmax over the first axis."""
    return m["x"]


@relay.transform.function_pass(opt_level=0, name="Testing")
def Testing(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """The rules above."""
    return apply_rules(func, RULES, mod)


class ReluOfAbs(DFPatternCallback):
    """relu(abs(x)) is abs(x)."""

    def __init__(self) -> None:
        super().__init__()
        self.pattern = is_op("nn.relu")(is_op("abs")(wildcard()))

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return post.args[0]


@relay.transform.function_pass(opt_level=0, name="Callbacks")
def Callbacks(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """One dataflow pattern."""
    return rewrite(ReluOfAbs(), func)


def last_call(main: e.Expr, name: str) -> e.Call:
    """The last call of an operator of this name."""
    found = [one for one in post_order(main) if isinstance(one, e.Call) and getattr(one.op, "name", "") == name]
    return found[-1]


def failed(expr: Any, params: list[Any], rule: str, chosen: Any = Testing) -> str:
    """What is found of a rule at an expression, in a session with one pass."""
    session = wb.open(IRModule({"main": e.Function(tuple(params), expr)})).rerun(passes=["InferType", chosen])
    name = session.labels[2]
    main = session[name].before["main"]
    found = session.why_not(name, last_call(main, expr.op.name))
    trial = next(one for one in (*found.answers, *found.others) if one.rule.name == rule)
    assert trial.failed is not None
    return f"{trial.failed.text}; found {trial.failed.found}"


def test_a_value_that_is_used_twice() -> None:
    x = relay.var("x", shape=(4,))
    twice = relay.negative(x)
    both = relay.Tuple([relay.nn.relu(twice), twice])
    session = wb.open(IRModule({"main": e.Function((x,), both)})).rerun(passes=["InferType", Testing])
    place = last_call(session["Testing"].before["main"], "nn.relu")
    lines = next(one for one in session.why_not("Testing", place).answers if one.rule.name == "relu-of-negative").lines
    assert [line.state for line in lines] == ["holds", "failed"]
    assert (lines[1].text, lines[1].found) == ("negative(%x) is used once", "2 uses")


def test_a_dtype_an_attribute_and_a_rule_that_declines() -> None:
    integers, floats = relay.var("x", shape=(4,), dtype="int32"), relay.var("x", shape=(4, 4))
    assert "floating-point; found Tensor[(4), int32]" in failed(relay.abs(integers), [integers], "float-abs")
    assert "it declined: Declines always." in failed(relay.abs(floats), [floats], "float-abs")
    said = failed(relay.nn.softmax(floats, axis=1), [floats], "wide-softmax")
    assert said == "nn.softmax has axis=0; found axis=1"


def test_a_dataflow_pattern_whose_match_is_used_from_outside() -> None:
    x = relay.var("x", shape=(4,))
    inner = relay.abs(x)
    both = relay.Tuple([relay.nn.relu(inner), inner])
    session = wb.open(IRModule({"main": e.Function((x,), both)})).rerun(passes=["InferType", Callbacks])
    place = last_call(session["Callbacks"].before["main"], "nn.relu")
    (trial,) = session.why_not("Callbacks", place).answers
    assert trial.failed is not None and "is used inside the match only" in trial.failed.text
    assert trial.failed.found == "2 uses"


def test_an_operator_of_a_later_graph_is_found_before_the_pass() -> None:
    session = small_session()
    inner = last_call(session["FuseOps"].after["main"], "nn.conv2d")
    found = session.why_not("SimplifyExpr", inner)
    assert found.node.startswith("nn.conv2d(") and found.answers
    assert "decides without rules" in session.why_not("EliminateCommonSubexpr", inner).note
    text = str(found)
    assert text.splitlines()[0].startswith("SimplifyExpr at nn.conv2d(") and "✗" in text


def test_what_is_no_pass_and_what_is_no_call() -> None:
    session = small_session()
    main = session["InferType"].after["main"]
    with pytest.raises(WorkbenchError, match="E-WHY-NOT-PASS"):
        session.why_not("Import", main.body)
    with pytest.raises(WorkbenchError, match="E-WHY-NOT-NODE"):
        session.why_not("SimplifyExpr", main)
