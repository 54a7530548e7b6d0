"""`check_numerics` of programs that a person edited: who is at fault, and the test that is saved of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.codegen.support import function
from tests.driver.programs import small_inputs, small_session
from tests.driver.test_numerics import HEAD, outcome
from workbench import WorkbenchError, relay
from workbench.core.transform import function_pass, module_pass
from workbench.driver.numerics import whole

MEAN = "fused_mean"


def averaged(channels: int = 12) -> Any:
    """A session whose kernel `fused_mean` sums 7 x 7 numbers, as that of the lesson does."""
    x = relay.var("x", shape=(1, channels, 7, 7))
    return wb.open(relay.Function([x], relay.nn.softmax(relay.mean(relay.nn.max_pool2d(x, (1, 1)), axis=[2, 3]))))


def given(channels: int = 12) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(0).standard_normal((1, channels, 7, 7)).astype("float32")}


def changed(session: Any, kernel: str, old: str, new: str) -> Any:
    text = session.tir[kernel].script()
    assert old in text, text
    return session.edit(tir={kernel: text.replace(old, new)})


def shortened(session: Any) -> Any:
    return changed(session, MEAN, "T.grid(7, 7)", "T.grid(7, 6)")


@pytest.mark.parametrize("find", ["first", "all"])
def test_an_edited_kernel_is_interpreted_and_its_test_saved(find: str, tmp_path: Path) -> None:
    """It was "by native code alone", and the test that the report offered was refused."""
    report = shortened(averaged()).check_numerics(given(), find=find)
    assert report.first_wrong == "Edit" and report.checks[-1].note == "the interpreter agrees", f"{report}"
    assert report.tensor is not None and report.tensor.count == 12 and "save_test" in str(report)
    path = report.save_test(tmp_path / "test_edit.py")
    assert "Not equal to tolerance" in outcome(path)
    text = path.read_text()
    assert text.count("T.grid(7, 6)") == text.count("T.grid(7, 7)") == 1, "before and after, at the kernel's own shapes"
    assert "passes once AFTER computes what BEFORE does" in text and "call it on module here" not in text
    path.write_text(text.replace("T.grid(7, 6)", "T.grid(7, 7)"))
    assert outcome(path) == "", "the edit is mended"


def test_the_saved_test_of_an_edit_that_reads_beyond_the_end(tmp_path: Path) -> None:
    beyond = changed(averaged(), MEAN, "p0[vi0, vi1, vk2, vk3]", "p0[vi0, vi1, vk2, vk3 + 1]")
    report = beyond.check_numerics(given(), find="first")
    assert "E-TIR-BOUNDS" in report.checks[-1].note and "index 7" in report.checks[-1].note
    path = report.save_test(tmp_path / "test_edit.py")
    assert "index" in outcome(path)
    path.write_text(path.read_text().replace("vk3 + 1]", "vk3]"))
    assert outcome(path) == ""


def test_an_edit_before_scheduling_of_a_kernel_with_constants(tmp_path: Path) -> None:
    session = small_session()
    kernel = next(name for name in session.kernels if "dense" in name)
    bare = session["Lower"].after[kernel]
    report = session.edit(te={kernel: subtracting(bare)}).check_numerics(small_inputs())
    assert report.first_wrong == "Edit" and "interpreter agrees" in report.checks[-1].note, f"{report}"
    assert outcome(report.save_test(tmp_path / "test_edit.py"))


def subtracting(bare: Any) -> Any:
    """The kernel, with a difference in place of its first sum."""
    from workbench.driver.text import function_text, parse_function

    name = bare.attrs["global_symbol"]
    text = function_text(name, bare).text
    assert " + " in text
    return parse_function(text.replace(" + ", " - ", 1))


def test_edits_behind_one_another_are_each_judged_alone(tmp_path: Path) -> None:
    """The first edit is right, so the second one is at fault; BEFORE is the kernel as the first one left it."""
    first = changed(averaged(), MEAN, "/ T.float32(49.0)", "* T.float32(0.020408163)")
    text = first.tir[MEAN].script()
    both = first.edit(tir={MEAN: text.replace("T.grid(7, 7)", "T.grid(6, 7)")}, at="Edit")
    report = both.check_numerics(given())
    assert report.first_wrong == "Edit#2" and report.checks[-1].note == "the interpreter agrees", f"{report}"
    path = report.save_test(tmp_path / "test_edit.py")
    assert outcome(path) and path.read_text().count("0.0204") == 2


def test_a_pass_behind_an_edit_is_at_fault_for_itself(tmp_path: Path) -> None:
    """Another kernel's edit leaves a kernel its smaller problems; its own leaves it its shapes."""

    @function_pass(name="Least")
    def least(func: Any, mod: Any, ctx: Any) -> Any:
        return pooling_the_least(func)

    right = changed(averaged(64), MEAN, "/ T.float32(49.0)", "* T.float32(0.020408163)")
    report = right.rerun(insert={"Edit": least}).check_numerics(given(64))
    assert report.first_wrong == "Least", f"{report}"
    assert "the interpreter agrees" in report.checks[-1].note and "shapes" in report.checks[-1].note
    assert outcome(report.save_test(tmp_path / "test_pass.py"))


