"""sample_partitioned_tile: inner factors that are a multiple of a number, each refusal."""

from __future__ import annotations

from collections import Counter
from math import prod

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_tiles(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        j = sch.get_loops("C")[1]
        sch.split(j, factors=sch.sample_partitioned_tile(j, n=3, partition_pos=1, innerpart_factor=2))

    check_steps(golden, p.plain_matmul, steps)


def test_the_inner_factors_are_a_multiple() -> None:
    sch = Schedule(p.plain_matmul(m=24))
    j = sch.get_loops("C")[1]
    found = Counter(
        tuple(sch.get(item) for item in sch.sample_partitioned_tile(j, n=2, partition_pos=1, innerpart_factor=4))
        for _ in range(200)
    )
    assert set(found) == {(6, 4), (3, 8), (2, 12), (1, 24)}
    everything = [sch.get(item) for item in sch.sample_partitioned_tile(j, n=2)]
    assert prod(everything) == 24


def tile(n: int, partition_pos: int, innerpart_factor: int, decision: list[int] | None = None) -> Steps:
    return lambda s: s.sample_partitioned_tile(s.get_loops("C")[1], n, partition_pos, innerpart_factor, decision)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "position": (p.plain_matmul, tile(2, 3, 2), "E-SCHEDULE-PARTITION"),
    "factor": (p.plain_matmul, tile(2, 1, 4), "E-SCHEDULE-PARTITION"),
    "product": (p.plain_matmul, tile(2, 1, 2, [2, 2]), "E-SCHEDULE-DECISION"),
    "inner": (p.plain_matmul, tile(2, 1, 2, [2, 3]), "E-SCHEDULE-DECISION"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
