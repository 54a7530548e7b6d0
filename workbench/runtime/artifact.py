"""What exported libraries say of themselves: a record at the file's end, checked before the library is loaded.

Layout, from the end: magic (16 bytes), length of the record (8 bytes, little endian), the record (JSON), before that
the library.  The record holds ABI version, triple, CPU features, functions, the model's description, and the SHA-256 of
the library's bytes.  Loaders of shared libraries ignore what follows the last section.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from pathlib import Path
from typing import Any, Final

from ..core.errors import WorkbenchError
from ..core.plain_file import read_plain

MAGIC: Final = b"WORKBENCH-LIB-1\n"
ABI_VERSION: Final = 1
_MAX_RECORD: Final = 64 << 20
_MAX_LIBRARY: Final = 16 << 30


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Add the record to a library file, in place."""
    data = path.read_bytes()
    full = {"abi": ABI_VERSION, **record, "sha256": hashlib.sha256(data).hexdigest()}
    text = json.dumps(full, sort_keys=True).encode()
    with path.open("ab") as file:
        file.write(text + len(text).to_bytes(8, "little") + MAGIC)


def read_record(path: Path) -> dict[str, Any]:
    """The record of a library, checked against the file and this machine.  Raises `WorkbenchError` (E-LOAD-*)."""
    data = _bytes(path)
    if len(data) < 24 or data[-16:] != MAGIC:
        raise WorkbenchError(
            "E-LOAD-FORMAT",
            f"{path.name} is not a library exported by the workbench, or ends early",
            where=str(path),
            found=f"{len(data)} bytes, beginning with {data[:4]!r}",
            expected="a file written by export_library",
            fix="export it again; a plain tvm-ffi library loads with tvm_ffi.load_module",
        )
    length = int.from_bytes(data[-24:-16], "little")
    if length > min(_MAX_RECORD, len(data) - 24):
        raise _damaged(path, "the record's length is wrong")
    library, text = data[: len(data) - 24 - length], data[len(data) - 24 - length : -24]
    try:
        record = json.loads(text)
    except ValueError:
        raise _damaged(path, "the record cannot be read") from None
    if not isinstance(record, dict) or record.get("sha256") != hashlib.sha256(library).hexdigest():
        raise _damaged(path, "the checksum differs")
    _check_machine(path, record)
    return record


def _bytes(path: Path) -> bytes:
    try:
        return read_plain(path, _MAX_LIBRARY)
    except OSError as error:
        raise WorkbenchError(
            "E-LOAD-FILE", f"{path.name} cannot be read: {error.strerror}", where=str(path), fix="check the path"
        ) from None


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
    missing = [name for name in needed if name not in host_features()]
    if missing and host_features():
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
    return any(word.startswith(names) for word in words[1:] if names[0])


def host_features() -> frozenset[str]:
    """CPU features of this machine by LLVM's names; empty where they are not known."""
    from ..core.host import read_text

    for line in read_text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(word.replace("avx512_", "avx512") for word in value.split())
    return frozenset()
