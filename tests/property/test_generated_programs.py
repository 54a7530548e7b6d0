"""Schedules of generated programs keep their meaning: a sample in every run, a thousand programs in five nights."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.nightly import some, tonight
from tests.property.program_checks import SCHEDULES, checked_programs, well_formed
from tests.property.program_generator import generated, smaller
from tests.property.program_steps import STEPS

EVERY_RUN = range(8)
WELL_FORMED = range(1_000, 1_080)
NIGHTLY = 1_000
CHUNK = 10


@pytest.mark.slow
@pytest.mark.parametrize("program", some(EVERY_RUN, 2))
def test_schedules_of_generated_programs_keep_the_meaning(program: int) -> None:
    made = checked_programs([program])
    assert made.failures == []
    assert made.legal.total() >= SCHEDULES


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("begin", tonight(range(len(EVERY_RUN), NIGHTLY, CHUNK)))
def test_schedules_of_many_generated_programs_keep_the_meaning(begin: int, record_property) -> None:
    programs = range(begin, min(begin + CHUNK, NIGHTLY))
    made = checked_programs(programs)
    record_property("programs", len(programs))
    made.tell(record_property)
    assert made.failures == []


def test_generated_programs_are_well_formed() -> None:
    """They pass the verifier, and both ways of running them agree with the Python that says what they mean."""
    assert [text for text in map(well_formed, WELL_FORMED) if text] == []
    kinds = Counter(kind for seed in WELL_FORMED for kind in generated(seed).kinds)
    assert set(kinds) == set(STEPS)


def test_a_program_is_made_smaller_step_by_step() -> None:
    case = next(generated(seed) for seed in range(100) if len(generated(seed).steps) == 3)
    parts = smaller(case)
    assert [part.steps for part in parts] == [(1, 2), (0, 2), (0, 1)]
    for part in parts:
        assert part.python.count("\n") < case.python.count("\n")
        assert generated(case.seed, part.steps).tir == part.tir
