"""Ctrl-C while vgg19 (548 MB of weights) is opened, built and run: the prompt is back within a second, nothing is lost.

A process of its own says when it is inside a phase, is interrupted by a real signal, and says what still works.  No
test waits for a moment: how long a phase takes is the machine's affair.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.nightly import daily

ROOT = Path(__file__).resolve().parents[2]
EVENTS = {
    "import": ("file", "import 1/", "import 2/", "import 20/", "import 45/", "import closed"),
    "build": ("FoldConstant", "FuseOps", "lower 5/", "schedule 1/", "LowerBlocks", "compile 1/", "compile 18/"),
    "run": ("ran once",),
}
"""What a phase tells of itself when it is inside (`interrupted.Inside`)."""
SECONDS = 1.0
"""Processor time, of two threads, from the signal to the prompt."""


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


def interrupted(model: Path, phase: str, event: str) -> dict[str, Any]:
    """What the process says of a Ctrl-C after an event of a phase; "spent": processor seconds until it was caught."""
    command = [sys.executable, "-m", "tests.integration.interrupted", str(model), phase, event]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "inside\n"
            used = psutil.Process(process.pid).cpu_times()
            process.send_signal(signal.SIGINT)
            found = json.loads(process.stdout.readline())
        except BaseException:  # the test's time limit: without an end, leaving this block would wait for one
            process.kill()
            raise
    return found | {"spent": found["caught"] - used.user - used.system}


def require_usable(found: dict[str, Any]) -> None:
    assert not found["other_error"], found
    assert found["spent"] < 2 * SECONDS, found
    assert found["children"] == [] and found["unchanged"], found


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("phase", "event"),
    daily([("import", "file"), ("build", "compile 1/"), ("run", "ran once")], ("import", "file")),
)
def test_ctrl_c(model: Path, phase: str, event: str) -> None:
    require_usable(interrupted(model, phase, event))


@pytest.mark.timeout(180)
def test_ctrl_c_where_the_caller_ignores_it(model: Path) -> None:
    """As in `make test &` of a script: what is ignored is inherited."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        require_usable(interrupted(model, "import", "import 20/"))
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("phase", EVENTS)
def test_ctrl_c_at_many_events(model: Path, phase: str) -> None:
    for event in EVENTS[phase]:
        require_usable(interrupted(model, phase, event))


CELLS = (
    "import workbench as wb",
    "from tests.integration.interrupted import Inside, children, earlier_session, repeated, works",
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
        for phase, event in (("import", "file"), ("build", "compile 1/")):

            def interrupt_inside(message: dict[str, Any]) -> None:
                if message["msg_type"] == "stream" and "inside" in message["content"]["text"]:
                    threading.Thread(target=manager.interrupt_kernel).start()  # the client's loop runs here

            reply = client.execute_interactive(
                f"repeated({phase!r}, {str(model)!r}, Inside({event!r}))",
                stop_on_error=False,  # else the kernel drops what comes right after the error
                output_hook=interrupt_inside,
                timeout=120,
            )
            assert reply["content"]["status"] == "error" and reply["content"]["ename"] == "KeyboardInterrupt"
            checked = client.execute_interactive("assert works(session) and not children()", timeout=60)
            assert checked["content"]["status"] == "ok", checked["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
