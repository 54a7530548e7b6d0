"""Register tiles: which fit, and what time each takes by a model of what a core does in a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Final, NamedTuple

from ...schedule.rules.shapes import LINE, Machine, divisors

REMAINDER: Final = 1.5
"""Time of tiles each of whose rows asks whether it is inside, of those that need not ask."""
IN_FLIGHT: Final = 8
"""Sums that two multiply-adds a cycle, each of which takes four, keep busy."""
LOADS: Final = 1.12
"""Time of loads that keep both ports busy, of what two in a cycle would take."""
LAST_BLOCKS: Final = 1.05
"""The same of tiles each of whose vectors asks so, all rows of which are inside."""
MOST_BLOCKS: Final = 4
"""Blocks of output channels in a tile, at most."""
PAGE: Final = 4096
"""Bytes after which numbers are of the same set of the nearest cache again."""
FEW_SETS: Final = 4
"""Sets that pixels share where loads of one bank meet."""
BANKS: Final = 1.4
"""Loads that one of them counts for."""
MOST_VECTORS: Final = 8
"""Vectors along a row in a tile, at most."""
VECTORS: Final = (1, 2, 3, 4, 6, 8)
"""Vectors of columns of a product's tile that are tried."""


class Tile(NamedTuple):
    """A register tile, and its time of what its multiply-adds take at best."""

    time: float
    vectors: int
    """Vectors side by side: blocks of channels, vectors of columns or of pixels."""
    rows: int
    """Sums of each: columns of a picture, rows of a product, output channels."""


def in_registers(machine: Machine, vectors: int, rows: int, ahead: bool = True) -> bool:
    """Whether a tile's sums stay in registers beside what is multiplied next.

    LLVM loads ahead: the `vectors`, half of the numbers, and where several taps are written out one after the other
    (`ahead`) some of the next.  Measured on kernels of 512 bits by counting what goes through memory.
    """
    spare = machine.registers // 8
    taken = vectors * rows + vectors + rows // 2 + 1
    return taken <= (machine.registers - spare if ahead else machine.registers + spare)


def tile_time(machine: Machine, vectors: int, rows: int, used: int, scattered: bool = False) -> float:
    """Time of a multiply-add of vectors in a register tile, of what it takes at best: the slowest of five.

    - the multiply-adds: two start in a cycle;
    - the sums: each waits four cycles for the one before;
    - the loads, nearly two in a cycle: `vectors` of the one operand and `rows` numbers of the other for their product;
    - the vectors that come from beyond the first cache, 48 bytes a cycle: each is `used` so many times before it has to
      come again (0: it stays);
    - where the numbers of a step lie a page or so away from those of the last (`scattered`): four cycles a step.

    What is not slowest still counts a little: loads and multiply-adds do not always meet.  Measured on the 77 distinct
    convolutions of five networks, vectors of 512 bits.
    """
    together = vectors * rows
    loads = LOADS * (vectors + rows) / together
    stream = machine.lanes / 6 / used if used else 0.0
    apart = 8 / together if scattered else 0.0
    return max(1.0, IN_FLIGHT / together, loads, stream, apart) + 0.1 * (loads + stream + apart)


def channel_tiles(
    machine: Machine,
    blocks: int,
    width: int,
    panel: int = 0,
    scattered: bool = False,
    wide: int = 1,
    ahead: bool = True,
) -> Iterator[Tile]:
    """Tiles of blocks of channels times columns that divide both: one block of one column where nothing fits.

    `panel`: bytes of the weights of one block of channels, read once in each tile.  `scattered`: one tap a channel of
    pictures apart, so that each step reads of another one.  `wide`: vectors of a block.  `ahead`: see `in_registers`.
    """
    found = False
    dividing = [columns for columns in range(1, min(width, machine.registers) + 1) if width % columns == 0]
    for vectors in (count for count in range(1, min(blocks, MOST_BLOCKS) + 1) if blocks % count == 0):
        for columns in dividing:
            if in_registers(machine, vectors * wide, columns, ahead):
                used = columns if 2 * vectors * panel > machine.nearest else 0
                yield Tile(tile_time(machine, vectors * wide, columns, used, scattered), vectors, columns)
                found = True
    if not found:
        yield Tile(float(IN_FLIGHT), 1, 1)


