"""Variants of one schedule side by side: other split factors and annotations, each replayed, judged and measured.

    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 8]); sch.reorder(i, jo, k, ji); sch.vectorize(ji)
    found = sch.sweep({"ji": [4, 8, 16, 32]})         # cycles of the cache model, the same on every machine
    print(found); found.best.schedule

Invariant: the schedule that is swept is left as it is; a variant whose trace is refused stands in the result with the
refusal as its reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Final, NamedTuple

from ..analysis.cache import simulate_cache
from ..analysis.fact import Fact, table
from ..analysis.programs import target_of
from ..core.errors import WorkbenchError, nearest
from ..schedule.errors import ScheduleError
from ..schedule.references import LoopRV
from ..schedule.schedule import Schedule
from ..schedule.trace import Step, Trace
from ..target.target import Target
from .measure import seconds

Measure = str | Callable[[Schedule], float]
MEASURES: Final = {"cycles": "cycles (cache model)", "misses": "misses of L1 (cache model)", "time": "seconds"}
_MOST: Final = 256


@dataclass(frozen=True)
class Trial(Fact):
    """One variant: its values, and what was measured, or why it cannot be."""

    values: tuple[Any, ...]
    result: float | None
    reason: str
    schedule: Schedule | None = field(repr=False, compare=False, metadata={"json": False})


@dataclass(frozen=True)
class Sweep(Fact):
    """All variants, the last parameter varying fastest."""

    names: tuple[str, ...]
    choices: tuple[tuple[Any, ...], ...]
    measure: str
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The variant with the least result.  Raises `WorkbenchError` E-SWEEP-NONE if every one was refused."""
        done = [trial for trial in self.trials if trial.result is not None]
        if not done:
            raise WorkbenchError(
                "E-SWEEP-NONE", "no variant could be measured", found=self.trials[0].reason if self.trials else "",
                fix="sweep other values",
            )  # fmt: skip
        return min(done, key=lambda trial: trial.result or 0.0)

    def __getitem__(self, values: Any) -> Trial:
        """The variant with these values: ``found[8]``, ``found[8, 16]``."""
        wanted = values if isinstance(values, tuple) else (values,)
        found = next((trial for trial in self.trials if trial.values == wanted), None)
        if found is None:
            raise WorkbenchError(
                "E-SWEEP-VALUE", f"no variant has the values {wanted}", expected=f"values of {', '.join(self.names)}"
            )
        return found

    def __str__(self) -> str:
        known = [trial.result for trial in self.trials if trial.result is not None]
        rows = [
            (*map(_shown, trial.values), _result(trial.result, min(known)) if known else "-", trial.reason)
            for trial in self.trials
        ]
        if len(known) == len(rows):
            return table((*self.names, self.measure), [row[:-1] for row in rows])
        return table((*self.names, self.measure, "refused because"), rows)


