"""Block by block: inline what is elementwise, then give each block that is left threads and vectors.

relu(x + b)      one loop over rows in parallel, vectors along them
mean, pooling    rows in parallel; vectors where the innermost spatial iterator runs through memory
"""

from __future__ import annotations

from ...analysis.tree import BlockSite
from ...arith import nodes as n
from ...core.node import Node, children, pre_order
from ...tir import nodes as t
from ..errors import ScheduleError
from ..inlining import size_of, stored_size, uses
from ..references import LoopRV
from ..schedule import Schedule
from .columns import VECTORS, in_registers
from .lanes import in_lanes
from .loops import UNROLLED_TAPS, attempted, cut, is_long, parallel, several_vectors, taps_of, vectors
from .shapes import (
    Machine,
    contiguous_axes,
    extent,
    is_choice,
    is_reduction,
    iterations,
    lanes_in_step,
    largest_divisor,
    of_kind,
    site_of,
    unit_stride,
    whole_lanes,
)
from .transposed import only_moves, read_along, read_on, several_runs, tiles

SUMS = 8
"""Sums that are added up side by side."""
ELEMENT_NODES = 32
"""Nodes of an element that is written out for each place of a row."""
EXPRESSION_NODES = 2048
"""Nodes of a block into which nothing more is inlined; no kernel of a real network came near it (1,242)."""
COPIED_NODES = 256
"""Nodes that inlining one value read in several places may add."""


def inline_elementwise(schedule: Schedule, keep: frozenset[str] = frozenset()) -> None:
    """Inline blocks without reduction into their consumers, unless a reduction would compute them again and again, or
    expressions would grow beyond measure."""
    for name in [site.name for site in schedule.state.tree.leaves]:
        site = site_of(schedule, name)  # as it is by now: what was inlined into it counts
        if name in keep or is_reduction(site):
            continue
        readers = [reader for region in site.block.writes for reader in schedule.state.tree.readers(region.buffer)]
        tag = str(site.block.annotations.get("tag", ""))
        repeated = any(is_reduction(reader) and iterations(reader) > iterations(site) for reader in readers)
        padding = any(is_reduction(reader) for reader in readers) and "pad" in tag
        if not readers or repeated or padding or _outgrows(site, readers) or _is_moved_first(site, readers):
            continue
        block = schedule.get_block(site.name)
        try:  # not why_not first: it would do all the work twice
            schedule.compute_inline(block)
        except ScheduleError:
            schedule.undo()


def _is_moved_first(site: BlockSite, readers: list[BlockSite]) -> bool:
    """Whether a block moves tiles of elements, and a reader asks for each of them, as one that pads: in one, there
    would be no tiles."""
    asks = any(any(map(is_choice, pre_order(reader.block.body))) for reader in readers)
    return asks and only_moves(site) and read_along(site) is not None


def _outgrows(site: BlockSite, readers: list[BlockSite]) -> bool:
    """Whether putting a block's value wherever it is read makes expressions too large: a value that is read twice is
    there twice, and a chain of n such values has 2**n leaves."""
    if not isinstance(site.block.body, t.BufferStore):
        return False  # nothing that can be inlined
    buffer, size = site.block.body.buffer, stored_size(site.block.body)
    copies = 0
    for reader in readers:
        body = reader.block.body
        found = uses(body, buffer)
        copies += found
        if found * size + size_of(body) > EXPRESSION_NODES:
            return True
    return (copies - 1) * size > COPIED_NODES


def blockwise(schedule: Schedule, machine: Machine) -> None:
    """Schedule every block by itself."""
    inline_elementwise(schedule)
    for site in tuple(schedule.state.tree.leaves):
        block_by_itself(schedule, site.name, machine)


def block_by_itself(schedule: Schedule, name: str, machine: Machine) -> None:
    """Threads and vectors for one block in loops of its own."""
    site = site_of(schedule, name)
    if not site.loops or any(loop.kind is not t.ForKind.SERIAL for loop in site.loops):
        return
    attempted(schedule, lambda: (reduction if is_reduction(site) else elementwise)(schedule, name, machine))


def elementwise(schedule: Schedule, name: str, machine: Machine) -> None:
    """Rows in parallel, vectors along what is contiguous."""
    site = site_of(schedule, name)
    block = schedule.get_block(name)
    loops = schedule.get_loops(block)
    lanes = machine.lanes_for(site.block.writes[0].buffer)
    count = min(contiguous_axes(site), len(loops))
    if len(loops) == len(site.block.iter_vars) and count:
        row = loops[-count] if count == 1 else schedule.fuse(*loops[-count:])
        body = site.block.body
        if isinstance(body, t.BufferStore) and is_long(body.value):
            lanes = several_vectors(schedule, row, lanes, machine)
        outer, _ = vectors(schedule, row, lanes)
        parallel(schedule, [*loops[:-count], *outer], iterations(site))
        return
    if (shared := lanes_in_step(site, lanes)) is not None:
        around = loops[:-1] if (on := read_on(site)) is None else several_runs(schedule, loops, on)
        vectors(schedule, loops[-1], shared)  # rows stay whole: what tells their places is computed once a row
        parallel(schedule, around or loops, iterations(site))
        return
    if (along := read_along(site)) is not None:
        parallel(schedule, tiles(schedule, site, loops, along, machine), iterations(site))
        return
    if _is_short_row(site):
        schedule.unroll(loops[-1])  # elements far apart, one by one
    parallel(schedule, loops[:-1] or loops, iterations(site))


