"""Register tiles: they fit, divide what they cover where they can, and are found at once."""

from __future__ import annotations

import pytest

from workbench.lower.implementations import register_tiles
from workbench.lower.implementations.conv2d import CHANNELS, TASKS, blocks_together, filled_width
from workbench.lower.implementations.register_tiles import (
    Tile,
    channel_tiles,
    column_tiles,
    crowded,
    pixel_tiles,
    product_tiles,
)
from workbench.schedule.rules.shapes import Machine

MACHINES = ((16, 32), (8, 16), (4, 32), (4, 16))


@pytest.mark.parametrize("inner", (8, 4096))
@pytest.mark.parametrize(("rows", "columns"), ((256, 1024), (7, 64), (1, 512), (127, 96), (100, 20)))
def test_tiles_of_products_fit_and_leave_no_remainder_where_they_can(rows: int, columns: int, inner: int) -> None:
    for lanes, registers in MACHINES[:3]:
        best = min(product_tiles(Machine(lanes, registers), rows, columns, lanes, inner))
        assert best.vectors * best.rows <= registers - 2
        if any(rows % some == 0 for some in (4, 5, 6, 7, 8)):
            assert rows % best.rows == 0


@pytest.mark.parametrize("rows", (1, 2, 3))
def test_a_product_of_few_rows_keeps_enough_sums_busy(rows: int) -> None:
    """Its weight is read once, so that narrow tiles, whose part would stay in the nearest cache, save nothing."""
    best = min(product_tiles(Machine(16, 32), rows, 1024, 16, 256))
    assert best.rows == rows and best.vectors * best.rows >= 8


def test_tiles_of_channels_divide_and_never_exceed_the_registers() -> None:
    for lanes, registers in (MACHINES[0], MACHINES[1], MACHINES[3]):
        for blocks in range(1, 40):
            for columns in range(1, 120):
                for tile in channel_tiles(Machine(lanes, registers), blocks, columns):
                    assert blocks % tile.vectors == 0 and columns % tile.rows == 0
                    assert tile.vectors * tile.rows <= registers - 2


def test_tiles_of_pixels_fit_the_registers() -> None:
    for lanes, registers in MACHINES:
        for block in (4, 8, 16):
            for pixels in (32, 64, 224, 800, 3040, 3136):
                for tile, width in pixel_tiles(Machine(lanes, registers), block, pixels):
                    assert block % tile.rows == 0 and pixels % width == 0 and width > 1
                    assert tile.vectors == -(-width // lanes)
                    assert tile.vectors in (1, 2, 4, 8, 16, 32), "LLVM takes other numbers of registers apart"
                    assert tile.rows * tile.vectors + tile.vectors + 1 < registers


def test_tiles_of_columns_fit_the_registers_and_divide_the_channels() -> None:
    for lanes, registers in MACHINES:
        for channels in (1, 3, 8, 33, 64, 97):
            for most in (1, 2, 7, 50):
                for tile in column_tiles(Machine(lanes, registers), channels, (3, 3), 256, most):
                    assert channels % tile.rows == 0 and tile.vectors <= most and tile.time >= 1.0
                    assert tile.rows * tile.vectors <= registers - 2 or (tile.rows, tile.vectors) == (1, 1)


@pytest.mark.parametrize(
    ("channels", "taps", "better"),
    [(480, 1, (1, 14)), (1024, 1, (2, 7)), (512, 1, (2, 7)), (256, 9, (2, 7))],
    ids=["few bytes in common", "each pixel of one set", "of two sets", "nine taps"],
)
def test_pixels_that_meet_in_few_sets_take_narrow_tiles(channels: int, taps: int, better: tuple[int, int]) -> None:
    """Measured with 48 KiB of twelve ways: 1 x 14 of 1024 channels took 664 microseconds, 2 x 7 404."""
    machine = Machine(16, 32, 48 * 1024, 1024 * 1024)
    wide = 3 if taps == 9 else 1
    times = {
        (tile.vectors, tile.rows): crowded(
            machine, tile, 4 * channels, wide * (2 * tile.rows + 1) if wide > 1 else tile.rows, taps
        )
        for tile in (Tile(1.15, 1, 14), Tile(1.2, 2, 7))
    }
    assert min(times, key=lambda tile: times[tile]) == better


def test_tiles_of_large_pictures_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = 3000 * 2000
    known = {8: [1, 2, 4, 8]}
    monkeypatch.setattr(register_tiles, "divisors", lambda number: known.get(number) or pytest.fail("of pixels"))
    best, width = min(pixel_tiles(Machine(8, 16), 8, pixels), key=lambda pair: pair[0].time)
    assert (best.rows, width) == (4, 16)


@pytest.mark.parametrize("block", [4, 8, 16])
def test_a_copy_serves_as_many_channels_as_leave_work_for_threads(block: int) -> None:
    for pixels in (32, 64, 192, 800, 3136):
        for channels in (block, 24, 64, 96, 512, 2048):
            blocks, panels = -(-channels // block), -(-pixels // 32)
            together = blocks_together(1, blocks, block, panels)
            assert blocks % together == 0
            fewer = [count for count in range(1, together) if blocks % count == 0 and count * block >= CHANNELS]
            assert panels * (blocks // together) >= TASKS or not fewer, "more parts could be made"


def test_widths_are_filled_up_least() -> None:
    widths = (1, 7, 8, 9, 11, 14, 17, 28, 56, 113)
    assert [filled_width(width) for width in widths] == [1, 7, 8, 10, 12, 14, 18, 28, 56, 114]
