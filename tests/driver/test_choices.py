"""What computes a kernel: candidates with cost and reason; choices through edits, files, Python and branches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import EIGHT_LANES, INPUT, onnxruntime_outputs, wide_inputs, wide_model
from workbench import relay, te
from workbench.analysis import flops
from workbench.core.errors import WorkbenchError
from workbench.driver.session import Session
from workbench.relay.ir.operator import OPERATORS, Operator, operator
from workbench.relay.transform import PassContext
from workbench.topi.nn_conv import Conv2D

CONVOLUTION = "fused_nn_conv2d"


def layers() -> relay.Function:
    """Two convolutions of three taps, each with a relu, and a dense layer."""
    random = np.random.default_rng(0)
    weights = [relay.const(random.standard_normal(shape).astype(np.float32) / 8) for shape in
               ((32, 16, 3, 3), (16, 32, 3, 3), (24, 16 * 14 * 14))]  # fmt: skip
    body = relay.var(INPUT, shape=(1, 16, 14, 14))
    for weight in weights[:2]:
        body = relay.nn.relu(relay.nn.conv2d(body, weight, padding=1))
    body = relay.nn.dense(relay.reshape(body, newshape=(1, -1)), weights[2])
    return relay.Function(relay.analysis.free_vars(body), body)


def opened(**settings: Any) -> Session:
    """Without Winograd's tiles: convolutions stay what they are."""
    with PassContext(opt_level=2, **settings):
        return wb.open(layers(), target=EIGHT_LANES)


def kernel(session: Session, of: str = "conv2d", number: int = 0) -> str:
    return [name for name in session.kernels if of in name][number]


def output(session: Session) -> np.ndarray:
    given = np.random.default_rng(1).standard_normal((1, 16, 14, 14)).astype(np.float32)
    return next(iter(session.run({INPUT: given}).values()))


def refused(session: Session, *arguments: Any, **config: Any) -> WorkbenchError:
    with pytest.raises(WorkbenchError) as caught:
        session.choose(*arguments, **config)
    return caught.value


def test_candidates_are_told_with_cost_and_reason() -> None:
    session = opened()
    found = session.candidates(kernel(session))
    text = str(found)
    assert [one.implementation.name for one in found][:3] == ["conv2d.blocks", "conv2d.columns", "conv2d.plain"]
    assert text.split("\n")[1].startswith("* conv2d.blocks") and "blocks=4 columns=2 width=14, one of" in text
    assert "conv2d.pixels       not: one tap at every pixel" in text and "found (3, 3) taps" in text
    assert "product.tiles" in str(session.candidates(kernel(session, "dense")))


def test_another_tile_gives_the_same_numbers_and_other_loops() -> None:
    session = opened()
    name = kernel(session)
    chosen = session.choose(name, "conv2d.blocks", columns=7, blocks=1)
    assert chosen.kernels == session.kernels
    assert chosen.schedule(name).code() != session.schedule(name).code()
    assert "blocks=1 columns=7" in str(chosen.candidates(name)).split("\n")[1]
    np.testing.assert_allclose(output(chosen), output(session), rtol=1e-4, atol=1e-4)
    other = kernel(session, number=1)
    assert chosen.schedule(other).code() == session.schedule(other).code(), "of one kernel alone"


def test_every_candidate_gives_the_same_numbers() -> None:
    session = opened()
    expected = output(session)
    for name in session.kernels:
        for one in session.candidates(name):
            if one.refusal is None:
                chosen = session.choose(name, one.implementation.name)
                np.testing.assert_allclose(output(chosen), expected, rtol=1e-4, atol=1e-4, err_msg=str(one))


def test_all_candidates_of_a_model_agree_with_onnxruntime() -> None:
    """All at once: of each kernel what is not taken, where there is such."""
    session = chosen = wb.open(wide_model(), target=EIGHT_LANES)
    count = 0
    for name in session.kernels:
        workload = session.step("Lower").stage.kernels(session.target)[name].workload
        if workload is not None and type(workload.operator).family:
            others = [one for one in session.candidates(name) if one.refusal is None][1:]
            for one in others[:1]:
                chosen, count = chosen.choose(name, one.implementation.name), count + 1
    assert count > 3
    found = list(chosen.run(wide_inputs()).values())
    for one, wanted in zip(found, onnxruntime_outputs(wide_model(), wide_inputs()), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-3, atol=1e-4)


