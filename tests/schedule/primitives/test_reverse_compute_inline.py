"""reverse_compute_inline: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_numbers, check_refusal, check_steps
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import parse


def test_last(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.reverse_compute_inline("four")

    check_steps(golden, p.chain, steps)


def overwritten(*, same_loop: bool, reads: str = "K[vi]") -> t.PrimFunc:
    """K keeps what A was before it is overwritten; `reads` is what is read last."""
    loop = "" if same_loop else "    for i in T.serial(6):\n"
    return parse(f"""
@T.prim_func
def main(A: T.Buffer((6,), "float32"), X: T.Buffer((6,), "float32"), Y: T.Buffer((6,), "float32")):
    K = T.alloc_buffer((6,), "float32")
    for i in T.serial(6):
        with T.block("keep"):
            vi = T.axis.spatial(6, i)
            T.reads(A[vi])
            T.writes(K[vi])
            K[vi] = A[vi] * T.float32(2)
{loop}        with T.block("overwrite"):
            vi = T.axis.spatial(6, i)
            T.reads(X[vi])
            T.writes(A[vi])
            A[vi] = X[vi] + T.float32(1)
{loop}        with T.block("use"):
            vi = T.axis.spatial(6, i)
            T.reads({", ".join(sorted({"K[vi]", reads}))})
            T.writes(Y[vi])
            Y[vi] = K[vi] - {reads}
""")


@pytest.mark.parametrize("same_loop", [True, False])
def test_the_producer_stays_before_what_overwrites_its_input(same_loop: bool) -> None:
    func = overwritten(same_loop=same_loop)
    sch = Schedule(func)
    sch.reverse_compute_inline("use")
    check_numbers(func, sch.func)


def test_digits_of_an_iterator(golden: Golden) -> None:
    check_steps(golden, p.reshaped, lambda sch: sch.reverse_compute_inline("flat"))


def read_at(index: str, extent: int = 8, where: str = "") -> t.PrimFunc:
    """C[v0] = B[index] + 1 for v0 in 0 ... extent - 1, where B is 8 long."""
    return parse(f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer(({extent},), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v0 = T.axis.spatial(8, i)
            B[v0] = A[v0] * T.float32(2)
    for i in range({extent}):
        with T.block("C"):
            v0 = T.axis.spatial({extent}, i)
            {where or "T.where(True)"}
            C[v0] = {index} + T.float32(1)
""")


@pytest.mark.parametrize("index", ["B[v0]", "B[v0 + 2]", "B[v0 * 2]", "B[v0 + v0]", "B[7 - v0]", "B[7 - v0 * 2]"])
def test_a_part_of_what_is_made(index: str) -> None:
    func = read_at(index, 4)
    sch = Schedule(func)
    sch.reverse_compute_inline("C")
    assert "T.where(" in sch.script()
    check_numbers(func, sch.func)


def test_a_value_under_a_condition_where_all_is_made() -> None:
    func = read_at("T.if_then_else(1 <= v0, B[v0], T.float32(0))")
    sch = Schedule(func)
    sch.reverse_compute_inline("C")
    check_numbers(func, sch.func)


def test_into_a_reader_of_sums_so_far(golden: Golden) -> None:
    check_steps(golden, lambda: parse(SO_FAR), lambda sch: sch.reverse_compute_inline("after"))


SO_FAR = """
@T.prim_func
def main(A: T.Buffer((3, 4), "float32"), C: T.Buffer((3, 4), "float32")):
    S = T.alloc_buffer((3,), "float32")
    R = T.alloc_buffer((3, 4), "float32")
    for i, k in T.grid(3, 4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vk]
        with T.block("so_far"):
            vi, vk = T.axis.remap("SS", [i, k])
            R[vi, vk] = S[vi] * 2.0
    for i, k in T.grid(3, 4):
        with T.block("after"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = R[vi, vk] + 1.0
"""


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "no input": (p.chain, lambda s: s.reverse_compute_inline("one"), "E-SCHEDULE-INLINE-INPUT"),
    "reads": (p.chain, lambda s: s.reverse_compute_inline("three"), "E-SCHEDULE-INLINE-READS"),
    "into reduction": (p.matmul, lambda s: s.reverse_compute_inline("D"), "E-SCHEDULE-INLINE-FORM"),
    "overwritten between": (
        lambda: overwritten(same_loop=False, reads="A[vi]"), lambda s: s.reverse_compute_inline("use"),
        "E-SCHEDULE-PRODUCER-LATE",
    ),
    "values where nothing is made": (
        lambda: read_at("T.if_then_else(1 <= v0, B[v0 - 1], T.float32(0))"),
        lambda s: s.reverse_compute_inline("C"), "E-SCHEDULE-PARTIAL",
    ),
    "index": (lambda: read_at("B[v0 % 4]"), lambda s: s.reverse_compute_inline("C"), "E-SCHEDULE-INLINE-INDEX"),
    "not all of its domain": (
        lambda: read_at("B[v0]", where="T.where(i % 2 == 0)"), lambda s: s.reverse_compute_inline("C"),
        "E-SCHEDULE-PARTIAL",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])


def test_refusal_where_the_loops_reach_beyond_what_is_made(golden: Golden) -> None:
    """The border has values where B is not made; loops that run over it behind a predicate do not make it."""
    source = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(4, i - 1)
            T.where(i >= 1 and i < 5)
            B[vi] = A[vi] * T.float32(2)
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = T.if_then_else(vi >= 1 and vi < 5, B[vi - 1], T.float32(0))
"""
    check_refusal(golden, lambda: parse(source), lambda sch: sch.reverse_compute_inline("C"), "E-SCHEDULE-PARTIAL")
