"""The properties that exercises ask for, each a named `Check` computed from the work.

    checks=(same_numbers(lambda a, b: a @ b), legal(), vectorized("C", lanes=8), at_most_steps(4))

Here are those of numbers, steps and figures; loops: `loop_checks`, stages: `stage_checks`, caches: `cache_checks`.

Checks without points (by default numbers, legality, the number of steps) guard the others: where one fails, nothing
is earned.  A check never trusts the answer: numbers come from the checking interpreter and NumPy, structure from the
program.  `metric` and `holds` make checks of functions of one's own.

"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.equal import first_difference, structural_equal
from ..core.errors import WorkbenchError
from ..driver.difference import text_changes
from ..tir import nodes as t
from ..tir.script import script
from .answers import plain
from .exercise import Check, Verdict
from .work import Unmet, Work

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


def bound_of(bound: Bound, work: Work) -> Number:
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


# --- whole programs and figures -----------------------------------------------------------------------------------


def same_program(target: Callable[..., Any], points: int = 1) -> Check:
    """The program is that of `target(**shapes)` up to names."""

    def run(work: Work) -> Verdict:
        wanted = target(**work.shapes)
        if structural_equal(work.function, wanted):
            return Verdict(True, "the program is the one asked for")
        place = first_difference(work.function, wanted, names=False, map_free_variables=False)
        changes = text_changes("", script(work.function), script(wanted))
        first = next((line.strip() for change in changes for sign, line in change.rows if sign == "+"), str(place))
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
        value, limit = measure(work), bound_of(at_most, work)
        shown = f"{value:,} {unit}".strip()
        if value <= limit:
            return Verdict(True, f"{shown} (at most {limit:,})")
        return Verdict(False, f"{shown}, {value / limit:.2g} times the {limit:,} allowed")

    return Check(name, run, points, helps)


def holds(
    name: str, test: Callable[[Work], Any], reason: str = "", points: int = 1, helps: tuple[str, ...] = ()
) -> Check:
    """A property of one's own: `test(work)` is true, or a text says why not (else `reason` does)."""

    def run(work: Work) -> Verdict:
        found = test(work)
        if isinstance(found, str):
            return Verdict(False, found)
        return Verdict(bool(found), "it holds" if found else reason or "it does not hold")

    return Check(name, run, points, helps)
