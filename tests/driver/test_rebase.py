"""Edits are deltas: made again on whatever comes before them, or stopped there with a report, never in silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import WorkbenchError, relay, te
from workbench.core.equal import same
from workbench.driver.merge_lines import merge_lines
from workbench.schedule import Schedule

X = {"x": np.full((4, 8), -1.6, np.float32)}


def leaky(alpha: float = 0.125) -> Any:
    x = relay.var("x", shape=(4, 8))
    return relay.Function([x], relay.nn.leaky_relu(relay.add(x, x), alpha))


def answer(session: Any) -> float:
    (found,) = session.run(X).values()
    return float(found[0, 0])


def noted(session: Any, kernel: str, block: str, note: str = "note") -> Any:
    """The session with an annotation on the first loop of a kernel's block, as a schedule by hand."""
    schedule = session.schedule(kernel)
    schedule.annotate(schedule.get_loops(schedule.get_block(block))[0], note, 1)
    return session.edit(schedule={kernel: schedule})


def both_ways(session: Any, tmp_path: Path) -> tuple[float, float]:
    """What a session answers live, and saved and opened again."""
    session.save(str(tmp_path / "s.wb.json"))
    return answer(session), answer(wb.open(str(tmp_path / "s.wb.json")))


# --- schedules by hand ----------------------------------------------------------------------------------------------


def test_a_schedule_by_hand_follows_its_kernel(tmp_path: Path) -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    scheduled = noted(session, kernel, "leaky_relu")
    changed = scheduled.edit(relay=session["InferType"].script().replace("alpha=0.125", "alpha=0.5"), at="InferType")
    assert both_ways(changed, tmp_path) == pytest.approx((-1.6, -1.6))
    assert "note" in changed.tir[kernel].script()
    assert changed.check_numerics(X).first_wrong == "Edit"


def test_the_order_of_edit_and_schedule_does_not_matter() -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    text = session["InferType"].script().replace("alpha=0.125", "alpha=0.5")
    one = noted(session, kernel, "leaky_relu").edit(relay=text, at="InferType")
    other = noted(session.edit(relay=text, at="InferType"), kernel, "leaky_relu")
    assert same(one.tir[kernel].function, other.tir[kernel].function)
    assert same(one.codegen[kernel].function, other.codegen[kernel].function)


def test_a_schedule_of_another_function_is_refused() -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    x = relay.var("x", shape=(400, 800))
    (large,) = (wb.open(relay.Function([x], relay.nn.relu(x)))).kernels
    of_large = wb.open(relay.Function([x], relay.nn.relu(x))).schedule(large)
    a = te.placeholder((4, 8), name="p0")
    twice = Schedule(te.create_prim_func([a, te.compute((4, 8), lambda i, j: a[i, j] * 2.0, name="leaky_relu")]))
    begun_late = Schedule(session.tir[kernel].function)
    for wrong in (of_large, twice, begun_late):
        with pytest.raises(WorkbenchError) as caught:
            session.edit(schedule={kernel: wrong})
        assert caught.value.code == "E-EDIT-SCHEDULE" and kernel in caught.value.where and caught.value.fix


def test_schedules_of_two_functions_do_not_share_a_step() -> None:
    x = relay.var("x", shape=(4, 8))
    body = relay.nn.softmax(relay.nn.relu(x))
    session = wb.open(relay.Function([x], body), passes=["InferType"])
    one, other = (
        session.edit(schedule={kernel: session.schedule(kernel, default=False)}) for kernel in session.kernels
    )
    assert one.actions != other.actions and one.step(3) is not other.step(3)
    assert answer(one) == answer(other) == pytest.approx(0.125)


