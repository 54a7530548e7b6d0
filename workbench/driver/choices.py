"""What computes the kernels of a session: the candidates of each, and sessions in which a person chose another one.

    print(s.candidates("fused_nn_conv2d"))
    s.choose("fused_nn_conv2d", "conv2d.blocks", columns=4)      # the other numbers: the cheapest that agree
    s.choose("fused_nn_conv2d")                                  # the cheapest again

A choice is kept with the step Lower, by what the kernel computes, and made again on what comes there after a change
above; where it is not to be had any more the step stops, and `rebase` drops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._lazy import views
from ..core.errors import WorkbenchError, nearest
from ..lower.choosing import Candidate, candidates, choice_by_hand, no_choice
from ..lower.implementation import Choice, Config, Workload
from ..lower.kernel import Kernel
from .anchors import anchor, located
from .history import Stage
from .plan import ChosenBy, CompilePlan, LowerRow

if TYPE_CHECKING:
    from .session import Session


class Candidates(Sequence[Candidate]):
    """The candidates for one kernel, the cheapest first; prints as a table, what computes it marked."""

    def __init__(self, kernel: str, workload: Workload, taken: Choice | None) -> None:
        self.kernel, self.workload, self.taken = kernel, workload, taken
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
    return Candidates(kernel, found.workload, found.choice)


def plan_with(session: Session, kernel: str, implementation: Any, config: Mapping[str, Any]) -> CompilePlan:
    """The session's plan with a choice for a kernel; without one where neither `implementation` nor numbers are given.

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
    if isinstance(implementation, str) and not implementation and not config:
        return session.plan.with_row(index, LowerRow(kept))
    if found.workload is None or not candidates(found.workload):
        raise no_choice(kernel)
    if isinstance(implementation, str) and not implementation and found.choice is not None:
        implementation = found.choice.implementation.name  # numbers alone are of what computes it now
    choice = choice_by_hand(found.workload, implementation, config)
    numbers = tuple((name, choice.config[name]) for name in sorted(config))
    made = ChosenBy(anchor(kernel, stage), choice.implementation.name, numbers)
    plan = session.plan.with_row(index, LowerRow((*kept, made)))
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


def _without(one: ChosenBy, kernel: str, stage: Stage) -> list[ChosenBy]:
    """A choice without a kernel: it stays that of the others, where calls that shared a kernel have their own now."""
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
        raise WorkbenchError(
            "E-KERNEL-UNKNOWN", f"there is no kernel {name!r}", expected="one of session.kernels",
            fix=nearest(name, kernels),
        )  # fmt: skip
    return kernels[name]
