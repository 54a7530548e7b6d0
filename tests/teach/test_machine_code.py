"""Reading the assembly of the hot statement: lanes, multiply-adds, spills, vectors that are put together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

import workbench as wb
from workbench.schedule import Schedule
from workbench.teach.course.lesson_06 import matmul
from workbench.teach.course.lesson_13 import dot_products, row_by_row
from workbench.teach.machine_code import TARGET, HotCode, hot_code


def test_a_carried_sum_is_a_chain_of_single_multiply_adds() -> None:
    code = hot_code(matmul(16, 64, 256))
    assert (code.lanes, code.spills, code.gathered) == (1, 0, 0) and code.multiply_adds > 0
    assert code.source.startswith("C[i * 64 + j] = C[i * 64 + j] + A[")
    assert "multiply and add" in str(code) and "lanes" not in str(code)


@pytest.mark.parametrize(("width", "sums"), [(64, 8), (120, 15)])
def test_rows_that_fit_are_vectors_in_registers(width: int, sums: int) -> None:
    code = hot_code(row_by_row(16, width, 256))
    assert (code.lanes, code.multiply_adds, code.spills) == (8, sums, 0)
    assert "multiply and add, 8 lanes" in str(code)


def test_rows_that_do_not_fit_are_spilled() -> None:
    code = hot_code(row_by_row(16, 256, 256))
    assert code.lanes == 8 and code.spills > 0
    assert "the stack: registers do not suffice" in str(code)
    assert str(code).splitlines()[-1].strip().endswith(" more")


def test_vectors_of_numbers_that_lie_apart_are_put_together() -> None:
    sch = Schedule(dot_products(64, 64, 256))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    code = hot_code(sch)
    assert code.lanes == 8 and code.gathered >= code.multiply_adds
    assert "put lanes together" in str(code)


@pytest.mark.parametrize(
    ("line", "means"),
    [
        ("vmovups %ymm1, 32(%rax)", "store, 8 lanes"),
        ("vmovss 4(%rax), %xmm1", "load"),
        ("vmovaps %ymm1, %ymm2", "copy, 8 lanes"),
        ("vmovups %ymm1, 32(%rsp) # 32-byte Spill", "the stack: registers do not suffice"),
        ("vfmadd231ss %xmm0, %xmm1, %xmm2", "multiply and add"),
        ("vaddps %zmm0, %zmm1, %zmm2", "a sum, 16 lanes"),
        ("incq %r9", ""),
    ],
)
def test_what_an_instruction_is_said_to_do(line: str, means: str) -> None:
    _, row = str(HotCode("C[i] = 0", (line,), 0)).split("\n")
    assert row[56:].strip() == means


@pytest.mark.parametrize("program", [matmul(16, 64, 256), row_by_row(16, 64, 256)], ids=["carried", "rows"])
def test_instructions_of_other_statements_between_them_are_marked(program: Any) -> None:
    """Between two gaps the lines stand beside each other in the assembly; across a gap they do not."""
    code = hot_code(program)
    bounds = [0, *sorted(code.gaps), len(code.lines)]
    runs = [code.lines[begin:end] for begin, end in pairwise(bounds)]
    assembly = wb.open(program, target=TARGET).provenance.text("main", "asm").splitlines()
    rows = [" ".join(row.split()) for row in assembly if row.startswith("\t") and not row.lstrip().startswith(".")]

    def beside(lines: Sequence[str]) -> bool:
        return any(rows[place : place + len(lines)] == list(lines) for place in range(len(rows)))

    assert code.gaps and all(map(beside, runs)) and not any(beside([*one, *two]) for one, two in pairwise(runs))
    shown = [row.strip() for row in str(code).splitlines()[1:]]
    assert [place for place, row in enumerate(shown) if row == "..."] == sorted(code.gaps)


def test_a_program_without_arithmetic_has_no_lanes() -> None:
    made: Any = HotCode("C[i] = A[i]", ("vmovups (%rax), %ymm0", "vmovups %ymm0, (%rcx)"), 0)
    assert made.lanes == 0 and made.multiply_adds == 0
