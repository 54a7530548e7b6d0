"""Programs whose numbers hang on what runs first, or on what an earlier iteration left.

Each is one step away from a mistake about the order in which elements are read and written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.property.offset_programs import parsed
from workbench.tir import nodes as t


def exchange(n: int) -> tuple[t.PrimFunc, Any]:
    """A value is kept, its place overwritten, and the kept one used, all in one loop."""
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), X: T.Buffer(({n},), "float32"), Y: T.Buffer(({n},), "float32")):
    K = T.alloc_buffer(({n},), "float32")
    for i in T.serial({n}):
        with T.block("keep"):
            vi = T.axis.spatial({n}, i)
            T.reads(A[vi])
            T.writes(K[vi])
            K[vi] = A[vi] * T.float32(2)
        with T.block("overwrite"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[vi])
            T.writes(A[vi])
            A[vi] = X[vi] + T.float32(1)
        with T.block("use"):
            vi = T.axis.spatial({n}, i)
            T.reads(K[vi])
            T.writes(Y[vi])
            Y[vi] = K[vi] - T.float32(3)
""")
    return func, lambda a, x: (x + 1, 2 * a - 3)


def backwards(n: int) -> tuple[t.PrimFunc, Any]:
    """From the end, each value is made and added to the one before: the iteration before this one made it."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n},), "float32"), Y: T.Buffer(({n},), "float32")):
    P = T.alloc_buffer(({n},), "float32")
    for i in T.serial({n}):
        with T.block("make"):
            vi = T.axis.spatial({n}, {n - 1} - i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
        with T.block("add"):
            vi = T.axis.spatial({n}, {n - 1} - i)
            T.where(1 <= i)
            T.reads(P[vi], P[vi + 1])
            T.writes(Y[vi])
            Y[vi] = P[vi] + P[vi + 1]
""")
    return func, lambda x: np.append(2 * (x[:-1] + x[1:]), -7.0)


def staggered(times: int, n: int) -> tuple[t.PrimFunc, Any]:
    """Two columns, the second one row lower; what lies above it is made in the first pass only and read in each."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({times}, {2 * n}), "float32"), Y: T.Buffer(({times}, {n}, 2), "float32")):
    P = T.alloc_buffer(({n + 1}, 2), "float32")
    for t in T.serial({times}):
        with T.block("above"):
            T.where(t < 1)
            T.reads()
            T.writes(P[0, 1])
            P[0, 1] = T.float32(5)
        for i in T.serial({2 * n}):
            with T.block("make"):
                vt, vi = T.axis.remap("SS", [t, i])
                T.reads(X[vt, vi])
                T.writes(P[(vi + 1) // 2, vi % 2])
                P[(vi + 1) // 2, vi % 2] = X[vt, vi] * T.float32(2)
        for r, c in T.grid({n}, 2):
            with T.block("rows"):
                vt, vr, vc = T.axis.remap("SSS", [t, r, c])
                T.reads(P[vr, vc])
                T.writes(Y[vt, vr, vc])
                Y[vt, vr, vc] = P[vr, vc] + T.float32(1)
""")

    def meaning(x: np.ndarray) -> np.ndarray:
        made = np.full((times, n + 1, 2), 11.0)
        for i in range(2 * n):
            made[:, (i + 1) // 2, i % 2] = 2 * x[:, i] + 1
        made[:, 0, 1] = 6
        return made[:, :n]

    return func, meaning


def ragged(times: int, n: int) -> tuple[t.PrimFunc, Any]:
    """Rows of two, the last of them with one value; its other half is made in the first pass only and read in each."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({times}, {2 * n - 1}), "float32"), Y: T.Buffer(({times}, {n}, 2), "float32")):
    P = T.alloc_buffer(({n}, 2), "float32")
    for t in T.serial({times}):
        with T.block("last"):
            T.where(t < 1)
            T.reads()
            T.writes(P[{n - 1}, 1])
            P[{n - 1}, 1] = T.float32(5)
        for i in T.serial({2 * n - 1}):
            with T.block("make"):
                vt, vi = T.axis.remap("SS", [t, i])
                T.reads(X[vt, vi])
                T.writes(P[vi // 2, vi % 2])
                P[vi // 2, vi % 2] = X[vt, vi] * T.float32(2)
        for r, c in T.grid({n}, 2):
            with T.block("rows"):
                vt, vr, vc = T.axis.remap("SSS", [t, r, c])
                T.reads(P[vr, vc])
                T.writes(Y[vt, vr, vc])
                Y[vt, vr, vc] = P[vr, vc] + T.float32(1)
""")

    def meaning(x: np.ndarray) -> np.ndarray:
        made = np.concatenate([2 * x, np.full((times, 1), 5.0)], axis=1)
        return made.reshape(times, n, 2) + 1

    return func, meaning


