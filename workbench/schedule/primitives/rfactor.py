"""rfactor: the iterations of a reduction loop reduce for themselves first, their results after."""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis.bindings import writes_once
from ...analysis.reduction_loops import initialises_first, reduce_variables, runs_once, spatial_variables
from ...analysis.tree import BlockSite, extent_of
from ...arith import build
from ...arith.build import conjuncts
from ...arith.nodes import PrimExpr, Var
from ...arith.scope import Scope, number_of, variables_in
from ...core import origin
from ...core.node import substitute
from ...tir import nodes as t
from ...tir.build import seq, stored
from ..arguments import Index
from ..blocks import require_leaf
from ..errors import refuse, require
from ..legality import SUMS, require_legal
from ..reductions import Reduction, reduction_of, renamed_elements
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, Replacement, replaced, tidy_realize, with_regions


@primitive(category="reduction", suggest={"factor_axis": [0, 1, -1]})
def rfactor(state: ScheduleState, loop: LoopRV, factor_axis: Index) -> Change[BlockRV]:
    """Turn a reduction loop into a loop over partial results, which a second nest reduces to the result.

    before:  for i, k, l: C[i] = 0 at k == l == 0; C[i] += A[i, k, l]
    after:   for i, k, l: C_rf[l, i] = 0 at k == 0; C_rf[l, i] += A[i, k, l]      # the block answered; rfactor(l, 0)
             for i, l: C[i] = 0 at l == 0; C[i] += C_rf[l, i]

    The loop becomes axis `factor_axis` of the new buffer (negative: from the end).  The loops given keep standing
    around the new block; its loop over partial results is spatial, so it can be parallel or vectorized.  A reduction
    of several values at once (argmax) gets one new buffer a value.  Conditions on the reduction loops (guards of a
    split) move into the new block, so that every partial result has a start.

    Raises `ScheduleError`: a loop that is not of one reduction alone, a combiner that is not shown to be associative
    (or commutative, where the order changes), an axis out of range, reductions run twice or without a beginning.
    """
    plan = _plan(state, loop, factor_axis)
    names = Names(state.tree.names())
    made = _partial(plan, names, Names(set(state.tree.blocks) | state.tree.taken).fresh(f"{plan.site.name}_rf"))
    rest = _rest(plan, names, made)
    changes: dict[int, Replacement] = {id(plan.top): (made.nest, rest)}
    func = replaced(state.func, changes)
    root = func.body.block  # type: ignore[attr-defined]
    func = replaced(func, {id(root): root.replace(alloc_buffers=(*root.alloc_buffers, *made.buffers))})
    notes = tuple(SUMS.format(buffer.name) for buffer in plan.reduction.buffers if plan.reduction.rounds(buffer))
    return Change(func, (made.name,), notes)


@dataclass(frozen=True, eq=False)
class _Plan:
    site: BlockSite
    reduction: Reduction
    chain: tuple[t.For, ...]
    """The loops that are directly nested around the block, outermost first."""
    loop: t.For
    own: tuple[t.For, ...]
    """The loops, in order, whose iterators are taken apart: those that share an iterator with `loop`."""
    apart: tuple[t.IterVar, ...]
    axis: int
    outside: PrimExpr
    """The part of the predicate that speaks of the spatial loops."""
    kept: PrimExpr
    """The part that stays a predicate of the partial block: what does not speak of `own`."""
    inside: tuple[PrimExpr, ...]

    @property
    def top(self) -> t.For:
        return self.chain[0]


# --- checks -------------------------------------------------------------------------------------------------------


def _plan(state: ScheduleState, reference: LoopRV, factor_axis: int) -> _Plan:
    target = state.loop(reference)
    site = _only_block(state, target)
    require_leaf(state, site, "factor")
    reduction = _reduction(site, target)
    chain = _chain(site, target)
    _check_kinds(site, target, chain)
    rank = len(reduction.indices)
    require(
        -(rank + 1) <= factor_axis <= rank,
        "E-SCHEDULE-FACTOR-AXIS",
        f"the partial results of {site.name} have {rank + 1} axes",
        found=f"axis {factor_axis}",
        expected=f"{-(rank + 1)} to {rank}",
        fix="use 0 for the outermost axis of the new buffer",
        nodes=(site.block,),
    )
    own, apart = _taken_apart(site, target, chain)
    outside, kept, inside = _conditions(site, chain, own)
    _check_order(state, site, target, chain, reduction, bool(inside))
    _check_once(state, site, chain)
    axis = factor_axis if factor_axis >= 0 else factor_axis + rank + 1
    return _Plan(site, reduction, chain, target, own, apart, axis, outside, kept, inside)


