"""Lesson 08, memory and tiles: walking along rows, a transposition, a footprint, a product in a small cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import te
from ...analysis.footprint import footprints
from ...schedule.schedule import Schedule
from ..cache_checks import CACHE, misses_at_most
from ..checks import at_most_steps, legal, same_numbers, value_is
from ..exercise import Exercise
from .lesson_06 import matmul


def column_sums(n: int, m: int) -> Any:
    """B[j] is the sum of column j of A."""
    a = te.placeholder((n, m), name="A")
    r = te.reduce_axis((0, n), name="i")
    return te.create_prim_func([a, te.compute((m,), lambda j: te.sum(a[r, j], axis=r), name="B")])


def transposed(n: int, m: int) -> Any:
    """B = transpose of A"""
    a = te.placeholder((n, m), name="A")
    return te.create_prim_func([a, te.compute((m, n), lambda j, i: a[i, j], name="B")])


def tiled_product(n: int, m: int, k: int) -> Any:
    """The product, its loops i and j in tiles of 8 x 16."""
    sch = Schedule(matmul(n, m, k))
    i, j, r = sch.get_loops("C")
    rows, row = sch.split(i, factors=[None, 8])
    columns, column = sch.split(j, factors=[None, 16])
    sch.reorder(rows, columns, r, row, column)
    return sch.func


def bytes_of_the_tile(func: Any, shapes: Any) -> int:
    """What the loop k touches while it runs once."""
    return footprints(func, caches=[CACHE])["k"].bytes


EXERCISES = (
    Exercise(
        id="08_1",
        title="Along the rows",
        goal="The sums of the columns of A, computed column by column: each step jumps a whole row ahead. Make it "
        "miss the cache "
        "as seldom as possible: every line of A and B is fetched about once. One step.",
        start=column_sums,
        shapes={"n": (48, 40, 56), "m": (64, 48, 80)},
        checks=(
            same_numbers(lambda a: a.sum(0)),
            legal(),
            at_most_steps(1),
            misses_at_most(lambda s: int(1.2 * (s["n"] * s["m"] + s["m"]) / 16), block="B"),
        ),
        template='    j, i = sch.get_loops("B")\n    # one step\n    return sch',
    ),
    Exercise(
        id="08_2",
        title="Both ways at once",
        goal="A transposition reads along rows and writes along columns, or the other way round: one of the two "
        "always jumps. "
        "Unless it is done in tiles. At most twice the least possible number of misses.",
        start=transposed,
        shapes={"n": (48, 40, 56), "m": (48, 56, 40)},
        checks=(
            same_numbers(np.transpose),
            legal(),
            misses_at_most(lambda s: 2 * (2 * s["n"] * s["m"]) // 16, block="B", points=3),
        ),
        template='    j, i = sch.get_loops("B")\n    # your steps\n    return sch',
    ),
    Exercise(
        id="08_3",
        title="What a tile touches",
        goal="The product in tiles of 8 rows and 16 columns. How many bytes does the loop `k` touch while it runs "
        "once, from its first "
        "iteration to its last? (float32; count A, B and C by hand, then compare.)",
        start=tiled_product,
        shapes={"n": (32, 24, 40), "m": (32, 48, 64), "k": (32, 24, 40)},
        answer="value",
        checks=(value_is(bytes_of_the_tile, "the bytes of the tile"),),
        hints={
            "the bytes of the tile": (
                "A tile of C, the rows of A that it needs, the columns of B that it needs; four bytes each.",
                'print(wb.analysis.footprints(teach.task("08_3").program))',
            )
        },
    ),
    Exercise(
        id="08_4",
        title="A product in two kilobytes",
        goal="Tile the matrix product so that it misses a cache of 2,048 bytes at most n m k / 4 times. Ask which "
        "load misses most, "
        "and how much a tile touches.",
        start=matmul,
        shapes={"n": (32, 24, 40), "m": (32, 48, 64), "k": (32, 24, 40)},
        checks=(
            same_numbers(lambda a, b: a @ b),
            legal(),
            misses_at_most(lambda s: s["n"] * s["m"] * s["k"] // 4, block="C", points=4),
        ),
        template='    i, j, k = sch.get_loops("C")\n    # your steps\n    return sch',
    ),
)
