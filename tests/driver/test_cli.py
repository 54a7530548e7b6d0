"""The command line: `compile | run | bench | against | inspect | cache | doctor`, by `main` and as a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import onnxruntime_outputs, small_inputs, small_model
from workbench import WorkbenchError
from workbench.codegen.llvm.cache import memory
from workbench.driver import commands
from workbench.driver.cli import main
from workbench.runtime import num_threads, set_num_threads
from workbench.runtime.native import loader


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    path.write_bytes(small_model().SerializeToString())
    np.savez(tmp_path / "in.npz", **small_inputs())
    np.savez(tmp_path / "wrong.npz", nothing=np.zeros(3))
    (tmp_path / "not.so").write_bytes(b"not a library")
    return path


def run(*arguments: str) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_run_writes_the_outputs(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model.parent
    assert (
        run("run", str(model), "--inputs", str(folder / "in.npz"), "--outputs", str(folder / "out.npz")) == 0
    )
    with np.load(folder / "out.npz") as found:
        (expected,) = onnxruntime_outputs(small_model(), small_inputs())
        np.testing.assert_allclose(found["y"], expected, rtol=1e-3, atol=1e-4)
    assert "y: float32[1, 7]" in capsys.readouterr().out


def test_compile_then_run_the_library(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model.parent
    assert run("compile", str(model), "-o", str(folder / "small.so")) == 0
    assert "output y: float32[1, 7]" in capsys.readouterr().out
    assert (
        run("run", str(folder / "small.so"), "--input", str(folder / "in.npz"), "-o", str(folder / "out"))
        == 0
    )
    with np.load(folder / "out.npz") as found:
        (expected,) = onnxruntime_outputs(small_model(), small_inputs())
        np.testing.assert_allclose(found["y"], expected, rtol=1e-3, atol=1e-4)
    assert [path.name for path in folder.iterdir() if path.name.endswith(".tmp")] == []


def test_run_without_inputs_says_so(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", str(model)) == 0
    shown = capsys.readouterr()
    assert "y: float32[1, 7]" in shown.out and "random" in shown.err


def test_open_dimensions_are_given_by_input_or_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.models import model_path

    path = str(model_path("dnsmos_model_v8"))
    assert run("compile", path, "-o", str(tmp_path / "x.so")) == 2
    assert "--shape" in capsys.readouterr().err
    assert run("compile", path, "-o", str(tmp_path / "x.so"), "--shape", "N=1") == 0
    assert "float32[1, 900, 120]" in capsys.readouterr().out
    for command in ("against", "bench", "run", "inspect"):
        assert run(command, path) == 2
        shown = capsys.readouterr().err
        assert "--shape x=1,3,224,224" in shown and "shape={" not in shown, f"{command} gives another fix: {shown}"
    assert run("inspect", path, "--shape", "input_1=2,900,120", "--stage", "Import") == 0
    assert "R.Tensor((2, 900, 120)" in capsys.readouterr().out


def test_against_prints_where_the_time_went(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = num_threads()
    assert run("against", str(model), "--threads", "1") == 0
    shown = capsys.readouterr().out
    assert "nodes of the file" in shown and "a whole run" in shown and "1 thread," in shown, shown
    assert "Conv#0 ('first')" in shown or "too short to tell: 7 groups" in shown, shown
    assert num_threads() == before
    assert run("against", str(model), "--threads", "1", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["threads"] == 1 and told["processor"] and told["model"] == str(model)
    assert told["peer"].startswith("onnxruntime ") and told["ratio"] > 0
    assert "Conv#0 ('first')" in {node for row in told["rows"] for node in row["nodes"]}
    assert run("against", str(model.parent / "not.so")) == 2


def test_bench_reports_as_text_and_as_json(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("bench", str(model), "--seconds", "0.05", "--threads", "1", "--json", "--against", "onnxruntime")
        == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert report["threads"] == 1 and report["runs"] >= 5 and report["processor"]
    assert 0 < report["min_ms"] <= report["median_ms"] <= report["max_ms"]
    assert (
        report["onnxruntime"]["median_ms"] > 0 and report["ratio"] > 0 and report["largest_difference"] < 1e-3
    )
    assert run("bench", str(model), "--seconds", "0.05", "--against", "onnxruntime") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "model", "machine", "build", "workbench", "onnxruntime", "ratio", "outputs",
    ]  # fmt: skip
    assert len({len(line) - len(line[12:].lstrip()) for line in lines}) == 1, "values stand in one column"


# --- what is said and not heard -------------------------------------------------------------------------------------


@pytest.fixture
def library(model: Path) -> Path:
    path = model.with_name("made.so")
    commands.compile(model, path)
    return path


@pytest.fixture
def threads_of_before() -> Iterator[None]:
    before = num_threads()
    yield
    set_num_threads(before)


@pytest.mark.usefixtures("threads_of_before")
def test_bench_hears_the_threads_of_the_environment(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--threads` left out asked for all that the process may use, over what the variable had said."""
    monkeypatch.setenv("WORKBENCH_NUM_THREADS", "3")
    assert run("bench", str(model), "--seconds", "0.01", "--json") == 0
    assert json.loads(capsys.readouterr().out)["threads"] == 3
    assert run("bench", str(model), "--seconds", "0.01", "--json", "--threads", "1") == 0
    assert json.loads(capsys.readouterr().out)["threads"] == 1, "what the command says comes first"


