"""How often each line of a kernel's texts is run, counted from the loops around its statement.

    trips(s.provenance, kernel, "asm")[411]      # of line 412: 8,064 times a call

Counts are of the statement, not of the machine: an instruction that the optimiser moved out of a loop runs less often.
Iterations that are spread over several instructions (unrolled loops, lanes of vectors) count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from ..codegen.llvm.places import SourcePlace, printed
from ..core.node import Node, children
from ..tir import nodes as t

if TYPE_CHECKING:
    from .trails import Provenance

SPREAD = (t.ForKind.UNROLLED, t.ForKind.VECTORIZED)
"""Kinds of loops that code has no more: their iterations are lanes and copies."""


@dataclass(frozen=True)
class Nest:
    """The loops around a line of a printed function, outermost first, with those that begin on it."""

    loops: tuple[t.For, ...]
    statement: t.Stmt
    """The innermost that begins on the line."""

    @property
    def trips(self) -> int:
        """How often the line is run in one call; 0 where an extent is not a number."""
        count = 1
        for loop in self.loops:
            if loop.kind not in SPREAD:
                count *= int(getattr(loop.extent, "value", 0))
        return count


@lru_cache(maxsize=4)
def nests(function: t.PrimFunc, name: str) -> Mapping[int, Nest]:
    """The nest of each line of a printed function on which a statement begins, by line from 1."""
    _, places = printed(function, name)
    found: dict[int, Nest] = {}
    for node, around in with_loops(function):
        place = places.get(id(node), SourcePlace(0))
        if place.line < 1 or not isinstance(node, t.Stmt):
            continue
        loops = (*around, node) if isinstance(node, t.For) else around
        if place.line not in found or len(loops) >= len(found[place.line].loops):
            found[place.line] = Nest(loops, node)
    return found


def trips(provenance: Provenance, kernel: str, form: str = "asm") -> tuple[int, ...]:
    """How often the statement of each line of a kernel's text ("tir", "ll", "asm") is run in one call; 0: not known."""
    counts = {line: nest.trips for line, nest in nests(provenance.function(kernel), kernel).items()}
    total = provenance.text(kernel, form).count("\n") + 1
    if form == "tir":
        return tuple(counts.get(line, 0) for line in range(1, total + 1))
    spots = sorted({spot.text_line: spot.line for spot in provenance.native(kernel, form).spots}.items())
    return _along(spots, counts, total)


def hottest(provenance: Provenance, kernel: str, form: str = "asm") -> int:
    """The line (from 1) of a kernel's text in the middle of the statement that most instructions are run for.

    Instructions of a statement times its trips; 0 where nothing is counted.
    """
    counts = {line: nest.trips for line, nest in nests(provenance.function(kernel), kernel).items()}
    if form == "tir":
        return max(counts, key=lambda line: counts[line], default=0)
    lines: dict[int, list[int]] = {}
    for spot in provenance.native(kernel, form).spots:
        if spot.how == "line" and counts.get(spot.line):
            lines.setdefault(spot.line, []).append(spot.text_line)
    if not lines:
        return 0
    found = sorted(lines[max(lines, key=lambda line: len(lines[line]) * counts[line])])
    return found[len(found) // 2]


def with_loops(node: Node, around: tuple[t.For, ...] = ()) -> Iterator[tuple[Node, tuple[t.For, ...]]]:
    """A node and the statements in it, outer ones first, each with the loops around it."""
    yield node, around
    inside = (*around, node) if isinstance(node, t.For) else around
    for child in children(node):
        if isinstance(child, (t.Stmt, t.PrimFunc)):
            yield from with_loops(child, inside)


def _along(places: list[tuple[int, int]], counts: Mapping[int, int], total: int) -> tuple[int, ...]:
    """The count of each line of a native text: lines without an instruction belong to the next that has one.

    `places` are the lines of the text that hold an instruction, each with its line of the printed function.
    """
    found = [0] * total
    starts = [0, *(line for line, _ in places)]
    for (before, until), (_, line) in zip(pairwise(starts), places, strict=True):
        found[before:until] = [counts.get(line, 0)] * (until - before)
    return tuple(found)
