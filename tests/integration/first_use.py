"""A fresh process whose first uses meet: eight threads at once, or an interrupt in the middle and then a whole build.

    python -m tests.integration.first_use threads SECONDS   # between switches of threads
    python -m tests.integration.first_use modules SEED      # every module, in an order of its own, from eight threads
    python -m tests.integration.first_use module N          # interrupted at the N-th line of module bodies
    python -m tests.integration.first_use line N            # ... at the N-th line within functions
    python -m tests.integration.first_use signal SECONDS    # ... by a signal, after so much processor time
    python -m tests.integration.first_use extension NAME    # ... when this extension module is made and not yet run

answers one line of JSON.  Nothing of the compiler is loaded before the first build: only `import workbench`.
"""

from __future__ import annotations

import importlib
import json
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import workbench as wb

DATA = np.array([[-1, 2, -3], [4, -5, 6]], "float32")
MODEL = bytes.fromhex(
    "080a3a5d0a0c0a0178120161220452656c750a1c0a01611201792207536f66746d61782a0b0a04617869731801a001021205736d616c6c5a13"
    "0a0178120e0a0c080112080a0208020a02080362130a0179120e0a0c080112080a0208020a02080342040a001011"
)
"""Relu, then Softmax over axis 1, of float32[2, 3]; as bytes, so that the workbench is the first to import onnx."""


def relay_build() -> bool:
    """A graph of three operators through `relay.build`."""
    from workbench.contrib import graph_executor

    x = wb.relay.var("x", shape=(2, 3))
    body = wb.relay.add(wb.relay.nn.relu(x), wb.relay.exp(x))
    module = wb.IRModule.from_expr(wb.relay.Function([x], body))
    executor = graph_executor.GraphModule(wb.relay.build(module, "llvm")["default"](wb.cpu()))
    executor.run(x=DATA)
    return np.allclose(executor.get_output(0).numpy(), np.maximum(DATA, 0) + np.exp(DATA), rtol=1e-5)


def te_build() -> bool:
    """A tensor expression with a schedule of its own through `wb.build`."""
    te = wb.te
    x = te.placeholder((2, 3), name="x")
    y = te.compute((2, 3), lambda i, j: te.exp(x[i, j]) + te.sqrt(te.abs(x[i, j])), name="y")
    schedule = te.create_schedule(y.op)
    schedule[y].vectorize(y.op.axis[1])
    out = wb.nd.array(np.zeros((2, 3), "float32"))
    wb.build(schedule, [x, y], "llvm")(wb.nd.array(DATA), out)
    return np.allclose(out.numpy(), np.exp(DATA) + np.sqrt(np.abs(DATA)), rtol=1e-5)


def open_model() -> bool:
    """A model of ONNX through `wb.open`."""
    raised = np.exp(np.maximum(DATA, 0))
    found = wb.open(MODEL).run({"x": DATA})["y"]
    return np.allclose(found, raised / raised.sum(axis=1, keepdims=True), rtol=1e-5)


def schedule_by_hand() -> bool:
    """A `tir.Schedule` of a te program, by primitives, built."""
    te = wb.te
    x = te.placeholder((8, 8), name="x")
    y = te.compute((8, 8), lambda i, j: x[i, j] * 2.0 + 1.0, name="y")
    schedule = wb.tir.Schedule(te.create_prim_func([x, y]))
    outer, inner = schedule.get_loops(schedule.get_block("y"))
    schedule.reorder(inner, outer)
    schedule.split(outer, factors=[None, 4])
    data, out = np.arange(64, dtype="float32").reshape(8, 8), wb.nd.array(np.zeros((8, 8), "float32"))
    wb.build(schedule.mod, target="llvm")(wb.nd.array(data), out)
    return np.array_equal(out.numpy(), data * 2 + 1)


BUILDS: tuple[Callable[[], bool], ...] = (relay_build, te_build, open_model, schedule_by_hand)


def whole_build() -> list[str]:
    """What went wrong in one build of each kind; empty: nothing."""
    return [failure for build in BUILDS for failure in said(build)]


