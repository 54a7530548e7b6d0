"""A check beside the cells: a badge for each step, the first wrong rewrite, a test that fails; cancelled, failing."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.codegen.support import function
from tests.driver.bugs import GRAPH, LOOPS, broken
from tests.driver.planted_rule import INPUTS, planted_rule
from tests.driver.programs import small_inputs, small_session
from tests.driver.test_numerics import HEAD, outcome
from tests.driver.test_numerics_of_edits import averaged, given, shortened
from workbench import WorkbenchError, relay
from workbench.core.child import ChildFailure
from workbench.core.transform import module_pass
from workbench.driver.checking import BackgroundCheck
from workbench.driver.numerics.kernels import KernelChecker
from workbench.driver.numerics.reference import Reference


def with_bug(bug: Any) -> Any:
    return small_session().rerun(replace={bug.step: broken(bug.step.partition("#")[0], bug.change)})


def done(check: BackgroundCheck) -> BackgroundCheck:
    assert check.wait(60.0).state == "done", f"{check}"
    return check


def verdicts(check: BackgroundCheck) -> dict[str, str]:
    return {badge.step: badge.verdict for badge in check.badges}


def test_a_right_session_gets_a_badge_on_every_step() -> None:
    check = done(small_session().check(small_inputs()))
    found = verdicts(check)
    assert check and check.first_wrong is None
    assert found["SimplifyInference"] == "right" and found["InferType"] == "same"
    assert found["Simplify"] == "covered" and found["Codegen"] == "right"
    assert all(badge.absolute < 1e-5 for badge in check.badges)


def test_a_cell_may_fill_its_array_anew_while_a_check_runs() -> None:
    """The reference had run on the old numbers and the native code ran on the new ones: a false alarm."""
    inputs = small_inputs()
    check = small_session().check(inputs)
    check.watch(lambda: inputs["x"].__iadd__(1.0))
    done(check)
    assert (inputs["x"] != small_inputs()["x"]).all(), "the array has changed while the check ran"
    assert check.first_wrong is None, f"{check}"


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_planted_bug_is_the_only_red_badge(place: int) -> None:
    bug = GRAPH[place]
    check = done(with_bug(bug).check(small_inputs(), native=False))
    red = [badge for badge in check.badges if badge.bad]
    assert [badge.step for badge in red] == [f"Broken{bug.step}"] == [check.first_wrong], f"{check}"
    assert any(word in str(red[0].tensor) for word in bug.place.split("|")), f"{red[0]}"
    later = check.badges[check.session.labels.index(red[0].step) + 1 :]
    assert {badge.verdict for badge in later} <= {"same", "carried", "not checked"}


def test_native_code_of_a_wrong_graph_keeps_its_error() -> None:
    """It does what the graph says: the one red badge is that of the step that went wrong."""
    bug = GRAPH[0]
    check = done(with_bug(bug).check(small_inputs()))
    assert [badge.step for badge in check.badges if badge.bad] == [f"Broken{bug.step}"]
    last = check.badges[-1]
    assert (last.step, last.verdict) == ("Codegen", "carried") and last.absolute < 1e-5
    assert "carried" in {badge.verdict for badge in check.badges[:-1]}, "graph steps keep it as well"


def test_two_bugs_are_two_red_badges() -> None:
    one, two = GRAPH[0], GRAPH[6]
    session = small_session().rerun(replace={bug.step: broken(bug.step, bug.change) for bug in (one, two)})
    check = done(session.check(small_inputs(), native=False))
    assert [badge.step for badge in check.badges if badge.bad] == [f"Broken{one.step}", f"Broken{two.step}"]
    assert check.narrow(f"Broken{two.step}").kind == "pass", "measured against what the first one made"
    with pytest.raises(WorkbenchError) as refused:
        check.narrow([f"Broken{two.step}"])  # type: ignore[arg-type]
    assert refused.value.expected == f"Broken{one.step}, Broken{two.step}"


def test_the_first_wrong_rewrite_is_named_with_its_rule_and_place() -> None:
    with planted_rule() as session:
        check = done(session.check(INPUTS, native=False))
        assert check.first_wrong == "Planted"
        found = check.narrow()
    assert (found.kind, found.rule) == ("rewrite", "drop-one") and found.source.startswith("planted_rule.py:")
    assert 0 < found.number < found.count and found.error == pytest.approx(1.0)
    assert "add(" in " ".join(found.before) and "is wrong" in found.why
    assert "drop-one (planted_rule.py:" in str(found) and "drop-one" in str(check)


def test_a_pass_that_is_wrong_without_a_rewrite_is_named_by_its_own_line() -> None:
    check = done(with_bug(GRAPH[0]).check(small_inputs(), native=False))
    found = check.narrow()
    assert found.kind == "pass" and found.source.startswith("bugs.py:") and "the pass itself" in str(found)
    assert found.count > 0, "the good pass's rules have fired, and none of them is accused"


def test_first_wrong_rewrite_accuses_no_rule_of_what_the_pass_does() -> None:
    wrong = with_bug(GRAPH[0])["BrokenSimplifyInference"].first_wrong_rewrite(small_inputs())
    assert wrong.stop is None and "the pass itself" in str(wrong)


def test_a_process_that_is_gone_is_started_again_for_the_question() -> None:
    with planted_rule() as session:
        check = done(session.check(INPUTS, native=False))
        check._reference.kill()
        assert check.narrow().rule == "drop-one"


def test_the_saved_test_fails_while_the_bug_is_there(tmp_path: Path) -> None:
    check = done(with_bug(GRAPH[6]).check(small_inputs(), native=False))
    path = check.save_test(tmp_path / "test_piece.py")
    assert outcome(path), f"it passes, with the bug:\n{path.read_text()}"


def test_a_wrong_loop_step_turns_native_code_red_and_is_found_by_halving(tmp_path: Path) -> None:
    bug = next(bug for bug in LOOPS if bug.model == "small" and bug.what == "a row off by one")
    check = done(with_bug(bug).check(small_inputs()))
    assert check.first_wrong == "Codegen" and verdicts(check)["Lower"] != "covered"
    found = check.narrow()
    assert (found.kind, found.step) == ("step", f"Broken{bug.step}"), f"{found}"
    assert check.first_wrong == found.step, "the badge of the step at fault is red now as well"
    assert outcome(check.save_test(tmp_path / "test_piece.py"))


def edited() -> Any:
    """A session with a kernel that a person made take six of seven columns."""
    return shortened(averaged())


def test_native_code_that_is_wrong_accuses_no_step_that_was_not_looked_at() -> None:
    check = done(edited().check(given()))
    last = check.badges[-1]
    assert (last.step, last.verdict, last.since, last.suspects) == ("Codegen", "wrong", "Lower", ("Edit",))
    assert "from Lower to Codegen" in last.note and "Edit" in last.note and "narrow()" not in last.note
    graph = sum(action.level == "relay" for action in check.session.actions)
    assert check.looked_at == graph + 1 and f"{graph + 1} of {len(check.badges)} steps" in str(check)
    assert "Edit" in str(last) and "check.narrow()" in str(check)


def test_an_edit_is_looked_at_before_all_other_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halving ran every kernel at six steps of a network, 20 s and more; the edit was the one that was wrong."""
    looked: list[tuple[str, str]] = []
    kept = KernelChecker.check

    def noted(checker: KernelChecker, kernel: str, step: Any) -> Any:
        looked.append((kernel, step.label))
        return kept(checker, kernel, step)

    monkeypatch.setattr(KernelChecker, "check", noted)
    check = done(edited().check(given()))
    found = check.narrow()
    assert (found.kind, found.step) == ("edit", "Edit") and "made by hand" in str(found)
    assert set(looked) == {("fused_mean", "Edit"), ("fused_mean", "Schedule")}
    assert check.first_wrong == "Edit" and verdicts(check)["Codegen"] == "not checked"
    assert "Edit" in check.badges[-1].note and check.narrow() == check.narrow("Codegen") == found
    assert outcome(check.save_test(tmp_path / "test_piece.py"))


