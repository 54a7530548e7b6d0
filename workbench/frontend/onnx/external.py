"""Tensor data kept beside the model: read from inside the model's folder only, and only from plain files.

A location is a relative path whose every component is opened without following links; the file must be regular,
have one name (no hard links, unless allowed) and contain the claimed range.  Nothing blocks on a FIFO.

    data = read_external({"location": "weights.bin", "offset": "0", "length": "16"}, folder, where)
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...core.errors import WorkbenchError, shorten
from .skeleton import read_range

_KEYS = ("location", "offset", "length", "checksum")


def _refuse(message: str, where: str, found: str, expected: str, fix: str) -> WorkbenchError:
    return WorkbenchError(
        "E-IMPORT-EXTERNAL",
        message,
        where=where,
        found=found,
        expected=expected,
        fix=fix,
    )


def _components(location: str, where: str) -> list[str]:
    """The path's parts, or a refusal of anything that could leave the folder."""
    parts = location.replace("\\", "/").split("/")
    bad = (
        not location
        or "\0" in location
        or "://" in location
        or location.startswith(("/", "\\", "~"))
        or (len(location) > 1 and location[1] == ":")
        or any(part in ("", ".", "..") for part in parts)
        or len(location) > 4096
    )
    if bad:
        raise _refuse(
            "the model keeps a tensor at a place that is not inside its folder",
            where,
            shorten(repr(location), 120),
            "a relative path of plain names, without '..', links or schemes",
            "save the model with its data in the same folder (onnx.save_model(..., location='weights.bin'))",
        )
    return parts


def _open_inside(folder: Path, parts: list[str]) -> int:
    """Open folder/parts..., one component at a time, following no link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    current = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        try:
            following = os.open(part, flags if last else flags | os.O_DIRECTORY, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


def _whole(entries: Mapping[str, str], key: str, where: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise _refuse(
            f"external data has an unusable {key}",
            where,
            shorten(repr(text), 60),
            "a whole number",
            "export again",
        )
    return int(text)


def read_external(
    entries: Mapping[str, str],
    folder: Path | None,
    where: str,
    expected_bytes: int,
    *,
    allow_hardlinks: bool = False,
) -> np.ndarray:
    """The `expected_bytes` bytes that `entries` (ONNX external_data) point to.  Raises `WorkbenchError`."""
    unknown = [key for key in entries if key not in _KEYS]
    if unknown:
        raise _refuse(
            "external data carries an unknown key",
            where,
            shorten(repr(unknown[0]), 60),
            ", ".join(_KEYS),
            "export again",
        )
    location = entries.get("location", "")
    parts = _components(location, where)
    if folder is None:
        raise _refuse(
            "the model keeps tensors in other files, but was given as bytes",
            where,
            shorten(repr(location), 120),
            "the path of the model, so that its folder is known",
            'from_onnx("folder/model.onnx")',
        )
    offset, length = _whole(entries, "offset", where) or 0, _whole(entries, "length", where)
    if length is not None and length != expected_bytes:
        raise _refuse(
            "external data has the wrong length",
            where,
            f"{length} bytes",
            f"{expected_bytes} bytes (shape x dtype)",
            "export again",
        )
    try:
        descriptor = _open_inside(folder, parts)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise _refuse(
            "external data cannot be opened",
            where,
            f"{shorten(repr(location), 120)}: {reason}",
            "a plain file inside the model's folder, reached without links",
            "copy the file itself next to the model",
        ) from None
    try:
        return _read_range(descriptor, offset, expected_bytes, location, where, allow_hardlinks)
    finally:
        os.close(descriptor)


def _read_range(
    descriptor: int, offset: int, count: int, location: str, where: str, allow_hardlinks: bool
) -> np.ndarray:
    facts = os.fstat(descriptor)
    shown = shorten(repr(location), 120)
    if not stat.S_ISREG(facts.st_mode):
        raise _refuse(
            "external data is not a plain file",
            where,
            shown,
            "a regular file",
            "copy the data into a file next to the model",
        )
    if facts.st_nlink != 1 and not allow_hardlinks:
        raise _refuse(
            "external data is a hard link",
            where,
            f"{shown} has {facts.st_nlink} names",
            "a file with one name",
            'copy the file, or pass convert_config={"allow_hardlinks": True} (file systems that share equal files)',
        )
    if offset + count > facts.st_size:
        raise _refuse(
            "external data ends early",
            where,
            f"{shown} has {facts.st_size} bytes",
            f"{count} bytes from byte {offset} on",
            "fetch the data file again",
        )
    found = read_range(descriptor, offset, count)
    if len(found) < count:
        raise _refuse("external data ended while it was read", where, shown, f"{count} bytes", "try again")
    return found
