"""Where each statement stands in the printed loop program: what debug locations point at.

A statement has a line; a loop has an ordinal besides, since several may begin on one line (``T.grid``).

    text, places = printed(func, "matmul")
    places[id(loop)]        # SourcePlace(line=4, ordinal=2): the second loop of line 4
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ...core.node import pre_order
from ...tir import nodes as t
from ...tir.script import text


class SourcePlace(NamedTuple):
    """A line of the printed function, from 1; for loops, which of those beginning there, from 1."""

    line: int
    ordinal: int = 0


EXPRESSION: Final = 0
"""The line in the places of expressions, which have an ordinal only."""
MOST_COLUMNS: Final = (1 << 14) - 1


def numbered(stmt: t.Stmt) -> dict[int, int]:
    """The parts of a statement that does something itself, by identity: 1 is the statement, expressions follow.

    Debug locations made for provenance hold these numbers as columns.
    """
    found: dict[int, int] = {}
    if isinstance(stmt, (t.BufferStore, t.Evaluate, t.AssertStmt)):
        for number, node in enumerate(pre_order(stmt), 1):
            if number <= MOST_COLUMNS:
                found[id(node)] = number
    return found


def printed(func: t.PrimFunc, name: str, expressions: bool = False) -> tuple[str, dict[int, SourcePlace]]:
    """The printed function, and the place of each statement in it by identity (the first, if it is shared).

    With `expressions` also of the expressions in stores, calls and assertions.
    """
    found = text(func, name if name.isidentifier() else None)
    starts: dict[int, int] = {}
    loops: dict[int, t.For | t.While] = {}
    for node, span in found.spans:
        if isinstance(node, t.Stmt):
            starts[id(node)] = min(span.start, starts.get(id(node), span.start))
            if isinstance(node, (t.For, t.While)):
                loops[id(node)] = node
    places = {identity: SourcePlace(found.position(start)[0]) for identity, start in starts.items()}
    seen: dict[int, int] = {}
    for identity in sorted(loops, key=lambda known: starts[known]):
        line = places[identity].line
        seen[line] = seen.get(line, 0) + 1
        places[identity] = SourcePlace(line, seen[line])
    for node, _ in found.spans if expressions else ():
        if isinstance(node, t.Stmt):
            parts = numbered(node)
            places.update({key: SourcePlace(EXPRESSION, number) for key, number in parts.items() if number > 1})
    return found.text, places
