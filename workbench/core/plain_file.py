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
from typing import Final

PART: Final = 16 << 20
"""Bytes of one system call: Ctrl-C is heard between them."""


def read_plain(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file.  Raises OSError for everything else, and beyond `most` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, str(error)) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        if facts.st_size > most:
            raise OSError(errno.EFBIG, f"it has {facts.st_size:,} bytes, more than {most:,}")
        parts: list[bytes] = []
        left = facts.st_size
        while left > 0 and (part := os.read(descriptor, min(left, PART))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
