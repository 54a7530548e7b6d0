"""annotate_buffer_access: golden, what it makes illegal, machine code, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_matmul
from workbench.schedule import Schedule


def rows(sch: Schedule) -> Any:
    return sch.annotate_buffer_access("C", 0, "read", lambda i, j, k: ((i, i + 1), (0, 5)))


def test_wider(golden: Golden) -> None:
    check_steps(golden, p.matmul, rows)


def test_one_index_an_axis(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.annotate_buffer_access("two", 0, "read", lambda i, j: (i, j)))


def test_writes_as_they_are() -> None:
    sch = Schedule(p.matmul())
    sch.annotate_buffer_access("D", 0, "write", lambda i, j: ((i, i + 1), (j, j + 1)))
    assert sch.get(sch.get_block("D")).annotations["explicit_write_region"] == (0,)


def test_what_is_declared_counts() -> None:
    """D reads one element of C; declared to read its whole row, it can no longer follow C under a loop of columns."""
    plain, wide = Schedule(p.matmul()), Schedule(p.matmul())
    wide.annotate_buffer_access("D", 0, "read", lambda i, j: ((i, i + 1), (0, 6)))
    for sch, legal in ((plain, True), (wide, False)):
        refusal = sch.why_not("reverse_compute_at", sch.get_block("D"), sch.get_loops("C")[1])
        assert (refusal is None) is legal


def test_machine_code_agrees_with_numpy() -> None:
    check_matmul(lambda sch: sch.annotate_buffer_access("C", 0, "read", lambda i, j, k: ((i, i + 1), (0, 9))))


def attempt(buffer: int, kind: str, ranges: Any) -> Any:
    return lambda sch: sch.annotate_buffer_access("D", buffer, kind, ranges)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "rank of the block": (p.matmul, attempt(0, "read", lambda i: (i, i)), "E-SCHEDULE-MAP-RANK"),
    "rank of the buffer": (p.matmul, attempt(0, "read", lambda i, j: (i, j, j)), "E-SCHEDULE-MAP-RANK"),
    "smaller": (p.matmul, attempt(0, "read", lambda i, j: ((i + 1, i + 2), (j, j + 1))), "E-SCHEDULE-REGION-SMALLER"),
    "empty": (p.matmul, attempt(0, "read", lambda i, j: ((i, i), (j, j + 1))), "E-SCHEDULE-REGION-EMPTY"),
    "writes": (p.matmul, attempt(0, "write", lambda i, j: ((i, i + 2), (j, j + 1))), "E-SCHEDULE-REGION-WRITES"),
    "kind": (p.matmul, attempt(0, "both", lambda i, j: (i, j)), "E-SCHEDULE-ARGUMENT"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)
