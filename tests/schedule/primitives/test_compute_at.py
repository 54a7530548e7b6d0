"""compute_at: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.property.offset_programs import partial
from tests.property.order_programs import folded
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.arith import build
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse


def test_row(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_at("C", sch.get_loops("D")[0])

    check_steps(golden, p.matmul, steps)


def test_tile(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("D")
        _, j = sch.get_loops(block)
        outer, _ = sch.split(j, factors=[None, 4])
        sch.compute_at("C", outer, preserve_unit_loops=True)

    check_steps(golden, p.matmul, steps)


def test_window(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_at("pad", sch.get_loops("conv")[1])

    check_steps(golden, p.convolution, steps)


def read_output(rows: int = 4, columns: int = 6, read: str = "vi, vj", parallel: bool = False) -> t.PrimFunc:
    """B = X + 1 and C of B, both outputs: `rows` x `columns` elements of C read B at `read`."""
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32"), C: T.Buffer(({rows}, {columns}), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = X[vi, vj] + T.float32(1)
    for k in T.{"parallel" if parallel else "serial"}({rows}):
        for l in T.serial({columns}):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [k, l])
                T.reads(B[{read}])
                T.writes(C[vi, vj])
                C[vi, vj] = {" + ".join(f"B[{at}]" for at in indices(read))}
""")
    assert isinstance(func, t.PrimFunc)
    return func


def indices(read: str) -> list[str]:
    """The elements of a region of two rows: "vi:vi + 2, vj" is "vi, vj" and "vi + 1, vj"."""
    rows, column = read.split(", ")
    return [read] if ":" not in rows else [f"vi, {column}", f"vi + 1, {column}"]


def moved_output(row: int) -> Steps:
    return lambda sch: sch.compute_at("B", sch.get_loops("C")[row])


def test_an_output_that_is_read_whole(golden: Golden) -> None:
    check_steps(golden, read_output, moved_output(1))


def test_an_output_read_twice_is_computed_again(golden: Golden) -> None:
    check_steps(golden, lambda: read_output(3, 6, "vi:vi + 2, vj"), moved_output(0))


def test_an_output_beside_an_index_table() -> None:
    """Value flow cannot follow the table; the domain of the block tells that all is written."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer((6,), "float32"), I: T.Buffer((5,), "int32"), G: T.Buffer((5,), "float32"),
         B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in T.serial(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            T.reads(X[vi])
            T.writes(B[vi])
            B[vi] = X[vi] + T.float32(1)
    for i in T.serial(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            T.reads(B[vi])
            T.writes(C[vi])
            C[vi] = B[vi] * T.float32(2)
    for i in T.serial(5):
        with T.block("G"):
            vi = T.axis.spatial(5, i)
            T.reads(X[0:6], I[vi])
            T.writes(G[vi])
            G[vi] = X[I[vi]]
""")
    assert isinstance(func, t.PrimFunc)
    sch = Schedule(func)
    sch.compute_at("B", sch.get_loops("C")[0])
    x, table = np.arange(6, dtype="float32"), np.array([5, 0, 3, 3, 1], "int32")
    g, b, c = np.zeros(5, "float32"), np.zeros(6, "float32"), np.zeros(6, "float32")
    interpret(sch.func, x, table, g, b, c, check_regions=True)
    assert (b == x + 1).all() and (c == 2 * (x + 1)).all() and (g == x[table]).all()


def test_unsafe_moves_an_output_and_says_what_is_missing() -> None:
    sch = Schedule(read_output(2))
    sch.compute_at("B", sch.get_loops("C")[0], unsafe=True)
    assert "B[2, 0] would not be written" in "".join(note for notes in sch.notes.values() for note in notes)


def move_annotated(sch: Schedule) -> Any:
    sch.vectorize(sch.get_loops("C")[1])
    return sch.compute_at("C", sch.get_loops("D")[0])


def inside_vector(sch: Schedule) -> Any:
    _, j = sch.get_loops("D")
    sch.vectorize(j)
    return sch.compute_at("C", j)


def before_what_it_copies(sch: Schedule) -> Any:
    """The copy's one consumer never runs and stands before it: it would follow it there (random seed 11094)."""
    sch.compute_at("make", sch.get_loops("most")[1])
    unit = sch.add_unit_loop(sch.get_loops("make")[0])
    sch.cache_write("make", 0, "global")
    return sch.compute_at("P_global_copy", unit, index=-2)


def test_a_part_of_a_block_runs_for_its_part_of_the_domain(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("one")[1], factors=[2, None])
        sch.compute_at("one_1", sch.get_loops("two")[0])

    check_steps(golden, p.chain, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "output": (p.matmul, lambda s: s.compute_at("D", s.get_loops("C")[0]), "E-SCHEDULE-OUTPUT"),
    "output read in part": (lambda: read_output(2), moved_output(0), "E-SCHEDULE-OUTPUT"),
    "output read with gaps": (lambda: read_output(4, 3, "vi, vj * 2"), moved_output(1), "E-SCHEDULE-OUTPUT"),
    "output written by two threads": (
        lambda: read_output(3, 6, "vi:vi + 2, vj", parallel=True),
        moved_output(0),
        "E-SCHEDULE-DEPENDENCE",
    ),
    "consumer outside": (
        p.softmax,
        lambda s: s.compute_at("shifted", s.get_loops("out")[0]),
        "E-SCHEDULE-CONSUMER-OUTSIDE",
    ),
    "producer inside": (
        lambda: folded(4)[0],
        lambda s: s.compute_at("put", s.get_loops("fetch")[1]),
        "E-SCHEDULE-PRODUCER-INSIDE",
    ),
    "no consumer": (q.unread, lambda s: s.compute_at("make", s.get_loops("use")[0]), "E-SCHEDULE-NO-CONSUMER"),
    "own loop": (p.matmul, lambda s: s.compute_at("C", s.get_loops("C")[0]), "E-SCHEDULE-OWN-LOOP"),
    "annotated": (p.matmul, move_annotated, "E-SCHEDULE-KIND"),
    "inside vector": (p.matmul, inside_vector, "E-SCHEDULE-INSIDE-VECTOR"),
    "index": (p.matmul, lambda s: s.compute_at("C", s.get_loops("D")[0], index=7), "E-SCHEDULE-INDEX"),
    "root": (p.matmul, lambda s: s.compute_at("root", s.get_loops("D")[0]), "E-SCHEDULE-LEAF"),
    "two writers": (
        lambda: q.pair(extra="writer"),
        lambda s: s.compute_at("make", s.get_loops("use")[0]),
        "E-SCHEDULE-IRREGULAR",
    ),
    "input changes": (
        lambda: q.pair(extra="input changes"),
        lambda s: s.compute_at("make", s.get_loops("use")[0]),
        "E-SCHEDULE-IRREGULAR",
    ),
    "partial": (
        lambda: q.pair(predicate=lambda i: build.equal(build.floormod(i, 2), 0)),
        lambda s: s.compute_at("make", s.get_loops("use")[0]),
        "E-SCHEDULE-PARTIAL",
    ),
    "consumer earlier": (lambda: partial(1, 2)[0], before_what_it_copies, "E-SCHEDULE-CONSUMER-EARLIER"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
