"""Checks of several blocks together: partial results, what is inlined, computed where, and kept how long.

checks=(inside("C", "D"), scratch_at_most(lambda shapes: shapes["m"]))
"""

from __future__ import annotations

from typing import Any

from ..arith.scope import variables_in
from ..tir import nodes as t
from .checks import Bound, bound_of
from .exercise import Check, Verdict
from .work import Work, extent_of, get_loops, names_of, stride


def partial_results(block: str, count: int, neighbours: bool = False, points: int = 1) -> Check:
    """The reduction of a block goes over so many partial results (rfactor).

    With `neighbours`, partial result l takes every element at l, l + count, ... (as lanes do); else consecutive ones.
    """
    partial = f"{block}_rf"

    def run(work: Work) -> Verdict:
        if partial not in work.tree.blocks:
            return _no_partial(work, block, count, neighbours)
        site = work.site(partial)
        made = [extent_of(loop) for loop in site.loops if _is_axis(site, loop) and extent_of(loop) != 1]
        if made[-1:] != [count] and count not in made:
            return Verdict(
                False, f"{partial} holds {made or [1]} partial results; wanted are {count}", (partial,), "split"
            )
        loop = next(loop for loop in site.loops if _is_axis(site, loop) and extent_of(loop) == count)
        steps = [stride(site, region, loop) for region in site.block.reads if region.buffer not in _written(site)]
        if neighbours != (1 in steps):
            kind = "neighbouring" if neighbours else "consecutive"
            return Verdict(
                False, f"the parts do not take {kind} elements: they are {steps[0]} apart", (partial,), "split"
            )
        return Verdict(True, f"{count} partial results")

    return Check(f"{count} partial results of {block}", run, points, helps=("rfactor",))


def _is_axis(site: Any, loop: t.For) -> bool:
    return id(loop.var) in _spatial_variables(site)


def _written(site: Any) -> list[t.Buffer]:
    return [region.buffer for region in site.block.writes]


def _no_partial(work: Work, block: str, count: int, neighbours: bool) -> Verdict:
    site = work.site(block)
    reduced = [loop for loop in site.loops if not _is_axis(site, loop)]
    if not reduced:
        return Verdict(False, f"{block} is no reduction", (block,))
    name = reduced[0].var.name
    reason = f"{block} is one chain: each iteration of {name} waits for the one before it"
    factors, part = (f"[None, {count}]", f"{name}i") if neighbours else (f"[{count}, None]", f"{name}o")
    lines = (
        get_loops(site),
        f"{name}o, {name}i = sch.split({name}, factors={factors})",
        f"sch.rfactor({part}, 0)",
    )
    return Verdict(False, reason, (block, name), "split, then rfactor", lines)


def inlined(block: str, points: int = 1) -> Check:
    """The block is gone: its values are computed where they are used."""

    def run(work: Work) -> Verdict:
        if block not in work.tree.blocks:
            return Verdict(True, f"{block} is computed where it is used")
        return Verdict(
            False,
            f"{block} is still a block of its own, with an array of its own",
            (block,),
            "compute_inline",
            (f'sch.compute_inline("{block}")',),
        )

    return Check(f"{block} is inlined", run, points, helps=("compute_inline", "reverse_compute_inline"))


def inside(producer: str, consumer: str, loops: int = 1, points: int = 1) -> Check:
    """`producer` is computed inside at least so many loops of `consumer`, so that its values are used while near."""

    def run(work: Work) -> Verdict:
        one, other = work.site(producer), work.site(consumer)
        shared = [loop for loop in one.loops if any(loop is around for around in other.loops)]
        if len(shared) >= loops:
            return Verdict(True, f"{producer} and {consumer} share {', '.join(names_of(tuple(shared)))}")
        near = other.loops[min(loops, len(other.loops)) - 1].var.name if other.loops else "the loop"
        reason = f"{producer} and {consumer} share {len(shared)} loops; wanted are {loops}"
        lines = (get_loops(other), f'sch.compute_at("{one.name}", {near})')
        return Verdict(False, reason, (producer, consumer, near), "compute_at", lines)

    name = f"{producer} is computed inside the loops of {consumer}"
    return Check(name, run, points, helps=("compute_at", "reverse_compute_at"))


def scratch_at_most(elements: Bound, points: int = 1) -> Check:
    """Between their writing and their reading, at most so many values of intermediate arrays are kept at a time.

    Counts the part of each intermediate that is alive inside the loops that its writers and readers share.
    """

    def run(work: Work) -> Verdict:
        limit = bound_of(elements, work)
        kept = {buffer.name: live_elements(work, buffer) for buffer in intermediates(work)}
        total = sum(kept.values())
        if total <= limit:
            return Verdict(True, f"{total} values are kept at a time")
        worst = max(kept, key=lambda name: kept[name])
        shown = ", ".join(f"{name} keeps {count}" for name, count in kept.items())
        return Verdict(
            False, f"{total} values are kept at a time, at most {limit} may be: {shown}", (worst,), "compute_at"
        )

    return Check("few values are kept between the stages", run, points, helps=("compute_inline", "compute_at"))


def intermediates(work: Work) -> list[t.Buffer]:
    return [buffer for site in work.tree.blocks.values() for buffer in site.block.alloc_buffers]


def live_elements(work: Work, buffer: t.Buffer) -> int:
    """Values of an intermediate that one iteration of the loops shared by all that touch it writes."""
    sites = work.tree.accessing(buffer)
    writers = work.tree.writers(buffer)
    if not writers:
        return 0
    shared = [loop for loop in writers[0].loops if all(any(loop is other for other in site.loops) for site in sites)]
    own = 1
    spatial = _spatial_variables(writers[0])
    for loop in writers[0].loops:
        if loop not in shared and id(loop.var) in spatial:
            own *= extent_of(loop) or 1
    return own


def _spatial_variables(site: Any) -> set[int]:
    return {
        id(var) for item, value in site.bindings if item.kind is not t.IterKind.REDUCE for var in variables_in(value)
    }
