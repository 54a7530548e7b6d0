"""Random schedules keep a program's meaning, and refused primitives leave no trace: the first half of the seeds.

What is checked of each stands in `schedule_checks`; `test_random_schedules_more` has the other half, for another
worker.  Four hundred in every run, fifty thousand in five nights.
"""

from __future__ import annotations

import pytest

from tests.nightly import tonight
from tests.property.schedule_checks import checked_seeds

CHUNK = 50
EVERY_RUN = 200
NIGHTLY = 50_000
NIGHTLY_CHUNK = 200


@pytest.mark.parametrize("begin", range(0, EVERY_RUN // 2, CHUNK))
def test_random_schedules_keep_the_meaning(begin: int) -> None:
    assert checked_seeds(begin, CHUNK).failures == []


@pytest.mark.nightly
@pytest.mark.parametrize("begin", tonight(range(EVERY_RUN, NIGHTLY // 2, NIGHTLY_CHUNK)))
def test_many_random_schedules_keep_the_meaning(begin: int, record_property) -> None:
    made = checked_seeds(begin, NIGHTLY_CHUNK)
    made.tell(record_property)
    assert made.failures == []
