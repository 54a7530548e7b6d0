"""Bytes by content address on disk: what one process made, others reuse; whatever is wrong with an entry, it is a miss.

An entry is one file, named by the SHA-256 of its key: magic, lengths, the SHA-256 of what follows, the whole key, the
payload.  It is written aside, synced, and published in one step; the first publisher wins, and no reader sees half of
it.  An entry that is damaged, or answers another key, is dropped with one warning that names the file.  A folder
that another user owns or may write is never read from.  Failing to write costs one warning, never the result.

    store = Store(Path("~/.cache/workbench").expanduser())
    store.put({"kind": "object", "text": "..."}, b"code")
    store.get({"kind": "object", "text": "..."})     # b"code"
"""

from __future__ import annotations

import hashlib
import itertools
import json
import mmap
import os
import stat
import struct
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MAGIC: Final = b"WORKBENCH-OBJ-1\n"
_HEAD: Final = struct.Struct("<16sQQ32s")
FOLDER: Final = "objects-1"
SUFFIX: Final = ".wb"
DEFAULT_LIMIT: Final = 1 << 30
_ENTRY_LIMIT: Final = 1 << 30
_KEY_LIMIT: Final = 1 << 20
"""Room for what an entry holds beside its payload."""
_TOUCH_SECONDS: Final = 3600.0
_STALE_SECONDS: Final = 3600.0
_FIX: Final = "set WORKBENCH_CACHE_DIR to a folder of your own, or WORKBENCH_CACHE=off"

Bytes = bytes | bytearray | memoryview
_counter = itertools.count()


class CacheWarning(UserWarning):
    """Something about the cache is wrong; results are right, and made anew."""


class Disk:
    """The calls to the operating system that a store makes.  Tests put one in that fails at the n-th call."""

    def open(self, name: str, flags: int, mode: int = 0o600, folder: int | None = None) -> int:
        return os.open(name, flags | getattr(os, "O_CLOEXEC", 0), mode, dir_fd=folder)

    def make_folder(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)

    def stat(self, file: int | Path) -> os.stat_result:
        return os.stat(file)

    def read(self, file: int, into: memoryview) -> int:
        return os.readv(file, [into])

    def write(self, file: int, data: memoryview) -> int:
        return os.write(file, data)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def close(self, file: int) -> None:
        os.close(file)

    def publish(self, temporary: str, name: str, folder: int) -> None:
        """`temporary` under its final name, unless that exists; on file systems without links the last one wins."""
        try:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            return
        except FileNotFoundError:
            raise
        except (OSError, NotImplementedError):
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str, folder: int) -> None:
        os.unlink(name, dir_fd=folder)

    def touch(self, name: str, folder: int) -> None:
        if os.utime in os.supports_dir_fd:
            os.utime(name, dir_fd=folder)

    def listed(self, folder: int) -> list[tuple[str, int, float]]:
        """Name, bytes and time of last use of each file."""
        found: list[tuple[str, int, float]] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # another process took it away meanwhile
                found.append((entry.name, info.st_size, info.st_mtime))
        return found


@dataclass(frozen=True)
class Usage:
    """What lies in a store: number of entries and their bytes."""

    entries: int
    bytes: int


class _Damaged(Exception):
    """An entry cannot be used; the text says why."""


