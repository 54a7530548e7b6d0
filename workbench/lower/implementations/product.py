"""Matrix products: register tiles of rows times vectors of columns that lie side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...core.rewrite import Failure
from ...schedule.rules import matmul
from ...schedule.schedule import Schedule
from ..implementation import Config, Implementation, Workload, static
from .register_tiles import product_tiles

SHARE: Final = 0.85
"""Of the peak of multiply-adds that the best tile reaches."""


class Tiles(Implementation):
    """Columns side by side in the second operand, in blocks or not."""

    name = "product.tiles"
    about = "vectors of columns, a register tile of rows times vectors"

    def why_not(self, workload: Workload) -> Failure | None:
        refusal = static(workload)
        if refusal is None and not _extents(workload).in_order:
            return Failure("columns of the second operand lie side by side", "columns that are a row apart")
        return refusal

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        of, machine = _extents(workload), workload.machine
        columns = -(-of.columns // of.block) * of.block if of.block else of.columns
        lanes = of.block or min(machine.lanes, columns)  # a row shorter than a vector is one: nothing asks for its end
        best = of.batch * of.rows * of.columns * of.inner / (2 * min(lanes, machine.lanes)) / SHARE
        for tile in product_tiles(machine, of.rows, columns, lanes, of.inner):
            yield {"vectors": tile.vectors, "rows": tile.rows, "lanes": lanes}, best * tile.time

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        matmul.product(schedule, block, workload.machine, config["vectors"], config["rows"], config["lanes"])


def _extents(workload: Workload) -> Any:
    op: Any = workload.operator
    return op.extents(*workload.types)
