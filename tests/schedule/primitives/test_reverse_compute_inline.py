"""reverse_compute_inline: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_last(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.reverse_compute_inline("four")

    check_steps(golden, p.chain, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "no input": (p.chain, lambda s: s.reverse_compute_inline("one"), "E-SCHEDULE-INLINE-INPUT"),
    "reads": (p.chain, lambda s: s.reverse_compute_inline("three"), "E-SCHEDULE-INLINE-READS"),
    "into reduction": (p.matmul, lambda s: s.reverse_compute_inline("D"), "E-SCHEDULE-INLINE-FORM"),
    "index": (p.reshaped, lambda s: s.reverse_compute_inline("flat"), "E-SCHEDULE-INLINE-INDEX"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
