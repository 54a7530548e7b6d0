"""Steps that left something out or went too far: guards dropped, older values lost, elements that nobody writes copied,
loop variables outside of their loops.  Each is refused now, or computes what the program did."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.transforms.lower_blocks import lower_blocks

Step = Callable[[Schedule], object]
HEAD = "@T.prim_func\ndef main"


def parsed(text: str) -> t.PrimFunc:
    func = parse(HEAD + text)
    assert isinstance(func, t.PrimFunc)
    return func


def check(text: str, step: Step, *arrays: np.ndarray) -> None:
    """By the blocks, by the loops they are lowered to and by the machine the program computes what it did."""
    before = parsed(text)
    expected = [array.copy() for array in arrays]
    interpret(before, *expected)
    sch = Schedule(before)
    step(sch)
    lowered = lower_blocks(sch.func)
    for run in (lambda *a: interpret(sch.func, *a), lambda *a: interpret(lowered, *a), wb.build(sch.func)["main"]):
        found = [array.copy() for array in arrays]
        run(*found)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(other, one)


def refused(text: str, step: Step) -> str:
    with pytest.raises(WorkbenchError) as caught:
        step(Schedule(parsed(text)))
    assert caught.value.code.startswith("E-SCHEDULE-")
    return str(caught.value)


def loop(sch: Schedule, block: str, at: int = 0) -> object:
    return sch.get_loops(block)[at]


# --- a domain that is wider than the buffers, and a condition that says how far -----------------------------------

WIDE = """(A: T.Buffer((60,), "int64"), C: T.Buffer((60,), "int64")):
    B = T.alloc_buffer((60,), "int64")
    for i in range(64):
        with T.block("I"):
            v = T.axis.spatial(64, i)
            T.where(i < 60)
            B[v] = A[v] * 2
    for i in range(64):
        with T.block("J"):
            v = T.axis.spatial(64, i)
            T.where(i < 60)
            C[v] = B[v] + 1
"""
WIDE_INSIDE = """(A: T.Buffer((60,), "int64"), C: T.Buffer((60,), "int64")):
    B = T.alloc_buffer((60,), "int64")
    for io in range(4):
        with T.block("O"):
            vo = T.axis.spatial(4, io)
            T.reads(A[vo * 16:vo * 16 + 16])
            T.writes(C[vo * 16:vo * 16 + 16])
            for ii in range(16):
                with T.block("I"):
                    vi = T.axis.spatial(16, ii)
                    T.where(vo * 16 + ii < 60)
                    B[vo * 16 + vi] = A[vo * 16 + vi] * 2
            for ii in range(16):
                with T.block("J"):
                    vi = T.axis.spatial(16, ii)
                    T.where(vo * 16 + ii < 60)
                    C[vo * 16 + vi] = B[vo * 16 + vi] + 1