def test_a_schedule_that_does_not_apply_stops_there_and_is_dropped_by_command() -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    schedule = session.schedule(kernel, default=False)
    loop = schedule.get_loops(schedule.get_block("leaky_relu"))[0]
    _, inner = schedule.split(loop, factors=[None, 4])
    schedule.annotate(inner, "note", 1)
    edited = session.edit(schedule={kernel: schedule})
    gone = edited.edit(relay=session["InferType"].script().replace("leaky_relu", "relu").replace(", alpha=0.125", ""),
                       at="InferType")  # fmt: skip
    assert "note" in edited.tir[kernel].script()
    error = gone["Schedule"].error
    assert error is not None and error.code == "E-EDIT-REBASE" and kernel in error.where, f"{error}"
    with pytest.raises(WorkbenchError) as caught:
        gone.run(X)
    assert caught.value is error
    kept = gone.rebase(keep="applicable")
    assert answer(kept) == 0.0 and kept["Schedule"].error is None
    with pytest.raises(WorkbenchError):
        gone.rebase(keep="nothing")


def two_relus(swapped: bool) -> Any:
    x, y = relay.var("x", shape=(64,)), relay.var("y", shape=(128,))
    small, large = relay.nn.relu(x), relay.nn.relu(y)
    return relay.Function([x, y], relay.Tuple([large, small] if swapped else [small, large]))


def split_by(session: Any, kernel: str, factor: int) -> Any:
    schedule = session.schedule(kernel, default=False)
    schedule.split(schedule.get_loops(schedule.get_block("relu"))[0], factors=[None, factor])
    return session.edit(schedule={kernel: schedule})


def test_schedules_of_kernels_that_changed_names_both_stay(tmp_path: Path) -> None:
    session = split_by(wb.open(two_relus(False)), "fused_nn_relu", 2)
    swapped = session.edit(relay=wb.IRModule.from_expr(two_relus(True)), at="Import")
    both = split_by(swapped, "fused_nn_relu", 4)
    both.save(str(tmp_path / "s.wb.json"))
    for made in (both, wb.open(str(tmp_path / "s.wb.json"))):
        scripts = [made["Schedule"].program[name].script() for name in ("fused_nn_relu", "fused_nn_relu_1")]
        assert "T.grid(32, 4)" in scripts[0] and "T.grid(32, 2)" in scripts[1]
        (action,) = (action for action in made.actions if action.kind == "schedule")
        assert set(action.arguments) == {"fused_nn_relu", "fused_nn_relu#2"}
    again = split_by(both, "fused_nn_relu_1", 8)
    assert len(again.plan.rows[again.labels.index("Schedule") - 1].tails) == 2, "scheduled again, the tail is another"
    scripts = [again["Schedule"].program[name].script() for name in ("fused_nn_relu", "fused_nn_relu_1")]
    assert "T.grid(32, 4)" in scripts[0] and "T.grid(8, 8)" in scripts[1]


def test_two_schedules_that_come_to_be_of_one_kernel_are_refused() -> None:
    def program(alpha: float) -> Any:
        x = relay.var("x", shape=(64,))
        return relay.Function([x], relay.nn.leaky_relu(x, alpha))

    def by(session: Any, factor: int) -> Any:
        schedule = session.schedule("fused_nn_leaky_relu", default=False)
        schedule.split(schedule.get_loops(schedule.get_block("leaky_relu"))[0], factors=[None, factor])
        return session.edit(schedule={"fused_nn_leaky_relu": schedule})

    one, other = by(wb.open(program(0.125)), 2), by(wb.open(program(0.25)), 4)
    place = one.labels.index("Schedule")
    row = one.plan.rows[place - 1]
    both = replace(row, tails=(*row.tails, *other.plan.rows[place - 1].tails))
    session = replace(one, plan=one.plan.with_row(place, both))
    error = session["Schedule"].error
    assert error is not None and error.code == "E-EDIT-REBASE" and "two edits" in error.found, f"{error}"
    kept = session.rebase(keep="applicable")
    assert kept["Schedule"].error is None and len(kept.plan.rows[place - 1].tails) == 1
    assert "T.grid(32, 2)" in kept["Schedule"].program["fused_nn_leaky_relu"].script()


