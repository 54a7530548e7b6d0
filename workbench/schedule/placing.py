"""Moving blocks under other loops: the common parts of compute_at and reverse_compute_at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..analysis.bindings import binding_facts, run_box
from ..analysis.coverage import everywhere, wanders
from ..analysis.regions import Bound
from ..analysis.tree import BlockSite, LoopSite, Tree, innermost_loops, loops_nested
from ..arith import build
from ..arith.evaluate import evaluate
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope, are_equal, number_of
from ..tir import nodes as t
from ..tir.build import nest, seq
from .blocks import leaving
from .errors import illegal, refuse, require
from .legality import forbid
from .state import ScheduleState
from .surgery import Names, Replacement, replaced, tidy_realize


@dataclass(frozen=True)
class Window:
    """The values that an iterator takes under the new loops: from `low` on, `extent` of them."""

    low: PrimExpr
    extent: int


def require_plain_loops(site: BlockSite, verb: str) -> None:
    """Refuse a block whose own loops carry annotations that would be lost."""
    for loop in site.loops:
        require(
            loop.kind is t.ForKind.SERIAL or (loop.kind is t.ForKind.PARALLEL and loop.body is not site.realize),
            "E-SCHEDULE-KIND",
            f"cannot {verb} {site.name}: its loop {loop.var.name} is {loop.kind.value}",
            found=f"a loop of kind {loop.kind.value}, which would be lost",
            expected="serial loops around the block",
            fix="move the block first, annotate its loops afterwards",
            nodes=(loop,),
        )


def require_target(site: BlockSite, target: LoopSite, verb: str) -> None:
    """Refuse a loop that is the block's own, or that is or stands inside a vectorized one."""
    require(
        all(part is not target.loop for part in site.path),
        "E-SCHEDULE-OWN-LOOP",
        f"{site.name} stands inside {target.loop.var.name} already",
        found="a loop around the block itself",
        expected="a loop of another block",
        fix="choose a loop around its consumer or producer",
        nodes=(site.block, target.loop),
    )
    scopes = [part for part in target.path if isinstance(part, t.Block)]
    require(
        bool(scopes) and scopes[-1] is site.scope,
        "E-SCHEDULE-SCOPE",
        f"{target.loop.var.name} is not a loop of the block around {site.name}",
        found="a loop inside another block",
        expected="a loop of the same scope",
        fix="choose a loop from get_loops",
        nodes=(site.block, target.loop),
    )
    for part in (*target.path, target.loop):
        require(
            not (isinstance(part, t.For) and part.kind is t.ForKind.VECTORIZED),
            "E-SCHEDULE-INSIDE-VECTOR",
            f"cannot {verb} {site.name} inside a vectorized loop",
            found=f"{getattr(part, 'var', target.loop.var).name} is vectorized",
            expected="serial, parallel or unrolled loops",
            fix="move the block first, vectorize afterwards",
            nodes=(part,),
        )


def loops_at(target: LoopSite) -> tuple[t.For, ...]:
    """The loops around and including the target, within its block."""
    return innermost_loops((*target.path, target.loop))


def window_of(bound: Bound | None, iter_var: t.IterVar, scope: Scope) -> Window | None:
    """The window of an iterator that must take the values in `bound`; None if its whole domain is no larger."""
    if bound is None:
        return None
    extent = bound.extent(scope)
    if extent is None or extent <= 0 or extent >= scope.atoms.bound(scope.linear(iter_var.dom.extent)).high:
        return None
    return Window(scope.index(bound.low), extent)


def run_ranges(site: BlockSite) -> dict[Var, t.Range]:
    """What a block runs for of its iterators' domains, where that is a smaller box of constant sizes.

    for i in range(3): vi = axis(8, 5 + i)          # 5 ... 7, which loop_partition may have left of 0 ... 7
    """
    box = None if binding_facts(site).covers or wanders(site) else run_box(site)
    found: dict[Var, t.Range] = {}
    for item, (first, last) in zip(site.block.iter_vars, box or (), strict=box is not None):
        if first.constant is None or last.constant is None or last.constant < first.constant:
            return {}
        low, extent = build.const(first.constant), build.const(last.constant - first.constant + 1)
        if not (are_equal(low, item.dom.min) and are_equal(extent, item.dom.extent)):
            found[item.var] = t.Range(low, extent)
    return found