@pytest.mark.usefixtures("threads_of_before")
@pytest.mark.parametrize("said", ["abc", "-1", "257", "1.5", "²"])
def test_a_variable_that_says_no_number_of_threads_is_told(
    said: str, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_NUM_THREADS", said)
    assert run("run", str(model)) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("E-THREADS") and "WORKBENCH_NUM_THREADS" in shown and said in shown


def test_it_is_told_also_where_the_pool_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a ValueError of whoever ran something first."""
    monkeypatch.setattr(loader, "_loaded", [])
    monkeypatch.setenv("WORKBENCH_NUM_THREADS", "abc")
    with pytest.raises(WorkbenchError, match="E-THREADS"):
        loader.library()


@pytest.mark.parametrize("command", ["run", "bench"])
@pytest.mark.parametrize("option", [("--target", "nonsense"), ("--target", "llvm"), ("--shape", "x=1,3,9,9")])
def test_a_library_is_for_what_it_was_compiled_for(
    command: str, option: tuple[str, str], library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, str(library), *option) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("E-CLI-MODEL") and option[0] in shown and "compiled already" in shown


def test_bench_tells_the_features_that_a_library_uses(
    library: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It told those of code that would be made now."""
    monkeypatch.setattr(commands, "read_record", lambda path: {"cpu_features": "sse4.2,ssse3"})
    assert run("bench", str(library), "--seconds", "0.01", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["cpu_features"] == ["sse4.2", "ssse3"] and report["target"] == ""


def test_native_code_is_shown_of_the_last_step_alone(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = ("inspect", str(model), "--kernel", "main", "--form", "ll", "--stage")
    assert run(*shown, "FuseOps") == 2
    assert "--stage Codegen" in capsys.readouterr().err
    assert run(*shown, "Codegen") == 0
    assert "define" in capsys.readouterr().out


def test_inputs_of_another_shape_than_the_file_s_are_refused(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another model than the file's was compiled for them; a session refuses them."""
    larger = model.with_name("larger.npz")
    np.savez(larger, x=np.zeros((1, 3, 9, 9), np.float32))
    assert run("run", str(model), "--input", str(larger)) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("E-RUN-SHAPE") and "(1, 3, 9, 9)" in shown and "(1, 3, 7, 7)" in shown
    assert run("run", str(model), "--input", str(larger), "--shape", "x=1,3,9,9") == 0, "it may be asked for"


def test_inputs_say_what_the_file_leaves_open_and_only_that(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    partly = small_model()
    partly.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    model.write_bytes(partly.SerializeToString())
    inputs = model.with_name("other.npz")
    np.savez(inputs, x=np.zeros((1, 3, 9, 7), np.float32))
    assert run("run", str(model), "--input", str(inputs)) == 0
    np.savez(inputs, x=np.zeros((2, 3, 9, 7), np.float32))
    capsys.readouterr()
    assert run("run", str(model), "--input", str(inputs)) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("E-RUN-SHAPE") and "(1, 3, height, 7)" in shown and "--shape x=2,3,9,7" in shown


def test_inspect_shows_native_code_of_a_kernel(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", str(model), "--kernel", "main", "--form", "asm") == 0
    assert "__tvm_ffi_main" in capsys.readouterr().out
    assert run("inspect", str(model), "--kernel", "main") == 0
    assert "@T.prim_func" in capsys.readouterr().out
    assert run("inspect", str(model), "--form", "asm") == 2
    assert "fused_nn_softmax" in capsys.readouterr().err


@pytest.mark.parametrize(("form", "word"), [("origins", "Softmax#"), ("llvm-passes", "InstCombinePass")])
def test_inspect_shows_where_code_comes_from(
    model: Path, form: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("inspect", str(model), "--kernel", "fused_nn_softmax", "--form", form) == 0
    assert word in capsys.readouterr().out


def test_the_cache_is_shown_and_cleared(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(model.parent / "cache"))
    memory.clear()
    assert run("run", str(model)) == 0
    assert run("cache", "show") == 0
    kernels, models = capsys.readouterr().out.splitlines()[-2:]
    assert " 0 entries" not in kernels and " 0 entries" in models, "a model of few operators is not kept as a whole"
    assert run("cache", "clear") == 0
    assert "removed" in capsys.readouterr().out
    assert run("cache", "show") == 0
    assert " 0 entries" in capsys.readouterr().out
    monkeypatch.setenv("WORKBENCH_CACHE", "off")
    assert run("cache", "show") == 0
    assert "nothing is kept" in capsys.readouterr().out


def test_inspect_shows_a_saved_session(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = str(model.parent / "session.wb.json")
    wb.open(str(model)).rerun(disabled_pass=["SimplifyExpr"]).save(saved)
    assert run("inspect", saved) == 0
    text = capsys.readouterr().out
    assert "FuseOps" in text and "SimplifyExpr" not in text
    assert run("inspect", saved, "--target", "llvm") == 2
    assert "E-OPEN-SAVED" in capsys.readouterr().err


def test_inspect_lists_inputs_steps_and_kernels(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", str(model)) == 0
    shown = capsys.readouterr().out
    assert "input  x" in shown and "step   FuseOps" in shown and "kernel fused_nn_softmax" in shown


def test_inspect_prints_a_step(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", str(model), "--step", "FuseOps") == 0
    assert "@R.function" in capsys.readouterr().out


def test_doctor_finds_nothing_wrong_with_native_code(capsys: pytest.CaptureFixture[str]) -> None:
    run("doctor")
    shown = capsys.readouterr().out
    assert "ok    native code" in shown and "compiled and ran" in shown
    lab = next(line for line in shown.splitlines() if "jupyterlab" in line)
    assert ("pip install" in lab) == lab.startswith("FAIL"), "a package that is there gives its version, not a hint"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "{folder}/none.onnx", "--inputs", "{folder}/in.npz", "--outputs", "{folder}/o.npz"),
        ("run", "{folder}/small.onnx", "--inputs", "{folder}/none.npz", "--outputs", "{folder}/o.npz"),
        ("run", "{folder}/small.onnx", "--inputs", "{folder}/small.onnx", "--outputs", "{folder}/o.npz"),
        ("run", "{folder}/in.npz", "--inputs", "{folder}/in.npz", "--outputs", "{folder}/o.npz"),
        ("run", "{folder}/none.so"),
        ("run", "{folder}/not.so"),
        ("run", "{folder}/small.onnx", "--input", "{folder}/in.npz", "--output", "{folder}/none/o.npz"),
        ("run", "{folder}/small.onnx", "--input", "{folder}/wrong.npz"),
        ("compile", "{folder}/none.onnx", "-o", "{folder}/o.so"),
        ("compile", "{folder}/not.so", "-o", "{folder}/o.so"),
        ("compile", "{folder}/small.onnx", "-o", "{folder}/none/o.so"),
        ("compile", "{folder}/small.onnx", "-o", "{folder}/o.dll"),
        ("compile", "{folder}/small.onnx", "-o", "{folder}/o.so", "--target", "llvm -mtriple=pdp11-unix"),
        ("compile", "{folder}/small.onnx", "-o", "{folder}/o.so", "--shape", "z=1"),
        ("bench", "{folder}/small.onnx", "--against", "tvm"),
        ("bench", "{folder}/not.so", "--against", "onnxruntime"),
        ("inspect", "{folder}/not.so"),
        ("inspect", "{folder}/small.onnx", "--step", "Nowhere"),
        ("inspect", "{folder}/small.onnx", "--stage", "Nowhere"),
        ("inspect", "{folder}/small.onnx", "--kernel", "nowhere"),
        ("inspect", "{folder}/small.onnx", "--kernel", "main", "--form", "wasm"),
        ("inspect", "{folder}/small.onnx", "--shape", "x"),
        ("inspect", "{folder}/small.onnx", "--shape", "x=-1,3"),
        ("inspect", "{folder}/small.onnx", "--shape", "x=1,two"),
        ("inspect", "{folder}/small.onnx", "--target", "quantum"),
    ],
)
def test_a_mistake_is_six_lines_and_status_2(
    arguments: tuple[str, ...], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*(text.format(folder=model.parent) for text in arguments)) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("E-") and len(shown.rstrip().split("\n")) <= 6 and "Traceback" not in shown


def shell(*arguments: str, module: str = "workbench.driver.cli") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
    )


def test_it_runs_as_a_program(model: Path) -> None:
    done = shell("--help")
    assert done.returncode == 0
    assert all(
        name in done.stdout for name in ("compile", "run", "bench", "inspect", "cache", "doctor", "lab")
    )
    folder = model.parent
    done = shell("compile", str(model), "-o", str(folder / "p.so"))
    assert done.returncode == 0 and "kernel calls" in done.stdout and done.stderr == ""
    done = shell("run", str(folder / "p.so"), "--input", str(folder / "in.npz"))
    assert done.returncode == 0 and "y: float32[1, 7]" in done.stdout
    done = shell("run", str(folder / "not.so"))
    assert done.returncode == 2 and done.stderr.startswith("E-LOAD-FORMAT") and "Traceback" not in done.stderr


def test_python_runs_it_by_the_package_s_name(model: Path) -> None:
    done = shell("inspect", str(model), "--stage", "Import", module="workbench")
    assert done.returncode == 0 and "R.Tensor((1, 3, 7, 7)" in done.stdout, done.stderr
    done = shell("inspect", str(model.with_name("none.onnx")), module="workbench")
    assert done.returncode == 2 and done.stderr.startswith("E-") and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("compile",), ("nothing",), ("bench", "x.onnx", "--threads", "many")])
def test_wrong_use_is_said_with_status_2(arguments: tuple[str, ...]) -> None:
    done = shell(*arguments)
    assert done.returncode == 2 and "Usage" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["compile", "run", "bench", "inspect", "cache"])
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--help") == 0
    shown = capsys.readouterr().out
    assert "Usage" in shown and len(shown.split()) > 30


def test_a_closed_pipe_is_no_error(model: Path) -> None:
    program = f"{sys.executable} -m workbench.driver.cli inspect {model} --stage Lower | head -1"
    done = subprocess.run(program, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() and "Traceback" not in done.stderr