def _only_block(state: ScheduleState, target: t.For) -> BlockSite:
    sites = state.tree.under(target)
    require(
        len(sites) == 1,
        "E-SCHEDULE-BRANCH",
        f"cannot factor {target.var.name}: it is around {len(sites)} blocks",
        found=", ".join(site.name for site in sites) or "no block",
        expected="a reduction loop of one block",
        fix="choose a loop around one block, or factor before moving blocks together",
        nodes=(target,),
    )
    return sites[0]


def _reduction(site: BlockSite, target: t.For) -> Reduction:
    reduced = [loop.var.name for loop in site.loops if id(loop.var) in reduce_variables(site)]
    require(
        id(target.var) in reduce_variables(site),
        "E-SCHEDULE-NOT-REDUCTION-LOOP",
        f"cannot factor {target.var.name}: it is no reduction loop of {site.name}",
        found="a loop of spatial iterators, or of none",
        expected=f"one of {', '.join(reduced)}" if reduced else "a block that reduces",
        fix="choose a reduction loop" if reduced else "choose another block",
        nodes=(target, site.block),
    )
    require(
        site.block.init is not None,
        "E-SCHEDULE-NO-INIT",
        f"{site.name} has no initialisation",
        found="a block without init",
        expected="a reduction that is not decomposed yet",
        fix="factor first, decompose afterwards",
        nodes=(site.block,),
    )
    found = reduction_of(site.block)
    if found is None or not writes_once(site.block, site.held):
        raise refuse(
            "E-SCHEDULE-NOT-REDUCTION",
            f"cannot factor {site.name}: its body is not recognised as a reduction",
            found="a body that is not C[...] = combine(C[...], value) with one element for each spatial iteration",
            expected="a sum, product, minimum, maximum, any, all, or a te.comm_reducer",
            fix="write the reduction with te.sum, te.max, ... or te.comm_reducer",
            nodes=(site.block,),
        )
    return found


def _chain(site: BlockSite, target: t.For) -> tuple[t.For, ...]:
    """The loops directly nested around the block."""
    chain: list[t.For] = []
    below: t.Stmt = site.realize
    for loop in reversed(site.loops):
        if loop.body is not below:
            break
        chain.append(loop)
        below = loop
    own = {id(loop) for loop in chain}
    reduced = reduce_variables(site)
    for loop in site.loops:
        require(
            id(loop) in own or id(loop.var) not in reduced,
            "E-SCHEDULE-BRANCH",
            f"cannot factor {target.var.name}: the reduction loop {loop.var.name} holds more than {site.name}",
            found="other statements between the reduction loops and the block",
            expected="reduction loops with nothing between them and the block",
            fix="factor before moving other blocks into the loops",
            nodes=(loop, site.block),
        )
    return tuple(reversed(chain))


def _check_kinds(site: BlockSite, target: t.For, chain: tuple[t.For, ...]) -> None:
    mixed = spatial_variables(site) & reduce_variables(site)
    for loop in chain:
        require(
            id(loop.var) not in mixed,
            "E-SCHEDULE-MIXED-LOOP",
            f"a loop of {site.name} steps through spatial and reduction iterators at once",
            found=loop.var.name,
            expected="loops of one kind",
            fix="do not fuse spatial with reduction loops before factoring",
            nodes=(loop, site.block),
        )
    require(
        target.kind is t.ForKind.SERIAL,
        "E-SCHEDULE-KIND",
        f"cannot factor {target.var.name}: it is {target.kind.value}",
        found=f"a loop of kind {target.kind.value}",
        expected="a serial loop",
        fix="factor first, annotate the loops afterwards",
        nodes=(target,),
    )
    variables = {id(loop.var) for loop in chain}
    for loop in chain:
        require(
            all(id(var) not in variables for bound in (loop.min, loop.extent) for var in variables_in(bound)),
            "E-SCHEDULE-FACTOR-BOUNDS",
            f"the bounds of {loop.var.name} depend on a loop around it",
            found="a domain that is not rectangular",
            expected="bounds that do not change while the loops run",
            fix="factor another reduction",
            nodes=(loop,),
        )
    around = {id(loop.var) for loop in site.loops}
    require(
        all(id(var) not in around for var in variables_in(target.extent)),
        "E-SCHEDULE-FACTOR-BOUNDS",
        f"the extent of {target.var.name} depends on a loop around it",
        found="partial results whose number changes",
        expected="an extent that no loop changes",
        fix="factor another loop",
        nodes=(target,),
    )


