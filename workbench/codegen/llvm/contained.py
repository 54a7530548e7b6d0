"""Running compiled code in a child process: a crash, a hang or an abort there is an answer, never the caller's end.

    with Contained(seconds=20) as child:
        child.put("x", array)
        child.load("first", Unit(jobs=(job,), functions={"f": ("__tvm_ffi_f", (1,))}))
        answer = child.call("first", "f", ["x"], [(1, DataType("float32"), (16,))])
        answer.outputs, answer.failure

The child compiles, links and calls; it gets data and LLVM text, never Python code.  Every argument lies between two
guards; outputs and guards are filled with NaN bytes, so what is never written is NaN, what is read beyond the ends is
NaN, and what is written there is reported.  A child that died is replaced at the next use; what was put is put again
by the caller (`alive` tells).
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import IO, Any, Final

import numpy as np

from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...target import Target
from ...tir import nodes as t
from ...tir.verify import verify
from .machine import Job, job_of
from .signature import packed_parameters
from .types import symbol

CALL_SECONDS: Final = 20.0
"""Wall time after which a call, or a compilation, counts as hanging."""


@dataclass(frozen=True)
class Unit:
    """Code for the child: jobs to compile, object code, and the functions in it with the positions they write."""

    functions: Mapping[str, tuple[str, tuple[int, ...]]]
    """Packed symbol and written positions by function name."""
    jobs: tuple[Job, ...] = ()
    objects: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a call in the child gave: outputs, or why there are none."""

    outputs: list[np.ndarray] = field(default_factory=list)
    failure: str = ""
    """Empty, "error" (the code reported one), "crashed" or "hangs"."""
    error: WorkbenchError | None = None


class ChildFailure(Exception):
    """The child died or hangs; `kind` is "crashed" or "hangs"."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind = kind
        self.detail = detail
        super().__init__(detail)


class Contained:
    """See the module's header.  Used by one thread; `close` (or leaving the `with`) ends the child."""

    def __init__(self, seconds: float = CALL_SECONDS) -> None:
        self.seconds = seconds
        self.started = 0
        """How many children have been started."""
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self.lock = threading.Lock()
        """For callers that share a child between threads."""

    def __enter__(self) -> Contained:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether what was put and loaded is still there."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End the child."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if self._messages is not None:
            self._messages.close()
            self._messages = None

    # --- requests ---

    def put(self, key: str, array: np.ndarray) -> None:
        """Hand an array over; it stays until it is dropped."""
        compact = np.ascontiguousarray(array)
        header = {"do": "put", "key": key, "dtype": str(DataType(compact.dtype)), "shape": list(array.shape)}
        self._request(header, [memoryview(compact.reshape(-1).view(np.uint8))])

    def drop(self, keys: Sequence[str]) -> None:
        """Forget arrays."""
        self._request({"do": "drop", "keys": list(keys)}, [])

    def load(self, library: str, unit: Unit) -> WorkbenchError | None:
        """Compile and link; an error of LLVM's or the linker's is the answer.  Raises `ChildFailure`."""
        header = {
            "do": "load", "library": library, "jobs": [asdict(job) for job in unit.jobs],
            "functions": {name: [symbol, list(written)] for name, (symbol, written) in unit.functions.items()},
        }  # fmt: skip
        answer, _ = self._request(header, unit.objects)
        return _error_of(answer)

    def call(
        self,
        library: str,
        function: str,
        arguments: Sequence[str],
        outputs: Sequence[tuple[int, DataType, tuple[int, ...]]],
        initial: Mapping[int, str] | None = None,
    ) -> Answer:
        """Call a function on arrays by key; `outputs`: position among the arguments, dtype and shape of each.

        `initial`: what an output holds at first, by position and key; NaN bytes else.
        """
        header = {
            "do": "call", "library": library, "function": function, "arguments": list(arguments),
            "outputs": [[position, str(dtype), list(shape)] for position, dtype, shape in outputs],
            "initial": {str(position): key for position, key in (initial or {}).items()},
        }  # fmt: skip
        try:
            answer, frames = self._request(header, [])
        except ChildFailure as failure:
            error = WorkbenchError("E-NUMERICS-CRASH", failure.detail, where=f"function {function}")
            return Answer([], failure.kind, error)
        error = _error_of(answer)
        if error is not None:
            return Answer([], "error", error)
        made = [
            np.frombuffer(data, dtype.to_numpy()).reshape(shape)
            for data, (_, dtype, shape) in zip(frames, outputs, strict=True)
        ]
        return Answer(made)

    def run(
        self,
        library: str,
        function: str,
        values: Sequence[Any],
        written: Sequence[int],
        timing: Mapping[str, int] | None = None,
    ) -> Any:
        """Call a function on copies of arrays and on numbers: what it writes, by position; or seconds, with `timing`.

        Raises `ChildFailure`, and `WorkbenchError` for what the code itself reports.
        """
        shapes = [_described(value) for value in values]
        frames = [
            memoryview(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
            for value in values
            if isinstance(value, np.ndarray)
        ]
        header = {"do": "run", "library": library, "function": function, "values": shapes,
                  "written": list(written), "timing": timing}  # fmt: skip
        answer, made = self._request(header, frames)
        error = _error_of(answer)
        if error is not None:
            raise error
        if timing is not None:
            return np.frombuffer(made[0], np.float64).tolist()
        return {
            place: np.frombuffer(data, values[place].dtype).reshape(values[place].shape)
            for place, data in zip(written, made, strict=True)
        }

    # --- the pipe ---

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._messages = tempfile.TemporaryFile()
        self.started += 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", "workbench.codegen.llvm.contained_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent, which ends the child
        )
        return self._process

    def _request(self, header: dict[str, Any], frames: Sequence[Any]) -> tuple[dict[str, Any], list[bytes]]:
        """Send a request and wait for its answer.  Raises `ChildFailure`; an interrupt ends the child."""
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            send(process.stdin, header, frames)
            deadline = time.monotonic() + self.seconds
            answer = json.loads(self._read(process.stdout, deadline))
            return answer, [self._read(process.stdout, deadline) for _ in range(answer.get("frames", 0))]
        except TimeoutError:  # (an OSError, so it comes first)
            self.close()
            raise ChildFailure("hangs", f"no answer within {self.seconds:g} s; the child was ended") from None
        except (OSError, EOFError):
            raise self._died() from None
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _read(pipe: IO[bytes], deadline: float) -> bytes:
        """One frame.  Raises TimeoutError after the deadline, EOFError when the child is gone."""
        size = int.from_bytes(_exactly(pipe, 8, deadline), "little")
        return _exactly(pipe, size, deadline)

    def _died(self) -> ChildFailure:
        process = self._process
        status = process.wait(timeout=10) if process is not None else 0
        said = ""
        if self._messages is not None:
            self._messages.seek(0)
            lines = self._messages.read().decode(errors="replace").strip().splitlines()
            said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.close()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return ChildFailure("crashed", f"{how}: {said[:200]}" if (said and status >= 0) or "Assert" in said else how)


