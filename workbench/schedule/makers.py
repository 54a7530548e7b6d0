"""Which moves of a schedule made the loops that stand in the program now.

    makers(sch)["j_1"]            # (2, 4): made by the second move (split), marked by the fourth (vectorize)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from ..arith.nodes import literal
from ..core.node import children
from ..tir import nodes as t

if TYPE_CHECKING:
    from ..core.node import Node
    from .schedule import Schedule

Looks = tuple[frozenset[tuple[str, str]], frozenset[str]]
"""The kinds and extents of the loops of one name, and the names of the loops around them."""


def makers(schedule: Schedule) -> dict[str, tuple[int, ...]]:
    """By loop name, the numbers (from 1) of the moves that made it, changed its kind or extent, or moved it.

    A loop that no move has touched has none.  Loops of one name are told as one.
    """
    moves = schedule.moves.done
    states = [_loops(schedule, number) for number in ([moves[0].before] if moves else []) + [m.after for m in moves]]
    found: dict[str, list[int]] = {}
    for number, (before, after) in enumerate(pairwise(states), 1):
        common = before.keys() & after.keys()
        for name, (kinds, around) in after.items():
            if name not in before or before[name][0] != kinds or before[name][1] & common != around & common:
                found.setdefault(name, []).append(number)
    last = states[-1] if states else {}
    return {name: tuple(found.get(name, ())) for name in last}


def _loops(schedule: Schedule, number: int) -> dict[str, Looks]:
    """The loops of a state of the schedule's history by name."""
    found: dict[str, Looks] = {}
    for function in dict(schedule._history[number].functions).values():
        for loop, around in _nested(function, ()):
            kinds, names = found.get(loop.var.name, (frozenset[tuple[str, str]](), frozenset[str]()))
            extent = str(literal(loop.extent, loop.extent))
            found[loop.var.name] = (kinds | {(loop.kind.name, extent)}, names | set(around))
    return found


def _nested(node: Node, around: tuple[str, ...]) -> Iterator[tuple[t.For, tuple[str, ...]]]:
    """Every loop with the names of those around it."""
    if isinstance(node, t.For):
        yield node, around
        around = (*around, node.var.name)
    for child in children(node):
        yield from _nested(child, around)
