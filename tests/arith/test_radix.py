"""Mixed radix numbers whose places are sizes, against all of their values for small sizes."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from workbench.arith import build
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.arith.radix import radix
from workbench.arith.scope import Scope

N, M = Var("n"), Var("m")
EXTENTS = (1, 2, 3, N, M, N * 2, N + 1, (N + 1) // 2, N * M)


def asked(worth: Sequence[Any], extents: Sequence[Any]) -> list[int] | None:
    """`radix` of x0 * worth[0] + x1 * worth[1] + ..., where x has these extents; the places as positions."""
    scope = Scope()
    variables = [Var(f"x{number}") for number in range(len(extents))]
    total: Any = build.const(0)
    for variable, factor in zip(variables, worth, strict=True):
        total = total + variable * factor
    atoms = [scope.atoms.variable_number(variable) for variable in variables]
    form = scope.form(total)
    sizes = [scope.form(build.convert(extent)) for extent in extents]
    assert form is not None
    found = radix(scope, form, {atom: size for atom, size in zip(atoms, sizes, strict=True) if size is not None})
    return None if found is None else [atoms.index(atom) for atom in found]


def is_a_number(worth: Sequence[Any], extents: Sequence[Any]) -> bool:
    """Whether the sum takes each value from 0 on once, for all small n and m."""
    for n, m in itertools.product(range(-1, 4), repeat=2):
        known = {N: n, M: m}
        sizes = [evaluate(build.convert(extent), known) for extent in extents]
        if min(sizes) <= 0:
            continue
        factors = [evaluate(build.convert(factor), known) for factor in worth]
        points = itertools.product(*map(range, sizes))
        values = sorted(sum(x * factor for x, factor in zip(point, factors, strict=True)) for point in points)
        if values != list(range(math.prod(sizes))):
            return False
    return True


def drawn(rng: random.Random) -> tuple[list[Any], list[Any]]:
    """Extents, and what their variables are worth: as in a number, which may be spoilt."""
    extents: list[Any] = [rng.choice(EXTENTS) for _ in range(rng.randint(1, 4))]
    worth: list[Any] = [0] * len(extents)
    below: Any = build.const(1)
    for number in rng.sample(range(len(extents)), len(extents)):
        worth[number] = below
        below = below * extents[number]
    if rng.random() < 0.5:
        number = rng.randrange(len(extents))
        worth[number] = rng.choice((worth[number] + 1, worth[number] * 2, worth[number] * N, rng.choice(EXTENTS)))
    return worth, extents


def test_what_is_a_number_is_one_and_none_is_missed() -> None:
    rng = random.Random(5)
    shown = 0
    for _ in range(1500):
        worth, extents = drawn(rng)
        found = asked(worth, extents)
        if found is not None:
            shown += 1
            assert is_a_number(worth, extents), (worth, extents)
    assert shown > 500


@pytest.mark.parametrize(
    ("worth", "extents", "places"),
    [
        ((N * 32, N, N, 1), (1, 32, 1, N), [3, 1]),
        ((1, N), (N, M), [0, 1]),
        (((N + 1) // 2, 1), (2, (N + 1) // 2), [1, 0]),
        ((1, N + 1), (N, M), None),
        ((N, 1), (N, M), None),
        ((1, M), (N, M), None),
        ((-1,), (N,), None),
    ],
)
def test_places(worth: Sequence[Any], extents: Sequence[Any], places: list[int] | None) -> None:
    assert asked(worth, extents) == places
