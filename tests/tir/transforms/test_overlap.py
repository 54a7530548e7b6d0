"""Whether iterations that run at once write the same elements, against running through all of them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from workbench.arith import build
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.core.node import substitute
from workbench.tir import nodes as t
from workbench.tir.build import loop, seq
from workbench.tir.transforms.overlap import writes_overlap

OUTER, AT_ONCE, INNER = Var("o"), Var("f"), Var("r")
BUFFER = t.Buffer("B", (64, 64), "float32")


def nest(extent: int, writes: list[tuple[int, list[Any], Any]]) -> t.For:
    """for f in parallel(extent): for each of `writes`, for r in range(its count): where its condition: B[its index]."""
    parts: list[t.Stmt] = []
    for number, (count, index, condition) in enumerate(writes):
        inner = Var(f"r{number}")
        own = [_with(INNER, inner, axis) for axis in index]
        store = t.BufferStore(BUFFER, build.const(1.0, "float32"), tuple(own))
        region = t.BufferRegion(BUFFER, tuple(t.Range(axis, build.const(1)) for axis in own))
        block = t.Block(f"b{number}", (), (), (region,), (), None, store)
        realize = t.BlockRealize((), build.convert(_with(INNER, inner, condition)), block)
        parts.append(loop(inner, count, realize))
    return loop(AT_ONCE, extent, seq(*parts)).replace(kind=t.ForKind.PARALLEL)


def _with(old: Var, new: Var, expr: Any) -> Any:
    return substitute(build.convert(expr), {old: new})


def meets(extent: int, writes: list[tuple[int, list[Any], Any]]) -> bool:
    """By running: o is 0."""
    holders: dict[tuple[int, ...], set[int]] = {}
    for count, index, condition in writes:
        for f, r in product(range(extent), range(count)):
            at = {OUTER: 0, AT_ONCE: f, INNER: r}
            if evaluate(build.convert(condition), at):
                holders.setdefault(tuple(int(evaluate(build.convert(axis), at)) for axis in index), set()).add(f)
    return any(len(iterations) > 1 for iterations in holders.values())


def random_index(rng: random.Random) -> Any:
    k, c = rng.choice((1, 2, 3, 4, 7)), rng.choice((0, 1, 2, 3, 7, 8))
    part = rng.choice((AT_ONCE // k, AT_ONCE % k, AT_ONCE * k, build.const(0), 12 - AT_ONCE, AT_ONCE // 2 % k))
    factor = rng.choice((1, 1, 2, 4, 7))
    return part * factor + rng.choice((INNER * 1, INNER // 2, build.const(c), INNER * 2, c - INNER))


@pytest.mark.parametrize("seed", range(120))
def test_random_nests(seed: int) -> None:
    rng = random.Random(seed)
    extent = rng.randint(1, 12)
    writes: list[tuple[int, list[Any], Any]] = []
    for _ in range(rng.randint(1, 2)):
        count = rng.randint(1, 8)
        condition = rng.choice((build.const(True), build.const(True), AT_ONCE * 3 + INNER < 7, INNER < 3))
        writes.append((count, [random_index(rng), random_index(rng)], condition))
    assert writes_overlap(nest(extent, writes), BUFFER, []) is meets(extent, writes)


def test_rows_of_points_that_no_number_holds() -> None:
    far = build.const(1 << 40)
    index = [AT_ONCE % 5 * far, AT_ONCE * far * 2 + INNER // 3 * far]
    writes = [(6, index, True)]
    assert writes_overlap(nest(6, writes), BUFFER, []) is meets(6, writes) is False
