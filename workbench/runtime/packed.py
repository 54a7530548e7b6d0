"""PackedFunc: functions called with tensors, numbers and texts across languages, over the tvm-ffi calling convention.

A call costs well below a microsecond; a refused argument gives one `WorkbenchError` that names it.  Functions of one's
own are registered by name (`register_func`) and found again, also from C++ and Rust (`get_global_func`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..core.arguments import unmasked
from ..core.errors import WorkbenchError, nearest
from . import builtin
from .dlpack import PLAIN_KINDS, tensor_of
from .ndarray import NDArray

_NATIVE_ERROR: Final = re.compile(r"(E-[A-Z]+(?:-[A-Z]+)+) (.*)", re.DOTALL)
_FIELDS: Final = re.compile(r"; (found|expected|at) ")


class PackedFunc:
    """A callable from compiled code or the global registry."""

    __slots__ = ("__weakref__", "_function", "_keep", "_writes", "name")

    def __init__(self, function: Any, name: str = "", keep: Any = None, writes: frozenset[int] = frozenset()) -> None:
        self._function = function
        self._keep = keep
        self._writes = writes
        self.name = name

    def __call__(self, *args: Any) -> Any:
        if np.ma.MaskedArray in map(type, args):
            for position, argument in enumerate(args):
                unmasked(argument, f"{self.name}: argument {position}")
        try:
            return self._function(*args)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            return self._recover(args, error)

    def _recover(self, args: tuple[Any, ...], error: BaseException) -> Any:
        """Try again with the arrays that NumPy would not export; else translate the error."""
        if isinstance(error, WorkbenchError):
            raise error
        callee = _raised_by_callee(error)
        if callee is not None:
            raise callee_error(callee, self.name) from callee
        if isinstance(error, BufferError | ValueError | TypeError) and _native_code(error) is None:
            converted = self._converted(args)
            if converted is not None:
                try:
                    return self._function(*converted)
                except Exception as second:
                    error = second
        raise translated(error, self.name) from None

    def _converted(self, args: tuple[Any, ...]) -> list[Any] | None:
        """Arguments with the arrays wrapped that NumPy does not export; None if there are none."""
        made = list(args)
        changed = False
        for position, argument in enumerate(args):
            if not isinstance(argument, np.ndarray):
                continue
            flags, dtype = argument.flags, argument.dtype
            if flags.writeable and dtype.kind in PLAIN_KINDS and dtype.isnative:
                continue
            if not flags.writeable and position in self._writes:
                raise WorkbenchError(
                    "E-CALL-READ-ONLY",
                    f"{self.name}: argument {position} is written, but the array is read-only",
                    fix="pass a writable array for outputs",
                )
            made[position] = tensor_of(argument)
            changed = True
        return made if changed else None

    def __repr__(self) -> str:
        return f"PackedFunc({self.name})"


def _native_code(error: BaseException) -> re.Match[str] | None:
    return _NATIVE_ERROR.match(str(error))


_raised = threading.local()
"""The exception that a Python function raised last in a packed call on this thread: it may come back translated."""


def _raised_by_callee(error: BaseException) -> BaseException | None:
    """The exception of a Python function behind `error`, if it came from one."""
    last = getattr(_raised, "error", None)
    _raised.error = None
    return last if last is not None and str(last).split("\n")[0] in str(error) else None


def callee_error(error: BaseException, name: str) -> WorkbenchError:
    """What a function raised that was called by name, as one error: a `WorkbenchError` itself."""
    if isinstance(error, WorkbenchError):
        return error
    lines = str(error).strip().splitlines()
    return WorkbenchError(
        "E-CALL-FAILED",
        f"{name or 'the function'}: {lines[0] if lines else type(error).__name__}",
        found=f"{type(error).__name__} in the function that was called",
    )


def translated(error: BaseException, name: str) -> WorkbenchError:
    """The error of a packed call as a `WorkbenchError`, its fields told apart."""
    found = _native_code(error)
    if found is None:
        text = str(error).strip().splitlines()
        return WorkbenchError(
            "E-CALL-FAILED",
            f"{name or 'the function'}: {text[0] if text else type(error).__name__}",
            found=type(error).__name__,
            expected="tensors (NumPy arrays, NDArrays, torch tensors), numbers",
        )
    code, rest = found.groups()
    parts = _FIELDS.split(rest.split("\n")[0])
    fields = dict(zip(parts[1::2], parts[2::2], strict=False))
    return WorkbenchError(
        code,
        parts[0],
        where=fields.get("at", ""),
        found=fields.get("found", ""),
        expected=fields.get("expected", ""),
        fix=_FIXES.get(code, ""),
    )


_FIXES: Final = {
    "E-CALL-STRIDES": "numpy.ascontiguousarray(array)",
    "E-CALL-DTYPE": "array.astype(...) to the expected dtype",
    "E-CALL-ALIGNMENT": "copy the array",
    "E-CALL-OVERLAP": "pass an output array of its own",
    "E-CALL-DEVICE": "copy the tensor to the CPU",
    "E-FUNC-UNKNOWN": "register it: workbench.register_func(name, function)",
    "E-TIME-LIMIT": "give it more time: wb.time_limit(seconds), wb.limits.run_seconds",
}


# --- the global registry ------------------------------------------------------------------------------------------


def register_func(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Register a Python function under a global name; also a decorator, with or without a name."""
    if callable(func_name) and f is None:
        return _register(func_name.__name__, func_name, override)
    if f is None:
        return lambda function: _register(str(func_name), function, override)
    return _register(str(func_name), f, override)


