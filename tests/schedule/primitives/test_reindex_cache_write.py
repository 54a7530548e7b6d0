"""reindex_cache_write: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_matmul


def test_transposed(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.reindex_cache_write("C", 0, "local", lambda i, j, k: (j, i)))


def test_machine_code_agrees_with_numpy() -> None:
    check_matmul(lambda sch: sch.reindex_cache_write("C", 0, "global", lambda i, j, k: (j // 4, i, j % 4)), plain=True)


def attempt(block: str, index_map: Any) -> Any:
    return lambda sch: sch.reindex_cache_write(block, 0, "local", index_map)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "reduces": (p.matmul, attempt("C", lambda i, j, k: (i, j, k)), "E-SCHEDULE-MAP-REDUCES"),
    "left out": (p.matmul, attempt("C", lambda i, j, k: (j,)), "E-SCHEDULE-REINDEX-MAP"),
    "collides": (p.matmul, attempt("C", lambda i, j, k: i + j), "E-SCHEDULE-MAP-COLLIDES"),
    "in place": (p.stencil, attempt("step", lambda s, i: i), "E-SCHEDULE-REINDEX-ACCESS"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)
