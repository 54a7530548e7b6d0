"""Schedules by hand, as the steps of a trace after the default's, done again on today's kernel and today's default."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from ..core import reliance
from ..core.equal import structural_equal
from ..core.errors import WorkbenchError
from ..lower.kept import kept
from ..lower.kernel import Kernel
from ..lower.provider import Provider
from ..schedule.moves import asks
from ..schedule.rebase import replay_tail
from ..schedule.schedule import Schedule
from ..schedule.trace import Step, Trace
from ..schedule.trace_json import has_code
from ..tir.calling import changed_parameters, parameter_texts
from ..tir.nodes import PrimFunc
from ..tir.outside import NATIVE_CODE, Guard, not_allowed
from .plan import Anchor, TraceTail
from .rebase import Dropped, Rebased

SHORT = 80
_TRACES: Final = 64
"""Traces whose steps are kept; most sessions of one history differ in one schedule."""


def steps_of(trace: str) -> tuple[Step, ...]:
    """The steps of a saved trace, native code included.  Raises `ScheduleError` for a damaged one."""
    return _read(trace, reliance.moment())


@lru_cache(maxsize=_TRACES)
def _read(trace: str, moment: int) -> tuple[Step, ...]:
    """Read once, as long as nobody changes the table of primitives."""
    return Trace.from_json(trace, allow_code=True).steps


def trace_tail(at: Anchor, schedule: Any, kernel: Kernel, default: Schedule) -> TraceTail:
    """What a person did to a kernel's schedule.  Raises `WorkbenchError` for a schedule of another function."""
    if not isinstance(schedule, Schedule):
        raise WorkbenchError(
            "E-EDIT-KIND",
            f"the schedule of {kernel.name!r} is none",
            found=type(schedule).__name__,
            expected="what s.schedule(kernel) gives, changed",
        )
    _require_same(schedule, kernel)
    steps, first = schedule.trace.steps, default.trace.steps
    shared = len(first) if steps[: len(first)] == first else 0
    return TraceTail(at, json.dumps(json.loads(schedule.trace.as_json())), shared)


def _require_same(schedule: Schedule, kernel: Kernel) -> None:
    begun = schedule.first_state.func
    alike = begun is kernel.func or structural_equal(_bare(begun), _bare(kernel.func))
    if alike and not schedule.first_state.steps:
        return
    same_call = changed_parameters(kernel.func, begun) is None
    found, expected = parameter_texts(begun), parameter_texts(kernel.func)
    raise WorkbenchError(
        "E-EDIT-SCHEDULE",
        f"the schedule is of another function than kernel {kernel.name}",
        where=f"schedule of kernel {kernel.name}",
        found=f"one of {schedule.func_working_on}" if same_call else f"one with parameters {', '.join(found)}",
        expected="one that begins with the kernel as it is before the Schedule step"
        + ("" if same_call else f": {', '.join(expected)}"),
        fix=f"sch = s.schedule({kernel.name!r}), change it, and hand that back",
        kept="the session as it was",
    )


def _bare(function: PrimFunc) -> PrimFunc:
    """Without the attributes that say where a function stands: its name and target."""
    kept = {key: value for key, value in function.attrs.items() if key not in ("global_symbol", "target")}
    return function.replace(attrs=type(function.attrs)(kept))


def moves_by_hand(tail: TraceTail) -> int:
    """How many steps a person has done after the default's; what only asks is none."""
    return sum(not asks(step) for step in steps_of(tail.trace)[tail.shared :])


def rebase_tail(tail: TraceTail, kernel: Kernel, provider: Provider, guard: Guard | None = None) -> Rebased:
    """The steps after the default's, on today's default where that has the same primitives in order.

    Else the whole trace, on the bare kernel, with a note.  Raises `WorkbenchError` (E-TRUST-EXTERN) for native code in
    a session from a file, where `guard` does not allow it.
    """
    steps = steps_of(tail.trace)
    if guard is not None and NATIVE_CODE not in guard.allowed and any(has_code(step.arguments) for step in steps):
        message = f"the schedule of kernel {kernel.name} brings native code into a session that came from a file"
        raise not_allowed(message, (NATIVE_CODE,))
    notes: tuple[str, ...] = ()
    if tail.shared:
        default = provider(kernel)
        known, today = steps[: tail.shared], default.trace.steps
        if [step.primitive for step in known] == [step.primitive for step in today] and [
            len(step.results) for step in known
        ] == [len(step.results) for step in today]:
            return _report(kernel, tail, replay_tail(steps, tail.shared, default, kept(kernel).carry_out), ())
        notes = ("the default schedule is another one now: all steps are done on the bare kernel",)
    return _report(kernel, tail, replay_tail(steps, 0, kept(kernel).bare(), kept(kernel).carry_out), notes)


def _report(kernel: Kernel, tail: TraceTail, found: Any, notes: tuple[str, ...]) -> Rebased:
    kept(kernel).tell(found.schedule.state)
    dropped = tuple(
        Dropped(
            f"step {item.number}, {item.step.line()[:SHORT]}",
            item.reason,
            int(item.number > tail.shared and not asks(item.step)),
        )
        for item in found.dropped
    )
    applied = tuple(map(str, found.applied))
    return Rebased(kernel.name, found.schedule, applied, dropped, notes, moves=moves_by_hand(tail))
