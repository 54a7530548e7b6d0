"""What primitives ask before they change the order of execution.

Two tiers: first the block algebra (`analysis.bindings.recovered`: which loops an element's place gives away), which
decides all regular programs at once; then exact dependences (`analysis.dependence`), which also give the witness.
The questions (`independent`, `reorderable`, `mergeable`) answer with a `Verdict`; `require_proven` lets pass what is
proven.  What cannot be shown legal is refused: every such refusal is an `IllegalError` that goes through `forbid`,
where ``unsafe=True`` turns it into a note.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..analysis import dependence
from ..analysis.bindings import starts_apart
from ..analysis.dependence import Conflict
from ..analysis.recovery import Touch, recovered, touches
from ..analysis.reduction_loops import (
    adds_once,
    initialises_first,
    reduce_variables,
    runs_once,
    spatial_variables,
    steps_through_both,
)
from ..analysis.tree import BlockSite, Tree, extent_of, nodes_under, statements_in
from ..analysis.verdict import Verdict, exactly, proven, undecided
from ..arith.effects import is_effect
from ..core.node import post_order
from ..core.per_node import per_node
from ..tir import nodes as t
from .errors import IllegalError, illegal
from .reductions import reduction_operator
from .state import ScheduleState

SUMS = "legal if reassociated: {0} accumulates in another order, so floating-point results may differ by rounding"


def forbid(state: ScheduleState, error: IllegalError) -> None:
    """Raise a legality refusal; with ``unsafe=True`` note it; keep it for the exact tier where there is one."""
    if state.doubts is not None:
        state.doubts.append(error)
        return
    if state.waived is None:
        raise error
    state.waived.append(f"unsafe: {error.message}" + (f" ({error.found})" if error.found else ""))


def require_legal(
    state: ScheduleState,
    condition: bool,
    code: str,
    message: str,
    *,
    found: str = "",
    expected: str = "",
    fix: str = "",
    nodes: Sequence[Any] = (),
) -> None:
    """`forbid` unless `condition` holds."""
    if not condition:
        forbid(state, illegal(code, message, found=found, expected=expected, fix=fix, nodes=nodes))


def require_proven(
    state: ScheduleState, verdict: Verdict[Conflict], refuted: str, unproven: str, fix: str, nodes: Sequence[t.For]
) -> None:
    """`forbid` what is not proven: with the message `refuted` where there is a witness, else with `unproven`."""
    if verdict.answer:
        return
    if verdict.witness is None:
        return forbid(
            state,
            illegal(
                "E-SCHEDULE-UNPROVEN",
                unproven,
                found=verdict.why,
                expected="accesses whose independence can be shown",
                fix=fix,
                nodes=nodes,
            ),
        )
    error = illegal(
        "E-SCHEDULE-DEPENDENCE",
        refuted,
        found=verdict.why,
        expected="iterations that do not touch what another one writes",
        fix=fix,
        nodes=(*nodes, *verdict.witness.statements()),
    )
    error.witness = verdict.witness
    forbid(state, error)


def _by_dependences(question: Callable[[], Conflict | None]) -> Verdict[Conflict]:
    """The verdict of exact dependences, asked where the block algebra does not decide."""
    if not dependence.available():
        return undecided("form", "the accesses are not of a simple form, and islpy is not installed")
    verdict = exactly(question)
    return verdict if verdict.answer is not None else replace(verdict, why=f"not affine: {verdict.why}")


def blocks_under(state: ScheduleState, stmt: t.Stmt) -> tuple[BlockSite, ...]:
    """The leaf blocks inside a statement.  Refuses statements outside blocks, of which nothing is known.

    What conditions around blocks ask counts as read by these (`BlockSite.reads`).
    """
    stack: list[t.Stmt] = [stmt]
    while stack:
        current = stack.pop()
        if isinstance(current, t.For):
            stack.append(current.body)
        elif isinstance(current, t.SeqStmt):
            stack.extend(current.stmts)
        elif isinstance(current, t.IfThenElse) and not any(map(is_effect, post_order(current.condition))):
            stack.extend(statements_in(current))
        elif not isinstance(current, t.BlockRealize):
            require_legal(
                state,
                False,
                "E-SCHEDULE-OPAQUE",
                "what this statement reads and writes is not declared",
                found=f"a {type(current).__name__} outside blocks",
                expected="loops and blocks only",
                fix="put the statement into a block",
                nodes=(current,),
            )
    sites = state.tree.under(stmt)
    for site in sites:
        require_legal(
            state,
            not any(iter_var.kind is t.IterKind.OPAQUE for iter_var in site.block.iter_vars),
            "E-SCHEDULE-OPAQUE",
            f"block {site.name} has iterators whose order matters",
            found="an opaque iterator",
            expected="spatial, reduction and scan iterators",
            fix="leave these loops as they are",
            nodes=(site.block,),
        )
        require_legal(
            state,
            not _has_effects(site.block),
            "E-SCHEDULE-OPAQUE",
            f"block {site.name} calls something with effects",
            found="a call that is not pure",
            expected="loads, stores and arithmetic",
            fix="leave these loops as they are",
            nodes=(site.block,),
        )
    return sites


@per_node
def _has_effects(block: t.Block) -> bool:
    return any(map(is_effect, nodes_under(block)))


def require_independent(
    state: ScheduleState, loop: t.For, verb: str, private: bool, across: bool | None = None
) -> None:
    """Refuse unless the iterations of `loop` may run in any order, or at once.

    With `private`, a buffer used only inside the loop, and written in each iteration before it is read there, does
    not count: every iteration has its own.  With `across` (default: if the loop is annotated so) the results of
    reductions over the loop do not count, where nothing else inside touches them: threads combine them.
    """
    if extent_of(loop) in (0, 1):
        return
    across = loop.is_cross_thread if across is None else across
    sites = blocks_under(state, loop)
    act = _act(verb, loop)
    require_proven(
        state,
        independent(state, loop, sites, private, across),
        f"cannot {act}: its iterations depend on each other",
        f"cannot show that it is legal to {act}",
        _independence_fix(loop, sites, across),
        (loop,),
    )


def independent(
    state: ScheduleState, loop: t.For, sites: Sequence[BlockSite], private: bool, across: bool
) -> Verdict[Conflict]:
    """Whether the iterations of `loop`, around the blocks `sites`, may run in any order; see `require_independent`."""
    suspects: dict[int, list[Touch]] = {}
    for buffer, touched in touches(sites).items():
        if id(loop.var) not in recovered([loop], touched) and not (across and _are_combined(loop, *touched)):
            suspects[buffer] = touched
    if not suspects:
        return proven("form")

    def conflict() -> Conflict | None:
        skip = frozenset(touches(sites)) - frozenset(suspects)
        if private:
            skip |= frozenset(
                buffer
                for buffer, touched in suspects.items()
                if _is_private(state, loop, touched[0].region.buffer, sites)
            )
        return dependence.carried(loop, sites, skip, partial(_are_combined, loop) if across else None)

    verdict = _by_dependences(conflict)
    if verdict.answer is not None:
        return verdict
    buffer = next(iter(suspects.values()))[0].region.buffer
    return replace(verdict, why=f"{buffer.name} is written inside; {verdict.why}")


def _are_combined(loop: t.For, *touched: Touch) -> bool:
    """Whether all accesses are those of one reduction over `loop` to its result."""
    site = touched[0].site
    return (
        all(touch.site is site for touch in touched)
        and id(loop.var) in reduce_variables(site)
        and site.block.init is not None
        and reduction_operator(site.block) is not None
        and adds_once(site)
    )


def _is_private(state: ScheduleState, loop: t.For, buffer: t.Buffer, sites: Sequence[BlockSite]) -> bool:
    if any(buffer is parameter for parameter in state.func.params):
        return False
    around = [stmt for stmt in state.tree.loops[id(loop.var)].path if isinstance(stmt, t.Block)]
    inside = {id(site.block) for site in sites}
    for other in state.tree.blocks.values():
        if any(other.block is block for block in around) or not _touches(other, buffer):
            continue
        if id(other.block) not in inside and not any(id(stmt) in inside for stmt in other.path):
            return False
        if any(region.buffer is buffer for region in other.block.writes) and id(loop.var) in reduce_variables(other):
            return False  # an iteration goes on with what others have added
    return not dependence.uncovered(loop, buffer, sites)


def _touches(site: BlockSite, buffer: t.Buffer) -> bool:
    return any(region.buffer is buffer for region in (*site.reads, *site.block.writes))


def _independence_fix(loop: t.For, sites: Sequence[BlockSite], across: bool) -> str:
    if across:
        return "take the block that touches values of other iterations out of the loop"
    for site in sites:
        if id(loop.var) in reduce_variables(site):
            return f"{loop.var.name} is a reduction loop of {site.name}; choose a spatial loop"
    return "choose a loop whose iterations touch different elements"


def _act(verb: str, loop: t.For) -> str:
    """ "parallelize i": the loop's name at the end, or where the verb says."""
    return verb.format(loop.var.name) if "{}" in verb else f"{verb} {loop.var.name}"


