"""decompose_reduction: a reduction's initialisation becomes a block of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis import dependence
from ...analysis.bindings import starts_apart
from ...analysis.isl_text import NotAffine
from ...analysis.reduction_loops import initialises_first, reduce_variables, runs_once, spatial_variables
from ...analysis.regions import detect
from ...analysis.tree import BlockSite, LoopSite, Tree, extent_of
from ...arith import build
from ...arith.build import conjuncts
from ...arith.nodes import PrimExpr, Var
from ...arith.scope import variables_in
from ...core import origin
from ...core.node import substitute
from ...tir import nodes as t
from ..blocks import require_leaf
from ..errors import refuse, require
from ..kinds import require_still_independent
from ..legality import require_legal
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, Replacement, replaced, tidy_realize


@primitive(category="reduction")
def decompose_reduction(state: ScheduleState, block: BlockRV, loop: LoopRV) -> Change[BlockRV]:
    """Take the initialisation out of a reduction and put it before a loop.

    before:  for i, k: C[i] = 0 at k == 0; C[i] += A[i, k]
    after:   for i: C[i] = 0                                  # the block answered; decompose_reduction(C, i)
             for i, k: C[i] += A[i, k]

    The block keeps its name and loses its `init`.
    Raises `ScheduleError`: a block without init, a loop that is not around it, reduction loops outside the loop,
    elements that are reduced more than once inside it, an init that the first iteration does not run, others inside
    that write the elements, or read what they were before.
    """
    site, target = state.block(block), state.loop_site(loop)
    require_leaf(state, site, "decompose")
    require(
        site.block.init is not None,
        "E-SCHEDULE-NO-INIT",
        f"{site.name} has no initialisation",
        found="a block without init",
        expected="a reduction that is not decomposed yet",
        fix="choose a reduction block",
        nodes=(site.block,),
    )
    at = next((i for i, item in enumerate(site.loops) if item is target.loop), None)
    if at is None:
        raise refuse(
            "E-SCHEDULE-NOT-AROUND",
            f"{target.loop.var.name} is not around {site.name}",
            found="a loop of another block",
            expected=f"one of {', '.join(item.var.name for item in site.loops)}",
            fix=f"take it from get_loops({site.name!r})",
            nodes=(target.loop, site.block),
        )
    _check_loops(state, site, at)
    _check_others(state, site, target)
    initial = _init_nest(site, at, Names(state.tree.names()))
    update = _update_block(site.block)
    changes: dict[int, Replacement] = {id(site.block): update}
    func = replaced(state.func, changes)
    now = Tree.of(func).loops[id(target.loop.var)].loop
    func = replaced(func, {id(now): (initial, now)})
    require_still_independent(state, func, [region.buffer for region in site.block.writes])
    return Change(func, (_init_name(initial),))


def _check_loops(state: ScheduleState, site: BlockSite, at: int) -> None:
    reduced = reduce_variables(site)
    for outer in site.loops[:at]:
        require_legal(
            state,
            id(outer.var) not in reduced or extent_of(outer) == 1,
            "E-SCHEDULE-REDUCTION-OUTSIDE",
            f"the reduction loop {outer.var.name} stands outside {site.loops[at].var.name}",
            found="an initialisation that would run again in each of its iterations",
            expected="all reduction loops at or inside the loop",
            fix=f"decompose at {outer.var.name} or outside of it",
            nodes=(outer, site.block),
        )
    require_legal(
        state,
        runs_once(site, site.loops[at:]),
        "E-SCHEDULE-REDUCED-TWICE",
        f"cannot show that {site.loops[at].var.name} reduces every element of {site.name} once",
        found="elements that may be computed again",
        expected="each instance of the block run once inside the loop",
        fix="decompose at an inner loop",
        nodes=(site.loops[at], site.block),
    )
    require_legal(
        state,
        starts_apart(site.block, site.held),
        "E-SCHEDULE-INIT-SHARED",
        f"cannot show that all sums of {site.name} may start before one goes on",
        found="writes that are not apart for each point of the spatial iterators, or reads of other sums",
        expected="a reduction whose sums share no element, and read of no other one",
        fix="write each sum to an element of its own",
        nodes=(site.block,),
    )
    require_legal(
        state,
        initialises_first(site),
        "E-SCHEDULE-INIT-LATE",
        f"cannot show that the first iteration of {site.name} initialises",
        found="reduction iterators that do not begin where their domains do",
        expected="reduction loops whose first iteration is the first of the domain",
        fix="write the reduction from the beginning of its domain on, or without init",
        nodes=(site.block,),
    )


def _check_others(state: ScheduleState, site: BlockSite, target: LoopSite) -> None:
    """Others in the loop must not write what is initialised, nor read what was there before."""
    inside = state.tree.under(target.loop)
    for region in site.block.writes:
        buffer = region.buffer
        known = _holds_older(state, site, target, buffer)
        for other in state.tree.accessing(buffer):
            if other is site or all(other is not item for item in inside):
                continue
            writes = any(item.buffer is buffer for item in other.block.writes)
            later = other.order > site.order and not (known and _reads_older(target.loop, buffer, inside))
            require_legal(
                state,
                later and not writes,
                "E-SCHEDULE-INIT-SHARED",
                f"{other.name} {'writes' if writes else 'reads'} {buffer.name} inside {target.loop.var.name}, too",
                found=f"what {site.name} initialises would be initialised before {other.name} comes",
                expected="a loop in which others only read what the reduction has made",
                fix="decompose at a loop inside, which the other block is not in",
                nodes=(site.block, other.block),
            )


def _holds_older(state: ScheduleState, site: BlockSite, target: LoopSite, buffer: t.Buffer) -> bool:
    """Whether there may be values in a buffer before a loop: of a parameter, of others, of loops around it."""
    around = (stmt for stmt in target.path if isinstance(stmt, t.For))
    return (
        any(buffer is item for item in state.func.params)
        or any(writer is not site for writer in state.tree.writers(buffer))
        or any(extent_of(loop) != 1 for loop in around)
    )


def _reads_older(loop: t.For, buffer: t.Buffer, sites: Sequence[BlockSite]) -> bool:
    try:
        return dependence.uncovered(loop, buffer, sites)
    except NotAffine:
        return True


def _init_nest(site: BlockSite, at: int, names: Names) -> t.Stmt:
    """Copies of the spatial loops from the target on, around a block that initialises."""
    block = site.block
    assert block.init is not None
    spatial = spatial_variables(site)
    mixed = spatial & reduce_variables(site)
    require(
        not any(id(loop.var) in mixed for loop in site.loops[at:]),
        "E-SCHEDULE-MIXED-LOOP",
        f"a loop of {site.name} steps through spatial and reduction iterators at once",
        found=", ".join(loop.var.name for loop in site.loops[at:] if id(loop.var) in mixed),
        expected="loops of one kind",
        fix="do not fuse spatial with reduction loops before decomposing",
        nodes=(block,),
    )
    renamed: dict[Var, PrimExpr] = {}
    loops: list[tuple[t.For, Var]] = []
    for loop in site.loops[at:]:
        if id(loop.var) in spatial:
            new = Var(names.fresh(f"{loop.var.name}_init"), loop.var.dtype)
            renamed[loop.var] = new
            loops.append((loop, new))
    own: dict[Var, PrimExpr] = {}
    iter_vars: list[t.IterVar] = []
    values: list[PrimExpr] = []
    for item, value in site.bindings:
        if item.kind is not t.IterKind.REDUCE:
            fresh = Var(names.fresh(f"{item.var.name}_init"), item.var.dtype)
            own[item.var] = fresh
            iter_vars.append(item.replace(var=fresh))
            values.append(substitute(value, renamed))
    made = t.Block(
        names.fresh(f"{block.name}_init"),
        tuple(iter_vars),
        (),
        (),
        (),
        None,
        substitute(block.init, own),
        block.annotations,
    )
    reads, writes = detect(made)
    made = origin.derived(made.replace(reads=reads, writes=writes), block)
    predicate = substitute(_spatial_part(site, at), renamed)
    around = [
        loop.replace(var=var, extent=substitute(loop.extent, renamed), min=substitute(loop.min, renamed))
        for loop, var in loops
    ]
    realize = tidy_realize(t.BlockRealize(tuple(values), predicate, made), [*site.loops[:at], *around])
    stmt: t.Stmt = realize
    for loop in reversed(around):
        stmt = loop.replace(body=stmt)
    return stmt


def _spatial_part(site: BlockSite, at: int) -> PrimExpr:
    """The conjuncts of the predicate that speak only of loops around the initialisation.

    for u_0: for u_1: for k: where u_0 + u_1 < 1        # at u_1 the initialisation would run in each u_0
    """
    outside = {id(loop.var) for loop in site.loops[:at]}
    dropped = {id(loop.var) for loop in site.loops[at:]} - spatial_variables(site)
    kept: list[PrimExpr] = []
    for condition in conjuncts(site.realize.predicate):
        mentioned = {id(var) for var in variables_in(condition)}
        if not mentioned & dropped:
            kept.append(condition)
            continue
        require(
            not mentioned & (spatial_variables(site) | outside),
            "E-SCHEDULE-MIXED-PREDICATE",
            f"a condition on {site.name} speaks of loops that the initialisation has and of others",
            found="a predicate that cannot be taken apart",
            expected="conditions on loops of one kind: around the initialisation or left to the sums",
            fix="split loops by factors that divide their extents",
            nodes=(site.block,),
        )
    return build.all_of(*kept)


def _update_block(block: t.Block) -> t.Block:
    made = block.replace(init=None)
    reads, writes = detect(made)
    return made.replace(reads=reads, writes=writes)


def _init_name(stmt: t.Stmt) -> str:
    while isinstance(stmt, t.For):
        stmt = stmt.body
    assert isinstance(stmt, t.BlockRealize)
    return stmt.block.name