def crowded(machine: Machine, tile: Tile, pitch: int, lines: int, taps: int) -> float:
    """Time of a tile of pixels NHWC, of what it takes where its pixels stay in the nearest cache from step to step.

    A step reads one number of each of `lines` pixels for `taps` taps; they are `pitch` bytes apart: of few sets of the
    cache where that is a large power of two.  Those that do not stay are fetched anew in each step, in two
    cycles; and loads of one bank wait for each other, so that each of the tile's rows counts as 1.4 loads.
    """
    reached = max(1, min(PAGE // LINE, PAGE // gcd(pitch, PAGE)))
    together = tile.vectors * tile.rows
    loads = (tile.vectors + BANKS * tile.rows) / together if reached <= FEW_SETS else 0.0
    fetched = 4 * lines / (together * taps) if lines > reached * (machine.nearest // PAGE) else 0.0
    return max(tile.time, loads) + fetched


def product_tiles(machine: Machine, rows: int, columns: int, lanes: int, inner: int) -> Iterator[Tile]:
    """Tiles of vectors of `lanes` columns times rows; what they compute beyond the product counts."""
    blocks = -(-columns // lanes)
    for vectors in VECTORS:
        if vectors > blocks:
            break
        panel = vectors * lanes * inner * 4
        for height in range(1, rows + 1):
            if not in_registers(machine, vectors, height, ahead=False):
                break
            waste = (-(-blocks // vectors) * vectors * -(-rows // height) * height) / (blocks * rows)
            waste *= REMAINDER if rows % height else LAST_BLOCKS if blocks % vectors else 1.0
            used = height if 2 * panel > machine.nearest else rows
            yield Tile(waste * tile_time(machine, vectors, height, used), vectors, height)


def pixel_tiles(machine: Machine, block: int, pixels: int, column: int = 0) -> Iterator[tuple[Tile, int]]:
    """Tiles of pixels times output channels, the narrowest first, each with its width in pixels.

    `column`: bytes of all that is read of one pixel; a panel of them is read once for each row of tiles.
    """
    step = min(machine.lanes, block) if block & (block - 1) == 0 else gcd(machine.lanes, 2 * block)
    widths = [width for width in range(step, machine.lanes * machine.registers, step) if pixels % width == 0]
    for width in widths:
        vectors = -(-width // machine.lanes)
        if vectors & (vectors - 1):
            continue  # LLVM takes vectors of three or five registers apart, number by number
        for rows in divisors(block):
            if rows * vectors + vectors + 1 >= machine.registers:
                break
            used = rows if 2 * width * column > machine.nearest else 0
            time = tile_time(machine, vectors, rows, used) * vectors * machine.lanes / width
            yield Tile(time, vectors, rows), width


def column_tiles(
    machine: Machine, channels: int, kernel: tuple[int, int], pixel: int, most: int
) -> Iterator[Tile]:
    """Tiles of output channels that divide `channels`, times up to `most` vectors along a row.

    `pixel`: bytes of all channels of one pixel of the data.  A vector is read for each of the taps of a row (`kernel`),
    across two lines of the cache for most of them, which is twice as slow.
    """
    high, wide = kernel
    found = False
    for together in range(1, min(most, MOST_VECTORS) + 1):
        read = pixel * high * (together * machine.lanes + wide - 1)
        for rows in divisors(channels):
            if not in_registers(machine, together, rows):
                break
            many = together * rows
            loads = (2 * together + rows) / many
            stream = machine.lanes * 4 / 8 / rows / wide if 2 * read > machine.nearest else 0.0
            apart = 16 / (many * wide)
            time = max(1.0, IN_FLIGHT / many, loads, stream, apart) + 0.1 * (loads + stream + apart)
            yield Tile(time, together, rows)
            found = True
    if not found:
        yield Tile(float(IN_FLIGHT), 1, 1)