def test_the_cheapest_again_is_the_session_before() -> None:
    session = opened()
    name = kernel(session)
    chosen = session.choose(name, "conv2d.plain")
    assert chosen.plan != session.plan and chosen.choose(name).plan == session.plan
    assert chosen.choose(name, "conv2d.blocks", columns=7).choose(name).plan == session.plan


def test_a_choice_outlives_a_change_above_and_is_made_anew_on_what_comes_there() -> None:
    chosen = opened().choose(kernel(opened()), "conv2d.blocks", columns=2)
    above = chosen.without("SimplifyExpr")
    name = kernel(above)
    taken = above.candidates(name).taken
    assert taken is not None and taken.by_hand and taken.config["columns"] == 2
    other = next(one for one in above.kernels if "conv2d" in one and one != name)
    assert not above.candidates(other).taken.by_hand  # type: ignore[union-attr]


def test_a_choice_that_is_not_to_be_had_any_more_stops_and_is_dropped() -> None:
    session = opened()
    chosen = session.choose(kernel(session), "conv2d.blocks", columns=7)
    lost = chosen.rerun(disabled_pass=["PackWeights"])  # the weight is in no blocks then
    error = lost.step("Lower").error
    assert error is not None and error.code == "E-EDIT-REBASE" and "conv2d.blocks columns=7" in error.found
    with pytest.raises(WorkbenchError, match="do not apply"):
        lost.build()
    kept = lost.rebase()
    assert kept.plan.lower_row()[1].choices == () and kept.build() is not None


def test_a_choice_is_saved_and_written_as_python(tmp_path: Path) -> None:
    session = opened()
    name = kernel(session)
    chosen = session.choose(name, "conv2d.blocks", columns=2)
    chosen.save(str(tmp_path / "s.json"))
    again = wb.open(str(tmp_path / "s.json"))
    assert again.plan.rows == chosen.plan.rows
    assert again.schedule(name).code() == chosen.schedule(name).code()
    assert f"s = s.choose({name!r}, 'conv2d.blocks', columns=2)" in chosen.to_python()
    assert "~Lower" in str(chosen.branches)


@pytest.mark.parametrize("config", [{"columns": "2"}, {"columns); import os; f(x": 2}, {"columns": True}, [], 3])
def test_a_damaged_choice_of_a_file_is_refused(tmp_path: Path, config: Any) -> None:
    session = opened()
    session.choose(kernel(session), "conv2d.blocks", columns=2).save(str(tmp_path / "s.json"))
    document = json.loads((tmp_path / "s.json").read_text())
    (row,) = [row for row in document["plan"] if row["kind"] == "lower"]
    row["choices"][0]["config"] = config
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(tmp_path / "s.json"))
    assert caught.value.code == "E-SAVED-DAMAGED"


def test_an_implementation_of_a_file_that_there_is_not_stops_at_its_step(tmp_path: Path) -> None:
    session = opened()
    session.choose(kernel(session), "conv2d.blocks").save(str(tmp_path / "s.json"))
    text = (tmp_path / "s.json").read_text()
    (tmp_path / "s.json").write_text(text.replace('"conv2d.blocks"', '"conv2d.blox"'))
    error = wb.open(str(tmp_path / "s.json")).step("Lower").error
    assert error is not None and error.code == "E-EDIT-REBASE" and "conv2d.blox" in error.found


def test_what_cannot_be_chosen_is_refused_and_nothing_is_lost() -> None:
    session = opened()
    name = kernel(session)
    branches = len(session.branches)
    assert refused(session, "gone", "conv2d.blocks").code == "E-KERNEL-UNKNOWN"
    assert refused(session, name, "conv2d.block").fix == "did you mean 'conv2d.blocks'?"
    assert refused(session, name, "conv2d.pixels").code == "E-CHOICE-REFUSED"
    assert refused(session, name, "conv2d.blocks", columns=5).code == "E-CHOICE-CONFIG"
    assert refused(session, name, "conv2d.blocks", lanes=8).code == "E-CHOICE-CONFIG"
    assert len(session.branches) == branches
    x = relay.var("x", shape=(4, 4))
    plain = wb.open(relay.Function([x], relay.add(x, x)))
    for ask in (plain.candidates, plain.choose):
        with pytest.raises(WorkbenchError, match="no operator of this kernel"):
            ask(plain.kernels[0], *(["add.plain"] if ask == plain.choose else []))


