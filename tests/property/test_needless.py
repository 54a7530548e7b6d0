"""At most fifteen legal questions in a thousand are refused; `python -m tests.property.needless` prints the table."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.property.needless import Asked, legal_by_brute_force, measured
from tests.property.schedule_programs import drawn
from workbench.schedule import Schedule

MOST = 0.015
EVERY_RUN = range(2_000, 2_150)
NIGHTLY = range(10_000, 13_000)


def _holds(asked: Asked) -> None:
    assert asked.crashes == []
    assert asked.accepted.total() > len(EVERY_RUN)
    assert asked.share <= MOST, str(asked)


@pytest.mark.slow
def test_few_refusals_are_needless() -> None:
    _holds(measured(EVERY_RUN))


@pytest.mark.nightly
@pytest.mark.parametrize("begin", range(NIGHTLY.start, NIGHTLY.stop, 250))
def test_few_of_many_refusals_are_needless(begin: int, record_property) -> None:
    asked = measured(range(begin, begin + 250))
    record_property("needless refusals", asked.needless.total())
    record_property("legal questions", asked.questions)
    assert asked.crashes == []
    assert asked.share <= 2 * MOST, str(asked)


def test_brute_force_tells_right_from_wrong() -> None:
    case = drawn(random.Random(3), "convolution")
    wrong, right = Schedule(case.func), Schedule(case.func)
    wrong.parallel(wrong.get_loops("conv")[3], unsafe=True)
    right.parallel(right.get_loops("conv")[0])
    assert not legal_by_brute_force(case, wrong.func)
    assert legal_by_brute_force(case, right.func)
    assert all(map(np.array_equal, case.arrays(1), case.arrays(1)))