def recomputed(rows: int, n: int) -> tuple[t.PrimFunc, Any]:
    """Each of several threads makes the two values that it adds: what is made twice is private to each."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({rows}, {n + 1}), "float32"), Y: T.Buffer(({rows}, {n}), "float32")):
    P = T.alloc_buffer(({rows}, {n + 1}), "float32")
    S = T.alloc_buffer(({rows}, {n}), "float32")
    for o in T.serial({rows}):
        for i in T.parallel({n}):
            for r in T.serial(2):
                with T.block("make"):
                    vo = T.axis.spatial({rows}, o)
                    vi = T.axis.spatial({n + 1}, i + r)
                    T.reads(X[vo, vi])
                    T.writes(P[vo, vi])
                    P[vo, vi] = X[vo, vi] * T.float32(2)
            with T.block("pair"):
                vo, vi = T.axis.remap("SS", [o, i])
                T.reads(P[vo, vi], P[vo, vi + 1])
                T.writes(S[vo, vi])
                S[vo, vi] = P[vo, vi] + P[vo, vi + 1]
    for o, i in T.grid({rows}, {n}):
        with T.block("after"):
            vo, vi = T.axis.remap("SS", [o, i])
            T.reads(S[vo, vi])
            T.writes(Y[vo, vi])
            Y[vo, vi] = S[vo, vi] + T.float32(1)
""")
    return func, lambda x: 2 * (x[:, :-1] + x[:, 1:]) + 1


def scratch(rows: int, n: int) -> tuple[t.PrimFunc, Any]:
    """Each of several threads keeps two values in the same two places: these are private to each."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({rows}, {n + 1}), "float32"), Y: T.Buffer(({rows}, {n}), "float32")):
    P = T.alloc_buffer((2,), "float32")
    for o in T.serial({rows}):
        for i in T.parallel({n}):
            for r in T.serial(2):
                with T.block("keep"):
                    vo, vi, vr = T.axis.remap("SSS", [o, i, r])
                    T.reads(X[vo, vi + vr])
                    T.writes(P[vr])
                    P[vr] = X[vo, vi + vr] * T.float32(2)
            with T.block("pair"):
                vo, vi = T.axis.remap("SS", [o, i])
                T.reads(P[0], P[1])
                T.writes(Y[vo, vi])
                Y[vo, vi] = P[0] - P[1]
""")
    return func, lambda x: 2 * (x[:, :-1] - x[:, 1:])


def revisited(n: int) -> tuple[t.PrimFunc, Any]:
    """Row after row of a table is filled, and its diagonal read meanwhile: up to there it is of the row before."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {n}), "float32"), Y: T.Buffer(({n}, {n}), "float32")):
    P = T.alloc_buffer(({n},), "float32")
    for i, j in T.grid({n}, {n}):
        with T.block("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj])
            T.writes(P[vj])
            P[vj] = X[vi, vj] * T.float32(2)
        with T.block("look"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(P[vi])
            T.writes(Y[vi, vj])
            Y[vi, vj] = P[vi] + T.float32(1)
""")

    def meaning(x: np.ndarray) -> np.ndarray:
        row, column = np.indices(x.shape)
        return 2 * x[np.where(column < row, row - 1, row), row] + 1

    return func, meaning


def folded(n: int) -> tuple[t.PrimFunc, Any]:
    """In one loop a value is made, put away by pairs, and fetched: by its place alone, all would have to be there."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n},), "float32"), Y: T.Buffer(({n}, 2), "float32")):
    P = T.alloc_buffer(({n},), "float32")
    Q = T.alloc_buffer(({(n + 1) // 2}, 2), "float32")
    for i in T.serial({n}):
        with T.block("make"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
        with T.block("put"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi])
            T.writes(Q[vi // 2, vi % 2])
            Q[vi // 2, vi % 2] = P[vi] + T.float32(1)
        for u in T.serial(2):
            with T.block("fetch"):
                vi, vu = T.axis.remap("SS", [i, u])
                T.reads(Q[vi // 2, vi % 2])
                T.writes(Y[vi, vu])
                Y[vi, vu] = Q[vi // 2, vi % 2] - T.float32(3)
""")
    return func, lambda x: np.repeat((2 * x - 2)[:, None], 2, axis=1)