NO_NAMES = (["conv2d.blocks"], np.array(["conv2d.blocks"] * 2), {}, None, 0, 10**5000, object())


@pytest.mark.parametrize("asked", NO_NAMES, ids=type)
def test_what_is_no_name_is_refused(asked: Any) -> None:
    session = opened()
    error = refused(session, kernel(session), asked)
    assert error.code == "E-CHOICE-UNKNOWN" and type(asked).__name__ in error.found


def test_a_refusal_is_short_whatever_was_asked() -> None:
    session = opened()
    name = kernel(session)
    assert len(str(refused(session, name, "x" * 100_000))) < 2000
    assert "bits" in refused(session, name, "conv2d.blocks", columns=10**5000).found
    assert len(str(refused(session, name, "conv2d.blocks", columns="y" * 100_000))) < 2000


def test_kernel_and_implementation_may_be_given_by_name() -> None:
    """As they are in other calls; `choose(kernel=...)` ended in a TypeError."""
    session = opened()
    name = kernel(session)
    plan = session.choose(name, "conv2d.blocks", columns=2).plan
    assert session.choose(kernel=name, implementation="conv2d.blocks", columns=2).plan == plan
    assert session.choose(name, implementation="conv2d.blocks", columns=2).plan == plan
    assert session.choose(kernel=name, columns=2).plan == plan
    assert session.choose(kernel=name, implementation=session.candidates(name)[0], columns=2).plan == plan
    assert session.choose(name, "conv2d.plain").choose(kernel=name).plan == session.plan


@pytest.mark.parametrize("twice", ["kernel", "implementation", "self"])
def test_what_is_given_twice_is_a_number_that_no_implementation_has(twice: str) -> None:
    session = opened()
    error = refused(session, kernel(session), "conv2d.blocks", **{twice: kernel(session)})
    assert error.code == "E-CHOICE-CONFIG" and twice in error.message, error


def test_no_implementation_has_a_number_called_like_what_is_chosen() -> None:
    session = opened()
    for name in session.kernels:
        for one in session.candidates(name):
            assert not {"kernel", "implementation"} & set(one.config), one


@pytest.mark.parametrize("given", [{}, {"kernel": None}, {"kernel": 3}, {"kernel": ["x"]}, {"columns": 2}], ids=str)
def test_a_call_without_a_kernel_says_so(given: dict[str, Any]) -> None:
    assert refused(opened(), **given).code == "E-KERNEL-UNKNOWN"


def test_an_implementation_is_named_by_itself_and_numbers_by_what_counts_as_one() -> None:
    session = opened()
    name = kernel(session)
    plan = session.choose(name, "conv2d.blocks", columns=2).plan
    blocks = session.candidates(name)[0]
    for one in (blocks, blocks.implementation, blocks.choice, "conv2d.blocks"):
        assert session.choose(name, one, columns=np.int64(2)).plan == plan
    assert session.choose(name, columns=2).plan == plan, "numbers alone are of what computes it now"


# --- kernels of several calls -------------------------------------------------------------------------------------


def twins(second: dict[str, Any] | None = None) -> relay.Function:
    """Two equal convolutions that share a kernel, or with other attributes of the second."""
    random = np.random.default_rng(0)
    weight = relay.const(random.standard_normal((16, 16, 3, 3)).astype(np.float32) / 8)
    body = relay.var(INPUT, shape=(1, 16, 14, 14))
    for attributes in ({"padding": 1}, second or {"padding": 1}):
        body = relay.nn.relu(relay.nn.conv2d(body, weight, **attributes))
    return relay.Function([relay.analysis.free_vars(body)[0]], body)


def parted() -> tuple[Session, list[str]]:
    """A choice for a kernel of two calls, one of which has a kernel of its own after an edit above."""
    with PassContext(opt_level=2):
        session = wb.open(twins(), target=EIGHT_LANES)
    chosen = session.choose(kernel(session), "conv2d.blocks", columns=2)
    text = chosen["Import"].script()
    line = [line for line in text.splitlines() if "conv2d" in line][-1]
    other = line.replace("padding=(1, 1, 1, 1)", "padding=(2, 2, 2, 2), dilation=(2, 2)")
    edited = chosen.edit(relay=text.replace(line, other), at="Import")
    names = [name for name in edited.kernels if "conv2d" in name]
    assert len(names) == 2 and all(by_hand(edited, name) for name in names)
    return edited, names


