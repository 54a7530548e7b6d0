"""Convolutions and products of bytes by an instruction that adds four products to each number of a vector.

The weight lies in blocks of output channels and fours of inputs (`topi.packing_bytes`); a register tile is as for
floats, its vectors hold sums in int32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.rewrite import Failure
from ...schedule.rules import conv, matmul, pixels
from ...schedule.schedule import Schedule
from ...tir.tensor_intrin.dots import DOTS, PARTS
from ...topi import conv_times
from ...topi import layout as layouts
from ...topi.compute_conv_bytes import conv2d_byte_pixels, conv2d_bytes
from ..implementation import Config, Implementation, Workload, static
from .conv2d import blocks_together, filled_width, not_by_pixels
from .register_tiles import channel_tiles, pixel_tiles, product_tiles


class ByteBlocks(Implementation):
    """Over data NCHW, which are copied into words, or NHWC."""

    name = "conv2d.byte_blocks"
    about = "four products an instruction, vectors of output channels: a tile of blocks of channels times columns"

    def why_not(self, workload: Workload) -> Failure | None:
        return static(workload) or _in_fours(workload)

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op: Any = workload.operator
        g, machine = op.geometry(*workload.shapes), workload.machine
        block, width = layouts.parse(op.kernel_layout).factors["O"], filled_width(g.out_width)
        panel = block * g.in_channels * g.kernel[0] * g.kernel[1]
        pointwise = op.data_layout == "NHWC" and g.kernel == (1, 1)
        every = list(channel_tiles(machine, -(-g.out_channels // block), width, panel, pointwise, ahead=not pointwise))
        best = min(tile.time for tile in every)
        cycles = conv_times.of_bytes(op, g, block)
        for tile in every:
            config = {"blocks": tile.vectors, "columns": tile.rows, "width": width}
            yield config, cycles * tile.time / best

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        return conv2d_bytes(workload.operator, *tensors, width=config["width"])

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        of = layouts.parse(workload.operator.kernel_layout).factors["O"]  # type: ignore[attr-defined]
        form = "bytes" if workload.operator.data_layout == "NHWC" else "word"  # type: ignore[attr-defined]
        dot = DOTS[*workload.target.dot_dtypes, of, form]  # type: ignore[misc]
        conv.packed(schedule, block, workload.machine, config["blocks"], config["columns"], False, dot)


class BytePixels(Implementation):
    """One tap a channel over pictures NCHW (`conv_times.by_pixels`)."""

    name = "conv2d.byte_pixels"
    about = "four products an instruction, vectors of pixels: a tile of output channels times pixels, over copied words"

    def why_not(self, workload: Workload) -> Failure | None:
        refusal = static(workload) or _in_fours(workload)
        return refusal or not_by_pixels(workload)

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op: Any = workload.operator
        g, block = op.geometry(*workload.shapes), layouts.parse(op.kernel_layout).factors["O"]
        whole = conv_times.filled(g.height * g.width, block)
        every = list(pixel_tiles(workload.machine, block, whole, g.in_channels))
        best, cycles = min(tile.time for tile, _ in every), conv_times.of_byte_pixels(g, block)
        blocks = -(-g.out_channels // block)
        for tile, width in every:
            if width % workload.machine.lanes == 0:
                together = blocks_together(g.batch, blocks, block, whole // width)
                yield {"rows": tile.rows, "pixels": width, "blocks": together}, cycles * tile.time / best

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        return conv2d_byte_pixels(workload.operator, *tensors)

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        dot = DOTS[*workload.target.dot_dtypes, workload.machine.lanes, "words"]  # type: ignore[misc]
        pixels.panels(schedule, block, workload.machine, config["rows"], config["pixels"], config["blocks"], dot)


class ByteTiles(Implementation):
    """nn.contrib_dense_pack over a weight as NC16n4c."""

    name = "product.byte_tiles"
    about = "four products an instruction, a register tile of rows times vectors of columns"

    def why_not(self, workload: Workload) -> Failure | None:
        refusal = static(workload)
        if refusal is not None:
            return refusal
        lies = layouts.parse(getattr(workload.operator, "weight_layout", "NC"))
        if lies.factors.get("C") != PARTS:
            return Failure("the weight is in blocks of rows and fours of columns, as NC16n4c", lies.text)
        return _no_instruction(workload, lies.factors["N"])

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op: Any = workload.operator
        of = op.extents(*workload.types)
        columns = -(-of.columns // of.block) * of.block
        cycles = of.batch * of.rows * of.columns * of.inner / (2 * PARTS * of.block) / conv_times.BYTES
        for tile in product_tiles(workload.machine, of.rows, columns, of.block, of.inner // PARTS):
            yield {"vectors": tile.vectors, "rows": tile.rows, "lanes": of.block}, cycles * tile.time

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        dot = DOTS[*workload.target.dot_dtypes, config["lanes"], "bytes"]  # type: ignore[misc]
        matmul.product(
            schedule, block, workload.machine, config["vectors"], config["rows"], config["lanes"], dot
        )


def _in_fours(workload: Workload) -> Failure | None:
    """Why a convolution's weight does not lie in fours of inputs, its data otherwise, or there is no instruction."""
    op: Any = workload.operator
    lies = layouts.parse(op.kernel_layout)
    if lies.axes[-2:] != (("O", lies.factors.get("O")), ("I", PARTS)):
        return Failure("the weight is in blocks of output channels and fours of inputs, as OIHW16o4i", lies.text)
    if op.data_layout not in ("NCHW", "NHWC") or op.out_layout not in ("", op.data_layout) or op.groups != 1:
        found = f"{op.data_layout} and {op.out_layout or op.data_layout}, {op.groups} groups"
        return Failure("data and result lie as NCHW or NHWC, in one group of channels", found)
    return _no_instruction(workload, lies.factors["O"])


def _no_instruction(workload: Workload, block: int) -> Failure | None:
    """Why the target has no instruction for these operands in vectors of `block` numbers."""
    given = tuple(str(kind.dtype) for kind in workload.types)  # type: ignore[attr-defined]
    has = workload.target.dot_dtypes
    if has == given and (*given, block, "bytes") in DOTS and workload.operator.out_dtype == "int32":  # type: ignore[attr-defined]
        return None
    wanted = f"multiplies {' with '.join(has)}" if has else "multiplies bytes"
    return Failure(f"the target has an instruction that {wanted} in vectors of {block}", " with ".join(given))
