"""Lesson 14, how a convolution got fast: loads that a register tile saves, sums in registers, fewer multiplications."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import te
from ..checks import holds, legal, same_numbers, value_is
from ..exercise import Exercise
from ..machine_code import HotCode, hot_code
from ..work import Work

LANES, REGISTERS, TILE, TAPS = 8, 16, 4, 3


def layer(channels: int, filters: int, size: int) -> Any:
    """A convolution of 3 x 3 taps, data with zeros around them; weight and result lie in blocks of eight filters."""
    data = te.placeholder((channels, size + 2, size + 2), name="data")
    weight = te.placeholder((filters // LANES, channels, TAPS, TAPS, LANES), name="weight")
    c, i, j = (te.reduce_axis((0, extent), name=name) for extent, name in ((channels, "c"), (TAPS, "i"), (TAPS, "j")))
    conv = te.compute(
        (filters // LANES, size, size, LANES),
        lambda o, y, x, v: te.sum(data[c, y + i, x + j] * weight[o, c, i, j, v], axis=[c, i, j]),
        name="conv",
    )
    return te.create_prim_func([data, weight, conv])


def reference(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same in NumPy: one tap after the other."""
    size = data.shape[1] - 2
    windows = [[data[:, i : i + size, j : j + size] for j in range(TAPS)] for i in range(TAPS)]
    return np.einsum("ijcyx,ocijv->oyxv", np.asarray(windows), weight)


def fewest_loads(func: Any, shapes: Any) -> int:
    """Loads for a thousand multiply-adds, of the best tile whose sums fit the registers."""
    blocks, size = shapes["filters"] // LANES, shapes["size"]
    fitting = [
        (b, x)
        for b in range(1, blocks + 1)
        for x in range(1, size + 1)
        if blocks % b == 0 and size % x == 0 and b * x + b + 1 <= REGISTERS
    ]
    return round(min(1000 * (b + x) / (b * x) for b, x in fitting))


def products_by_tiles(func: Any, shapes: Any) -> int:
    """Multiplications between Winograd's transforms."""
    tiles = -(-shapes["size"] // TILE)
    return tiles * tiles * (TILE + TAPS - 1) ** 2 * int(shapes["channels"]) * int(shapes["filters"])


def _stores(code: HotCode) -> int:
    """Vectors that are stored beside the arithmetic."""
    moves = [line.split("#")[0] for line in code.lines if line.split(maxsplit=1)[0].startswith("vmov")]
    return sum(move.rstrip().endswith(")") for move in moves)


def _sums_stay(work: Work) -> Any:
    code = hot_code(work.function)
    if code.lanes < LANES:
        return f"{code.source}: its arithmetic works on {code.lanes or 'no'} lane{'s' * (code.lanes != 1)} at once"
    if code.multiply_adds < LANES:
        return f"{code.multiply_adds} multiply-adds beside each other; eight keep the processor busy"
    through_memory = _stores(code) + code.spills
    if LANES * through_memory > code.multiply_adds:  # one that LLVM puts aside among many is no matter
        return f"{through_memory} instructions bring sums to memory or back, beside {code.multiply_adds} multiply-adds"
    return True


EXERCISES = (
    Exercise(
        id="14_1",
        title="The tile that loads least",
        goal="Weights lie in blocks of eight filters, a vector each. A tile of b blocks and x columns loads b vectors "
        "of weights and x numbers of the data for its b * x multiply-adds; its sums, the b vectors and one number must "
        "fit into 16 registers. b divides the blocks of `filters`, x divides `size`. How many loads for 1000 "
        "multiply-adds does the best tile need, rounded?",
        start=layer,
        shapes={"channels": (8, 16), "filters": (32, 48, 64), "size": (12, 20, 28)},
        answer="value",
        checks=(value_is(fewest_loads, "loads for 1000 multiply-adds"),),
        hints={
            "loads for 1000 multiply-adds": (
                "1000 * (b + x) / (b * x) is small where b and x are large and alike; b * x + b + 1 is at most 16.",
                'print(teach.task("14_1").shapes)  # try every b and x: two loops and a min',
            )
        },
    ),
    Exercise(
        id="14_2",
        title="Sums that stay",
        goal="Make a register tile of the layer: at least eight multiply-adds of eight lanes beside each other, whose "
        "sums go to memory once, when they are complete.",
        start=layer,
        shapes={"channels": (8, 12), "filters": (16, 32), "size": (8, 16)},
        checks=(same_numbers(reference), legal(), holds("eight sums in registers", _sums_stay, points=4)),
        template='    o, y, x, v, c, i, j = sch.get_loops("conv")\n    # your steps\n    return sch',
        hints={
            "eight sums in registers": (
                "A copy in scope \"local\" that is computed at a tile of the result holds its sums; its loops over the "
                "tile are inside of those that reduce, unrolled.",
                'copy = sch.cache_write(sch.get_block("conv"), 0, "local"), whose loops are split and vectorized; then '
                "compute_at, reorder, unroll and decompose_reduction of conv",
            )
        },
    ),
    Exercise(
        id="14_3",
        title="Fewer multiplications",
        goal="Winograd's tiles of 4 x 4 outputs take 6 x 6 products, where 3 x 3 taps take 16 * 9. How many products "
        "does the whole layer take so, `channels` to `filters` on `size` x `size` outputs?",
        start=layer,
        shapes={"channels": (8, 16), "filters": (16, 24), "size": (12, 20, 14)},
        answer="value",
        checks=(value_is(products_by_tiles, "the number of products"),),
        hints={
            "the number of products": (
                "Tiles cover the picture, the last ones perhaps more than it; each takes its products for every pair "
                "of a channel and a filter.",
                'print(teach.task("14_3").shapes)  # tiles down * tiles across * 36 * channels * filters',
            )
        },
    ),
)
