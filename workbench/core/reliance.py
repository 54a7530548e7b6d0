"""What a computation reads from tables that users may add to: it holds as long as these say the same.

    with reliance.recording() as recorded:
        module = lower(module)
    relied = recorded.settled()
    relied.holds()                # False once an operator that was looked up has been defined anew
    relied.users                  # {"operator my.op": "5f0c..."}: what is not the workbench's own, by code key

What may read any variable of the environment relies on the whole of it: this is noted beside it, and in no file.

A table notes each name that is looked up in it, before it answers, also one that it has not; objects of users' classes
that a program holds (its operators) are noted by who walks it.  What the workbench declares itself never changes and
has no key, so that the names of its own entries are kept without one, in case that something is put before them.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from .code_key import HeldKey, held_key

EVERY: Final = "*"
"""The name that stands for all names, where a table was gone through."""


class Source(Protocol):
    """Where something is looked up by name."""

    @property
    def kind(self) -> str:
        """The word for its entries: "operator"."""
        ...

    def user_entry(self, name: str) -> Any:
        """What users entered of that name, or of `EVERY` name as a tuple; None where that is nothing.

        Not noted.
        """
        ...


@dataclass(frozen=True)
class InProgram:
    """The source of one object that a program holds itself, wherever its name leads by now."""

    kind: str
    entry: Any

    def user_entry(self, name: str) -> Any:
        """The object."""
        return self.entry


@dataclass(frozen=True)
class Environment:
    """The source of all variables of the environment."""

    kind = "environment"

    def user_entry(self, name: str) -> Any:
        """Names and values."""
        return tuple(sorted(os.environ.items()))


Lookup = tuple[Source, str]
_ENVIRONMENT: Final[Lookup] = Environment(), EVERY


@dataclass(frozen=True)
class Found:
    """What users had entered where something was looked up: the object, held so that no other gets its identity."""

    entry: Any
    held: HeldKey | None

    @property
    def key(self) -> str:
        """The key of its code; empty for nothing."""
        return "" if self.held is None else self.held.key


_NONE: Final = Found(None, None)


class Now:
    """What is in the tables at this moment, each key asked for once."""

    def __init__(self) -> None:
        self._found: dict[int, Found] = {}

    def found(self, lookup: Lookup) -> Found:
        """What users entered."""
        entry = lookup[0].user_entry(lookup[1])
        if entry is None:
            return _NONE
        known = self._found.get(id(entry))
        if known is None:
            known = self._found[id(entry)] = Found(entry, held_key(entry))
        return known


_changes = [0]
"""How often a table was changed."""
_users = [0]
"""How often of these by users."""


def changed(own: bool = False) -> None:
    """Say that something was entered into a source, or taken out of it; afterwards.  `own`: by the workbench itself."""
    _changes[0] += 1
    _users[0] += not own


def is_changed() -> bool:
    """Whether users have changed any source since this process began."""
    return bool(_users[0])


def moment() -> int:
    """A number that is another one after each such change."""
    return _changes[0]


class Reliance:
    """What was read, and what was found there; see the module's header."""

    def __init__(self, lookups: Mapping[Lookup, Found], moment: int) -> None:
        """`moment` is the count of changes before the first of them."""
        self.lookups = lookups
        self._held_at = moment

    def holds(self, now: Now | None = None) -> bool:
        """Whether all of it says the same now."""
        moment = _changes[0]
        if self._held_at == moment and not self.keys:
            return True  # what users wrote may read something that changes by itself, what the workbench did may not
        now = now or Now()
        held = all(now.found(lookup).key == found.key for lookup, found in self.lookups.items())
        if held:
            self._held_at = moment
        return held

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """The keys of all that may change by itself, by kind and name."""
        named = sorted((_named(lookup), found.key) for lookup, found in self.lookups.items())
        return {name: key for name, key in named if key}

    @cached_property
    def users(self) -> Mapping[str, str]:
        """Of these, the keys of what users entered: they hold in another process."""
        return {name: key for name, key in self.keys.items() if name != _named(_ENVIRONMENT)}


def _named(lookup: Lookup) -> str:
    source, name = lookup
    return f"table of {source.kind}s" if name == EVERY else f"{source.kind} {name}"


NOTHING: Final = Reliance({}, 0)


class Recording:
    """What is read while it is recorded."""

    def __init__(self) -> None:
        self.lookups: dict[Lookup, Found] = {}
        self._moment = _changes[0]
        self._now = Now()

    def note(self, lookup: Lookup) -> None:
        """What is there when it is looked up for the first time."""
        if lookup in self.lookups:
            return
        found = self.lookups[lookup] = self._now.found(lookup)
        if found.held is not None and found.held.reads_environment:
            self.note(_ENVIRONMENT)

    def settled(self) -> Reliance:
        """What was read so far, as it was when it was looked up first.

        What changed since, by another thread or by the run itself (a list that it fills), does not hold: its reader
        runs again when it is asked for again.
        """
        return Reliance(dict(self.lookups), self._moment) if self.lookups else NOTHING


_active: ContextVar[Recording | None] = ContextVar("workbench_reliance", default=None)


@contextmanager
def recording() -> Generator[Recording]:
    """Collect what is read inside the block; a recording around it collects it as well."""
    inner, outer = Recording(), _active.get()
    token = _active.set(inner)
    try:
        yield inner
    finally:
        _active.reset(token)
        if outer is not None:
            outer.lookups = {**inner.lookups, **outer.lookups}


@contextmanager
def unrecorded() -> Generator[None]:
    """Look something up whose key the reader holds already."""
    token = _active.set(None)
    try:
        yield
    finally:
        _active.reset(token)


def note(source: Source, name: str) -> None:
    """Say that something is about to be looked up."""
    active = _active.get()
    if active is not None:
        active.note((source, name))


def note_environment() -> None:
    """Say that any variable of the environment may have been read."""
    note(*_ENVIRONMENT)


def note_again(relied: Reliance) -> None:
    """Say that what was read earlier counts here too, where its result is used again."""
    active = _active.get()
    if active is not None:
        active.lookups = {**relied.lookups, **active.lookups}
