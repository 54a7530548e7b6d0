"""ONNX tensors to `core.tensor.Tensor`: sizes are checked as Python ints before anything is allocated.

Raw and typed storage, every element type that `DataType` can hold; what it cannot hold is refused by name.

    tensor = to_tensor(proto, reader, "initializer 'w'")
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...core.dtype import DataType
from ...core.errors import WorkbenchError, shorten
from ...core.limits import limits
from ...core.tensor import Tensor, chunks
from .external import read_external
from .skeleton import read_range
from .stored import FROM_TENSOR_BYTES, OpenFile

DTYPES: Final[dict[int, str]] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    25: "uint2",
    26: "int2",
}
"""ONNX element types by number."""
FOREIGN: Final = {
    0: "undefined",
    8: "string",
    14: "complex64",
    15: "complex128",
    24: "float8e8m0",
}
"""Element types that ONNX has and the workbench has not."""
_TYPED: Final = (
    ("float_data", np.float32, ("float32",)),
    ("double_data", np.float64, ("float64",)),
    ("int64_data", np.int64, ("int64",)),
    ("uint64_data", np.uint64, ("uint64", "uint32")),
)


@dataclass(frozen=True)
class Deferred:
    """Raw data that stayed in the model's file: (offset, length) by the ticket that stands in its place."""

    descriptor: int
    ranges: Mapping[bytes, tuple[int, int]]
    lasting: OpenFile | None = None
    """Where large tensors are read from again and again; None where they are read once."""


@dataclass
class TensorReader:
    """What reading tensors needs: limits, the folder of external data, and a place for notes."""

    folder: Path | None = None
    allow_hardlinks: bool = False
    deferred: Deferred = field(default_factory=lambda: Deferred(-1, {}))
    notes: list[str] = field(default_factory=list[str])


def dtype_of(number: int, where: str) -> DataType:
    """The data type of an ONNX element type.  Raises `WorkbenchError` for those that cannot be held."""
    name = DTYPES.get(number)
    if name is None:
        known = FOREIGN.get(number, "unknown")
        raise WorkbenchError(
            "E-IMPORT-DTYPE",
            f"element type {number} ({known}) cannot be imported",
            where=where,
            found=f"{number} ({known})",
            expected=", ".join(DTYPES.values()),
            fix="cast or remove this value in the exporter",
        )
    return DataType(name)


def _bad(message: str, where: str, found: str, expected: str, code: str = "E-IMPORT-TENSOR") -> WorkbenchError:
    return WorkbenchError(
        code,
        message,
        where=where,
        found=found,
        expected=expected,
        fix="export the model again",
    )


def shape_of(dims: Any, where: str) -> tuple[int, ...]:
    """Dimensions of a stored tensor: not negative, not too many."""
    if len(dims) > limits.rank:
        error = _bad(
            "a tensor has too many dimensions",
            where,
            f"rank {len(dims)}",
            f"at most {limits.rank} (wb.limits.rank)",
        )
        error.fix = f"{error.fix}; {limits.fix('rank')}"
        raise error
    shape = tuple(int(extent) for extent in dims)
    if any(extent < 0 for extent in shape):
        raise _bad("a tensor has a negative dimension", where, shorten(repr(shape), 80), "dimensions of at least 0")
    return shape


def to_tensor(proto: Any, reader: TensorReader, where: str) -> Tensor:
    """The tensor of a TensorProto.  Raises `WorkbenchError` when its storage does not fit its shape and type."""
    dtype = dtype_of(proto.data_type, where)
    shape = shape_of(proto.dims, where)
    count = math.prod(shape)
    stored = (count * dtype.bits + 7) // 8 if not dtype.is_bool else count
    limits.check("tensor_bytes", count * dtype.bytes, f"a stored tensor of {_brief(shape)} {dtype}", where)
    if proto.HasField("segment"):
        raise _bad("a tensor is stored in segments", where, "TensorProto.segment", "whole tensors")
    if proto.data_location == 1:
        entries = {entry.key: entry.value for entry in proto.external_data}
        raw = read_external(entries, reader.folder, where, stored, allow_hardlinks=reader.allow_hardlinks)
        array = _from_raw(raw, dtype, count)
    elif proto.HasField("raw_data"):
        array = _from_raw(_raw_of(proto, reader.deferred, stored, where), dtype, count)
        if reader.deferred.lasting is not None and stored >= FROM_TENSOR_BYTES:
            return _read_when_needed(array.reshape(shape), dtype, proto.raw_data, reader, where)
    else:
        array = _from_typed(proto, dtype, count, where)
    array = array.reshape(shape)
    _note_non_finite(array, dtype, reader, where)
    array.flags.writeable = False
    return Tensor.of(array)


