"""Ctrl-C while vgg19 (548 MB of weights) is opened, built and run: the prompt is back within a second, nothing is lost.

A process of its own is interrupted by a real signal, at several moments of each phase, and says what still works.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = {"import": (0.02, 0.2, 0.5, 0.8, 1.2), "build": (0.1, 0.7, 1.3, 1.6, 1.9, 2.5), "run": (0.01, 0.3, 1.0)}
"""Seconds into each phase; what is over by then counts as finished."""
SECONDS = 1.0


def large_model(folder: Path) -> Path:
    """vgg19 with seeded weights, from one block of random numbers laid end to end: drawing them all takes long."""
    import onnx
    import onnx.backend.test

    light = Path(onnx.backend.test.__file__).parent / "data" / "light" / "light_vgg19.onnx"
    proto = onnx.ModelProto.FromString(light.read_bytes())
    shapes = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    block = np.random.default_rng(0).standard_normal(1 << 18, dtype=np.float32)
    kept = []
    for node in proto.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(extent) for extent in shapes[node.input[0]])
        scale = np.float32(np.sqrt(2 / max(np.prod(shape[1:]), 100)))
        tensor = onnx.TensorProto(name=node.output[0], data_type=1, dims=shape)
        tensor.raw_data = np.resize(block * scale, int(np.prod(shape))).tobytes()
        proto.graph.initializer.append(tensor)
    del proto.graph.node[:]
    proto.graph.node.extend(kept)
    path = folder / "vgg19.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = large_model(tmp_path_factory.mktemp("vgg19"))
    assert path.stat().st_size > 540 << 20
    yield path
    path.unlink()


def interrupted(model: Path, phase: str, moment: float) -> dict[str, Any]:
    """What the process says of a Ctrl-C `moment` seconds into a phase; "late": seconds until it was caught."""
    command = [sys.executable, "-m", "tests.integration.interrupted", str(model), phase]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moment)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        found = json.loads(process.stdout.readline())
    return found | {"late": found["caught"] - sent, "usable_after": found["usable"] - sent}


def allowed() -> float:
    """The bound, longer on a machine that is busy with other things: wall time is theirs too."""
    return SECONDS * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def require_usable(found: dict[str, Any]) -> None:
    assert not found["other_error"], found
    assert found["late"] < allowed(), found
    assert found["children"] == [] and found["unchanged"], found


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("phase", "moment"), [("import", 0.2), ("build", 1.0), ("run", 0.2)])
def test_ctrl_c(model: Path, phase: str, moment: float) -> None:
    found = interrupted(model, phase, moment)
    require_usable(found)
    assert not found["finished"]


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("phase", MOMENTS)
def test_ctrl_c_at_many_moments(model: Path, phase: str) -> None:
    for moment in MOMENTS[phase]:
        require_usable(interrupted(model, phase, moment))


CELLS = (
    "import workbench as wb, numpy as np, time, json, os",
    "from tests.integration.interrupted import children, earlier_session, works",
    "session = earlier_session()",
)


@pytest.mark.timeout(180)
def test_interrupting_a_notebooks_kernel(model: Path) -> None:
    """The button of the notebook: the cell ends with KeyboardInterrupt, the next one runs at once."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT), startup_timeout=60)
    try:
        for cell in CELLS:
            assert client.execute_interactive(cell, timeout=60)["content"]["status"] == "ok"
        for cell, moment in ((f"opened = wb.open({str(model)!r})", 0.3), ("b = opened2.build()", 0.8)):
            if "opened2" in cell:
                made = client.execute_interactive(f"opened2 = wb.open({str(model)!r})", timeout=100)
                assert made["content"]["status"] == "ok"
            client.execute(cell, stop_on_error=False)  # else the kernel drops what comes right after the error
            time.sleep(moment)
            sent = time.monotonic()
            manager.interrupt_kernel()
            reply = client.get_shell_msg(timeout=30)
            assert time.monotonic() - sent < 2 * allowed()  # the messages' own way counts too
            assert reply["content"]["status"] == "error" and reply["content"]["ename"] == "KeyboardInterrupt"
            checked = client.execute_interactive("assert works(session) and not children()", timeout=60)
            assert checked["content"]["status"] == "ok", checked["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
