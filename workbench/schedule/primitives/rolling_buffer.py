"""rolling_buffer: what consecutive iterations share is kept, in a buffer used around and around."""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis.bindings import guards_only, writes_box
from ...analysis.reduction_loops import reduce_variables
from ...analysis.regions import Box, hull
from ...analysis.tree import BlockSite, Tree
from ...arith import build
from ...arith.forms import Form
from ...arith.nodes import PrimExpr, Var
from ...tir import nodes as t
from ...tir.index_map import IndexMap
from ..arguments import BufferIndex
from ..blocks import require_intermediate, require_not_addressed, require_regular, written_buffer
from ..errors import refuse, require
from ..layouts import relaid, require_plain_storage
from ..legality import require_legal
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced

KEY = "rolling_buffer"


@dataclass(frozen=True)
class _Rolling:
    """The loop, the axis along which the window moves, its length, and by how much it moves an iteration."""

    loop: t.For
    inner: tuple[t.For, ...]
    axis: int
    window: int
    step: int
    box: Box


@primitive(category="place", suggest={"write_buffer_index": [0]})
def rolling_buffer(state: ScheduleState, block: BlockRV, write_buffer_index: BufferIndex) -> Change[None]:
    """Let a block that moved into a loop compute only what the iteration before has not: the rest is still there.

    before:  for y in range(14):                                     # after compute_at(A, y)
                 for ax0 in range(3): A[y + ax0] = ...               # A is (16,); 2 of 3 rows were there already
                 B[y] = A[y] + A[y + 1] + A[y + 2]
    after:   for y in range(14):
                 for ax0 in range(3): where y == 0 or ax0 >= 2: A[(y + ax0) % 3] = ...      # A is (3,)
                 B[y] = A[y % 3] + A[(y + 1) % 3] + A[(y + 2) % 3]

    The loop must stay serial, which later steps see to.
    Raises `ScheduleError`: a block that shares no loop with its consumers, windows that do not overlap or move along
    several axes, consumers that read beyond the window, a loop that is not serial.
    """
    site = state.block(block)
    require_regular(state, site, "roll")
    require_intermediate(state, site, "roll")
    buffer = written_buffer(state, block, write_buffer_index)
    require_not_addressed(state, buffer)
    require_plain_storage(state, site, buffer, "roll")
    region = next(region for region in site.block.writes if region.buffer is buffer)
    found = _rolling(state, site, region)
    _require_filled(state, site, region, found)
    for reader in state.tree.readers(buffer):
        _require_inside(state, site, reader, buffer, found)
    rank = len(buffer.shape)
    variables = tuple(Var(f"i{number}") for number in range(rank))
    outputs = tuple(
        build.floormod(var, found.window) if number == found.axis else var for number, var in enumerate(variables)
    )
    shape = tuple(
        build.const(found.window) if number == found.axis else extent for number, extent in enumerate(buffer.shape)
    )
    func = relaid(state.func, buffer, buffer.replace(shape=shape), IndexMap(variables, outputs))
    now = Tree.of(func).blocks[site.name]
    predicate = build.logical_and(now.realize.predicate, _is_new(site, region, found))
    rolled = now.block.replace(annotations=now.block.annotations.set(KEY, found.axis))
    return Change(replaced(func, {id(now.realize): now.realize.replace(predicate=predicate, block=rolled)}))


def _is_new(site: BlockSite, region: t.BufferRegion, found: _Rolling) -> PrimExpr:
    """Whether an iteration computes an element that the one before did not."""
    bound = found.box[found.axis]
    assert bound is not None
    place = site.forms.index(site.over_loops(region.region[found.axis].min).minus(bound.low))
    first = build.equal(found.loop.var, found.loop.min)
    return build.any_of(first, build.greater_equal(place, found.window - found.step))


def _rolling(state: ScheduleState, site: BlockSite, region: t.BufferRegion) -> _Rolling:
    readers = state.tree.readers(region.buffer)
    shared = [loop for loop in site.loops if all(any(part is loop for part in reader.path) for reader in readers)]
    require(
        bool(shared and readers),
        "E-SCHEDULE-ROLLING-LOOP",
        f"{site.name} shares no loop with its consumers",
        found=f"consumers: {', '.join(reader.name for reader in readers) or 'none'}",
        expected="a block inside a loop of its consumers",
        fix=f"compute_at({site.name!r}, loop) first",
        nodes=(site.block,),
    )
    refusal: Exception | None = None
    for loop in reversed(shared):
        inner = site.loops[site.loops.index(loop) + 1 :]
        box = hull(region, site, inner)
        own = {site.forms.number_of(loop.var)}
        moving = [
            axis
            for axis, bound in enumerate(box)
            if bound is None or any(site.forms.moves(end, own) for end in bound)
        ]
        found = _along(site, loop, inner, box, moving) if moving else None
        if isinstance(found, _Rolling):
            return found
        refusal = refusal or found
    raise refusal or _no_overlap(site, shared[-1], "every iteration computes the same elements")


