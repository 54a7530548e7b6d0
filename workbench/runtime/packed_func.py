"""PackedFunc: a function of the tvm-ffi calling convention, from native code or from Python.

Arguments are NDArrays, NumPy arrays, anything that speaks DLPack, numbers and text.  A refusal of the native side
(wrong kind, dtype, shape, ...) arrives as a `WorkbenchError` that names the argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import WorkbenchError, nearest
from .dlpack import PLAIN_KINDS, tensor_of
from .ffi import function_at, tvm_ffi
from .ndarray import NDArray, array

_CODED = re.compile(r"^(E-[A-Z0-9-]+)\s+(.*)$", re.DOTALL)


class PackedFunc:
    """A callable; `name` is for messages."""

    __slots__ = ("__weakref__", "_function", "_writes", "name")

    def __init__(self, function: Any, name: str = "", writes: tuple[int, ...] = ()) -> None:
        self._function = function
        self._writes = writes
        self.name = name

    @classmethod
    def at(cls, address: int, keep_alive: Any, name: str, writes: tuple[int, ...] = ()) -> PackedFunc:
        """A function of native code; `writes` are the positions of the tensors that it writes."""
        return cls(function_at(address, keep_alive), name, writes)

    @property
    def raw(self) -> Any:
        """The tvm-ffi function."""
        return self._function

    def raw_call(self, *args: Any) -> Any:
        """A call without translation of errors, for timing; arguments must be NDArrays or numbers."""
        return self._function(*[value.tensor if isinstance(value, NDArray) else value for value in args])

    def __call__(self, *args: Any) -> Any:
        for position in self._writes:
            if position < len(args) and isinstance(args[position], np.ndarray) and not args[position].flags.writeable:
                raise WorkbenchError(
                    "E-CALL-READ-ONLY",
                    f"{self.name}: argument {position} is written, but the array is read-only",
                    fix="pass a writable array for outputs",
                )
        try:
            return self._function(*[_argument(value) for value in args])
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise translated(error, self.name) from None

    def __repr__(self) -> str:
        return f"PackedFunc({self.name})"


def _argument(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.tensor
    if isinstance(value, np.ndarray) and not (value.flags.writeable and value.dtype.kind in PLAIN_KINDS):
        return tensor_of(value)
    if isinstance(value, np.generic):
        return value.item()
    return value


def translated(error: Exception, name: str) -> Exception:
    """An error of the native side as a `WorkbenchError`; others keep their words."""
    if isinstance(error, WorkbenchError):
        return error
    text = str(error).strip()
    coded = _CODED.match(text)
    if coded is not None:
        message, *details = coded.group(2).split("; ")
        fields = {word: rest for word, _, rest in (detail.partition(" ") for detail in details)}
        known = {key: fields[key] for key in ("found", "expected", "fix") if key in fields}
        return WorkbenchError(coded.group(1), message, **known)
    return WorkbenchError("E-CALL-FAILED", f"calling {name or 'a function'} failed: {text}", found=type(error).__name__)


def register_func(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Register a Python function by name for native code and other languages; also as a decorator."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            tvm_ffi().register_global_func(name, function, override=override)
        except Exception:
            raise WorkbenchError(
                "E-FUNC-CLASH", f"a function {name!r} is registered already", fix="pass override=True to replace it"
            ) from None
        return function

    if callable(func_name):
        name = func_name.__name__
        return register(func_name)
    name = str(func_name)
    return register(f) if f is not None else register


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """A registered function by name.  Raises `WorkbenchError` when there is none, unless `allow_missing`."""
    found = tvm_ffi().get_global_func(name, allow_missing=True)
    if found is not None:
        return PackedFunc(found, name)
    if allow_missing:
        return None
    known = list(tvm_ffi().registry.list_global_func_names())
    raise WorkbenchError("E-FUNC-UNKNOWN", f"no function {name!r} is registered", fix=nearest(name, known))


def convert(value: Any) -> Any:
    """A Python value as a runtime object (classic API): functions become PackedFuncs, arrays NDArrays."""
    if isinstance(value, (NDArray, PackedFunc)):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        return array(value)
    if callable(value):
        return PackedFunc(tvm_ffi().convert(value), getattr(value, "__name__", "function"))
    return tvm_ffi().convert(value)
