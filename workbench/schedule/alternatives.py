"""Rules that propose what to do instead of a refused step; `suggest` tries the proposals.

A rule is a generator of (text, plan) for one refused call, the nearest first; `RULES` lists them by primitive, and
primitives without rules of their own get the general ones: other values, other loops.

Invariant: a rule proposes and never judges: a plan that is not legal is refused when it is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import permutations

from ..analysis.dependence import Conflict
from ..analysis.reduction_loops import reduce_variables
from ..analysis.tree import BlockSite
from ..arith.nodes import Var, literal
from ..tir import nodes as t
from .errors import ScheduleError
from .references import BlockRV, LoopRV, make_reference
from .registry import PRIMITIVES
from .trial import Case, Plan, Proposal, Rule, Trial

_LENGTHS = (16, 8, 4, 2)
"""Lengths to split off, of lanes mostly."""
_LANES = 2
"""Lengths of lanes that are proposed for one loop, the longest first."""
_MOST_LANES = 64
"""Lanes of a few registers of the widest machines: longer vectors go through the stack."""


def proposals(case: Case) -> Iterator[Proposal]:
    """All proposals of the rules for a refused call, the nearest first."""
    if case.error.code == "E-SCHEDULE-CONSUMED":
        yield from _what_became_of_it(case)
        return
    for rule in RULES.get(case.attempt.primitive, ()):
        yield from rule(case)
    yield from _other_values(case)
    yield from _defaults(case)
    if case.attempt.primitive not in RULES:
        yield from _other_loops(case)


def _again(case: Case, **changed: object) -> Plan:
    """The refused call with some arguments changed."""
    return lambda trial: trial.do(case.attempt.primitive, **{**case.arguments, **changed})


# --- rules for all primitives -------------------------------------------------------------------------------------


def _what_became_of_it(case: Case) -> Iterator[Proposal]:
    """The loops or blocks that a step made of one that is gone."""
    for name, value in case.attempt.arguments.items():
        number = case.state.consumed.get(getattr(value, "name", ""))
        if number is None:
            continue
        for result in reversed(case.state.steps[number - 1].results):
            target = case.state.named[result]
            if result not in case.state.consumed:
                shown = target if isinstance(target, str) else target.name
                yield f"legal on {shown}, which took its place", _again(case, **{name: make_reference(result, target)})


def _other_values(case: Case) -> Iterator[Proposal]:
    """Other values of the arguments that are not loops or blocks, as the primitive suggests them."""
    entry = PRIMITIVES[case.attempt.primitive]
    for name in dict.fromkeys((*entry.suggest, *entry.annotations)):
        for value in entry.values_for(name) if name in case.attempt.arguments else ():
            if not _same(value, case.attempt.arguments[name]):
                yield f"legal with {name}={value!r}", _again(case, **{name: value})


def _defaults(case: Case) -> Iterator[Proposal]:
    """The same step with its optional arguments at their defaults."""
    entry = PRIMITIVES[case.attempt.primitive]
    for item in entry.parameters:
        if item.default is not item.empty and item.name in case.attempt.arguments:
            yield f"legal without {item.name}", _again(case, **{item.name: item.default})


def _same(value: object, given: object) -> bool:
    return (tuple(value) if isinstance(value, list) else value) == given


def _other_loops(case: Case) -> Iterator[Proposal]:
    """The same step on another loop of the nest, the nearest first."""
    for name, value in case.attempt.arguments.items():
        if isinstance(value, LoopRV):
            for loop in _nearest(case.chain(value), value.target):
                yield f"legal on loop {loop.var.name} instead", _on(case, name, loop)


def _nearest(chain: list[t.For], var: Var) -> list[t.For]:
    at = next((i for i, loop in enumerate(chain) if loop.var is var), len(chain))
    others = [(abs(i - at), i, loop) for i, loop in enumerate(chain) if i != at and not _runs_once(loop)]
    return [loop for _, _, loop in sorted(others, key=lambda item: item[:2])]


def _runs_once(loop: t.For) -> bool:
    """Whether there is one iteration: nearly everything is legal there, and nothing comes of it."""
    return _constant(loop) == 1


def _on(case: Case, name: str, loop: t.For) -> Plan:
    return lambda trial: trial.do(case.attempt.primitive, **{**case.arguments, name: trial.loop(loop)})


# --- loops whose iterations depend on each other ------------------------------------------------------------------


def _another_kind_of_loop(case: Case) -> Iterator[Proposal]:
    """Inner loops first for lanes, outer ones first for threads."""
    loop = case.given(LoopRV)
    chain = case.chain(loop)
    order = reversed(chain) if case.attempt.primitive == "vectorize" else chain
    for other in order:
        if other.var is not loop.target and not _runs_once(other):
            yield f"legal on loop {other.var.name} instead", _on(case, "loop", other)


def _split_off(case: Case) -> Iterator[Proposal]:
    """Strip-mining: where dependences have distance d, d consecutive iterations are independent of each other."""
    loop: LoopRV = case.given(LoopRV)
    conflict = case.error.witness
    if not isinstance(conflict, Conflict):
        return
    distance = abs(conflict.distance().get(loop.target.name, 0))
    for length in dict.fromkeys((distance, *(length for length in _LENGTHS if length < distance))):
        if length > 1:
            yield (
                f"legal if {loop.target.name} is split by {length} first, on the inner loop",
                _split_then(case, loop, length),
            )


def _split_then(case: Case, loop: LoopRV, length: int) -> Plan:
    def plan(trial: Trial) -> None:
        parts = trial.do("split", loop=loop, factors=[None, length])
        trial.do(case.attempt.primitive, **{**case.arguments, "loop": parts[-1]})

    return plan


def _rfactor(case: Case) -> Iterator[Proposal]:
    """Reduction factoring: partial results, one for each iteration of a reduction loop, are independent."""
    loop: LoopRV = case.given(LoopRV)
    if "rfactor" not in PRIMITIVES:
        return

    if case.attempt.primitive == "vectorize":
        yield from _rfactor_of_lanes(case, loop)
    yield f"use rfactor on {loop.target.name}", lambda trial: _factored(case, trial, loop)


def _rfactor_of_lanes(case: Case, loop: LoopRV) -> Iterator[Proposal]:
    """One partial result for each lane of a vector, where one for each iteration would be more than registers hold."""
    extent = next((_constant(one) for one in case.chain(loop) if one.var is loop.target), None)
    if extent is None or extent <= _MOST_LANES:
        return

    def plan(trial: Trial, length: int) -> None:
        _factored(case, trial, trial.do("split", loop=loop, factors=[None, length])[-1])

    for length in _fitting(extent):
        yield (
            f"use rfactor on {length} iterations of {loop.target.name}, split off first", partial(plan, length=length)
        )  # fmt: skip


def _factored(case: Case, trial: Trial, loop: LoopRV) -> None:
    """Factor the loop out, and do what was asked for on the partial results."""
    made = trial.do("rfactor", loop=loop, factor_axis=0)
    site = trial.state.block(made)
    same = next((item for item in site.loops if item.var.name == loop.target.name), None)
    target = trial.loop(same if same is not None else site.loops[0])
    trial.do(case.attempt.primitive, **{**case.arguments, "loop": target})


def _constant(loop: t.For) -> int | None:
    """The number of iterations, where it is one."""
    return literal(loop.extent, None)


def _fitting(extent: int | None) -> list[int]:
    """Lengths of lanes that divide a number of iterations, the longest of them first."""
    return [one for one in _LENGTHS if extent is not None and extent % one == 0 and extent != one][:_LANES]


def _split_for_extent(case: Case) -> Iterator[Proposal]:
    """A constant number of iterations, split off."""
    loop: LoopRV = case.given(LoopRV)
    if case.error.code in ("E-SCHEDULE-VECTOR-EXTENT", "E-SCHEDULE-UNROLL-EXTENT"):
        for length in _LENGTHS:
            yield f"legal if {loop.target.name} is split by {length} first", _split_then(case, loop, length)


def _few_lanes(case: Case) -> Iterator[Proposal]:
    """A part of another loop that is too long for lanes: the inner loop of a split, inside of all where it may be.

    Nothing is moved across lanes any more once they are lanes.
    """
    loop: LoopRV = case.given(LoopRV)
    chain = case.chain(loop)
    for at, other in reversed(list(enumerate(chain))):
        if other.var is loop.target:
            continue
        for length in _fitting(_constant(other)):
            plan = partial(_lanes_inside, case, other, chain[at + 1 :], length)
            yield f"legal on {length} iterations of {other.var.name}, split off first", plan


def _lanes_inside(case: Case, loop: t.For, inside: Sequence[t.For], length: int, trial: Trial) -> None:
    lanes = trial.do("split", loop=trial.loop(loop), factors=[None, length])[-1]
    if inside:
        try:
            trial.do("reorder", ordered_loops=(*(trial.loop(one) for one in inside), lanes))
        except ScheduleError:
            pass  # then they stay where they are
    trial.do(case.attempt.primitive, **{**case.arguments, "loop": lanes})


# --- order --------------------------------------------------------------------------------------------------------


def _other_orders(case: Case) -> Iterator[Proposal]:
    """Permutations of the same loops, the closest to the one asked for first."""
    wanted: tuple[LoopRV, ...] = tuple(next(iter(case.attempt.arguments.values()), ()))
    if not 2 <= len(wanted) <= 5:
        return
    sites = [case.state.tree.loops.get(id(loop.target)) for loop in wanted]
    if any(site is None for site in sites):
        return
    ranked = sorted(permutations(range(len(wanted))), key=_inversions)
    for order in ranked[1:]:
        loops = [wanted[i] for i in order]
        depths = [len(case.state.tree.loops[id(loop.target)].path) for loop in loops]
        if depths != sorted(depths):
            names = ", ".join(loop.target.name for loop in loops)
            yield f"the order ({names}) is legal", _ordered(case, loops)


def _inversions(order: Sequence[int]) -> int:
    return sum(one > other for i, one in enumerate(order) for other in order[i + 1 :])


def _ordered(case: Case, loops: Sequence[LoopRV]) -> Plan:
    name = next(iter(case.attempt.arguments))
    return lambda trial: trial.do(case.attempt.primitive, **{name: tuple(loops)})


def _split_then_reorder(case: Case) -> Iterator[Proposal]:
    """Strip-mine the loop that carries the dependence: its inner part may be interchanged where the loop may not."""
    conflict = case.error.witness
    wanted: tuple[LoopRV, ...] = tuple(next(iter(case.attempt.arguments.values()), ()))
    if not isinstance(conflict, Conflict):
        return
    distance = conflict.distance()
    for loop in wanted:
        length = abs(distance.get(loop.target.name, 0))
        if length < 2:
            continue

        def plan(trial: Trial, loop: LoopRV = loop, length: int = length) -> None:
            outer, inner = trial.do("split", loop=loop, factors=[None, length])
            order = [inner if other is loop else other for other in wanted]
            trial.do("reorder", ordered_loops=(outer, *order))

        yield f"legal if {loop.target.name} is split by {length} first, for its inner part", plan


def _nest_order(case: Case) -> Iterator[Proposal]:
    """The loops in their order in the program, made perfectly nested where other loops stand between."""
    wanted: tuple[LoopRV, ...] = tuple(next(iter(case.attempt.arguments.values()), ()))
    loops = case.state.tree.loops
    if len(wanted) < 2 or any(id(loop.target) not in loops for loop in wanted):
        return
    ordered = tuple(sorted(wanted, key=lambda loop: len(loops[id(loop.target)].path)))
    names = ", ".join(loop.target.name for loop in ordered)
    name = next(iter(case.attempt.arguments), "loops")
    yield f"legal in the order ({names})", lambda trial: trial.do(case.attempt.primitive, **{name: ordered})

    def moved(trial: Trial) -> None:
        chain = case.chain(ordered[0])
        chosen = {id(loop.target) for loop in ordered}
        first = next(i for i, loop in enumerate(chain) if id(loop.var) in chosen)
        last = max(i for i, loop in enumerate(chain) if id(loop.var) in chosen)
        others = [trial.loop(loop) for loop in chain[first : last + 1] if id(loop.var) not in chosen]
        trial.do("reorder", ordered_loops=(*ordered, *others))
        trial.do(case.attempt.primitive, **{name: ordered})

    yield f"legal if ({names}) are brought next to each other first", moved


# --- places -------------------------------------------------------------------------------------------------------


def _other_targets(case: Case) -> Iterator[Proposal]:
    """Loops around the target, then inside it, then of the block's neighbours."""
    target, block = case.given(LoopRV), case.given(BlockRV)
    chain = case.chain(target)
    at = next((i for i, loop in enumerate(chain) if loop.var is target.target), len(chain))
    near = [*reversed(chain[:at]), *chain[at + 1 :]]
    known = {id(loop) for loop in chain}
    for site in _neighbours(case, block):
        for loop in reversed(site.loops):
            if id(loop) not in known:
                known.add(id(loop))
                near.append(loop)
    for loop in near:
        yield f"legal at loop {loop.var.name} instead", _on(case, "loop", loop)