def _is_short_row(site: BlockSite) -> bool:
    """Whether the last iterator may be written out: its elements are few and small, and none has a condition."""
    size = extent(site.block.iter_vars[-1]) if len(site.block.iter_vars) == len(site.loops) > 1 else None
    body = site.block.body
    if size is None or not 2 <= size <= UNROLLED_TAPS or not isinstance(body, t.BufferStore):
        return False
    nodes: list[Node] = [body.value]
    for node in nodes:  # what computes places is simpler by the time that code is made of it
        nodes += [] if isinstance(node, t.BufferLoad) else children(node)
    return len(nodes) <= ELEMENT_NODES and not any(map(is_choice, nodes))


def reduction(schedule: Schedule, name: str, machine: Machine) -> None:
    """Spatial loops outside, in parallel; vectors along the last spatial iterator where memory is in step with it."""
    site = site_of(schedule, name)
    items = site.block.iter_vars
    spatial = of_kind(items, t.IterKind.SPATIAL)
    if len(site.loops) != len(items) or not spatial:
        return
    last = items[spatial[-1]]
    size, lanes = extent(last), machine.lanes_for(site.block.writes[0].buffer)
    strided = not unit_stride(site, last)
    even = size is not None and (whole_lanes(size, lanes) or 1) % 2 == 0
    if size is not None and size >= 4 and unit_stride(site, last, 4) and (even or not strided):
        if not in_registers(schedule, name, lanes, 1 if strided else VECTORS):
            _in_vectors(schedule, name, lanes)
        return
    around = in_lanes(schedule, name, machine)
    if around is not None:
        parallel(schedule, around, iterations(site))
        return
    _one_by_one(schedule, name)


def _in_vectors(schedule: Schedule, name: str, lanes: int) -> None:
    """Vectors of results, which are in memory."""
    items = site_of(schedule, name).block.iter_vars
    loops = schedule.get_loops(schedule.get_block(name))
    *rows, last = of_kind(items, t.IterKind.SPATIAL)
    outer, inner = cut(schedule, loops[last], lanes)
    around = [*(loops[number] for number in rows), *outer]
    taps = [loops[number] for number in of_kind(items, t.IterKind.REDUCE)]
    schedule.reorder(*around, *taps, *inner)
    for loop in inner:
        schedule.vectorize(loop)
    _finish(schedule, name, around, taps)


def _one_by_one(schedule: Schedule, name: str) -> None:
    """Results one by one, several sums of floats at a time."""
    site = site_of(schedule, name)
    items = site.block.iter_vars
    loops = schedule.get_loops(schedule.get_block(name))
    rows = [loops[number] for number in of_kind(items, t.IterKind.SPATIAL)]
    taps = [loops[number] for number in of_kind(items, t.IterKind.REDUCE)]
    if _is_sum(site):
        rows = _side_by_side(schedule, rows, taps)
    _finish(schedule, name, rows, taps)


def _finish(schedule: Schedule, name: str, rows: list[LoopRV], taps: list[LoopRV]) -> None:
    """Few taps written out, the start before them, rows in parallel."""
    site = site_of(schedule, name)
    if 0 < taps_of(site.block.iter_vars) <= UNROLLED_TAPS:
        for tap in taps:
            schedule.unroll(tap)
    if site.block.init is not None:
        schedule.decompose_reduction(schedule.get_block(name), taps[0])
    parallel(schedule, rows, iterations(site))


def _is_sum(site: BlockSite) -> bool:
    """Whether a block adds up floats, one after the other: the order is part of the result."""
    body = site.block.body
    return isinstance(body, t.BufferStore) and isinstance(body.value, n.Add) and body.value.dtype.is_float


def _side_by_side(schedule: Schedule, rows: list[LoopRV], reduced: list[LoopRV]) -> list[LoopRV]:
    """Several sums at a time, written out inside the loops that add up: none waits for another.  The rows left."""
    sizes = [getattr(schedule.get(loop).extent, "value", 1) for loop in rows]
    number = max((number for number, size in enumerate(sizes) if size > 1), default=0)
    together = largest_divisor(sizes[number], SUMS)
    if together < 2:
        return rows
    outer, inner = [rows[number]], rows[number]
    if together < sizes[number]:
        split = schedule.split(rows[number], factors=[None, together])
        outer, inner = [split[0]], split[1]
    left = [*rows[:number], *(outer if inner is not rows[number] else []), *rows[number + 1 :]]
    schedule.reorder(*left, *reduced, inner)
    schedule.unroll(inner)
    return left