"""
MOVES: dict[str, Step] = {
    "reverse_compute_at": lambda sch: sch.reverse_compute_at("J", loop(sch, "I", -1)),
    "compute_at": lambda sch: sch.compute_at("I", loop(sch, "J", -1)),
    "cache_read": lambda sch: sch.cache_read("J", 0, "local"),
    "reindex": lambda sch: sch.reindex("I", ("write", 0)),
}


INLINED: dict[str, Step] = {
    "compute_inline": lambda sch: sch.compute_inline("I"),
    "reverse_compute_inline": lambda sch: sch.reverse_compute_inline("J"),
}
AWAY = (np.arange(60), np.zeros(60, "int64"))


@pytest.mark.parametrize("name", [*MOVES, *INLINED])
def test_guards_that_keep_a_block_in_its_buffers_stay(name: str) -> None:
    if "compute" in name:
        check(WIDE, (MOVES | INLINED)[name], *AWAY)
    else:  # a copy of what is declared, all of it
        assert "[60], which is outside of the buffer" in refused(WIDE, MOVES[name])


@pytest.mark.parametrize("name", MOVES)
def test_those_of_a_block_inside_of_another_stay_too(name: str) -> None:
    refused(WIDE_INSIDE, MOVES[name])


@pytest.mark.parametrize("where", ["i < 57", "i >= 3", "3 <= i and i < 57"])
@pytest.mark.parametrize("name", ["reverse_compute_at", *INLINED])
def test_a_consumer_of_a_part_is_moved_with_its_part(name: str, where: str) -> None:
    text = WIDE.replace("range(64)", "range(60)").replace("(64, i)", "(60, i)").replace("i < 60", "True", 1)
    text = text.replace("i < 60", where)
    check(text, (MOVES | INLINED)[name], *AWAY)


# --- older values -------------------------------------------------------------------------------------------------

OLDER = """(A: T.Buffer((4, 4), "int64"), D: T.Buffer((3, 4), "int64")):
    C = T.alloc_buffer((4,), "int64")
    for i in range(4):
        with T.block("I"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi, 0] + T.int64(100)
    for t in range(3):
        for i in range(4):
            for k in range(4):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.int64(0)
                    C[vi] = C[vi] + A[vi, vk]
            with T.block("D"):
                vt, vi = T.axis.remap("SS", [t, i])
                D[vt, vi] = C[(vi + 1) % 4]
"""


def test_an_init_does_not_come_before_a_read_of_what_was_there() -> None:
    def step(sch: Schedule) -> object:
        return sch.decompose_reduction("C", loop(sch, "C", 1))

    assert "E-SCHEDULE-INIT-SHARED" in refused(OLDER, step)
    check(OLDER.replace("C[(vi + 1) % 4]", "C[vi]"), step, np.arange(16).reshape(4, 4), np.zeros((3, 4), "int64"))


# --- elements that are not written --------------------------------------------------------------------------------

SOME = """(A: T.Buffer((40,), "int64"), Y: T.Buffer((40,), "int64")):
    for i in range(40):
        with T.block("b"):
            vi = T.axis.spatial(40, i)
            T.reads(A[vi])
            T.writes(Y[vi])
            {around}
                Y[vi] = A[vi]
"""
COPIES: dict[str, Step] = {
    "cache_write": lambda sch: sch.cache_write("b", 0, "global"),
    "reindex": lambda sch: sch.reindex("b", ("write", 0)),
    "reindex_cache_write": lambda sch: sch.reindex_cache_write("b", 0, "global", lambda i: (i,)),
    "write_at": lambda sch: sch.write_at(loop(sch, "b"), "b", 0, "global"),
}


@pytest.mark.parametrize("around", ["if A[vi] > 5:", "for q in range(A[vi]):"])
@pytest.mark.parametrize("name", COPIES)
def test_what_may_not_be_written_is_not_copied_back(name: str, around: str) -> None:
    refused(SOME.format(around=around), COPIES[name])


@pytest.mark.parametrize("name", COPIES)
def test_what_loops_in_a_block_write_is(name: str) -> None:
    check(SOME.format(around="for q in range(2):"), COPIES[name], np.arange(40), np.full(40, 77))


# --- sums over nothing --------------------------------------------------------------------------------------------

EMPTY = """(a: T.handle, C: T.Buffer((4,), "int64")):
    n = T.int64()
    A = T.match_buffer(a, (4, n), "int64")
    for i in range(4):
        for k in range(16):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(n, k)
                T.where({where})
                with T.init():
                    C[vi] = T.int64(0)
                C[vi] = C[vi] + A[vi, vk]
