"""Programs that sum: in part, in tiles, late, backwards, again; what was added so far is read, or summed itself.

Each is one step away from a mistake about where a sum starts, what it has added, and when it is finished.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.property.offset_programs import function_of, parsed
from workbench.tir import nodes as t


def partial_sum(n: int, k: int, until: int) -> tuple[t.PrimFunc, Any]:
    """The sum of the first `until` of `k` values in a row."""
    func = function_of((n, k), (n,), {}, f"""
    for i, k in T.grid({n}, {k}):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(k < {until})
            T.reads(X[vi, vk])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
""")  # fmt: skip
    return func, lambda x: x[:, :until].sum(axis=1)


def tailed_sum(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """Rows and values in tiles that do not divide them."""
    func = function_of((n, k), (n,), {}, f"""
    for i_0, i_1, k_0, k_1 in T.grid({-(-n // 2)}, 2, {-(-k // 3)}, 3):
        with T.block("sum"):
            vi = T.axis.spatial({n}, i_0 * 2 + i_1)
            vk = T.axis.reduce({k}, k_0 * 3 + k_1)
            T.where(i_0 * 2 + i_1 < {n} and k_0 * 3 + k_1 < {k})
            T.reads(X[vi, vk])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
""")  # fmt: skip
    return func, lambda x: x.sum(axis=1)


def skewed_sum(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """A sum over k whose rows are told from both loops: taken row by row, the last value would come first."""
    func = function_of((n, k), (n,), {}, f"""
    for k, i in T.grid({k}, {n + k - 1}):
        with T.block("sum"):
            vi = T.axis.spatial({n}, i + k - {k - 1})
            vk = T.axis.reduce({k}, k)
            T.where({k - 1} <= i + k and i + k < {n + k - 1})
            T.reads(X[vi, vk])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
""")  # fmt: skip
    return func, lambda x: x.sum(axis=1)


def continued(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """The first value of each row is set, the others are added: the sum's own start is never run."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n},), "float32")):
    for i in T.serial({n}):
        with T.block("first"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[vi, 0])
            T.writes(Y[vi])
            Y[vi] = X[vi, 0] * T.float32(2)
    for i, k in T.grid({n}, {k - 1}):
        with T.block("others"):
            vi = T.axis.spatial({n}, i)
            vk = T.axis.reduce({k}, k + 1)
            T.reads(X[vi, vk])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
""")
    return func, lambda x: 2 * x[:, 0] + x[:, 1:].sum(axis=1)


def reversed_sum(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """The last iteration is the first of the domain: its start wipes out what was added to the caller's values."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n},), "float32")):
    P = T.alloc_buffer(({n}, {k}), "float32")
    for i, k in T.grid({n}, {k}):
        with T.block("make"):
            vi, vk = T.axis.remap("SS", [i, k])
            T.reads(X[vi, vk])
            T.writes(P[vi, vk])
            P[vi, vk] = X[vi, vk] * T.float32(2)
    for i, k in T.grid({n}, {k}):
        with T.block("sum"):
            vi = T.axis.spatial({n}, i)
            vk = T.axis.reduce({k}, {k - 1} - k)
            T.reads(P[vi, vk])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(3)
            Y[vi] = Y[vi] + P[vi, vk]
""")
    return func, lambda x: 2 * x[:, 0] + 3


def short_sum(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """The loop of a sum ends one value before the domain does."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n},), "float32")):
    S = T.alloc_buffer(({n},), "float32")
    for i, k in T.grid({n}, {k - 1}):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(X[vi, vk])
            T.writes(S[vi])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
    for i in T.serial({n}):
        with T.block("after"):
            vi = T.axis.spatial({n}, i)
            T.reads(S[vi])
            T.writes(Y[vi])
            Y[vi] = S[vi] * T.float32(2)
""")
    return func, lambda x: 2 * x[:, :-1].sum(axis=1)


def running_sum(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """What has been added so far is kept in each iteration of the sum, and used when all is done."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n}, {k}), "float32")):
    S = T.alloc_buffer(({n},), "float32")
    R = T.alloc_buffer(({n}, {k}), "float32")
    for i, k in T.grid({n}, {k}):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(X[vi, vk])
            T.writes(S[vi])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
        with T.block("so_far"):
            vi, vk = T.axis.remap("SS", [i, k])
            T.reads(S[vi])
            T.writes(R[vi, vk])
            R[vi, vk] = S[vi] * T.float32(2)
    for i, k in T.grid({n}, {k}):
        with T.block("after"):
            vi, vk = T.axis.remap("SS", [i, k])
            T.reads(R[vi, vk])
            T.writes(Y[vi, vk])
            Y[vi, vk] = R[vi, vk] + T.float32(1)
""")
    return func, lambda x: 2 * x.cumsum(axis=1) + 1


def lagging_sum(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """Each iteration of a sum makes a value and adds it to the one that the iteration before made."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n},), "float32")):
    P = T.alloc_buffer(({n}, {k + 1}), "float32")
    for i in T.serial({n}):
        with T.block("first"):
            vi = T.axis.spatial({n}, i)
            T.reads()
            T.writes(P[vi, 0])
            P[vi, 0] = T.float32(5)
    for i, k in T.grid({n}, {k}):
        with T.block("make"):
            vi, vk = T.axis.remap("SS", [i, k])
            T.reads(X[vi, vk])
            T.writes(P[vi, vk + 1])
            P[vi, vk + 1] = X[vi, vk] * T.float32(2)
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(P[vi, vk], P[vi, vk + 1])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + P[vi, vk] * P[vi, vk + 1]
""")

    def meaning(x: np.ndarray) -> np.ndarray:
        made = np.concatenate([np.full((n, 1), 5.0), 2 * x], axis=1)
        return (made[:, :-1] * made[:, 1:]).sum(axis=1)

    return func, meaning


def sum_of_sums(n: int, k: int) -> tuple[t.PrimFunc, Any]:
    """Rows are summed, then their sums: each of these is to be added once, when it is finished."""
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer((1,), "float32")):
    S = T.alloc_buffer(({n},), "float32")
    for i, k in T.grid({n}, {k}):
        with T.block("rows"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(X[vi, vk])
            T.writes(S[vi])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
    for i in T.serial({n}):
        with T.block("all"):
            v = T.axis.spatial(1, 0)
            vi = T.axis.reduce({n}, i)
            T.reads(S[vi])
            T.writes(Y[v])
            with T.init():
                Y[v] = T.float32(0)
            Y[v] = Y[v] + S[vi]
""")
    return func, lambda x: x.sum().reshape(1)


def summed_again(times: int, n: int, k: int, inside: int = 0) -> tuple[t.PrimFunc, Any]:
    """Sums made several times over, from the start each time; or, with the times `inside`, each value but the first
    added as often."""
    loops = "i, k, t in T.grid({1}, {2}, {0})" if inside else "t, i, k in T.grid({0}, {1}, {2})"
    func = parsed(f"""
@T.prim_func
def main(X: T.Buffer(({n}, {k}), "float32"), Y: T.Buffer(({n},), "float32")):
    for {loops.format(times, n, k)}:
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(X[vi, vk])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]
""")
    return func, lambda x: x[:, 0] + x[:, 1:].sum(axis=1) * (times if inside else 1)