def _described(value: Any) -> Any:
    """An array by dtype and shape; a number as it is."""
    if not isinstance(value, np.ndarray):
        return value
    return {"dtype": str(DataType(value.dtype)), "shape": list(value.shape)}


def _exactly(pipe: IO[bytes], size: int, deadline: float) -> bytes:
    parts: list[bytes] = []
    descriptor = pipe.fileno()
    while size:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send(pipe: IO[bytes], header: dict[str, Any], frames: Sequence[Any]) -> None:
    """A request or an answer: a JSON frame, then the binary frames it announces."""
    head = json.dumps({**header, "frames": len(frames)}).encode()
    pipe.write(len(head).to_bytes(8, "little") + head)
    for data in frames:
        view = memoryview(data)
        pipe.write(view.nbytes.to_bytes(8, "little"))
        pipe.write(view)
    pipe.flush()


def _error_of(answer: dict[str, Any]) -> WorkbenchError | None:
    fields = answer.get("error")
    if fields is None:
        return None
    return WorkbenchError(fields.pop("code"), fields.pop("message"), **fields)


def unit_of(mod: IRModule, target: Target, optimise: int = 3) -> Unit:
    """Flat functions as a unit for the child; `optimise` is LLVM's level.

    Raises `WorkbenchError` for what is not well formed, cannot be emitted, or cannot run on this machine.
    """
    from .backend import emit_unit, exported_name
    from .fitting import require_fitting

    require_fitting(target)
    functions = {name: func for name, func in mod.items() if isinstance(func, t.PrimFunc)}
    symbols = {name: symbol(name) for name in functions}
    jobs: list[Job] = []
    packed: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, func in functions.items():
        verify(func)
        exported = f"__tvm_ffi_{exported_name(name)}"
        text = emit_unit(func, name, symbols, exported, None, "kernel.tir", target)
        jobs.append(replace(job_of(text, target), optimise=optimise))
        packed[name] = (exported, written_positions(func))
    return Unit(packed, tuple(jobs))


def written_positions(func: t.PrimFunc) -> tuple[int, ...]:
    """Positions of the packed arguments that a flat function writes."""
    return tuple(place for place, parameter in enumerate(packed_parameters(func)) if parameter.written)
