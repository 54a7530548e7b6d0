"""reverse_compute_at: a consumer moves into a loop of its producers."""

from __future__ import annotations

from dataclasses import replace

from ...analysis.bindings import binding_facts, writes_box
from ...analysis.reduction_loops import reduce_variables
from ...analysis.regions import Bound, hull, meet
from ...analysis.tree import BlockSite, LoopSite
from ...arith.forms import Form
from ...arith.nodes import Var
from ...arith.scope import Scope
from ...tir import nodes as t
from ..arguments import Index
from ..blocks import require_regular, require_whole_domain
from ..errors import IllegalError, illegal, refuse, require
from ..exact import doubting, require_concurrent, settle
from ..kinds import require_still_independent
from ..legality import forbid, require_legal
from ..placing import (
    Window,
    insert,
    loops_at,
    moved,
    part_of,
    position_of,
    require_plain_loops,
    require_target,
    run_ranges,
)
from ..reading_digits import digit_windows
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names


@primitive(category="place")
def reverse_compute_at(
    state: ScheduleState, block: BlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: Index = -1
) -> Change[None]:
    """Move a consuming block under a loop of its producers: each iteration consumes what it has just made.

    before:  for i, j in grid(16, 16): B[i, j] = A[i, j] * 2
             for i, j in grid(16, 16): C[i, j] = B[i, j] + 1
    after:   for i in range(16):                              # reverse_compute_at(C, i)
                 for j in range(16): B[i, j] = A[i, j] * 2
                 for ax1 in range(16): C[i, ax1] = B[i, ax1] + 1

    Raises `ScheduleError`: producers that are not finished inside the loop, reads that reach beyond what one
    iteration makes, a block whose values depend on when they are computed.
    """
    site, target = state.block(block), state.loop_site(loop)
    working = doubting(state)
    require_regular(working, site, "move")
    require_whole_domain(working, site, "move")
    require_target(site, target, "move")
    require_plain_loops(site, "move")
    producers = _producers(working, site, target)
    _require_later_readers(working, site, target)
    windows = _windows(working, site, target, producers)
    names = Names(state.tree.names())
    placed = moved(site, windows, loops_at(target), names, preserve_unit_loops, run_ranges(site))
    parts = target.loop.body.stmts if isinstance(target.loop.body, t.SeqStmt) else (target.loop.body,)
    last = max(part_of(state.tree, target.loop, producer) for producer in producers) + 1
    position = position_of(index, last, len(parts), len(parts), target.loop)
    func = insert(state, site, target, placed, position)
    settle(state, working, func)
    require_concurrent(replace(state, functions=state.functions.set(state.working, func)), loops_at(target))
    require_still_independent(state, func, [region.buffer for region in site.reads])
    return Change(func)


def _producers(state: ScheduleState, site: BlockSite, target: LoopSite) -> list[BlockSite]:
    """The writers of what `site` reads inside the target; the others must be finished before."""
    inside: list[BlockSite] = []
    outer = loops_at(target)
    for region in site.reads:
        for writer in state.tree.writers(region.buffer):
            if any(part is target.loop for part in writer.path):
                unfinished = [loop for loop in outer if id(loop.var) in reduce_variables(writer)]
                require_legal(
                    state,
                    not unfinished,
                    "E-SCHEDULE-UNFINISHED",
                    f"{writer.name} is not finished inside {target.loop.var.name}",
                    found=f"its reduction runs over {', '.join(loop.var.name for loop in unfinished)}",
                    expected="a loop outside of which no reduction loop of the producer stands",
                    fix="reorder the reduction loops inwards first",
                    nodes=(writer.block, target.loop),
                )
                inside.append(writer)
            else:
                shared = [loop for loop in outer if any(part is loop for part in writer.path)]
                require_legal(
                    state,
                    not shared and writer.order < target.order,
                    "E-SCHEDULE-PRODUCER-LATE",
                    f"{writer.name}, which {site.name} reads from, is not finished before {target.loop.var.name}",
                    found="a producer beside the loop" if shared else "a producer after the loop",
                    expected="producers inside the loop, or before all loops around it",
                    fix="move that producer into the loop first",
                    nodes=(writer.block, target.loop),
                )
    if not inside and state.doubts:
        raise state.doubts[0]
    require(
        bool(inside),
        "E-SCHEDULE-NO-PRODUCER",
        f"nothing inside {target.loop.var.name} writes what {site.name} reads",
        found="no producer in the loop",
        expected="a loop around a producer",
        fix="choose a loop of one of its producers",
        nodes=(site.block, target.loop),
    )
    return inside


def _require_later_readers(state: ScheduleState, site: BlockSite, target: LoopSite) -> None:
    for region in site.block.writes:
        for reader in state.tree.readers(region.buffer):
            require_legal(
                state,
                reader.order > site.order,
                "E-SCHEDULE-READ-BEFORE",
                f"{reader.name} reads {region.buffer.name} before {site.name} writes it",
                found="a read of older values",
                expected="readers after the block",
                fix="leave the block where it is",
                nodes=(reader.block, site.block),
            )


