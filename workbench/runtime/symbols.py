"""C functions that compiled code may call by symbol: of libraries loaded here, of the process, of the C library.

load_library("gemv.so")          # its functions are found by compiled code and by the interpreter
address_of("gemv_update")

Invariant: a library that was loaded stays loaded; of two that define a symbol, the one loaded later is meant.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from pathlib import Path
from typing import Any

from ..core.errors import WorkbenchError

_libraries: list[Any] = []
_process: list[Any] = []


def load_library(path: str | Path) -> None:
    """Load a shared library whose functions compiled code calls.  Raises `WorkbenchError` E-EXTERN-LIBRARY."""
    try:
        _libraries.append(ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL))
    except OSError as error:
        raise WorkbenchError(
            "E-EXTERN-LIBRARY", "the library of C functions cannot be loaded", where=str(path), found=str(error)[:200]
        ) from None


def find(name: str) -> int | None:
    """The address of a C function, or None."""
    if not _process:
        _process.append(ctypes.CDLL(None))
        mathematics = ctypes.util.find_library("m")
        if mathematics:
            _process.append(ctypes.CDLL(mathematics))
    for library in (*reversed(_libraries), *_process):
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except (AttributeError, ValueError):
            continue
    return None


def address_of(name: str) -> int:
    """The address of a C function.  Raises `WorkbenchError` E-EXTERN-MISSING."""
    found = find(name)
    if found is None:
        raise WorkbenchError(
            "E-EXTERN-MISSING", f"there is no C function {name!r} in this process", found="no symbol of that name",
            expected="a function of a library that is loaded",
            fix="load its library: workbench.runtime.symbols.load_library(path), or import its source (contrib.clang)",
        )  # fmt: skip
    return found
