"""C and C++ sources as parts of compiled programs (the classic `contrib.clang`).

    code = clang.create_llvm('extern "C" int add(float* a, int n) { ... }')
    s[C].pragma(C.op.axis[0], "import_llvm", code)      # calls of tir.call_extern("int32", "add", ...) find it

With clang the text is LLVM IR, compiled for the target of the program.  Without it the system's C compiler makes object
code for this machine, which the text carries in a comment, so that it can be linked and exported all the same; a target
other than this machine then says so.  Either way the functions are also loaded into this process, where the
interpreter calls them.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..core.errors import WorkbenchError
from ..core.whole_file import write_whole
from ..runtime.native.build import find_compiler
from ..runtime.symbols import OBJECT_MARK, load_library
from .utils import TempDirectory

_CLANG: Final = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
_kept: list[TempDirectory] = []
"""Folders of loaded libraries: they stay as long as the process."""


def find_clang(required: bool = True) -> list[str]:
    """Commands that run clang, the plain name first.  Raises `WorkbenchError` E-CLANG-NONE if there is none and one is
    required."""
    found = [path for name in _CLANG if (path := shutil.which(name)) is not None]
    if required and not found:
        raise _none("clang")
    return found


def create_llvm(
    inputs: str | Sequence[str], output: str | None = None, options: Sequence[str] | None = None, cc: str | None = None
) -> str:
    """The functions of C or C++ sources (texts, or names of files) as a text for the pragma ``import_llvm``.

    Raises `WorkbenchError`: E-CLANG-NONE without any compiler, E-CLANG-FAILED with what the compiler says.
    """
    given = [inputs] if isinstance(inputs, str) else list(inputs)
    folder = TempDirectory()
    files = [_file(folder, number, text) for number, text in enumerate(given)]
    clang = [cc] if cc else find_clang(required=False)[:1]
    compiler = clang or find_compiler()
    if compiler is None:
        raise _none("clang, cc, gcc or c++")
    flags = ["-O2", "-fPIC", *(options or [])]
    library = folder.relpath("library.so")
    _run([*compiler, *flags, "-shared", "-o", library, *files])
    load_library(library)
    _kept.append(folder)
    if clang:
        made = folder.relpath("code.ll")
        text = "\n".join(_llvm_text(clang, flags, file, made) for file in files)
    else:
        made = folder.relpath("code.o")
        _run([*compiler, *flags, "-r" if len(files) > 1 else "-c", "-o", made, *files])
        data = base64.b64encode(Path(made).read_bytes()).decode()
        text = f"{OBJECT_MARK}{os.uname().machine} {data}\n"
    if output:
        write_whole(output, text)
    return text


def _llvm_text(clang: list[str], flags: list[str], file: str, made: str) -> str:
    _run([*clang, *flags, "-emit-llvm", "-S", "-o", made, file])
    return Path(made).read_text(encoding="utf-8")


def _file(folder: TempDirectory, number: int, text: str) -> str:
    """The file of one source: the text itself unless it names a file."""
    if "\n" not in text and len(text) < 4096 and Path(text).is_file():
        return text
    suffix = ".cc" if 'extern "C"' in text or "::" in text else ".c"
    path = folder / f"input{number}{suffix}"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _run(command: list[Any]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorkbenchError("E-CLANG-FAILED", f"{command[0]} cannot be run", found=str(error)[:200]) from None
    if done.returncode != 0:
        raise WorkbenchError(
            "E-CLANG-FAILED", f"{Path(command[0]).name} does not compile the source",
            found=done.stderr.strip()[:300] or "no message", fix="mend the source",
        )  # fmt: skip


def _none(what: str) -> WorkbenchError:
    return WorkbenchError(
        "E-CLANG-NONE", "compiling C sources needs a compiler, and there is none", expected=what,
        fix="install clang or a C compiler; or write the function in tir",
    )  # fmt: skip
