"""sample_perfect_tile: factors that make up the extent, replay on other shapes, each refusal."""

from __future__ import annotations

from collections import Counter
from math import prod

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule, ScheduleError
from workbench.schedule.sampling import Draws, draw_factors, factorisations, seeded


def test_tiles(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        i, j, k = sch.get_loops("C")
        i0, i1 = sch.split(i, factors=sch.sample_perfect_tile(i, n=2))
        j0, j1 = sch.split(j, factors=sch.sample_perfect_tile(j, n=2, max_innermost_factor=3))
        sch.reorder(i0, j0, k, i1, j1)

    check_steps(golden, p.plain_matmul, steps)


def test_every_choice_is_equally_likely() -> None:
    draws = Draws(seeded(1))
    found = Counter(draw_factors(draws, 12, 3) for _ in range(3600))
    assert len(found) == factorisations(12, 3) == 18
    assert all(prod(factors) == 12 for factors in found) and 140 < min(found.values()) <= max(found.values()) < 260


def test_the_innermost_factor_is_limited() -> None:
    sch = Schedule(p.plain_matmul(m=48))
    _, j, _ = sch.get_loops("C")
    for _ in range(30):
        drawn = [sch.get(item) for item in sch.sample_perfect_tile(j, n=3, max_innermost_factor=4)]
        assert prod(drawn) == 48 and drawn[-1] <= 4


def test_replay_on_another_shape_says_what_does_not_fit_or_draws_again() -> None:
    sch = Schedule(p.plain_matmul(8, 8, 8))
    _, j, _ = sch.get_loops("C")
    sch.split(j, factors=sch.sample_perfect_tile(j, n=2, decision=[2, 4]))
    other = Schedule(p.plain_matmul(8, 12, 8))
    with pytest.raises(ScheduleError) as caught:
        sch.trace.apply_to(other)
    assert caught.value.code == "E-SCHEDULE-DECISION" and "step 3" in caught.value.where
    assert len(other.trace) == 0
    sch.trace.apply_to(other, resample=True)
    assert len(other.trace) == len(sch.trace) and prod(other.trace.steps[2].decision) == 12


def decided(decision: list[int]) -> Steps:
    return lambda s: s.sample_perfect_tile(s.get_loops("C")[1], n=2, decision=decision)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "symbolic": (q.symbolic, lambda s: s.sample_perfect_tile(s.get_loops("Y")[0], n=2), "E-SCHEDULE-SAMPLE-EXTENT"),
    "too many": (p.plain_matmul, lambda s: s.sample_perfect_tile(s.get_loops("C")[1], 99), "E-SCHEDULE-SAMPLE-PARTS"),
    "product": (p.plain_matmul, decided([2, 2]), "E-SCHEDULE-DECISION"),
    "count": (p.plain_matmul, decided([2, 3, 1]), "E-SCHEDULE-DECISION"),
    "zero": (p.plain_matmul, decided([0, 6]), "E-SCHEDULE-ARGUMENT"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
