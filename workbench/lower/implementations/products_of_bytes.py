"""Convolutions and products of bytes by an instruction that adds four products to each number of a vector.

The weight lies in blocks of output channels and fours of inputs (`topi.packing_bytes`); a register tile is as for
floats, its vectors hold sums in int32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.rewrite import Failure
from ...schedule.rules import conv, matmul
from ...schedule.schedule import Schedule
from ...tir.tensor_intrin.dots import DOTS, PARTS
from ...topi import conv_times
from ...topi import layout as layouts
from ...topi.compute_conv import conv2d_bytes
from ..implementation import Config, Implementation, Workload, static
from .conv2d import filled_width
from .register_tiles import channel_tiles, product_tiles


class ConvolutionTiles(Implementation):
    """Over data NCHW, which are copied, or NHWC."""

    name = "conv2d.bytes"
    about = "four products an instruction, a register tile of blocks of output channels times columns"

    def why_not(self, workload: Workload) -> Failure | None:
        refusal = static(workload)
        if refusal is not None:
            return refusal
        op: Any = workload.operator
        lies = layouts.parse(op.kernel_layout)
        if lies.axes[-2:] != (("O", lies.factors.get("O")), ("I", PARTS)):
            return Failure("the weight is in blocks of output channels and fours of inputs, as OIHW16o4i", lies.text)
        if op.data_layout not in ("NCHW", "NHWC") or op.out_layout not in ("", op.data_layout) or op.groups != 1:
            found = f"{op.data_layout} and {op.out_layout or op.data_layout}, {op.groups} groups"
            return Failure("data and result lie as NCHW or NHWC, in one group of channels", found)
        return _no_instruction(workload, lies.factors["O"])

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        op: Any = workload.operator
        g, machine = op.geometry(*workload.shapes), workload.machine
        block, width = layouts.parse(op.kernel_layout).factors["O"], filled_width(g.out_width)
        panel = block * g.in_channels * g.kernel[0] * g.kernel[1]
        pointwise = op.data_layout == "NHWC" and g.kernel == (1, 1)
        every = list(channel_tiles(machine, -(-g.out_channels // block), width, panel, pointwise))
        best = min(tile.time for tile in every)
        cycles = conv_times.of_bytes(op, g, block)
        for tile in every:
            config = {"blocks": tile.vectors, "columns": tile.rows, "width": width}
            yield config, cycles * tile.time / best

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        return conv2d_bytes(workload.operator, *tensors, width=config["width"])

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        of = layouts.parse(workload.operator.kernel_layout).factors["O"]  # type: ignore[attr-defined]
        dot = DOTS[*workload.target.dot_dtypes, of]  # type: ignore[misc]
        conv.packed(schedule, block, workload.machine, config["blocks"], config["columns"], False, dot)


class ProductTiles(Implementation):
    """nn.contrib_dense_pack over a weight as NC16n4c."""

    name = "product.bytes"
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
        dot = DOTS[*workload.target.dot_dtypes, config["lanes"]]  # type: ignore[misc]
        matmul.product(
            schedule, block, workload.machine, config["vectors"], config["rows"], config["lanes"], dot
        )


def _no_instruction(workload: Workload, block: int) -> Failure | None:
    """Why the target has no instruction for these operands in vectors of `block` numbers."""
    given = tuple(str(kind.dtype) for kind in workload.types)  # type: ignore[attr-defined]
    has = workload.target.dot_dtypes
    if has == given and (*given, block) in DOTS and workload.operator.out_dtype == "int32":  # type: ignore[attr-defined]
        return None
    wanted = f"multiplies {' with '.join(has)}" if has else "multiplies bytes"
    return Failure(f"the target has an instruction that {wanted} in vectors of {block}", " with ".join(given))
