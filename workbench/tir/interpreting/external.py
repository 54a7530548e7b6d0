"""Calls out of an interpreted program: packed functions by name, C functions by symbol.

Elements are copied into NumPy arrays for the call and back after it: what the callee changed, and what had no value
before, which it is taken to have written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...runtime import symbols
from ...runtime.packed import get_global_func
from .machine import Pointer, Storage
from .numbers import plain


@dataclass(frozen=True)
class TensorArgument:
    """What ``T.tvm_stack_make_array`` gives: elements of a storage with extents and strides."""

    pointer: Pointer
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: DataType


def make_shape(*extents: int) -> tuple[int, ...]:
    return tuple(int(extent) for extent in extents)


def make_array(dtype: DataType, pointer: Pointer, shape: Any, strides: Any, offset: int) -> TensorArgument:
    """A tensor argument; strides of 0 mean rows without gaps."""
    moved = Pointer(pointer.storage, pointer.offset + int(offset))
    given = cast("tuple[int, ...]", strides) if isinstance(strides, tuple) else None
    return TensorArgument(moved, shape, given, dtype)


def vector_load(dtype: DataType, pointer: Pointer) -> Any:
    """Bytes from an address on as a vector of `dtype`; refuses what lies beyond the end or has no value."""
    storage = pointer.storage
    unit = max(1, storage.dtype.bytes)
    count = -(-dtype.bytes // unit)
    cells = storage.cells[pointer.offset : pointer.offset + count]
    if len(cells) < count or any(cell is None for cell in cells):
        raise WorkbenchError(
            "E-TIR-BOUNDS", f"a vector of {dtype} is read from {storage.name}",
            found=f"{sum(cell is not None for cell in cells)} elements with a value from place {pointer.offset} on",
            expected=f"{count} elements",
        )  # fmt: skip
    made = np.array(cells, storage.dtype.to_numpy()).view(dtype.element_of.to_numpy())
    return made if dtype.is_vector else plain(made[0], dtype)


class _Copies:
    """Arrays that stand for storages during a call."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Storage, np.ndarray, np.ndarray]] = {}

    def of(self, storage: Storage) -> np.ndarray:
        """The storage's elements as an array; what has no value yet is zero."""
        if id(storage) not in self._held:
            kind = storage.dtype.to_numpy()
            array = np.array([0 if cell is None else cell for cell in storage.cells], kind)
            self._held[id(storage)] = (storage, array, array.copy())
        return self._held[id(storage)][1]

    def write_back(self) -> None:
        for storage, array, before in self._held.values():
            changed = array.view(np.uint8).reshape(array.size, -1) != before.view(np.uint8).reshape(array.size, -1)
            touched = changed.any(axis=1) if array.size else changed
            for place, cell in enumerate(storage.cells):
                if cell is None or touched[place]:
                    value = array[place]
                    storage.cells[place] = value if storage.dtype.is_float else value.item()


def call_packed(name: str, *arguments: Any) -> int:
    """Call a packed function by its global name.  Its error is raised; E-FUNC-UNKNOWN when there is none."""
    function = get_global_func(name)
    assert function is not None
    copies = _Copies()
    function(*(_packed_argument(value, copies) for value in arguments))
    copies.write_back()
    return 0


def _packed_argument(value: Any, copies: _Copies) -> Any:
    if isinstance(value, TensorArgument):
        whole = copies.of(value.pointer.storage)[value.pointer.offset :]
        if value.strides is None:
            return whole[: int(np.prod(value.shape, dtype=np.int64))].reshape(value.shape)
        steps = tuple(step * whole.itemsize for step in value.strides)
        return np.lib.stride_tricks.as_strided(whole, value.shape, steps)
    if isinstance(value, Pointer):
        return ctypes.c_void_p(copies.of(value.storage)[value.offset :].ctypes.data)
    return cast("Any", value).item() if isinstance(value, np.generic) else value


_C_TYPES: dict[str, Any] = {
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool, "handle": ctypes.c_void_p,
    "void": None,
}  # fmt: skip


def call_extern(result: DataType, kinds: Sequence[DataType], name: str, *arguments: Any) -> Any:
    """Call a C function by symbol.  Raises `WorkbenchError` for what is neither mathematics nor loaded for programs."""
    unknown = [kind for kind in (result, *kinds) if str(kind) not in _C_TYPES]
    if unknown:
        raise WorkbenchError("E-TIR-INTERPRET", f"{name} is called with {unknown[0]}, which C does not have")
    prototype = ctypes.CFUNCTYPE(_C_TYPES[str(result)], *(_C_TYPES[str(kind)] for kind in kinds))
    address = symbols.harmless(name)
    if address is None:
        raise WorkbenchError(
            "E-TIR-INTERPRET", f"the interpreter does not call the C function {name!r}",
            found="no mathematics, and of no library that was loaded for programs",
            fix="load its library: workbench.runtime.symbols.load_library(path), or import its source (contrib.clang)",
        )  # fmt: skip
    function = prototype(address)
    copies = _Copies()
    given = [_c_argument(value, copies) for value in arguments]
    answer = function(*given)
    copies.write_back()
    return result.to_numpy().type(answer) if result.is_float else answer


def _c_argument(value: Any, copies: _Copies) -> Any:
    if isinstance(value, Pointer):
        return copies.of(value.storage)[value.offset :].ctypes.data
    if isinstance(value, str):
        return ctypes.cast(ctypes.c_char_p(value.encode()), ctypes.c_void_p).value
    return cast("Any", value).item() if isinstance(value, np.generic) else value