def by_hand(session: Session, name: str) -> bool:
    taken = session.candidates(name).taken
    return taken is not None and taken.by_hand and taken.config.get("columns") == 2


@pytest.mark.parametrize("choice", [(), ("conv2d.plain",)])
def test_another_choice_for_one_of_two_kernels_leaves_the_other(choice: tuple[str, ...]) -> None:
    edited, names = parted()
    changed = edited.choose(names[0], *choice)
    assert not by_hand(changed, names[0]) and by_hand(changed, names[1])


# --- kernels that are edited --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["conv2d", "mine"])
def test_a_kernel_edited_after_it_was_chosen_computes_what_was_written(stage: str) -> None:
    session = opened()
    name = kernel(session)
    chosen = session.choose(name, "conv2d.blocks", columns=2)
    data, weight, result = chosen.step("Lower").stage.kernels(chosen.target)[name].func.params
    x, w = (te.placeholder(shaped(one), name=text) for one, text in ((data, "x"), (weight, "w")))
    big = te.compute((1, 16, 16, 16), lambda n, c, i, j: te.if_then_else(
        te.all(i >= 1, i < 15, j >= 1, j < 15), x[n, c, i - 1, j - 1], 0.0), name="pad")  # fmt: skip
    axes = [te.reduce_axis((0, extent), name=text) for extent, text in ((16, "rc"), (3, "rh"), (3, "rw"))]
    c, i, j = (axis.var for axis in axes)
    sums = te.compute(shaped(result), lambda n, o, y, z: te.sum(
        big[n, c, y + i, z + j] * w[te.floordiv(o, 8), c, i, j, te.floormod(o, 8)], axis=axes), name=stage)  # fmt: skip
    last = te.compute(
        shaped(result), lambda *at: te.if_then_else(sums(*at) > 0.0, sums(*at), 0.0) * 2.0, name="doubled"
    )
    edited = chosen.edit(te={name: [x, w, last]})
    plain = session.edit(te={name: [x, w, last]})
    np.testing.assert_allclose(output(edited), output(plain), rtol=1e-4, atol=1e-4)


def shaped(buffer: Any) -> tuple[int, ...]:
    return tuple(extent.value for extent in buffer.shape)


# --- operators of users -------------------------------------------------------------------------------------------


def test_what_is_derived_from_an_operator_computes_what_it_says() -> None:
    @operator("test.twice_conv2d")
    class Twice(Conv2D):
        """Twice the convolution."""

        examples = ()

        def compute(self, data: Any, weight: Any) -> Any:
            once = Conv2D.compute(self, data, weight)
            return te.compute(once.shape, lambda *i: once(*i) * 2.0, name="twice")

        def reference(self, data: Any, weight: Any) -> Any:
            return 2 * Conv2D.reference(self, data, weight)

    made_twice: Any = Twice
    try:
        random = np.random.default_rng(0)
        given, taps = (random.standard_normal(shape).astype(np.float32) for shape in ((1, 8, 9, 9), (16, 8, 1, 1)))
        x = relay.var(INPUT, shape=given.shape)
        with PassContext(opt_level=2):
            made = relay.op.call("test.twice_conv2d", x, relay.const(taps))
            session = wb.open(relay.Function([x], made), target=EIGHT_LANES)
        found = next(iter(session.run({INPUT: given}).values()))
        np.testing.assert_allclose(found, made_twice().reference(given, taps), rtol=1e-4, atol=1e-4)
    finally:
        OPERATORS.remove("test.twice_conv2d")


def test_an_operator_that_lacks_what_its_family_reads_is_told() -> None:
    @operator("test.product")
    class Mine(Operator):
        """Once the first operand, and a family without its methods."""

        family = "product"

        def infer(self, a: Any, b: Any) -> Any:
            return a

        def compute(self, a: Any, b: Any) -> Any:
            return te.compute(a.shape, lambda *at: a(*at), name="mine")

        def reference(self, a: Any, b: Any) -> Any:
            return a

    try:
        x = relay.var(INPUT, shape=(4, 4))
        session = wb.open(relay.Function([x], relay.op.call("test.product", x, x)), target=EIGHT_LANES)
        error = session.step("Lower").error
        assert error is not None and error.code == "E-CHOICE-FAMILY" and "no extents" in error.found
    finally:
        OPERATORS.remove("test.product")


