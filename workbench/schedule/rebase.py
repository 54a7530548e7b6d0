"""Moving the tail of a schedule onto another one: what still applies is applied, what does not is reported.

    report = sch.rebase(other)        # the steps of sch that other does not have, on top of other
    print(report)                     # 7 of 9 steps; step 6 (vectorize) ... because ...
    report.schedule                   # a new schedule; both others are as they were

The steps after the longest common beginning are replayed one by one.  A step that is refused is left out with its
reason, and so are the steps that need its results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import ScheduleError, require
from .history import shared_length
from .references import Reference, make_reference
from .running import replayed
from .state import ScheduleState
from .trace import Step

if TYPE_CHECKING:
    from .schedule import Schedule

Replay = Callable[[ScheduleState, Step, dict[str, Reference]], tuple[ScheduleState, list[Reference]]]


@dataclass(frozen=True)
class Dropped:
    """A step that does not apply any more."""

    number: int
    """Its number in the schedule that it comes from, counted from 1."""
    step: Step
    reason: str
    error: ScheduleError | None = None

    def __str__(self) -> str:
        return f"step {self.number}, {self.step.line()}: {self.reason}"


@dataclass(frozen=True)
class Rebased:
    """What became of a tail of steps."""

    schedule: Schedule
    shared: int
    """How many first steps both schedules have in common."""
    applied: tuple[int, ...]
    """The numbers of the steps that were applied."""
    dropped: tuple[Dropped, ...]

    @property
    def complete(self) -> bool:
        """True if every step applies."""
        return not self.dropped

    def __str__(self) -> str:
        total = len(self.applied) + len(self.dropped)
        head = f"{len(self.applied)} of {total} steps apply (the first {self.shared} are shared)"
        return "\n".join([head, *(f"  {item}" for item in self.dropped)])

    __repr__ = __str__


def rebased(tail_of: Schedule, onto: Schedule, replay: Replay) -> Rebased:
    """The steps of `tail_of` after the common beginning, applied to `onto`; see the module's header."""
    first, second = tail_of.state, onto.state
    require(
        first.working == second.working,
        "E-SCHEDULE-REBASE",
        "the schedules work on different functions",
        found=f"{first.working} and {second.working}",
        expected="two schedules of one function",
        fix=f"work_on({first.working!r}) first",
    )
    shared = shared_length(first.steps, second.steps)
    names = {
        name: make_reference(name, second.named[name])
        for step in first.steps[:shared]
        for name in step.results
        if name in second.named
    }
    return _tail(first.steps, shared, onto, names, replay)


def replay_tail(steps: tuple[Step, ...], shared: int, onto: Schedule, replay: Replay = replayed) -> Rebased:
    """The steps after the first `shared` ones, which stand for those of `onto`, one by one; see the module's header.

    The first ones have the same primitives in the same order, so what they name is what `onto`'s steps have made.
    """
    state = onto.state
    names = {
        old: make_reference(new, state.named[new])
        for theirs, own in zip(steps[:shared], state.steps, strict=False)
        for old, new in zip(theirs.results, own.results, strict=True)
        if new in state.named
    }
    return _tail(steps, shared, onto, names, replay)


def _tail(steps: tuple[Step, ...], shared: int, onto: Schedule, names: dict[str, Reference], replay: Replay) -> Rebased:
    made = onto.copy()
    applied: list[int] = []
    dropped: list[Dropped] = []
    lost = {name: at for at, step in enumerate(steps[:shared], 1) for name in step.results if name not in names}
    for number, step in enumerate(steps[shared:], shared + 1):
        missing = next((lost[name] for name in step.needed() if name in lost), None)
        if missing is not None:
            dropped.append(Dropped(number, step, f"needs what step {missing} made"))
        else:
            try:
                state, results = replay(made.state, step, names)
            except ScheduleError as error:
                dropped.append(Dropped(number, step, error.message, error))
            else:
                made._commit(state)
                names.update(zip(step.results, results, strict=True))
                applied.append(number)
                continue
        lost.update(dict.fromkeys(step.results, number))
    return Rebased(made, shared, tuple(applied), tuple(dropped))
