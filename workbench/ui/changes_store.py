"""Where the changes made on screens are kept: one small file for each screen, in the user's cache folder.

A file is one line of JSON with its SHA-256 before it, written whole or not at all.  A torn, damaged or foreign file is
passed over.  Nothing here raises: what cannot be written is told, and the screen goes on.

    store = ChangesStore.of_user()            # WORKBENCH_CHANGES=off: a store that keeps nothing
    store.save(key, token, {"entries": [...]})        # "" or what is wrong
    store.found(key)                          # newest first
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workbench.core.errors import WorkbenchError
from workbench.core.plain_file import read_plain
from workbench.core.store import cache_folder
from workbench.core.whole_file import write_whole
from workbench.views.strings.tables import say

FOLDER: Final = "changes-1"
FILE_LIMIT: Final = 4 << 20
"""Bytes of one screen's changes."""
FILES: Final = 64
TOTAL_LIMIT: Final = 32 << 20
DAYS: Final = 60
_STALE_SECONDS: Final = 3600.0
_LATEST: Final = 1e10
"""A time that calendars still know."""
_NAME: Final = re.compile(r"[0-9a-f]{24}-[0-9a-f]{16}\.json")
_TEMPORARY: Final = re.compile(r"\.[0-9a-f]{32}\.tmp")
_OFF: Final = ("off", "0", "no", "false")


@dataclass(frozen=True)
class Saved:
    """The changes of one screen, as they lie on disk."""

    path: Path
    document: Mapping[str, Any]

    @property
    def at(self) -> float:
        """When they were saved, in seconds since 1970."""
        found = self.document.get("at")
        return float(found) if isinstance(found, int | float) and 0 <= found < _LATEST else 0.0


class ChangesStore:
    """A folder of changes; without a folder, nothing is kept.  Safe to use from several processes."""

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / FOLDER if folder is not None else None

    @staticmethod
    def of_user(environment: Mapping[str, str] | None = None) -> ChangesStore:
        """In the user's cache folder, unless WORKBENCH_CHANGES says "off"."""
        given = os.environ if environment is None else environment
        if given.get("WORKBENCH_CHANGES", "").lower() in _OFF:
            return ChangesStore(None)
        return ChangesStore(cache_folder(given))

    def save(self, key: str, token: str, document: Mapping[str, Any]) -> str:
        """Keep a screen's changes in place of its earlier ones; answers "" or why they are not kept."""
        if self.path is None:
            return ""
        data = packed({**document, "at": time.time()})
        if len(data) > FILE_LIMIT:
            return say.changes.too_large(len(data), FILE_LIMIT)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _require_own(self.path)
            write_whole(self._file(key, token), data, mode=0o600, code="E-UI-CHANGES")
            self._trim()
        except WorkbenchError as error:
            return f"{error.message} ({error.where})" if error.where else error.message
        except OSError as error:
            return f"{self.path}: {error.strerror or error}"
        return ""

    def found(self, key: str) -> list[Saved]:
        """What whole files of a key hold, newest first."""
        if self.path is None:
            return []
        read = [self._read(name) for name, _, _ in self._listed() if name.startswith(f"{file_key(key)}-")]
        return sorted((one for one in read if one is not None), key=lambda one: one.at, reverse=True)

    def drop(self, path: Path) -> None:
        """Remove a file; where that fails, it stays."""
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return

    def claim(self, saved: Saved, process: Mapping[str, str]) -> None:
        """Write into a file whom it is offered to; where that fails, others are offered it too.

        It is as old as it was: to be offered is no use.
        """
        data = packed({**saved.document, "offered": dict(process)})
        if saved.document.get("offered") == process or len(data) > FILE_LIMIT:
            return
        try:
            before = os.stat(saved.path, follow_symlinks=False)
            write_whole(saved.path, data, mode=0o600, code="E-UI-CHANGES")
            os.utime(saved.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        except (WorkbenchError, OSError):
            return

    def renew(self, path: Path) -> bool:
        """A file holds what a screen shows: it is as young as that.  Whether it is there still."""
        try:
            os.utime(path)
        except OSError:
            return False
        return True

    def forget(self, key: str, token: str) -> None:
        """A screen has no changes any more."""
        if self.path is not None:
            self.drop(self._file(key, token))

    def _file(self, key: str, token: str) -> Path:
        assert self.path is not None
        return self.path / f"{file_key(key)}-{hashlib.sha256(token.encode()).hexdigest()[:16]}.json"

    def _read(self, name: str) -> Saved | None:
        assert self.path is not None
        path = self.path / name
        try:
            _require_own(path)
            document = unpacked(read_plain(path, FILE_LIMIT))
        except OSError:
            return None
        return Saved(path, document) if document is not None else None

    def _listed(self) -> list[tuple[str, int, float]]:
        """Name, bytes and time of the files of this folder that are this module's."""
        found: list[tuple[str, int, float]] = []
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    ours = _NAME.fullmatch(entry.name) or _TEMPORARY.fullmatch(entry.name)
                    if ours and entry.is_file(follow_symlinks=False):
                        info = entry.stat(follow_symlinks=False)
                        found.append((entry.name, info.st_size, info.st_mtime))
        except OSError:
            return found
        return found

    def _trim(self) -> None:
        """Remove what was torn off, what is old, and the oldest beyond the limits."""
        assert self.path is not None
        now = time.time()
        count = size = 0
        for name, length, changed in sorted(self._listed(), key=lambda one: one[2], reverse=True):
            torn = name.startswith(".")
            count, size = count + (not torn), size + length
            old = now - changed > (_STALE_SECONDS if torn else DAYS * 86_400)
            if old or (not torn and (count > FILES or size > TOTAL_LIMIT)):
                self.drop(self.path / name)


def file_key(key: str) -> str:
    """The part of a file's name that says whose changes it holds; whatever stands in `key`, it is a plain name."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def packed(document: Mapping[str, Any]) -> bytes:
    """A file's bytes."""
    text = json.dumps(dict(document), ensure_ascii=True, separators=(",", ":")).encode()
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def unpacked(data: bytes) -> dict[str, Any] | None:
    """The document of a whole file; None for any other bytes."""
    digest, _, text = data.partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _require_own(path: Path) -> None:
    """Raises OSError for what another user owns or may write: it would be done in this user's name."""
    info = os.stat(path, follow_symlinks=False)
    if hasattr(os, "getuid") and (info.st_uid != os.getuid() or info.st_mode & 0o022):
        raise PermissionError(13, say.changes.of_another_user, str(path))
