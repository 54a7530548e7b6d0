"""A kernel that was changed by hand runs in a process of its own before it runs here; what it does there ends nothing.

Every kernel here that would do harm would end the process of the tests, or write into its memory.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_session
from workbench import te
from workbench.codegen.llvm import contained
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.transform import PASSES, function_pass
from workbench.driver import first_run, trial
from workbench.driver.measure import measure, measure_kernel, seconds
from workbench.schedule import Schedule
from workbench.tir.nodes import PrimFunc
from workbench.tir.script import parse

X = np.arange(8, dtype=np.float32)
FAR = "C[i + 10000000]"
COPIED = "        C[i] = A[i]"
ENDLESS = f"        while C[i] < T.float32(1):\n            C[i] = T.float32(0)\n{COPIED}"


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    """Each test tries its kernels anew."""
    first_run._verdicts.clear()
    yield


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes that are started for trials."""
    made: list[Any] = []
    begin = contained.Contained.__init__

    def noted(self: Any, *args: Any, **named: Any) -> None:
        made.append(self)
        begin(self, *args, **named)

    monkeypatch.setattr(contained.Contained, "__init__", noted)
    return made


def add_one() -> Any:
    A = te.placeholder((8,), name="A")
    return wb.open([A, te.compute((8,), lambda i: A[i] + 1.0, name="C")])


def by_data() -> PrimFunc:
    """Reads far outside of A, which no definition in te says for certain."""
    A = te.placeholder((8,), name="A")
    far = te.compute((8,), lambda i: A[te.cast("int64", A[i]) + 10000000] + 1.0, name="C")
    return te.create_prim_func([A, far])


def edited(old: str, new: str, at: str = "CompactBuffers", session: Any = None) -> Any:
    session = session or add_one()
    text = session[at].program["main"].script()
    assert old in text
    return session.edit(tir={"main": text.replace(old, new)}, at=at)


STEPS = ("LowerBlocks", "CompactBuffers", "FlattenBuffer", "InsertPolls")
HARMS = {
    "far": (FAR, "index 10000000, not 0 to extent 8"),
    "after": ("C[i + 5]", "index 8, not 0 to extent 8"),
    "before": ("C[i - 3]", "index -3, not 0 to extent 8"),
    "into memory of its process": ("C[i + 5000]", "index 5000, not 0 to extent 8"),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "run": lambda s: s.run({"A": X}),
    "build": lambda s: s.build().run({"A": X}),
    "measure": lambda s: measure_kernel(s, "main"),
    "compare": lambda s: wb.compare(s, s, inputs={"A": X}),
}


@pytest.mark.parametrize("way", WAYS)
def test_harm_is_refused_by_every_way_to_run(way: str) -> None:
    session = edited("C[i]", FAR)
    with pytest.raises(WorkbenchError) as caught:
        WAYS[way](session)
    error = caught.value
    assert (error.code, error.where) == ("E-EDIT-HARM", "kernel main, step Edit")
    assert HARMS["far"][1] in error.found and 's.without("Edit")' in error.fix and error.kept
    assert len(str(error).splitlines()) <= 6
    np.testing.assert_array_equal(session.without("Edit").run({"A": X})["C"], X + 1)


@pytest.mark.parametrize("harm", HARMS)
def test_what_is_written_outside_is_told(harm: str) -> None:
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM") as caught:
        edited("C[i]", HARMS[harm][0]).run({"A": X})
    assert "store to C" in caught.value.found and HARMS[harm][1] in caught.value.found


@pytest.mark.parametrize("at", STEPS)
def test_at_every_step_of_loops(at: str) -> None:
    text = add_one()[at].program["main"].script()
    (store,) = re.findall(r"C\[.+?\](?= = )", text)
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
        edited(store + " =", store.replace("[", "[10000000 + ") + " =", at).run({"A": X})


@pytest.mark.parametrize("read", ["A[i + 10000000]", "A[i + 1]"])
def test_what_is_read_outside_is_told(read: str) -> None:
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM") as caught:
        edited("A[i]", read).run({"A": X})
    assert "load from A" in caught.value.found


