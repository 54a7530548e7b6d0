"""Parsing a model without its large weights, which are read from the file when they are first used.

Protobuf parses a file in one call, which for hundreds of MiB takes seconds that Ctrl-C cannot interrupt, and twice the
memory.  So the outer encoding is walked first; the raw data of each large initializer is cut out, and a ticket put in
its place that only this process knows.  Whatever looks unusual is left to protobuf whole.

    found = skeleton(descriptor, size)            # None: parse the file as it is
    proto = onnx.ModelProto.FromString(found.data)
    found.deferred[tensor.raw_data]               # (offset, length) of what the ticket stands for
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...frontend.onnx.wire import varint

WORTH_IT: Final = 16 << 20
"""Smaller files are parsed as they are."""
LARGE: Final = 1 << 16
"""Raw data of more bytes than this stays in the file."""
PART: Final = 16 << 20
"""Bytes that one system call reads: Ctrl-C is heard between them."""
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
_WINDOW: Final = 1 << 16

Range = tuple[int, int]


class Unusual(Exception):
    """The encoding is damaged or not what is usual; protobuf shall judge it."""


@dataclass(frozen=True)
class Skeleton:
    """A model's bytes with tickets for large weights, and where in the file each lies."""

    data: bytes
    deferred: dict[bytes, Range]


@dataclass(frozen=True)
class _Field:
    number: int
    start: int
    """Where its key begins."""
    at: int
    """Where its contents begin, for those that have a length."""
    end: int


class _Reader:
    """Small reads through a window, so that walking a file costs few system calls."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self.size = size
        self._start = 0
        self._window = b""

    def head(self, at: int) -> bytes:
        """At least 20 bytes from `at` on, where the file has them."""
        offset = at - self._start
        if offset < 0 or offset + 20 > len(self._window):
            self._start, offset = at, 0
            self._window = os.pread(self.descriptor, _WINDOW, at)
        return self._window[offset : offset + 20]

    def bytes(self, start: int, end: int) -> bytes:
        return read_range(self.descriptor, start, end - start).tobytes()

    def fields(self, at: int, end: int) -> list[_Field]:
        """The fields of one message.  Raises `Unusual` when they do not fill it exactly."""
        found: list[_Field] = []
        while at < end:
            head = self.head(at)
            key, inner = _varint(head, 0)
            kind, contents, past = key & 7, at, at
            if kind == 2:
                length, inner = _varint(head, inner)
                contents = at + inner
                past = contents + length
            elif kind == 0:
                _, inner = _varint(head, inner)
                past = at + inner
            elif kind in (1, 5):
                past = at + inner + (8 if kind == 1 else 4)
            if not at < past <= end:
                raise Unusual
            found.append(_Field(key >> 3 if kind == 2 else 0, at, contents, past))
            at = past
        return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, past = varint(data, at, len(data))
    if past < 0:
        raise Unusual
    return value, past


def _encoded(number: int, length: int) -> bytes:
    """The key and length of a field with contents."""
    out = bytearray([number << 3 | 2])
    while length >= 128:
        out.append(length & 127 | 128)
        length >>= 7
    return bytes([*out, length])


def skeleton(descriptor: int, size: int) -> Skeleton | None:
    """The model in the file without its large weights; None where that is not worth while, or not safe."""
    if size < WORTH_IT:
        return None
    reader, deferred = _Reader(descriptor, size), dict[bytes, Range]()
    try:
        fields = reader.fields(0, size)
        graphs = [field for field in fields if field.number == _GRAPH]
        if len(graphs) != 1:
            return None
        graph = _graph(reader, graphs[0], deferred)
        if not deferred:
            return None
        parts = [
            _encoded(_GRAPH, len(graph)) + graph if field.number == _GRAPH else reader.bytes(field.start, field.end)
            for field in fields
        ]
    except Unusual:
        return None
    return Skeleton(b"".join(parts), deferred)


def _graph(reader: _Reader, graph: _Field, deferred: dict[bytes, Range]) -> bytes:
    """The graph's bytes, tickets in the place of large raw data.  Neighbouring fields are copied together."""
    parts: list[bytes] = []
    copied = graph.at
    for field in reader.fields(graph.at, graph.end):
        if field.number != _INITIALIZER or field.end - field.at <= LARGE:
            continue
        inside = reader.fields(field.at, field.end)
        raw = [part for part in inside if part.number == _RAW_DATA]
        if len(raw) != 1 or raw[0].end - raw[0].at <= LARGE:
            continue
        ticket = secrets.token_bytes(24)
        deferred[ticket] = (raw[0].at, raw[0].end - raw[0].at)
        tensor = b"".join(
            _encoded(_RAW_DATA, len(ticket)) + ticket if part is raw[0] else reader.bytes(part.start, part.end)
            for part in inside
        )
        parts += [reader.bytes(copied, field.start), _encoded(_INITIALIZER, len(tensor)), tensor]
        copied = field.end
    parts.append(reader.bytes(copied, graph.end))
    return b"".join(parts)


def read_range(descriptor: int, offset: int, count: int) -> np.ndarray:
    """Bytes of a file, read in parts; fewer than `count` where it ends early."""
    array = np.empty(count, np.uint8)
    filled = 0
    while filled < count:
        got = os.preadv(descriptor, [array.data[filled : filled + PART]], offset + filled)
        if not got:
            break
        filled += got
    return array[:filled]