def test_a_loop_program_has_no_candidates() -> None:
    from tests.schedule.programs import plain_matmul

    with pytest.raises(WorkbenchError, match="there is no step named 'Lower'"):
        wb.open(plain_matmul(8, 8, 8)).candidates("main")


def test_a_schedule_by_hand_stands_on_the_chosen_loops() -> None:
    session = opened()
    name = kernel(session)
    chosen = session.choose(name, "conv2d.plain")
    schedule = chosen.schedule(name)
    schedule.annotate(schedule.get_loops("conv2d")[0], "by_hand", 1)
    moved = chosen.edit(schedule={name: schedule})
    np.testing.assert_allclose(output(moved), output(session), rtol=1e-4, atol=1e-4)
    assert moved.candidates(name).taken.implementation.name == "conv2d.plain"  # type: ignore[union-attr]


def test_a_choice_brings_its_own_schedule_and_one_by_hand_goes() -> None:
    """It was accepted, and the schedule by hand refused at the next look: E-EDIT-REBASE."""
    session = opened()
    name, other = kernel(session), kernel(session, number=1)
    schedules = {one: session.schedule(one) for one in (name, other)}
    for one, schedule in schedules.items():
        schedule.annotate(schedule.get_loops(session.candidates(one)[0].workload.operator.name[3:])[0], "by_hand", 1)
    edited = session.edit(schedule=schedules)
    assert edited.candidates(name).scheduled_by_hand and not session.candidates(name).scheduled_by_hand
    for changed, same in (
        (edited.choose(name, "conv2d.plain"), session.choose(name, "conv2d.plain")),
        (edited.choose(name, columns=7), session.choose(name, columns=7)),
        (edited.choose(name), session),
    ):
        assert changed.schedule(name).code() == same.schedule(name).code()
        assert changed.schedule(other).code() == edited.schedule(other).code(), "that of the other kernel stays"
        assert not changed.candidates(name).scheduled_by_hand and changed.candidates(other).scheduled_by_hand
        np.testing.assert_allclose(output(changed), output(session), rtol=1e-4, atol=1e-4)


def test_a_schedule_of_two_kernels_stays_that_of_the_one_that_nothing_is_chosen_for() -> None:
    with PassContext(opt_level=2):
        session = wb.open(twins(), target=EIGHT_LANES)
    schedule = session.schedule(kernel(session))
    schedule.annotate(schedule.get_loops("conv2d")[0], "by_hand", 1)
    shared = session.edit(schedule={kernel(session): schedule})
    text = shared["Import"].script()
    line = [line for line in text.splitlines() if "conv2d" in line][-1]
    other = line.replace("(1, 1, 1, 1)", "(2, 2, 2, 2), dilation=(2, 2)")
    apart = shared.edit(relay=text.replace(line, other), at="Import")
    names = [name for name in apart.kernels if "conv2d" in name]
    assert [apart.candidates(name).scheduled_by_hand for name in names] == [True, True]
    changed = apart.choose(names[0], "conv2d.plain")
    assert [changed.candidates(name).scheduled_by_hand for name in names] == [False, True]
    np.testing.assert_allclose(output(changed), output(apart), rtol=1e-4, atol=1e-4)


def test_estimates_are_of_the_target_that_they_are_for() -> None:
    """A core that starts one multiply-add of vectors at once: half of what the model of two counts on was told."""
    for processor in ("znver4", "skylake-avx512"):
        with PassContext(opt_level=2):
            session = wb.open(layers(), target=f"llvm -mcpu={processor}")
        peak = 2 * session.target.nominal.fma_units * session.target.lanes
        for name in (one for one in session.kernels if "conv2d" in one or "dense" in one):
            work = flops(session.step("Lower").stage.kernels(session.target)[name].func)
            for one in (one for one in session.candidates(name) if one.refusal is None):
                assert work / one.cycles <= peak, (processor, name, str(one))
