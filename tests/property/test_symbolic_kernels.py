"""Kernels with sizes that have names are scheduled as those with sizes that are numbers, and compute the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.nightly import tonight
from tests.property.symbolic_kernels import KERNELS, Pair, Step, Walk, drawn, kernel, step, walked
from workbench import build
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.transforms.lower_blocks import lower_blocks

EVERY_RUN = 4
AT = ({"n": 1, "m": 1, "k": 1}, {"n": 5, "m": 7, "k": 3}, {"n": 8, "m": 4, "k": 9})
"""Values of the sizes at which what was made of the second program runs."""
BY_HAND: dict[str, tuple[str, list[Step]]] = {
    "tiles": ("product", [
        step("split", "C", ("loop", 0), factors=[None, 4]), step("split", "C", ("loop", 2), factors=[None, 8]),
        step("reorder", "C", ("loop", 2), ("loop", 1)), step("reverse_compute_at", "D", ("loop", "C", 1)),
        step("compute_at", "X", ("loop", "C", 0)), step("vectorize", "C", ("loop", 3)),
    ]),
    "a sum in parts": ("product", [
        step("split", "C", ("loop", 2), factors=[None, 4]), step("rfactor", "C", ("loop", 3), 0),
        step("compute_at", "C_rf", ("loop", "C", 1)), step("decompose_reduction", "C_rf", ("loop", "C_rf", 2)),
        step("parallel", "C", ("loop", 0)), step("set_scope", "C_rf", 0, "local"),
    ]),
    "a row at a time": ("softmax", [
        step("compute_inline", "E"), step("compute_at", "S", ("loop", "D", 0)),
        step("compute_at", "G", ("loop", "D", 0)), step("parallel", "D", ("loop", 0)),
        step("cache_write", "D", 0, "local"), step("cache_read", "D", 0, "local"),
    ]),
    "rows in tiles": ("layernorm", [
        step("split", "D", ("loop", 0), factors=[None, 4]), step("compute_at", "V", ("loop", "D", 1)),
        step("compute_at", "E", ("loop", "D", 1)), step("compute_at", "S", ("loop", "D", 1)),
        step("decompose_reduction", "V", ("loop", "V", 2)), step("bind", "D", ("loop", 0), "blockIdx.x"),
    ]),
    "fused": ("softmax", [
        step("fuse", "D", ("loop", 0), ("loop", 1)), step("parallel", "D", ("loop", 0)),
        step("fuse", "E", ("loop", 0), ("loop", 1)), step("cache_write", "E", 0, "local"),
        step("rfactor", "S", ("loop", 1), 1), step("blockize", "G", ("loop", 1)),
    ]),
    "fused and split": ("layernorm", [
        step("fuse", "E", ("loop", 0), ("loop", 1)), step("split", "E", ("loop", 0), factors=[None, 2, 4]),
        step("parallel", "E", ("loop", 0)), step("vectorize", "E", ("loop", 2)),
        step("fuse", "D", ("loop", 0), ("loop", 1)), step("split", "D", ("loop", 0), factors=[4, None]),
        step("bind", "D", ("loop", 0), "blockIdx.x"), step("cache_write", "E", 0, "local"),
        step("split", "V", ("loop", 1), factors=[4, None]), step("rfactor", "V", ("loop", 1), 0),
    ]),
}  # fmt: skip


def check(pair: Pair, steps: list[Step]) -> Walk:
    walk = walked(pair, steps)
    assert not walk.differences, walk.differences[0]
    before, after = pair.names, walk.names.func
    threads = any(isinstance(site.loop, t.For) and site.loop.thread for site in walk.names.state.tree.loops.values())
    compiled = [] if threads else [build(after, target="llvm")]
    lowered = lower_blocks(after)
    for at in AT:
        expected = pair.inputs(at)
        interpret(before, *expected)
        for run in (
            lambda *found: interpret(after, *found, check_regions=True),
            lambda *found: interpret(lowered, *found, check_races=True), *compiled,
        ):  # fmt: skip
            found = pair.inputs(at)
            run(*found)
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)
    return walk


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("name", BY_HAND)
def test_steps_by_hand(name: str, tiled: bool) -> None:
    which, steps = BY_HAND[name]
    assert check(kernel(which, tiled), steps).accepted == len(steps)


def check_drawn(name: str, seed: int) -> None:
    pair = kernel(name, tiled=seed % 2 == 1)
    check(pair, drawn(random.Random(seed), pair.blocks))


@pytest.mark.parametrize("seed", range(EVERY_RUN))
@pytest.mark.parametrize("name", KERNELS)
def test_steps_at_random(name: str, seed: int) -> None:
    check_drawn(name, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", tonight(range(EVERY_RUN, 200)))
@pytest.mark.parametrize("name", KERNELS)
def test_many_steps_at_random(name: str, seed: int) -> None:
    check_drawn(name, seed)
