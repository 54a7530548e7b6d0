"""Single rewrites: what is shown of them is code of the program, with the rule and what its names met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.models import light_model
from workbench import relay
from workbench.core.rewrite import RuleTable
from workbench.driver.rewrites import Names, rewrite_shown, rule_text
from workbench.driver.step_listings import lasting_script
from workbench.driver.text import short_constants
from workbench.relay.patterns import any_, op


@pytest.fixture(scope="module")
def resnet() -> Any:
    session = wb.open(light_model("resnet50"))
    assert len(session.relay) == 1
    return session


def lines_of(step: Any) -> set[str]:
    return {line.strip() for line in short_constants(lasting_script(step)).split("\n")}


@pytest.mark.parametrize("label", ["FoldScaleAxis", "PackWeights", "FuseOps", "FoldConstant#2"])
def test_what_is_replaced_is_code_of_the_program_before(resnet: Any, label: str) -> None:
    """Fragments were cut by depth: of 52 that FuseOps replaces, 10 were there."""
    step = resnet[label].step
    names, before = Names(step), lines_of(step.previous)
    assert len(step.firings) >= 50
    for firing in step.firings:
        shown = rewrite_shown(firing, names)
        assert set(shown.before) <= before, shown.before


def test_of_a_step_whose_rules_follow_each_other_all_is_code(resnet: Any) -> None:
    step = resnet["SimplifyInference"].step
    names, before = Names(step), lines_of(step.previous)
    firings = [firing for firing in step.firings if firing.rule.name == "decompose"]
    assert len(firings) == 53
    for firing in firings:
        (line,) = rewrite_shown(firing, names).before
        assert line in before


def test_the_result_has_the_name_of_what_it_replaces_and_reads_what_was_read(resnet: Any) -> None:
    step = resnet["FoldScaleAxis"].step
    shown = rewrite_shown(step.firings[1], Names(step))
    heavy, scaled = shown.before
    result, data = scaled.split(" = ")[0], heavy.split("R.nn.conv2d(")[1].split(",")[0]
    assert scaled.startswith(f"{result} = R.multiply({heavy.split(' = ')[0]}, ")
    assert shown.after[-1].startswith(f"{result} = R.nn.conv2d({data}, ") and "multiply" in shown.after[0]
    assert dict(shown.bindings)["data"].startswith(f"{data} = nn.max_pool2d(")
    assert set(dict(shown.bindings)) == {"heavy", "data", "weight", "scale"}


def test_a_rule_is_shown_as_it_is_written(resnet: Any) -> None:
    step = resnet["FoldScaleAxis"].step
    text = rule_text(step.firings[0].rule)
    assert text.startswith("@BACKWARD.rule(") and "def scale_after(m: Match)" in text
    assert rule_text(resnet["FuseOps"].step.firings[0].rule) == "", "a pass that is no table has no rule's text"


def test_a_rule_of_a_cell_that_is_gone_has_no_text() -> None:
    space: dict[str, Any] = {"TABLE": RuleTable("t"), "op": op, "any_": any_}
    exec('@TABLE.rule("exp-is-log", op("exp", any_("x")))\ndef exp_is_log(m):\n    return m["x"]\n', space)
    assert rule_text(space["TABLE"]["exp-is-log"]) == ""


def test_a_rule_that_answers_with_what_is_there_names_it() -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    inner = relay.exp(x)
    function = relay.Function([x], relay.negative(relay.TupleGetItem(relay.Tuple([inner, x]), 0)))
    session = wb.open(function)
    firings = [(step.step, firing) for step in session.steps[:8] for firing in step.step.firings]
    shown = [rewrite_shown(firing, Names(step)) for step, firing in firings]
    assert any(one.after == ("exp(%x)",) for one in shown), [one.after for one in shown]


def test_an_item_written_inside_of_a_tuple_has_not_the_tuples_name() -> None:
    """`v1 = (v0[0], v0[1])` was shown as `v1 = v0[0]`, which stands in no program."""
    x, halves = relay.var("x", shape=(4, 4)), relay.split(relay.const(np.ones((4, 4), "float32")), 2, axis=1)
    joined = relay.reshape(relay.concatenate([halves[0], halves[1]], axis=0), (4, 4))
    session = wb.open(relay.Function([x], relay.add(x, joined)))
    step = session["FoldConstant"].step
    shown = [rewrite_shown(firing, Names(step)).before for firing in step.firings]
    assert ("v0[1]",) in shown and ("v0[0]",) in shown and ("v2 = R.concatenate(v1)",) in shown
    assert not [lines for lines in shown if lines[0].startswith("v1 =")]


def test_a_tuple_without_a_name_is_written_where_it_is_read() -> None:
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    session = wb.open(relay.Function([x, y], relay.add(relay.TupleGetItem(relay.Tuple([relay.exp(x), y]), 0), x)))
    found = [(step.step, firing) for step in session.steps[:6] for firing in step.step.firings]
    shown = [rewrite_shown(firing, Names(step)).before for step, firing in found]
    assert ("v1 = (v0, y)[0]",) in shown, shown
