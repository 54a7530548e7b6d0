"""compute_inline: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.arith import build
from workbench.core.limits import limits
from workbench.schedule import Schedule


def test_elementwise(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_inline("two")

    check_steps(golden, p.chain, steps)


def test_padding(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_inline("pad")

    check_steps(golden, p.convolution, steps)


def test_into_a_predicate(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_inline("make")

    check_steps(golden, q.read_in_condition, steps)


def test_what_nobody_reads_is_gone(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_inline("make")

    check_steps(golden, q.unread, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "reduction": (p.matmul, lambda s: s.compute_inline("C"), "E-SCHEDULE-INLINE-FORM"),
    "index": (
        lambda: q.pair(first_index=lambda v: build.const(5) - v),
        lambda s: s.compute_inline("make"),
        "E-SCHEDULE-INLINE-INDEX",
    ),
    "read in a bound": (q.read_in_bound, lambda s: s.compute_inline("make"), "E-SCHEDULE-INLINE-OUTSIDE"),
    "read as vector": (q.read_as_vector, lambda s: s.compute_inline("make"), "E-SCHEDULE-INLINE-VECTOR"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])


def test_refusal_of_expressions_beyond_the_limit(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "inlined_nodes", 8)
    check_refusal(golden, p.chain, lambda s: s.compute_inline("two"), "E-SCHEDULE-INLINE-SIZE")
