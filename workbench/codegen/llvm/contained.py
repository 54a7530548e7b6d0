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

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from ...core.child import Child, ChildFailure, Limits
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...target.target import Target
from ...tir import nodes as t
from ...tir.verify import verify
from .machine import Job, job_of
from .pipelines import LEAN
from .signature import packed_parameters
from .types import symbol

_LIMITS: Final = Limits(file_bytes=64 << 20, printed_bytes=16 << 20)
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
    """Empty, "error" (the code reported one), "hangs", or "crashed" for whatever else ended the child."""
    error: WorkbenchError | None = None
    of_the_machine: bool = False
    """Whether the failure says nothing of the code (`ChildFailure.of_the_machine`)."""
    returned: Any = None
    """The number that the function answers by ``T.ret``, if any."""


class Contained:
    """See the module's header.  Used by one thread; `close` (or leaving the `with`) ends the child."""

    def __init__(self, seconds: float = CALL_SECONDS) -> None:
        self.seconds = seconds
        self._child = Child("workbench.codegen.llvm.contained_child", seconds=seconds, limits=_LIMITS)
        self.lock = threading.Lock()
        """For callers that share a child between threads."""
        self._given: dict[str, int] = {}
        """What has been put and loaded, and which of the children has it, counted from 1."""

    def __enter__(self) -> Contained:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether what was put and loaded is still there."""
        return self._child.alive

    @property
    def started(self) -> int:
        """How many children have been started."""
        return self._child.started

    def kill(self) -> None:
        """End the child at once; may come from another thread, and whoever waits for its answer gets a failure."""
        self._child.kill()

    def close(self) -> None:
        """End the child."""
        self._child.close()

    # --- requests ---

    def put(self, key: str, array: np.ndarray) -> None:
        """Hand an array over; it stays until it is dropped."""
        compact = np.ascontiguousarray(array)
        header = {"key": key, "dtype": str(DataType(compact.dtype)), "shape": list(array.shape)}
        self._child.ask("put", header, [compact.reshape(-1).view(np.uint8).data])
        self._given[key] = self.started

    def drop(self, keys: Sequence[str]) -> None:
        """Forget arrays."""
        self._child.ask("drop", {"keys": list(keys)})
        for key in keys:
            self._given.pop(key, None)

    def load(self, library: str, unit: Unit) -> WorkbenchError | None:
        """Compile and link; an error of LLVM's or the linker's is the answer.  Raises `ChildFailure`."""
        header = {
            "library": library, "jobs": [asdict(job) for job in unit.jobs],
            "functions": {name: [symbol, list(written)] for name, (symbol, written) in unit.functions.items()},
        }  # fmt: skip
        try:
            self._child.ask("load", header, unit.objects)
        except WorkbenchError as error:
            return error
        self._given[library] = self.started
        return None

    def _require(self, *names: str) -> None:
        """Raise `ChildFailure` where the child that has these is gone: another one would not know them."""
        if not self.alive or any(self._given.get(name, self.started) != self.started for name in names):
            raise self._child.lost()

    def call(
        self,
        library: str,
        function: str,
        arguments: Sequence[str | float],
        outputs: Sequence[tuple[int, DataType, tuple[int, ...]]],
        initial: Mapping[int, str] | None = None,
    ) -> Answer:
        """Call a function on arrays by key and on numbers.

        `outputs`: position among the arguments, dtype and shape of each.  `initial`: what an output holds at first, by
        position and key; NaN bytes else.
        """
        header = {
            "library": library, "function": function, "arguments": list(arguments),
            "outputs": [[position, str(dtype), list(shape)] for position, dtype, shape in outputs],
            "initial": {str(position): key for position, key in (initial or {}).items()},
        }  # fmt: skip
        try:
            self._require(library, *(one for one in arguments if isinstance(one, str)), *(initial or {}).values())
            answer = self._child.ask("call", header)
        except ChildFailure as failure:
            error = WorkbenchError("E-NUMERICS-CRASH", failure.detail, where=f"function {function}")
            kind = "hangs" if failure.kind == "hangs" else "crashed"
            return Answer([], kind, error, failure.of_the_machine)
        except WorkbenchError as error:
            return Answer([], "error", error)
        made = [
            np.frombuffer(data, dtype.to_numpy()).reshape(shape)
            for data, (_, dtype, shape) in zip(answer.frames, outputs, strict=True)
        ]
        return Answer(made, returned=answer.header["returned"])

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
            np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
            for value in values
            if isinstance(value, np.ndarray)
        ]
        header = {"library": library, "function": function, "values": shapes,
                  "written": list(written), "timing": timing}  # fmt: skip
        self._require(library)
        made = self._child.ask("run", header, frames).frames
        if timing is not None:
            return np.frombuffer(made[0], np.float64).tolist()
        return {
            place: np.frombuffer(data, values[place].dtype).reshape(values[place].shape)
            for place, data in zip(written, made, strict=True)
        }


def _described(value: Any) -> Any:
    """An array by dtype and shape; a number as it is."""
    if not isinstance(value, np.ndarray):
        return value
    return {"dtype": str(DataType(value.dtype)), "shape": list(value.shape)}


def unit_of(mod: IRModule, target: Target, optimise: int = LEAN) -> Unit:
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
