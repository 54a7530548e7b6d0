"""reindex, reindex_cache_read and reindex_cache_write of what is made and read in iterations of one loop."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule.harness import check_refusal, check_steps
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import parse

TILES = "lambda v: (v // 4, v % 4)"


def tiled(made: int = 8, where: str = "o * 8 + b < 32") -> t.PrimFunc:
    """B is made and read in tiles of 8; as a parameter of the function."""
    vector = 'T.Buffer((32,), "int32")'
    return parse(f"""
@T.prim_func
def main(A: {vector}, B: {vector}, C: {vector}):
    for o in range(4):
        for b in range({made}):
            with T.block("I"):
                v = T.axis.spatial(32, o * 8 + b)
                T.where({where})
                B[v] = A[v] * 3
        for c in range(8):
            with T.block("J"):
                v = T.axis.spatial(32, o * 8 + c)
                C[v] = B[v] + 1
""")


def test_a_read_in_tiles(golden: Golden) -> None:
    check_steps(golden, tiled, lambda sch: sch.reindex_cache_read("J", "B", "local", TILES))


def test_a_write_in_tiles(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        copied = sch.reindex_cache_write("I", "B", "local", TILES)
        sch.reverse_compute_at(copied, sch.get_loops("I")[1])

    check_steps(golden, tiled, steps)


def test_a_part_of_each_tile_is_written(golden: Golden) -> None:
    check_steps(golden, lambda: tiled(6), lambda sch: sch.reindex_cache_write("I", "B", "local", TILES))


def test_rows_of_symbolic_length(golden: Golden) -> None:
    def program() -> t.PrimFunc:
        return parse("""
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (8, n), "int32")
    C = T.match_buffer(c, (8, n), "int32")
    B = T.alloc_buffer((8, n), "int32")
    for i in range(8):
        for j in range(n):
            with T.block("I"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 3
        for j in range(n):
            with T.block("J"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1
""")

    def steps(sch: Schedule) -> None:
        sch.reindex_cache_read("J", "B", "global", lambda i, j: (j, i))
        sch.reindex_cache_write("I", "B", "global", lambda i, j: (j, i))

    check_steps(golden, program, steps, runs=False)


def test_refusal_where_a_copy_would_overwrite_what_is_not_made(golden: Golden) -> None:
    """A copy of the whole tile would write over the caller's elements where I does not run."""
    check_refusal(
        golden, lambda: tiled(where="o * 8 + b < 30"),
        lambda sch: sch.reindex_cache_write("I", "B", "local", TILES), "E-SCHEDULE-CACHE-SHARED",
    )  # fmt: skip
