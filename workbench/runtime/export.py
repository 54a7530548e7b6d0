"""Exporting: object code and the native runtime linked into one shared library, with a record about it at the end.

The library needs nothing of Python: C programs call ``__tvm_ffi_<name>`` or load it with tvm-ffi.  Inside a process
that has the workbench loaded it shares the workbench's thread pool.  Constants go into a section of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import WorkbenchError
from ..core.whole_file import write_whole
from .artifact import append_record
from .module import CodeUnit
from .native import build

CONSTANTS_SYMBOL = "workbench_constants"


def export_library(
    path: Path, code: CodeUnit, record: dict[str, Any] | None = None, constants: Sequence[np.ndarray] = ()
) -> Path:
    """Write `path`: a shared library, or for ".o" the object code alone (one unit only).

    The file appears whole or not at all.  Raises `WorkbenchError`: E-LINK-NONE without a linker, E-LINK-FAILED.
    """
    if path.suffix == ".o":
        return _write_object(path, code)
    if path.suffix not in (".so", ".dylib"):
        raise WorkbenchError(
            "E-EXPORT-SUFFIX", f"libraries are exported as .so or .o, not {path.suffix!r}", where=str(path)
        )
    try:
        return _exported(path, code, record or {}, constants)
    except OSError as error:
        raise WorkbenchError(
            "E-EXPORT-WRITE",
            f"{path.name} cannot be made: {error.strerror}",
            where=str(error.filename or tempfile.gettempdir()),
            fix="make room there, or set TMPDIR to a folder that has it",
        ) from None


def _exported(path: Path, code: CodeUnit, record: dict[str, Any], constants: Sequence[np.ndarray]) -> Path:
    offsets, size = _layout(constants)
    entry = {**record, "constant_offsets": offsets}
    with tempfile.TemporaryDirectory(prefix="workbench-export-") as scratch:
        made = Path(scratch) / "library.so"
        if size:
            _write_constants(Path(scratch) / "constants.bin", constants, offsets)
        _link(made, code, bool(size), Path(scratch))
        append_record(
            made,
            {
                "triple": code.triple,
                "cpu_features": code.cpu_features,
                "functions": dict(code.symbols or {}),
                **entry,
            },
        )
        with made.open("rb") as linked:
            write_whole(path, partial(shutil.copyfileobj, linked), mode=0o777, code="E-EXPORT-WRITE")
    return path


def _write_object(path: Path, code: CodeUnit) -> Path:
    if len(code.objects) != 1:
        raise WorkbenchError(
            "E-EXPORT-OBJECTS", "several units of code do not fit one object file", found=f"{len(code.objects)} units",
            fix="export a .so",
        )  # fmt: skip
    return write_whole(path, code.objects[0], code="E-EXPORT-WRITE")


def _layout(constants: Sequence[np.ndarray]) -> tuple[list[int], int]:
    """Offsets of the constants in one block, each aligned to 64 bytes, and the size of the block."""
    offsets: list[int] = []
    position = 0
    for array in constants:
        offsets.append(position + -position % 64)
        position = offsets[-1] + array.nbytes
    return offsets, position


def _write_constants(path: Path, constants: Sequence[np.ndarray], offsets: Sequence[int]) -> None:
    """The block of constants, one after the other: weights may be most of the memory there is."""
    with path.open("wb") as file:
        for array, offset in zip(constants, offsets, strict=True):
            file.write(b"\0" * (offset - file.tell()))
            np.ascontiguousarray(array).tofile(file)


def _link(output: Path, code: CodeUnit, constants: bool, scratch: Path) -> None:
    command = build.find_compiler()
    if command is None:
        raise WorkbenchError(
            "E-LINK-NONE",
            "exporting a library needs a linker, and there is none",
            expected="cc, gcc, clang, or ziglang",
            fix='pip install "compiler-workbench[export]"',
        )
    inputs: list[str] = []
    for number, data in enumerate(code.objects):
        file = scratch / f"unit{number}.o"
        file.write_bytes(data)
        inputs.append(str(file))
    if constants:
        inputs.append(str(_constants_source(scratch)))
    flags = [flag for flag in build.FLAGS if flag not in ("-Wall", "-Wextra")]
    done = subprocess.run(
        [*command, *flags, "-o", str(output), *inputs, *map(str, build.sources()), "-lm"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        raise WorkbenchError("E-LINK-FAILED", f"{command[0]} cannot link the library", found=done.stderr.strip()[-300:])


def _constants_source(scratch: Path) -> Path:
    """An assembly file that takes the block of constants in."""
    prefix = "_" if os.uname().sysname == "Darwin" else ""
    section = ".section __DATA,__const" if prefix else '.section .rodata.workbench,"a",@progbits'
    lines = [
        section,
        f".globl {prefix}{CONSTANTS_SYMBOL}",
        ".balign 64",
        f"{prefix}{CONSTANTS_SYMBOL}:",
        f'.incbin "{scratch / "constants.bin"}"',
        *([] if prefix else ['.section .note.GNU-stack,"",@progbits']),
    ]
    path = scratch / "constants.s"
    path.write_text("\n".join(lines) + "\n")
    return path