def _neighbours(case: Case, block: BlockRV) -> list[BlockSite]:
    """Consumers of a block for compute_at, producers for reverse_compute_at."""
    site = case.state.block(block)
    tree = case.state.tree
    if case.attempt.primitive == "compute_at":
        return [other for region in site.block.writes for other in tree.readers(region.buffer) if other is not site]
    return [other for region in site.reads for other in tree.writers(region.buffer) if other is not site]


def _after_cache_write(case: Case) -> Iterator[Proposal]:
    """A block that writes an output moves once it writes a buffer of its own."""
    block: BlockRV = case.given(BlockRV)
    if case.error.code != "E-SCHEDULE-OUTPUT":
        return

    def plan(trial: Trial) -> None:
        trial.do("cache_write", block=block, write_buffer_index=0, storage_scope="global")
        trial.do(case.attempt.primitive, **case.arguments)

    yield f"legal after cache_write of {block.target}", plan

    def at_the_copy(trial: Trial) -> None:
        copy = trial.do("cache_write", block=block, write_buffer_index=0, storage_scope="global")
        loops = trial.state.block(copy).loops
        trial.do(case.attempt.primitive, **{**case.arguments, "loop": trial.loop(loops[0])})

    if "loop" in case.attempt.arguments:
        yield f"legal after cache_write of {block.target}, at the copy's loop", at_the_copy


