"""Random sessions: live, from a file and without a history they are the same, and nothing is dropped in silence.

`random_sessions` says what is checked; 500 sequences run nightly, the last figures stand in the pull request that
changed them.
"""

from __future__ import annotations

import pytest

from tests.property.random_sessions import Figures, walked
from tests.property.session_programs import PROGRAMS

CHUNK = 6
SAMPLE = 6
NIGHTLY = 500
MOST_OFTEN = 100


@pytest.mark.slow
@pytest.mark.parametrize("begin", range(0, SAMPLE, CHUNK))
def test_random_sessions(begin: int) -> None:
    figures = walked(begin, begin + CHUNK)
    assert figures.problems == []
    assert figures.sequences == CHUNK and figures.computed >= CHUNK // 3


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_five_hundred_random_sessions(record_property) -> None:
    figures = walked(0, NIGHTLY)
    for name, count in figures.counts().items():
        record_property(name, count)
    assert figures.problems == [], str(figures)
    assert sum(figures.carried.values()) >= 0.6 * sum(figures.below.values()), str(figures)
    seldom = {key: figures.below[key] for key in pairs(figures) if figures.below[key] < MOST_OFTEN}
    assert not seldom, f"too seldom to say anything: {seldom}\n{figures}"


def pairs(figures: Figures) -> list[tuple[str, str]]:
    """Each kind of edit below each kind of change that can stand above it."""
    above = ("relay", "target", "passes", "disabled", "insert", "replace", "without")
    found = [(edit, change) for edit in ("relay", "te", "schedule", "tir") for change in above]
    return [*found, ("schedule", "te"), ("tir", "te"), ("tir", "schedule")]


def test_there_are_twenty_programs_of_many_kinds() -> None:
    assert len(PROGRAMS) >= 20 and len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert sum(program.loops for program in PROGRAMS) == 2
    for program in PROGRAMS:
        assert all(value.size for value in program.expected(program.sites))
