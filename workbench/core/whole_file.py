"""Writing a file whole or not at all, safe in a folder that others may write to: the one way files are written here.

What is written goes to a new file beside `path` under a name that nobody can guess, opened so that neither a file nor
a link of that name is used; it is synced, then takes the place of `path` in one step.  A link at `path` is replaced
and what it points to is left alone; a folder, device or pipe there is refused.  A plain file keeps its access rights.

    write_whole("lesson.txt", "text")
    write_arrays("scores.npz", {"x": array}, code="E-CLI-OUTPUT")
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import IO

import numpy as np

from .errors import WorkbenchError

Content = str | bytes | Callable[[IO[bytes]], object]
"""Text (UTF-8), bytes, or a function that writes them into an open file."""


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    *,
    compressed: bool = False,
    code: str = "E-FILE-WRITE",
) -> Path:
    """Write arrays to an npz file by name, whatever the names: `np.savez` takes "file" for an argument of its own."""

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)

    return write_whole(path, write, code=code)


def write_whole(
    path: str | os.PathLike[str], content: Content, *, mode: int = 0o666, code: str = "E-FILE-WRITE"
) -> Path:
    """Write `content` to `path`; `mode` are the access rights of a new file before the umask.

    Raises `WorkbenchError` with `code`; what was there before is then still there.
    """
    _require_path(path, code)
    final = Path(path)
    try:
        _write(final, content, mode)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise WorkbenchError(
            code,
            f"{final.name} cannot be written: {(isinstance(error, OSError) and error.strerror) or error}",
            where=str(final),
            fix="check the folder: that it is there, its access rights, the room on its disk",
            kept="what was there before",
        ) from None
    return final


def free_path(path: str | os.PathLike[str], *beside: str) -> Path:
    """`path`, or the first of "name_2", "name_3", ... that is not there, nor any file of its stem and these suffixes.

        free_path("test_fuse.py", ".npz")      # test_fuse_3.py, where test_fuse.py and test_fuse_2.npz are there
    """
    first = Path(path)
    for number in count(1):
        tried = first if number == 1 else first.with_name(f"{first.stem}_{number}{first.suffix}")
        if not any(os.path.lexists(one) for one in (tried, *map(tried.with_suffix, beside))):
            return tried
    raise AssertionError("numbers end")


def _require_path(path: object, code: str) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise WorkbenchError(code, "this is no path", found=repr(path)[:80], expected="a text or a Path")


def _write(final: Path, content: Content, mode: int) -> None:
    rights = _rights(final)
    temporary = final.with_name(f".{secrets.token_hex(16)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if rights is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, rights)
            if callable(content):
                content(file)
            else:
                file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _rights(final: Path) -> int | None:
    """The access rights of the plain file that is there.  Raises OSError for what must not be replaced."""
    try:
        found = os.stat(final)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is there already, and is not a plain file")
    return None if final.is_symlink() else stat.S_IMODE(found.st_mode)