AGAIN: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda sch: sch,
    "pickled": lambda sch: pickle.loads(pickle.dumps(sch)),
    "moved and begun anew": lambda sch: Schedule(split(sch).mod),
    "copied": copy.deepcopy,
    "its function begun anew": lambda sch: Schedule(split(sch).func),
    "its function with other attributes": lambda sch: Schedule(
        split(sch).func.replace(attrs=sch.func.attrs.set("note", "mine"))
    ),
    "of a module": lambda sch: Schedule(sch.mod),
}


def split(sch: Any) -> Any:
    sch.split(sch.get_loops("C")[0], [2, 4])
    return sch


@pytest.mark.parametrize("again", AGAIN)
def test_a_schedule_of_it_is_tried_however_it_comes(again: str) -> None:
    """Pickled, and taken over into another schedule, it ran here untried."""
    A = te.placeholder((8,), name="A")
    far = te.compute((8,), lambda i: A[te.cast("int64", A[i]) + 10000000], name="C")
    sch = AGAIN[again](add_one().edit(te={"main": [A, far]}).schedule("main", default=False))
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
        measure(sch)


def test_each_function_of_a_schedule_of_several_is_tried() -> None:
    """What was tried was the first one, whichever was measured."""
    tame = add_one()["Import"].program.module["main"]
    session = wb.open(IRModule({"main": tame, "g": tame})).edit(tir={"g": str(by_data())}, at="Import")
    sch = Schedule(session["Edit"].program.module)
    assert measure(sch).seconds > 0
    sch.work_on("g")
    again = pickle.loads(pickle.dumps(sch))
    for one in (sch, again, Schedule(split(sch).func), Schedule(IRModule({"g": sch.mod["g"]}))):
        with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
            measure(one)


def passed(text: str) -> Any:
    """A schedule after a pass of the user's that makes the edited function anew."""

    @function_pass(opt_level=0, name="FirstRunAnew", applies_to=PrimFunc)
    def anew(func: Any, mod: Any, ctx: Any) -> Any:
        return PrimFunc(func.params, func.body, func.attrs)

    session = add_one().edit(tir={"main": text}, at="Import").rerun(insert={"Edit": anew})
    try:
        assert session["FirstRunAnew"].program["main"] is not session["Edit"].program["main"]
        return session.schedule("main", default=False)
    finally:
        PASSES.remove("FirstRunAnew")


def test_a_pass_after_an_edit_leaves_it_one() -> None:
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
        measure(passed(str(by_data())))


@pytest.mark.parametrize("moved", [False, True])
def test_a_program_opened_from_a_schedule_of_it_is_tried(moved: bool) -> None:
    sch = add_one().edit(tir={"main": str(by_data())}, at="Import").schedule("main", default=False)
    session = wb.open(split(sch) if moved else sch)
    harmless = add_one()["Import"].program["main"].script()
    for way in ("run", "build", "measure"):
        with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
            WAYS[way](session)
    np.testing.assert_array_equal(session.edit(tir={"main": harmless}, at="Import").run({"A": X})["C"], X + 1)


AS_SAVED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "as it is": lambda document: None,
    "by an earlier version": lambda document: document.pop("by_hand", 0),
}