"""
FUSED: dict[str, Step] = {
    "fuse": lambda sch: sch.fuse(*sch.get_loops("b")),
    "split and fuse": lambda sch: sch.fuse(loop(sch, "b"), sch.split(loop(sch, "b", 1), [4, 4])[0]),
    "fuse and split": lambda sch: sch.split(sch.fuse(*sch.get_loops("b")), [None, 12]),
}


@pytest.mark.parametrize("where", ["k < n", "i < 3 and k < n", "i + k < n"])
@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("n", [0, 3, 16])
def test_a_sum_over_nothing_is_its_init_in_fused_loops_too(n: int, name: str, where: str) -> None:
    check(EMPTY.format(where=where), FUSED[name], np.arange(4 * n).reshape(4, n), np.full(4, 77))


# --- loops that a block uses itself -------------------------------------------------------------------------------

ITSELF = """(D: T.Buffer((4,), "int64"), C: T.Buffer((3, 4), "int64")):
    B = T.alloc_buffer((4,), "int64")
    E = T.alloc_buffer((4,), "int64")
    for t in range(3):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = t * 10 + v
    for i in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = B[v]
    for t in range(3):
        for i in range(4):
            with T.block("E"):
                v = T.axis.spatial(4, i)
                E[v] = D[v] + t
        for i in range(4):
            with T.block("C"):
                v = T.axis.spatial(4, i)
                C[t, v] = E[v]
"""
OUT: dict[str, Step] = {
    "compute_inline": lambda sch: sch.compute_inline("B"),
    "compute_at": lambda sch: sch.compute_at("B", loop(sch, "D")),
    "reverse_compute_inline": lambda sch: sch.reverse_compute_inline("E"),
    "reverse_compute_at": lambda sch: sch.reverse_compute_at("E", loop(sch, "D")),
}


@pytest.mark.parametrize("name", OUT)
def test_a_block_does_not_leave_a_loop_that_it_uses(name: str) -> None:
    assert "uses the loop t itself" in refused(ITSELF, OUT[name])


TRIANGLE = """(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4, 4), "int64")):
    for i in range(4):
        for j in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(i + 1, j)
                B[vi, vj] = A[vj, vi]
"""


@pytest.mark.parametrize("step", [
    lambda sch: sch.reindex("B", ("read", 0)),
    lambda sch: sch.reindex_cache_read("B", 0, "global", lambda i, j: (i, j)),
    lambda sch: sch.reindex_cache_write("B", 0, "global", lambda i, j: (i, j)),
])  # fmt: skip
def test_a_buffer_has_one_size(step: Step) -> None:
    assert "a size that i decides" in refused(TRIANGLE, step)


# --- inner blocks -------------------------------------------------------------------------------------------------

INNER = """(A: T.Buffer((64,), "int64"), C: T.Buffer((64,), "int64")):
    B = T.alloc_buffer((64,), "int64")
    for io in range(4):
        with T.block("O"):
            vo = T.axis.spatial(4, io)
            for ii in range(16):
                for ax in range(2):
                    with T.block("I"):
                        vi, va = T.axis.remap("SS", [ii, ax])
                        B[vo * 16 + va] = A[vo * 16 + va] * vi
                with T.block("J"):
                    vi = T.axis.spatial(16, ii)
                    C[vo * 16 + vi] = B[vo * 16 + vi % 2] + T.int64(1)
