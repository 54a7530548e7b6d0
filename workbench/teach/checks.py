"""The properties that exercises ask for, each a named `Check` computed from the work.

    checks=(same_numbers(lambda a, b: a @ b), legal(), vectorized("C", lanes=8), at_most_steps(4))

Checks without points (by default numbers, legality, the number of steps) guard the others: where one fails, nothing
is earned.  A check never trusts the answer: numbers come from the checking interpreter and NumPy, structure from the
program.  `metric` and `holds` make checks of functions of one's own.

"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.equal import first_difference, structural_equal
from ..core.errors import WorkbenchError
from ..tir import nodes as t
from .exercise import Check, Verdict
from .work import Unmet, Work, extent_of, get_loops, is_contiguous, moves, names_of

Number = int | float
Bound = Number | Callable[[Mapping[str, int]], Number]
"""A number, or a function of the student's shapes."""


def verdict_of(check: Check, work: Work) -> Verdict:
    """The check's verdict; what it cannot ask, and what is refused on the way, are failures with a reason."""
    try:
        return check.run(work)
    except Unmet as unmet:
        return Verdict(False, str(unmet))
    except WorkbenchError as error:
        return Verdict(False, f"{error.code}: {error.message}" + (f"; {error.found}" if error.found else ""))


def _bound(bound: Bound, work: Work) -> Number:
    return bound(work.shapes) if callable(bound) else bound


# --- numbers ------------------------------------------------------------------------------------------------------


def same_numbers(reference: Callable[..., Any], tolerance: float = 1e-4, points: int = 0) -> Check:
    """The program computes what `reference` does in NumPy: inputs in order in, the output (or a tuple of them) out."""

    def run(work: Work) -> Verdict:
        inputs, found = work.numbers
        answered = reference(*[array.astype(np.float64) if array.dtype.kind == "f" else array for array in inputs])
        expected = [np.asarray(item) for item in (answered if isinstance(answered, tuple) else (answered,))]
        if len(found) != len(expected):
            return Verdict(False, f"the program writes {len(found)} arrays instead of {len(expected)}")
        for buffer, one, other in zip(work.written, found, expected, strict=True):
            if one.shape != other.shape:
                return Verdict(False, f"{buffer.name} has shape {one.shape}; wanted is {other.shape}", (buffer.name,))
            wrong = ~np.isclose(one.astype(np.float64), other, rtol=tolerance, atol=tolerance, equal_nan=True)
            if wrong.any():
                place = tuple(int(index) for index in np.argwhere(wrong)[0])
                shown = f"{buffer.name}[{', '.join(map(str, place))}]"
                share = f"{int(wrong.sum())} of {wrong.size} elements differ"
                reason = f"{shown} is {one[place]:g}, NumPy says {other[place]:g} ({share})"
                return Verdict(False, reason, (_writer(work, buffer),))
        return Verdict(True, "every number agrees with NumPy")

    return Check("the same numbers as NumPy", run, points)


def _writer(work: Work, buffer: t.Buffer) -> str:
    writers = work.tree.writers(buffer)
    return writers[0].name if writers else buffer.name


def value_is(
    truth: Callable[[Any, Mapping[str, int]], Any],
    what: str = "the right answer",
    tolerance: float = 0.0,
    points: int = 1,
) -> Check:
    """The answer is the value of `truth(start, shapes)`, which is computed, not kept; numbers up to `tolerance`."""

    def run(work: Work) -> Verdict:
        from .answers import plain

        expected = plain(truth(work.start, work.shapes))
        if work.value is None:
            return Verdict(False, "there is no answer yet")
        if isinstance(expected, (int, float)) and not isinstance(expected, bool):
            if not isinstance(work.value, (int, float)) or isinstance(work.value, bool):
                return Verdict(False, f"{work.value!r} is not a number")
            close = abs(work.value - expected) <= tolerance * max(1.0, abs(expected))
            direction = "too small" if work.value < expected else "too large"
            return Verdict(close, f"{work.value} is right" if close else f"{work.value} is {direction}")
        right = work.value == expected
        return Verdict(right, f"{work.value} is right" if right else f"{work.value} is not it")

    return Check(what, run, points)


# --- the way there ------------------------------------------------------------------------------------------------


def legal(points: int = 0) -> Check:
    """No step was forced, and what was done keeps the meaning of the program: the steps replay on the start."""

    def run(work: Work) -> Verdict:
        for number, step in enumerate(work.schedule.trace if work.schedule is not None else (), 1):
            if dict(step.arguments).get("unsafe") or getattr(step, "unsafe", False):
                return Verdict(False, f"step {number} was forced: {step.line()}", primitive=step.primitive)
        if work.function.attrs.get("unsafe"):
            return Verdict(False, "the program is marked unsafe")
        return Verdict(True, "every step is legal")

    return Check("legal", run, points)


