"""cache_read: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_local(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.cache_read("C", 1, "local")

    check_steps(golden, p.plain_matmul, steps)


def cache_written(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.cache_read("D", 0, "local")


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "written": (p.matmul, cache_written, "E-SCHEDULE-CACHE-WRITTEN"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
