"""Checks of the loops around a block: vectors, threads, tiles, order.

checks=(vectorized("C", lanes=8), parallel("C"), loop_extents("C", 4, 2, 5, 3))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..arith.scope import variables_in
from ..tir import nodes as t
from .checks import Bound, bound_of
from .exercise import Check, Verdict
from .work import Work, extent_of, get_loops, is_contiguous, moves, names_of


def vectorized(block: str, lanes: Bound | None = None, points: int = 1) -> Check:
    """The innermost loop of a block is a vector, and its lanes lie side by side in memory."""
    name = f"the innermost loop of {block} is a contiguous vector" + (f" of {lanes}" if isinstance(lanes, int) else "")

    def run(work: Work) -> Verdict:
        return _vector(work.site(block), None if lanes is None else int(bound_of(lanes, work)))

    return Check(name, run, points)


def _vector(site: Any, lanes: int | None) -> Verdict:
    if not site.loops:
        return Verdict(False, f"{site.name} stands in no loop", (site.name,))
    innermost = site.loops[-1]
    vectors = [loop for loop in site.loops if loop.kind is t.ForKind.VECTORIZED]
    if not vectors:
        return _no_vector(site, lanes)
    if innermost is not vectors[-1]:
        return Verdict(
            False,
            f"{vectors[-1].var.name} is the vector, but {innermost.var.name} runs inside of it",
            names_of((vectors[-1], innermost)),
            "reorder",
            _vector_lines(site, vectors[-1], lanes),
        )
    if not is_contiguous(site, innermost):
        return Verdict(False, _jumps(site, innermost), (site.name, innermost.var.name), "reorder")
    if lanes is not None and extent_of(innermost) != lanes:
        reason = f"the vector {innermost.var.name} has {extent_of(innermost)} lanes instead of {lanes}"
        return Verdict(False, reason, (innermost.var.name,), "split", _vector_lines(site, innermost, lanes))
    return Verdict(True, f"{innermost.var.name}: {extent_of(innermost)} neighbouring elements at once")


def _jumps(site: Any, loop: t.For) -> str:
    far = [f"{step} elements in {name}" for name, step in moves(site, loop).items() if step not in (0, 1)]
    still = [region.buffer.name for region in site.block.writes if moves(site, loop)[region.buffer.name] == 0]
    what = f"moves by {', '.join(far)}" if far else f"stays on one element of {', '.join(still)}"
    return f"from one iteration of {loop.var.name} to the next, {site.name} {what}"


def _no_vector(site: Any, lanes: int | None) -> Verdict:
    good = [loop for loop in site.loops if is_contiguous(site, loop)]
    innermost = site.loops[-1]
    if not good:
        return Verdict(False, f"no loop of {site.name} is a vector; {_jumps(site, innermost)}", (site.name,), "split")
    loop = good[-1]
    reason = f"no loop of {site.name} is a vector; "
    if loop is innermost:
        reason += f"its innermost one, {loop.var.name}, is contiguous"
    else:
        reason += f"{_jumps(site, innermost)}, but {loop.var.name} is contiguous"
    steps = [
        "split" if lanes is not None and extent_of(loop) != lanes else "",
        "reorder" if loop is not innermost else "",
        "vectorize",
    ]
    primitive = ", then ".join(step for step in steps if step)
    return Verdict(False, reason, (site.name, loop.var.name), primitive, _vector_lines(site, loop, lanes))


def _vector_lines(site: Any, loop: t.For, lanes: int | None) -> tuple[str, ...]:
    """Python that makes vectors of a contiguous loop: split to the lanes wanted, bring inside, vectorize."""
    name = inner = loop.var.name
    lines = [get_loops(site)]
    order = [other.var.name for other in site.loops if other is not loop]
    if lanes is not None and extent_of(loop) != lanes:
        inner = f"{name}i"
        lines.append(f"{name}o, {inner} = sch.split({name}, factors=[None, {lanes}])")
        order = [f"{name}o" if other is loop else other.var.name for other in site.loops]
    if loop is not site.loops[-1]:
        lines.append(f"sch.reorder({', '.join([*order, inner])})")
    return (*lines, f"sch.vectorize({inner})")


def parallel(block: str, points: int = 1) -> Check:
    """The outermost loop of a block that runs more than once is shared among threads."""

    def run(work: Work) -> Verdict:
        site = work.site(block)
        real = [loop for loop in site.loops if extent_of(loop) != 1]
        if not real:
            return Verdict(False, f"{site.name} stands in no loop", (site.name,))
        outer = real[0]
        if outer.kind is t.ForKind.PARALLEL:
            return Verdict(True, f"the iterations of {outer.var.name} are shared among threads")
        inner = [loop.var.name for loop in real[1:] if loop.kind is t.ForKind.PARALLEL]
        reason = f"the outermost loop of {site.name}, {outer.var.name}, is {outer.kind.value}"
        if inner:
            reason += (
                f"; {inner[0]} is parallel, but inside: the threads would meet at each iteration of {outer.var.name}"
            )
        lines = (get_loops(site), f"sch.parallel({outer.var.name})")
        return Verdict(False, reason, (site.name, outer.var.name), "parallel", lines)

    return Check(f"the outermost loop of {block} is parallel", run, points)


def loop_extents(block: str, *extents: int | Callable[[Mapping[str, int]], int], points: int = 1) -> Check:
    """The loops around a block have these extents, outermost first; loops that run once do not count."""
    name = f"the loops of {block} are tiled as asked"

    def run(work: Work) -> Verdict:
        site = work.site(block)
        wanted = [int(bound_of(extent, work)) for extent in extents]
        found = [extent_of(loop) for loop in site.loops if extent_of(loop) != 1]
        if found == [extent for extent in wanted if extent != 1]:
            return Verdict(True, f"loops of {' x '.join(map(str, wanted))}")
        reason = f"the loops of {site.name} have the extents {found}; wanted are {wanted}"
        same = sorted(map(str, found)) == sorted(map(str, wanted))
        return Verdict(False, reason, (site.name, *names_of(site.loops)), "reorder" if same else "split")

    return Check(name, run, points)


def loop_order(block: str, *names: str, points: int = 1) -> Check:
    """Of the loops around a block, those that run over these iterators stand in this order, outermost first.

    A name is a block iterator's without its v: "k" is what `vk` runs over.
    """

    def run(work: Work) -> Verdict:
        site = work.site(block)
        of_loop: dict[int, str] = {}
        for item, value in site.bindings:
            for var in variables_in(value):
                of_loop[id(var)] = item.var.name.removeprefix("v")
        found: list[str] = []
        for loop in site.loops:
            name = of_loop.get(id(loop.var), "")
            if name in names and (not found or found[-1] != name):
                found.append(name)
        if found == list(names):
            return Verdict(True, f"order {', '.join(names)}")
        reason = f"the loops of {site.name} run over {', '.join(found)}; wanted is {', '.join(names)}"
        return Verdict(False, reason, (site.name, *names_of(site.loops)), "reorder", _order_lines(site, of_loop, names))

    return Check(f"{block} runs in the order {', '.join(names)}", run, points, helps=("reorder",))


def _order_lines(site: Any, of_loop: Mapping[int, str], names: Sequence[str]) -> tuple[str, ...]:
    known = [loop for loop in site.loops if of_loop.get(id(loop.var)) in names]
    ordered = sorted(known, key=lambda loop: names.index(of_loop[id(loop.var)]))
    return (get_loops(site), f"sch.reorder({', '.join(names_of(tuple(ordered)))})")
