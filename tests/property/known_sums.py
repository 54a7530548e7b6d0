"""Questions about sums of loops, in numbers and in sizes with names: what they take, between which ends, and how often.

What is true is found by running through all points, for several values of a size.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

from tests.arith.test_digits import drawn as drawn_forms
from tests.arith.test_digits import value_of
from workbench.arith import build
from workbench.arith.build import add, const, floordiv, multiply
from workbench.arith.digits import Digits
from workbench.arith.evaluate import evaluate
from workbench.arith.forms import Form
from workbench.arith.nodes import PrimExpr, Var
from workbench.arith.scope import Scope, are_equal, number_of

Answer = tuple[Any, bool]
"""(what is said: for a fact whether it is shown, else some value or None; whether that is wrong)."""
Point = Mapping[Var, int]


@dataclass(frozen=True)
class Loop:
    var: Var
    begin: PrimExpr
    extent: PrimExpr


def points(loops: Sequence[Loop], at: Point) -> Iterator[Point]:
    """All points of loops, the first outermost."""
    if not loops:
        yield at
        return
    step, *rest = loops
    begin = int(evaluate(step.begin, at))
    for value in range(begin, begin + int(evaluate(step.extent, at))):
        yield from points(rest, {**at, step.var: value})


def scope_of(loops: Sequence[Loop]) -> tuple[Scope, list[int]]:
    scope = Scope()
    return scope, [scope.enter(step.var, step.begin, step.extent) for step in loops]


def loosened(rng: random.Random, drawn: Sequence[tuple[Var, int, int]], size: Var) -> list[Loop]:
    """Loops of which some have a symbolic extent, or begin where an outer one stands."""
    found: list[Loop] = []
    for var, begin, extent in drawn:
        how = rng.random()
        first = add(found[-1].var, begin) if found and how < 0.2 else const(begin, "int64")
        found.append(Loop(var, first, size if 0.2 < how < 0.35 else const(extent, "int64")))
    return found


# --- forms --------------------------------------------------------------------------------------------------------

SIZES = (1, 2, 3, 5)
"""What a symbolic extent may be."""


@dataclass(frozen=True)
class Forms:
    """Values over loops of which the last `own` run, the others standing still."""

    loops: list[Loop]
    own: int
    values: list[PrimExpr]
    ends: list[tuple[Point, list[tuple[int, int]]]]
    """Where the others may stand, and the least and greatest of each value there."""
    counts: list[list[int]]
    """How many values of each there are."""
    every: list[tuple[Point, tuple[int, ...]]]
    """Some points, and the values there."""
    injective: bool
    fills: bool


def forms(seed: int, opaque: bool = False) -> Forms:
    """`opaque`: of expressions that are no sums of multiples, too."""
    rng, size = random.Random(seed), Var("n", "int64")
    drawn, values = drawn_forms(rng)
    if opaque:
        how = rng.choice((build.maximum, build.minimum, multiply))
        values[0] = how(values[0], add(rng.choice(drawn)[0], rng.randint(-1, 2)))
        values.append(rng.choice(drawn)[0])
    return _asked(rng, loosened(rng, drawn, size), values, size)


def sums(seed: int) -> Forms:
    """Numbers of mixed radix whose places are sizes, most of them as they should be."""
    rng, size = random.Random(seed), Var("n", "int64")
    loops: list[Loop] = []
    for name in "abc"[: rng.randint(2, 3)]:
        others = [add(loops[-1].var, 1)] if loops and rng.random() < 0.2 else [const(rng.randint(1, 4), "int64"), size]
        extent = rng.choice((*others, size, floordiv(size + 2, 3), multiply(size, 2), size + 1))
        loops.append(Loop(Var(name, "int64"), const(0, "int64"), extent))
    value: PrimExpr = const(rng.choice((0, 0, 3)), "int64")
    worth: PrimExpr = const(1, "int64")
    for step in rng.choice((loops, loops[::-1], loops[::-1])):
        value = add(value, multiply(step.var, worth))
        worth = multiply(worth, add(step.extent, rng.choice((0, 0, 0, 0, -1, 1))))
    values = [value, *([loops[0].var] if rng.random() < 0.3 else [])]
    return _asked(rng, loops, values, size)


def _asked(rng: random.Random, loops: list[Loop], values: list[PrimExpr], size: Var) -> Forms:
    own = rng.randint(1, len(loops)) if rng.random() < 0.4 else len(loops)
    at, inner = loops[: len(loops) - own], loops[len(loops) - own :]
    ends: list[tuple[Point, list[tuple[int, int]]]] = []
    counts: list[list[int]] = []
    every: list[tuple[Point, tuple[int, ...]]] = []
    injective = fills = True
    for still in (point for number in SIZES for point in points(at, {size: number})):
        found = [tuple(int(evaluate(value, point)) for value in values) for point in points(inner, still)]
        spans = [(min(axis), max(axis)) for axis in zip(*found, strict=True)]
        ends.append((still, spans))
        every += zip(points(inner, still), found, strict=True)
        counts.append([len(set(axis)) for axis in zip(*found, strict=True)])
        injective = injective and len(set(found)) == len(found)
        fills = fills and len(set(found)) == prod(high - low + 1 for low, high in spans)
    return Forms(loops, own, values, ends, counts, rng.sample(every, min(20, len(every))), injective, fills)


def of_forms(asked: Forms) -> Iterator[Answer]:
    scope, atoms = scope_of(asked.loops)
    own = set(atoms[len(atoms) - asked.own :])
    made = [form for value in asked.values if (form := scope.form(value)) is not None]
    digits = Digits(scope, made, own)
    yield digits.injective, digits.injective and not asked.injective
    yield digits.fills, digits.fills and not asked.fills
    for place, form in enumerate(made):
        for side, end in enumerate(scope.ends(form, own)):
            truths = [spans[place][side] for _, spans in asked.ends]
            values = _at(scope, end, asked)
            beyond = zip(values or (), truths, strict=bool(values))
            yield values, any(value > true if side == 0 else value < true for value, true in beyond)
            yield values == truths, False
            values = _at(scope, digits.runs[place][side], asked) if digits.runs is not None else None
            yield values, values is not None and values != truths
    for run, counts in zip(digits.runs or (), zip(*asked.counts, strict=True), strict=False):
        size = None if run.size == inf else run.size
        yield size, size is not None and set(counts) != {size}


def of_scope(asked: Forms) -> Iterator[Answer]:
    """How forms are written, and what moves in them."""
    scope, atoms = scope_of(asked.loops)
    own = set(atoms[len(atoms) - asked.own :])
    for place, value in enumerate(asked.values):
        form, truth = scope.linear(value), [values[place] for _, values in asked.every]
        spans = [axes[place] for _, axes in asked.ends[:40] if place < len(axes)]
        yield "index", _values(scope.index(form), asked) != truth
        moving, still = scope.parted(form, own)
        yield sorted(moving.terms), moving.plus(still).key != form.key or scope.moves(still, own)
        moves = scope.moves(form, own)
        yield moves, not moves and any(low < high for low, high in spans)
        yield sorted(scope.variables_of(form) & set(atoms)), moves is scope.variables_of(form).isdisjoint(own)
        only, number = scope.only_variable(form), number_of(value)
        yield only is not None, only is not None and _values(only, asked) != truth
        yield scope.holds(const(True)), not scope.holds(const(True))
        yield scope.holds(value >= 0), scope.holds(value >= 0) and any(low < 0 for low, _ in spans)
        yield number, number is not None and {*truth} != {number}
        same = are_equal(value, asked.values[0])
        yield same, same is not (place == 0) and truth != [values[0] for _, values in asked.every]


def _values(expr: PrimExpr, asked: Forms) -> list[int]:
    return [int(evaluate(expr, at)) for at, _ in asked.every]


def _at(scope: Scope, form: Form | None, asked: Forms) -> list[int] | None:
    """The values of an end, which moves only with what stands still."""
    return None if form is None else [value_of(scope, form, at) for at, _ in asked.ends]
