"""compute_at: a producer moves into a loop of its consumers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...analysis.regions import Bound, hull, union
from ...analysis.tree import BlockSite, LoopSite
from ...arith.nodes import Var
from ...arith.scope import Scope
from ...tir import nodes as t
from ..arguments import Index
from ..blocks import require_intermediate, require_regular, require_whole_domain
from ..errors import require
from ..exact import doubting, require_concurrent, settle
from ..kinds import require_still_independent
from ..legality import require_legal
from ..placing import (
    Window,
    insert,
    loops_at,
    moved,
    outputs_of,
    part_of,
    position_of,
    require_plain_loops,
    require_still_written,
    require_target,
    run_ranges,
    window_of,
)
from ..references import ROOT, BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState, is_mark
from ..surgery import Names
from .compute_inline import compute_inline


@primitive(category="place")
def compute_at(
    state: ScheduleState, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: Index = -1
) -> Change[None]:
    """Move a producing block under a loop of its consumers: each iteration computes just the box that it needs.

    before:  for i, j in grid(16, 16): B[i, j] = A[i, j] * 2
             for i, j in grid(16, 16): C[i, j] = B[i, j] + 1
    after:   for i in range(16):                              # compute_at(B, i)
                 for ax1 in range(16): B[i, ax1] = A[i, ax1] * 2
                 for j in range(16): C[i, j] = B[i, j] + 1

    Elements that several iterations need are computed again in each.  Its old loops are gone.  An output of the
    function moves if its consumers need all of it.  A place drawn by sample_compute_location may be no loop: the root
    leaves the block where it is, inlined means compute_inline.
    Raises `ScheduleError`: an output of which an element would not be written, consumers outside the loop, producers
    inside that have not made what is needed, a block whose values depend on when they are computed.
    """
    if is_mark(loop):
        return Change(state.func) if loop.target is ROOT else compute_inline(state, block)
    site, target = state.block(block), state.loop_site(loop)
    working = doubting(state)
    require_regular(working, site, "move")
    require_whole_domain(working, site, "move")
    require_target(site, target, "move")
    require_plain_loops(site, "move")
    consumers = _consumers(working, site, target)
    around = loops_at(target)
    _require_finished(working, site, target, around)
    ranges = run_ranges(site)
    windows = _windows(site, target, consumers, ranges)
    placed = moved(site, windows, around, Names(state.tree.names()), preserve_unit_loops, ranges)
    first = min(part_of(state.tree, target.loop, consumer) for consumer in consumers)
    position = position_of(index, 0, first, first, target.loop)
    func = insert(state, site, target, placed, position)
    require_still_written(state, working, site, func)
    settle(state, working, func, around)
    if outputs_of(state, site):  # no iteration has an output to itself
        require_concurrent(replace(state, functions=state.functions.set(state.working, func)), around)
    require_still_independent(state, func, [region.buffer for region in site.reads])
    return Change(func)


def _consumers(state: ScheduleState, site: BlockSite, target: LoopSite) -> list[BlockSite]:
    """The blocks that read what `site` writes, all of them inside the target."""
    found: list[BlockSite] = []
    for region in site.block.writes:
        for reader in state.tree.readers(region.buffer):
            inside = any(part is target.loop for part in reader.path)
            require_legal(
                state,
                inside,
                "E-SCHEDULE-CONSUMER-OUTSIDE",
                f"{reader.name} reads {region.buffer.name} outside of {target.loop.var.name}",
                found="a consumer that would miss what it reads",
                expected=f"all consumers of {site.name} inside the loop",
                fix="move that consumer into the loop first, or choose a loop around all consumers",
                nodes=(reader.block, target.loop),
            )
            require_legal(
                state,
                reader.order >= site.order,
                "E-SCHEDULE-CONSUMER-EARLIER",
                f"{reader.name} stands before {site.name}, whose {region.buffer.name} it reads",
                found="a consumer of what an earlier iteration made, or of nothing",
                expected="consumers that follow the block",
                fix="move the consumer behind the block first",
                nodes=(reader.block, site.block),
            )
            if inside:
                found.append(reader)
    if not found and state.doubts:
        raise state.doubts[0]
    if not found:
        require_intermediate(state, site, "move")
    _require_consumer(site, bool(found))
    return found


def _require_consumer(site: BlockSite, found: bool) -> None:
    require(
        found,
        "E-SCHEDULE-NO-CONSUMER",
        f"nothing reads what {site.name} writes",
        found="no consumer",
        expected="a block with consumers inside the loop",
        fix="choose another block",
        nodes=(site.block,),
    )


def _require_finished(state: ScheduleState, site: BlockSite, target: LoopSite, around: Sequence[t.For]) -> None:
    """What the block reads must be there for all of the box that it computes in one iteration of the target."""
    for region in site.reads:
        for writer in state.tree.writers(region.buffer):
            shared = [loop.var.name for loop in around if any(part is loop for part in writer.path)]
            require_legal(
                state,
                not shared,
                "E-SCHEDULE-PRODUCER-INSIDE",
                f"{writer.name}, which {site.name} reads from, stands in a loop around {target.loop.var.name}, too",
                found=f"a producer in {shared[-1] if shared else ''}, which may not have made all that is needed",
                expected="producers that are finished before, or make in each iteration what is read in it",
                fix=f"move {site.name} first, and {writer.name} after it",
                nodes=(writer.block, site.block),
            )


def _windows(
    site: BlockSite, target: LoopSite, consumers: list[BlockSite], ranges: Mapping[Var, t.Range]
) -> dict[int, Window]:
    """For each iterator that indexes an axis plainly: the values needed in one iteration of the target."""
    scope, needed = site.forms, dict[int, list[Bound | None]]()
    for written in site.block.writes:
        boxes = [
            box
            for consumer in consumers
            for region in consumer.reads
            if region.buffer is written.buffer
            for box in [hull(region, consumer, _inside(consumer, target))]
        ]
        for axis, where in enumerate(written.region):
            form, shift = scope.parted(scope.linear(where.min), site.iterators)
            var = scope.only_variable(form)
            for box in boxes if var is not None else []:
                bound = box[axis]
                needed.setdefault(id(var), []).append(
                    None if bound is None else Bound(bound.low.minus(shift), bound.high.minus(shift))
                )
    windows: dict[int, Window] = {}
    for iter_var in site.block.iter_vars:
        bounds = needed.get(id(iter_var.var), [])
        known = [bound for bound in bounds if bound is not None]
        if iter_var.kind is t.IterKind.SPATIAL and bounds and len(known) == len(bounds):
            part, bound = ranges.get(iter_var.var, iter_var.dom), union(known, scope)
            _require_consumer(site, bound is None or iter_var.var not in ranges or not _is_apart(bound, part, scope))
            window = window_of(bound, iter_var.replace(dom=part), scope)
            if window is not None:
                windows[id(iter_var.var)] = window
    return windows


def _is_apart(bound: Bound, part: t.Range, scope: Scope) -> bool:
    """Whether a bound holds nothing of a range."""
    begin = scope.linear(part.min)
    return scope.at_most(bound.high.shifted(1), begin) or scope.at_most(
        begin.plus(scope.linear(part.extent)), bound.low
    )


def _inside(consumer: BlockSite, target: LoopSite) -> Sequence[t.For]:
    at = next(i for i, loop in enumerate(consumer.loops) if loop is target.loop)
    return consumer.loops[at + 1 :]
