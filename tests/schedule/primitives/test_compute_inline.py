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
from workbench.tir.script import parse


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


def test_a_buffer_that_the_block_around_has_not_to_itself_is_no_output_of_the_function() -> None:
    sch = Schedule(parse("""
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        B = T.alloc_buffer((64,), "float32")
        for io in range(4):
            with T.block("O"):
                vo = T.axis.spatial(4, io)
                for ii in range(16):
                    with T.block("I"):
                        vi = T.axis.spatial(16, ii)
                        T.where(vo * 16 + vi < 60)
                        B[vo * 16 + vi] = A[vo * 16 + vi] * 2.0
                for ii in range(16):
                    with T.block("J"):
                        vi = T.axis.spatial(16, ii)
                        C[vo * 16 + vi] = B[vo * 16 + vi] + 1.0
    """))  # fmt: skip
    error = sch.why_not("compute_inline", "I")
    assert error is not None and error.code == "E-SCHEDULE-OUTPUT"
    assert "it writes B, which the block around it does not have to itself" in error.message
    assert error.found == "B is used elsewhere too, or read where I writes nothing" and "allocate B" in error.fix
    output = sch.why_not("compute_inline", "J")
    assert output is not None and "C, an output of the function" in output.message
    assert output.found == "a parameter of the function"
