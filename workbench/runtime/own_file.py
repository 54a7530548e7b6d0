"""Shared libraries as they are in their files now.

The dynamic linker answers a path (or a file under another path) that it has loaded before with what it loaded then,
whatever has been written there since.  What others than the workbench have loaded in this process is not known here.

    with as_written(Path("model.so")) as file:      # the file itself; a copy, where that is needed
        ctypes.CDLL(str(file))
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

_lock = threading.Lock()
_loaded: dict[object, tuple[int, ...]] = {}
"""The state of a file when it was loaded first, by its path and by its place on the disk."""


@contextmanager
def as_written(path: Path) -> Iterator[Path]:
    """A path by which the linker finds what `path` holds now.  It need not stay once the library is loaded."""
    real = path.resolve()
    found = real.stat()
    state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    with _lock:
        same = all(_loaded.setdefault(key, state) == state for key in (real, state[:2]))
    if same:
        yield real
        return
    with _folder(real.parent) as folder:
        copy = shutil.copyfile(real, Path(folder) / f".{uuid4().hex}-{real.name}")
        try:
            yield Path(copy)
        finally:
            Path(copy).unlink(missing_ok=True)


def _folder(beside: Path) -> AbstractContextManager[str | Path]:
    """Where a copy lies: beside the file, so that it finds its neighbours ($ORIGIN), if that can be written."""
    return nullcontext(beside) if os.access(beside, os.W_OK) else TemporaryDirectory(prefix="workbench-")
