"""Recurrences: elements that are written once each, by several blocks or after others of the same buffer were read.

    for t:  s1[t, i] = 2 * S[t - 1, i]        s1 reads S, which s2 writes later: but never in the same iteration of t,
            s2: S[t, i] = s1[t, i] + X[t, i]   so s1 has its value whenever it is computed in that iteration or after it

Invariant: what is answered holds for all values of the loops around; what cannot be shown is answered False.
"""

from __future__ import annotations

from itertools import combinations

from ..analysis.regions import Bound, Box, hull
from ..analysis.tree import BlockSite
from ..arith.scope import Scope
from ..tir import nodes as t


def meets_later_writer(site: BlockSite, region: t.BufferRegion, writer: BlockSite) -> bool:
    """Whether `site` may read, in one iteration of the innermost loop around both, what `writer` writes in it."""
    common = [loop for loop in site.loops if any(loop is other for other in writer.loops)]
    if not common:
        return True
    read = hull(region, site, _inside(site, common))
    return not all(
        _apart(read, hull(written, writer, _inside(writer, common)), writer.forms)
        for written in writer.block.writes
        if written.buffer is region.buffer
    )


def write_apart(writers: tuple[BlockSite, ...], buffer: t.Buffer) -> bool:
    """Whether no two of the blocks write the same element of `buffer`."""
    boxes = [
        hull(written, writer, writer.loops)
        for writer in writers
        for written in writer.block.writes
        if written.buffer is buffer
    ]
    return all(_apart(one, other, writers[0].forms) for one, other in combinations(boxes, 2))


def over_time(block: t.Block) -> t.Block:
    """The block with its scan iterators spatial: which elements it writes is the same."""
    kinds = {t.IterKind.SCAN: t.IterKind.SPATIAL}
    return block.replace(
        iter_vars=tuple(item.replace(kind=kinds[item.kind]) if item.kind in kinds else item for item in block.iter_vars)
    )


def _inside(site: BlockSite, around: list[t.For]) -> list[t.For]:
    return [loop for loop in site.loops if all(loop is not other for other in around)]


def _apart(one: Box, other: Box, scope: Scope) -> bool:
    """True if the boxes differ along some axis."""
    return any(_after(a, b, scope) or _after(b, a, scope) for a, b in zip(one, other, strict=True) if a and b)


def _after(one: Bound, other: Bound, scope: Scope) -> bool:
    return scope.at_most(other.high.shifted(1), one.low)
