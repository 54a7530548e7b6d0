"""Looking inside a step: stops, the program between two rewrites, the first wrong rewrite; branches; reloading."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model, small_session
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.rewrite import RuleTable
from workbench.core.transform import PASSES
from workbench.driver.session import Session
from workbench.relay.patterns import any_, constant, op
from workbench.relay.transforms.rules import apply_rules


@pytest.fixture
def own_passes() -> Iterator[None]:
    before = list(PASSES)
    yield
    for name in [name for name in PASSES if name not in before]:
        PASSES.remove(name)


def test_stops_show_the_rule_and_what_it_met() -> None:
    stops = small_session().debug("FoldScaleAxis", rule="scale-*")
    assert len(stops) == 1 and stops[0].rule == "scale-after-bias"
    assert stops[0]["data"].name_hint == "x"
    text = str(stops)
    assert "rewrite 0 of FoldScaleAxis" in text and "fold_scale_axis.py:" in text
    assert "before    multiply(nn.bias_add(nn.conv2d(%x" in text


def test_the_program_at_a_stop_is_the_one_before_the_rewrite() -> None:
    session = small_session()
    stop = session.debug("FoldConstant", node="sqrt")[0]
    after = wb.driver.debugging.after_rewrites(stop.step, stop.stop.number + 1)
    assert "R.sqrt" in stop.program.script() and "R.sqrt" not in after.script()


def test_a_step_without_such_rewrites_names_those_it_has() -> None:
    text = str(small_session().debug("FuseOps", rule="no-such"))
    assert text == "no rewrite of FuseOps fits; rules that fired in it: fuse"


def test_every_number_of_rewrites_gives_a_program_that_computes_the_same() -> None:
    session = small_session()
    step = session["FoldConstant"]
    assert len(step.rewrites) >= 5
    texts = [step.after_rewrites(count).script() for count in range(len(step.rewrites) + 1)]
    assert texts[0] == session["SimplifyInference"].script() and texts[-1] == step.script()
    assert len(set(texts)) == len(texts)
    assert step.first_wrong_rewrite(small_inputs()) is None


WRONG = RuleTable("wrong")


@WRONG.rule("relu-of-relu", op("nn.relu", op("nn.relu", any_("x"))))
def relu_of_relu(m: Any) -> Any:
    """relu(relu(x)) is relu(x)."""
    return relay.nn.relu(m["x"])


@WRONG.rule("add-one", op("add", any_("x"), constant("one", value=1)))
def add_one(m: Any) -> Any:
    """x + 1 is x, which is wrong."""
    return m["x"]


def test_the_first_wrong_rewrite_is_found(own_passes: None) -> None:
    @relay.transform.function_pass(opt_level=0, name="Wrong")
    def Wrong(function: Any, mod: Any, ctx: Any) -> Any:
        return apply_rules(function, WRONG)

    x = relay.var("x", shape=(3,), dtype="float32")
    body = x
    for _ in range(4):
        body = relay.nn.relu(relay.nn.relu(body))
    function = relay.Function([x], relay.add(relay.nn.relu(relay.add(body, relay.const(np.float32(1)))), body))
    session = wb.open(function, passes=["InferType", Wrong])
    wrong = session["Wrong"].first_wrong_rewrite({"x": np.ones(3, np.float32)})
    assert wrong.stop.rule == "add-one" and wrong.error == pytest.approx(1.0)
    assert wrong.number > 0 and "first wrong rewrite" in str(wrong)


def test_a_function_is_called_at_each_stop() -> None:
    seen: list[str] = []
    stops = small_session().debug("FoldConstant", action=lambda stop: seen.append(stop.rule))
    assert seen == [stop.rule for stop in stops] and seen


@pytest.mark.parametrize(
    ("look", "code"),
    [
        (lambda s: s.debug("NoSuch"), "E-STEP-UNKNOWN"),
        (lambda s: s.debug("Import"), "E-STEP-FIRST"),
        (lambda s: s.debug("FoldConstant", action="stop"), "E-BREAK-ACTION"),
        (lambda s: s.debug("FoldScaleAxis")[0]["nothing"], "E-BREAK-NAME"),
        (lambda s: s["FoldConstant"].after_rewrites(-1), "E-REWRITE-UNKNOWN"),
        (lambda s: s["Lower"].first_wrong_rewrite(small_inputs()), "E-REWRITE-LEVEL"),
        (lambda s: s["FoldConstant"].first_wrong_rewrite({}), "E-RUN-INPUT"),
        (lambda s: s.rerun(insert={"Codegen": "InferType"}), "E-PASS-PLACE"),
        (lambda s: s.rerun(insert={"NoSuch": "InferType"}), "E-STEP-UNKNOWN"),
        (lambda s: s.branches[99], "E-BRANCH-UNKNOWN"),
    ],
)
def test_unfit_questions_are_refused(look: Any, code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        look(small_session())
    assert caught.value.code == code


def test_passes_are_put_in_after_a_step() -> None:
    session = small_session()
    more = session.rerun(insert={"FuseOps": "InferType", "Import": "SimplifyExpr"})
    assert (
        more.labels[:2] == ("Import", "SimplifyExpr") and more.labels[more.labels.index("FuseOps") + 1] == "InferType#2"
    )
    assert len(more) == len(session) + 2
    np.testing.assert_allclose(more.run(small_inputs())["y"], session.run(small_inputs())["y"], rtol=1e-6)


@relay.transform.function_pass(opt_level=0, name="Mine")
def Mine(function: Any, mod: Any, ctx: Any) -> Any:
    return function


def test_labels_of_replaced_passes_are_those_of_the_session_asked() -> None:
    session = small_session()
    places = [at for at, label in enumerate(session.labels) if label.partition("#")[0] == "FoldConstant"]
    assert len(places) == 3, "the pipeline folds constants three times"
    both = session.rerun(replace={"FoldConstant": Mine, "FoldConstant#2": Mine})
    names = [label.partition("#")[0] for label in both.labels]
    assert [at for at, name in enumerate(names) if name == "Mine"] == places[:2]
    assert names[places[2]] == "FoldConstant"


def test_a_pass_goes_behind_one_that_is_replaced() -> None:
    session = small_session()
    made = session.rerun(replace={"FuseOps": Mine}, insert={"FuseOps": "InferType"})
    at = session.labels.index("FuseOps")
    assert made.labels[at : at + 2] == ("Mine", "InferType#2")


def test_passes_behind_one_step_run_in_the_order_given() -> None:
    at = small_session().labels.index("FuseOps")
    made = small_session().rerun(insert={"FuseOps": "InferType", at: Mine, 0: "SimplifyExpr"})
    assert made.labels[1] == "SimplifyExpr" and made.labels[at + 2 : at + 4] == ("InferType#2", "Mine")


def test_a_step_is_replaced_once() -> None:
    at = small_session().labels.index("FuseOps")
    with pytest.raises(WorkbenchError, match="replaced twice") as caught:
        small_session().rerun(replace={"FuseOps": Mine, at: "InferType"})
    assert caught.value.code == "E-PASS-PLACE" and f"'FuseOps' and {at}" in str(caught.value)


def test_a_pass_whose_cell_ran_again_is_reloaded(own_passes: None) -> None:
    def define(value: float) -> Any:
        @relay.transform.function_pass(opt_level=0, name="Shift")
        def Shift(function: Any, mod: Any, ctx: Any) -> Any:
            return function.replace(body=relay.add(function.body, relay.const(np.float32(value))))

        return Shift

    x = relay.var("x", shape=(2,), dtype="float32")
    session = wb.open(relay.Function([x], relay.nn.relu(x)), passes=["InferType", define(1.0), "InferType", "FuseOps"])
    inputs = {"x": np.zeros(2, np.float32)}
    assert next(iter(session.run(inputs).values())).tolist() == [1.0, 1.0]
    assert session.reload().plan == session.plan
    define(2.0)
    again = session.reload()
    assert next(iter(again.run(inputs).values())).tolist() == [2.0, 2.0]
    assert again.step(1) is session.step(1), "what comes before is taken from the history"
    assert next(iter(session.run(inputs).values())).tolist() == [1.0, 1.0]


def test_branches_are_a_tree_of_what_was_tried() -> None:
    session = wb.open(relay.Function([x := relay.var("x", shape=(2,), dtype="float32")], relay.nn.relu(x)))
    unfused = session.rerun(disabled_pass=["FuseOps"])
    edited = unfused.edit(relay=unfused["InferType"].script().replace("nn.relu", "sigmoid"), at="InferType")
    lines = str(edited.branches).split("\n")
    assert len(edited.branches) == 3 and lines[0].startswith("  0  Import")
    assert lines[1].startswith("  1  from 0 after FoldConstant") and "-FuseOps" in lines[1]
    assert lines[2].startswith("* 2  from 1 after InferType: +Edit")
    assert edited.branches[1].plan == unfused.plan
    assert [branch.plan for branch in session.branches] == [session.plan, unfused.plan, edited.plan]


def test_a_branch_under_another_target_is_told_from_the_plan_it_was_made_of() -> None:
    """Every step is another one there: the first of all plans was as near as any."""
    wide, plain = "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"
    first = wb.open(small_model(), target=wide)

    def annotated(session: Session, name: str) -> Session:
        schedule = session.schedule("fused_nn_conv2d_subtract")
        schedule.annotate(schedule.get_loops(schedule.get_child_blocks(schedule.get_block("root"))[0])[0], name, 1)
        return session.edit(schedule={"fused_nn_conv2d_subtract": schedule})

    other = annotated(first, "a").rerun(target=plain)
    changed = annotated(other, "b")
    back = changed.rerun(target=wide)
    told = [line[2:].split("  ")[1].rpartition(" (")[0] for line in str(back.branches).split("\n")]
    assert told[1:3] == ["from 0 after Lower: ~Schedule (annotate)", f"from 1 after Import: target {plain}"]
    # Where the default schedule of that target has other steps, the whole trace is told.
    assert told[3].startswith("from 2 after Lower: ~Schedule (") and told[3].endswith("annotate, annotate)")
    assert told[4:] == [f"from 3 after Import: target {wide}"]


YARDSTICK = RuleTable("yardstick")


@YARDSTICK.rule("power-of-negative", op("sqrt", any_("x")))
def power_of_negative(m: Any) -> Any:
    """sqrt(x) is (-x) to the power of a half: NaN for all but 0."""
    return relay.power(relay.negative(m["x"]), relay.const(np.float32(0.5)))


@YARDSTICK.rule("third", op("multiply", any_("x"), any_("y")))
def third(m: Any) -> Any:
    """x * y is x / y / 3."""
    return relay.divide(relay.divide(m["x"], m["y"]), relay.const(np.float32(3)))


@YARDSTICK.rule("minus-41", op("add", any_("x"), any_("y")))
def minus_41(m: Any) -> Any:
    """x + y is x - 41."""
    return relay.subtract(m["x"], relay.const(np.int32(41)))


@pytest.mark.parametrize(
    ("build", "dtype", "values"),
    [
        (relay.sqrt, "float32", [4, 0, 0, 0]),  # one NaN
        (lambda x: relay.multiply(x, relay.const(np.float32(1))), "float32", [1e-4] * 4),  # less than 0.001 apart
        (lambda x: relay.add(x, relay.const(np.int32(7))), "int32", [10**6, 2 * 10**6, 0, 0]),  # a share of 0.00005
    ],
    ids=["NaN", "small", "integers"],
)
def test_the_first_wrong_rewrite_and_the_check_use_one_yardstick(
    own_passes: None, build: Any, dtype: str, values: list[float]
) -> None:
    """It had a rule of its own and answered None where the check names the step."""

    @relay.transform.function_pass(opt_level=0, name="Wrong")
    def Wrong(function: Any, mod: Any, ctx: Any) -> Any:
        return apply_rules(function, YARDSTICK)

    x = relay.var("x", shape=(4,), dtype=dtype)
    session = wb.open(relay.Function([x], build(x))).rerun(insert={"InferType": Wrong})
    inputs = {"x": np.array(values, dtype)}
    assert session.check_numerics(inputs).first_wrong == "Wrong"
    wrong = session["Wrong"].first_wrong_rewrite(inputs)
    assert wrong.number == 0 and wrong.error > 0 and "expected" in str(wrong)


def test_a_step_with_another_number_of_outputs_has_a_wrong_rewrite(own_passes: None) -> None:
    @relay.transform.function_pass(opt_level=0, name="More")
    def More(function: Any, mod: Any, ctx: Any) -> Any:
        return relay.Function(function.params, relay.Tuple([apply_rules(function, WRONG).body, function.params[0]]))

    x = relay.var("x", shape=(2,), dtype="float32")
    session = wb.open(relay.Function([x], relay.nn.relu(relay.nn.relu(x)))).rerun(insert={"InferType": More})
    wrong = session["More"].first_wrong_rewrite({"x": np.ones(2, np.float32)})
    assert wrong is not None and "how many" in str(wrong)


def test_branches_are_told_alike_whoever_asks_first() -> None:
    session = small_session()
    made = [session.without(name) for name in ("FoldConstant", "SimplifyExpr", "FuseOps", "PackWeights")]
    alone = str(made[0].branches)
    again = small_session()
    many = [again.without(name) for name in ("FoldConstant", "SimplifyExpr", "FuseOps", "PackWeights")]
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(lambda _: str(many[0].branches), range(12))) == {alone}
    assert len(many[0].branches) == len(many[0].history.plans)


def test_a_scheduled_kernel_is_copied_without_what_was_found_out_about_it() -> None:
    session = small_session()
    session.step(-1)
    lowered = session.step("Schedule").stage.lowered
    for copied in (copy.deepcopy(lowered), pickle.loads(pickle.dumps(lowered))):
        assert [kernel.name for kernel in copied.kernels] == [kernel.name for kernel in lowered.kernels]
        assert copied.memo == {} and all(kernel.memo == {} for kernel in copied.kernels)
