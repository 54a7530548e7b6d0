"""cache_write: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_local(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.cache_write("C", 0, "local")

    check_steps(golden, p.plain_matmul, steps)


def test_one_part_of_a_partitioned_producer(golden: Golden) -> None:
    """Its copy is of the rows that it writes; the other part's are not touched."""

    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("one")[0], factors=[2, None])
        sch.cache_write("one_1", 0, "local")

    check_steps(golden, p.chain, steps)


def shared_cache(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.cache_write("C", 0, "local")


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "no buffer": (p.matmul, lambda s: s.cache_write("C", 1, "local"), "E-SCHEDULE-BUFFER"),
    "shared": (p.matmul, shared_cache, "E-SCHEDULE-CACHE-SHARED"),
    "region": (q.shifted_store, lambda s: s.cache_write("make", 0, "local"), "E-SCHEDULE-CACHE-REGION"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
