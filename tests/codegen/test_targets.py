"""What a build is for: kinds without a backend are refused at every entrance, code of another machine is not run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import workbench as wb
from workbench import IRModule, Target, relay, te, tir
from workbench.codegen.llvm import cache, machine
from workbench.core.errors import WorkbenchError
from workbench.core.node import FrozenMap
from workbench.driver import cli
from workbench.driver.measure import seconds
from workbench.runtime.artifact import runs_here
from workbench.target.host import architecture
from workbench.target.tables import KINDS, PROCESSORS

ABSENT = sorted(set(KINDS) - {"llvm"})


def graph() -> IRModule:
    x = relay.var("x", shape=(2, 3))
    return IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))


def loops() -> Any:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 3.0 + 1.0, name="B")
    return te.create_prim_func([a, b], name="f")


def loops_for(kind: str) -> Any:
    """A program that says itself what it is for."""
    made = loops()
    return made.replace(attrs=FrozenMap({**made.attrs, "target": Target(kind)}))


def under(target: str, build: Callable[[], Any]) -> Any:
    with Target(target):
        return build()


ENTRANCES: dict[str, Callable[[str], Any]] = {
    "relay.build": lambda kind: relay.build(graph(), kind),
    "relay.build of a context": lambda kind: under(kind, lambda: relay.build(graph())),
    "relay.build with a host": lambda kind: relay.build(graph(), Target(kind, host="llvm")),
    "relay.build for a host": lambda kind: relay.build(graph(), "llvm", target_host=kind),
    "relay.build of a target with a host": lambda kind: relay.build(graph(), Target("llvm", host=kind)),
    "create_executor": lambda kind: relay.create_executor("graph", graph(), target=kind),
    "create_executor debug": lambda kind: relay.create_executor("debug", graph(), target=kind),
    "create_executor of a context": lambda kind: under(kind, lambda: relay.create_executor("vm", graph())),
    "open": lambda kind: wb.open(graph(), target=kind),
    "open of a context": lambda kind: under(kind, lambda: wb.open(graph())),
    "rerun": lambda kind: wb.open(graph()).rerun(target=kind),
    "wb.build": lambda kind: wb.build(loops(), target=kind),
    "wb.build of a context": lambda kind: under(kind, lambda: wb.build(loops())),
    "wb.build of a schedule": lambda kind: wb.build(tir.Schedule(loops()), target=kind),
    "wb.build for a host": lambda kind: wb.build(loops(), target="llvm", target_host=kind),
    "a function of a target": lambda kind: wb.build(loops_for(kind)),
    "a session on a function of a target": lambda kind: wb.open(loops_for(kind)).build(),
    "sweep": lambda kind: seconds(tir.Schedule(loops()), kind),
    "peak": lambda kind: wb.peak_flops(kind),
}


@pytest.mark.parametrize("kind", ABSENT)
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_kind_without_a_backend_is_refused(entrance: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "compile_cached", lambda jobs: pytest.fail("something was compiled"))
    with pytest.raises(WorkbenchError) as caught:
        ENTRANCES[entrance](kind)
    assert caught.value.code == "E-BUILD-TARGET" and kind in caught.value.message and caught.value.expected == "llvm"
    assert len(str(caught.value).splitlines()) <= 6


def saved_for(kind: str, path: Path) -> Path:
    wb.open(graph()).save(str(path))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"target": kind}))
    return path


def test_a_saved_session_for_a_kind_without_a_backend_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="E-BUILD-TARGET"):
        wb.open(str(saved_for("cuda -arch=sm_90", tmp_path / "s.wb.json")))


def in_words() -> Any:
    made = loops()
    return made.replace(attrs=FrozenMap({**made.attrs, "target": "cuda"}))


def edited_in_words() -> Any:
    session = wb.open(loops())
    text = session.tir["f"].script()
    assert '"noalias": True' in text
    return session.edit(tir={"f": text.replace('"noalias": True', '"noalias": True, "target": "cuda"')})


ADDED = {"A": np.ones(8, np.float32)}
IN_WORDS: dict[str, Callable[[], Any]] = {
    "an edit": lambda: edited_in_words().run(ADDED),
    "a program": lambda: wb.open(in_words()).run(ADDED),
    "build": lambda: wb.build(in_words()),
}


@pytest.mark.parametrize("entrance", IN_WORDS)
def test_a_target_that_a_function_has_in_words_is_told(entrance: str) -> None:
    """It was an AttributeError in a pass."""
    with pytest.raises(WorkbenchError) as caught:
        IN_WORDS[entrance]()
    assert caught.value.code == "E-TARGET-ATTRIBUTE" and "T.target" in caught.value.expected
    assert caught.value.found == "'cuda'"


def test_a_check_tells_it_too() -> None:
    bad = next(check for check in edited_in_words().check_numerics(ADDED).checks if check.bad)
    assert bad.note.startswith("E-TARGET-ATTRIBUTE"), bad.note


@pytest.mark.parametrize("given", [{"target": "llvm -mcpu=x86-64"}, {"passes": ["FuseOps"]}, {"shape": {"x": (1, 3)}}])
def test_what_is_asked_of_a_saved_session_is_not_passed_over(given: dict[str, Any], tmp_path: Path) -> None:
    path = saved_for("llvm", tmp_path / "s.wb.json")
    with pytest.raises(WorkbenchError, match="E-OPEN-SAVED") as caught:
        wb.open(str(path), **given)
    assert caught.value.found == f"{next(iter(given))}="


@pytest.mark.parametrize("command", ["compile", "run", "bench", "inspect"])
def test_the_command_line_refuses_too(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    made = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    output = ["-o", str(tmp_path / "m.so")] if command == "compile" else []
    with pytest.raises(SystemExit) as left:
        cli.main([command, str(tmp_path / "m.onnx"), *output, "--target", "opencl"])
    assert left.value.code == 2 and "E-BUILD-TARGET" in capfd.readouterr().err
    assert not (tmp_path / "m.so").exists()


def test_programs_for_such_a_kind_are_lowered_and_printed() -> None:
    with Target("cuda"):
        scheduled = tir.Schedule(loops())
        (loop,) = scheduled.get_loops("B")
        scheduled.bind(loop, "threadIdx.x")
        assert "threadIdx.x" in scheduled.mod.script()
    assert "f" in wb.lower(loops_for("cuda")).script()
    assert "relu" in relay.optimize(graph(), "cuda")[0].script()


def test_the_ambient_target_is_built_for() -> None:
    with Target("llvm -mcpu=x86-64"):
        assert str(wb.open(graph()).target) == "llvm -mcpu=x86-64"
        assert "zmm" not in wb.build(loops()).get_source("asm")
    assert str(wb.open(graph()).target) == "llvm"


def test_a_device_that_nothing_runs_on_is_refused_by_every_executor() -> None:
    for kind in ("debug", "graph", "vm", "aot"):
        with pytest.raises(WorkbenchError, match="E-DEVICE-RUN"):
            relay.create_executor(kind, graph(), device=wb.device("cuda"))


# --- other machines -------------------------------------------------------------------------------------------------


def test_a_host_is_the_target_itself() -> None:
    other = "aarch64" if architecture() != "aarch64" else "x86_64"
    with pytest.raises(WorkbenchError, match="E-BUILD-HOST"):
        relay.build(graph(), "llvm", target_host=f"llvm -mtriple={other}-linux-gnu")
    relay.build(graph(), "llvm", target_host="llvm")
    relay.build(graph(), Target(f"llvm -mtriple={other}-linux-gnu", host=f"llvm -mtriple={other}-linux-gnu"))


def foreign_triples() -> list[str]:
    """Triples of other systems and pointer widths on this architecture, and of another architecture."""
    own = architecture()
    other = "aarch64" if own != "aarch64" else "x86_64"
    systems = ("unknown-windows-msvc", "pc-windows-msvc", "unknown-freebsd", "unknown-none-elf")
    abis = ("linux-gnux32", "linux-gnu_ilp32", "linux-muslx32")
    return [*(f"{own}-{rest}" for rest in (*systems, *abis)), f"{other}-linux-gnu"]


@pytest.mark.parametrize("triple", foreign_triples())
def test_code_of_another_system_does_not_run_here(triple: str) -> None:
    assert not runs_here(triple)
    with pytest.raises(WorkbenchError, match="E-RUN-FOREIGN") as caught:
        wb.build(loops(), target=f"llvm -mtriple={triple}")["f"]
    assert triple in caught.value.found


def test_code_for_the_own_triple_runs_here() -> None:
    out = np.zeros(8, np.float32)
    wb.build(loops(), target=f"llvm -mtriple={machine.host_triple()}")["f"](np.arange(8, dtype=np.float32), out)
    np.testing.assert_array_equal(out, np.arange(8) * 3 + 1)


FEATURES = {
    "llvm -mcpu=bdver4": {"fma4", "xop", "tbm"},
    "llvm -mcpu=sapphirerapids": {"avx512fp16", "avxvnni"},
    "llvm -mcpu=diamondrapids": {"avx10.2", "avx512fp16"},
    "llvm -mattr=+fma4": {"fma4"},
    "llvm -mattr=+amx-tile": {"amx-tile"},
    "llvm -mcpu=x86-64": set[str](),
    "llvm -mcpu=nehalem": set[str](),
}


@pytest.mark.skipif(architecture() != "x86_64", reason="the processors named are x86 ones")
@pytest.mark.parametrize("target", FEATURES)
def test_code_for_another_processor_runs_only_where_all_its_features_are(target: str) -> None:
    """bdver4 ended the process with SIGILL: nobody asked whether the processor has fma4."""
    own = {word[1:] for word in machine.host_processor()[1].split(",") if word.startswith("+")}
    out = np.zeros(8, np.float32)
    module = wb.build(loops(), target=target)
    if FEATURES[target] <= own:
        module["f"](np.arange(8, dtype=np.float32), out)
        np.testing.assert_array_equal(out, np.arange(8) * 3 + 1)
        return
    with pytest.raises(WorkbenchError, match="E-RUN-FOREIGN") as caught:
        module["f"]
    assert all(name in caught.value.found for name in FEATURES[target] - own)
    assert "wb_f_" in module.get_source("asm"), "it is still shown"


def test_a_session_for_another_machine_shows_its_code_and_does_not_run_it() -> None:
    """`check_numerics` ran it in a child, which crashed: code generation was said to be wrong."""
    other = "aarch64" if architecture() != "aarch64" else "x86_64"
    session = wb.open(graph(), target=f"llvm -mtriple={other}-linux-gnu")
    x = {"x": np.zeros((2, 3), np.float32)}
    for run in (lambda: session.run(x), lambda: session.check_numerics(x), lambda: wb.compare(session, session, x)):
        with pytest.raises(WorkbenchError, match="E-RUN-FOREIGN"):
            run()
    assert "wb_fused_nn_relu" in session.codegen["fused_nn_relu"].source("asm")


@pytest.mark.parametrize("cpu", sorted(name for name, one in PROCESSORS.items() if one.architecture != architecture()))
def test_a_processor_of_another_machine_asks_for_that_machine(cpu: str) -> None:
    """LLVM ended the process: "64-bit code requested on a subtarget that doesn't support it"."""
    with pytest.raises(WorkbenchError, match="-mtriple=") as caught:
        wb.build(loops(), target=f"llvm -mcpu={cpu}")
    assert caught.value.code == "E-CODEGEN-PROCESSOR"


@pytest.mark.skipif(architecture() != "x86_64", reason="features of x86")
@pytest.mark.parametrize("feature", ["+16bit-mode", "+32bit-mode", "+x32", "-64bit-mode", "-64bit", "+avx,+16bit-mode"])
def test_a_feature_that_is_a_mode_is_refused(feature: str) -> None:
    """LLVM makes such code without a word; it ended the process that ran it."""
    session = wb.open(graph(), target=f"llvm -mattr={feature}")
    with pytest.raises(WorkbenchError) as caught:
        session.run({"x": np.zeros((2, 3), np.float32)})
    assert caught.value.code == "E-CODEGEN-PROCESSOR" and caught.value.found and caught.value.fix


@pytest.mark.parametrize("text", ["llvm -mattr=+soft-float", "llvm -mtriple=bpf", "llvm -mtriple=nvptx64-nvidia-cuda"])
def test_what_ends_llvm_is_refused_before_it_does(text: str) -> None:
    """LLVM knows these words; its assertions fail, or it exits, at the code of kernels."""
    with pytest.raises(WorkbenchError) as caught:
        wb.build(loops(), target=text)
    assert caught.value.code == "E-CODEGEN-PROCESSOR"
