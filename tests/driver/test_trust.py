"""A saved session of a stranger calls no function outside of it that nobody allowed, by whatever way it is run."""

from __future__ import annotations

import json
import os
import re
import runpy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model, small_session
from workbench import tir
from workbench.codegen.llvm.imported import texts
from workbench.contrib import clang
from workbench.core.errors import WorkbenchError
from workbench.core.transform import PASSES
from workbench.driver.measure import seconds
from workbench.schedule.trace import Trace
from workbench.tir.interpret import interpret
from workbench.tir.outside import REFUSED, outside_calls, require_allowed
from workbench.tir.script import parse
from workbench.tir.transforms.pipeline import KERNEL_PIPELINE

HEAD = '@T.prim_func\ndef main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
COPY = "    for i in T.serial(4):\n        B[i] = A[i]\n"
FUNCTION = "tests.trust.touch"


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """The file that the attack makes; a packed function that makes it is there as well."""
    path = tmp_path / "pwned"
    wb.register_func(FUNCTION, lambda name: Path(name).touch(), override=True)
    yield path
    wb.register_func(FUNCTION, lambda *_: None, override=True)


def c_code(victim: Path) -> str:
    source = f'#include <stdlib.h>\nint touch_it(void) {{ return system("touch {victim}"); }}\n'
    return clang.create_llvm(source).replace("\n", "\\n")


ATTACKS: dict[str, Callable[[Path], str]] = {
    "call_extern": lambda v: f'    T.evaluate(T.call_extern("system", "touch {v}", dtype="int32"))\n',
    "call_pure_extern": lambda v: f'    T.evaluate(T.call_pure_extern("system", "touch {v}", dtype="int32"))\n',
    "in an index": lambda v: f'    B[T.min(T.call_extern("system", "touch {v}", dtype="int32"), 0)] = A[0]\n',
    "in a condition": lambda v: (
        f'    if T.call_extern("system", "touch {v}", dtype="int32") == 0:\n        B[0] = A[0]\n'
    ),
    "in a let": lambda v: (
        f'    k: T.let[T.int32] = T.call_extern("system", "touch {v}", dtype="int32")\n    B[k] = A[0]\n'
    ),
    "in a loop's extent": lambda v: (
        f'    for j in T.serial(T.call_extern("system", "touch {v}", dtype="int32")):\n        B[j] = A[0]\n'
    ),
    "in an assertion": lambda v: f'    assert T.call_extern("system", "touch {v}", dtype="int32") == 0, "x"\n',
    "call_packed": lambda v: f'    T.evaluate(T.call_packed("{FUNCTION}", "{v}", dtype="int32"))\n',
    "forged mark": lambda v: (
        f'    T.func_attr({{"{REFUSED}": ()}})\n    T.evaluate(T.call_extern("system", "touch {v}", dtype="int32"))\n'
    ),
    "forged mark of another": lambda v: (
        f'    T.func_attr({{"{REFUSED}": ("puts",)}})\n'
        f'    T.evaluate(T.call_extern("system", "touch {v}", dtype="int32"))\n'
    ),
    "popen": lambda v: f'    T.evaluate(T.call_extern("popen", "touch {v}", "r", dtype="handle"))\n',
    "a function of tvm_ffi": lambda v: (
        f'    T.evaluate(T.call_packed("ffi.ModuleLoadFromFile", "{v}", dtype="int32"))\n'
        f'    T.evaluate(T.call_extern("system", "touch {v}", dtype="int32"))\n'
    ),
}


def imported(victim: Path) -> str:
    """Native code in an annotation, called by its own name."""
    return (
        f'    for j in T.serial(1, annotations={{"pragma_import_llvm": "{c_code(victim)}"}}):\n'
        '        T.evaluate(T.call_extern("touch_it", dtype="int32"))\n'
    )


ATTACKS["native code"] = imported


def program(attack: str, victim: Path) -> str:
    text = ATTACKS[attack](victim)
    first = text if "func_attr" in text else ""
    return HEAD + first + COPY + ("" if first else text)


