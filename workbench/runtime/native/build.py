"""Compiles every `.c` file of this folder into one shared library, the native thread pool.

Invariant: the library is rebuilt exactly when it was not made from these sources, of which it carries the SHA-256
(file times say nothing in an installed wheel), and is replaced in one step, so that another process never loads
half a file.  This module imports nothing of the package: the build hook loads it before the package is installed.

    $ python workbench/runtime/native/build.py
    workbench/runtime/native/libworkbench_pool.so
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LIBRARY = FOLDER / "libworkbench_pool.so"
FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra", "-fvisibility=hidden")


def sources() -> list[Path]:
    """The C files of the pool, in a fixed order."""
    return sorted(FOLDER.glob("*.c"))


def find_compiler() -> list[str] | None:
    """The command that compiles C here: `$CC`, else `cc`, else ziglang's, else None."""
    chosen = os.environ.get("CC", "").split()
    if chosen and shutil.which(chosen[0]):
        return chosen
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def sources_digest() -> str:
    """SHA-256 (hex) of the sources and headers."""
    digest = hashlib.sha256()
    for path in (*sources(), *sorted(FOLDER.glob("*.h"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def is_current(library: Path = LIBRARY) -> bool:
    """Whether the library exists and was made from these sources."""
    return library.exists() and sources_digest().encode() in library.read_bytes()


def compile_pool(report: Callable[[str], object] = print, library: Path = LIBRARY) -> Path | None:
    """Build the library if it is not current; `library` may lie elsewhere when this folder is read-only.

    Returns its path, or None where there is nothing to compile, no compiler, or the compiler fails; `report`
    gets one line that says why and what to do.
    """
    files = sources()
    if not files:
        return None
    if is_current(library):
        return library
    compiler = find_compiler()
    if compiler is None:
        report("no C compiler, so no thread pool: kernels run on one thread (install cc or ziglang)")
        return None
    stamp = f'-DWB_SOURCES="{sources_digest()}"'
    try:
        with tempfile.TemporaryDirectory(prefix=".build-", dir=library.parent) as own:  # which nobody else may write to
            made = Path(own) / library.name
            command = [*compiler, *FLAGS, stamp, "-o", str(made), *map(str, files)]
            result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            if result.returncode != 0:
                report(f"no thread pool, kernels run on one thread: {command[0]} says {result.stderr.strip()[-999:]}")
                return None
            os.replace(made, library)
    except (OSError, subprocess.TimeoutExpired) as error:
        report(f"no thread pool, kernels run on one thread: {error}")
        return None
    return library


if __name__ == "__main__":
    print(compile_pool(report=lambda line: print(line, file=sys.stderr)) or "no library")