class Store:
    """A folder of entries; see the module's header.  Safe to use from several threads and processes."""

    def __init__(
        self,
        folder: Path,
        *,
        name: str = FOLDER,
        limit: int = DEFAULT_LIMIT,
        read_only: bool = False,
        disk: Disk | None = None,
    ) -> None:
        """The entries lie in the folder `name` below `folder`."""
        self.base = folder
        self.path = folder / name
        self.limit = limit
        self.read_only = read_only
        self._disk = disk or Disk()
        self._lock = threading.Lock()
        self._warned: set[str] = set()
        self._stopped = False
        self._unmeasured: int | None = None
        """Bytes written since the folder was last measured; None before the first time."""

    @property
    def most(self) -> int:
        """Bytes of the largest payload that is kept: more would push too much else out, or is not read again."""
        return min(self.limit // 2, _ENTRY_LIMIT - _KEY_LIMIT)

    # --- reading ---

    def get(self, key: Mapping[str, Any]) -> bytes | None:
        """The payload stored under `key`, or None; never an error."""
        found = self.memory(key)
        return None if found is None else bytes(found)

    def memory(self, key: Mapping[str, Any]) -> memoryview | None:
        """The payload stored under `key`, or None, in writable memory of its own that begins at a page."""
        text = encoded(key)
        name = file_name(text)
        folder = self._opened(create=False)
        if folder is None:
            return None
        try:
            return self._checked(name, text, folder)
        except FileNotFoundError:
            return None
        except (OSError, _Damaged) as error:
            self._drop(name, folder, error)
            return None
        finally:
            self._disk.close(folder)

    def _checked(self, name: str, key: bytes, folder: int) -> memoryview:
        file = self._disk.open(name, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0), folder=folder)
        try:
            info = self._disk.stat(file)
            _check_private(info)
            if not stat.S_ISREG(info.st_mode) or info.st_size > _ENTRY_LIMIT:
                raise _Damaged("not a plain file of an entry's size")
            payload = self._read(file, info.st_size, key)
            if not self.read_only and time.time() - info.st_mtime > _TOUCH_SECONDS:
                self._disk.touch(name, folder)
            return payload
        finally:
            self._disk.close(file)

    def _read(self, file: int, total: int, key: bytes) -> memoryview:
        """The payload of an entry that is whole and answers `key`; else raises `_Damaged`."""
        head = self._filled(file, memoryview(bytearray(min(total, _HEAD.size))))
        if len(head) < _HEAD.size:
            raise _Damaged(f"it ends after {len(head)} bytes")
        magic, key_size, size, digest = _HEAD.unpack(head)
        if magic != MAGIC:
            raise _Damaged("it does not begin like an entry")
        rest = total - _HEAD.size
        if rest != key_size + size:
            raise _Damaged(f"{rest} bytes instead of {key_size + size}")
        own = self._filled(file, memoryview(bytearray(key_size)))
        payload = self._filled(file, memoryview(mmap.mmap(-1, max(size, 1)))[:size])
        if _digest(own, payload) != digest:
            raise _Damaged("the checksum differs")
        if bytes(own) != key:
            raise _Damaged("it is the entry of another key")
        return payload

    def _filled(self, file: int, memory: memoryview) -> memoryview:
        """Memory filled from a file as far as this goes."""
        done = 0
        while done < len(memory) and (count := self._disk.read(file, memory[done:])):
            done += count
        return memory[:done]

    def _drop(self, name: str, folder: int, error: Exception) -> None:
        self._warn(
            f"{self.path / name}",
            f"the cached code in {self.path / name} cannot be used ({_reason(error)}); it is compiled anew",
        )
        if not self.read_only:
            try:
                self._disk.remove(name, folder)
            except OSError:
                return  # whoever publishes next replaces nothing; the entry stays a miss

    # --- writing ---

    def put(self, key: Mapping[str, Any], *payload: Bytes) -> bool:
        """Publish a payload, in one part or in several; False (and one warning at most) when it cannot be kept."""
        if self._stopped or self.read_only or sum(memoryview(part).nbytes for part in payload) > self.most:
            return False
        text = encoded(key)
        data = packed(text, *payload)
        folder = None
        try:
            folder = self._opened(create=True)
            if folder is None:
                return False
            self._publish(file_name(text), data, folder)
            self._trim(sum(map(len, data)), folder)
        except OSError as error:
            self._stop(error)
            return False
        finally:
            if folder is not None:
                self._disk.close(folder)
        return True

    def _publish(self, name: str, data: Sequence[memoryview], folder: int) -> None:
        temporary = f".{os.getpid()}.{threading.get_ident()}.{next(_counter)}.tmp"
        file = self._disk.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, folder)
        try:
            try:
                for rest in data:
                    while rest:
                        rest = rest[self._disk.write(file, rest) :]
                self._disk.sync(file)
            finally:
                self._disk.close(file)
            self._disk.publish(temporary, name, folder)
        finally:
            try:
                self._disk.remove(temporary, folder)
            except OSError:
                pass  # replaced, or the disk fails: a later trim takes it away

    def _stop(self, error: OSError) -> None:
        """Write no more in this process: a full disk stays full, and builds should not wait for it."""
        self._stopped = True
        self._warn(
            "store",
            f"compiled code cannot be kept in {self.path} ({_reason(error)}); this process keeps it in memory. {_FIX}",
        )

    def _trim(self, written: int, folder: int) -> None:
        """Take the entries longest unused away when the folder outgrows the limit."""
        with self._lock:
            if self._unmeasured is not None:
                self._unmeasured += written
                if self._unmeasured < self.limit // 10:
                    return
            self._unmeasured = 0
        now = time.time()
        held = self._disk.listed(folder)
        total = sum(size for _, size, _ in held)
        aim = self.limit * 4 // 5 if total > self.limit else total
        for name, size, used in sorted(held, key=lambda entry: entry[2]):
            stale = name.endswith(".tmp") and now - used > _STALE_SECONDS
            if stale or (total > aim and name.endswith(SUFFIX)):
                total -= size
                _try(self._disk.remove, name, folder)

    # --- the folder ---

    def _opened(self, create: bool) -> int | None:
        """The folder, open and checked to be one's own; None when there is none or it must not be used."""
        flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
        try:
            try:
                folder = self._disk.open(str(self.path), flags)
            except FileNotFoundError:
                if not create:
                    return None
                self._disk.make_folder(self.path)
                folder = self._disk.open(str(self.path), flags)
        except OSError as error:
            if create:
                raise
            self._warn("store", f"the cache folder {self.path} cannot be read ({_reason(error)}). {_FIX}")
            return None
        try:
            _check_private(self._disk.stat(folder))
            _check_parent(self.base, self._disk.stat(self.base))
        except (OSError, _Damaged) as error:
            self._disk.close(folder)
            self._warn("store", f"the cache folder {self.path} is not used: {_reason(error)}. {_FIX}")
            return None
        return folder

    def usage(self) -> Usage:
        """Entries and bytes now."""
        held = self._entries()
        return Usage(len(held), sum(size for _, size, _ in held))

    def _entries(self) -> list[tuple[str, int, float]]:
        folder = self._opened(create=False)
        if folder is None:
            return []
        try:
            return [entry for entry in self._disk.listed(folder) if entry[0].endswith(SUFFIX)]
        finally:
            self._disk.close(folder)

    def clear(self) -> Usage:
        """Remove every entry (and nothing else); answers what was removed."""
        folder = self._opened(create=False)
        if folder is None:
            return Usage(0, 0)
        try:
            held = [entry for entry in self._disk.listed(folder) if entry[0].endswith((SUFFIX, ".tmp"))]
            for name, _, _ in held:
                _try(self._disk.remove, name, folder)
        finally:
            self._disk.close(folder)
        entries = [entry for entry in held if entry[0].endswith(SUFFIX)]
        return Usage(len(entries), sum(size for _, size, _ in entries))

    def _warn(self, what: str, message: str) -> None:
        with self._lock:
            if what in self._warned:
                return
            self._warned.add(what)
        warnings.warn(message, CacheWarning, stacklevel=3)


