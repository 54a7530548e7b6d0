"""NDArray: a tensor on a device, exchanged with others by DLPack.

    a = nd.array([1.0, 2.0])            # copies
    b = nd.empty((2,), "float32")
    a.copyto(b)
    b.numpy()

On the CPU the memory is NumPy's; `numpy()` gives a copy, as the classic API does.  Memory that is read-only, such as a
model's constants, is copied before anybody writes into the array or gets at it by DLPack, which knows no read-only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arguments import unmasked
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from .devices import Device, cpu, device, require_cpu
from .dlpack import tensor_of


class NDArray:
    """An n-dimensional array on a device."""

    __slots__ = ("__weakref__", "_array", "_tensor", "device")

    def __init__(self, memory: np.ndarray, place: Device | None = None) -> None:
        self._array = memory
        self._tensor: Any = None
        self.device = require_cpu(place)

    # --- facts ---

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> DataType:
        return DataType(self._array.dtype.name)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def strides(self) -> None:
        """None: arrays are compact."""
        return None

    # --- copies ---

    def _writable(self) -> np.ndarray:
        """The memory, which from now on is the array's own if it was read-only."""
        if not self._array.flags.writeable:
            self._array = self._array.copy()
        return self._array

    def numpy(self) -> np.ndarray:
        """A copy as a NumPy array."""
        return self._array.copy()

    asnumpy = numpy

    def copyfrom(self, source: Any) -> NDArray:
        """Copy the elements of an array-like of the same shape, converted to this dtype.

        Into bfloat16, uint16 goes as the bits that it holds, since NumPy has no bfloat16 of its own (classic API).
        """
        values = _as_bits(numpy_of(source), self.dtype)
        if values.shape != self.shape:
            raise WorkbenchError(
                "E-ARRAY-SHAPE", "the shapes differ", found=str(values.shape), expected=str(self.shape)
            )
        np.copyto(self._writable(), values, casting="unsafe")
        return self

    def copyto(self, target: Any, mem_scope: str | None = None) -> NDArray:
        """Copy into another NDArray, or to a device."""
        if isinstance(target, NDArray):
            return target.copyfrom(self)
        if isinstance(target, Device):
            return NDArray(self._array.copy(), target)
        raise WorkbenchError("E-ARRAY-TARGET", "copyto takes an NDArray or a Device", found=type(target).__name__)

    def __setitem__(self, where: Any, value: Any) -> None:
        values = value._array if isinstance(value, NDArray) else value
        self._writable()[where] = _as_bits(values, self.dtype) if isinstance(values, np.ndarray) else values

    def __getitem__(self, where: Any) -> Any:
        return self._array[where].copy()

    # --- exchange ---

    def __tvm_ffi_object__(self) -> Any:
        if self._tensor is None:
            self._tensor = tensor_of(self._writable())
        return self._tensor

    def __dlpack__(self, **options: Any) -> Any:
        return self.__tvm_ffi_object__().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device.device_type, self.device.device_id)

    def to_dlpack(self) -> Any:
        return self.__dlpack__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array, dtype=dtype)

    def same_as(self, other: Any) -> bool:
        return self is other

    def __len__(self) -> int:
        return len(self._array)

    def __repr__(self) -> str:
        return f"<NDArray {self.dtype}{list(self.shape)} on {self.device}>\n{self._array!r}"


def _as_bits(values: np.ndarray, dtype: DataType) -> np.ndarray:
    """uint16 seen as bfloat16 where that is wanted; other arrays as they are."""
    bits = dtype == "bfloat16" and values.dtype == np.uint16
    return values.view(dtype.to_numpy()) if bits else values


def array(source: Any, device: Device | None = None, mem_scope: str | None = None) -> NDArray:
    """A copy of an array-like as an NDArray; lists of floats become float32, as in the classic API."""
    if isinstance(source, NDArray):
        return NDArray(source.numpy(), device)
    given = np.asarray(unmasked(source))
    if not isinstance(source, np.ndarray) and given.dtype == np.float64 and not isinstance(source, np.generic):
        given = given.astype(np.float32)
    if given.dtype.kind in "OSUM" or not given.dtype.isnative:
        raise WorkbenchError("E-CALL-ELEMENT", f"arrays of {given.dtype} cannot be passed", found=str(given.dtype))
    return NDArray(np.array(given, order="C", copy=True), device)


def empty(shape: Any, dtype: str = "float32", device: Device | None = None, mem_scope: str | None = None) -> NDArray:
    """An NDArray with undefined contents."""
    extents = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
    return NDArray(np.empty(extents, DataType(dtype).to_numpy()), device)


def from_dlpack(source: Any) -> NDArray:
    """Another library's CPU tensor, sharing its memory."""
    return NDArray(np.from_dlpack(source))


def numpy_of(value: Any) -> np.ndarray:
    """The NumPy array behind an NDArray (shared), or of any array-like."""
    return value._array if isinstance(value, NDArray) else np.asarray(unmasked(value))


__all__ = ["NDArray", "array", "cpu", "device", "empty", "from_dlpack", "numpy_of"]
