"""Programs that `te.compute` does not make: writes at an offset, with gaps, in part, again; reads of one column.

Each is one step away from a mistake about the elements of an iteration.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from workbench.tir import nodes as t
from workbench.tir.script import parse


@lru_cache
def parsed(text: str) -> t.PrimFunc:
    """The one function of a text."""
    func = parse(text)
    assert isinstance(func, t.PrimFunc)
    return func


def function_of(x: tuple[int, ...], y: tuple[int, ...], buffers: dict[str, tuple[int, ...]], body: str) -> t.PrimFunc:
    """A function of X and Y whose text ends in `body`, with `buffers` allocated."""
    made = "".join(f'    {name} = T.alloc_buffer({shape}, "float32")\n' for name, shape in buffers.items())
    head = f'@T.prim_func\ndef main(X: T.Buffer({x}, "float32"), Y: T.Buffer({y}, "float32")):\n'
    return parsed(head + made + body)


def shifted(n: int) -> tuple[t.PrimFunc, Any]:
    """M[i + 1] is made from X[i]; two neighbours are added."""
    func = function_of((n + 1,), (n,), {"M": (n + 2,)}, f"""
    for i in T.serial({n + 1}):
        with T.block("make"):
            vi = T.axis.spatial({n + 1}, i)
            T.reads(X[vi])
            T.writes(M[vi + 1])
            M[vi + 1] = X[vi] * T.float32(2)
    for i in T.serial({n}):
        with T.block("add"):
            vi = T.axis.spatial({n}, i)
            T.reads(M[vi + 1], M[vi + 2])
            T.writes(Y[vi])
            Y[vi] = M[vi + 1] + M[vi + 2]
""")  # fmt: skip
    return func, lambda x: 2 * (x[:-1] + x[1:])


def outer_sum(n: int) -> tuple[t.PrimFunc, Any]:
    """Two vectors made in one loop, then every sum of one of each."""
    func = function_of((n,), (n, n), {"P": (n,), "Q": (n,)}, f"""
    for i in T.serial({n}):
        with T.block("rows"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
        with T.block("columns"):
            vj = T.axis.spatial({n}, i)
            T.reads(X[vj])
            T.writes(Q[vj])
            Q[vj] = X[vj] + T.float32(1)
    for i, j in T.grid({n}, {n}):
        with T.block("sums"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(P[vi], Q[vj])
            T.writes(Y[vi, vj])
            Y[vi, vj] = P[vi] + Q[vj]
""")  # fmt: skip
    return func, lambda x: 2 * x[:, None] + x[None, :] + 1


def interleaved(a: int, b: int) -> tuple[t.PrimFunc, Any]:
    """Each row of X is spread over every `a`-th element; only all of them together leave no gap."""
    func = function_of((a, b), (a * b,), {"P": (a * b,)}, f"""
    for i, j in T.grid({a}, {b}):
        with T.block("spread"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj])
            T.writes(P[vj * {a} + vi])
            P[vj * {a} + vi] = X[vi, vj] * T.float32(2)
    for k in T.serial({a * b}):
        with T.block("after"):
            vk = T.axis.spatial({a * b}, k)
            T.reads(P[vk])
            T.writes(Y[vk])
            Y[vk] = P[vk] + T.float32(1)
""")  # fmt: skip
    return func, lambda x: 2 * x.T.reshape(-1) + 1


def column(n: int, m: int) -> tuple[t.PrimFunc, Any]:
    """Of a whole stage one column is read."""
    func = function_of((n, m), (n,), {"P": (n, m)}, f"""
    for i, j in T.grid({n}, {m}):
        with T.block("make"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj])
            T.writes(P[vi, vj])
            P[vi, vj] = X[vi, vj] * T.float32(2)
    for i in T.serial({n}):
        with T.block("first"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi, 0])
            T.writes(Y[vi])
            Y[vi] = P[vi, 0] + T.float32(1)
""")  # fmt: skip
    return func, lambda x: np.asarray(2 * x[:, 0] + 1)


def partial(n: int, m: int) -> tuple[t.PrimFunc, Any]:
    """The last row of the result, and of each row the last element, are never written."""
    func = function_of((n, m), (n, m), {"P": (n, m)}, f"""
    for i, j in T.grid({n}, {m}):
        with T.block("make"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj])
            T.writes(P[vi, vj])
            P[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid({n}, {m}):
        with T.block("most"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i < {n - 1} and j < {m - 1})
            T.reads(P[vi, vj])
            T.writes(Y[vi, vj])
            Y[vi, vj] = P[vi, vj] + T.float32(1)
""")  # fmt: skip

    def meaning(x: np.ndarray) -> np.ndarray:
        made = np.full_like(x, -7)
        made[:-1, :-1] = 2 * x[:-1, :-1] + 1
        return made

    return func, meaning


def repeated(n: int, times: int, index: str) -> tuple[t.PrimFunc, Any]:
    """Every element is doubled several times: `index` of the loop is the same in several iterations."""
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer(({n}, 2), "float32")):
    for i, j in T.grid({n * times}, 2):
        with T.block("twice"):
            vi = T.axis.spatial({n}, {index})
            vj = T.axis.spatial(2, j)
            T.reads(A[vi, vj])
            T.writes(A[vi, vj])
            A[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(1)
""")  # fmt: skip
    return func, lambda a: a * 2.0**times + (2.0**times - 1)


