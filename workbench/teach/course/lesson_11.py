"""Lesson 11, a product near the peak: how tall a tile may be, and sums that stay in registers."""

from __future__ import annotations

from typing import Any

from ...analysis.registers import register_use
from ..cache_checks import TARGET
from ..checks import holds, legal, same_numbers, value_is
from ..exercise import Exercise
from ..loop_checks import vectorized
from ..work import Work
from .lesson_06 import matmul


def tallest_tile(func: Any, shapes: Any) -> int:
    """Rows r for which r v sums, a row of v vectors of B and one of A fit in the registers."""
    return (shapes["registers"] - 1 - shapes["vectors"]) // shapes["vectors"]


def _product_of(registers: int, vectors: int) -> Any:
    """The product that is spoken of; its extents do not matter."""
    return matmul(8 * vectors, registers, 4)


def sums_in_registers(count: int) -> Any:
    """At least so many vector sums are kept while one innermost loop runs, and nothing is spilled."""

    def test(work: Work) -> Any:
        uses = register_use(work.function, TARGET)
        most = max(uses, key=lambda use: use.accumulators)
        if most.accumulators < count:
            return f"the loop {most.loop} keeps {most.accumulators} sums in registers; wanted are {count}"
        if most.spills:
            return f"the loop {most.loop} needs {most.total} registers of {most.available}: some are spilled"
        return True

    return test


EXERCISES = (
    Exercise(
        id="11_1",
        title="How tall may the tile be?",
        goal="A tile of r rows and v vectors keeps r v sums in registers; beside them stand v vectors of a row of B "
        "and one number of A, "
        "repeated. What is the greatest r for the v (`vectors`) and the number of registers in your shapes?",
        start=_product_of,
        shapes={"registers": (16, 32), "vectors": (2, 3, 4)},
        answer="value",
        checks=(value_is(tallest_tile, "the rows of the tile"),),
        hints={
            "the rows of the tile": (
                "Count: r v + v + 1 registers, and no more than there are.",
                'print(teach.task("11_1").shapes)  # then solve r v + v + 1 <= registers',
            )
        },
    ),
    Exercise(
        id="11_2",
        title="Eight sums in registers",
        goal="For a processor with 16 registers of eight numbers: let the innermost loop of `C` be a vector of 8, "
        "and keep at least eight vector "
        "sums in registers while `k` runs, without spilling any. (`cache_write` to `local`, tiles of 4 rows by 16 "
        "columns, `compute_at`, "
        '`decompose_reduction`, `unroll`; `wb.analysis.register_use(sch, "llvm -mcpu=x86-64-v3")` counts.)',
        start=matmul,
        shapes={"n": (24, 16, 32), "m": (32, 48), "k": (16, 24, 12)},
        checks=(
            same_numbers(lambda a, b: a @ b),
            legal(),
            vectorized("C", lanes=8, points=2),
            holds("eight sums stay in registers", sums_in_registers(8), points=3),
        ),
        hints={
            "eight sums stay in registers": (
                "Sums stay in registers where every element of the tile of C is one by name: the loops inside `k` "
                "unrolled or a vector, "
                "and C a small local array that is filled inside of one tile.",
                'copy = sch.cache_write("C", 0, "local")\n# split both loops of the copy, reorder, compute_at("C", '
                "...), and so on: `tiled` above",
            )
        },
    ),
)
