"""Steps that were refused once: accepted, and their numbers right, in the interpreter and in machine code."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.nightly import tonight
from tests.property.refused_patterns import PATTERNS
from tests.property.refused_symbolic import SIZES, SYMBOLIC
from tests.schedule.executing import inputs
from tests.schedule.harness import check_numbers, check_replay
from workbench import build
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks

EVERY_RUN = 5


def check(pattern: str, seed: int) -> None:
    text, steps = PATTERNS[pattern](random.Random(seed))
    func = parse(text)
    sch = Schedule(func)
    steps(sch)
    check_numbers(func, sch.func)
    check_replay(func, sch)
    if not any(isinstance(loop, t.For) and loop.thread for loop in _loops(sch)):
        expected, found = inputs(func), inputs(func)
        interpret(func, *expected)
        build(sch.func, target="llvm")(*found)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(other, one)


def check_symbolic(pattern: str, seed: int) -> None:
    """The same, of a function of a size n, for several n."""
    text, steps = SYMBOLIC[pattern](random.Random(seed))
    func = parse(text)
    sch = Schedule(func)
    steps(sch)
    check_replay(func, sch)
    compiled, lowered = build(sch.func, target="llvm"), lower_blocks(sch.func)
    for size in SIZES:
        expected = inputs_at(func, size)
        interpret(func, *expected)
        for run in (
            lambda *found: interpret(sch.func, *found, check_regions=True),
            lambda *found: interpret(lowered, *found, check_races=True),
            compiled,
        ):
            found = inputs_at(func, size)
            run(*found)
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(other, one)


def inputs_at(func: t.PrimFunc, size: int) -> list[np.ndarray]:
    """Small whole numbers for every parameter, where all symbolic extents are made of one size."""
    numbers = np.random.default_rng(size)
    sizes = {extent: size for item in func.params for extent in item.shape if isinstance(extent, Var)}
    shapes = [tuple(int(evaluate(extent, sizes)) for extent in item.shape) for item in func.params]
    return [numbers.integers(-4, 5, shape).astype("int32") for shape in shapes]


def _loops(sch: Schedule) -> list[t.For]:
    return [site.loop for site in sch.state.tree.loops.values()]


@pytest.mark.parametrize("seed", range(EVERY_RUN))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_step_that_was_refused_keeps_the_numbers(pattern: str, seed: int) -> None:
    check(pattern, seed)


@pytest.mark.parametrize("seed", range(EVERY_RUN))
@pytest.mark.parametrize("pattern", SYMBOLIC)
def test_a_step_on_symbolic_extents_keeps_the_numbers(pattern: str, seed: int) -> None:
    check_symbolic(pattern, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", tonight(range(EVERY_RUN, 60)))
@pytest.mark.parametrize("pattern", SYMBOLIC)
def test_many_steps_on_symbolic_extents_keep_the_numbers(pattern: str, seed: int) -> None:
    check_symbolic(pattern, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", tonight(range(EVERY_RUN, 100)))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_many_steps_that_were_refused_keep_the_numbers(pattern: str, seed: int) -> None:
    check(pattern, seed)
