"""Two-dimensional convolutions: vectors of output channels, of pixels, or of columns of one channel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...core.rewrite import Failure
from ...schedule.rules import conv, conv_columns, depthwise, pixels
from ...schedule.rules.shapes import divisors, largest_divisor, whole_lanes
from ...schedule.schedule import Schedule
from ...topi import conv_times
from ...topi import layout as layouts
from ...topi.compute_conv import conv2d_blocks, conv2d_pixels
from ...topi.compute_conv_columns import conv2d_columns
from ..implementation import Config, Implementation, Workload, static
from . import plain
from .register_tiles import Tile, channel_tiles, column_tiles, crowded, pixel_tiles

TASKS: Final = 32
"""Parts of the work that threads share out."""
CHANNELS: Final = 64
"""Output channels that a panel of pixels is copied for at least."""
ROWS: Final = 8
"""Vectors of sums of a depthwise convolution NCHW that are computed at once, at most."""
COLUMNS: Final = 8
"""Columns of one NHWC that are computed at once, at most."""
FAR: Final = 0.3
"""What it takes more, of moving the data once, to copy them to the second cache instead of the nearest."""


BESIDE: Final = 0.2
"""The same where the copy fits the nearest cache, but not beside the data that it is made of."""


class Blocks(Implementation):
    """Over a weight in blocks of output channels: tiles of blocks times columns; sums are filled up to `width`."""

    name = "conv2d.blocks"
    about = "vectors of output channels, a register tile of blocks of channels times columns"

    def why_not(self, workload: Workload) -> Failure | None:
        return static(workload) or _in_blocks(workload)

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op, g, block = _parts(workload)
        inner = g.in_channels // op.groups
        alone = is_depthwise(workload)
        width = filled_width(g.out_width)
        scattered = op.data_layout[-1] not in "Cc" and g.kernel == (1, 1)
        panel = 4 * block * inner * g.kernel[0] * g.kernel[1]
        vector = vector_of(workload)
        blocks = 1 if alone else _blocks_of_a_group(op, g, block)
        every = list(channel_tiles(workload.machine, blocks, width, panel, scattered, -(-block // vector)))
        if op.data_layout[-1] == "C" and not alone:
            every = [tile._replace(time=_crowded(workload, tile)) for tile in every]
        base = (conv_times.depthwise if alone else conv_times.blocks)(op, g, min(block, vector))
        for tile in every:
            yield {"blocks": tile.vectors, "columns": tile.rows, "width": width}, base * _relative(tile, every)

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        return conv2d_blocks(workload.operator, *tensors, width=config["width"])

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        alone = is_depthwise(workload)
        conv.packed(schedule, block, workload.machine, config["blocks"], config["columns"], alone)


class Pixels(Implementation):
    """One tap a channel over pictures NCHW (`conv_times.by_pixels`): tiles of pixels times output channels."""

    name = "conv2d.pixels"
    about = "vectors of pixels, a register tile of output channels times pixels, over a copied panel"

    def why_not(self, workload: Workload) -> Failure | None:
        return static(workload) or _in_blocks(workload) or not_by_pixels(workload)

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op, g, block = _parts(workload)
        whole = conv_times.filled(g.height * g.width, block)
        every = list(pixel_tiles(workload.machine, block, whole, 4 * g.in_channels))
        base = conv_times.pixels(op, g, block)
        best = min(tile.time for tile, _ in every)
        blocks = -(-g.out_channels // block)
        for tile, width in every:
            together = blocks_together(g.batch, blocks, block, whole // width)
            config = {"rows": tile.rows, "pixels": width, "blocks": together}
            yield config, base * tile.time / best

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        return conv2d_pixels(workload.operator, *tensors)

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        pixels.panels(schedule, block, workload.machine, config["rows"], config["pixels"], config["blocks"])


class Rows(Implementation):
    """A depthwise convolution NCHW over a weight as it is written: vectors along a row, several rows at once."""

    name = "conv2d.rows"
    about = "each channel by itself: vectors along a row, several rows at once, taps written out"

    def why_not(self, workload: Workload) -> Failure | None:
        return static(workload) or _each_channel(workload) or _lies_as(workload, "NCHW")

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op, g = workload.operator, geometry(workload)
        height, width = g.out_height, g.out_width
        lanes = whole_lanes(width, workload.machine.lanes) or workload.machine.lanes
        base = conv_times.depthwise(op, g, workload.machine.lanes)
        vectors = -(-lanes // workload.machine.lanes)
        for rows in divisors(height) if width % lanes == 0 else [1]:
            if rows == 1 or rows * vectors <= ROWS:
                yield {"rows": rows, "lanes": lanes}, base * (1 + 1 / rows) / (1 + 1 / ROWS)

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        depthwise.rows(schedule, block, workload.machine, config["rows"], config["lanes"])


class Channels(Implementation):
    """A depthwise convolution NHWC over a weight as it is written: vectors of channels, several columns at once."""

    name = "conv2d.channels"
    about = "vectors of channels: several columns at once, taps written out, over strips of rows"

    def why_not(self, workload: Workload) -> Failure | None:
        return static(workload) or _each_channel(workload) or _lies_as(workload, "NHWC")

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op: Any = workload.operator
        g, machine = geometry(workload), workload.machine
        lanes = whole_lanes(g.out_channels, machine.lanes) or machine.lanes
        columns = largest_divisor(g.out_width, COLUMNS)
        for strip in divisors(g.out_height):
            rows = (strip - 1) * op.strides[0] + (g.kernel[0] - 1) * op.dilation[0] + 1
            held = rows * (g.width + op.padding[1] + op.padding[3]) * lanes * 4
            far = 0.0 if held <= machine.nearest else FAR if 2 * held <= machine.second else 1.0
            if held <= machine.nearest < 2 * held:
                far = BESIDE
            again = rows / (strip * op.strides[0]) + far
            config = {"strip": strip, "columns": columns, "lanes": lanes}
            yield config, conv_times.depthwise(op, g, machine.lanes, again)

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        depthwise.channels(schedule, block, workload.machine, config["strip"], config["columns"], config["lanes"])


class Columns(Implementation):
    """Over pictures NCHW, vectors along a row: tiles of output channels times columns, both filled up."""

    name = "conv2d.columns"
    about = "vectors along a row, a register tile of output channels times columns"

    def why_not(self, workload: Workload) -> Failure | None:
        return static(workload) or conv_times.not_by_columns(workload.operator, geometry(workload))

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op: Any = workload.operator
        g, lanes = geometry(workload), vector_of(workload)
        block = layouts.parse(op.kernel_layout).factors.get("O", 1)
        rows = -(-g.out_channels // block) * block if op.groups == 1 else g.out_channels // op.groups
        pixel = 4 * g.in_channels // op.groups
        for tile in column_tiles(workload.machine, rows, g.kernel, pixel, -(-g.out_width // lanes)):
            config = {"rows": tile.rows, "vectors": tile.vectors, "lanes": lanes}
            channels, width = _filled(g, config)
            yield config, conv_times.columns(op, g, channels, width, lanes) * tile.time

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        channels, width = _filled(geometry(workload), config)
        return conv2d_columns(workload.operator, *tensors, channels=channels, width=width)

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        tile = config["rows"], config["vectors"], config["lanes"]
        conv_columns.columns(schedule, block, workload.machine, *tile)


class Plain(plain.Plain):
    """The operator's own expression, whose weights come from beyond the caches as those in blocks do."""

    def __init__(self) -> None:
        super().__init__("conv2d")

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        if static(workload) is not None:
            yield from super().costs(workload)
        else:
            yield {}, conv_times.plain(workload.operator, geometry(workload), vector_of(workload))


