"""Every family's last resort: the operator's own tensor expression, scheduled block by block."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from ...core.rewrite import Failure
from ...schedule.rules import generic
from ...schedule.schedule import Schedule
from ..implementation import Config, Implementation, Workload

SHARE: Final = 0.03
"""Of the peak of multiply-adds, measured on convolutions and products whose weight lies as it is written."""


class Plain(Implementation):
    """The operator's own expression, block by block; there is nothing that this cannot compute."""

    about = "the operator's own expression, block by block"

    def __init__(self, family: str, share: float = SHARE) -> None:
        self.name = f"{family}.plain"
        self.share = share

    def why_not(self, workload: Workload) -> Failure | None:
        return None

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        yield {}, _operations(workload) / 2 / (2 * workload.machine.lanes) / self.share

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        generic.blockwise(schedule, workload.machine)


def _operations(workload: Workload) -> float:
    """Floating-point operations, or where extents are symbolic as many as there are elements of known extent."""
    if workload.is_static:
        return float(workload.operator.flops(*workload.types))
    return float(prod(size for kind in workload.types for size in getattr(kind, "shape", ()) if isinstance(size, int)))
