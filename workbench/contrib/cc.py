"""Classic `contrib.cc`: object files linked into a shared library.

fadd.save("myadd.o")
cc.create_shared("myadd.so", ["myadd.o"])
runtime.load_module("myadd.so")
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import WorkbenchError
from ..runtime.export import export_library
from ..runtime.module import CodeUnit

_ENTRY = re.compile(rb"\0(__tvm_ffi_([A-Za-z_][A-Za-z0-9_]*))(?=\0)")
"""A packed function's symbol in an object's table of names."""


def create_shared(
    output: str | Path, objects: str | Path | Sequence[str | Path], options: Any = None, cc: str = ""
) -> None:
    """Link object files that `Module.save` wrote into the library `output`, which `runtime.load_module` loads.

    `options` and `cc` stand for classic calls: the linker that `export_library` finds is used.  Raises `WorkbenchError`
    E-LINK-OBJECTS for files that are not there or define no function of a module, E-LINK-* if linking fails.
    """
    paths = [Path(item) for item in ([objects] if isinstance(objects, (str, Path)) else objects)]
    data = tuple(_content(path) for path in paths)
    found = {name.decode(): symbol.decode() for content in data for symbol, name in _ENTRY.findall(content)}
    if not found:
        raise WorkbenchError(
            "E-LINK-OBJECTS",
            "the object files define no function of a module",
            found=", ".join(path.name for path in paths) or "no files",
            expected="object files that Module.save wrote",
            fix='module.save("name.o") first',
        )
    system = {"darwin": "apple-darwin", "win32": "pc-windows"}.get(sys.platform, "unknown-linux-gnu")
    export_library(Path(output), CodeUnit(data, f"{platform.machine()}-{system}", symbols=found))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WorkbenchError(
            "E-LINK-OBJECTS", f"{path.name} cannot be read: {error.strerror}", where=str(path), fix="check the path"
        ) from None
