"""C functions that compiled code may call by symbol: of libraries loaded here, of the process, of the C library.

load_library("gemv.so")          # its functions are found by compiled code and by the interpreter
address_of("gemv_update")

Invariant: a library that was loaded stays loaded; of two that define a symbol, the one loaded later is meant.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Iterable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..core.errors import WorkbenchError
from .own_file import as_written

OBJECT_MARK: Final = "; workbench object code for "
"""Begins a text that carries object code: the machine, a blank, the bytes in base64."""

_libraries: list[Any] = []


def load_library(path: str | Path) -> None:
    """Load a shared library whose functions compiled code calls.  Raises `WorkbenchError` E-EXTERN-LIBRARY."""
    try:
        # A name without a folder is looked for by the system; a file is loaded as it is now.
        written = os.sep in str(path) and Path(path).is_file()
        with as_written(Path(path)) if written else nullcontext(path) as file:
            _libraries.append(ctypes.CDLL(str(file), mode=ctypes.RTLD_LOCAL))
    except OSError as error:
        raise WorkbenchError(
            "E-EXTERN-LIBRARY", "the library of C functions cannot be loaded", where=str(path), found=str(error)[:200]
        ) from None


MATHEMATICS: Final = frozenset(
    name + suffix
    for suffix in ("", "f")
    for name in (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor "
        "fma fmax fmin fmod hypot lgamma log log10 log1p log2 nearbyint nextafter pow remainder rint round sin "
        "sinh sqrt tan tanh tgamma trunc"
    ).split()
)
"""Functions of the C library that compute a number of numbers."""


def harmless(name: str) -> int | None:
    """The address of a C function that a program of unknown origin may call: mathematics, and what was loaded here."""
    found = find(name)
    if found is None or name in MATHEMATICS:
        return found
    in_process = _found_in(_process(), name)
    return found if found != in_process else None


def find(name: str) -> int | None:
    """The address of a C function, or None."""
    return _found_in([*reversed(_libraries), *_process()], name)


@cache
def _process() -> tuple[Any, ...]:
    """The process itself, and the C library's mathematics where these lie apart."""
    mathematics = ctypes.util.find_library("m")
    return (ctypes.CDLL(None), ctypes.CDLL(mathematics)) if mathematics else (ctypes.CDLL(None),)


def _found_in(libraries: Iterable[Any], name: str) -> int | None:
    for library in libraries:
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
