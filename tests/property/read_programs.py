"""Programs that read backwards, along a diagonal, behind a condition; a loop that begins late; a block of two results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.property.offset_programs import parsed
from workbench import te
from workbench.tir import nodes as t


def flipped(n: int) -> tuple[t.PrimFunc, Any]:
    """Each value and its mirror image: the first iteration reads what the last one makes."""
    x = te.placeholder((n,), name="X")
    made = te.compute((n,), lambda i: x[i] * 2.0, name="make")
    out = te.compute((n,), lambda i: made[n - 1 - i] - made[i], name="mirror")
    return te.create_prim_func([x, out]), lambda x: 2 * (x[::-1] - x)


def diagonal(n: int) -> tuple[t.PrimFunc, Any]:
    """Of a whole square the diagonal is read, and one beside it, the last row aside."""
    x = te.placeholder((n + 1, n + 1), name="X")
    made = te.compute((n + 1, n + 1), lambda i, j: x[i, j] * 2.0, name="make")
    out = te.compute((n,), lambda i: made[i, i] - made[i + 1, i], name="beside")
    return te.create_prim_func([x, out]), lambda x: 2 * (np.diag(x)[:-1] - np.diag(x, -1))


def halo(n: Any) -> tuple[t.PrimFunc, Any]:
    """Neighbours, zero beyond the ends; `n` may be a variable."""
    x = te.placeholder((n,), name="X")
    made = te.compute((n,), lambda i: x[i] * 2.0, name="make")
    left = te.compute((n,), lambda i: te.if_then_else(i >= 1, made[i - 1], 0.0), name="left")
    out = te.compute((n,), lambda i: left[i] + te.if_then_else(i < n - 1, made[i + 1], 0.0), name="sides")

    def meaning(x: np.ndarray) -> np.ndarray:
        padded = np.pad(2 * x, 1)
        return padded[:-2] + padded[2:]

    return te.create_prim_func([x, out]), meaning


def late(n: int) -> tuple[t.PrimFunc, Any]:
    """The loops begin at 2, the domain of one block too, that of the other at 0."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n + 2},), "float32"), Y: T.Buffer(({n},), "float32")):
    P = T.alloc_buffer(({n + 2},), "float32")
    for i in T.serial(2, {n + 2}):
        with T.block("make"):
            vi = T.axis.spatial((2, {n + 2}), i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
    for i in T.serial(2, {n + 2}):
        with T.block("down"):
            vi = T.axis.spatial({n}, i - 2)
            T.reads(P[vi + 2])
            T.writes(Y[vi])
            Y[vi] = P[vi + 2] + T.float32(1)
""")
    return func, lambda x: 2 * x[2:] + 1


def two_results(n: int, m: int) -> tuple[t.PrimFunc, Any]:
    """One block writes two buffers, one of them transposed; two others read one each."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {m}), "float32"), Y: T.Buffer(({n}, {m}), "float32")):
    P = T.alloc_buffer(({n}, {m}), "float32")
    Q = T.alloc_buffer(({m}, {n}), "float32")
    R = T.alloc_buffer(({n}, {m}), "float32")
    for i, j in T.grid({n}, {m}):
        with T.block("both"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj])
            T.writes(P[vi, vj], Q[vj, vi])
            P[vi, vj] = X[vi, vj] * T.float32(2)
            Q[vj, vi] = X[vi, vj] + T.float32(1)
    for i, j in T.grid({n}, {m}):
        with T.block("one"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(P[vi, vj])
            T.writes(R[vi, vj])
            R[vi, vj] = P[vi, vj] - T.float32(3)
    for i, j in T.grid({n}, {m}):
        with T.block("other"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(R[vi, vj], Q[vj, vi])
            T.writes(Y[vi, vj])
            Y[vi, vj] = R[vi, vj] * Q[vj, vi]
""")
    return func, lambda x: (2 * x - 3) * (x + 1)
