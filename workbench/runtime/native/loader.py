"""Loading the native runtime into the process, once, and telling it about Python.

It is loaded with global visibility, so that exported libraries in the same process share its pool.
"""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import Any

from ...core.errors import require
from ...core.host import usable_threads
from ...core.store import cache_folder
from .. import builtin
from . import build

ABI_VERSION = 1
MOST_THREADS = 256
IMPORTED = ("wb_enter", "wb_leave", "wb_call_packed")
"""Symbols that compiled code calls."""

_lock = threading.Lock()
_loaded: list[NativeRuntime | None] = []
_reason: list[str] = []


class NativeRuntime:
    """The loaded library with typed functions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self._library = library
        library.wb_abi_version.restype = ctypes.c_int32
        if library.wb_abi_version() != ABI_VERSION:
            raise OSError(f"the native runtime has ABI {library.wb_abi_version()}, not {ABI_VERSION}")
        library.wb_num_threads.restype = ctypes.c_int32
        library.wb_set_num_threads.argtypes = [ctypes.c_int32]
        library.wb_set_run_limit.argtypes = [ctypes.c_int64]
        self._run_limit = 0
        library.wb_set_hooks.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.wb_set_call_hooks.argtypes = [ctypes.c_void_p] * 4
        self.addresses = {name: _address(getattr(library, name)) for name in IMPORTED}
        self.nothing = _address(library.wb_nothing)
        """Where the packed function is that does nothing."""
        self._tell_hooks()
        builtin.register_all()
        self.set_num_threads(default_threads())

    def _tell_hooks(self) -> None:
        """How to raise an error and look for signals, in the words of tvm-ffi."""
        import tvm_ffi

        ffi: Any = tvm_ffi.LIB
        self._library.wb_set_hooks(
            ctypes.cast(ffi.TVMFFIErrorSetRaisedFromCStr, ctypes.c_void_p),
            ctypes.cast(ffi.TVMFFIEnvCheckSignals, ctypes.c_void_p),
        )
        names = ("TVMFFIFunctionGetGlobal", "TVMFFIFunctionCall", "TVMFFIObjectDecRef", "TVMFFITensorFromDLPack")
        self._library.wb_set_call_hooks(*(ctypes.cast(getattr(ffi, name), ctypes.c_void_p) for name in names))

    def set_num_threads(self, count: int) -> None:
        self._library.wb_set_num_threads(count)

    def set_run_limit(self, nanoseconds: int) -> None:
        """Cancel calls that take longer; 0: no limit."""
        if nanoseconds != self._run_limit:
            self._library.wb_set_run_limit(nanoseconds)
            self._run_limit = nanoseconds

    def num_threads(self) -> int:
        return int(self._library.wb_num_threads())


def default_threads() -> int:
    """What ``WORKBENCH_NUM_THREADS`` says, else what this process may use.  Raises `WorkbenchError` (E-THREADS)."""
    said = os.environ.get("WORKBENCH_NUM_THREADS", "").strip()
    count = int(said) if said.isascii() and said.isdigit() and len(said) < 9 else 0 if not said else -1
    require(
        0 <= count <= MOST_THREADS, "E-THREADS", f"threads are 0 to {MOST_THREADS}",
        where="the variable WORKBENCH_NUM_THREADS", found=repr(said)[:80], fix="set it to a number, or not at all",
    )  # fmt: skip
    return count or usable_threads()


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def library() -> NativeRuntime | None:
    """The native runtime, loaded (and built) at the first call; None when that is not possible (`why_missing`)."""
    if _loaded:
        return _loaded[0]
    with _lock:
        if not _loaded:
            _loaded.append(_load())
    return _loaded[0]


def _load() -> NativeRuntime | None:
    if os.environ.get("WORKBENCH_NO_NATIVE"):
        _reason.append("WORKBENCH_NO_NATIVE is set")
        return None
    path = _find_or_build()
    if path is None:
        return None
    try:
        return NativeRuntime(path)
    except OSError as error:
        _reason.append(str(error))
        return None


def _find_or_build() -> Path | None:
    """The library beside the sources, or one in the cache folder when these cannot be written."""
    if build.is_current() or os.access(build.FOLDER, os.W_OK):
        return build.compile_pool(report=_reason.append)
    folder = cache_folder()
    if folder is None:
        _reason.append("no folder to build it in: set WORKBENCH_CACHE_DIR")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return build.compile_pool(report=_reason.append, library=folder / build.LIBRARY.name)


def why_missing() -> str:
    """Why `library()` is None."""
    return _reason[0] if _reason else ""
