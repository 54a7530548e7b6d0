"""What computes the kernels of a session: the candidates of each, and sessions in which a person chose another one.

    print(s.candidates("fused_nn_conv2d"))
    s.choose("fused_nn_conv2d", "conv2d.blocks", columns=4)      # the other numbers: the cheapest that agree
    s.choose("fused_nn_conv2d")                                  # the cheapest again

An implementation brings its own schedule: one by hand of the kernel goes.  A choice is kept with the step Lower, by
what the kernel computes, and made again on what comes there after a change above; where it is not to be had any more
the step stops, and `rebase` drops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .._lazy import views
from ..lower.choosing import Candidate, candidates, choice_by_hand, no_choice
from ..lower.implementation import Choice, Config, Workload
from ..lower.kernel import Kernel
from .anchors import anchor, located, unknown_kernel
from .history import Stage
from .plan import ChosenBy, CompilePlan, LowerRow, TraceTail

if TYPE_CHECKING:
    from .session import Session

Part = TypeVar("Part", ChosenBy, TraceTail)


class Candidates(Sequence[Candidate]):
    """The candidates for one kernel, the cheapest first; prints as a table, what computes it marked."""

    def __init__(self, kernel: str, workload: Workload, taken: Choice | None, by_hand: bool = False) -> None:
        self.kernel, self.workload, self.taken = kernel, workload, taken
        self.scheduled_by_hand = by_hand
        """Whether the kernel has a schedule by hand, not that of what computes it."""
        self._found = candidates(workload)

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, index: Any) -> Any:
        return self._found[index]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._found)

    def __str__(self) -> str:
        return views().candidates_bundle(self)["text/plain"]

    __repr__ = __str__

    def is_taken(self, one: Candidate) -> bool:
        """Whether it computes the kernel now."""
        return self.taken is not None and self.taken.implementation is one.implementation

    def config(self, one: Candidate) -> Config:
        """The config with which it computes the kernel now; of others their cheapest."""
        return self.taken.config if self.taken is not None and self.is_taken(one) else one.config

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().candidates_bundle(self)


def candidates_of(session: Session, kernel: str) -> Candidates:
    """The candidates for a kernel.  Raises `WorkbenchError` for one that is not there, or leaves nothing to choose."""
    found = _kernel(session, kernel)
    if found.workload is None or not candidates(found.workload):
        raise no_choice(kernel)
    return Candidates(kernel, found.workload, found.choice, _is_scheduled_by_hand(session, kernel))


def plan_with(session: Session, kernel: str, implementation: Any, config: Mapping[str, Any]) -> CompilePlan:
    """The session's plan with a choice for a kernel; without one where neither `implementation` nor numbers are given.

    The kernel has the schedule of what computes it then: one by hand goes.
    `implementation`: a name, an `Implementation` or a `Candidate`; numbers without one are of what computes it now.
    Both may stand by name in `config`; what is given twice is a number there, which an implementation may have.

    Raises `WorkbenchError` for a kernel that is not there, for what cannot compute it, and where what is fused around
    the operator does not fit.
    """
    config = dict(config)
    kernel, implementation = (
        config.pop(name, "") if isinstance(given, str) and not given else given
        for name, given in (("kernel", kernel), ("implementation", implementation))
    )
    found = _kernel(session, kernel)
    index, row = session.plan.lower_row()
    stage = session.step(index).stage
    kept = tuple(part for one in row.choices for part in _without(one, kernel, stage))
    plan = _unscheduled(session.plan, kernel, stage)
    if isinstance(implementation, str) and not implementation and not config:
        return plan.with_row(index, LowerRow(kept))
    if found.workload is None or not candidates(found.workload):
        raise no_choice(kernel)
    if isinstance(implementation, str) and not implementation and found.choice is not None:
        implementation = found.choice.implementation.name  # numbers alone are of what computes it now
    choice = choice_by_hand(found.workload, implementation, config)
    numbers = tuple((name, choice.config[name]) for name in sorted(config))
    made = ChosenBy(anchor(kernel, stage), choice.implementation.name, numbers)
    plan = plan.with_row(index, LowerRow((*kept, made)))
    tried = replace(session, plan=plan, is_branch=False)
    lowered = tried.step(index)
    if lowered.error is not None:
        raise lowered.error
    lowered.stage.default_schedule(lowered.stage.kernels(plan.target)[kernel])  # raises where it does not fit
    return plan


def choosing_call(kernel: str, implementation: str = "", config: Iterable[tuple[str, Any]] = ()) -> str:
    """The line of Python that chooses."""
    given = [repr(kernel), *([repr(implementation)] if implementation else ())]
    return f"s = s.choose({', '.join([*given, *(f'{key}={value!r}' for key, value in config)])})"


def _is_scheduled_by_hand(session: Session, kernel: str) -> bool:
    stage = session.step(session.plan.lower_row()[0]).stage
    _, row = session.plan.schedule_row()
    return row is not None and any(kernel in located(tail.at, stage)[0] for tail in row.tails)


def _unscheduled(plan: CompilePlan, kernel: str, stage: Stage) -> CompilePlan:
    """A plan without a schedule by hand of a kernel."""
    index, row = plan.schedule_row()
    if row is None:
        return plan
    tails = tuple(part for tail in row.tails for part in _without(tail, kernel, stage))
    return plan.with_row(index, replace(row, tails=tails))


def _without(one: Part, kernel: str, stage: Stage) -> list[Part]:
    """What is of a kernel without it: it stays that of the others, where calls that shared one have their own now."""
    names, _ = located(one.at, stage)
    if kernel not in names:
        return [one]
    return [replace(one, at=anchor(name, stage)) for name in names if name != kernel]


def _kernel(session: Session, name: str) -> Kernel:
    """A kernel of a graph.  Raises `WorkbenchError` for another name, for a loop program, and what stopped Lower."""
    index, _ = session.plan.lower_row()
    step = session.step(index)
    if step.error is not None:
        raise step.error
    kernels = step.stage.kernels(session.target)
    if not isinstance(name, str) or name not in kernels:
        raise unknown_kernel(name, kernels)
    return kernels[name]
