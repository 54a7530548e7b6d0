"""What can compute an operator: the tensor expression and the schedule of its kernel, and what they cost by a model.

An `Implementation` makes the tensor expression of an operator and the schedule of its kernel, both from a `Config` (its
tile, mostly), and says what a config costs.  Those of one `family` (`Operator.family`) are listed in
`implementations.table`; which of them is taken is the affair of `choosing`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ..core.node import FrozenMap
from ..core.rewrite import Failure
from ..relay.ir.operator import Operator
from ..relay.ir.types import TensorType, Type
from ..schedule.rules.shapes import Machine
from ..target.target import Target

if TYPE_CHECKING:
    from ..schedule.schedule import Schedule
    from .kernel import Kernel

Config = Mapping[str, int]
"""Numbers by name: what an implementation leaves open."""
PAIR: Final = 2
"""Multiply-adds of vectors that start in one of the cycles in which costs count."""


@dataclass(frozen=True)
class Workload:
    """A call of an operator, as far as its loops depend on it: attributes, the operands' types, the target."""

    operator: Operator
    types: tuple[Type, ...]
    target: Target

    @cached_property
    def machine(self) -> Machine:
        """What is known of the target."""
        return Machine.of(self.target)

    @property
    def is_static(self) -> bool:
        """Whether all operands are tensors of known extents."""
        return all(isinstance(kind, TensorType) and kind.is_static for kind in self.types)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The operands' shapes, which are known."""
        return tuple(kind.concrete_shape for kind in self.types if isinstance(kind, TensorType))

    def __str__(self) -> str:
        attributes = ", ".join(f"{name}={value!r}" for name, value in self.operator.changed_attributes.items())
        return f"{self.operator.name}({', '.join(map(repr, self.types))}{'; ' if attributes else ''}{attributes})"


class Implementation(ABC):
    """A way to compute the operators of a family.  `name` is "family.what", `about` one sentence."""

    name: str
    about: str
    priority: int = 0
    """What goes before others of lesser priority, whatever they cost."""
    of_person: bool = False
    """Whether a person wrote it: then it is an error, not a reason for another one, where it does not fit."""

    @abstractmethod
    def why_not(self, workload: Workload) -> Failure | None:
        """The first condition that does not hold, where this cannot compute the workload."""

    @abstractmethod
    def costs(self, workload: Workload) -> Iterable[tuple[Config, float]]:
        """Every config of a workload that this can compute, with its cost by a model; at least one.

        The cost is in cycles of a core that starts two multiply-adds of vectors in each, and loads nearly two; a core
        that starts one takes about twice as many, whatever computes (`priced`).
        """

    def priced(self, workload: Workload) -> list[tuple[Config, float]]:
        """Every config with its cycles on one core of the workload's target, the cheapest first."""
        scale = PAIR / workload.machine.fma_units
        return [(config, cost * scale) for config, cost in sorted(self.costs(workload), key=lambda pair: pair[1])]

    def cycles(self, workload: Workload, config: Config) -> float:
        """Cycles of one of the configs on one core of the workload's target."""
        return next(cycles for one, cycles in self.priced(workload) if dict(one) == dict(config))

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        """The result as te tensors, as `Operator.compute`."""
        return workload.operator.compute(*tensors)

    @abstractmethod
    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        """Schedule the whole kernel, with what is fused around the operator; `block` is the operator's anchor.

        Raises `ScheduleError` where the kernel around it does not fit.
        """

    def schedule_kernel(self, schedule: Schedule, kernel: Kernel, workload: Workload, config: Config) -> None:
        """As `schedule`, of a kernel."""
        self.schedule(schedule, kernel.block, workload, config)

    def __repr__(self) -> str:
        return self.name


def static(workload: Workload) -> Failure | None:
    """The conditions that all implementations with tiles ask first."""
    if not workload.is_static:
        return Failure("the shapes are known", ", ".join(map(repr, workload.types)))
    if any(0 in shape for shape in workload.shapes):
        return Failure("there are elements", ", ".join(map(repr, workload.types)))
    return None


@dataclass(frozen=True)
class Choice:
    """An implementation with its config, for a workload."""

    workload: Workload
    implementation: Implementation
    config: FrozenMap
    by_hand: bool = False
    """Whether a person chose it: then it is an error, not a reason for another one, where it does not fit."""

    def compute(self, *tensors: Any) -> Any:
        """The result as te tensors, as `Operator.compute`."""
        return self.implementation.compute(self.workload, self.config, *tensors)

    def schedule(self, schedule: Schedule, kernel: Kernel) -> None:
        """Schedule the kernel.  Raises `ScheduleError` where what is fused around the operator does not fit."""
        self.implementation.schedule_kernel(schedule, kernel, self.workload, self.config)

    def __str__(self) -> str:
        numbers = " ".join(f"{name}={value}" for name, value in self.config.items())
        return f"{self.implementation.name} {numbers}".rstrip()
