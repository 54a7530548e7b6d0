"""Digits of forms against all points: what is shown to be told apart, to be without gaps, to lie between ends."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

import pytest

from tests.nightly import tonight
from workbench.arith.build import add, const, floordiv, floormod, multiply
from workbench.arith.digits import Digits
from workbench.arith.evaluate import evaluate
from workbench.arith.forms import Form
from workbench.arith.nodes import PrimExpr, Var
from workbench.arith.scope import Scope

Loop = tuple[Var, int, int]


def drawn(rng: random.Random) -> tuple[list[Loop], list[PrimExpr]]:
    """Loops (variable, begin, extent), and one to three expressions of them; half of them digits of one number."""
    begins, names = (0, 0, 0, 0, 1, 4, -2), "abc"[: rng.randint(1, 3)]
    loops = [(Var(name, "int64"), rng.choice(begins), rng.randint(1, 7)) for name in names]
    values: list[PrimExpr] = []
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.5:
            base, by = expression(rng, loops, 2), rng.choice((2, 3, 4))
            values += [floordiv(base, by), floormod(base, by)]
        else:
            values.append(expression(rng, loops, 3))
    return loops, values[:3]


def expression(rng: random.Random, loops: list[Loop], depth: int) -> PrimExpr:
    how = rng.random()
    if depth == 0 or how < 0.2:
        return rng.choice(loops)[0]
    inner = expression(rng, loops, depth - 1)
    if how < 0.45:
        return add(multiply(inner, rng.choice((1, 2, 3, 4, 6, 8, -1, -4))), expression(rng, loops, depth - 1))
    if how < 0.6:
        return add(inner, const(rng.randint(-4, 5), "int64"))
    return floordiv(inner, rng.choice((2, 3, 4, 6))) if how < 0.8 else floormod(inner, rng.choice((2, 3, 4, 6, 8, 12)))


def value_of(scope: Scope, form: Form, at: Mapping[Var, int]) -> int:
    return form.offset + sum(by * _atom(scope, number, at) for number, by in form.terms.items())


def _atom(scope: Scope, number: int, at: Mapping[Var, int]) -> int:
    atom = scope.atoms.table[number]
    if atom.expr is not None:
        return int(evaluate(atom.expr, at))
    if atom.inner is not None:
        return value_of(scope, atom.inner, at) // atom.divisor
    return prod(_atom(scope, factor, at) for factor in atom.factors)


def problem(seed: int, told: Counter[tuple[str, bool, bool]]) -> str:
    """What is shown and does not hold; empty if there is none."""
    rng = random.Random(seed)
    loops, values = drawn(rng)
    scope = Scope()
    atoms = [scope.enter(var, const(begin, "int64"), const(extent, "int64")) for var, begin, extent in loops]
    forms = [form for value in values if (form := scope.form(value)) is not None]
    own = set(rng.sample(atoms, rng.randint(1, len(atoms)))) if rng.random() < 0.4 else set(atoms)
    digits = Digits(scope, forms, own)
    moving = [loop for loop, atom in zip(loops, atoms, strict=True) if atom in own]
    still = [loop for loop, atom in zip(loops, atoms, strict=True) if atom not in own]
    injective = fills = True
    wrong: list[str] = []
    for fixed in _points(still):
        at: dict[Var, int] = {}
        points: list[tuple[int, ...]] = []
        for at in ({**fixed, **point} for point in _points(moving)):
            points.append(tuple(int(evaluate(value, at)) for value in values))
        spans = [(min(axis), max(axis)) for axis in zip(*points, strict=True)]
        injective = injective and len(set(points)) == len(points)
        fills = fills and len(set(points)) == prod(high - low + 1 for low, high in spans)
        for place, (form, (low, high)) in enumerate(zip(forms, spans, strict=True)):
            least, most = scope.ends(form, own)
            assert least is not None and most is not None
            if value_of(scope, least, at) > low or value_of(scope, most, at) < high:
                wrong.append("ends")
            run = digits.runs[place] if digits.runs is not None else None
            if run is not None and (value_of(scope, run.low, at), value_of(scope, run.high, at)) != (low, high):
                wrong.append("run")
    for name, shown, holds in (("injective", digits.injective, injective), ("fills", digits.fills, fills)):
        told[name, shown, holds] += 1
        wrong += [name] if shown and not holds else []
    return f"seed {seed}: {wrong}" if wrong else ""


def _points(loops: list[Loop]) -> list[dict[Var, int]]:
    ranges = [range(begin, begin + extent) for _, begin, extent in loops]
    return [dict(zip((var for var, _, _ in loops), point, strict=True)) for point in product(*ranges)]


def test_what_is_shown_of_forms_holds() -> None:
    told = Counter[tuple[str, bool, bool]]()
    assert [text for seed in range(800) if (text := problem(seed, told))] == []
    for name in ("injective", "fills"):
        assert told[name, True, True] > 4 * told[name, False, True], told


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("begin", tonight(range(800, 100_000, 4_960)))
def test_what_is_shown_of_many_forms_holds(begin: int, record_property: Any) -> None:
    told = Counter[tuple[str, bool, bool]]()
    assert [text for seed in range(begin, begin + 4_960) if (text := problem(seed, told))] == []
    for (name, shown, holds), count in told.items():
        record_property(f"{name} shown {shown}, in truth {holds}", count)


def symbolic() -> tuple[Scope, list[int], list[Form]]:
    """Variables i < n and j < 4, and the forms of both."""
    scope, n = Scope(), Var("n", "int64")
    pairs = [(Var("i", "int64"), n), (Var("j", "int64"), const(4, "int64"))]
    atoms = [scope.enter(var, const(0, "int64"), extent) for var, extent in pairs]
    return scope, atoms, [Form({atom: 1}, 0) for atom in atoms]


def test_what_has_no_known_end_is_the_highest_digit_only() -> None:
    scope, atoms, (i, j) = symbolic()
    run = Digits(scope, [i.times(4).plus(j)], atoms).runs
    assert run is not None and run[0].high.terms and run[0].low.constant == 0
    assert Digits(scope, [i.times(4).plus(j)], atoms).injective
    assert not Digits(scope, [j.times(100).plus(i)], atoms).fills, "i may take one value"
    assert not Digits(scope, [j.times(100).plus(i)], atoms).injective, "or more than a hundred"
    assert not Digits(scope, [scope.atoms.remainder(i, 4)], atoms).fills


def test_numbers_of_narrow_types_are_indices() -> None:
    """In a simplifier that counts on what wraps, sums without known ends are no forms."""
    scope, n = Scope(), Var("n", "int32")
    i = Var("i", "int32")
    atom = scope.enter(i, const(0, "int32"), n)
    form = scope.form(floordiv(add(multiply(i, 4), 3), 4))
    assert form is not None and form.terms == {atom: 1} and form.offset == 0
