"""Building the native runtime: two C files into one shared library and one object file.

Names carry a hash of the sources and the ABI, so that a stale build is never loaded.  Called by the wheel's build hook
(`build(folder)`), and lazily by a clone.  Files appear by atomic rename: concurrent builds do no harm.

>>> library_name().startswith("workbench_runtime-")
True
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
SOURCES: Final = ("pool.c", "packed.c")
_FLAGS: Final = ("-std=gnu11", "-O2", "-fPIC", "-Wall", "-pthread")


@lru_cache(maxsize=1)
def library_name() -> str:
    """File name without suffix."""
    digest = hashlib.sha256()
    for name in (*SOURCES, "workbench_runtime.h"):
        digest.update((HERE / name).read_bytes())
    digest.update(f"{sys.platform} {os.uname().machine if hasattr(os, 'uname') else ''}".encode())
    return f"workbench_runtime-{digest.hexdigest()[:12]}"


def compiler() -> list[str] | None:
    """The command of a C compiler: $CC, cc, gcc, clang, else ziglang; None without any."""
    named = os.environ.get("CC", "").split()
    if named and shutil.which(named[0]):
        return named
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def suffix() -> str:
    return ".dylib" if sys.platform == "darwin" else ".so"


def build(folder: Path) -> Path:
    """Build into `folder` and return the library's path.  Raises OSError or CalledProcessError."""
    command = compiler()
    if command is None:
        raise OSError("there is no C compiler (cc, gcc, clang or ziglang)")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
        objects: list[str] = []
        for source in SOURCES:
            made = str(Path(scratch) / source.replace(".c", ".o"))
            _run([*command, *_FLAGS, "-c", str(HERE / source), "-o", made])
            objects.append(made)
        shared = Path(scratch) / "runtime.shared"
        undefined = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        _run([*command, "-shared", "-pthread", *undefined, "-o", str(shared), *objects])
        for made in objects:
            os.replace(made, folder / f"{library_name()}.{Path(made).name}")
        target = folder / (library_name() + suffix())
        os.replace(shared, target)
    return target


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise OSError(f"{command[0]} failed: {done.stderr.strip()[:400]}")


def cache_folder() -> Path:
    """Where builds go when the package's folder is read-only."""
    base = os.environ.get("WORKBENCH_CACHE") or os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "workbench"


def find_or_build() -> Path:
    """The library, built if need be: beside the sources, else in the cache folder."""
    name = library_name() + suffix()
    for folder in (HERE, cache_folder()):
        if (folder / name).exists():
            return folder / name
    try:
        return build(HERE)
    except PermissionError:
        return build(cache_folder())


if __name__ == "__main__":
    print(build(HERE))