# --- entries --------------------------------------------------------------------------------------------------------


def encoded(key: Mapping[str, Any]) -> bytes:
    """The canonical text of a key."""
    return json.dumps(dict(key), sort_keys=True, separators=(",", ":")).encode()


def file_name(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest() + SUFFIX


def packed(key: bytes, *payload: Bytes) -> list[memoryview]:
    """An entry's file, in parts."""
    parts = [memoryview(part).cast("B") for part in payload if memoryview(part).nbytes]
    head = _HEAD.pack(MAGIC, len(key), sum(map(len, parts)), _digest(key, *parts))
    return [memoryview(head), memoryview(key), *parts]


def _digest(*parts: Bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _check_private(info: os.stat_result) -> None:
    """Refuse what another user owns or may write: code from there would run as oneself."""
    if not hasattr(os, "getuid"):
        return
    if info.st_uid not in (os.getuid(), 0):
        raise _Damaged(f"it is owned by user {info.st_uid}")
    if info.st_mode & 0o022:
        raise _Damaged(f"others may write to it (mode {stat.S_IMODE(info.st_mode):o})")


def _check_parent(folder: Path, info: os.stat_result) -> None:
    """In a folder where others may rename what is not theirs, an entry's owner proves too little."""
    if hasattr(os, "getuid") and info.st_mode & 0o002 and not info.st_mode & stat.S_ISVTX:
        raise _Damaged(f"anyone may write to {folder} (mode {stat.S_IMODE(info.st_mode):o})")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)


def _try(action: Any, *arguments: Any) -> None:
    try:
        action(*arguments)
    except OSError:
        return


# --- where ----------------------------------------------------------------------------------------------------------


def cache_folder(environment: Mapping[str, str] | None = None) -> Path | None:
    """The user's cache folder: WORKBENCH_CACHE_DIR, else the system's place for caches; None without a home."""
    import sys

    given = environment if environment is not None else os.environ
    if given.get("WORKBENCH_CACHE_DIR"):
        return Path(given["WORKBENCH_CACHE_DIR"]).expanduser()
    if sys.platform == "win32" and given.get("LOCALAPPDATA"):
        return Path(given["LOCALAPPDATA"]) / "workbench" / "Cache"
    if given.get("XDG_CACHE_HOME", "").startswith("/"):
        return Path(given["XDG_CACHE_HOME"]) / "workbench"
    home = given.get("HOME") or given.get("USERPROFILE")
    if not home:
        return None
    return Path(home) / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "workbench"