# --- reorder ------------------------------------------------------------------------------------------------------


def require_reorderable(state: ScheduleState, before: Sequence[t.For], after: Sequence[t.For]) -> tuple[str, ...]:
    """Refuse unless the loops `before` (a chain) may run in the order `after`; remarks on reassociated sums."""
    verdict = reorderable(before, after, blocks_under(state, before[0]))
    names = f"({', '.join(loop.var.name for loop in after)})"
    require_proven(
        state,
        verdict,
        f"the order {names} runs dependent iterations the wrong way round",
        f"cannot show that the order {names} is legal",
        "keep the order of the loops that carry the dependence",
        before if verdict.witness is None else before[:1],
    )
    return verdict.remarks


def reorderable(before: Sequence[t.For], after: Sequence[t.For], sites: Sequence[BlockSite]) -> Verdict[Conflict]:
    """Whether the loops `before`, around the blocks `sites`, may run in the order `after`; sums may be reassociated."""
    sums: list[str] = []
    for touched in touches(sites).values():
        known = recovered(list(before), touched)
        left = [loop for loop in before if id(loop.var) not in known]
        if [loop for loop in after if id(loop.var) not in known] == left or _same_loops(after, left, known):
            continue
        site = touched[0].site
        if all(touch.site is site for touch in touched) and _sums_over(site, left, before):
            sums.append(touched[0].region.buffer.name)
        else:
            return _exactly_reorderable(before, after, sites)
    return proven("form", tuple(SUMS.format(name) for name in sums))


