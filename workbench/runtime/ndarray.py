"""Arrays that compiled code reads and writes: compact, row-major, aligned to 64 bytes.

>>> array([1, 2, 3]).numpy().tolist()
[1, 2, 3]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from .device import Device, cpu

ALIGNMENT = 64


class NDArray:
    """An array on a device.  `numpy()` copies out; arguments are passed without a copy."""

    __slots__ = ("_array", "_tensor", "device")

    def __init__(self, storage: np.ndarray, device: Device) -> None:
        self._array = storage
        self._tensor: Any = None
        self.device = device

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def dtype(self) -> DataType:
        return DataType(self._array.dtype.name)

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def data(self) -> np.ndarray:
        """The storage itself, shared."""
        return self._array

    @property
    def tensor(self) -> Any:
        """The array as tvm-ffi passes it, over the same storage."""
        if self._tensor is None:
            from .dlpack import tensor_of

            self._tensor = tensor_of(self._array)
        return self._tensor

    def numpy(self) -> np.ndarray:
        """A copy as a NumPy array."""
        return self._array.copy()

    asnumpy = numpy

    def copyfrom(self, source: Any) -> NDArray:
        """Take over the values of an array of the same shape; they are converted to this dtype."""
        values = source.data if isinstance(source, NDArray) else np.asarray(source)
        if values.shape != self.shape:
            raise WorkbenchError("E-ARRAY-SHAPE", "shapes differ", found=str(values.shape), expected=str(self.shape))
        self._array[...] = values
        return self

    def copyto(self, target: Any) -> NDArray:
        """Copy into another array, or to a new one on a device."""
        made = target if isinstance(target, NDArray) else empty(self.shape, self.dtype, target)
        return made.copyfrom(self)

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device.device_type, self.device.index)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self._array, dtype=dtype, copy=True)

    def __getitem__(self, where: Any) -> Any:
        return self._array[where]

    def __setitem__(self, where: Any, value: Any) -> None:
        self._array[where] = value.data if isinstance(value, NDArray) else value

    def __len__(self) -> int:
        return len(self._array)

    def __repr__(self) -> str:
        return f"NDArray(shape={self.shape}, dtype={self.dtype}, {self.device})\n{self._array!r}"


def empty(shape: Any, dtype: Any = "float32", device: Device | None = None) -> NDArray:
    """An array with undefined contents."""
    extents = tuple(int(extent) for extent in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    return NDArray(aligned(extents, DataType(dtype).to_numpy()), device or cpu())


def array(values: Any, device: Device | None = None, dtype: Any = None) -> NDArray:
    """A copy of array-like values.  Python floats become float32, as in the classic API."""
    source = values.data if isinstance(values, NDArray) else np.asarray(values)
    if dtype is None and not isinstance(values, (np.ndarray, np.generic, NDArray)) and source.dtype == np.float64:
        dtype = "float32"
    made = empty(source.shape, dtype or source.dtype.name, device)
    return made.copyfrom(source)


def from_dlpack(source: Any) -> NDArray:
    """An array over the memory of another library's CPU tensor."""
    return NDArray(np.from_dlpack(source), cpu())


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array whose data begins at a multiple of 64 bytes."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    offset = -raw.ctypes.data % ALIGNMENT
    return raw[offset : offset + size].view(dtype).reshape(shape)


def aligned_copy(values: Any) -> np.ndarray:
    """Values in fresh aligned storage."""
    source = np.asarray(values)
    made = aligned(source.shape, source.dtype)
    made[...] = source
    return made
