"""Convolutions by Winograd's tiles (`topi.nn_winograd`): the products between the transforms in register tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.rewrite import Failure
from ...lower.implementations.conv2d import geometry
from ...schedule.rules import winograd
from ...schedule.rules.shapes import Machine, divisors, whole_lanes
from ...schedule.schedule import Schedule
from ...topi import conv_times
from ...topi import layout as layouts
from ...topi.compute_winograd import without_weight_transform
from ..implementation import Config, Implementation, Workload, static
from .conv2d import filled_width
from .register_tiles import channel_tiles


class Tiles(Implementation):
    """Over a weight in blocks of output channels."""

    name = "winograd.tiles"
    about = "the stages of some rows of tiles in one loop, products in register tiles"

    def why_not(self, workload: Workload) -> Failure | None:
        refusal = static(workload)
        if refusal is not None:
            return refusal
        op: Any = workload.operator
        if layouts.parse(op.kernel_layout).factors.get("O", 1) < 2:
            return Failure("the weight is in blocks of output channels, as HWOI16o", op.kernel_layout)
        channels = geometry(workload).in_channels
        if whole_lanes(channels, workload.machine.lanes) is None:
            return Failure("the input channels are whole vectors", f"{channels} channels")
        return None

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op: Any = workload.operator
        g, machine = geometry(workload), workload.machine
        size, block = op.tile_size, layouts.parse(op.kernel_layout).factors["O"]
        blocks, channels = -(-g.out_channels // block), g.in_channels
        tall, wide = -(-g.out_height // size), filled_width(-(-g.out_width // size))
        elements = (size + g.kernel[0] - 1) ** 2
        rows = rows_together(machine, tall, wide, elements, channels, blocks * block)
        every = list(channel_tiles(machine, blocks, wide, 4 * block * channels))
        best = min(tile.time for tile in every)
        cycles = conv_times.tiled(op, g, block, size)
        for tile in every:
            config = {"rows": rows, "blocks": tile.vectors, "columns": tile.rows, "width": wide}
            yield config, cycles * tile.time / best

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        return without_weight_transform(workload.operator, *tensors, width=config["width"])

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        winograd.tiles(schedule, block, workload.machine, config["rows"], config["blocks"], config["columns"])


def rows_together(machine: Machine, tall: int, wide: int, elements: int, channels: int, outputs: int) -> int:
    """How many of `tall` rows of `wide` tiles share a loop; 0: each stage of the whole picture has its own.

    Threads share out the turns of that loop, so that there are at least two.  By bytes that come from beyond the second
    cache: stages by themselves write transformed data and sums, and read them again; together, the weights are read
    once in each turn.  `elements`: of a tile.
    """
    row = 4 * wide * elements * (channels + outputs)
    fitting = [one for one in divisors(tall) if one * row <= machine.second and (one < tall or tall == 1)]
    if not fitting:
        return 0
    weights = 4 * elements * channels * outputs
    return max(fitting) if tall // max(fitting) * weights < 2 * tall * row else 0