def vector_of(workload: Workload) -> int:
    """Numbers of a vector of sums."""
    kind: Any = workload.operator.infer(*workload.types)
    return max(1, workload.machine.lanes * 4 // max(kind.dtype.bytes, 4))


def _blocks_of_a_group(op: Any, geometry: Any, block: int) -> int:
    """Blocks of output channels that read the same input channels."""
    each = geometry.out_channels // op.groups
    return -(-each // block) if op.groups == 1 or each % block == 0 else 1


def _filled(geometry: Any, config: Config) -> tuple[int, int]:
    """Output channels and columns filled up to whole tiles of `Columns`."""
    wide = config["vectors"] * config["lanes"]
    rows = config["rows"]
    return -(-geometry.out_channels // rows) * rows, -(-geometry.out_width // wide) * wide


def filled_width(width: int) -> int:
    """A width filled up so that tiles divide it: to a multiple of 8, 7, 6, 5 or 4, whichever fills up least."""
    return width if width <= 8 else min(-(-width // tile) * tile for tile in (8, 7, 6, 5, 4))


def not_by_pixels(workload: Workload) -> Failure | None:
    """Why vectors cannot hold pixels, of a weight in blocks of output channels."""
    op, g, block = _parts(workload)
    if conv_times.by_pixels(op, g, block):
        return None
    text = f"{g.kernel} taps, strides {op.strides}, padding {op.padding}, {op.groups} groups, {op.data_layout}, "
    return Failure(
        "one tap at every pixel of pictures NCHW, in one group, and at most a quarter of the pixels filled up",
        f"{text}{g.height} x {g.width} pixels",
    )


def blocks_together(batch: int, blocks: int, block: int, panels: int) -> int:
    """Blocks of channels that one copy of a panel serves: all of them, fewer where there are few panels."""
    enough = [count for count in divisors(blocks) if count * block >= CHANNELS]
    shared = (count for count in enough if batch * panels * (blocks // count) >= TASKS)
    return max(shared, default=min(enough, default=blocks))


def is_depthwise(workload: Workload) -> bool:
    """Whether each group has one input channel, and there are several groups."""
    op: Any = workload.operator
    return op.groups > 1 and geometry(workload).in_channels == op.groups


def geometry(workload: Workload) -> Any:
    op: Any = workload.operator
    return op.geometry(*workload.shapes)


def _parts(workload: Workload) -> tuple[Any, Any, int]:
    """(operator, geometry, output channels of a block of the weight)."""
    op: Any = workload.operator
    return op, geometry(workload), layouts.parse(op.kernel_layout).factors["O"]


def _in_blocks(workload: Workload) -> Failure | None:
    """Why the weight does not lie in blocks of output channels, or data and result lie in some."""
    op: Any = workload.operator
    if set(layouts.parse(op.kernel_layout).factors) != {"O"}:
        return Failure("the weight is in blocks of output channels only, as OIHW16o", op.kernel_layout)
    block, data = layouts.parse(op.kernel_layout).factors["O"], layouts.parse(op.data_layout).factors
    if data and data != {"C": block}:
        return Failure(f"the data are in no blocks, or in those of the weight, of {block} channels", op.data_layout)
    outputs = geometry(workload).out_channels
    if data and op.groups > 1 and not (is_depthwise(workload) and op.groups == outputs):
        found = f"{op.groups} groups, {outputs} outputs"
        return Failure("data in blocks are of one group of channels, or of one for each output", found)
    if op.out_layout not in ("", op.data_layout):
        return Failure(f"the result lies as {op.data_layout}", op.out_layout)
    return None


def _each_channel(workload: Workload) -> Failure | None:
    """Why channels are not each convolved by itself."""
    op: Any = workload.operator
    if is_depthwise(workload):
        return None
    return Failure("each group has one input channel, and there are several", f"{op.groups} groups")


def _lies_as(workload: Workload, layout: str) -> Failure | None:
    """Why data and result do not lie so, or the weight lies in blocks."""
    op: Any = workload.operator
    lies = {op.data_layout, op.out_layout or op.data_layout}
    if lies != {layout}:
        return Failure(f"data and result lie as {layout}", " and ".join(sorted(lies)))
    blocks = layouts.parse(op.kernel_layout).factors
    return Failure("the weight is in no blocks", op.kernel_layout) if blocks else None


def _crowded(workload: Workload, tile: Tile) -> float:
    """The time of a tile of columns NHWC, which may meet in few sets of the nearest cache."""
    op: Any = workload.operator
    g = geometry(workload)
    high, wide = g.kernel
    stride = op.strides[1]
    pixels = high * (min((tile.rows - 1) * stride, tile.rows * wide) + wide) if wide > 1 else tile.rows
    pixel = conv.apart(4 * g.in_channels) if any(op.padding) else 4 * g.in_channels
    pitch = pixel * (stride if wide == 1 else 1)
    return crowded(workload.machine, tile, pitch, pixels, high * wide)


def _relative(tile: Tile, every: list[Tile]) -> float:
    """The time of a tile, of the best one's."""
    return tile.time / min(one.time for one in every)
