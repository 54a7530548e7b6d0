"""The process that `test_interrupt` interrupts: it opens, builds and runs a large model, and says how a Ctrl-C went.

    python -m tests.integration.interrupted MODEL PHASE

prints "ready", is interrupted in the phase, and answers one line of JSON: when it was caught and what still works.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def children() -> list[str]:
    """Process ids of the children of this process."""
    tasks = Path("/proc/self/task").iterdir()
    return [child for task in tasks for child in (task / "children").read_text().split()]


def earlier_session() -> Any:
    from onnx import TensorProto, helper

    import workbench as wb

    claims = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "small", claims[:1], claims[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    session = wb.open(model)
    session.run({"x": np.ones((2, 3), "f")})
    return session


def works(session: Any) -> bool:
    """Whether a session that stood before still runs and can still be changed."""
    x = np.array([[-1, 2, -3], [4, -5, 6]], "f")
    first = session.run({"x": x})["y"]
    second = session.rerun(disabled_pass=["FuseOps"]).run({"x": x})["y"]
    return bool(np.array_equal(first, np.maximum(x, 0)) and np.array_equal(second, first))


def phase_of(name: str, path: str) -> Callable[[], Any]:
    """What is to be interrupted, everything before it done already."""
    import workbench as wb

    if name == "import":
        return lambda: wb.open(path)
    session = wb.open(path)
    if name == "build":
        return session.build
    built = session.build()
    spec = built.inputs[0]
    photo = np.ones(spec.concrete_shape, spec.dtype.to_numpy())
    return lambda: built.run({spec.name: photo})


def main() -> None:
    path, name = sys.argv[1:]
    session = earlier_session()
    plan = session.plan
    job = phase_of(name, path)
    print("ready", flush=True)
    finished, kind, helpers = False, "", set(children())
    started = time.monotonic()
    try:
        job()
        finished = True
        time.sleep(60)
    except KeyboardInterrupt:
        caught = time.monotonic()
    except Exception as error:  # whatever it is, the test shall show it
        caught, kind = time.monotonic(), f"{type(error).__name__}: {error}"
    deadline = time.monotonic() + 1
    while set(children()) - helpers and time.monotonic() < deadline:
        time.sleep(0.02)
    answer = {
        "finished": finished,
        "other_error": kind,
        "started": started,
        "caught": caught,
        "children": [] if finished else sorted(set(children()) - helpers),
        "unchanged": session.plan == plan and works(session),
        "usable": time.monotonic(),
    }
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