def saved(text: str, path: Path) -> Path:
    """A session on a copy, whose text is then changed by hand."""
    wb.open(parse(HEAD + COPY)).save(str(path))
    document = json.loads(path.read_text())
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    path.write_text(json.dumps({**document, "program": f"@I.ir_module\nclass Module:\n{indented}"}))
    return path


X = np.ones(4, np.float32)
ENTRANCES: dict[str, Callable[[Any, Path], Any]] = {
    "run": lambda s, folder: s.run({"A": X}),
    "build": lambda s, folder: s.build()["main"](X, np.zeros(4, np.float32)),
    "export": lambda s, folder: wb.runtime.load_module(_exported(s, folder))["main"](X, np.zeros(4, np.float32)),
    "the kernel's program": lambda s, folder: wb.build(s.tir.module["main"])["main"](X, np.zeros(4, np.float32)),
    "the last program": lambda s, folder: wb.build(s.codegen.module)["main"](X, np.zeros(4, np.float32)),
    "a program read back": lambda s, folder: wb.build(parse(s.tir["main"].script()))["main"](X, X.copy()),
    "a schedule": lambda s, folder: wb.build(tir.Schedule(s.tir.module["main"]))["main"](X, np.zeros(4, np.float32)),
    "a measurement": lambda s, folder: seconds(tir.Schedule(s.tir.module["main"])),
    "the interpreter": lambda s, folder: interpret(s.tir.module["main"], X, np.zeros(4, np.float32)),
    "a rerun": lambda s, folder: s.rerun(target="llvm -mcpu=x86-64").run({"A": X}),
    "without a step": lambda s, folder: s.rerun(disabled_pass=["Simplify"]).run({"A": X}),
    "saved again": lambda s, folder: _again(s, folder).run({"A": X}),
    "opened as a program": lambda s, folder: wb.open(s.tir.module).run({"A": X}),
    "a comparison": lambda s, folder: wb.compare(s, s, inputs={"A": X}),
    "an edit beside it": lambda s, folder: s.edit(tir=_beside(s), at="Import").run({"A": X}),
    "assembly": lambda s, folder: s.codegen["main"].source("asm"),
}  # fmt: skip


def _exported(session: Any, folder: Path) -> Path:
    session.build().export_library(str(folder / "f.so"))
    return folder / "f.so"


def _beside(session: Any) -> str:
    return session.tir.script().replace("A[i]", "A[i] + 1.0")


