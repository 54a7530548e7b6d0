"""What computes a kernel: candidates with cost and reason; choices through edits, files, Python and branches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import EIGHT_LANES, INPUT, onnxruntime_outputs, wide_inputs, wide_model
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.driver.session import Session
from workbench.relay.transform import PassContext

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
    assert [one.implementation.name for one in found][:2] == ["conv2d.blocks", "conv2d.plain"]
    assert text.split("\n")[1].startswith("* conv2d.blocks") and "blocks=4 columns=2 width=14, one of" in text
    assert "conv2d.pixels    not: one tap at every pixel" in text and "found (3, 3) taps" in text
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
    assert refused(session, name, columns=2).code == "E-CHOICE-UNKNOWN"
    assert len(session.branches) == branches
    x = relay.var("x", shape=(4, 4))
    plain = wb.open(relay.Function([x], relay.add(x, x)))
    for ask in (plain.candidates, plain.choose):
        with pytest.raises(WorkbenchError, match="no operator of this kernel"):
            ask(plain.kernels[0], *(["add.plain"] if ask == plain.choose else []))


def test_a_loop_program_has_no_candidates() -> None:
    from tests.schedule.programs import plain_matmul

    with pytest.raises(WorkbenchError, match="there is no step named 'Lower'"):
        wb.open(plain_matmul(8, 8, 8)).candidates("main")


def test_a_schedule_by_hand_stands_on_the_chosen_loops() -> None:
    session = opened()
    name = kernel(session)
    chosen = session.choose(name, "conv2d.plain")
    schedule = chosen.schedule(name)
    schedule.parallel(schedule.get_loops("conv2d")[0])
    moved = chosen.edit(schedule={name: schedule})
    np.testing.assert_allclose(output(moved), output(session), rtol=1e-4, atol=1e-4)
    assert moved.candidates(name).taken.implementation.name == "conv2d.plain"  # type: ignore[union-attr]