def _brief(shape: tuple[int, ...]) -> str:
    """A shape in a few words, whatever its extents."""
    return shorten("(" + ", ".join(map(str, shape[:4])) + (", ..." if len(shape) > 4 else "") + ")", 100)


def _raw_of(proto: Any, deferred: Deferred, stored: int, where: str) -> Any:
    """The bytes that a tensor keeps in the model's file.  Their number is checked before they are read."""
    raw: Any = proto.raw_data
    place = deferred.ranges.get(raw)
    length = len(raw) if place is None else place[1]
    if length != stored:
        short = "short" if length < stored else "long"
        raise _bad(f"a tensor's data is too {short}", where, f"{length} bytes", f"{stored} bytes (shape x dtype)")
    if place is None:
        return raw
    found = read_range(deferred.descriptor, *place)
    if len(found) < length:
        raise _bad("the file ended while it was read", where, f"{len(found)} bytes", f"{length} bytes")
    return found


def _read_when_needed(array: np.ndarray, dtype: DataType, ticket: bytes, reader: TensorReader, where: str) -> Tensor:
    """A tensor in a very large file, without the array that was just read; what is known of it is noted now."""
    file, shape, place = reader.deferred.lasting, array.shape, reader.deferred.ranges[ticket]
    assert file is not None, "asked for by the caller"

    def load() -> np.ndarray:
        again = _from_raw(file.read(*place), dtype, math.prod(shape)).reshape(shape)
        again.flags.writeable = False
        return again

    _note_non_finite(array, dtype, reader, where)
    array.flags.writeable = False
    return Tensor.stored(load, dtype, shape, Tensor.of(array))


def _from_raw(raw: Any, dtype: DataType, count: int) -> np.ndarray:
    if dtype.is_bool:
        return np.frombuffer(raw, np.uint8) != 0
    if dtype.bits < 8:
        return _unpack(np.frombuffer(raw, np.uint8), dtype, count)
    kind = dtype.to_numpy()
    array = np.frombuffer(raw, kind.newbyteorder("<") if kind.kind in "iuf" else kind)
    return array.astype(kind, copy=False)


def _unpack(packed: np.ndarray, dtype: DataType, count: int) -> np.ndarray:
    """Elements of 2 or 4 bits, lowest bits first."""
    bits, lanes = dtype.bits, 8 // dtype.bits
    shifts = np.arange(lanes, dtype=np.uint8) * bits
    values = ((packed[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count].astype(np.int8)
    if dtype.is_float:
        return values.view(dtype.to_numpy())
    if dtype.is_int:
        values = np.where(values >= 1 << (bits - 1), values - (1 << bits), values)
    return values.astype(dtype.to_numpy())


def _from_typed(proto: Any, dtype: DataType, count: int, where: str) -> np.ndarray:
    for name, kind, holds in _TYPED:
        if dtype in holds:
            return _in_range(np.array(_field(proto, name, count, where), kind), dtype, where)
    packed = dtype.bits < 8 and not dtype.is_bool
    expected = -(-count * dtype.bits // 8) if packed else count
    values = np.array(_field(proto, "int32_data", expected, where), np.int64)
    if packed:
        return _unpack(_in_range(values, DataType("uint8"), where), dtype, count)
    if dtype.is_float:
        bits = _in_range(values, DataType(f"uint{dtype.bits}"), where)
        return bits.view(dtype.to_numpy())
    return values != 0 if dtype.is_bool else _in_range(values, dtype, where)


def _field(proto: Any, name: str, count: int, where: str) -> Any:
    values = getattr(proto, name)
    if len(values) != count:
        raise _bad(
            "a tensor has the wrong number of elements",
            where,
            f"{len(values)} in {name}",
            f"{count} (its shape)",
        )
    return values


def _in_range(values: np.ndarray, dtype: DataType, where: str) -> np.ndarray:
    if not dtype.is_integer or values.dtype == dtype.to_numpy():
        return values.astype(dtype.to_numpy(), copy=False)
    low, high = dtype.limits()
    if values.size and (int(values.min()) < low or int(values.max()) > high):
        raise _bad(
            f"a stored number does not fit {dtype}",
            where,
            f"{values.min()} to {values.max()}",
            f"{low} to {high}",
        )
    return values.astype(dtype.to_numpy())


def _note_non_finite(array: np.ndarray, dtype: DataType, reader: TensorReader, where: str) -> None:
    if not dtype.is_float:
        return
    wide = np.float32 if dtype.bits < 32 else array.dtype
    if not all(np.isfinite(part.astype(wide, copy=False)).all() for part in chunks(array)):
        reader.notes.append(f"{where} contains values that are not finite")
