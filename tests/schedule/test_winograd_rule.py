"""The default schedule of Winograd's convolutions: the numbers stay, stages meet in one loop or stand by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nightly import some
from tests.schedule.implemented import NARROW, WIDE, Made, implemented, scheduled
from tests.schedule.test_rules import check_numbers_stay
from workbench import te
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.lower.implementations.winograd import rows_together
from workbench.schedule import Schedule
from workbench.schedule.rules.shapes import Machine
from workbench.target import Target
from workbench.topi.nn_winograd import WinogradConv2D


def tiles(
    ci: int, co: int, size: Any, tile: int = 2, layout: str = "NCHW", lanes: int = 8, padding: int = 1, taps: int = 3
) -> Made:
    """A convolution with a sum and a relu after it; its weight in blocks of `lanes` (0: in none)."""
    shape = (1, ci, size, size) if layout == "NCHW" else (1, size, size, ci)
    a = tile + taps - 1
    x = te.placeholder(shape, name="X")
    w = te.placeholder((a, a, -(-co // lanes), ci, lanes) if lanes else (a, a, co, ci), name="W")
    op = WinogradConv2D(
        tile_size=tile, padding=(padding,) * 4, channels=co, data_layout=layout,
        kernel_layout=f"HWOI{lanes}o" if lanes else "HWOI",
    )  # fmt: skip

    def behind(conv: te.Tensor) -> Any:
        other = te.placeholder(conv.shape, name="other")
        return [other], te.compute(conv.shape, lambda *i: build.maximum(conv(*i) + other(*i), 0.0), name="relu")

    return implemented(op, [x, w], behind)


CASES = {
    "pictures one behind the other": tiles(8, 16, 6),
    "channels last": tiles(8, 16, 6, layout="NHWC"),
    "ragged": tiles(8, 8, 7, 4, "NHWC"),
    "filled up": tiles(8, 12, 5),
    "nothing around": tiles(8, 8, 6, 4, "NHWC", padding=0),
    "short vectors": tiles(12, 8, 4, 2, "NHWC"),
    "five taps": tiles(8, 8, 6, 2, padding=2, taps=5),
    "odd channels": tiles(3, 8, 4),
    "no blocks": tiles(8, 8, 4, lanes=0),
}


@pytest.mark.parametrize("target", (WIDE, NARROW), ids=("wide", "narrow"))
@pytest.mark.parametrize("name", some(CASES, 3))
def test_the_numbers_stay(name: str, target: Target) -> None:
    check_numbers_stay(CASES[name], target)


def loops(sch: Schedule, block: str) -> list[tuple[str, Any]]:
    """(kind, extent) around a block."""
    return [(loop.kind.name, getattr(loop.extent, "value", None)) for loop in sch.state.tree.blocks[block].loops]


def test_a_large_picture_of_few_channels_has_its_stages_in_one_loop() -> None:
    sch = scheduled(tiles(16, 16, 112, 4, "NHWC"), NARROW)
    outer = {id(sch.state.tree.blocks[name].loops[0]) for name in ("data_pad", "data_tile", "conv2d_winograd", "relu")}
    assert len(outer) == 1
    assert loops(sch, "relu")[0][0] == "PARALLEL"


def test_a_small_picture_of_many_channels_has_each_stage_by_itself() -> None:
    """So that the weights, which are much more than the data, are read once."""
    sch = scheduled(tiles(128, 128, 14, 4, "NHWC"), NARROW)
    outer = [loops(sch, name)[0] for name in ("data_tile", "conv2d_winograd", "relu")]
    assert [kind for kind, _ in outer] == ["PARALLEL"] * 3
    assert len({id(sch.state.tree.blocks[name].loops[0]) for name in ("data_tile", "conv2d_winograd", "relu")}) == 3


def test_products_lie_in_registers_and_matrices_are_written_out() -> None:
    sch = scheduled(tiles(64, 64, 56, 4, "NHWC"), NARROW)
    kinds = [kind for kind, _ in loops(sch, "conv2d_winograd")]
    assert kinds[-1] == "VECTORIZED" and "SERIAL" in kinds
    sums = 1
    for kind, extent in loops(sch, "conv2d_winograd_init"):
        sums *= extent if kind == "UNROLLED" else 1
    assert 6 <= sums <= 14, "of 16 registers"
    for name, count in (("data_rows", 6), ("data_tile", 6), ("output_rows", 4)):
        assert ("UNROLLED", count) in loops(sch, name), name


@pytest.mark.parametrize(
    ("tiles_high", "channels", "rows"), [(14, 64, 2), (7, 128, 0), (4, 512, 0), (56, 16, 4), (56, 64, 1)]
)
def test_rows_together_bring_fewer_bytes(tiles_high: int, channels: int, rows: int) -> None:
    """A picture of 56 x 56 pixels and 64 channels, of 28 x 28 and 128, of 14 x 14 and 512, of 224 x 224."""
    machine = Machine(8, 16, second=1024 * 1024)
    assert rows_together(machine, tiles_high, tiles_high, 36, channels, channels) == rows


def test_symbolic_extents_are_scheduled_block_by_block() -> None:
    sch = scheduled(tiles(8, 8, Var("n"), 2), NARROW)
    assert len({id(site.loops[0]) for site in sch.state.tree.leaves}) > 2
