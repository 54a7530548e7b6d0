"""Explicit tables: what exists by name, filled by decorators, with clashes refused and misspellings answered.

A table names the packages that fill it, imported when it is asked, so that `import workbench` stays light and lower
layers need not import higher ones.  Outsiders add an entry by calling `register`.

>>> PASSES = Table("pass", filled_by=())
>>> PASSES.register("Nothing", 1)
1
>>> PASSES["Nothing"]
1

Invariant: no table remembers that it is filled.  Whether a module is whole is known to Python alone, which imports it
once, lets other threads wait for it, and forgets it when its import ends in an error or an interrupt.  So each look-up
asks for the import: it costs a microsecond, an interrupted filling is taken up again at the next look-up, and what the
interrupted one had entered is replaced without complaint.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Generic, TypeVar

from .errors import WorkbenchError, nearest

T = TypeVar("T")
_OWN: Final = __name__.partition(".")[0]


def imported(modules: Iterable[str]) -> None:
    """Import modules for what their decorators enter into tables; at once where they are whole already.

    Within their own import (a decorator that looks something up) there is what has been entered so far.
    """
    for name in modules:
        importlib.import_module(name)


def is_own(module: str) -> bool:
    """Whether a module is part of this package, not a user's."""
    return module.partition(".")[0] == _OWN


@dataclass(frozen=True)
class Declaration(Generic[T]):
    """An entry with the module that made it: its name, and the object that it was in `sys.modules`."""

    entry: T
    module: str
    made_by: ModuleType | None

    @property
    def is_left_over(self) -> bool:
        """True if its module's import did not end, so that the module is gone or made anew."""
        return self.made_by is not None and sys.modules.get(self.module) is not self.made_by


class Table(Mapping[str, T], Generic[T]):
    """A mapping from names to objects of one kind; `kind` is the word used in messages."""

    def __init__(self, kind: str, filled_by: tuple[str, ...]) -> None:
        self.kind = kind
        self._filled_by = filled_by
        self._declared: dict[str, Declaration[T]] = {}

    def register(self, name: str, entry: T, *, module: str = "", override: bool = False) -> T:
        """Add `entry`; a name that is taken is refused unless `override` (a notebook cell run again).

        `module` is where it is declared; by default where its class or function is.
        """
        home = module or _module_of(entry)
        if not is_own(home):
            imported(self._filled_by)  # else what the workbench declares would clash with it later
        known = self._declared.get(name)
        if known is not None and not override and not known.is_left_over:
            raise WorkbenchError(
                "E-TABLE-CLASH",
                f"the {self.kind} {name!r} is registered already",
                fix="choose another name, or pass override=True to replace it",
            )
        self._declared[name] = Declaration(entry, home, sys.modules.get(home))
        return entry

    def remove(self, name: str) -> None:
        """Take an entry out again (tests, reloaded cells)."""
        self._declared.pop(name, None)

    def module_of(self, name: str) -> str:
        """The module that declares an entry."""
        return self._found(name).module

    def _found(self, name: str) -> Declaration[T]:
        imported(self._filled_by)
        found = self._declared.get(name)
        if found is None:
            raise WorkbenchError(
                f"E-{self.kind.upper().replace(' ', '-')}-UNKNOWN",
                f"there is no {self.kind} named {name!r}",
                fix=nearest(name, self._declared) or f"known: {', '.join(sorted(self._declared)[:12])}",
            )
        return found

    def __getitem__(self, name: str) -> T:
        return self._found(name).entry

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        """The entry, or `default`; never an error."""
        imported(self._filled_by)
        found = self._declared.get(name)
        return default if found is None else found.entry

    def __contains__(self, name: object) -> bool:
        imported(self._filled_by)
        return name in self._declared

    def __iter__(self) -> Iterator[str]:
        imported(self._filled_by)
        return iter(tuple(self._declared))

    def items(self) -> ItemsView[str, T]:
        """Names and entries, as they are now."""
        imported(self._filled_by)
        return {name: found.entry for name, found in self._declared.items()}.items()

    def values(self) -> ValuesView[T]:
        """The entries, as they are now."""
        imported(self._filled_by)
        return {name: found.entry for name, found in self._declared.items()}.values()

    def __len__(self) -> int:
        imported(self._filled_by)
        return len(self._declared)


def _module_of(entry: Any) -> str:
    """Where a class or a function is declared; what is made elsewhere of a class says nothing of itself."""
    return str(entry.__module__) if isinstance(entry, type) or hasattr(entry, "__qualname__") else ""
