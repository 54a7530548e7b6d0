"""annotate_buffer_access: a block declares a larger region than its body shows."""

from __future__ import annotations

from typing import Literal

from ...analysis.regions import detect
from ...analysis.tree import BlockSite
from ...arith import build
from ...arith.nodes import PrimExpr
from ...arith.scope import Scope
from ...tir import nodes as t
from ...tir.index_map import IndexMap
from ..arguments import BufferIndex
from ..blocks import distinct_buffers, read_buffer, require_leaf, written_buffer
from ..errors import refuse, require
from ..kinds import require_still_independent
from ..layouts import require_rank
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced

SUGGESTED = (
    "lambda i: (i - 1, i + 2)",
    "lambda i, j: (i, i + 1, j - 1, j + 2)",
    "lambda i, j: (0, i + 1, j, j + 1)",
    "lambda i, j, k: (i, i + 1, 0, 64)",
)


@primitive(
    category="annotation",
    suggest={"buffer_index": [0, 1], "buf_type": ["read", "write"], "gen_new_ranges": SUGGESTED},
)
def annotate_buffer_access(
    state: ScheduleState,
    block: BlockRV,
    buffer_index: BufferIndex,
    buf_type: Literal["read", "write"],
    gen_new_ranges: IndexMap,
) -> Change[None]:
    """Declare what a block reads of a buffer as ranges of its iterators, wider than its body shows.

    before:  T.reads(A[vi - 1], A[vi + 1])
    after:   T.reads(A[vi - 1:vi + 2])                     # lambda vi: ((vi - 1, vi + 2),): begin and end of each axis
             T.block_attr({"explicit_read_region": (0,)})

    What is declared counts for every later legality question.  Steps that rewrite the body read the regions anew.
    Raises `ScheduleError`: a region that does not surely contain what the body reads; for writes, any other region
    than what the body writes, since what is declared written counts as written.
    """
    site = state.block(block)
    require_leaf(state, site, "annotate")
    choose = read_buffer if buf_type == "read" else written_buffer
    buffer = choose(state, block, buffer_index)
    require_rank(gen_new_ranges, len(site.block.iter_vars), site.name, (site.block,))
    region = _region(site, buffer, gen_new_ranges)
    reads, writes = detect(site.block)
    body = [item for item in (reads if buf_type == "read" else writes) if item.buffer is buffer]
    _require_contained(site, region, body)
    if buf_type == "write":
        _require_exact(site, region, body)
    old = site.block.reads if buf_type == "read" else site.block.writes
    position = next(number for number, item in enumerate(old) if item.buffer is buffer)
    kept = [item for item in old if item.buffer is not buffer]
    first = sum(item.buffer is not buffer for item in old[:position])
    new = (*kept[:first], region, *kept[first:])
    key = f"explicit_{buf_type}_region"
    pool = distinct_buffers(site.block.reads if buf_type == "read" else site.block.writes)
    number = next(number for number, item in enumerate(pool) if item is buffer)
    numbers = tuple(sorted({*site.block.annotations.get(key, ()), number}))
    annotations = site.block.annotations.set(key, numbers)
    changed = (
        site.block.replace(reads=new, annotations=annotations)
        if buf_type == "read"
        else site.block.replace(writes=new, annotations=annotations)
    )
    func = replaced(state.func, {id(site.block): changed})
    require_still_independent(state, func, [buffer])
    return Change(func)


def _region(site: BlockSite, buffer: t.Buffer, ranges: IndexMap) -> t.BufferRegion:
    """The region that a map's outputs say: begin and end of each axis, or one index an axis."""
    outputs = ranges.map_indices([item.var for item in site.block.iter_vars])
    rank = len(buffer.shape)
    if len(outputs) == rank:
        return t.BufferRegion(buffer, tuple(t.Range(index, build.const(1)) for index in outputs))
    require(
        len(outputs) == 2 * rank,
        "E-SCHEDULE-MAP-RANK",
        f"{buffer.name} has {rank} axes: {2 * rank} ends of ranges are wanted, or {rank} indices",
        found=f"{len(outputs)} outputs: {ranges.text}",
        expected="begin and end of each axis",
        fix="write lambda vi: ((vi - 1, vi + 2),) for the elements vi - 1 ... vi + 1",
        nodes=(site.block,),
    )
    found: list[t.Range] = []
    for begin, end in zip(outputs[::2], outputs[1::2], strict=True):
        found.append(t.Range(begin, _length(site, begin, end)))
    return t.BufferRegion(buffer, tuple(found))


def _length(site: BlockSite, begin: PrimExpr, end: PrimExpr) -> PrimExpr:
    scope = site.forms
    form = scope.linear(end).minus(scope.linear(begin))
    if not scope.is_natural(form.shifted(-1)):
        raise refuse(
            "E-SCHEDULE-REGION-EMPTY",
            "a range of the region may be empty",
            found="an end that is not surely above its begin",
            expected="begin < end for all values of the iterators",
            fix="write lambda vi: ((vi - 1, vi + 2),) for the elements vi - 1 ... vi + 1",
            nodes=(site.block,),
        )
    return scope.index(form)


def _require_contained(site: BlockSite, region: t.BufferRegion, body: list[t.BufferRegion]) -> None:
    for item in body:
        for number, (declared, touched) in enumerate(zip(region.region, item.region, strict=True)):
            require(
                _holds(site.forms, declared, touched),
                "E-SCHEDULE-REGION-SMALLER",
                f"axis {number} of the region does not surely contain what {site.name} touches of {region.buffer.name}",
                found="a declared range that its accesses may leave",
                expected="a range around all accesses",
                fix="widen the range",
                nodes=(site.block,),
            )


def _holds(scope: Scope, declared: t.Range, touched: t.Range) -> bool:
    begin, inner = scope.linear(declared.min), scope.linear(touched.min)
    end, last = begin.plus(scope.linear(declared.extent)), inner.plus(scope.linear(touched.extent))
    return scope.at_most(begin, inner) and scope.at_most(last, end)


def _require_exact(site: BlockSite, region: t.BufferRegion, body: list[t.BufferRegion]) -> None:
    exact = len(body) == 1 and all(
        _holds(site.forms, touched, declared)
        for declared, touched in zip(region.region, body[0].region, strict=True)
    )
    require(
        exact,
        "E-SCHEDULE-REGION-WRITES",
        f"{site.name} does not write all of the region declared of {region.buffer.name}",
        found="a region larger than what the body writes, which would count as written",
        expected="exactly what the body writes",
        fix="declare reads only",
        nodes=(site.block,),
    )
