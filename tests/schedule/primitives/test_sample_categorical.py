"""sample_categorical: decisions in the trace, replay, probabilities, each refusal."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import ExprRV, Schedule, Trace


def test_as_a_factor_and_an_annotation(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        _, j, _ = sch.get_loops(block)
        chosen = sch.sample_categorical([2, 3, 4], probs=[0.2, 0.3, 0.5])
        sch.split(j, factors=[None, chosen])
        sch.annotate(block, "vector", chosen)

    check_steps(golden, p.plain_matmul, steps)


def test_the_decision_is_the_position() -> None:
    sch = Schedule(p.plain_matmul())
    chosen = sch.sample_categorical([7, 8, 9], probs=[1.0, 1.0, 1.0], decision=2)
    assert isinstance(chosen, ExprRV) and sch.get(chosen) == 9 and int(chosen) == 9
    assert sch.trace.steps[-1].decision == 2


def test_seeds_decide_and_forks_differ() -> None:
    def drawn(sch: Schedule) -> list[int]:
        return [sch.get(sch.sample_categorical(list(range(100)), probs=[1.0] * 100)) for _ in range(4)]

    one, other = Schedule(p.chain(), seed=5), Schedule(p.chain(), seed=5)
    assert drawn(one) == drawn(other) != drawn(Schedule(p.chain(), seed=6))
    assert drawn(Schedule(p.chain(), seed=one.fork_seed())) != drawn(one)
    other.seed(5)
    assert drawn(other) == drawn(Schedule(p.chain(), seed=5))
    assert drawn(Schedule(p.chain())) == drawn(Schedule(p.chain()))


def test_probabilities_are_kept() -> None:
    sch = Schedule(p.chain())
    found = Counter(sch.get(sch.sample_categorical([0, 1, 2], probs=[0.6, 0.0, 0.4])) for _ in range(400))
    assert found[1] == 0 and 200 < found[0] < 280


def test_a_replay_takes_the_decisions() -> None:
    sch = Schedule(p.plain_matmul(), seed=3)
    factor = sch.sample_categorical([2, 3, 4, 6], probs=[1.0] * 4)
    sch.split(sch.get_loops("C")[1], factors=[None, factor])
    for seed in range(3):
        again = Schedule(p.plain_matmul(), seed=seed)
        Trace.from_json(sch.trace.as_json()).apply_to(again)
        assert again.fingerprint() == sch.fingerprint()


def foreign_number(sch: Schedule) -> object:
    other = Schedule(p.plain_matmul())
    factor = other.sample_categorical([2], probs=[1.0])
    return sch.split(sch.get_loops("C")[1], factors=[None, factor])


def too_large(sch: Schedule) -> object:
    return sch.split(sch.get_loops("C")[1], factors=[None, sch.sample_categorical([0], probs=[1.0])])


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "lengths": (p.chain, lambda s: s.sample_categorical([1, 2], probs=[1.0]), "E-SCHEDULE-PROBABILITIES"),
    "negative": (p.chain, lambda s: s.sample_categorical([1, 2], probs=[1.0, -1.0]), "E-SCHEDULE-PROBABILITIES"),
    "nothing": (p.chain, lambda s: s.sample_categorical([], probs=[]), "E-SCHEDULE-PROBABILITIES"),
    "decision": (p.chain, lambda s: s.sample_categorical([1, 2], [1.0, 1.0], decision=2), "E-SCHEDULE-DECISION"),
    "foreign number": (p.plain_matmul, foreign_number, "E-SCHEDULE-REFERENCE"),
    "number out of bounds": (p.plain_matmul, too_large, "E-SCHEDULE-ARGUMENT"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
