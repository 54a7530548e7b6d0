"""What a computation reads from tables that users may add to: it holds as long as these say the same.

    with reliance.recording() as used:
        module = lower(module)
    relied = used.settled()
    relied.holds()                # False once an operator that was looked up has been defined anew
    relied.from_outside           # {"operator my.op": "5f0c..."}: what is not the workbench's own, by code key

A table notes each name that is looked up in it, also one that it has not; objects of users' classes that a program
holds (its operators) are noted by who walks it.  What the workbench declares itself never changes and has no key, so
that the names of its own entries are kept without one, in case that something is put before them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from .code_key import held_key

EVERY: Final = "*"
"""The name that stands for all names, where a table was gone through."""


class Source(Protocol):
    """Where something is looked up by name."""

    @property
    def kind(self) -> str:
        """The word for its entries: "operator"."""
        ...

    def outside(self, name: str) -> Any:
        """What users entered of that name, or of `EVERY` name; None where that is nothing.  Not noted."""
        ...


@dataclass(frozen=True)
class Held:
    """The source of one object that a program holds itself, wherever its name leads by now."""

    kind: str
    entry: Any

    def outside(self, name: str) -> Any:
        """The object."""
        return self.entry


Use = tuple[Source, str]


class Now:
    """The keys of what is in the tables at this moment, each asked for once."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[Any, str]] = {}

    def key(self, use: Use) -> str:
        """The key of what users entered; empty for nothing."""
        entry = use[0].outside(use[1])
        if entry is None:
            return ""
        known = self._keys.get(id(entry))
        if known is None:
            known = self._keys[id(entry)] = (entry, held_key(entry))
        return known[1]


_changes = [0]
"""How often a table was changed from outside."""


def changed() -> None:
    """Say that something was entered into a source from outside, or taken out of it."""
    _changes[0] += 1


class Reliance:
    """What was read, and the keys that it had; see the module's header."""

    def __init__(self, keys: Mapping[Use, str]) -> None:
        self.keys = keys
        self._held_at = _changes[0]

    def holds(self, now: Now | None = None) -> bool:
        """Whether all of it says the same now."""
        moment = _changes[0]
        if self._held_at == moment and not self.from_outside:
            return True  # what users wrote may read something that changes by itself, what the workbench did may not
        now = now or Now()
        held = all(now.key(use) == key for use, key in self.keys.items())
        if held:
            self._held_at = moment
        return held

    @cached_property
    def from_outside(self) -> Mapping[str, str]:
        """The keys of what users entered, by kind and name."""
        return {named: key for named, key in sorted((_named(use), key) for use, key in self.keys.items()) if key}


def _named(use: Use) -> str:
    source, name = use
    return f"table of {source.kind}s" if name == EVERY else f"{source.kind} {name}"


NOTHING: Final = Reliance({})


class Used:
    """What is read while it is recorded."""

    def __init__(self) -> None:
        self.uses: dict[Use, None] = {}

    def settled(self) -> Reliance:
        """What was read so far, with the keys of now."""
        now = Now()
        return Reliance({use: now.key(use) for use in self.uses}) if self.uses else NOTHING


_active: ContextVar[Used | None] = ContextVar("workbench_reliance", default=None)


@contextmanager
def recording() -> Generator[Used]:
    """Collect what is read inside the block; a recording around it collects it as well."""
    used, outer = Used(), _active.get()
    token = _active.set(used)
    try:
        yield used
    finally:
        _active.reset(token)
        if outer is not None:
            outer.uses.update(used.uses)


def note(source: Source, name: str) -> None:
    """Say that something was looked up."""
    used = _active.get()
    if used is not None:
        used.uses[source, name] = None


def note_again(relied: Reliance) -> None:
    """Say that what was read earlier counts here too, where its result is used again."""
    used = _active.get()
    if used is not None:
        used.uses.update(dict.fromkeys(relied.keys))