def _taken_apart(
    site: BlockSite, target: t.For, chain: tuple[t.For, ...]
) -> tuple[tuple[t.For, ...], tuple[t.IterVar, ...]]:
    """The loops that share reduction iterators with `target`, directly or through other loops; and those iterators."""
    own = {id(target.var)}
    apart: dict[int, t.IterVar] = {}
    growing = True
    while growing:
        growing = False
        for iter_var, value in site.bindings:
            mentioned = {id(var) for var in variables_in(value)}
            if iter_var.kind is t.IterKind.REDUCE and id(iter_var) not in apart and mentioned & own:
                apart[id(iter_var)] = iter_var
                own |= mentioned
                growing = True
    ordered = tuple(item for item in site.block.iter_vars if id(item) in apart)
    return tuple(loop for loop in chain if id(loop.var) in own), ordered


def _stepping(site: BlockSite, chain: tuple[t.For, ...]) -> list[t.For]:
    """The loops of more than one iteration that step through the reduction."""
    reduced = reduce_variables(site)
    return [loop for loop in chain if id(loop.var) in reduced and extent_of(loop) != 1]


def _check_order(
    state: ScheduleState,
    site: BlockSite,
    target: t.For,
    chain: tuple[t.For, ...],
    reduction: Reduction,
    conditional: bool,
) -> None:
    """Partial results of one value each, or a single one, are combined as before; with conditions some hold none."""
    stepping, flaws = _stepping(site, chain), reduction.flaws
    regrouped = len(stepping) > 1 and extent_of(target) != 1
    turned = regrouped and stepping[0] is not target
    problem = flaws.neutral or (flaws.absent if conditional else "")
    problem = problem or (flaws.associative if regrouped else "") or (flaws.commutative if turned else "")
    wanted = "associative, with a neutral start" + (", and commutative" if turned else "")
    require_legal(
        state,
        not problem,
        "E-SCHEDULE-COMBINER",
        f"cannot factor {target.var.name}: the results of {site.name} would change",
        found=problem,
        expected=f"a combiner that is {wanted}",
        fix="factor the outermost reduction loop, which keeps the order"
        if problem is flaws.commutative
        else "mend the combiner or its identity",
        nodes=(site.block,),
    )


def _conditions(
    site: BlockSite, chain: tuple[t.For, ...], own: tuple[t.For, ...]
) -> tuple[PrimExpr, PrimExpr, tuple[PrimExpr, ...]]:
    """The predicate in three parts: of spatial loops, of all but `own`, of `own` alone."""
    spatial, reduced = spatial_variables(site), reduce_variables(site)
    mine = {id(loop.var) for loop in own}
    outside: list[PrimExpr] = []
    kept: list[PrimExpr] = []
    inside: list[PrimExpr] = []
    for condition in conjuncts(site.realize.predicate):
        mentioned = {id(var) for var in variables_in(condition)}
        mixed = (mentioned & reduced and mentioned & spatial) or (mentioned & mine and mentioned & (reduced - mine))
        require(
            not mixed,
            "E-SCHEDULE-MIXED-PREDICATE",
            f"a condition on {site.name} speaks of spatial and reduction loops at once",
            found="a predicate that cannot be taken apart",
            expected="conditions on one kind of loops",
            fix="split loops by factors that divide their extents",
            nodes=(site.block,),
        )
        if mentioned & mine:
            inside.append(condition)
            continue
        kept.append(condition)
        if not mentioned & reduced:
            outside.append(condition)
    return build.all_of(*outside), build.all_of(*kept), tuple(inside)


def _check_once(state: ScheduleState, site: BlockSite, chain: tuple[t.For, ...]) -> None:
    """A sum adds each value once, from the beginning of its domain on; how far does not matter, nor how often."""
    first = next(iter(_stepping(site, chain)), None)
    at = next((number for number, loop in enumerate(chain) if loop is first), len(chain))
    require_legal(
        state,
        runs_once(site, chain[at:]),
        "E-SCHEDULE-REDUCED-TWICE",
        f"cannot show that {chain[0].var.name} reduces every element of {site.name} once",
        found="elements that may be computed again",
        expected="each instance of the block run once inside its loops",
        fix="factor before moving the block",
        nodes=(chain[0], site.block),
    )
    empty = any(number_of(item.dom.extent) == 0 for item in site.block.iter_vars)
    require_legal(
        state,
        initialises_first(site) and (empty or all(extent_of(loop) != 0 for loop in chain)),
        "E-SCHEDULE-INIT-LATE",
        f"cannot show that the first iteration of {site.name} initialises",
        found="reduction iterators that do not begin where their domains do",
        expected="a reduction whose initialisation comes before all that it adds",
        fix="write the reduction from the beginning of its domain on",
        nodes=(site.block,),
    )


# --- the rewrite --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Partial:
    nest: t.Stmt
    name: str
    buffers: tuple[t.Buffer, ...]


