"""What exported libraries say of themselves: a record at the file's end, checked before the library is loaded.

Layout: the library, the record (JSON), and 56 bytes: SHA-256 of all before it, length of the record (8 bytes, little
endian), magic (16 bytes).  The record holds ABI version, triple, CPU features, functions, the model's description.
Loaders of shared libraries ignore what follows the last section.  The checksum tells damage, not malice.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from ..core.errors import WorkbenchError
from ..core.host import features
from ..core.plain_file import open_plain

MAGIC: Final = b"WORKBENCH-LIB-2\n"
_FAMILY: Final = MAGIC[:-2]
ABI_VERSION: Final = 1
TRAILER: Final = struct.Struct("<32sQ16s")
_MAX_RECORD: Final = 64 << 20
_CHUNK: Final = 1 << 20


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Add the record to a library file, in place."""
    text = json.dumps({"abi": ABI_VERSION, **record}, sort_keys=True).encode()
    with path.open("r+b") as file:
        digest = hashlib.sha256()
        for part in _chunks(file, path.stat().st_size):
            digest.update(part)
        digest.update(text)
        file.seek(0, os.SEEK_END)
        file.write(text + TRAILER.pack(digest.digest(), len(text), MAGIC))
        file.flush()
        os.fsync(file.fileno())


def _chunks(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (part := file.read(min(_CHUNK, size))):
        size -= len(part)
        yield part


def read_record(path: Path) -> dict[str, Any]:
    """The record of a library, checked against the file and this machine.  Raises `WorkbenchError` (E-LOAD-*)."""
    try:
        with open_plain(path) as file:
            text = _checked(path, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise WorkbenchError(
            "E-LOAD-FILE", f"{path.name} cannot be read: {error.strerror}", where=str(path), fix="check the path"
        ) from None
    try:
        record = json.loads(text)
    except ValueError:
        raise _damaged(path, "the record cannot be read") from None
    if not isinstance(record, dict):
        raise _damaged(path, "the record is no object")
    _check_machine(path, record)
    return record


def _checked(path: Path, file: IO[bytes], size: int) -> bytes:
    """The text of the record, once magic and checksum are right."""
    file.seek(max(0, size - TRAILER.size))
    end = file.read(TRAILER.size)
    if len(end) < TRAILER.size or end[-16:] != MAGIC:
        raise _no_library(path, file, size, end)
    expected, length, _ = TRAILER.unpack(end)
    if length > min(_MAX_RECORD, size - TRAILER.size):
        raise _damaged(path, "the record's length is wrong")
    file.seek(0)
    digest = hashlib.sha256()
    for part in _chunks(file, size - TRAILER.size - length):
        digest.update(part)
    text = file.read(length)
    digest.update(text)
    if digest.digest() != expected:
        raise _damaged(path, "the checksum differs")
    return text


def _no_library(path: Path, file: IO[bytes], size: int, end: bytes) -> WorkbenchError:
    """Why a file does not end as it should: another version's, or something else."""
    if end[-16:].startswith(_FAMILY):
        return WorkbenchError(
            "E-LOAD-ABI",
            f"{path.name} was exported by another version",
            where=str(path),
            found=f"format {end[-16 + len(_FAMILY) : -1].decode('ascii', 'replace')}",
            expected=f"format {MAGIC[len(_FAMILY) : -1].decode()}",
            fix="export it again with this version",
        )
    file.seek(0)
    return WorkbenchError(
        "E-LOAD-FORMAT",
        f"{path.name} is not a library exported by the workbench, or ends early",
        where=str(path),
        found=f"{size} bytes, beginning with {file.read(4)!r}",
        expected="a file written by export_library",
        fix="export it again; a plain tvm-ffi library loads with tvm_ffi.load_module",
    )


def _damaged(path: Path, why: str) -> WorkbenchError:
    return WorkbenchError(
        "E-LOAD-DAMAGED", f"{path.name} is damaged: {why}", where=str(path), fix="export or copy it again"
    )


def _check_machine(path: Path, record: dict[str, Any]) -> None:
    if record.get("abi") != ABI_VERSION:
        raise WorkbenchError(
            "E-LOAD-ABI",
            f"{path.name} was exported by another version",
            found=f"ABI {record.get('abi')}",
            expected=f"ABI {ABI_VERSION}",
            fix="export it again with this version",
        )
    triple = str(record.get("triple", ""))
    if not runs_here(triple):
        raise WorkbenchError(
            "E-LOAD-MACHINE",
            f"{path.name} was exported for another machine",
            found=triple,
            expected=f"{platform.machine()} {sys.platform}",
        )
    needed = [name for name in str(record.get("cpu_features", "")).split(",") if name]
    missing = [name for name in needed if name not in features()]
    if missing and features():
        raise WorkbenchError(
            "E-LOAD-CPU",
            f"{path.name} needs a processor with more features",
            found=f"missing: {', '.join(missing)}",
            expected=", ".join(needed),
            fix='build it for this machine, or for any: target="llvm -mcpu=x86-64-v2"',
        )


def runs_here(triple: str) -> bool:
    """Whether code for a triple runs on this architecture and system."""
    aliases = {"amd64": "x86_64", "arm64": "aarch64"}
    words = triple.lower().split("-")
    own = platform.machine().lower()
    if aliases.get(words[0], words[0]) != aliases.get(own, own):
        return False
    system = {"linux": "linux", "darwin": ("darwin", "macos"), "win32": "windows"}.get(sys.platform, "")
    names = (system,) if isinstance(system, str) else system
    if any("x32" in word or "ilp32" in word for word in words[1:]):  # pointers of 32 bits on a processor of 64
        return False
    return any(word.startswith(names) for word in words[1:] if names[0])
