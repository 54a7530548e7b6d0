"""LLVM's own passes as steps: complete, in order, with texts that agree with what LLVM prints itself; bounded."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model, small_session
from workbench import te
from workbench.codegen.llvm import pass_dumps
from workbench.codegen.llvm.pass_dumps import count_instructions
from workbench.core.errors import WorkbenchError
from workbench.core.limits import limits
from workbench.target.host import architecture
from workbench.ui.models import PipelineModel
from workbench.views.llvm_passes import LlvmPassesModel

KERNEL = "fused_nn_softmax"


@cache
def passes() -> Any:
    return small_session().llvm_passes(KERNEL)


def functions(text: str) -> dict[str, list[str]]:
    """Instructions of each function of a module's text, without debug locations and metadata numbers."""
    found: dict[str, list[str]] = {}
    for name, body in re.findall(r"^define .*?@(wb_[\w.$]+)\(.*?\{$(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        found[name] = [re.sub(r",? !\w+(\.\w+)* !\d+|#\d+", "", line).rstrip() for line in body.strip().split("\n")]
    return found


def test_passes_follow_each_other() -> None:
    steps = passes().changed
    names = {step.name for step in steps}
    assert {"SROAPass", "InstCombinePass", "GVNPass"} <= names, names
    assert len(passes()) > 200 and 10 < len(steps) < len(passes())
    graph = [step for step in passes() if step.phase == "ir"]
    for one, other in pairwise(graph):
        assert one.after == other.before, f"{one} and {other}"
    assert [step.phase for step in steps] == sorted(step.phase for step in steps), "machine code comes last"


def test_first_and_last_texts_are_those_of_the_compilation() -> None:
    provenance = small_session().provenance
    graph = [step for step in passes() if step.phase == "ir"]
    emitted = functions(provenance.text(KERNEL, "ll"))
    assert functions(graph[0].before).keys() == emitted.keys()
    assert count_instructions(graph[0].before) == sum(
        line.startswith("  ") for lines in emitted.values() for line in lines
    )
    optimised = functions(passes().optimised)
    assert any(functions(step.after) == optimised for step in graph), "O3's result is not among the steps"


def test_they_are_labelled_as_another_compilation() -> None:
    """What O3 would do stands beside the code that is run, with an assembly of its own."""
    assert "what if O3" in str(passes()).split("\n")[0]
    assert "what if O3" in LlvmPassesModel(passes()).view().title
    own = small_session().provenance.text(KERNEL, "asm")
    assert KERNEL in passes().assembly and passes().assembly != own


def test_a_pass_has_a_difference_and_counts() -> None:
    step = passes()["SROAPass"]
    assert step.changed and step.diff() and step.before != step.after
    assert step.instructions == (count_instructions(step.before), count_instructions(step.after))
    assert step.instructions[1] < step.instructions[0], "SROA takes loads and stores away"
    same = next(step for step in passes() if not step.changed)
    assert not same.diff() and same.instructions[0] == same.instructions[1]
    assert "SROAPass" in str(passes()) and "->" in repr(step)


def test_what_changed_outside_of_the_kernel_is_no_change() -> None:
    """A pass that only gave a declaration an attribute was listed, with an empty difference."""
    made = wb.open(small_model(), target="llvm -mcpu=x86-64-v3") if architecture() == "x86_64" else small_session()
    found = made.llvm_passes(made.kernels[0])
    empty = [step for step in found.changed if step.before == step.after]
    assert all("Loop" in step.name and not step.where for step in empty), "loops that are gone: the next pass tells"


def test_the_screen_shows_passes_like_steps() -> None:
    model = LlvmPassesModel(passes())
    assert isinstance(model, PipelineModel)
    view = model.view()
    assert len(view.steps) == len(passes().changed)
    chosen = next(step for step in view.steps if step.name == "SROAPass")
    shown = model.step(chosen.id)
    assert shown.hunks and shown.language == "llvm" and "llvm_passes" in shown.call
    chunk = model.text(chosen.id, "after", 0, 3)
    assert chunk.lines == tuple(passes()["SROAPass"].after.split("\n")[:3])
    with pytest.raises(WorkbenchError, match="E-STEP-UNKNOWN"):
        model.step("llvm-99999")
    with pytest.raises(WorkbenchError, match="E-REWRITE-UNKNOWN"):
        model.rewrite(chosen.id, 0)


def test_this_process_keeps_its_switches() -> None:
    """Compiling here prints nothing, before or after passes were recorded."""
    import subprocess
    import sys

    program = (
        "from tests.driver.programs import small_session as s; s().llvm_passes('fused_nn_softmax'); s().build();"
        "s().provenance.text('fused_nn_softmax', 'll-opt')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def test_unknown_kernels_and_passes_are_refused() -> None:
    with pytest.raises(WorkbenchError, match="E-KERNEL-UNKNOWN"):
        small_session().llvm_passes("softmax")
    with pytest.raises(WorkbenchError, match="E-LLVM-PASS-UNKNOWN") as caught:
        passes()["SROAPas"]
    assert "SROAPass" in caught.value.fix


@pytest.mark.parametrize(("limit", "value"), [("llvm_bytes", 20_000), ("llvm_seconds", 0.05)])
def test_time_and_bytes_are_bounded(limit: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(limits), limit, value)
    with pytest.raises(WorkbenchError) as caught:
        small_session().llvm_passes(KERNEL)
    assert caught.value.code == "E-LLVM-PASSES-LIMIT" and limit in caught.value.fix


def test_a_child_that_fails_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkbenchError, match=r"E-LLVM-PASSES\b"):
        small_session().llvm_passes(KERNEL)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(WorkbenchError, match="cannot be started"):
        small_session().llvm_passes(KERNEL)


def chain(count: int) -> wb.Session:
    """Stages of four elements each, one after the other: a loop for each."""
    read = value = te.placeholder((4,), name="A")
    for at in range(count):
        value = te.compute((4,), lambda i, before=value: before[i] * 0.5 + 1.0, name=f"C{at}")
    return wb.open([read, value])


@cache
def stages(count: int, whole: bool) -> Any:
    """The passes of a chain, as a record of whole kernels or of their parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pass_dumps, "_PRINTED", 1 << 40 if whole else 0)
        return chain(count).llvm_passes("main")


def test_a_record_of_parts_is_of_the_same_passes_and_what_they_changed() -> None:
    whole, parts = stages(12, True), stages(12, False)
    assert [(one.name, one.where, one.phase) for one in parts] == [(one.name, one.where, one.phase) for one in whole]
    changed = [one.index for one in parts.changed]
    assert changed == [one.index for one in whole.changed if one.index in changed]
    assert all(one.index in changed or one.before == one.after for one in whole.changed), "of no function"
    on_loops = [one for one in parts.changed if one.where.startswith("loop ")]
    assert on_loops and all("Loop:" in one.before and "define" not in one.before + one.after for one in on_loops)
    assert all(one.before != one.after and one.diff() for one in on_loops)
    assert LlvmPassesModel(parts).step(f"llvm-{on_loops[0].index}").hunks


def test_texts_of_functions_are_the_same_in_a_record_of_parts() -> None:
    """After a loop that is gone there is no text: what became of it stands in a whole record at the next pass."""
    whole, compared = stages(12, True), 0
    for other in stages(12, False).changed:
        one, where = whole[other.index], other.where
        if one.phase == "ir" and where.startswith("wb_"):
            assert functions(other.after)[where] == functions(one.after)[where], one
            compared += 1
    assert compared > 5


def test_texts_of_loops_grow_with_the_kernel() -> None:
    """Each pass on each loop printed the whole kernel: of 120 stages that took 23 s, of 240 more than a minute."""
    once, twice = (
        sum(len(one.before + one.after) for one in stages(count, False).changed if one.where.startswith("loop "))
        for count in (12, 24)
    )
    assert 0 < twice < 2.4 * once, (once, twice)


def test_a_kernel_of_many_loops_is_recorded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    ask = pass_dumps.Child.ask

    def noted(child: Any, name: str, request: Any) -> Any:
        asked.append(request["whole"])
        return ask(child, name, request)

    sessions = [chain(count) for count in (8, 64)]
    for session in sessions:
        session.provenance.text("main", "ll")
    monkeypatch.setattr(pass_dumps.Child, "ask", noted)
    for session in sessions:
        session.llvm_passes("main")
    assert asked == [True, False]