def moved(
    site: BlockSite,
    windows: Mapping[int, Window],
    around: Sequence[t.For],
    names: Names,
    keep_units: bool,
    ranges: Mapping[Var, t.Range] | None = None,
) -> t.Stmt:
    """The block in new loops over the windows of its iterators (by identity), or their whole domains or `ranges`."""
    ranges = ranges or {}
    loops: list[tuple[Var, PrimExpr]] = []
    values: list[PrimExpr] = []
    predicate: PrimExpr = build.const(True)
    for number, iter_var in enumerate(site.block.iter_vars):
        window = windows.get(id(iter_var.var))
        domain = ranges.get(iter_var.var, iter_var.dom)
        low = domain.min if window is None else window.low
        extent = domain.extent if window is None else build.const(window.extent)
        value = low
        if keep_units or number_of(extent) != 1:
            var = Var(names.fresh(f"ax{number}"))
            loops.append((var, extent))
            value = build.add(low, var)
        values.append(value)
        if window is not None:
            end = build.add(domain.min, domain.extent)
            predicate = build.all_of(predicate, build.greater_equal(value, domain.min), build.less(value, end))
    realize = site.realize.replace(iter_values=tuple(values), predicate=predicate)
    placed = nest(loops, realize)
    own = [*around, *loops_nested(placed)[0]]
    made = tidy_realize(realize, own)
    return nest(loops, made)


def insert(state: ScheduleState, site: BlockSite, target: LoopSite, placed: t.Stmt, position: int) -> t.PrimFunc:
    """The function with the block taken from its place and `placed` put at `position` of the target's body."""
    parts = list(body_parts(target.loop))
    parts.insert(position, placed)
    changes: dict[int, Replacement] = {
        id(site.realize): None,
        id(target.loop): target.loop.replace(body=seq(*parts)),
    }
    return replaced(state.func, changes)


def body_parts(loop: t.For) -> tuple[t.Stmt, ...]:
    return loop.body.stmts if isinstance(loop.body, t.SeqStmt) else (loop.body,)


def part_of(tree: Tree, loop: t.For, site: BlockSite) -> int:
    """Which statement of the loop's body a block stands in."""
    for number, part in enumerate(body_parts(loop)):
        if part is site.realize or any(step is part for step in site.path):
            return number
    raise AssertionError(f"{site.name} is not inside {loop.var.name}")


def position_of(index: int, least: int, most: int, last: int, loop: t.For) -> int:
    """The position in the loop's body for the classic `index`: -1 is `last`, -2 the other end."""
    chosen = last if index == -1 else (least + most - last) if index == -2 else index
    if not least <= chosen <= most:
        raise refuse(
            "E-SCHEDULE-INDEX",
            f"there is no room at position {index} of {loop.var.name}",
            found=f"position {index}",
            expected=f"-2, -1, or {least} to {most}",
            fix="leave index out",
            nodes=(loop,),
        )
    return chosen


def require_still_written(state: ScheduleState, working: ScheduleState, site: BlockSite, func: t.PrimFunc) -> None:
    """Refuse when a block whose result leaves the function, moved in `func`, leaves out an element of it.

    Where that is not decided, it is a doubt of `working`; so it is where there are others, which value flow settles.
    """
    outputs = outputs_of(state, site)
    now = Tree.of(func).blocks[site.name]
    if not outputs or working.doubts:
        return
    verdict = everywhere(now)
    if verdict.answer:
        return
    where = "its loops there are not shown to run through the domains of its iterators"
    if verdict.witness is not None:
        at = verdict.witness.at
        region = next(region for region in now.block.writes if region.buffer is outputs[0])
        element = ", ".join(str(evaluate(axis.min, at)) for axis in region.region)
        own = {id(item.var) for item in now.block.iter_vars}
        sizes = ", ".join(f"{var.name} = {value}" for var, value in at.items() if id(var) not in own)
        where = f"{outputs[0].name}[{element}] would not be written{f', with {sizes}' if sizes else ''}"
    error = illegal(
        "E-SCHEDULE-OUTPUT",
        f"cannot move {site.name}: it would no longer write all of {outputs[0].name}, {leaving(state, outputs[0])}",
        found=where,
        expected="consumers that read all of the output, or a buffer that the function allocates",
        fix=f"cache_write({site.name!r}, 0, ...) gives the block a buffer of its own",
        nodes=(site.block,),
    )
    forbid(working if verdict.answer is None else state, error)


def outputs_of(state: ScheduleState, site: BlockSite) -> list[t.Buffer]:
    """What a block writes that the function does not allocate itself."""
    own = {id(buffer) for buffer in state.tree.root.alloc_buffers}
    return [region.buffer for region in site.block.writes if id(region.buffer) not in own]
