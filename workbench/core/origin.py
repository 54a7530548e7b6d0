"""Origins: which earlier things a node comes from, kept beside the program.

A table maps nodes (by identity) to sets of origins; an origin is any earlier node or an `ImportedFrom` label.
Origins take no part in equality, text or fingerprints.  The table of the step being run is ambient: the rewrite
driver calls `derived(new, old)`, as do passes that build modules whole.  With no table active nothing is recorded.

>>> from workbench.core import origin
>>> with origin.recording() as table:
...     pass
>>> len(table)
0
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ImportedFrom:
    """A place outside the workbench: a node of a model file, a line of a notebook cell."""

    kind: str
    """"onnx", "text", "python"."""
    name: str
    """The element, e.g. ``Conv#3 ('conv_out')``."""
    detail: str = ""


class OriginTable:
    """Origins by node identity.  Holds its nodes, so that an identity is never reused while the table lives."""

    __slots__ = ("_entries", "_existing")

    def __init__(self, existing: Iterable[Any] = ()) -> None:
        self._entries: dict[int, tuple[Any, frozenset[Any]]] = {}
        self._existing = {id(node): node for node in existing}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, node: Any) -> bool:
        return id(node) in self._entries

    def is_old(self, node: Any) -> bool:
        """True for a node of the program that the step began with."""
        return id(node) in self._existing

    def share_old(self, other: OriginTable) -> None:
        """Count as old what `other` does."""
        self._existing = other._existing

    def add(self, node: Any, origins: Iterable[Any]) -> None:
        """Join `origins` to what is known of `node`."""
        known = self._entries.get(id(node))
        joined = frozenset(origins) if known is None else known[1].union(origins)
        self._entries[id(node)] = (node, joined)

    def derive(self, new: Any, sources: Iterable[Any]) -> None:
        """Join `sources` to what is known of `new`, and give them to what is in it and has no origins yet."""
        from .node import Node, children

        entries, existing, origins = self._entries, self._existing, frozenset(sources)
        stopped = {id(source) for source in origins}
        stack = [new]
        while stack:
            current = stack.pop()
            key = id(current)
            if key in stopped or key in existing:
                continue
            stopped.add(key)
            known = entries.get(key)
            if known is None:
                entries[key] = (current, origins)
                if isinstance(current, Node):
                    stack.extend([child for child in children(current) if child.is_traced])
            elif current is new:
                entries[key] = (current, known[1] | origins)

    def join(self, other: OriginTable) -> None:
        """Take over all that another table knows."""
        mine = self._entries
        for key, entry in other._entries.items():
            known = mine.get(key)
            if known is None:
                mine[key] = entry
            elif known[1] is not entry[1]:
                mine[key] = (known[0], known[1] | entry[1])

    def of(self, node: Any) -> frozenset[Any]:
        """What `node` was directly derived from (empty if unknown or unchanged); itself too if it was there before."""
        known = self._entries.get(id(node))
        return known[1] if known is not None else frozenset()

    def items(self) -> Iterator[tuple[Any, frozenset[Any]]]:
        return iter(self._entries.values())


_active: ContextVar[OriginTable | None] = ContextVar("workbench_origins", default=None)


@contextmanager
def recording(existing: Iterable[Any] = ()) -> Generator[OriginTable]:
    """Record derivations inside the block; `existing` are all nodes of the program before it."""
    used = OriginTable(existing)
    token = _active.set(used)
    try:
        yield used
    finally:
        _active.reset(token)


def active() -> OriginTable | None:
    """The table being recorded into, if any."""
    return _active.get()


def joined(kept: Any, *merged: Any) -> Any:
    """Say that `kept`, which may be there already, now stands for `merged` too; returns `kept`.

    For merging equal expressions, and for rewrites whose answer is a part of what they replace.
    """
    table = _active.get()
    if table is not None:
        others = [node for node in merged if node is not kept]
        if others:
            table.add(kept, [kept, *others] if table.is_old(kept) else others)
    return kept


def derived(new: Any, *sources: Any) -> Any:
    """Say that `new` comes from `sources`; returns `new`.  Nodes inside `new` that are new too inherit this."""
    table = _active.get()
    if table is None:
        return new
    table.derive(new, sources)
    return new