def _shown(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _result(value: float | None, best: float) -> str:
    if value is None:
        return "-"
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return text + (" *" if value == best else "")


def sweep(
    schedule: Schedule,
    parameters: Mapping[Any, Sequence[Any]],
    measure: Measure = "cycles",
    *,
    target: Any = None,
    names: Mapping[str, Any] | None = None,
) -> Sweep:
    """Replay the steps of `schedule` with other values, in all combinations, and measure each.

    A parameter is a loop that a split made (the loop itself, its name in the trace or in the program, or a name that
    `names` gives it), whose factor changes; or ``"3.factors"``, an argument of step 3, for anything else.  `measure`
    is "cycles" or "misses" of the cache model, "time" (seconds of the built function on this machine, least of five),
    or a function of the schedule; less is better.  Left out, `target` is that of the session that the schedule is of.
    Raises `WorkbenchError` E-SWEEP-... for what cannot be swept.
    """
    base, steps = _replayable(schedule)
    choices = {_name(key): tuple(values) for key, values in parameters.items()}
    count = prod(len(values) for values in choices.values())
    if not choices or not 0 < count <= _MOST:
        raise WorkbenchError(
            "E-SWEEP-SIZE", f"{count if choices else 0} variants are nothing to sweep" if not choices or not count
            else f"{count:,} variants are too many", expected=f"1 to {_MOST} variants",
            fix='for example sweep({"ji": [8, 16, 32]})',
        )  # fmt: skip
    places = [_place(schedule, steps, key, names or {}) for key in parameters]
    run = _measuring(measure, target_of(schedule, target))
    trials = [
        _trial(base, _with(steps, places, values), values, run) for values in itertools.product(*choices.values())
    ]
    text = MEASURES.get(measure, measure) if isinstance(measure, str) else getattr(measure, "__name__", "result")
    return Sweep(tuple(choices), tuple(choices.values()), text, tuple(trials))


def _name(key: Any) -> str:
    return key.name if isinstance(key, LoopRV) else str(key)


def _replayable(schedule: Schedule) -> tuple[Schedule, tuple[Step, ...]]:
    """A fresh schedule of the unscheduled program, and the steps that lead from it to `schedule`."""
    first = schedule.first_state
    steps = schedule.trace.steps[len(first.steps) :]
    fresh = Schedule(first)
    return fresh if schedule.target is None else fresh.retarget(schedule.target), steps


# --- what a parameter stands for ----------------------------------------------------------------------------------


class _Place(NamedTuple):
    """An argument of a step, or one item of it."""

    step: int
    argument: str
    item: int | None


def _place(schedule: Schedule, steps: Sequence[Step], key: Any, names: Mapping[str, Any]) -> _Place:
    if isinstance(key, str) and "." in key:
        return _argument(steps, key)
    wanted = _result_name(schedule, steps, key, names)
    for number, step in enumerate(steps):
        if wanted in step.results:
            factors = dict(step.arguments).get("factors")
            item = step.results.index(wanted)
            if step.primitive != "split" or not isinstance(factors, tuple):
                raise _not_swept(steps, key, f"{step.line()} has no factor for it")
            if factors[item] is None:
                raise _not_swept(steps, key, f"in {step.line()} it takes what the others leave")
            return _Place(number, "factors", item)
    raise _not_swept(steps, key, "no step of the schedule made it")


def _argument(steps: Sequence[Step], key: str) -> _Place:
    number, _, argument = key.partition(".")
    step = int(number) - 1 if number.isdigit() else -1
    if not 0 <= step < len(steps) or argument not in dict(steps[step].arguments):
        raise _not_swept(steps, key, "there is no such step or argument")
    return _Place(step, argument, None)


def _result_name(schedule: Schedule, steps: Sequence[Step], key: Any, names: Mapping[str, Any]) -> str:
    """The name in the trace of what a parameter stands for."""
    if isinstance(key, LoopRV):
        return key.name
    results = [name for step in steps for name in step.results]
    if key in results:
        return str(key)
    if isinstance(names.get(key), LoopRV):
        return names[key].name
    named = schedule.state.named
    found = [name for name in results if getattr(named.get(name), "name", None) == key]
    if found:
        return found[0]
    loops = [str(getattr(named.get(name), "name", "")) for name in results]
    raise _not_swept(steps, key, "nothing has this name", nearest(str(key), [*names, *loops]))


def _not_swept(steps: Sequence[Step], key: Any, why: str, fix: str = "") -> WorkbenchError:
    splits = [
        f"{name}" for step in steps if step.primitive == "split"
        for name, factor in zip(step.results, dict(step.arguments).get("factors", ()), strict=False)
        if factor is not None
    ]  # fmt: skip
    return WorkbenchError(
        "E-SWEEP-PARAMETER",
        f"{_name(key)!r} cannot be swept: {why}",
        expected=f'a loop with a factor: {", ".join(splits) or "there is none"}; or an argument such as "3.factors"',
        fix=fix or "split a loop first: jo, ji = sch.split(j, factors=[None, 8])",
    )


def _with(steps: Sequence[Step], places: Sequence[_Place], values: Sequence[Any]) -> tuple[Step, ...]:
    """The steps with the values in their places."""
    made = list(steps)
    for place, value in zip(places, values, strict=True):
        arguments = dict(made[place.step].arguments)
        old = arguments[place.argument]
        new = tuple(value) if isinstance(value, list) else value
        if place.item is not None:
            new = (*old[: place.item], new, *old[place.item + 1 :])
        arguments[place.argument] = new
        made[place.step] = replace(made[place.step], arguments=tuple(arguments.items()))
    return tuple(made)


# --- measuring ----------------------------------------------------------------------------------------------------


def _trial(base: Schedule, steps: tuple[Step, ...], values: tuple[Any, ...], run: Callable[[Schedule], float]) -> Trial:
    made = base.copy()
    try:
        made.replay(Trace(steps, base.func_working_on))
    except ScheduleError as error:
        return Trial(values, None, f"{error.where}: {error.message}", None)
    return Trial(values, float(run(made)), "", made)


def _measuring(measure: Measure, target: Target) -> Callable[[Schedule], float]:
    if callable(measure):
        return measure
    known: dict[str, Callable[[Schedule], float]] = {
        "cycles": lambda made: simulate_cache(made, target).cycles.total,
        "misses": lambda made: simulate_cache(made, target).misses,
        "time": lambda made: seconds(made, target),
    }
    if measure not in known:
        raise WorkbenchError(
            "E-SWEEP-MEASURE", f"there is no measure {measure!r}", expected=f"{', '.join(known)}, or a function",
            fix=nearest(str(measure), known),
        )  # fmt: skip
    return known[measure]