def _again(session: Any, folder: Path) -> Any:
    session.save(str(folder / "again.wb.json"))
    return wb.open(str(folder / "again.wb.json"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_strangers_session_calls_nothing(attack: str, victim: Path, tmp_path: Path) -> None:
    session = wb.open(str(saved(program(attack, victim), tmp_path / "s.wb.json")))
    refused = outside_calls(session.tir.module["main"])
    assert refused and set(session.tir.module["main"].attrs[REFUSED]) == refused
    for name in refused:
        assert name in repr(session) and name in session.heading and "refused" in repr(session)
    for entrance, run in ENTRANCES.items():
        with pytest.raises(WorkbenchError) as caught:
            run(session, tmp_path)
        assert not victim.exists(), entrance
        assert caught.value.code == "E-TRUST-EXTERN", f"{entrance}: {caught.value}"
        assert any(name in caught.value.found for name in refused), f"{entrance}: {caught.value}"
        assert len(str(caught.value).splitlines()) <= 6
    report = session.check_numerics({"A": X})
    assert "E-TRUST-EXTERN" in str(report) and not victim.exists()


@pytest.mark.parametrize("attack", [name for name in ATTACKS if name not in ("a function of tvm_ffi",)])
def test_the_same_program_typed_or_allowed_runs(attack: str, victim: Path, tmp_path: Path) -> None:
    """So the attacks above are real ones."""
    text = program(attack, victim)
    with_mark_of_its_own = attack.startswith("forged mark of")
    if not with_mark_of_its_own:
        wb.open(parse(text)).run({"A": X})
        assert _made(victim)
        victim.unlink()
    path = saved(text, tmp_path / "s.wb.json")
    names = sorted(outside_calls(wb.open(str(path)).tir.module["main"]))
    allowed = wb.open(str(path), allow_extern=names)
    assert all(name in repr(allowed) for name in names) and "refused" not in repr(allowed)
    allowed.run({"A": X})
    assert _made(victim)


def _made(victim: Path) -> bool:
    """popen's child may take its time: wait for it, but not for ever."""
    for _ in range(2000):
        if victim.exists():
            return True
        os.sched_yield()
        time.sleep(0.005)
    return False


def hostile_kernel(path: Path, victim: Path, **allow: Any) -> Any:
    """A saved network with one kernel edited: the text of a kernel that calls `system`."""
    session = small_session()
    name = session.kernels[-1]
    text = session.tir[name].script()
    call = f'    T.evaluate(T.call_extern("system", "touch {victim}", dtype="int32"))\n'
    session.edit(tir={name: text.rstrip("\n") + "\n" + call}).save(str(path))
    return wb.open(str(path), **allow)


def _run_test(path: Path) -> None:
    """The test that a report wrote, as pytest would run it."""
    for name, function in runpy.run_path(str(path)).items():
        if name.startswith("test_"):
            function()


@pytest.mark.nightly
def test_an_edited_kernel_of_a_network_calls_nothing(victim: Path, tmp_path: Path) -> None:
    session = hostile_kernel(tmp_path / "s.wb.json", victim)
    assert "system" in repr(session), "said before any step is computed"
    assert "system" in session._repr_mimebundle_()["text/html"]
    kernel = session.kernels[-1]
    for run in (
        lambda: session.run(small_inputs()),
        lambda: session.build(),
        lambda: session.check_numerics(small_inputs()),
        lambda: session.check_numerics(small_inputs(), find="first"),
        lambda: _run_test(session.check_numerics(small_inputs()).save_test(tmp_path / "test_it.py")),
        lambda: session.llvm_passes(kernel),
        lambda: session.provenance.listing(kernel),
        lambda: wb.compare(session, small_session(), inputs=small_inputs()),
        lambda: seconds(tir.Schedule(session.tir.module[kernel])),
    ):
        try:
            run()
        except AssertionError:
            pass  # of the saved test: the kernel is wrong
        except WorkbenchError as error:
            assert len(str(error).splitlines()) <= 6
        assert not victim.exists()
    hostile_kernel(tmp_path / "s.wb.json", victim, allow_extern="system").run(small_inputs())
    assert victim.exists()


@wb.transform.module_pass(opt_level=0, name="Failing")
def failing(module: Any, context: Any) -> Any:
    raise ValueError("a pass of a person's own that fails")


def test_its_python_says_what_is_not_trusted_and_calls_nothing(victim: Path, tmp_path: Path) -> None:
    session = hostile_kernel(tmp_path / "s.wb.json", victim)
    text = session.to_python()
    assert "# from s.wb.json; outside functions: refused: system" in text
    made: dict[str, Any] = {"program": small_model()}
    with pytest.raises(WorkbenchError):
        exec(compile(text, "session.py", "exec"), made)
        assert made["s"].labels == session.labels
        made["s"].run(small_inputs())
    assert not victim.exists() and f'"{REFUSED}"' in text


def test_behind_a_step_that_stops_it_has_no_python_and_calls_nothing(victim: Path, tmp_path: Path) -> None:
    session = hostile_kernel(tmp_path / "s.wb.json", victim).rerun(insert={"InferType": failing})
    assert session["Edit"].error is not None
    with pytest.raises(WorkbenchError, match="E-PYTHON-CONFLICT"):
        session.to_python()
    assert not victim.exists()


def test_in_conflict_it_has_no_python_and_calls_nothing(victim: Path, tmp_path: Path) -> None:
    session = hostile_kernel(tmp_path / "s.wb.json", victim)
    graph = re.sub(r"R\.nn\.softmax\((\w+).*?\)", r"R.tanh(\1)", session["InferType"].script())
    session = session.edit(relay=graph, at="InferType")
    with pytest.raises(WorkbenchError, match="E-PYTHON-CONFLICT"):
        session.to_python()
    assert not victim.exists()


def test_names_in_a_file_are_no_lines_of_its_python(tmp_path: Path) -> None:
    path = saved(HEAD + COPY, tmp_path / "s.wb.json")
    line = "x\nraise SystemExit"
    tail = {"at": {"name": line, "fingerprint": "", "alike": 1}, "trace": {}, "shared": 0}
    document = json.loads(path.read_text())
    document["plan"].insert(0, {"kind": "schedule", "tails": [tail]})
    path.write_text(json.dumps({**document, "source": line}))
    text = wb.open(str(path)).to_python()
    assert "SystemExit" in text and not any(part.startswith("raise") for part in text.splitlines())


def test_a_kernel_edited_before_it_is_scheduled_calls_nothing(victim: Path, tmp_path: Path) -> None:
    """Schedules are made of the kernels as they were lowered, which stand beside the module."""
    session = small_session()
    name, path = session.kernels[-1], tmp_path / "s.wb.json"
    text = session["Lower"].program[name].script()
    call = f'    T.evaluate(T.call_extern("system", "touch {victim}", dtype="int32"))\n'
    session.edit(tir={name: text.rstrip("\n") + "\n" + call}, at="Lower").save(str(path))
    opened = wb.open(str(path))
    for run in (
        lambda: opened.run(small_inputs()),
        lambda: wb.build(opened.schedule(name)),
        lambda: wb.build(opened.schedule(name, default=False)),
        lambda: seconds(opened.schedule(name)),
    ):
        with pytest.raises(WorkbenchError, match="E-TRUST-EXTERN"):
            run()
        assert not victim.exists()
    wb.open(str(path), allow_extern=("system",)).run(small_inputs())
    assert victim.exists()


def test_what_the_person_types_themselves_is_theirs(victim: Path, tmp_path: Path) -> None:
    """In a session from a file as well; saved and opened again it is a file's once more."""
    session = wb.open(str(saved(HEAD + COPY, tmp_path / "s.wb.json")))
    assert "none is called that is not allowed" in repr(session)
    call = f'    T.evaluate(T.call_extern("system", "touch {victim}", dtype="int32"))\n'
    edited = session.edit(tir=f"{HEAD}{COPY}{call}", at="Import")
    edited.run({"A": X})
    assert victim.exists()
    victim.unlink()
    edited.save(str(tmp_path / "t.wb.json"))
    with pytest.raises(WorkbenchError, match="E-TRUST-EXTERN"):
        wb.open(str(tmp_path / "t.wb.json")).run({"A": X})
    assert not victim.exists()


def test_typing_one_name_allows_no_other(victim: Path, tmp_path: Path) -> None:
    session = wb.open(str(saved(program("call_extern", victim), tmp_path / "s.wb.json")))
    text = session.tir["main"].script()
    more = session.edit(
        tir=text.rstrip("\n") + '\n    T.evaluate(T.call_extern("getpid", dtype="int32"))\n', at="Import"
    )
    with pytest.raises(WorkbenchError, match="E-TRUST-EXTERN") as caught:
        more.run({"A": X})
    assert caught.value.found == "system" and not victim.exists()
    clean = session.edit(tir=f'{HEAD}{COPY}    T.evaluate(T.call_extern("getpid", dtype="int32"))\n', at="Import")
    np.testing.assert_array_equal(clean.run({"A": X})["B"], X)


def strangers_edit(path: Path, victim: Path) -> Path:
    """A clean program with an edit of a stranger's, whose text calls `system`."""
    call = f'    T.evaluate(T.call_extern("system", "touch {victim}", dtype="int32"))\n'
    wb.open(parse(HEAD + COPY)).edit(tir=HEAD + COPY + call, at="Import").save(str(path))
    return path


def _shown(session: Any) -> str:
    """The text of the stranger's edit as it is shown, with a number changed."""
    return session["Edit"].program["main"].script().replace("B[i] = A[i]", "B[i] = A[i] + T.float32(1)")


def _unmarked(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if REFUSED not in line)


WAYS_ROUND: dict[str, Callable[[Any, Path], Any]] = {
    "before the edit": lambda s, folder: s.edit(tir={"main": _shown(s)}, at="Import").without("Edit#2"),
    "without the edit": lambda s, folder: s.without("Edit").edit(tir={"main": _shown(s)}),
    "without edit and mark": lambda s, folder: s.without("Edit").edit(tir={"main": _unmarked(_shown(s))}),
    "at a later step": lambda s, folder: s.without("Edit").edit(tir={"main": _unmarked(_shown(s))}, at="Simplify"),
    "removed, then put back": lambda s, folder: s.edit(tir={"main": HEAD + COPY}).edit(
        tir={"main": _unmarked(_shown(s))}
    ),
    "saved in between": lambda s, folder: _again(s.without("Edit").edit(tir={"main": _unmarked(_shown(s))}), folder),
    "removed, then saved, then put back": lambda s, folder: _again(s.edit(tir={"main": HEAD + COPY}), folder).edit(
        tir={"main": _unmarked(_shown(s))}
    ),
    "a name of its own": lambda s, folder: _renamed(_unmarked(_shown(s)), folder),
    "in a session of another file": lambda s, folder: wb.open(str(saved(HEAD + COPY, folder / "o.wb.json"))).edit(
        tir={"main": _shown(s)}, at="Import"
    ),
    "where the person typed the name before": lambda s, folder: _typed_before(s, folder).edit(
        tir={"main": _shown(s)}, at="Import"
    ),
}  # fmt: skip


def _renamed(text: str, folder: Path) -> Any:
    """The stranger's function of one name, its text put into another function of the same file."""
    both = (HEAD + COPY, text.replace("def main", "def other"))
    wb.open(wb.IRModule({name: parse(one) for name, one in zip(("main", "other"), both, strict=True)})).save(
        str(folder / "two.wb.json")
    )
    clean = both[0].replace("def main", "def other")
    return wb.open(str(folder / "two.wb.json")).edit(tir={"main": text, "other": clean}, at="Import")


def _typed_before(session: Any, folder: Path) -> Any:
    other = wb.open(str(saved(HEAD + COPY, folder / "o.wb.json")))
    other.edit(tir={"main": _unmarked(_shown(session))}, at="Import")
    return other


@pytest.mark.parametrize("way", WAYS_ROUND)
def test_text_that_a_file_brought_is_not_typed_by_handing_it_back(way: str, victim: Path, tmp_path: Path) -> None:
    session = wb.open(str(strangers_edit(tmp_path / "s.wb.json", victim)))
    edited = WAYS_ROUND[way](session, tmp_path)
    with pytest.raises(WorkbenchError) as caught:
        edited.run({"A": X})
    assert caught.value.code == "E-TRUST-EXTERN" and caught.value.found == "system" and not victim.exists()


def test_a_name_that_a_file_brought_is_typed_where_it_is_allowed(victim: Path, tmp_path: Path) -> None:
    session = wb.open(str(strangers_edit(tmp_path / "s.wb.json", victim)), allow_extern="system")
    session.edit(tir={"main": _shown(session)}, at="Import").without("Edit#2").run({"A": X})
    assert victim.exists()


def test_mathematics_and_the_workbenchs_own_functions_are_called(tmp_path: Path) -> None:
    lines = '    B[0] = T.call_pure_extern("hypotf", A[0], A[1], dtype="float32")\n'
    session = wb.open(str(saved(HEAD + COPY + lines, tmp_path / "s.wb.json")))
    assert session.run({"A": X})["B"][0] == np.hypot(np.float32(1), np.float32(1))


def test_every_pass_and_schedule_keeps_the_mark(victim: Path, tmp_path: Path) -> None:
    session = wb.open(str(saved(program("call_extern", victim), tmp_path / "s.wb.json")))
    module = session.tir.module
    for name in KERNEL_PIPELINE:
        module = PASSES[name]()(module)
        assert module["main"].attrs[REFUSED] == ("system",), name
    schedule = tir.Schedule(session.tir.module["main"])
    with pytest.raises(WorkbenchError, match="E-TRUST-EXTERN"):
        require_allowed(schedule.mod["main"])


def test_a_trace_from_a_file_brings_no_code() -> None:
    schedule = tir.Schedule(parse(HEAD + '    for i in T.serial(4):\n        with T.block("B"):\n'
                                  "            v = T.axis.spatial(4, i)\n            B[v] = A[v]\n"))  # fmt: skip
    (loop,) = schedule.get_loops("B")
    schedule.annotate(loop, "pragma_import_llvm", "define void @f() { ret void }")
    text = schedule.trace.as_json()
    with pytest.raises(WorkbenchError, match="E-TRACE-CODE") as caught:
        Trace.from_json(text)
    assert "line" in caught.value.where
    assert Trace.from_json(text, allow_code=True).steps == schedule.trace.steps


def scheduled_with_code(session: Any, victim: Path) -> Any:
    """A schedule by hand that brings native code: a C function."""
    kernel = session.kernels[-1]
    schedule = session.schedule(kernel)
    loop = schedule.get_loops("softmax_sum")[-1]
    schedule.annotate(loop, "pragma_import_llvm", c_code(victim).replace("\\n", "\n"))
    return session.edit(schedule={kernel: schedule})


def test_native_code_in_a_schedule_is_the_persons_own_or_allowed(victim: Path, tmp_path: Path) -> None:
    mine, path = scheduled_with_code(small_session(), victim), str(tmp_path / "s.wb.json")
    kernel = mine.kernels[-1]
    mine.build()
    assert texts(mine.codegen.module) == (c_code(victim).replace("\\n", "\n"),)
    mine.save(path)
    opened = wb.open(path)
    assert "refused: import_llvm" in repr(opened), "said before any step is computed"
    small_session().save(str(tmp_path / "clean.wb.json"))
    for session in (opened, scheduled_with_code(wb.open(str(tmp_path / "clean.wb.json")), victim)):
        with pytest.raises(WorkbenchError) as caught:
            session.build()
        assert caught.value.code == "E-TRUST-EXTERN" and "allow_extern=('import_llvm',)" in caught.value.fix
        assert kernel in caught.value.message and "Schedule" in caught.value.where
        assert len(str(caught.value).splitlines()) <= 6
    allowed = wb.open(path, allow_extern=("import_llvm",))
    assert "refused" not in repr(allowed)
    for name, value in mine.run(small_inputs()).items():
        np.testing.assert_array_equal(allowed.run(small_inputs())[name], value)
    text = mine.tir[kernel].script()
    with pytest.raises(WorkbenchError, match="E-TRUST-EXTERN"):
        opened.edit(schedule={kernel: small_session().schedule(kernel)}).edit(tir={kernel: text}).build()


def test_allowing_is_for_files() -> None:
    with pytest.raises(WorkbenchError, match="E-OPEN-EXTERN"):
        wb.open(parse(HEAD + COPY), allow_extern=("system",))


def test_an_intrinsic_is_no_c_function() -> None:
    """LLVM ends the process when it is called with the wrong types."""
    call = '    T.evaluate(T.call_extern("llvm.x86.sse2.pause.nothing", A[0], dtype="int32"))\n'
    with pytest.raises(WorkbenchError, match="E-CODEGEN-EXTERN"):
        wb.build(parse(HEAD + COPY + call))
