"""The child's side of `contained`: compile, link and call on request, with guards around every argument."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.host import give_back_memory
from ...core.serving import Action
from ...runtime.model import as_argument
from ...runtime.native.loader import library as native_runtime
from ...runtime.packed import PackedFunc, packed_at
from ...runtime.timing import measure
from . import jit
from .machine import Job, compile_job

GUARD: Final = 4096
"""Bytes before and after each argument."""
FILL: Final = 0xFF
"""NaN in every float format of 16 bits and more, -1 in the integers."""


@dataclass
class Guarded:
    """An array between two guards."""

    memory: np.ndarray
    begin: int
    array: np.ndarray

    @classmethod
    def empty(cls, dtype: DataType, shape: tuple[int, ...]) -> Guarded:
        """An array whose bytes, and those around it, are all `FILL`."""
        kind = dtype.to_numpy()
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        memory = np.full(size + 2 * GUARD + 64, FILL, np.uint8)
        begin = GUARD + (-(memory.ctypes.data + GUARD)) % 64
        return cls(memory, begin, memory[begin : begin + size].view(kind).reshape(shape))

    def overrun(self) -> str:
        """Where the guards were written, in elements from the array's ends; empty when they were not."""
        size, unit = self.array.nbytes, max(1, self.array.itemsize)
        after = np.flatnonzero(self.memory[self.begin + size :] != FILL)
        if after.size:
            return f"element {self.array.size + int(after[0]) // unit} of {self.array.size}"
        before = np.flatnonzero(self.memory[: self.begin] != FILL)
        return f"element {(int(before[-1]) - self.begin) // unit} (before the first)" if before.size else ""


class Child:
    """Arrays by key and linked functions by library."""

    def __init__(self) -> None:
        self.arrays: dict[str, tuple[Guarded, int]] = {}
        self.libraries: dict[str, dict[str, PackedFunc]] = {}

    def put(self, request: Mapping[str, Any], frames: Sequence[bytearray]) -> list[Any]:
        held = Guarded.empty(DataType(request["dtype"]), tuple(request["shape"]))
        held.array.reshape(-1).view(np.uint8)[:] = np.frombuffer(frames[0], np.uint8)
        self.arrays[request["key"]] = (held, zlib.crc32(held.memory.data))
        return []

    def drop(self, request: Mapping[str, Any], frames: Sequence[bytearray]) -> list[Any]:
        for key in request["keys"]:
            self.arrays.pop(key, None)
        give_back_memory()
        return []

    def load(self, request: Mapping[str, Any], frames: Sequence[bytearray]) -> list[Any]:
        runtime = native_runtime()
        assert runtime is not None
        objects = [*map(bytes, frames), *(compile_job(Job(**job)) for job in request["jobs"])]
        symbols = [symbol for symbol, _ in request["functions"].values()]
        linked = jit.link(objects, symbols, runtime.addresses)
        self.libraries[request["library"]] = {
            name: packed_at(linked[symbol], name, linked, frozenset(written))
            for name, (symbol, written) in request["functions"].items()
        }
        give_back_memory()  # what compiling took
        return []

    def run(self, request: Mapping[str, Any], frames: Sequence[bytearray]) -> list[Any]:
        """Call a function on what came with the request; what it wrote, or seconds."""
        name, data = request["function"], iter(frames)
        held: list[Guarded | None] = []
        for value in request["values"]:
            made = Guarded.empty(DataType(value["dtype"]), tuple(value["shape"])) if isinstance(value, dict) else None
            if made is not None:
                made.array.reshape(-1).view(np.uint8)[:] = np.frombuffer(next(data), np.uint8)
            held.append(made)
        values = zip(held, request["values"], strict=True)
        given = [value if own is None else as_argument(own.array) for own, value in values]
        function = self.libraries[request["library"]][name]
        if request["timing"] is not None:
            result = measure(lambda: function(*given), **request["timing"])
            return [np.asarray(result.results, np.float64).view(np.uint8)]
        function(*given)
        for place, own in enumerate(held):
            found = own.overrun() if own is not None else ""
            if found:
                raise WorkbenchError(
                    "E-UNSAFE-OVERRUN", f"{name} writes beyond the ends of its argument {place}", found=found
                )
        kept = [held[place] for place in request["written"]]
        return [np.ascontiguousarray(own.array).reshape(-1).view(np.uint8) for own in kept if own is not None]

    def call(self, request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], list[Any]]:
        """Call a function on arrays by key and on numbers; what it returned, and what it wrote."""
        outputs = {place: Guarded.empty(DataType(dtype), tuple(shape)) for place, dtype, shape in request["outputs"]}
        for place, key in request["initial"].items():
            outputs[int(place)].array[...] = self.arrays[key][0].array
        keys = iter(request["arguments"])
        count = len(request["arguments"]) + len(outputs)
        given = [(None, outputs[place]) if place in outputs else self._named(next(keys)) for place in range(count)]
        name = request["function"]
        function = self.libraries[request["library"]][name]
        returned = function(*(as_argument(held.array) if isinstance(held, Guarded) else held for _, held in given))
        for place, (key, held) in enumerate(given):
            if not isinstance(held, Guarded):
                continue
            found = held.overrun()
            if found:
                raise WorkbenchError(
                    "E-NUMERICS-OVERRUN", f"{name} writes beyond the ends of its argument {place}", found=found
                )
            if key is not None and zlib.crc32(held.memory.data) != self.arrays[key][1]:
                raise WorkbenchError("E-NUMERICS-INPUT", f"{name} changes its argument {place}, which it only reads")
        written = [np.ascontiguousarray(held.array).reshape(-1).view(np.uint8) for held in outputs.values()]
        return {"returned": returned}, written

    def _named(self, argument: str | float) -> tuple[str | None, Guarded | float]:
        """An array by its key; a number is itself."""
        return (argument, self.arrays[argument][0]) if isinstance(argument, str) else (None, argument)


def actions() -> Mapping[str, Action]:
    """What `core.serving` offers; arrays and libraries stay from request to request."""
    child = Child()
    known = {"put": child.put, "drop": child.drop, "load": child.load, "run": child.run}
    return {"call": child.call, **{name: partial(_answered, function) for name, function in known.items()}}


def _answered(
    function: Callable[[Mapping[str, Any], Sequence[bytearray]], list[Any]],
    request: Mapping[str, Any],
    frames: Sequence[bytearray],
) -> tuple[Mapping[str, Any], list[Any]]:
    return {}, function(request, frames)
