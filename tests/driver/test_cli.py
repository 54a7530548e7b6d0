"""The command line: `workbench run | inspect | doctor`, through `driver.cli.main`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.driver.programs import onnxruntime_outputs, small_inputs, small_model
from workbench.driver.cli import main


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    path.write_bytes(small_model().SerializeToString())
    np.savez(tmp_path / "in.npz", **small_inputs())
    return path


def run(*arguments: str) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_run_writes_the_outputs(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model.parent
    assert run("run", str(model), "--inputs", str(folder / "in.npz"), "--outputs", str(folder / "out.npz")) == 0
    with np.load(folder / "out.npz") as found:
        (expected,) = onnxruntime_outputs(small_model(), small_inputs())
        np.testing.assert_allclose(found["y"], expected, rtol=1e-3, atol=1e-4)
    assert "y: float32[1, 7]" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "{folder}/none.onnx", "--inputs", "{folder}/in.npz", "--outputs", "{folder}/o.npz"),
        ("run", "{folder}/small.onnx", "--inputs", "{folder}/none.npz", "--outputs", "{folder}/o.npz"),
        ("run", "{folder}/small.onnx", "--inputs", "{folder}/small.onnx", "--outputs", "{folder}/o.npz"),
        ("run", "{folder}/in.npz", "--inputs", "{folder}/in.npz", "--outputs", "{folder}/o.npz"),
        ("inspect", "{folder}/small.onnx", "--step", "Nowhere"),
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


def test_it_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench.driver.cli", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and "doctor" in done.stdout