def require_mergeable(
    state: ScheduleState, func: t.PrimFunc, merged: Sequence[t.For], counts: Sequence[int], given: Sequence[t.For]
) -> None:
    """Refuse unless nests may run as one: `func` is the function with the nest `merged`, made of several.

    `counts` says how many statements of the innermost loop's body come from each of them; `given` names the loops.
    """
    tree = Tree.of(func)
    for old in given:
        blocks_under(state, old)
    stmts = merged[-1].body.stmts if isinstance(merged[-1].body, t.SeqStmt) else (merged[-1].body,)
    parts: list[list[BlockSite]] = []
    for count in counts:
        parts.append([site for stmt in stmts[:count] for site in tree.under(stmt)])
        stmts = stmts[count:]
    names = ", ".join(loop.var.name for loop in given)
    require_proven(
        state,
        mergeable(merged, parts),
        f"cannot merge {names}: an iteration of a later nest would come before one that it depends on",
        f"cannot show that {names} may be merged",
        "merge loops further out, or move one block with compute_at or reverse_compute_at",
        given,
    )


def mergeable(merged: Sequence[t.For], parts: Sequence[Sequence[BlockSite]]) -> Verdict[Conflict]:
    """Whether the nest `merged`, with `parts` in its innermost body, computes what a nest for each part would."""
    sites = [site for part in parts for site in part]
    if all(
        all(id(loop.var) in known for loop in merged)
        for touched in touches(sites).values()
        for known in [recovered(list(merged), touched)]
    ):
        return proven("form")
    return _by_dependences(lambda: dependence.overtaken(merged, parts))


def _same_loops(after: Sequence[t.For], left: Sequence[t.For], known: set[int]) -> bool:
    kept = [loop for loop in after if id(loop.var) not in known]
    return len(kept) == len(left) and all(one is other for one, other in zip(kept, left, strict=True))


def _sums_over(site: BlockSite, left: Sequence[t.For], chain: Sequence[t.For]) -> bool:
    """True if the loops in `left` only step through a reduction that may be reassociated."""
    if reduction_operator(site.block) is None or not runs_once(site):
        return False
    if not _starts_as_before(site):
        return False
    only_reduced = reduce_variables(site) - spatial_variables(site)
    return all(id(loop.var) in only_reduced for loop in left)


def _starts_as_before(site: BlockSite) -> bool:
    """Whether each sum of a block starts where its init runs, in whatever order its iterations come.

    It may have none; else the iteration that initialises must be the first of its own sum, and touch no other.
    """
    return site.block.init is None or (initialises_first(site) and starts_apart(site.block, site.held))


def _exactly_reorderable(
    before: Sequence[t.For], after: Sequence[t.For], sites: Sequence[BlockSite]
) -> Verdict[Conflict]:
    sums: set[str] = set()

    def excused(one: Touch, other: Touch) -> bool:
        site = one.site
        if one.site is not other.site or reduction_operator(site.block) is None or not runs_once(site):
            return False
        if not _starts_as_before(site) or (site.block.init is not None and steps_through_both(site, before)):
            return False
        if any(region.buffer is one.region.buffer for region in site.block.writes):
            sums.add(one.region.buffer.name)
            return True
        return False

    verdict = _by_dependences(lambda: dependence.violated(before, after, sites, excused))
    if verdict.answer is None:
        return verdict
    return replace(verdict, remarks=tuple(SUMS.format(name) for name in sorted(sums)))
