"""Reading a file that a stranger gave: plain files only, of bounded size, so that a FIFO or a device never holds us up.

>>> read_plain("/dev/zero", 100)
Traceback (most recent call last):
    ...
OSError: [Errno 22] it is not a plain file
"""

from __future__ import annotations

import errno
import os
import stat
from typing import IO, Final

PART: Final = 16 << 20
"""Bytes of one system call: Ctrl-C is heard between them."""


def open_plain(path: str | os.PathLike[str]) -> IO[bytes]:
    """A regular file, open for reading.  Raises OSError for everything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, str(error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a plain file")
    return os.fdopen(descriptor, "rb")


def read_plain(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file.  Raises OSError for everything else, and beyond `most` bytes."""
    with open_plain(path) as file:
        left = os.fstat(file.fileno()).st_size
        if left > most:
            raise OSError(errno.EFBIG, f"it has {left:,} bytes, more than {most:,}")
        parts: list[bytes] = []
        while left > 0 and (part := file.read(min(left, PART))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
