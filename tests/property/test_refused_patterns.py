"""Steps that were refused once: accepted, and their numbers right, in the interpreter and in machine code."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.nightly import tonight
from tests.property.refused_patterns import PATTERNS
from tests.schedule.executing import inputs
from tests.schedule.harness import check_numbers, check_replay
from workbench import build
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse

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


def _loops(sch: Schedule) -> list[t.For]:
    return [site.loop for site in sch.state.tree.loops.values()]


@pytest.mark.parametrize("seed", range(EVERY_RUN))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_step_that_was_refused_keeps_the_numbers(pattern: str, seed: int) -> None:
    check(pattern, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", tonight(range(EVERY_RUN, 100)))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_many_steps_that_were_refused_keep_the_numbers(pattern: str, seed: int) -> None:
    check(pattern, seed)
