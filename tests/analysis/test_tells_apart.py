"""Iterations told apart by values: each answer against enumeration."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from workbench.analysis.dataflow import tells_apart
from workbench.arith import build
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.tir import nodes as t
from workbench.tir.build import loop

Values = Callable[..., list[Any]]


def loops_of(*extents: Any) -> list[t.For]:
    return [loop(Var(f"i{n}"), extent, t.Evaluate(build.const(0))) for n, extent in enumerate(extents)]


def is_injective(values: list[Any], loops: list[t.For]) -> bool:
    spans = [range(int(evaluate(step.extent, {}))) for step in loops]
    found = [
        tuple(int(evaluate(value, dict(zip([step.var for step in loops], point, strict=True)))) for value in values)
        for point in itertools.product(*spans)
    ]
    return len(set(found)) == len(found)


SHOWN: dict[str, tuple[tuple[int, ...], Values]] = {
    "each its own": ((3, 4), lambda i, j: [j, i]),
    "a split": ((3, 4), lambda i, j: [i * 4 + j]),
    "a split with gaps": ((3, 4), lambda i, j: [i * 7 + j + 2]),
    "a fused pair": ((12,), lambda f: [f // 4, f % 4]),
    "a fused pair, not full": ((11,), lambda f: [f // 4, f % 4]),
    "three digits": ((24,), lambda f: [f % 2, f // 6, f // 2 % 3]),
    "a fused pair of splits": ((4, 6), lambda i, j: [(i * 6 + j) // 8, (i * 6 + j) % 8]),
    "a sum and a part": ((4, 5), lambda i, j: [i + j, j]),
    "backwards": ((4, 5), lambda i, j: [3 - i, j]),
    "a loop of one iteration": ((1, 5), lambda i, j: [j]),
}
REPEATED: dict[str, tuple[tuple[int, ...], Values]] = {
    "a loop that nothing mentions": ((3, 4), lambda i, j: [j]),
    "a quotient": ((6,), lambda f: [f // 2]),
    "a remainder": ((6,), lambda f: [f % 4]),
    "overlapping": ((3, 4), lambda i, j: [i + j]),
    "tiles that overlap": ((3, 4), lambda i, j: [i * 3 + j]),
    "digits with a gap": ((12,), lambda f: [f % 2, f // 6]),
    "places that do not divide one another": ((100,), lambda f: [f % 3, f % 10 // 3, f % 25 // 10, f // 25]),
    "a top digit too short": ((12,), lambda f: [f % 2, f // 2 % 3]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_told_apart(name: str) -> None:
    extents, made = SHOWN[name]
    loops = loops_of(*extents)
    values = made(*[step.var for step in loops])
    assert is_injective(values, loops)
    assert tells_apart(values, loops)


@pytest.mark.parametrize("name", REPEATED)
def test_not_told_apart(name: str) -> None:
    extents, made = REPEATED[name]
    loops = loops_of(*extents)
    values = made(*[step.var for step in loops])
    assert not is_injective(values, loops)
    assert not tells_apart(values, loops)


def test_symbolic_extents() -> None:
    n = Var("n")
    loops = loops_of(n, 4)
    i, j = (step.var for step in loops)
    assert tells_apart([i * 4 + j], loops)
    assert tells_apart([i + j * n], loops)
    assert not tells_apart([i + j * (n - 1)], loops)
    assert not tells_apart([j], loops)


def drawn_value(rng: random.Random, loops: list[t.For]) -> Any:
    made = build.const(rng.randint(0, 3))
    for step in loops:
        made = made + step.var * rng.randint(0, 7)
    how = rng.random()
    if how < 0.2:
        made = made % rng.randint(1, 30)
    return made // rng.randint(1, 6) if how < 0.4 else made % rng.randint(1, 9) if how < 0.7 else made


def test_what_is_shown_holds() -> None:
    rng = random.Random(1)
    shown = 0
    for _ in range(400):
        loops = loops_of(*[rng.randint(1, 6) for _ in range(rng.randint(1, 3))])
        values = [drawn_value(rng, loops) for _ in range(rng.randint(1, 3))]
        if tells_apart(values, loops):
            shown += 1
            assert is_injective(values, loops), (values, [step.extent for step in loops])
    assert shown > 40
