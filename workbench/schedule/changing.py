"""One step of a schedule done again with other arguments, and the steps after it on top.

    sch.change(4, factors=[None, 16])     # step 4, counted from 1, as the trace prints them
    print(changed(sch, 4, {"factors": (None, 16)}))   # what would apply, and what not any more

The state before the step is still in the history, so that only the step and what follows it are done again.

Invariant: all of the later steps are done or the schedule stays as it is; what it was before stays a branch, and
arguments tried before lead back to the branch that they made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .errors import ScheduleError, refuse, require
from .moves import asks
from .rebase import Rebased, replay_tail
from .references import Reference, make_reference
from .registry import PRIMITIVES
from .running import replayed
from .state import ScheduleState

if TYPE_CHECKING:
    from .history import History
    from .schedule import Schedule
    from .trace import Step


def changed(schedule: Schedule, number: int, arguments: Mapping[str, Any]) -> Rebased:
    """The schedule with other arguments for step `number` (from 1), on a copy, with what does not apply any more.

    Raises `ScheduleError` for a step that is not there or an argument that it does not have, and the step's own
    refusal of the arguments.
    """
    steps = schedule.state.steps
    step = _with(_step(steps, number), arguments)
    made = schedule.copy()
    made._history.step_to(_before(made, number))
    state = made.state
    names: dict[str, Reference] = {name: make_reference(name, target) for name, target in state.named.items()}
    try:
        after, _ = replayed(state, step, names, False)
    except ScheduleError as error:
        error.where = f"step {number} of the trace: {step.line()}"
        raise
    made._commit(after)
    return replay_tail(steps, number, made)


def change(schedule: Schedule, number: int, arguments: Mapping[str, Any]) -> None:
    """Do it to the schedule itself, all or nothing.  Raises `ScheduleError` naming the first step that is refused."""
    shown = ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())
    _take(schedule, number, changed(schedule, number, arguments), f"with {shown} in step {number}")


def leave_out(schedule: Schedule, number: int) -> None:
    """The schedule without step `number` (from 1), the later ones done again, all or nothing.

    Raises `ScheduleError` for a step that is not there or only asks, and naming the first later step that needs it.
    """
    steps = schedule.state.steps
    step = _step(steps, number)
    require(
        not asks(step), "E-SCHEDULE-STEP-NUMBER", f"step {number} changes nothing", found=step.line(),
        expected="a step that changed the program", fix="print(sch.trace) lists them",
    )  # fmt: skip
    made = schedule.copy()
    made._history.step_to(_before(made, number))
    _take(schedule, number, replay_tail(steps, number, made), f"without step {number}")


def _take(schedule: Schedule, number: int, report: Rebased, how: str) -> None:
    """Let the schedule become what was made of it from step `number` on.  Raises where a later step was dropped."""
    lost = next((item for item in report.dropped if not asks(item.step)), None)
    lost = lost or next(iter(report.dropped), None)
    if lost is not None:
        raise refuse(
            "E-SCHEDULE-CHANGE",
            f"{how}, {lost.step.primitive} in step {lost.number} is refused: {lost.reason}",
            found=lost.error.found if lost.error is not None else "",
            expected="a change after which every later step still applies",
            fix=f"take step {lost.number} back first: {lost.step.line()}",
            nodes=() if lost.error is None else lost.error.nodes,
        )
    history, wanted = schedule._history, report.schedule.state.steps
    known = next((end for end in history.ends() if history[end].steps == wanted), None)
    if known is None:
        made = report.schedule._history
        before = _before(schedule, number)
        states = [made[at] for at in made.chain(made.here)]
        history.commit(*(state for state in states if len(state.steps) > len(history[before].steps)), after=before)
    else:
        history.go_to(known)


def _step(steps: tuple[Step, ...], number: int) -> Step:
    require(
        0 < number <= len(steps),
        "E-SCHEDULE-STEP-NUMBER",
        "there is no such step",
        found=str(number)[:40],
        expected=f"1 to {len(steps)}" if steps else "a schedule with steps",
        fix="print(sch.trace) lists them",
    )
    return steps[number - 1]


def _with(step: Step, arguments: Mapping[str, Any]) -> Step:
    """The step with other arguments, and without what it drew."""
    given = dict(step.arguments)
    names = [item.name for item in PRIMITIVES[step.primitive].parameters]
    unknown = next((name for name in arguments if name not in names), None)
    require(
        unknown is None,
        "E-SCHEDULE-ARGUMENT",
        f"{step.primitive} has no argument {unknown!r}",
        found=f"{unknown}=...",
        expected=", ".join(names),
    )
    given.update({name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()})
    return replace(step, arguments=tuple(given.items()))


def _shown(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _before(schedule: Schedule, number: int) -> int:
    """The number, in the history, of the state that a step was applied to.

    Raises `ScheduleError` where the schedule began with a state that had the step already.
    """
    history: History = schedule._history
    wanted = schedule.state.steps[: number - 1]
    for at in history.chain(history.here):
        state: ScheduleState = history[at]
        if len(state.steps) == len(wanted) and state.working == schedule.func_working_on:
            return at
    raise refuse(
        "E-SCHEDULE-CHANGE",
        f"step {number} was done before this schedule began",
        found=f"a schedule that began with {len(history.first.steps)} steps",
        expected="a step of this schedule's own history",
        fix="replay the trace on the unscheduled function: Schedule(func).replay(trace)",
    )