def test_an_edit_that_is_right_is_not_accused_of_what_a_later_step_does() -> None:
    bug = next(bug for bug in LOOPS if bug.model == "small" and bug.what == "a row off by one")
    session = small_session()
    kernel = next(name for name in session.kernels if "softmax" in name)
    harmless = session.edit(te={kernel: session["Lower"].after[kernel]})
    planted = harmless.rerun(replace={bug.step: broken(bug.step.partition("#")[0], bug.change)})
    check = done(planted.check(small_inputs()))
    assert check.narrow().step == f"Broken{bug.step}" and check.narrow().kind == "step"


def test_a_step_that_fails_ends_the_check_with_its_error() -> None:
    @module_pass(name="Fails")
    def fails(mod: Any, ctx: Any) -> Any:
        raise WorkbenchError("E-PLANTED", "this pass always fails")

    session = small_session().rerun(insert={"SimplifyInference": fails})
    check = done(session.check(small_inputs()))
    assert verdicts(check)["Fails"] == "failed" and "E-PLANTED" in str(check)
    assert verdicts(check)["FuseOps"] == verdicts(check)["Codegen"] == "not checked"
    with pytest.raises(WorkbenchError) as caught:
        check.narrow()
    assert caught.value.code == "E-CHECK-RIGHT"