def _partial(plan: _Plan, names: Names, name: str) -> _Partial:
    """The loops as they are, around a block that reduces into the new buffers."""
    block, reduction = plan.site.block, plan.reduction
    buffers = tuple(_widened(buffer, plan, names) for buffer in reduction.buffers)
    fresh: dict[int, t.IterVar] = {}
    for loop in plan.own:
        kind = t.IterKind.SPATIAL if loop is plan.loop else t.IterKind.REDUCE
        var = Var(names.fresh(f"v{loop.var.name}"), loop.var.dtype)
        fresh[id(loop)] = t.IterVar(var, t.Range(build.const(0), loop.extent), kind)
    at_loops: dict[Var, PrimExpr] = {loop.var: build.add(loop.min, fresh[id(loop)].var) for loop in plan.own}
    known: dict[Var, PrimExpr] = {}
    pairs: list[tuple[t.IterVar, PrimExpr]] = []
    for item, value in plan.site.bindings:
        if any(item is other for other in plan.apart):
            known[item.var] = substitute(value, at_loops)
        else:
            pairs.append((item, value))
    pairs += [(fresh[id(loop)], build.subtract(loop.var, loop.min)) for loop in plan.own]
    index = fresh[id(plan.loop)].var
    changes = {id(old): (new, plan.axis, index) for old, new in zip(reduction.buffers, buffers, strict=True)}
    body = substitute(renamed_elements(block.body, changes), known)
    if plan.inside:
        condition = build.all_of(*(substitute(part, at_loops) for part in plan.inside))
        body = t.IfThenElse(condition, body)
    where = (*reduction.indices[: plan.axis], index, *reduction.indices[plan.axis :])
    init = seq(t.BufferStore(buffer, value, where) for buffer, value in zip(buffers, reduction.identity, strict=True))
    made = block.replace(name=name, iter_vars=tuple(item for item, _ in pairs), init=init, body=body)
    made = origin.derived(with_regions(made), block)
    realize = plan.site.realize.replace(iter_values=tuple(value for _, value in pairs), predicate=plan.kept, block=made)
    stmt: t.Stmt = tidy_realize(realize, plan.site.loops)
    for loop in reversed(plan.chain):
        stmt = loop.replace(body=stmt)
    return _Partial(stmt, name, buffers)


def _widened(buffer: t.Buffer, plan: _Plan, names: Names) -> t.Buffer:
    extent = Scope().simplify(plan.loop.extent)
    shape = (*buffer.shape[: plan.axis], extent, *buffer.shape[plan.axis :])
    return origin.derived(
        buffer.replace(name=names.fresh(f"{buffer.name}_rf"), shape=shape, strides=(), elem_offset=None), buffer
    )


def _rest(plan: _Plan, names: Names, partial: _Partial) -> t.Stmt:
    """New spatial loops and the factored loop, around the block that reduces the partial results."""
    site, reduction = plan.site, plan.reduction
    dropped = reduce_variables(site) - {id(plan.loop.var)}
    loops = [loop for loop in plan.chain if id(loop.var) not in dropped]
    copies: dict[Var, PrimExpr] = {}
    around: list[t.For] = []
    for loop in loops:
        var = Var(names.fresh(loop.var.name), loop.var.dtype)
        copies[loop.var] = var
        around.append(loop.replace(var=var))
    iter_vars: list[t.IterVar] = []
    values: list[PrimExpr] = []
    own: dict[Var, PrimExpr] = {}
    for item, value in site.bindings:
        if item.kind is not t.IterKind.REDUCE:
            var = Var(names.fresh(item.var.name), item.var.dtype)
            own[item.var] = var
            iter_vars.append(item.replace(var=var))
            values.append(substitute(value, copies))
    index = Var(names.fresh(f"v{plan.loop.var.name}"), plan.loop.var.dtype)
    iter_vars.append(t.IterVar(index, t.Range(build.const(0), plan.loop.extent), t.IterKind.REDUCE))
    values.append(build.subtract(copies[plan.loop.var], plan.loop.min))
    where = tuple(substitute(item, own) for item in reduction.indices)
    inner = (*where[: plan.axis], index, *where[plan.axis :])
    held = [t.BufferLoad(buffer, where) for buffer in reduction.buffers]
    added = [t.BufferLoad(buffer, inner) for buffer in partial.buffers]
    block = site.block.replace(
        iter_vars=tuple(iter_vars),
        init=None if site.block.init is None else substitute(site.block.init, own),
        body=stored(reduction.buffers, reduction.combined(held, added), where),
    )
    block = origin.derived(with_regions(block), site.block)
    realize = site.realize.replace(iter_values=tuple(values), predicate=substitute(plan.outside, copies), block=block)
    outer = [loop for loop in site.loops if all(loop is not other for other in plan.chain)]
    stmt: t.Stmt = tidy_realize(realize, [*outer, *around])
    for loop in reversed(around):
        stmt = loop.replace(body=stmt)
    return stmt