def _register(name: str, function: Callable[..., Any], override: bool) -> Callable[..., Any]:
    import tvm_ffi

    try:
        tvm_ffi.register_global_func(name, _with_ndarrays(function), override=override)
    except (RuntimeError, ValueError) as error:
        raise WorkbenchError(
            "E-FUNC-CLASH",
            f"a global function {name!r} exists already",
            found=str(error).splitlines()[0],
            fix="override=True",
        ) from None
    return function


def _with_ndarrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` called with NDArrays where tensors come in."""

    def call(*args: Any) -> Any:
        import tvm_ffi

        try:
            return function(*(NDArray(np.from_dlpack(a)) if isinstance(a, tvm_ffi.Tensor) else a for a in args))
        except Exception as error:
            _raised.error = error
            raise

    return call


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """The global function of a name.  Raises `WorkbenchError` when there is none, unless `allow_missing`."""
    import tvm_ffi

    found = tvm_ffi.get_global_func(name, allow_missing=True)
    if found is None and name in builtin.FUNCTIONS:
        _register(name, builtin.FUNCTIONS[name], override=True)  # another thread may have been first
        found = tvm_ffi.get_global_func(name, allow_missing=True)
    if found is not None:
        return PackedFunc(found, name)
    if allow_missing:
        return None
    known = list(tvm_ffi.registry.list_global_func_names())
    raise WorkbenchError("E-FUNC-UNKNOWN", f"there is no global function {name!r}", fix=nearest(name, known))


def packed_at(address: int, name: str, keep: Any, writes: frozenset[int]) -> PackedFunc:
    """The packed function at an address of native code; `keep` is held as long as the function lives.

    `writes`: positions of the tensors that it writes.
    """
    import tvm_ffi

    function = tvm_ffi.Function.__from_extern_c__(address, keep_alive_object=keep)
    return PackedFunc(function, name, keep, writes)


def convert_function(function: Callable[..., Any], name: str = "") -> PackedFunc:
    """A Python function as a PackedFunc."""
    import tvm_ffi

    return PackedFunc(tvm_ffi.convert_func(_with_ndarrays(function)), name or getattr(function, "__name__", ""))