# --- rerun keeps edits ----------------------------------------------------------------------------------------------

RERUNS: dict[str, Callable[[Any], Any]] = {
    "target": lambda session: session.rerun(target="llvm -mcpu=x86-64-v3"),
    "passes": lambda session: session.rerun(passes=["InferType", "SimplifyInference", "FuseOps"]),
    "disabled": lambda session: session.rerun(disabled_pass=["FoldConstant", "UnrollLoop"]),
    "insert": lambda session: session.rerun(insert={"InferType": "FastMath", "LowerBlocks": "Simplify"}),
    "replace": lambda session: session.rerun(replace={"FoldScaleAxis": "InferType"}),
}


@pytest.mark.parametrize("name", RERUNS)
def test_rerun_keeps_every_edit(name: str) -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    edited = session.edit(relay=session.relay.script().replace("alpha=0.125", "alpha=0.25"))
    edited = noted(edited, kernel, "leaky_relu")
    edited = edited.edit(tir={kernel: edited.tir[kernel].script().replace("T.float32(0.25)", "T.float32(0.5)")})
    again = RERUNS[name](edited)
    assert [label for label in again.labels if label.startswith("Edit")] == ["Edit", "Edit#2"]
    assert again["Codegen"].error is None, f"{again['Codegen'].error}"
    assert "note" in again["Schedule"].program[kernel].script()
    assert answer(again) == pytest.approx(-1.6)


@pytest.mark.parametrize("name", RERUNS)
def test_edit_and_rerun_commute(name: str) -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels

    def edited(base: Any) -> Any:
        made = base.edit(relay=base.relay.script().replace("alpha=0.125", "alpha=0.25"))
        made = noted(made, kernel, "leaky_relu")
        return made.edit(tir={kernel: made.tir[kernel].script().replace("T.float32(0.25)", "T.float32(0.5)")})

    one, other = RERUNS[name](edited(session)), edited(RERUNS[name](session))
    assert one["Codegen"].error is None and one.labels == other.labels
    for function in (*one.kernels, "main"):
        assert same(one.codegen[function].function, other.codegen[function].function), function


# --- text edits -----------------------------------------------------------------------------------------------------


def test_a_text_edit_of_loops_does_not_shadow_what_comes_before_it() -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    text = session.tir[kernel].script()
    edited = session.edit(tir={kernel: text.replace("T.serial(", "T.unroll(", 1)})
    changed = edited.edit(relay=session["InferType"].script().replace("alpha=0.125", "alpha=0.5"), at="InferType")
    assert answer(changed) == pytest.approx(-1.6)
    assert "T.unroll(" in changed.tir[kernel].script()


def test_a_text_edit_of_the_graph_does_not_shadow_a_pass_above_it() -> None:
    x = relay.var("x", shape=(4, 8))
    session = wb.open(relay.Function([x], relay.nn.relu(relay.tanh(relay.add(x, x)))))
    edited = session.edit(relay=session.relay.script().replace("nn.relu", "nn.leaky_relu"))
    faster = edited.rerun(insert={"InferType": "FastMath"})
    assert "fast_tanh" in faster.relay.script() and "leaky_relu" in faster.relay.script()
    assert answer(faster) == pytest.approx(answer(edited), rel=1e-3) and answer(edited) < 0


def test_a_second_edit_is_made_on_the_first() -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    once = session.edit(tir={kernel: session.tir[kernel].script().replace("0.125", "0.25")})
    twice = once.edit(tir={kernel: once.tir[kernel].script().replace("0.25", "0.5")})
    assert "0.5" in twice.tir[kernel].script() and answer(twice) == pytest.approx(-1.6)


