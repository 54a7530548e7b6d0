"""Functions that legality did not vouch for run in a process of their own: what they do there ends nothing here.

    sch.parallel(k, unsafe=True)
    wb.build(sch)(a, b, c)          # runs in a child; results are copied back; a crash is a `WorkbenchError`

Arguments are copied to the child, what is written is copied back, and times are taken there.  Invariant: the code is
never linked into this process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.arguments import unmasked
from ...core.child import ChildFailure
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...runtime.packed import PackedFunc
from ...runtime.timing import BenchmarkResult
from ...tir import nodes as t
from .contained import Contained, Unit
from .signature import Parameter

ATTRIBUTE = "unsafe"
"""The attribute of functions that run contained."""
_SECONDS = 60.0


def is_unsafe(mod: IRModule) -> bool:
    """Whether a schedule went over a legality refusal in some function of a module."""
    return any(isinstance(func, t.PrimFunc) and func.attrs.get(ATTRIBUTE) for func in mod.functions.values())


class ContainedLibrary:
    """Compiled code in a child that is started with the first call, and again after it died."""

    def __init__(
        self, objects: Sequence[bytes], exported: Mapping[str, str], parameters: Mapping[str, tuple[Parameter, ...]]
    ) -> None:
        self.parameters = parameters
        self.written = {
            name: tuple(place for place, parameter in enumerate(own) if parameter.written)
            for name, own in parameters.items()
        }
        self._unit = Unit(
            {name: (symbol, self.written[name]) for name, symbol in exported.items()}, objects=tuple(objects)
        )
        self._child = Contained(seconds=_SECONDS)

    def function(self, name: str) -> ContainedFunction:
        """One function of the library."""
        return ContainedFunction(self, name)

    def run(self, name: str, values: Sequence[Any], timing: Mapping[str, int] | None = None) -> Any:
        """Call a function on copies and copy back what it writes; with `timing`, measure it instead."""
        try:
            with self._child.lock:
                if not self._child.alive:
                    problem = self._child.load("unsafe", self._unit)
                    if problem is not None:
                        raise problem
                return self._child.run("unsafe", name, values, self.written[name], timing)
        except ChildFailure as failure:
            raise WorkbenchError(
                "E-UNSAFE-HANGS" if failure.kind == "hangs" else "E-UNSAFE-CRASHED",
                f"{name} {failure.phrase}; it ran in a process of its own, so nothing else is lost",
                found=failure.detail,
                expected="a schedule whose steps are all legal",
                fix="undo the step with unsafe=True",
                kept="your arguments are as they were",
            ) from None


class ContainedFunction(PackedFunc):
    """A function that is called in a child; see the module's header."""

    __slots__ = ("_library",)

    def __init__(self, library: ContainedLibrary, name: str) -> None:
        super().__init__(None, name, keep=library)
        self._library = library

    def __call__(self, *args: Any) -> None:
        arrays = self._values(args)
        for place, made in self._library.run(self.name, arrays).items():
            _store(arrays[place], made, self.name, place)

    def timed(self, args: Sequence[Any], options: Mapping[str, int]) -> BenchmarkResult:
        """Seconds a call, measured in the child."""
        return BenchmarkResult(tuple(self._library.run(self.name, self._values(args), dict(options))))

    def _values(self, args: Sequence[Any]) -> list[Any]:
        """Arguments as arrays that share the caller's memory, and numbers."""
        parameters = self._library.parameters[self.name]
        if len(args) != len(parameters):
            raise WorkbenchError(
                "E-CALL-COUNT",
                f"{self.name} takes {len(parameters)} arguments",
                found=str(len(args)),
                expected=", ".join(parameter.name for parameter in parameters),
            )
        return [_value(value, parameter) for value, parameter in zip(args, parameters, strict=True)]


def _value(value: Any, parameter: Parameter) -> Any:
    if parameter.shape is None:
        return float(value) if parameter.dtype.is_float else int(value)
    array = unmasked(value) if isinstance(value, np.ndarray) else _shared(value)
    fixed = [extent if isinstance(extent, int) else None for extent in parameter.shape]
    fits = array.ndim == len(fixed) and all(
        want is None or want == have for want, have in zip(fixed, array.shape, strict=True)
    )
    if not fits or array.dtype != parameter.dtype.to_numpy():
        raise WorkbenchError(
            "E-CALL-SHAPE",
            f"argument {parameter.name} is of another shape or dtype",
            found=f"{array.dtype}{list(array.shape)}",
            expected=f"{parameter.dtype}{list(parameter.shape)}",
        )
    return array


def _shared(value: Any) -> np.ndarray:
    """A view of a tensor of another library."""
    numpy = getattr(value, "numpy", None)
    try:
        return np.from_dlpack(value)
    except (TypeError, AttributeError, BufferError, RuntimeError):
        if numpy is None:
            raise WorkbenchError(
                "E-CALL-DTYPE", "an argument is no tensor", found=type(value).__name__, expected="arrays"
            ) from None
        return np.asarray(numpy())


def _store(array: np.ndarray, made: np.ndarray, name: str, place: int) -> None:
    if not array.flags.writeable:
        raise WorkbenchError(
            "E-CALL-READ-ONLY",
            f"{name}: argument {place} is written, but the array is read-only",
            fix="pass a writable array for outputs",
        )
    array[...] = made
