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

What the workbench declares stays: an entry from outside goes before it only if `override` was said, and leaves it as
it was when it is removed.  What is looked up is noted (`reliance`), so that what was made of it can be made anew.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, TypeVar

from . import reliance
from .code_names import Keyed, is_own
from .errors import WorkbenchError, nearest

T = TypeVar("T")


def imported(modules: Iterable[str]) -> None:
    """Import modules for what their decorators enter into tables; at once where they are whole already.

    Within their own import (a decorator that looks something up) there is what has been entered so far.
    """
    for name in modules:
        found = sys.modules.get(name)
        if found is None or getattr(found.__spec__, "_initializing", False):  # another thread's import is waited for
            importlib.import_module(name)


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


class Table(Mapping[str, T], Keyed, Generic[T]):
    """A mapping from names to objects of one kind; `kind` is the word used in messages."""

    def __init__(self, kind: str, filled_by: tuple[str, ...]) -> None:
        self.kind = kind
        self._filled_by = filled_by
        self._own: dict[str, Declaration[T]] = {}
        self._outside: dict[str, Declaration[T]] = {}
        self._families: dict[str, Callable[[str], T | None]] = {}
        self._of_families: dict[str, Declaration[T]] = {}

    # A table is itself, whatever is in it.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def register(self, name: str, entry: T, *, module: str = "", override: bool = False) -> T:
        """Add `entry`; a name that is taken is refused unless `override` (a notebook cell run again).

        `module` is where it is declared; by default where its class or function is.
        """
        home = module or _module_of(entry)
        own = is_own(home)
        if not own:
            imported(self._filled_by)  # else what the workbench declares would clash with it later
        known = self._declared(name)
        if known is not None and not override and not known.is_left_over:
            raise WorkbenchError(
                "E-TABLE-CLASH",
                f"the {self.kind} {name!r} is registered already",
                fix="choose another name, or pass override=True to replace it",
            )
        (self._own if own else self._outside)[name] = Declaration(entry, home, sys.modules.get(home))
        if not own:
            reliance.changed()
        return entry

    def family(self, prefix: str, made: Callable[[str], T | None]) -> None:
        """Let `made` give the entries whose names begin with `prefix`, each when it is asked for first; None for a name
        that follows the rule no further.  They are the workbench's own, and not among those that the table lists."""
        self._families[prefix] = made

    def _of_family(self, name: str) -> Declaration[T] | None:
        known = self._of_families.get(name)
        if known is not None:
            return known
        for prefix, made in self._families.items():
            entry = made(name) if name.startswith(prefix) else None
            if entry is not None:
                return self._of_families.setdefault(name, Declaration(entry, made.__module__, None))
        return None

    def remove(self, name: str) -> None:
        """Take an entry out again (tests, reloaded cells); what it stood before is there again."""
        if self._outside.pop(name, None) is None:
            self._own.pop(name, None)
        reliance.changed()

    def key_parts(self) -> tuple[Any, ...]:
        """What was entered from outside; what the workbench declares stays as it is."""
        return tuple((name, self._outside[name].entry) for name in sorted(self._outside))

    def user_entry(self, name: str) -> Any:
        """What was entered from outside under a name, or all of that for `EVERY` name; None where it is nothing."""
        if name == reliance.EVERY:
            return self.key_parts() or None
        found = self._outside.get(name)
        return None if found is None else found.entry

    def is_own(self, name: str) -> bool:
        """Whether the workbench declares an entry of that name, one from outside before it or not."""
        imported(self._filled_by)
        return name in self._own or self._of_family(name) is not None

    def _declared(self, name: Any) -> Declaration[T] | None:
        reliance.note(self, name)
        return self._outside.get(name) or self._own.get(name) or self._of_family(str(name))

    def _now(self) -> dict[str, T]:
        imported(self._filled_by)
        reliance.note(self, reliance.EVERY)
        return {name: found.entry for name, found in (self._own | self._outside).items()}

    def _found(self, name: str) -> Declaration[T]:
        imported(self._filled_by)
        found = self._declared(name)
        if found is None:
            raise WorkbenchError(
                f"E-{self.kind.upper().replace(' ', '-')}-UNKNOWN",
                f"there is no {self.kind} named {name!r}",
                fix=nearest(name, self) or f"known: {', '.join(sorted(self)[:12])}",
            )
        return found

    def __getitem__(self, name: str) -> T:
        return self._found(name).entry

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        """The entry, or `default`; never an error."""
        imported(self._filled_by)
        found = self._declared(name)
        return default if found is None else found.entry

    def __contains__(self, name: object) -> bool:
        imported(self._filled_by)
        return self._declared(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def items(self) -> ItemsView[str, T]:
        """Names and entries, as they are now."""
        return self._now().items()

    def values(self) -> ValuesView[T]:
        """The entries, as they are now."""
        return self._now().values()

    def __len__(self) -> int:
        return len(self._now())


def _module_of(entry: Any) -> str:
    """Where a class or a function is declared; what is made elsewhere of a class says nothing of itself."""
    return str(entry.__module__ or "") if isinstance(entry, type) or hasattr(entry, "__qualname__") else ""
