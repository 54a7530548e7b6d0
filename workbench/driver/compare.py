"""Comparing two sessions on the same inputs: where they part, programs, outputs, kernels, time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._lazy import told
from ..core.arguments import whole
from ..core.equal import fingerprint
from ..core.errors import WorkbenchError
from .branches import shared_steps
from .difference import Difference, branch_difference
from .native import with_own_outputs
from .plan import CompilePlan
from .rebase import renamed
from .session import Session


@dataclass(frozen=True)
class Comparison:
    """Two sessions side by side; times are the least of a few runs of both in turn in this process, in milliseconds."""

    sessions: tuple[Session, Session]
    names: tuple[str, str]
    kernels: tuple[int, int]
    milliseconds: tuple[float, float]
    """The least of `runs` runs, as `Session.profile` and `measure` tell it."""
    slowest: tuple[float, float]
    """The greatest of them."""
    runs: int
    differences: Mapping[str, float]
    """Greatest absolute difference of each output, by its name."""
    last_common: str
    """The last step that they share."""
    differing_steps: tuple[str, ...]
    """Steps that one of them lacks, whatever target and settings they run under."""
    differing_settings: Mapping[str, tuple[str, str]]
    """What all their steps run under and that is not the same, by its name: the target, a setting of PassContext."""
    differing_definitions: tuple[str, ...]
    """What users have defined that both programs read, and that was not the same: "operator my.op"."""
    differing_kernels: tuple[str, ...]
    """Kernels whose code only one of them has, as that one calls them."""

    @property
    def greatest_difference(self) -> float:
        """Greatest absolute difference between their outputs."""
        return max(self.differences.values(), default=0.0)

    def spread(self, place: int) -> str:
        """The slowest run of one of the two: "slowest +12%"; what the least leaves out."""
        return f"slowest {self.slowest[place] / self.milliseconds[place] - 1:+.0%}" if self.milliseconds[place] else ""

    def diff(self, step: str | None = None) -> Difference:
        """The programs of both after a step, side by side; the default is the last graph step (else the last)."""
        one, other = self.sessions
        steps = [session[_last_graph_step(session) if step is None else step].step for session in (one, other)]
        return branch_difference(_last_graph_step(one) if step is None else step, *steps)

    def __str__(self) -> str:
        rows = [
            f"{'':<14}{self.names[0]:>16}{self.names[1]:>16}",
            f"{'kernels':<14}{self.kernels[0]:>16}{self.kernels[1]:>16}",
            f"{'milliseconds':<14}{self.milliseconds[0]:>16.3f}{self.milliseconds[1]:>16.3f}",
            f"{'':<14}{self.spread(0):>16}{self.spread(1):>16}",
            f"the same up to: {self.last_common or 'nothing'}",
            *(f"other {name}: {one} | {other}" for name, (one, other) in self.differing_settings.items()),
            f"steps only in one of them: {', '.join(self.differing_steps) or 'none'}",
            *(f"defined otherwise: {_some(found)}" for found in [self.differing_definitions] if found),
            f"kernels with other code: {_some(self.differing_kernels) or 'none'}",
            f"greatest difference of an output: {self.greatest_difference:.3g}",
            f"milliseconds are the least of {self.runs} runs of both in turn",
        ]
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().comparison_bundle(self)


def compare(
    one: Session, other: Session, inputs: Mapping[str, Any], repeat: int = 5, names: tuple[str, str] | None = None
) -> Comparison:
    """Run both sessions on `inputs` in turn and put the results side by side.

    Every run gets copies of the arrays that it writes: none sees what another made, and the caller's stay as they are.
    Raises `WorkbenchError` when they do not give the same outputs by name and shape.
    """
    _require_sessions(one, other)
    repeat = whole(repeat, "compare(repeat=...)", "E-COMPARE-ARGUMENT", 1)
    if names is not None and not (
        isinstance(names, (tuple, list)) and len(names) == 2 and all(isinstance(name, str) for name in names)
    ):
        raise WorkbenchError(
            "E-COMPARE-ARGUMENT", "the sessions have two names", where="compare(names=...)", found=repr(names)[:80],
            expected='("before", "after")',
        )  # fmt: skip
    first, second = (session.run(with_own_outputs(session.build(), inputs)) for session in (one, other))
    times: tuple[list[float], list[float]] = ([], [])
    both = ((one, times[0]), (other, times[1]))
    for number in range(repeat):
        for session, spent in both if number % 2 == 0 else both[::-1]:  # who runs second finds other caches
            own = with_own_outputs(session.build(), inputs)
            started = time.perf_counter()
            session.run(own)
            spent.append((time.perf_counter() - started) * 1000)
    shared = shared_steps(one.actions, other.actions)
    return Comparison(
        (one, other),
        names or ("first", "second"),
        (len(one.kernels), len(other.kernels)),
        (min(times[0]), min(times[1])),
        (max(times[0]), max(times[1])),
        repeat,
        _differences(first, second),
        one.labels[shared - 1] if shared else "",
        _differing_steps(one, other),
        _differing_settings(one.plan, other.plan),
        _differing_definitions(one, other),
        _differing_kernels(one, other),
    )


def _require_sessions(*given: Any) -> None:
    for item in given:
        if not isinstance(item, Session):
            raise WorkbenchError(
                "E-COMPARE-ARGUMENT", "two sessions are compared", where="compare(one, other)",
                found=repr(item)[:80], expected="what wb.open gives",
            )  # fmt: skip


def _differences(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]) -> dict[str, float]:
    if {name: array.shape for name, array in first.items()} != {name: array.shape for name, array in second.items()}:
        raise WorkbenchError(
            "E-COMPARE-OUTPUTS",
            "these sessions compute different things",
            found=", ".join(f"{name}{list(array.shape)}" for name, array in second.items()),
            expected=", ".join(f"{name}{list(array.shape)}" for name, array in first.items()),
        )
    return {name: _difference(first[name], second[name]) for name in first}


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    """The greatest absolute difference: none of equal infinities and of two NaN, infinite of NaN and a number."""
    x, y = one.astype(np.float64), other.astype(np.float64)
    whole = one.dtype.kind in "iub" and other.dtype.kind in "iub"
    same = one == other if whole else (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        gaps = np.where(same, 0.0, np.maximum(np.abs(x - y), 1.0 if whole else 0.0))  # beyond 2^53 float64 sees no gap
    return float(np.max(np.where(np.isnan(gaps), np.inf, gaps), initial=0.0))


def _differing_steps(one: Session, other: Session) -> tuple[str, ...]:
    """Names of steps that one session lacks.

    Target and settings are part of every step's key, so that the steps of both are told apart under those of one.
    """
    under = replace(other, plan=replace(other.plan, target=one.plan.target, settings=one.plan.settings))
    keys = {action.key for action in one.actions} ^ {action.key for action in under.actions}
    return tuple(dict.fromkeys(action.name for action in (*one.actions, *under.actions) if action.key in keys))


def _differing_settings(one: CompilePlan, other: CompilePlan) -> dict[str, tuple[str, str]]:
    first, second = (
        {
            "target": str(plan.target),
            "opt_level": str(plan.settings.level),
            "required_pass": ", ".join(plan.settings.required) or "none",
            "disabled_pass": ", ".join(plan.settings.disabled) or "none",
            "config": plan.settings.config,
        }
        for plan in (one, other)
    )
    return {name: (told, second[name]) for name, told in first.items() if told != second[name]}


def _differing_definitions(one: Session, other: Session) -> tuple[str, ...]:
    first, second = ({name: key for step in session.history.users_keys(session.actions) for name, key in step.items()}
                     for session in (one, other))  # fmt: skip
    return tuple(sorted(name for name in first.keys() & second.keys() if first[name] != second[name]))


def _differing_kernels(one: Session, other: Session) -> tuple[str, ...]:
    """Names of kernels whose code, as it is handed to code generation, the other session has not.

    Kernels of graphs are numbered in each program, so that their names say nothing; functions of loop programs are
    compared with those of their names.
    """
    ends = [session.codegen.step.stage for session in (one, other)]
    named = any(stage.lowered is None for stage in ends)
    first, second = (
        {name: (name if named else "", fingerprint(renamed(stage.module[name], ""))) for name in session.kernels
         if name in stage.module}
        for session, stage in zip((one, other), ends, strict=True)
    )  # fmt: skip
    alike = set(first.values()) & set(second.values())
    return tuple(dict.fromkeys(name for codes in (first, second) for name, code in codes.items() if code not in alike))


def _last_graph_step(session: Session) -> str:
    relay = [label for label, action in zip(session.labels, session.actions, strict=True) if action.level == "relay"]
    return relay[-1] if relay else session.labels[-1]


def _some(names: tuple[str, ...], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