def at_most_steps(limit: int, points: int = 0) -> Check:
    """At most so many steps that change the program (getters are free)."""

    def run(work: Work) -> Verdict:
        count = len(work.steps)
        if count <= limit:
            return Verdict(True, _steps(count))
        return Verdict(False, f"{_steps(count)}, {count - limit} too many", primitive=work.steps[-1].primitive)

    return Check(f"at most {_steps(limit)}", run, points)


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def uses(*primitives: str, points: int = 1) -> Check:
    """Each of these primitives stands in the trace."""

    def run(work: Work) -> Verdict:
        done = {step.primitive for step in work.steps}
        missing = [name for name in primitives if name not in done]
        if not missing:
            return Verdict(True, f"{' and '.join(primitives)}: used")
        used = ", ".join(sorted(done)) or "nothing"
        return Verdict(False, f"{missing[0]} is not used; you used {used}", primitive=missing[0])

    return Check(f"uses {', '.join(primitives)}", run, points, helps=primitives)


def avoids(*primitives: str, points: int = 0) -> Check:
    """None of these primitives stands in the trace."""

    def run(work: Work) -> Verdict:
        for step in work.steps:
            if step.primitive in primitives:
                return Verdict(False, f"{step.primitive} is used: {step.line()}", primitive=step.primitive)
        return Verdict(True, f"no {', no '.join(primitives)}")

    return Check(f"without {', '.join(primitives)}", run, points)


# --- loops --------------------------------------------------------------------------------------------------------


def vectorized(block: str, lanes: Bound | None = None, points: int = 1) -> Check:
    """The innermost loop of a block is a vector, and its lanes lie side by side in memory."""
    name = f"the innermost loop of {block} is a contiguous vector" + (f" of {lanes}" if isinstance(lanes, int) else "")

    def run(work: Work) -> Verdict:
        return _vector(work.site(block), None if lanes is None else int(_bound(lanes, work)))

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
            (get_loops(site), f"sch.reorder({innermost.var.name}, {vectors[-1].var.name})"),
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
        wanted = [int(_bound(extent, work)) for extent in extents]
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
        from .work import variables_of

        site = work.site(block)
        of_loop: dict[int, str] = {}
        for item, value in site.bindings:
            for var in variables_of(value):
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


# --- stages -------------------------------------------------------------------------------------------------------


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
        limit = _bound(elements, work)
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
    from .work import variables_of

    return {
        id(var) for item, value in site.bindings if item.kind is not t.IterKind.REDUCE for var in variables_of(value)
    }


# --- whole programs and figures -----------------------------------------------------------------------------------


def same_program(target: Callable[..., Any], points: int = 1) -> Check:
    """The program is that of `target(**shapes)` up to names."""

    def run(work: Work) -> Verdict:
        from ..tir.script import script
        from ..views.html import difference_lines

        wanted = target(**work.shapes)
        if structural_equal(work.function, wanted):
            return Verdict(True, "the program is the one asked for")
        place = first_difference(work.function, wanted, names=False, map_free_variables=False)
        rows = difference_lines(script(work.function), script(wanted), context=0)
        first = next((line.strip() for sign, line in rows if sign == "+"), str(place))
        return Verdict(False, f"the program differs from the one asked for; wanted is a line like: {first}")

    return Check("the program asked for", run, points)


def metric(
    name: str,
    measure: Callable[[Work], Number],
    at_most: Bound,
    helps: tuple[str, ...] = (),
    unit: str = "",
    points: int = 1,
) -> Check:
    """A figure that is computed, not timed, and may be at most so large; the hints look for a step that lowers it."""

    def run(work: Work) -> Verdict:
        value, limit = measure(work), _bound(at_most, work)
        shown = f"{value:,} {unit}".strip()
        if value <= limit:
            return Verdict(True, f"{shown} (at most {limit:,})")
        return Verdict(False, f"{shown}, {value / limit:.2g} times the {limit:,} allowed")

    return Check(name, run, points, helps)


def holds(name: str, test: Callable[[Work], Any], reason: str, points: int = 1) -> Check:
    """A property of one's own: `test(work)` is true, or a text says why not."""

    def run(work: Work) -> Verdict:
        found = test(work)
        if isinstance(found, str):
            return Verdict(False, found)
        return Verdict(bool(found), name if found else reason)

    return Check(name, run, points)