def _reductions_inwards(case: Case) -> Iterator[Proposal]:
    """Loop interchange: with the producer's reduction loops inside the target loop, its values are complete there."""
    if case.error.code != "E-SCHEDULE-UNFINISHED":
        return
    chain = case.chain(case.given(LoopRV))
    site = next((site for site in case.state.tree.leaves if list(site.loops) == chain), None)
    if site is None:
        return
    reduced = reduce_variables(site)
    order = [
        *(loop for loop in chain if id(loop.var) not in reduced),
        *(loop for loop in chain if id(loop.var) in reduced),
    ]

    for position, loop in enumerate(order):
        if id(loop.var) in reduced:
            break

        def plan(trial: Trial, at: int = -1 - position) -> None:
            trial.do("reorder", ordered_loops=tuple(trial.loop(item) for item in order))
            spatial = [item for item in order if id(item.var) not in reduced]
            trial.do(case.attempt.primitive, **{**case.arguments, "loop": trial.loop(spatial[at])})

        yield "legal once the reduction loops stand inside", plan


def _move_instead(case: Case) -> Iterator[Proposal]:
    """Where inlining is illegal, computing the block at a loop of its consumer is often legal."""
    block: BlockRV = case.given(BlockRV)
    site, tree = case.state.block(block), case.state.tree
    other = "reverse_compute_inline" if case.attempt.primitive == "compute_inline" else "compute_inline"
    readers = [item for region in site.block.writes for item in tree.readers(region.buffer) if item is not site]
    writers = [item for region in site.reads for item in tree.writers(region.buffer) if item is not site]
    if case.attempt.primitive == "compute_inline":
        yield f"{other} of {site.name} is legal", lambda trial: trial.do(other, block=block)
        for reader in readers:
            for loop in reversed(reader.loops):
                yield f"compute_at loop {loop.var.name} is legal", _placed("compute_at", block, loop)
    else:
        for writer in writers:
            yield f"{other} of {writer.name} is legal", _inlined(other, writer.name)
        for writer in writers:
            for loop in reversed(writer.loops):
                yield f"reverse_compute_at loop {loop.var.name} is legal", _placed("reverse_compute_at", block, loop)