def test_two_changes_of_one_place_are_a_conflict_with_a_report() -> None:
    session = wb.open(leaky())
    (kernel,) = session.kernels
    edited = session.edit(tir={kernel: session.tir[kernel].script().replace("0.125", "0.25")})
    changed = edited.edit(relay=session["InferType"].script().replace("alpha=0.125", "alpha=0.5"), at="InferType")
    error = changed["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE", f"{error}"
    report: Any = error
    assert report.reports[0].name == kernel and report.reports[0].dropped
    assert "0.25" in error.found and "0.5" in error.found
    assert changed.plan.rows == changed.rerun().plan.rows, "nothing is dropped"
    kept = changed.rebase(keep="applicable")
    assert answer(kept) == pytest.approx(-1.6) and kept.labels.count("Edit#2") == 0
    assert answer(changed.without("Edit")) == pytest.approx(-0.8), "the edit is whole again when its base is"


def test_a_conflict_in_part_of_an_edit_keeps_the_rest() -> None:
    x = relay.var("x", shape=(4, 8))
    body = relay.nn.leaky_relu(relay.clip(relay.add(x, x), -2.0, 2.0), 0.125)
    session = wb.open(relay.Function([x], body))
    text = session["InferType"].script()
    edited = session.edit(relay=text.replace("0.125", "0.25").replace("a_min=-2.0", "a_min=-3.0"), at="InferType")
    below = edited.edit(relay=text.replace("0.125", "0.5"), at="Import")
    error = below["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE", below.labels
    kept = below.rebase()
    script = kept["Edit#2"].script()
    assert "alpha=0.5" in script and "a_min=-3.0" in script


def chain(*names: str, alpha: float = 0.125) -> Any:
    """Operators of one argument in a row, leaky_relu with its alpha; "pair" gives a second result."""
    x = body = relay.var("x", shape=(4, 8))
    for name in names:
        if name == "pair":
            body = relay.Tuple([body, relay.nn.leaky_relu(x, alpha)])
        else:
            body = relay.nn.leaky_relu(body, alpha) if name == "leaky_relu" else getattr(relay, name)(body)
    return wb.IRModule.from_expr(relay.Function([x], body))


@pytest.mark.parametrize(
    ("before", "after", "now"),
    [
        (("tanh", "leaky_relu", "exp"), ("tanh", "exp"), ("tanh", "leaky_relu", "exp")),
        (("leaky_relu",), (), ("leaky_relu",)),
        (("leaky_relu", "tanh", "exp"), ("exp",), ("leaky_relu", "tanh", "exp")),
        (("tanh", "leaky_relu", "exp"), ("tanh", "sigmoid", "exp"), ("tanh", "leaky_relu", "exp")),
        (("tanh", "leaky_relu", "exp"), ("tanh", "exp"), ("tanh", "log", "leaky_relu", "exp")),
        (("tanh", "pair"), ("tanh",), ("tanh", "pair")),
    ],
)
def test_an_expression_that_one_side_deletes_and_the_other_changes_is_a_conflict(
    before: Any, after: Any, now: Any
) -> None:
    session = wb.open(chain(*before), passes=["InferType"])
    edited = session.edit(relay=chain(*after), at="InferType")
    assert edited["Edit"].error is None
    changed = edited.edit(relay=chain(*now, alpha=0.5), at="Import")
    error = changed["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE", changed["Edit#2"].script()
    assert "nn.leaky_relu(alpha=0.125)" in error.found and "nn.leaky_relu(alpha=0.5) now" in error.found, error.found
    assert "alpha=0.5" in changed.rebase().relay.script()
    other = session.edit(relay=chain(*now, alpha=0.5), at="InferType").edit(relay=chain(*after), at="Import")
    assert other["Edit#2"].error is not None, "the other way round"


def test_kernels_are_found_by_what_they_compute() -> None:
    x = relay.var("x", shape=(4, 8))
    inner = relay.nn.softmax(relay.nn.leaky_relu(relay.nn.softmax(x), 0.125))
    program = relay.Function([x], relay.nn.softmax(relay.nn.leaky_relu(inner, 0.375)))
    session = wb.open(program, passes=["InferType"])
    text = session["InferType"].script()
    _, second = [name for name in session.kernels if "leaky" in name]
    edited = session.edit(tir={second: session.tir[second].script().replace("0.375", "0.75")})

    def leaky_kernels(alphas: tuple[str, str]) -> tuple[Any, str]:
        changed = text.replace("0.125", "#").replace("0.375", alphas[1]).replace("#", alphas[0])
        made = edited.edit(relay=changed, at="InferType")
        kernels = [made["Edit#2"].program[name].script() for name in made.kernels if "leaky" in name]
        return made["Edit#2"].error, "".join(sorted(kernels))

    error, found = leaky_kernels(("0.5", "0.375"))
    assert error is None and found.count("(0.75)") == 1 and found.count("(0.5)") == 1, "the other kernel was changed"
    error, found = leaky_kernels(("0.375", "0.125"))
    assert error is not None and "what it computed is computed by another call only" in error.found, "it moved"
    error, found = leaky_kernels(("0.5", "0.625"))
    assert error is not None and "0.75" in error.found and "0.625" in error.found, "both changed the same number"
    error, found = leaky_kernels(("0.5", "0.5"))
    assert error is not None and "shared by further calls now" in error.found


@pytest.mark.parametrize(
    ("after", "now", "merged"),
    [
        ("a\nB\nc", "a\nb\nC", "a\nB\nC"),
        ("a\nx\nb\nc", "a\nb\nc\ny", "a\nx\nb\nc\ny"),
        ("a\nc", "A\nb\nc", "A\nc"),
        ("a\nfor:\n    b\nc", "a\nb\nc", "a\nfor:\n    b\nc"),
        ("a\nfor:\n    b\n    c", "z\na\nb\nc", "z\na\nfor:\n    b\n    c"),
        ("a\nB\nc", "if:\n    a\n    b\n    c", "if:\n    a\n    B\n    c"),
    ],
)
def test_lines_are_merged(after: str, now: str, merged: str) -> None:
    found = merge_lines("a\nb\nc", after, now)
    assert found.text == merged + "\n" and not found.dropped


def test_an_operand_put_before_a_deleted_expression_is_a_conflict() -> None:
    session = wb.open(chain("tanh", "leaky_relu", "exp"), passes=["InferType"])
    edited = session.edit(relay=chain("tanh", "exp"), at="InferType")
    error = edited.edit(relay=chain("tanh", "log", "leaky_relu", "exp"), at="Import")["Edit#2"].error
    assert error is not None and "nn.leaky_relu(alpha=0.125) of other operands now" in error.found
    beside = edited.edit(relay=chain("sigmoid", "leaky_relu", "exp"), at="Import")
    assert beside["Edit#2"].error is None and "leaky" not in beside.relay.script(), "what stays may change"


@pytest.mark.parametrize("text", ["aba", "abab", "aab", "abcab"])
def test_a_line_that_one_side_deletes_and_the_other_changes_is_never_lost(text: str) -> None:
    places = range(len(text))
    for low, high, changed in [(a, b, c) for a in places for b in places for c in range(a, b + 1)]:
        after, now = text[:low] + text[high + 1 :], text[:changed] + "X" + text[changed + 1 :]
        found = merge_lines("\n".join(text), "\n".join(after), "\n".join(now))
        assert found.dropped or "X" in found.text, (after, now)


@pytest.mark.parametrize(("after", "now"), [("a\nB\nc", "a\nX\nc"), ("a\nc", "a\nX\nc"), ("a\nx\nb\nc", "a\ny\nb\nc")])
def test_lines_that_both_changed_are_a_conflict(after: str, now: str) -> None:
    found = merge_lines("a\nb\nc", after, now)
    assert len(found.dropped) == 1 and found.text == now + "\n" and not found.applied