def rewritten(n: int) -> tuple[t.PrimFunc, Any]:
    """A buffer is read, written again, and read again."""
    func = function_of((n,), (n,), {"P": (n,), "K": (n,)}, f"""
    for i in T.serial({n}):
        with T.block("make"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
    for i in T.serial({n}):
        with T.block("keep"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi])
            T.writes(K[vi])
            K[vi] = P[vi] + T.float32(1)
    for i in T.serial({n}):
        with T.block("again"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] - T.float32(3)
    for i in T.serial({n}):
        with T.block("both"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi], K[vi])
            T.writes(Y[vi])
            Y[vi] = P[vi] * K[vi]
""")  # fmt: skip
    return func, lambda x: (x - 3) * (2 * x + 1)


def short(n: int) -> tuple[t.PrimFunc, Any]:
    """The loop ends one iteration before the domain: the last element is never written."""
    func = function_of((n,), (n,), {"P": (n,)}, f"""
    for i in T.serial({n}):
        with T.block("make"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
    for i in T.serial({n - 1}):
        with T.block("most"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi])
            T.writes(Y[vi])
            Y[vi] = P[vi] + T.float32(1)
""")  # fmt: skip
    return func, lambda x: np.append(2 * x[:-1] + 1, -7.0)


def upsampled(n: int) -> tuple[t.PrimFunc, Any]:
    """Each value stands for four; windows of three of these, two apart, are summed."""
    func = function_of((n + 1,), (2 * n,), {"P": (n + 1,)}, f"""
    for i in T.serial({n + 1}):
        with T.block("make"):
            vi = T.axis.spatial({n + 1}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
    for i, r in T.grid({2 * n}, 3):
        with T.block("window"):
            vi, vr = T.axis.remap("SR", [i, r])
            T.reads(P[(2 * vi + vr) // 4])
            T.writes(Y[vi])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + P[(2 * vi + vr) // 4]
""")  # fmt: skip
    return func, lambda x: np.array([2 * x[[(2 * i + r) // 4 for r in range(3)]].sum() for i in range(2 * n)])


def banked(n: int) -> tuple[t.PrimFunc, Any]:
    """Pairs are kept with an empty place after every second one, as banks of shared memory are padded."""
    func = function_of((n,), (n,), {"P": ((n - 1) // 2 + (n - 1) // 4 + 1,)}, f"""
    for i in T.serial({(n - 1) // 2 + (n - 1) // 4 + 1}):
        with T.block("make"):
            vi = T.axis.spatial({(n - 1) // 2 + (n - 1) // 4 + 1}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
    for i in T.serial({n}):
        with T.block("pairs"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi // 2 + vi // 4])
            T.writes(Y[vi])
            Y[vi] = P[vi // 2 + vi // 4] + T.float32(1)
""")  # fmt: skip
    return func, lambda x: np.array([2 * x[i // 2 + i // 4] + 1 for i in range(n)])


def sharpened(n: int) -> tuple[t.PrimFunc, Any]:
    """In one loop a value is kept, and the sum of it and its neighbours taken from it."""
    func = function_of((n + 2,), (n,), {"P": (n + 2,), "K": (n,), "S": (n,)}, f"""
    for i in T.serial({n + 2}):
        with T.block("make"):
            vi = T.axis.spatial({n + 2}, i)
            T.reads(X[vi])
            T.writes(P[vi])
            P[vi] = X[vi] * T.float32(2)
    for i in T.serial({n}):
        with T.block("middle"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi + 1])
            T.writes(K[vi])
            K[vi] = P[vi + 1] * T.float32(3)
        for r in T.serial(3):
            with T.block("window"):
                vi, vr = T.axis.remap("SR", [i, r])
                T.reads(P[vi + vr])
                T.writes(S[vi])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + P[vi + vr]
        with T.block("sharp"):
            vi = T.axis.spatial({n}, i)
            T.reads(K[vi], S[vi])
            T.writes(Y[vi])
            Y[vi] = K[vi] - S[vi]
""")  # fmt: skip
    return func, lambda x: 6 * x[1:-1] - 2 * (x[:-2] + x[1:-1] + x[2:])


def odd_elements(n: int) -> tuple[t.PrimFunc, Any]:
    """Every second element, and zeros where there is none."""
    func = function_of((n,), (n,), {"P": (n,)}, f"""
    for i in T.serial({n}):
        with T.block("take"):
            vi = T.axis.spatial({n}, i)
            T.reads(X[0:{n}])
            T.writes(P[vi])
            P[vi] = T.if_then_else(vi * 2 + 1 < {n}, X[vi * 2 + 1], T.float32(0))
    for i in T.serial({n}):
        with T.block("after"):
            vi = T.axis.spatial({n}, i)
            T.reads(P[vi])
            T.writes(Y[vi])
            Y[vi] = P[vi] + T.float32(1)
""")  # fmt: skip
    return func, lambda x: np.append(x[1::2], np.zeros(n - len(x[1::2]))) + 1
