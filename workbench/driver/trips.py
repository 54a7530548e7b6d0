"""How often each line of a kernel's texts is run, counted from the loops around its statement.

    trips(s.provenance, kernel, "asm")[411]      # of line 412: 8,064 times a call

Counts are of the statement; assembly tells how deep in loops a block is (`loop_depths`), and an instruction that stands
outside of loops in which others of its statement are counts without these.
Iterations that are spread over several instructions (unrolled loops, lanes of vectors) count once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Final

from ..arith.nodes import literal
from ..codegen.llvm.places import SourcePlace, printed
from ..core.node import Node, children
from ..tir import nodes as t

if TYPE_CHECKING:
    from .trails import Provenance

_BLOCK: Final = re.compile(r"(?!\.?Ltmp|\.?Lfunc)(?:\.?LBB\S*:|[A-Za-z_][\w.$]*:|\W*%bb\.)")
"""A line of assembly with which a block begins."""
_DEPTH: Final = re.compile(r"(?:This (?:Inner )?Loop Header:|in Loop: Header=\S+) Depth=(\d+)")
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
        return self.trips_outside(0)

    @property
    def turning(self) -> tuple[t.For, ...]:
        """The loops that code has too, as far as the program says; outermost first."""
        return tuple(loop for loop in self.loops if loop.kind not in SPREAD and literal(loop.extent, 0) != 1)

    def trips_outside(self, inner: int) -> int:
        """How often what stands before so many of the innermost loops is run."""
        return prod(int(literal(loop.extent, 0)) for loop in self.turning[: len(self.turning) - inner])


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
    total = provenance.text(kernel, form).count("\n") + 1
    if form == "tir":
        found = nests(provenance.function(kernel), kernel)
        return tuple(found[line].trips if line in found else 0 for line in range(1, total + 1))
    return _along(sorted(_counted(provenance, kernel, form).items()), total)


def hottest(provenance: Provenance, kernel: str, form: str = "asm") -> int:
    """The line (from 1) of a kernel's text in the middle of the statement that most instructions are run for.

    Instructions of a statement times its trips; 0 where nothing is counted.
    """
    if form == "tir":
        counts = {line: nest.trips for line, nest in nests(provenance.function(kernel), kernel).items()}
        return max(counts, key=lambda line: counts[line], default=0)
    counted = _counted(provenance, kernel, form)
    lines: dict[int, list[int]] = {}
    for spot in provenance.native(kernel, form).spots:
        if spot.how == "line" and counted.get(spot.text_line):
            lines.setdefault(spot.line, []).append(spot.text_line)
    if not lines:
        return 0
    most = max(lines, key=lambda line: sum(counted[at] for at in lines[line]))
    often = max(counted[at] for at in lines[most])
    found = sorted(at for at in lines[most] if counted[at] == often)
    return found[len(found) // 2]


def loop_depths(text: str) -> tuple[int, ...]:
    """In how many loops of the machine's code each line of an assembly text stands, as LLVM's comments say."""
    depth, found = 0, list[int]()
    for line in text.split("\n"):
        depth = 0 if _BLOCK.match(line) else depth
        said = _DEPTH.search(line)
        depth = int(said[1]) if said is not None else depth
        found.append(depth)
    return tuple(found)


def _counted(provenance: Provenance, kernel: str, form: str) -> dict[int, int]:
    """How often the instruction on each line of a native text is run, by line from 1."""
    found = nests(provenance.function(kernel), kernel)
    spots = provenance.native(kernel, form).spots
    if form != "asm":
        return {spot.text_line: found[spot.line].trips if spot.line in found else 0 for spot in spots}
    depths = loop_depths(provenance.text(kernel, form))
    own: dict[tuple[str, int], int] = {}
    for spot in spots:
        place = spot.function, spot.line
        own[place] = max(own.get(place, 0), depths[spot.text_line - 1])
    inside, counted = _deepest(own, found), dict[int, int]()
    for spot in spots:
        nest = found.get(spot.line)
        if nest is None:
            counted[spot.text_line] = 0
            continue
        deepest = inside.get((spot.function, spot.line), 0)
        left = max(deepest - depths[spot.text_line - 1], 0)
        copied = max(len(nest.turning) - deepest, 0)  # innermost loops that code is written out for
        counted[spot.text_line] = nest.trips_outside(min(copied + left, len(nest.turning)))
    return counted


def _deepest(own: Mapping[tuple[str, int], int], found: Mapping[int, Nest]) -> dict[tuple[str, int], int]:
    """How deep in the machine's loops each statement is: of a loop as far as the statements in it tell."""
    nested = {place: tuple(map(id, found[place[1]].turning)) for place in own if place[1] in found}
    deepest: dict[tuple[str, tuple[int, ...]], int] = {}
    for (function, line), nest in nested.items():
        for count in range(len(nest) + 1):
            place, depth = (function, nest[:count]), own[function, line] - (len(nest) - count)
            deepest[place] = max(deepest.get(place, 0), depth)
    return {place: deepest[place[0], nest] for place, nest in nested.items()}


def with_loops(node: Node, around: tuple[t.For, ...] = ()) -> Iterator[tuple[Node, tuple[t.For, ...]]]:
    """A node and the statements in it, outer ones first, each with the loops around it."""
    yield node, around
    inside = (*around, node) if isinstance(node, t.For) else around
    for child in children(node):
        if isinstance(child, (t.Stmt, t.PrimFunc)):
            yield from with_loops(child, inside)


def _along(places: list[tuple[int, int]], total: int) -> tuple[int, ...]:
    """The count of each line of a native text: lines without an instruction belong to the next that has one.

    `places` are the lines of the text that hold an instruction, each with its count.
    """
    found = [0] * total
    starts = [0, *(line for line, _ in places)]
    for (before, until), (_, count) in zip(pairwise(starts), places, strict=True):
        found[before:until] = [count] * (until - before)
    return tuple(found)