def pooling_the_least(func: Any) -> Any:
    """The function; that of the pooling with the least element in place of the greatest."""
    from workbench.driver.text import function_text, parse_function

    name = func.attrs.get("global_symbol", "")
    if "pool" not in name:
        return func
    text = function_text(name, func).text
    made = parse_function(text.replace("T.max(", "T.min("))
    return made.replace(attrs=func.attrs)


def test_what_cannot_be_interpreted_is_said_and_no_test_promised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(whole, "INTERPRETED_ITERATIONS", 100)
    report = shortened(averaged()).check_numerics(given(), find="first")
    note = report.checks[-1].note
    assert report.first_wrong == "Edit" and "by native code alone" in note and "keeps its shapes" in note, f"{report}"
    shown = str(report), report._repr_mimebundle_()["text/html"]
    assert all("save_test" not in text and "no test of it can be written" in text for text in shown)
    with pytest.raises(WorkbenchError) as caught:
        report.save_test(tmp_path / "test_edit.py")
    error = caught.value
    assert error.code == "E-NUMERICS-PIECE" and "100 are interpreted at most" in error.message
    assert error.where == "step Edit" and MEAN in error.found and error.expected and error.fix
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", ["an input more", "a variable without value"])
def test_a_graph_that_cannot_be_run_any_more_has_a_test(fault: str, tmp_path: Path) -> None:
    """It was promised, and saving it raised what the program raises."""

    @relay.transform.function_pass(opt_level=0, name="Breaks")
    def breaks(func: Any, mod: Any, ctx: Any) -> Any:
        y = relay.var("y", shape=(2, 3))
        return relay.Function([*func.params, *([y] if fault == "an input more" else [])], relay.add(func.body, y))

    x = relay.var("x", shape=(2, 3))
    session = wb.open(relay.Function([x], relay.exp(relay.tanh(x)))).rerun(insert={"InferType": breaks})
    report = session.check_numerics({"x": np.ones((2, 3), "float32")})
    assert report.first_wrong == "Breaks" and report.checks[-1].verdict == "failed" and "save_test" in str(report)
    path = report.save_test(tmp_path / "test_breaks.py")
    assert "y" in outcome(path)


def test_a_loop_program_is_not_cut_and_a_step_that_stops_has_no_test(tmp_path: Path) -> None:
    loops = wb.open(function(HEAD + "    for i in T.serial(16):\n        B[i] = A[i] * 2.0\n"))
    name = loops.tir.module.names()[0]
    edited = changed(loops, name, "T.float32(2.0)", "T.float32(3.0)")

    @module_pass(name="Stops")
    def stops(mod: Any, ctx: Any) -> Any:
        raise WorkbenchError("E-TEST", "it stops")

    reports = {
        "the whole program": edited.check_numerics({"A": np.ones(16, "float32")}),
        "stops with an error": averaged().rerun(insert={"FuseOps": stops}).check_numerics(given()),
    }
    for why, report in reports.items():
        assert report.first_wrong in ("Edit", "Stops") and why in report.no_test, f"{report}"
        assert "save_test" not in str(report)
        with pytest.raises(WorkbenchError) as caught:
            report.save_test(tmp_path / "test_it.py")
        assert caught.value.code == "E-NUMERICS-PIECE" and why in caught.value.message
