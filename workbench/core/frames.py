"""Messages between a process and its children: a JSON header and binary frames, each with length, checksum and nonce.

A request carries a nonce of its own, and its answer the same one: bytes that something else wrote into the pipe, a late
answer or a cut one are told apart from what was asked for, and never read as it.

    send(descriptor, os.urandom(NONCE), {"do": "compile"}, [b"..."])
    receive(descriptor).frames
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

NONCE: Final = 16
"""Bytes of a nonce."""
_HEAD: Final = struct.Struct(f"<{NONCE}sIQ")
_HEADER_BYTES: Final = 1 << 30
_PART: Final = 1 << 20
"""Bytes of one system call: Ctrl-C and deadlines are heard between them."""


class FrameError(Exception):
    """What came is no answer to what was asked."""


@dataclass(frozen=True)
class Message:
    """A request or an answer."""

    nonce: bytes
    header: dict[str, Any]
    frames: list[bytearray]


def _nothing() -> None:
    """No deadline is kept."""


def send(
    descriptor: int,
    nonce: bytes,
    header: Mapping[str, Any],
    frames: Sequence[Any],
    ready: Callable[[], object] = _nothing,
) -> None:
    """Write a message; `ready` is called before each system call and may wait, or raise."""
    for part in _parts(nonce, header, frames):
        rest = memoryview(part).cast("B")
        while rest:
            ready()
            try:
                rest = rest[os.write(descriptor, rest[:_PART]) :]
            except BlockingIOError:
                continue


def _parts(nonce: bytes, header: Mapping[str, Any], frames: Sequence[Any]) -> Iterator[Any]:
    for data in (json.dumps({**header, "frames": len(frames)}).encode(), *frames):
        view = memoryview(data)
        yield _HEAD.pack(nonce, zlib.crc32(view), view.nbytes)
        if view.nbytes:
            yield view


def receive(
    descriptor: int, nonce: bytes | None = None, most: int = 1 << 62, ready: Callable[[], object] = _nothing
) -> Message:
    """Read a message; its frames have at most `most` bytes together, and it carries `nonce` if one is given.

    Raises `FrameError` for anything else, EOFError when the pipe ends.
    """
    found, data = _frame(descriptor, nonce, min(most, _HEADER_BYTES), ready)
    try:
        header: Any = json.loads(data)
        count = header.pop("frames")
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
        raise FrameError("its header cannot be read") from None
    if not isinstance(header, dict) or type(count) is not int or count < 0:
        raise FrameError("its header is none")
    frames: list[bytearray] = []
    for _ in range(count):
        most -= _HEAD.size
        frames.append(_frame(descriptor, found, most, ready)[1])
        most -= len(frames[-1])
    return Message(found, cast("dict[str, Any]", header), frames)


def _frame(descriptor: int, nonce: bytes | None, most: int, ready: Callable[[], object]) -> tuple[bytes, bytearray]:
    found, checksum, size = _HEAD.unpack(_exactly(descriptor, _HEAD.size, ready))
    if nonce is not None and found != nonce:
        raise FrameError("it does not carry the number of the request")
    if size > most:
        raise FrameError(f"it has {size:,} bytes, more than {max(0, most):,}")
    data = _exactly(descriptor, size, ready)
    if zlib.crc32(data) != checksum:
        raise FrameError("its checksum is wrong")
    return found, data


def _exactly(descriptor: int, size: int, ready: Callable[[], object]) -> bytearray:
    made = bytearray()
    while len(made) < size:
        ready()
        part = os.read(descriptor, min(size - len(made), _PART))
        if not part:
            raise EOFError
        made += part
    return made