def test_cancelling_keeps_what_is_known_and_ends_the_process() -> None:
    session = small_session()
    check = session.check(small_inputs())
    check.cancel()
    check.wait(20.0)
    assert check.state == "cancelled" and not check._reference.alive
    assert set(verdicts(check).values()) <= {"not checked", "right", "same"} and not check


def test_whoever_watches_hears_of_every_badge_from_another_thread() -> None:
    heard: list[int] = []
    with planted_rule() as session:
        check = session.check(INPUTS, native=False)
        check.watch(lambda: heard.append(threading.get_ident()))
        done(check)
    assert heard and threading.get_ident() not in heard


def test_what_cannot_be_checked_is_refused_at_once() -> None:
    with pytest.raises(WorkbenchError) as caught:
        small_session().check({})
    assert caught.value.code == "E-RUN-INPUT"
    with pytest.raises(WorkbenchError) as caught:
        small_session().check(small_inputs(), tolerance="small")  # type: ignore[arg-type]
    assert caught.value.code == "E-NUMERICS-NUMBER"
    with pytest.raises(WorkbenchError) as caught:
        wb.open(loops()).check({"A": np.ones(4, np.float32)})
    assert caught.value.code == "E-RUN-SHAPE"


def test_inputs_with_two_outputs_and_integers_are_sent() -> None:
    x = relay.var("x", shape=(2, 3), dtype="int32")
    y = relay.var("y", shape=(2, 3), dtype="float32")
    function = relay.Function([x, y], relay.Tuple([relay.add(x, x), relay.exp(y)]))
    given = {"x": np.ones((2, 3), np.int32), "y": np.zeros((2, 3), np.float32)}
    assert done(wb.open(function).check(given))


def test_a_notebook_shows_what_is_known() -> None:
    check = done(with_bug(GRAPH[3]).check(small_inputs(), native=False))
    html = check._repr_mimebundle_()["text/html"]
    assert "BrokenSimplifyExpr" in html and "✗ wrong" in html and "nn.conv2d" in html


def test_a_reference_process_that_ends_is_told_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(self: Any) -> Any:
        raise ChildFailure("ended", "by the system")

    monkeypatch.setattr(Reference, "begin", ends)
    with planted_rule() as session:
        check = session.check(INPUTS).wait()
    assert check.state == "failed" and check.error is not None
    assert check.error.code == "E-CHECK-PROCESS" and "was ended" in check.error.message
    assert {badge.verdict for badge in check.badges} == {"not checked"}


def loops(factor: float = 2.0) -> Any:
    return function(HEAD + f"    for i in T.serial(16):\n        B[i] = A[i] * {factor}\n")


def test_loop_functions_that_were_opened_as_such_are_checked_step_by_step() -> None:
    session = wb.open(loops())
    check = done(session.check({"A": np.ones(16, "float32")}))
    found = verdicts(check)
    assert check and check.first_wrong is None and found["Import"] == found["Codegen"] == "right"
    assert set(found.values()) <= {"right", "same"}


def test_an_edited_loop_that_computes_something_else_is_the_red_badge() -> None:
    """It had a time and a share of the peak, and nothing on the screen said that it was wrong."""
    session = wb.open(loops()).edit(tir={"f": loops(3.0)})
    check = done(session.check({"A": np.ones(16, "float32")}))
    assert [badge.step for badge in check.badges if badge.bad] == ["Edit"]
    red = check.badges[1]
    assert red.tensor is not None and (red.tensor.found, red.tensor.expected, red.tensor.count) == (3.0, 2.0, 16)
    assert {badge.verdict for badge in check.badges[2:]} == {"not checked"} and check.looked_at == 2
    assert (check.narrow().kind, check.narrow().step) == ("edit", "Edit")
    check = done(session.check({"A": np.ones(16, "float32")}, native=False))
    assert verdicts(check)["Edit"] == "wrong"
