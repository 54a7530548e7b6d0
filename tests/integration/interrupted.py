"""The process that `test_interrupt` interrupts: it opens, builds and runs a large model, and says how a Ctrl-C went.

    python -m tests.integration.interrupted MODEL PHASE EVENT

repeats the phase until it is interrupted, prints "inside" when the event has come, and answers one line of JSON: what
the Ctrl-C cost and what still works.  The caller's own handling of signals does not matter: a script's background
jobs ignore SIGINT, and children inherit that.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil

from workbench.core import progress


def children() -> list[str]:
    """Process ids of the children of this process.  Threads may end meanwhile: /proc's list by thread is not read."""
    return [str(child.pid) for child in psutil.Process().children()]


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


class Inside:
    """Says "inside", once, when work tells of an event that begins with `event` ("import 20/", "compile 1/")."""

    def __init__(self, event: str, say: Callable[[], None] = lambda: print("inside", flush=True)) -> None:
        self.event = event
        self._say: Callable[[], None] | None = say

    def heard(self, event: str) -> None:
        if self._say is not None and event.startswith(self.event):
            say, self._say = self._say, None
            say()

    def listener(self, title: str, total: int) -> progress.Bar:
        return _Bar(self, title, total)

    def on_opening(self, path: str) -> None:
        """The event "file": the model's file has been opened."""

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "open" and arguments and arguments[0] == path:
                self.heard("file")

        sys.addaudithook(audit)


class _Bar:
    def __init__(self, inside: Inside, title: str, total: int) -> None:
        self.inside, self.title, self.total, self.done = inside, title, total, 0

    def advance(self, count: int) -> None:
        self.done += count
        self.inside.heard(f"{self.title} {self.done}/{self.total}")

    def note(self, text: str) -> None:
        self.inside.heard(text)

    def close(self) -> None:
        self.inside.heard(f"{self.title} closed")


def repeated(phase: str, path: str, inside: Inside) -> None:
    """A phase again and again, so that no Ctrl-C comes too late for it."""
    import workbench as wb

    if phase == "run":
        built = wb.open(path).build()
        spec = built.inputs[0]
        photo = np.ones(spec.concrete_shape, spec.dtype.to_numpy())
        while True:
            built.run({spec.name: photo})
            inside.heard("ran once")
    os.environ["WORKBENCH_CACHE"] = "off"  # kernels that are kept on disk are not compiled
    inside.on_opening(path)
    with progress.listening(inside.listener):
        while True:
            session = wb.open(path)
            if phase == "build":
                session.build()


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    path, phase, event = sys.argv[1:]
    session = earlier_session()
    before, plan, kind, caught = session.labels, session.plan, "", 0.0
    helpers = set(children())

    def say() -> None:
        if phase == "run":  # idle compilers of the build that is over
            helpers.update(children())
        print("inside", flush=True)

    try:
        repeated(phase, path, Inside(event, say))
    except KeyboardInterrupt:
        caught = time.process_time()
    except Exception as error:  # whatever it is, the test shall show it
        kind = f"{type(error).__name__}: {error}"
    deadline = time.monotonic() + 5
    while set(children()) - helpers and time.monotonic() < deadline:
        time.sleep(0.02)
    answer = {
        "other_error": kind,
        "caught": caught,
        "children": sorted(set(children()) - helpers),
        "unchanged": session.plan == plan and session.labels == before and works(session),
    }
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
