"""Tensors as compile-time data: an immutable array with a fingerprint computed once.

A `Tensor` may be lazy.  `Tensor.full`: a huge constant fill stays a shape and a value until somebody needs the array.
`Tensor.stored`: a large array that lies in a file is read each time somebody needs it, and is kept by nobody else.

>>> Tensor.of([[1.0, 2.0]], "float32").shape
(1, 2)
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from .arguments import unmasked
from .dtype import DataType
from .limits import limits

CHUNK: Final = 1 << 22
"""Elements that one call into native code looks at: a few milliseconds, so that Ctrl-C is heard between them."""
_SHARED: Final = 1 << 16
"""Bytes from which equal arrays are kept once, as soon as they are known to be equal."""
_arrays: weakref.WeakValueDictionary[str, np.ndarray] = weakref.WeakValueDictionary()
"""Arrays of tensors by fingerprint: a model that is opened again holds no weights of its own."""
_alike: weakref.WeakValueDictionary[tuple[Any, ...], np.ndarray] = weakref.WeakValueDictionary()
"""The first array of each look: as long as there is no second one, no fingerprint is needed."""
_SAMPLE: Final = 61
"""Numbers that tell most tensors apart, spread over an array."""


class Tensor:
    """An immutable n-dimensional array; equal when dtype, shape and bits are."""

    __slots__ = ("__weakref__", "_array", "_fill", "_fingerprint", "_load", "_loaded", "_look", "dtype", "shape")

    def __init__(self, array: np.ndarray | None, dtype: DataType, shape: tuple[int, ...], fill: Any = None) -> None:
        self._array = array
        self._fill = fill
        self._fingerprint: str | None = None
        self._look: tuple[Any, ...] | None = None
        self._load: Callable[[], np.ndarray] | None = None
        self._loaded: weakref.ref[np.ndarray] | None = None
        self.dtype = dtype
        self.shape = shape

    @classmethod
    def of(cls, value: Any, dtype: str | None = None) -> Tensor:
        """A tensor of an array-like; the array is copied unless it and the memory it is a view of are read-only."""
        array = np.asarray(unmasked(value), DataType(dtype).to_numpy() if dtype is not None else None)
        if not array.flags.c_contiguous or not _is_read_only(array):
            array = np.array(array, order="C", copy=True)
            array.flags.writeable = False
        return cls(array, DataType(array.dtype.name), array.shape)

    @classmethod
    def adopt(cls, array: np.ndarray) -> Tensor:
        """A tensor of an array that the caller gives away: it becomes read-only and is not copied if it is compact."""
        if array.flags.c_contiguous and array.dtype.isnative:
            array.flags.writeable = False
        return cls.of(array)

    @classmethod
    def stored(
        cls, load: Callable[[], np.ndarray], dtype: str, shape: tuple[int, ...], read: Tensor | None = None
    ) -> Tensor:
        """A tensor that `load` reads, as a read-only array, whenever it is needed; it is not kept.

        `load` answers the same array each time, or raises `WorkbenchError` where it no longer can.  `read`: the
        array as it was just read, of which only the fingerprint and the look are kept.
        """
        made = cls(None, DataType(dtype), tuple(shape))
        made._load = load
        if read is not None:
            made._fingerprint, made._look = read.fingerprint, read.look
        return made

    @classmethod
    def full(cls, shape: tuple[int, ...], value: Any, dtype: str) -> Tensor:
        """A tensor of one repeated value, not materialised until asked for."""
        kind = DataType(dtype)
        return cls(None, kind, tuple(shape), np.asarray(value, kind.to_numpy()))

    def shared(self) -> Tensor:
        """This tensor, which from now on holds no array of its own where another one has an equal one."""
        array = self._array
        if array is not None and array.nbytes >= _SHARED:
            first = _alike.setdefault(self.look, array)
            if first is not array and np.array_equal(_bits(first), _bits(array)):
                self._array = first
            elif first is not array:
                assert self.fingerprint
        return self

    @property
    def look(self) -> tuple[Any, ...]:
        """What equal tensors have in common, and different ones hardly ever: dtype, shape and some of the numbers."""
        if self._look is None:
            array = self.numpy()
            self._look = self.dtype, self.shape, array.flat[:: max(1, array.size // _SAMPLE)].tobytes()
        return self._look

    @property
    def fill_value(self) -> Any:
        """The repeated value (a 0-d array) of a lazy tensor; None for others."""
        return self._fill

    def numpy(self) -> np.ndarray:
        """The array, read-only.  A lazy fill answers a broadcast view that occupies one element."""
        if self._load is not None:
            found = self._loaded() if self._loaded is not None else None
            if found is None:
                found = self._load()
                self._loaded = weakref.ref(found)
            return found
        if self._array is None:
            return np.broadcast_to(self._fill, self.shape)
        return self._array

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Bytes that the elements occupy when materialised."""
        return self.size * self.dtype.bytes

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of dtype, shape and bits."""
        if self._fingerprint is None:
            digest = hashlib.sha256(f"{self.dtype}{self.shape}".encode())
            array = self.numpy()
            if self._fill is not None and array.size > 65536:
                digest.update(b"fill" + np.ascontiguousarray(self._fill).tobytes())
            else:
                for part in chunks(array):
                    digest.update(_bits(part).data)
            self._fingerprint = digest.hexdigest()
            if self._array is not None and self._array.nbytes >= _SHARED:
                self._array = _arrays.setdefault(self._fingerprint, self._array)
                _alike.setdefault(self.look, self._array)
        return self._fingerprint

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        if self is other or (self._array is not None and self._array is other._array):
            return True
        return self.shape == other.shape and self.dtype == other.dtype and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"Tensor({self.shape}, {self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._fill is not None:
            return (Tensor.full, (self.shape, self._fill, str(self.dtype)))
        return (_from_bytes, (self.numpy().tobytes(), str(self.dtype), self.shape))


def _bits(array: np.ndarray) -> np.ndarray:
    """The bytes of an array in order; a view where it is compact."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _is_read_only(array: np.ndarray) -> bool:
    """Whether nobody can write into an array, by whatever name: it may be a view of other memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    while isinstance(base, memoryview):
        base = base.obj
    try:
        return base is None or memoryview(base).readonly
    except (TypeError, BufferError):  # memory of others that tell nothing of it
        return True


def stated_shape(stated: Any) -> tuple[int, ...]:
    """A shape as a file states it.  Raises ValueError unless it is a list of whole numbers, none negative."""
    extents: list[Any] = list(stated) if isinstance(stated, (list, tuple)) else [None]  # pyright: ignore
    if len(extents) > limits.rank:
        raise ValueError(f"a shape is a list of at most {limits.rank} numbers")
    if any(type(extent) is not int or not 0 <= extent < 1 << 63 for extent in extents):
        raise ValueError("a shape is a list of whole numbers of at least 0")
    return tuple(extents)


def chunks(array: np.ndarray) -> Iterator[np.ndarray]:
    """The elements in order, as flat arrays of at most `CHUNK`; views where the array is contiguous."""
    if array.size <= CHUNK:
        yield array.reshape(-1)
        return
    flat = array.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        yield flat[start : start + CHUNK]


def _from_bytes(data: bytes, dtype: str, shape: tuple[int, ...]) -> Tensor:
    array = np.frombuffer(data, DataType(dtype).to_numpy()).reshape(shape)
    array.flags.writeable = False
    return Tensor(array, DataType(dtype), shape)