@pytest.mark.parametrize("way", AS_SAVED)
def test_a_saved_session_of_a_schedule_of_it_is_tried(way: str, tmp_path: Path) -> None:
    """It ran untried, and ended this process; a child runs it."""
    path = tmp_path / "s.wb.json"
    wb.open(add_one().edit(tir={"main": str(by_data())}, at="Import").schedule("main", default=False)).save(str(path))
    wb.open(str(path)).save(str(path))
    document = json.loads(path.read_text())
    AS_SAVED[way](document)
    path.write_text(json.dumps(document))
    program = (
        "import resource, sys, numpy as np, workbench as wb\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "for s in (wb.open(sys.argv[1]), wb.open(sys.argv[1]).reload()):\n"
        "    try: s.run({'A': np.arange(8, dtype=np.float32)})\n"
        "    except wb.WorkbenchError as error: print(error.code)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=50)
    assert (ran.returncode, ran.stdout.split()) == (0, ["E-EDIT-HARM"] * 2), ran.stderr


def test_a_saved_session_of_an_honest_schedule_is_not_tried(tmp_path: Path, children: list[Any]) -> None:
    path = str(tmp_path / "s.wb.json")
    wb.open(split(add_one().schedule("main", default=False))).save(path)
    np.testing.assert_array_equal(wb.open(path).run({"A": X})["C"], X + 1)
    assert not children


def test_offsets_that_fit_no_made_up_number_are_told_and_can_be_run() -> None:
    A, P = te.placeholder((8,), name="A"), te.placeholder((8,), "int32", name="P")
    session = edited("A[T.", "A[-2 + T.", session=wb.open([A, P, te.compute((8,), lambda i: A[P[i]], name="C")]))
    inputs = {"A": X, "P": np.full(8, 3, np.int32)}
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM") as caught:
        session.run(inputs)
    assert "with all integers 0, and with 1" in caught.value.found and "wb.open(step.program" in caught.value.fix
    got = wb.open(session["Edit"].program.module).run(inputs)
    np.testing.assert_array_equal(next(iter(got.values())), X[np.full(8, 1)])


def test_native_code_to_look_at_cannot_be_called() -> None:
    assert not hasattr(edited("C[i]", FAR).codegen["main"], "compiled")


def test_an_end_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS", 3.0)
    session = edited(COPIED, ENDLESS)
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM") as caught:
        session.run({"A": X})
    assert "does not end" in caught.value.found


@pytest.mark.parametrize("signalled", [signal.SIGSTOP, signal.SIGKILL], ids=["it sleeps", "it lacks memory"])
def test_what_the_machine_did_is_no_verdict(signalled: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial during which the machine slept made an edit one that "would harm this process" until the kernel's end."""
    session = edited("T.float32(1.0)", "T.float32(2.0)")
    call = contained.Contained.call

    def stopped(self: Any, *args: Any) -> Any:
        self._child.seconds = 0.3
        os.kill(self._child.pid, signalled)
        return call(self, *args)

    with monkeypatch.context() as machine:
        machine.setattr(contained.Contained, "call", stopped)
        with pytest.raises(WorkbenchError, match="E-EDIT-TRIAL") as caught:
            session.run({"A": X})
    assert ("computed for 0.0 s" if signalled == signal.SIGSTOP else "SIGKILL") in caught.value.found
    np.testing.assert_array_equal(session.run({"A": X})["C"], X + 2)


@pytest.mark.parametrize("again", [False, True], ids=["gone", "another in its place"])
def test_a_child_that_ended_between_requests_is_no_verdict(again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one was asked in its place, which knew nothing of the code: KeyError, and the edit "would harm"."""
    session = edited("T.float32(1.0)", "T.float32(2.0)")
    call = contained.Contained.call

    def gone(self: Any, *args: Any) -> Any:
        os.kill(self._child.pid, signal.SIGKILL)
        while self.alive:
            time.sleep(0.01)
        if again:
            self.put("other", X)
        return call(self, *args)

    with monkeypatch.context() as machine:
        machine.setattr(contained.Contained, "call", gone)
        with pytest.raises(WorkbenchError, match="E-EDIT-TRIAL"):
            session.run({"A": X})
    np.testing.assert_array_equal(session.run({"A": X})["C"], X + 2)


def test_an_honest_edit_is_tried_once(children: list[Any]) -> None:
    session = edited("T.float32(1.0)", "T.float32(2.0)")
    for _ in range(2):
        np.testing.assert_array_equal(session.run({"A": X})["C"], X + 2)
    assert len(children) == 1
    measure_kernel(session, "main")
    edited("T.float32(1.0)", "T.float32(2.0)").run({"A": X})  # the same function, of another session
    assert len(children) == 1 and not children[0].alive


def test_what_is_proven_to_stay_inside_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked code takes several times as long."""
    forms: list[str] = []
    load = contained.Contained.load

    def noted(self: Any, library: str, unit: Any) -> Any:
        forms.append(library)
        return load(self, library, unit)

    monkeypatch.setattr(contained.Contained, "load", noted)
    edited("T.float32(1.0)", "T.float32(3.0)").run({"A": X})
    assert forms == ["native"]
    edited("A[i]", "A[T.Cast(\"int32\", A[i])]").run({"A": X})
    assert forms == ["native", "checked", "native"]


def test_a_verdict_is_remembered(children: list[Any]) -> None:
    for _ in range(2):
        with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
            edited("C[i]", FAR).run({"A": X})
    assert len(children) == 1


def test_nothing_is_started_without_an_edit_of_loops(children: list[Any]) -> None:
    session = add_one()
    schedule = session.schedule("main")
    schedule.split(schedule.get_loops("C")[0], [None, 4])
    for one in (session, session.edit(schedule={"main": schedule})):
        one.run({"A": X})
        measure_kernel(one, "main")
    text = small_session()["InferType"].script()
    small_session().edit(relay=text.replace("nn.relu", "tanh"), at="InferType").run(small_inputs())
    assert not children


def test_an_edit_that_was_put_back_is_none(children: list[Any]) -> None:
    text = add_one()["CompactBuffers"].program["main"].script()
    session = edited("C[i]", FAR).edit(tir={"main": text}, at="Edit")
    np.testing.assert_array_equal(session.run({"A": X})["C"], X + 1)
    assert not children


INTEGERS = {
    "A[B[i]]": "zeros are inside",
    "A[B[i] - 1]": "ones are inside",
    "A[i // B[i]]": "zeros crash",
}


@pytest.mark.parametrize("index", INTEGERS)
def test_honest_indices_that_are_data_are_inside(index: str) -> None:
    """Integers are zeros, and ones where zeros do harm."""
    session = wb.open(parse(
        '@T.prim_func\ndef main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32"), '
        'C: T.Buffer((8,), "float32")):\n'
        "    for i in T.serial(8):\n        C[i] = A[i] + T.Cast(\"float32\", B[i])\n"
    ))  # fmt: skip
    changed = edited("A[i]", index, "Import", session)
    ones = np.ones(8, np.int32)
    place = {"A[B[i]]": ones, "A[B[i] - 1]": ones - 1, "A[i // B[i]]": np.arange(8)}[index]
    np.testing.assert_array_equal(changed.run({"A": X, "B": ones})["C"], X[place] + 1)


def test_an_assertion_is_no_harm() -> None:
    session = edited(COPIED, f'        assert A[i] >= T.float32(0), "negative"\n{COPIED}')
    np.testing.assert_array_equal(session.run({"A": X})["C"], X + 1)


def test_what_calls_outside_functions_runs_as_it_is(children: list[Any]) -> None:
    """They may be Python's, of this process only, or do what must not happen twice."""
    counted: list[int] = []
    wb.register_func("tests.first_run.count", lambda number: counted.append(int(number)), override=True)
    call = '        T.evaluate(T.call_packed("tests.first_run.count", i, dtype="int32"))\n'
    edited(COPIED, call + COPIED).run({"A": X})
    assert counted == list(range(8)) and not children


def test_symbolic_shapes_run_as_they_are(children: list[Any]) -> None:
    session = wb.open(parse(
        "@T.prim_func\ndef main(a: T.handle, c: T.handle):\n    n = T.int32()\n"
        '    A = T.match_buffer(a, (n,), "float32")\n    C = T.match_buffer(c, (n,), "float32")\n'
        "    for i in T.serial(n):\n        C[i] = A[i]\n"
    ))  # fmt: skip
    changed = edited("= A[i]", "= A[i] + T.float32(1)", "Import", session)
    result = np.zeros_like(X)
    changed.build()["main"](X, result)
    np.testing.assert_array_equal(result, X + 1)
    assert not children


# --- networks -----------------------------------------------------------------------------------------------------


def kernel_edited(old: str, new: str, kernel: str = "fused_nn_softmax", at: str = "CompactBuffers") -> Any:
    text = small_session()[at].program[kernel].script()
    assert old in text
    return small_session().edit(tir={kernel: text.replace(old, new, 1)}, at=at)


def test_a_kernel_of_a_network(children: list[Any]) -> None:
    """The others are not tried, nor is the entry that calls it."""
    name = "fused_nn_global_avg_pool2d"
    text = small_session()["CompactBuffers"].program[name].script()
    store = re.findall(r"^ +(\w+)\[(.+?)\] = .*/|^ +(\w+\[.+?\]) = ", text, re.MULTILINE)
    assert store
    target = [part for found in store for part in found if "[" in part][-1]
    harmful = kernel_edited(target + " =", target.replace("[", "[9000000 + ", 1) + " =", name)
    for run in (lambda: harmful.run(small_inputs()), lambda: harmful.profile(small_inputs()),
                lambda: measure_kernel(harmful, name)):  # fmt: skip
        with pytest.raises(WorkbenchError, match="E-EDIT-HARM") as caught:
            run()
        assert name in caught.value.where
    measure_kernel(harmful, "fused_nn_softmax")  # not the kernel that was changed
    assert len(children) == 1
    honest = small_session().edit(tir={name: text.replace("T.float32(0", "T.float32(-0", 1)}, at="CompactBuffers")
    assert set(honest.run(small_inputs())) == set(small_session().run(small_inputs()))


def test_an_entry_that_gives_less_memory_than_is_taken() -> None:
    text = small_session()["CompactBuffers"].program["main"].script()
    call = next(line for line in text.splitlines() if '"fused_nn_softmax"' in line)
    (given,) = [part for part in call.split("T.address_of(") if part.partition("[")[0].endswith("nn_bias_add")]
    swapped = call.replace("T.address_of(" + given.split(")")[0], "T.address_of(nn_global_avg_pool2d[0, 0, 0, 0]")
    session = small_session().edit(tir={"main": text.replace(call, swapped)}, at="CompactBuffers")
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM") as caught:
        session.run(small_inputs())
    assert "takes 28 bytes" in caught.value.found and "gives 20" in caught.value.found
    assert "kernel main" in caught.value.where


def test_a_kernel_takes_no_more_memory_than_it_is_given() -> None:
    """The memory is its callers': an edit keeps the parameters."""
    name = "fused_nn_softmax"
    for at, old, new, code in (
        ("CompactBuffers", "(1, 7)", "(1, 700)", "E-EDIT-SIGNATURE"),
        ("FlattenBuffer", "Buffer((7,)", "Buffer((70,)", "E-TIR-VERIFY"),  # it is not what `signature` says of it
    ):
        with pytest.raises(WorkbenchError, match=code):
            kernel_edited(old, new, name, at).run(small_inputs())


def test_an_edited_entry_runs_whole(children: list[Any]) -> None:
    text = small_session()["CompactBuffers"].program["main"].script()
    line = next(line for line in text.splitlines() if "T.poll_cancel" in line) + "\n"
    session = small_session().edit(tir={"main": text.replace(line, "", 1)}, at="CompactBuffers")
    for name, value in small_session().run(small_inputs()).items():
        np.testing.assert_array_equal(session.run(small_inputs())[name], value)
    assert len(children) == 1


def test_te_programs_by_hand_and_schedules_on_them(children: list[Any]) -> None:
    A = te.placeholder((8,), name="A")
    far = te.compute((8,), lambda i: A[te.cast("int64", A[i]) + 10000000], name="C")  # data: nothing refuses it before
    harmful = add_one().edit(te={"main": [A, far]})
    schedule = harmful.schedule("main")
    schedule.split(schedule.get_loops("C")[0], [None, 4])
    for run in (lambda: harmful.run({"A": X}), lambda: measure(schedule), lambda: seconds(schedule)):
        with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
            run()
    children.clear()
    honest = add_one().edit(te={"main": [A, te.compute((8,), lambda i: A[i] * 2.0, name="C")]})
    for factor in (2, 4):
        schedule = honest.schedule("main")
        schedule.split(schedule.get_loops("C")[0], [None, factor])
        measure(schedule)
    assert len(children) == 1, "of the kernel, not of each of its schedules"


# --- around the child ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_all_as_it_was(children: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS", 60.0)
    endless = edited(COPIED, ENDLESS)
    sent = threading.Timer(1.5, lambda: signal.raise_signal(signal.SIGINT))
    begun = time.monotonic()
    sent.start()
    with pytest.raises(KeyboardInterrupt):
        endless.run({"A": X})
    sent.cancel()
    assert time.monotonic() - begun < 30 and not children[0].alive and not first_run._verdicts
    np.testing.assert_array_equal(edited("1.0", "2.0").run({"A": X})["C"], X + 2)


def test_without_a_process_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **named: Any) -> Any:
        raise OSError("no more processes")

    session = edited("C[i]", FAR)
    monkeypatch.setattr("workbench.core.child.subprocess.Popen", refused)
    with pytest.raises(WorkbenchError, match="E-EDIT-TRIAL"):
        session.run({"A": X})
    monkeypatch.undo()
    assert not first_run._verdicts
    with pytest.raises(WorkbenchError, match="E-EDIT-HARM"):
        session.run({"A": X})
