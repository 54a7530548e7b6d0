"""Softmax and its like: all stages of a row in one loop over rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...core.rewrite import Failure
from ...schedule.rules import softmax
from ...schedule.schedule import Schedule
from ..implementation import Config, Implementation, Workload

SHARE: Final = 0.3
"""Of the peak of multiply-adds."""


class Rows(Implementation):
    """Along the last axis."""

    name = "softmax.rows"
    about = "the greatest value, the exponentials and the sum of a row in one loop over rows"

    def why_not(self, workload: Workload) -> Failure | None:
        op: Any = workload.operator
        rank = len(op.infer(*workload.types).shape)
        if op.axis % rank != rank - 1:
            return Failure("it goes along the last axis", f"axis {op.axis} of {rank}")
        return None if rank > 1 else Failure("there are several rows", "one axis")

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        operations = workload.operator.flops(*workload.types) if workload.is_static else 0
        yield {}, operations / 2 / (2 * workload.machine.lanes) / SHARE

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        softmax.rows(schedule, block, workload.machine)
