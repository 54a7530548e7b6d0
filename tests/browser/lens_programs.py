"""Schedules for the tile lens: several orders, tiles that do not divide, transposed and overlapping accesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.schedule.programs import plain_matmul
from workbench import te
from workbench.schedule import Schedule


def matmul_tiled(order: str, tile_i: int, tile_j: int, tile_k: int, size: int = 16) -> Schedule:
    """`order` names the loops: "IJKijk", outer halves in capitals."""
    sch = Schedule(plain_matmul(size, size, size))
    loops = sch.get_loops(sch.get_block("C"))
    named = {}
    for letter, loop, tile in zip("ijk", loops, (tile_i, tile_j, tile_k), strict=True):
        named[letter.upper()], named[letter] = sch.split(loop, factors=[None, tile])
    sch.reorder(*(named[letter] for letter in order))
    return sch


def twice_tiled() -> Schedule:
    sch = Schedule(plain_matmul(16, 16, 16))
    i, j, k = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, factors=[None, 5])
    j_0, j_1 = sch.split(j, factors=[None, 3])
    j_00, j_01 = sch.split(j_0, factors=[None, 4])
    sch.reorder(j_01, i_0, j_00, k, j_1, i_1)
    return sch


def fused() -> Schedule:
    sch = Schedule(plain_matmul(16, 16, 16))
    i, j, k = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, factors=[None, 6])
    j_0, j_1 = sch.split(j, factors=[None, 4])
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.parallel(sch.fuse(i_0, j_0))
    sch.vectorize(j_1)
    return sch


def transposed() -> Schedule:
    """C[i, j] += A[k, i] * B[j, k]"""
    a, b = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[k, i] * b[j, k], axis=k), name="C")
    sch = Schedule(te.create_prim_func([a, b, c]))
    i, j, k = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, factors=[None, 4])
    sch.reorder(i_0, k, j, i_1)
    return sch


def convolution(tile: int, stride: int = 1) -> Schedule:
    """Three loops deep over rows: O[y, x] += X[y * stride + r, x] * W[r], with channels of 3 taps."""
    rows = (16 - 1) * stride + 3
    x, w = te.placeholder((rows, 16), name="X"), te.placeholder((3,), name="W")
    r = te.reduce_axis((0, 3), name="r")
    o = te.compute((16, 16), lambda y, c: te.sum(x[y * stride + r, c] * w[r], axis=r), name="O")
    sch = Schedule(te.create_prim_func([x, w, o]))
    y, c, r = sch.get_loops(sch.get_block("O"))
    y_0, y_1 = sch.split(y, factors=[None, tile])
    sch.reorder(y_0, c, r, y_1)
    return sch


def square_convolution() -> Schedule:
    """Six loops: two channels, 3 x 3 taps, rows in tiles of 4."""
    x, w = te.placeholder((2, 10, 9), name="X"), te.placeholder((4, 2, 3, 3), name="W")
    c, r, s = te.reduce_axis((0, 2), name="c"), te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="s")
    o = te.compute(
        (4, 8, 7), lambda f, i, j: te.sum(x[c, i + r, j + s] * w[f, c, r, s], axis=[c, r, s]), name="O"
    )  # fmt: skip
    sch = Schedule(te.create_prim_func([x, w, o]))
    f, i, j, c, r, s = sch.get_loops(sch.get_block("O"))
    i_0, i_1 = sch.split(i, factors=[None, 3])
    sch.reorder(i_0, c, f, r, j, s, i_1)
    return sch


def stencil() -> Schedule:
    """Three loads of one array, and its diagonal."""
    a = te.placeholder((18, 18), name="A")
    b = te.compute((16, 16), lambda i, j: a[i, j] + a[i + 1, j + 1] + a[i + 2, j] + a[i, i], name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    i, j = sch.get_loops(sch.get_block("B"))
    i_0, i_1 = sch.split(i, factors=[None, 5])
    j_0, j_1 = sch.split(j, factors=[None, 4])
    sch.reorder(j_0, i_0, i_1, j_1)
    return sch


def followed(tile: int) -> Schedule:
    """A product at the tile of its consumer: its own loops follow the consumer's split."""
    a, b = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((16, 16), lambda i, j: c[i, j] * 2.0, name="D")
    sch = Schedule(te.create_prim_func([a, b, d]))
    i, j = sch.get_loops(sch.get_block("D"))
    j_0, j_1 = sch.split(j, factors=[None, tile])
    sch.reorder(j_0, i, j_1)
    sch.compute_at(sch.get_block("C"), j_0, preserve_unit_loops=True)
    sch.vectorize(j_1)
    return sch


CASES: Final[dict[str, Callable[[], Schedule]]] = {
    "plain": lambda: Schedule(plain_matmul(16, 16, 16)),
    "tiles of 4": lambda: matmul_tiled("IJKikj", 4, 4, 4),
    "tiles that do not divide": lambda: matmul_tiled("IJKijk", 5, 3, 7),
    "inner loops outside": lambda: matmul_tiled("kjIKiJ", 5, 3, 7),
    "tiles larger than the extent": lambda: matmul_tiled("JIKjki", 20, 16, 1),
    "twice tiled": twice_tiled,
    "fused": fused,
    "transposed": transposed,
    "rows of a convolution": lambda: convolution(5),
    "with stride 2": lambda: convolution(6, 2),
    "square convolution": square_convolution,
    "stencil": stencil,
}
