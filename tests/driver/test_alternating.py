"""Timing two programs in turn: the difference of runs beside each other, and whether it is more than chance."""

from __future__ import annotations

from workbench.driver import alternating as subject
from workbench.driver.alternating import Spread, alternating, samples


class Clock:
    """A machine whose speed changes: the same work takes longer and longer."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.speed = 0.0, 1.0
        self.order: list[str] = []
        monkeypatch.setattr(subject.time, "perf_counter", lambda: self.now)

    def work(self, name: str, seconds: float, jitter: tuple[float, ...] = (0.0,)):
        def call() -> None:
            self.order.append(name)
            self.now += self.speed * (seconds + jitter[len(self.order) % len(jitter)])
            self.speed *= 1.02

        return call


def test_runs_alternate_and_a_machine_that_slows_down_does_not_tell_equal_programs_apart(monkeypatch) -> None:
    clock = Clock(monkeypatch)
    found = alternating(clock.work("a", 1.0), clock.work("b", 1.0))
    assert clock.order[4:10] == ["a", "b", "b", "a", "a", "b"]
    assert found.second.greatest > 1.3 * found.second.least and not found.apart.clear


def test_a_difference_beyond_the_spread_is_clear_whichever_program_is_slower(monkeypatch) -> None:
    jitter = (0.0, 0.01, -0.01, 0.02, 0.005)
    for one, other in ((1.0, 1.5), (1.5, 1.0)):
        clock = Clock(monkeypatch)
        apart = alternating(clock.work("a", one, jitter), clock.work("b", other, jitter)).apart
        assert apart.clear and (apart.seconds > 0) == (other > one)
        assert apart.least <= apart.seconds <= apart.greatest


def test_short_programs_are_run_often_for_one_sample(monkeypatch) -> None:
    clock = Clock(monkeypatch)
    clock.speed = 1e-4
    samples(clock.work("a", 1.0), 3)
    assert len(clock.order) > 2 + 3


def test_the_outermost_samples_do_not_count() -> None:
    assert Spread.of([1.0, 2.0, 3.0, 4.0, 100.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([1.0, 2.0]) == Spread(1.5, 1.0, 2.0)
