"""The other half of the random schedules; see test_random_schedules."""

from __future__ import annotations

import pytest

from tests.nightly import tonight
from tests.property.schedule_checks import checked_seeds
from tests.property.test_random_schedules import CHUNK, EVERY_RUN, NIGHTLY, NIGHTLY_CHUNK


@pytest.mark.parametrize("begin", range(EVERY_RUN // 2, EVERY_RUN, CHUNK))
def test_random_schedules_keep_the_meaning(begin: int) -> None:
    assert checked_seeds(begin, CHUNK).failures == []


@pytest.mark.nightly
@pytest.mark.parametrize("begin", tonight(range(NIGHTLY // 2, NIGHTLY, NIGHTLY_CHUNK)))
def test_many_random_schedules_keep_the_meaning(begin: int, record_property) -> None:
    made = checked_seeds(begin, NIGHTLY_CHUNK)
    made.tell(record_property)
    assert made.failures == []