def _windows(state: ScheduleState, site: BlockSite, target: LoopSite, producers: list[BlockSite]) -> dict[int, Window]:
    """The values of each iterator for which the elements read are made in one iteration of the target."""
    found: dict[int, Bound] = {}
    together: list[set[int]] = []
    for producer in producers:
        at = next(i for i, item in enumerate(producer.loops) if item is target.loop)
        inner = producer.loops[at + 1 :]
        for written in producer.block.writes:
            if all(region.buffer is not written.buffer for region in site.reads):
                continue
            if not writes_box(producer, written, inner):
                forbid(state, _beyond(site, written, target, f"what one iteration of {producer.name} makes has gaps"))
            box = hull(written, producer, inner)
            whole = _whole(producer, written)
            for region in site.reads:
                if region.buffer is written.buffer:
                    own = digit_windows(site, region, box, whole)
                    for axis in range(len(region.region) if not own else 0):
                        _constrain(state, site, region, axis, box[axis], whole[axis], own, target)
                    _join(state, found, own, site, region, target)
                    together.append(set(own))
                    _require_product(state, found, together, site, region, target)
    return {variable: _window(site, bound, target) for variable, bound in found.items()}


def _constrain(
    state: ScheduleState,
    site: BlockSite,
    region: t.BufferRegion,
    axis: int,
    made: Bound | None,
    whole: Bound | None,
    found: dict[int, Bound],
    target: LoopSite,
) -> None:
    scope = site.forms
    if made is not None and _is_whole(made, region.buffer.shape[axis], scope):
        return
    where = region.region[axis]
    form, shift = scope.parted(scope.linear(where.min), site.iterators)
    var = scope.only_variable(form)
    single = scope.linear(where.extent).constant == 1
    if made is None or var is None or not single or not _is_spatial(site, var):
        why = f"axis {axis} is read at a place that one iteration cannot be told from"
        return forbid(state, _beyond(site, region, target, why))
    own = {id(var): Bound(made.low.minus(shift), made.high.minus(shift))}
    _join(state, found, own, site, region, target)
    domain = next(item.dom for item in site.block.iter_vars if item.var is var)
    begin = scope.linear(domain.min).plus(shift)
    last = begin.plus(scope.linear(domain.extent)).shifted(-1)
    if whole is None or not scope.at_most(whole.low, begin) or not scope.at_most(last, whole.high):
        why = f"along axis {axis} it runs further than what is made in all iterations"
        forbid(state, _beyond(site, region, target, why))


def _whole(producer: BlockSite, written: t.BufferRegion) -> list[Bound | None]:
    """What a block makes in all iterations together, along each axis; None where there may be gaps."""
    scope, found = producer.forms, list[Bound | None]()
    dense = writes_box(producer, written, producer.loops)
    for axis in written.region:
        form = scope.linear(axis.min)
        low, high = scope.ends(form, producer.iterators)
        plain = scope.only_variable(form.shifted(-form.offset)) is not None
        found.append(Bound(low, high) if (plain or dense) and low is not None and high is not None else None)
    if binding_facts(producer).covers:
        return found
    run = hull(written, producer, producer.loops)
    return [
        None if one is None or other is None else meet(one, other, scope)
        for one, other in zip(found, run, strict=True)
    ]


def _join(
    state: ScheduleState,
    found: dict[int, Bound],
    own: dict[int, Bound],
    site: BlockSite,
    region: t.BufferRegion,
    target: LoopSite,
) -> None:
    """Enter the bounds of `own` into `found`, where the same iterator must have the same one."""
    for variable, bound in own.items():
        known = found.setdefault(variable, bound)
        if not (known.low.same_as(bound.low) and known.high.same_as(bound.high)):
            forbid(state, _beyond(site, region, target, "it reads at several places, of which an iteration makes one"))


def _require_product(
    state: ScheduleState,
    found: dict[int, Bound],
    together: list[set[int]],
    site: BlockSite,
    region: t.BufferRegion,
    target: LoopSite,
) -> None:
    """Refuse when two iterators follow one loop because of different reads: only a diagonal would be computed."""
    for one, bound in found.items():
        for other, second in found.items():
            if one == other or any({one, other} <= group for group in together):
                continue
            if not _variables(site.forms, bound).isdisjoint(_variables(site.forms, second)):
                why = "different reads make two iterators follow one loop"
                return forbid(state, _beyond(site, region, target, why))


def _variables(scope: Scope, bound: Bound) -> frozenset[int]:
    return scope.variables_of(bound.low) | scope.variables_of(bound.high)


def _is_whole(made: Bound, extent: t.PrimExpr, scope: Scope) -> bool:
    return scope.at_most(made.low, Form({}, 0)) and scope.at_most(scope.linear(extent).shifted(-1), made.high)


def _is_spatial(site: BlockSite, var: Var) -> bool:
    return any(item.var is var and item.kind is t.IterKind.SPATIAL for item in site.block.iter_vars)


def _window(site: BlockSite, bound: Bound, target: LoopSite) -> Window:
    extent = bound.extent(site.forms)
    if extent is None or extent <= 0:
        raise refuse(
            "E-SCHEDULE-REGION",
            f"what one iteration of {target.loop.var.name} makes has no constant size",
            found="a symbolic or irregular region",
            expected="a box of constant extents",
            fix="choose an outer loop",
            nodes=(site.block, target.loop),
        )
    return Window(site.forms.index(bound.low), extent)


def _beyond(site: BlockSite, region: t.BufferRegion, target: LoopSite, why: str) -> IllegalError:
    return illegal(
        "E-SCHEDULE-BEYOND",
        f"{site.name} reads {region.buffer.name} beyond what one iteration of {target.loop.var.name} makes",
        found=why,
        expected="reads of the elements that the iteration has made",
        fix="choose an outer loop, or move the producer with compute_at instead",
        nodes=(site.block, target.loop),
    )
