"""Handing NumPy memory to tvm-ffi without copying, also where NumPy's own exporter refuses.

NumPy exports neither read-only arrays nor the small floats of ml_dtypes.  `tensor_of` builds the DLPack record itself
for these; the array is kept alive by the record until its consumer is done.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from ..core.errors import WorkbenchError

_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_SMALL: Final = {
    "float8_e4m3fn": (10, 8), "float8_e4m3fnuz": (11, 8), "float8_e5m2": (12, 8), "float8_e5m2fnuz": (13, 8),
    "float4_e2m1fn": (17, 4), "int2": (0, 2), "uint2": (1, 2), "int4": (0, 4), "uint4": (1, 4),
}  # fmt: skip
"""Code and bits of the small types of ml_dtypes; each value takes a byte."""
PLAIN_KINDS: Final = "iufc"
"""Kinds of dtypes that NumPy itself exports."""


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Dtype(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("dtype", _Dtype),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_alive: dict[int, Any] = {}
"""Records handed out, by address, with what they point to."""


@_Deleter
def _release(record: Any, alive: dict[int, Any] = _alive, address: Any = ctypes.addressof) -> None:
    alive.pop(address(record.contents), None)


# Tensors outlive this module when the interpreter ends; what frees them must be there until the very end, and must not
# look for names in a module that has been emptied.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_release))


def tensor_of(array: np.ndarray) -> Any:
    """`array` as a `tvm_ffi.Tensor` that shares its memory.

    Raises `WorkbenchError` for byte orders and element types that tensors do not have.
    """
    import tvm_ffi

    if not array.dtype.isnative:
        raise WorkbenchError(
            "E-CALL-BYTE-ORDER",
            "arrays of foreign byte order cannot be passed",
            found=str(array.dtype.str),
            fix="array.astype(array.dtype.newbyteorder('='))",
        )
    if array.flags.writeable and array.dtype.isbuiltin == 1 and array.dtype.kind in PLAIN_KINDS:
        return tvm_ffi.from_dlpack(array)
    return tvm_ffi.from_dlpack(_Exporter(array))


class _Exporter:
    """An object with the DLPack protocol around an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return _capsule(self.array)


def _code_of(dtype: np.dtype) -> int:
    name = dtype.name
    if name == "bfloat16":
        return 4
    small = _SMALL.get(name)
    if small is not None:
        return small[0]
    code = _CODES.get(dtype.kind)
    if code is None:
        raise WorkbenchError(
            "E-CALL-ELEMENT", f"arrays of {dtype} cannot be passed", found=str(dtype), expected="numbers or bools"
        )
    return code


def _capsule(array: np.ndarray) -> Any:
    rank = array.ndim
    unit = array.itemsize
    shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(rank, 1))(*(step // unit if unit else 0 for step in array.strides))
    record = _Managed()
    record.tensor = _Tensor(
        array.ctypes.data,
        _Device(1, 0),
        rank,
        _Dtype(_code_of(array.dtype), _SMALL.get(array.dtype.name, (0, unit * 8))[1], 1),
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
        0,
    )
    record.deleter = _release
    _alive[ctypes.addressof(record)] = (record, shape, strides, array)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(record), b"dltensor", None)
