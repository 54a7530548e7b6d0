"""Explicit tables: what exists by name, filled by decorators, with clashes refused and misspellings answered.

A table names the package that fills it, imported at the first look-up, so that `import workbench` stays light and
lower layers need not import higher ones.  Outsiders add an entry by calling `register`.

>>> PASSES = Table("pass", filled_by=())
>>> PASSES.register("Nothing", 1)
1
>>> PASSES["Nothing"]
1
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from .errors import WorkbenchError, nearest

T = TypeVar("T")


class Table(Mapping[str, T], Generic[T]):
    """A mapping from names to objects of one kind; `kind` is the word used in messages."""

    def __init__(self, kind: str, filled_by: tuple[str, ...]) -> None:
        self.kind = kind
        self._filled_by = filled_by
        self._filled = not filled_by
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T, *, override: bool = False) -> T:
        """Add `entry`; a name that is taken is refused unless `override` (a notebook cell run again)."""
        if name in self._entries and not override:
            raise WorkbenchError(
                "E-TABLE-CLASH",
                f"the {self.kind} {name!r} is registered already",
                fix="choose another name, or pass override=True to replace it",
            )
        self._entries[name] = entry
        return entry

    def remove(self, name: str) -> None:
        """Take an entry out again (tests, reloaded cells)."""
        self._entries.pop(name, None)

    def _fill(self) -> None:
        if self._filled:
            return
        self._filled = True
        for package in self._filled_by:
            importlib.import_module(package)

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._fill()
        if name not in self._entries:
            raise WorkbenchError(
                f"E-{self.kind.upper().replace(' ', '-')}-UNKNOWN",
                f"there is no {self.kind} named {name!r}",
                fix=nearest(name, self._entries) or f"known: {', '.join(sorted(self._entries)[:12])}",
            )
        return self._entries[name]

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        """The entry, or `default`; never an error."""
        return self._entries[name] if name in self else default

    def __contains__(self, name: object) -> bool:
        self._fill()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return iter(self._entries)

    def __len__(self) -> int:
        self._fill()
        return len(self._entries)