def said(build: Callable[[], bool]) -> list[str]:
    try:
        return [] if build() else [f"{build.__name__}: wrong numbers"]
    except Exception:  # whatever it is, the test shall show it
        return [f"{build.__name__}: {traceback.format_exc()[-1500:]}"]


def from_threads(count: int = 8) -> list[str]:
    """Each kind of build from two threads, all let go at once."""
    return at_once([partial(said, BUILDS[at % len(BUILDS)]) for at in range(count)])


def at_once(works: Sequence[Callable[[], list[str]]]) -> list[str]:
    """What went wrong in any of these, a thread each, all let go at once."""
    start, failures = threading.Barrier(len(works)), []

    def run(work: Callable[[], list[str]]) -> None:
        start.wait()
        failures.extend(work())

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def every_module(seed: int, count: int = 8) -> list[str]:
    """All modules of the workbench, imported in a random order by several threads."""
    folder = Path(wb.__file__).parent
    files = sorted(path.relative_to(folder.parent).with_suffix("") for path in folder.rglob("*.py"))
    names = [".".join(path.parts).removesuffix(".__init__") for path in files]
    random.Random(seed).shuffle(names)
    return at_once([partial(imported, names[at::count]) for at in range(count)])


def imported(names: Sequence[str]) -> list[str]:
    """What went wrong in these imports; that something of others is not installed is not wrong."""
    failures = []
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            if not isinstance(error, ModuleNotFoundError) or str(error.name).startswith("workbench"):
                failures.append(f"{name}: {traceback.format_exc()[-1500:]}")
    return failures


class Interrupter:
    """Raises KeyboardInterrupt at the n-th line of module bodies, or of functions, as Ctrl-C does anywhere."""

    def __init__(self, what: str, at: int) -> None:
        self.what, self.at, self.seen = what, at, {"module": 0, "line": 0}

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        if "workbench" not in frame.f_code.co_filename:  # Python's own machinery is interrupted by signals
            return None
        if event == "line":
            self.meet("module" if frame.f_code.co_name == "<module>" else "line")
        return self.trace

    def meet(self, what: str) -> None:
        self.seen[what] += 1
        if what == self.what and self.seen[what] == self.at:
            sys.settrace(None)
            raise KeyboardInterrupt


def interrupt_extension(name: str) -> None:
    """Let Ctrl-C be pressed when Python has made an extension module and not yet run its body."""
    create = ExtensionFileLoader.create_module

    def created(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
        module = create(self, spec)
        if spec.name == name:
            ExtensionFileLoader.create_module = create
            signal.raise_signal(signal.SIGINT)
        return module

    ExtensionFileLoader.create_module = created


def interrupted(what: str, at: str) -> dict[str, Any]:
    """A first build that is interrupted at a point, and the next one."""
    caught, began, seen = False, time.process_time(), {"module": 0, "line": 0}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins without
    signal.signal(signal.SIGPROF, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        if what == "signal":
            signal.setitimer(signal.ITIMER_PROF, float(at))
        elif what == "extension":
            interrupt_extension(at)
        else:
            interrupter = Interrupter(what, int(float(at)))
            seen = interrupter.seen
            sys.settrace(interrupter.trace)
        for build in BUILDS:
            build()
    except KeyboardInterrupt:
        caught = True
    except RuntimeError as error:  # Python 3.11 wraps what __set_name__ raises while a class is made
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        caught = True
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - began
    return {"caught": caught, "seen": seen | {"signal": seconds}, "failures": whole_build()}


def main() -> None:
    what, number = sys.argv[1], sys.argv[2]
    if what == "threads":
        sys.setswitchinterval(float(number))
        print(json.dumps({"failures": from_threads()}), flush=True)
    elif what == "modules":
        sys.setswitchinterval(0.00001)
        print(json.dumps({"failures": every_module(int(number))}), flush=True)
    else:
        print(json.dumps(interrupted(what, number)), flush=True)


if __name__ == "__main__":
    main()