def _placed(primitive: str, block: BlockRV, loop: t.For) -> Plan:
    return lambda trial: trial.do(primitive, block=block, loop=trial.loop(loop))


def _inlined(primitive: str, name: str) -> Plan:
    return lambda trial: trial.do(primitive, block=trial.block(name))


def _loops_of_the_block(case: Case) -> Iterator[Proposal]:
    """The loops around the block, the nearest outward first."""
    block, loop = case.given(BlockRV), case.given(LoopRV)
    if block is None or loop is None:
        return
    chain = list(case.state.block(block).loops)
    at = next((i for i, item in enumerate(chain) if item.var is loop.target), len(chain))
    for other in (*reversed(chain[:at]), *chain[at + 1 :]):
        yield f"legal at loop {other.var.name} instead", _on(case, "loop", other)


_CONCURRENT: tuple[Rule, ...] = (_split_for_extent, _split_off, _another_kind_of_loop, _rfactor)
RULES: dict[str, tuple[Rule, ...]] = {
    "parallel": _CONCURRENT,
    "vectorize": (*_CONCURRENT, _few_lanes),
    "bind": _CONCURRENT,
    "unroll": (_split_for_extent, _other_loops),
    "reorder": (_split_then_reorder, _other_orders, _nest_order),
    "fuse": (_nest_order,),
    "compute_at": (_after_cache_write, _other_targets),
    "reverse_compute_at": (_reductions_inwards, _other_targets),
    "compute_inline": (_move_instead,),
    "reverse_compute_inline": (_move_instead,),
    "decompose_reduction": (_loops_of_the_block,),
}