def _along(
    site: BlockSite, loop: t.For, inner: tuple[t.For, ...], box: Box, moving: list[int]
) -> _Rolling | Exception:
    """How a window moves along a loop; where its iterations tile an axis, why they share nothing: what is kept along a
    loop around them is kept for each tile."""
    if len(moving) > 1 or box[moving[0]] is None:
        raise _no_overlap(site, loop, "the window moves along several axes, or is no box")
    bound = box[moving[0]]
    assert bound is not None
    window, variable = bound.high.minus(bound.low).shifted(1).constant, site.forms.number_of(loop.var)
    step = bound.low.terms.get(variable, 0)
    rest = bound.low.plus(Form({variable: 1}, 0), -step)
    if window is None or site.forms.moves(rest, {variable}):
        raise _no_overlap(site, loop, "the window has no constant length, or does not move evenly")
    if step >= window:
        return _no_overlap(site, loop, f"a window of {window} moves by {step}")
    if step < 1:
        raise _no_overlap(site, loop, f"a window of {window} moves by {step}")
    require(
        loop.kind in (t.ForKind.SERIAL, t.ForKind.UNROLLED),
        "E-SCHEDULE-ROLLING-LOOP",
        f"{loop.var.name} is {loop.kind.value}: its iterations do not follow one another",
        found=f"a loop of kind {loop.kind.value}",
        expected="a serial loop",
        fix="roll along a serial loop",
        nodes=(loop,),
    )
    return _Rolling(loop, inner, moving[0], window, step, box)


def _no_overlap(site: BlockSite, loop: t.For, found: str) -> Exception:
    return refuse(
        "E-SCHEDULE-ROLLING-OVERLAP",
        f"iterations of {loop.var.name} share nothing of {site.name} that could be kept",
        found=found,
        expected="windows of constant length that move evenly along one axis and overlap",
        fix="compute_at a loop whose neighbouring iterations need common elements",
        nodes=(site.block, loop),
    )


def _require_filled(state: ScheduleState, site: BlockSite, region: t.BufferRegion, found: _Rolling) -> None:
    """One iteration fills its window, each element for good."""
    outer = [loop for loop in site.loops if all(loop is not item for item in found.inner)]
    unfinished = [loop.var.name for loop in outer if id(loop.var) in reduce_variables(site)]
    require_legal(
        state,
        not unfinished,
        "E-SCHEDULE-UNFINISHED",
        f"{site.name} is not finished inside {found.loop.var.name}",
        found=f"its reduction runs over {', '.join(unfinished)}",
        expected="reduction loops inside the rolling loop",
        fix="reorder the reduction loops inwards first",
        nodes=(site.block, found.loop),
    )
    require_legal(
        state,
        writes_box(site, region, found.inner) and guards_only(site),
        "E-SCHEDULE-PARTIAL",
        f"cannot show that one iteration of {found.loop.var.name} fills its window of {region.buffer.name}",
        found="elements left out",
        expected="loops that run through the window",
        fix="roll before splitting",
        nodes=(site.block, found.loop),
    )


def _require_inside(
    state: ScheduleState, site: BlockSite, reader: BlockSite, buffer: t.Buffer, found: _Rolling
) -> None:
    """A consumer reads only what the window holds in the same iteration."""
    at = next(number for number, loop in enumerate(reader.loops) if loop is found.loop)
    scope = reader.forms
    inside = reader.order > site.order
    for region in reader.reads:
        if region.buffer is not buffer:
            continue
        for made, read in zip(found.box, hull(region, reader, reader.loops[at + 1 :]), strict=True):
            if made is None or read is None:
                inside = False
                continue
            inside = inside and scope.at_most(made.low, read.low) and scope.at_most(read.high, made.high)
    require_legal(
        state,
        inside,
        "E-SCHEDULE-ROLLING-READ",
        f"{reader.name} reads {buffer.name} beyond what {site.name} makes in the same iteration of "
        f"{found.loop.var.name}",
        found="a read before the block, or outside of its window",
        expected="reads of the window after it is filled",
        fix="roll along another loop, or leave the buffer as it is",
        nodes=(reader.block, site.block),
    )
