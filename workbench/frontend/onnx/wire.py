"""Why bytes are not a model: names the kind of file, the byte where it ends early, the depth of its nesting.

Looks only at the outer shape of the protobuf encoding and never recurses; used for messages, not for reading.

>>> kind_of(b"\x89PNG\r\n\x1a\n....")
'a PNG picture'
"""

from __future__ import annotations

from typing import Final

_KINDS: Final = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive (perhaps a PyTorch .pt or .npz file)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89HDF", "an HDF5 file (perhaps Keras)"),
    (b"\x7fELF", "a native library"),
    (b"version https://git-lfs", "a git-LFS pointer, not the model itself"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML document"),
    (b"{", "a JSON or text file"),
)
FIXES: Final = {
    "a git-LFS pointer, not the model itself": "fetch the model: git lfs pull",
    "an HTML page": "the download failed: fetch the file itself, not its web page",
    "a Python pickle": "pickles are never loaded; export the model with torch.onnx.export",
    "a zip archive (perhaps a PyTorch .pt or .npz file)": "export the model with torch.onnx.export",
}
_MAX_DEPTH: Final = 4096


def kind_of(data: bytes) -> str:
    """What a file is, by its first bytes; empty when nothing is recognised."""
    head = data[:64].lstrip(b"\xef\xbb\xbf \r\n\t") if not data[:1] == b"\x80" else data[:64]
    folded = head.lower()
    for magic, kind in _KINDS:
        if head.startswith(magic) or (magic[:1] == b"<" and folded.startswith(magic)):
            return kind
    if data[4:8] == b"TFL3":
        return "a TensorFlow Lite model"
    return ""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at` and the place after it; place -1 when the bytes end or the number is too long."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, -1


def early_end(data: bytes) -> tuple[int, int] | None:
    """(place of the field that is cut off, bytes that it claims), if the file ends inside a top-level field."""
    at, end = 0, len(data)
    while at < end:
        start = at
        key, at = varint(data, at, end)
        if at < 0:
            return start, 1
        kind = key & 7
        if key >> 3 == 0 or key >> 3 > 200 or kind in (3, 4, 6, 7):
            return None
        if kind == 2:
            length, at = varint(data, at, end)
            if at < 0:
                return start, 1
            if length > end - at:
                return (start, length) if length < (1 << 40) else None
            at += length
        elif kind == 0:
            _, at = varint(data, at, end)
            if at < 0:
                return start, 1
        else:
            at += 8 if kind == 1 else 4
            if at > end:
                return start, 8
    return None


def depth(data: bytes) -> int:
    """How deeply graphs nest inside attributes (ModelProto.graph.node.attribute.g), counted without recursion."""
    graph, best = _field(data, 0, len(data), 7), 0
    stack = [(*part, 1) for part in graph]
    while stack:
        start, end, level = stack.pop()
        best = max(best, level)
        if level > _MAX_DEPTH:
            break
        for node in _field(data, start, end, 1):
            for attribute in _field(data, *node, 5):
                stack.extend((*inner, level + 1) for inner in _field(data, *attribute, 6))
                stack.extend((*inner, level + 1) for inner in _field(data, *attribute, 11))
    return best


def _field(data: bytes, at: int, end: int, number: int) -> list[tuple[int, int]]:
    """Where the length-delimited fields `number` of one message lie."""
    found: list[tuple[int, int]] = []
    while 0 <= at < end:
        key, at = varint(data, at, end)
        if at < 0:
            break
        kind = key & 7
        if kind == 2:
            length, at = varint(data, at, end)
            if at < 0 or length > end - at:
                break
            if key >> 3 == number:
                found.append((at, at + length))
            at += length
        elif kind == 0:
            _, at = varint(data, at, end)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            break
    return found