"""


def test_a_buffer_is_private_to_iterations_inside_of_a_block_too() -> None:
    def step(sch: Schedule) -> None:
        sch.parallel(loop(sch, "J"))

    check(INNER, step, np.arange(64), np.zeros(64, "int64"))
    sch = Schedule(parsed(INNER))
    step(sch)
    interpret(lower_blocks(sch.func), np.arange(64), np.zeros(64, "int64"), check_races=True)


def test_what_a_block_cannot_do_is_told() -> None:
    alone = '(A: T.Buffer((4,), "int64"), B: T.Buffer((4,), "int64")):\n    with T.block("b"):\n        B[0] = A[1]\n'
    refused(alone, lambda sch: sch.pad_einsum("b", []))
    own = INNER.replace("            for ii", '            W = T.alloc_buffer((4,), "int64")\n            for ii')
    own = own.replace("B[vo * 16 + va] =", "W[va] =").replace("B[vo * 16 + vi % 2]", "W[vi % 2]")
    refused(own, lambda sch: sch.transform_layout("I", ("write", 0), lambda i: (i // 3, i % 3), pad_value=5))


def test_the_regions_of_a_block_around_others_are_its_own() -> None:
    """They were whole axes where the text does not say them: iteration io=0 was said to write C[63]."""
    text = """(A: T.Buffer((64, 8), "int64"), C: T.Buffer((64, 4), "int64")):
    for io in range(4):
        with T.block("O"):
            vo = T.axis.spatial(4, io)
            for ii, j in T.grid(16, 4):
                with T.block("I"):
                    vi, vj = T.axis.remap("SS", [ii, j])
                    C[vo * 16 + vi, vj] = A[vo * 16 + vi, vj * 2 + 1] + A[vo * 16 + 15 - vi, A[0, 0] % 8]
"""
    assert "T.reads(A[vo * 16:vo * 16 + 16, 1:8], A[vo * 16:vo * 16 + 16, 0:8], A[0, 0])" in script(parsed(text))
    assert "T.writes(C[vo * 16:vo * 16 + 16, 0:4])" in script(parsed(text))
    check(text, lambda sch: sch.parallel(loop(sch, "O")), np.arange(512).reshape(64, 8), np.zeros((64, 4), "int64"))


def test_a_refusal_inside_of_a_block_names_loops_there() -> None:
    """The loops of its suggestions were looked for around the outermost blocks only: StopIteration."""
    text = INNER.replace("range(2)", "range(16)").replace("vi % 2", "vi").replace(
        "    B = T.alloc_buffer((64,), \"int64\")\n", ""
    ).replace("(A: ", '(B: T.Buffer((64,), "int64"), A: ')  # fmt: skip
    assert "legal on loop ax instead" in refused(text, lambda sch: sch.parallel(loop(sch, "J")))


# --- bounds that change -------------------------------------------------------------------------------------------

BOUNDS = """(A: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
    B = T.alloc_buffer((4,), "int64")
    N = T.alloc_buffer((1,), "int64")
    with T.block("first"):
        N[0] = T.int64(4)
    for i in range(4):
        for j in range({run}):
            with T.block("B"):
                vj = T.axis.spatial({domain}, j)
                B[vj] = A[vj] + i
        with T.block("N"):
            N[0] = 5 - N[0]
        for j in range({run}):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial({domain}, j)
                C[vi, vj] = B[vj]
"""


@pytest.mark.parametrize(("run", "domain"), [("N[0]", "4"), ("N[0]", "N[0]")])
def test_bounds_that_are_loaded_from_what_changes_are_others_each_time(run: str, domain: str) -> None:
    """B was said not to be carried by i, as both loops have the bound N[0]: it was allocated in i."""
    text = BOUNDS.format(run=run, domain=domain)
    check(text, lambda sch: None, np.arange(4), np.zeros((4, 4), "int64"))
    refused(text, lambda sch: sch.parallel(loop(sch, "N")))


def test_an_index_that_a_condition_keeps_from_dividing_by_nothing_stays_under_it() -> None:
    text = """(A: T.Buffer((16,), "int64"), C: T.Buffer((8,), "int64")):
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = T.if_then_else(v > 0, A[12 // v], T.int64(0))
"""
    assert "no index to compute beforehand" in refused(text, lambda sch: sch.cache_index("C", "global"))


def test_what_a_block_declares_beyond_its_stores_is_not_written() -> None:
    text = """(A: T.Buffer((8,), "int64"), Y: T.Buffer((8, 4), "int64")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(Y[vi, 0:4])
            Y[vi, 0] = A[vi]
"""
    for copy in COPIES.values():
        refused(text, copy)
    check(text, lambda sch: sch.parallel(loop(sch, "b")), np.arange(8), np.full((8, 4), 7))
