"""Lesson 05, tensor expressions and topi: a sum of squares, a window, a layer from the inventory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import te
from ...tir.nodes import IterKind
from ..checks import holds, same_numbers
from ..exercise import Exercise
from ..work import Work


def copied(n: int, m: int) -> Any:
    """B = A"""
    a = te.placeholder((n, m), name="A")
    return te.create_prim_func([a, te.compute((n, m), lambda i, j: a[i, j], name="B")])


def copied_layer(n: int, k: int, m: int) -> Any:
    """Y = X, its columns repeated."""
    x = te.placeholder((n, k), name="X")
    return te.create_prim_func([x, te.compute((n, m), lambda i, j: x[i, j % k], name="Y")])


def window(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    rows, columns = a.shape[0] - 2, a.shape[1] - 2
    return sum(w[y, x] * a[y : y + rows, x : x + columns] for y in range(3) for x in range(3))  # type: ignore[return-value]


def _blocks(limit: int) -> Any:
    def test(work: Work) -> Any:
        count = sum(name != "root" for name in work.tree.blocks)
        return True if count <= limit else f"the program has {count} stages; {limit} are enough"

    return test


def _reduces(count: int) -> Any:
    """One block sums over `count` axes of its own, so that nothing is written out by hand."""

    def test(work: Work) -> Any:
        most = max(
            (sum(v.kind is IterKind.REDUCE for v in site.block.iter_vars) for site in work.tree.leaves), default=0
        )
        return True if most == count else f"the sum runs over {most} reduction axes; wanted are {count}"

    return test


EXERCISES = (
    Exercise(
        id="05_1",
        title="The length of a row",
        goal="Write tensor expressions for `B[i]`, the sum of the squares of row i of an array A of n rows and m "
        "columns (float32). "
        "Return the input, then the output.",
        start=copied,
        shapes={"n": (12, 10, 14), "m": (20, 18, 24)},
        answer="tensors",
        checks=(
            same_numbers(lambda a: (a * a).sum(1), points=3),
            holds("one reduction axis", _reduces(1), "nothing is summed", points=0),
        ),
        hints={
            "the same numbers as NumPy": (
                "A sum needs an axis to run over: te.reduce_axis((0, m), name=...); te.sum(expression, axis=...) "
                "sums over it.",
                'k = te.reduce_axis((0, m), name="k")\nte.compute((n,), lambda i: te.sum(A[i, k] * ..., axis=k), '
                'name="B")',
            )
        },
        template='    A = te.placeholder((n, m), name="A")\n    B = te.compute((n,), lambda i: A[i, 0], name="B")  # '
        "not yet\n    return [A, B]",
    ),
    Exercise(
        id="05_2",
        title="A window",
        goal="C is a 3 x 3 window W moved over A (n rows, m columns), without padding: `C[i, j]` is the sum of "
        "`A[i + y, j + x] * W[y, x]`. Its shape follows. Return A, W, C.",
        start=copied,
        shapes={"n": (10, 12, 9), "m": (14, 11, 13)},
        answer="tensors",
        checks=(
            same_numbers(window, points=3),
            holds("two reduction axes", _reduces(2), "nothing is summed", points=0),
        ),
        hints={
            "the same numbers as NumPy": (
                "At how many rows can the window begin? That is the shape. The sum runs over two axes, which stand "
                "in a list.",
                'te.compute((n - 2, m - 2), lambda i, j: te.sum(A[i + y, ...] * W[y, x], axis=[y, x]), name="C")',
            )
        },
        template='    A = te.placeholder((n, m), name="A")\n    W = te.placeholder((3, 3), name="W")\n'
        '    C = te.compute((n, m), lambda i, j: A[i, j] * W[0, 0], name="C")  # not yet\n    return [A, W, C]',
    ),
    Exercise(
        id="05_3",
        title="From the inventory",
        goal="A layer of a network: the positive part of X (n rows, k columns) times the transpose of W (m rows, k "
        "columns), plus a bias b of m numbers. "
        "Take the operators from `topi`, at most three of them. Return X, W, b and the result.",
        start=copied_layer,
        shapes={"n": (4, 6, 5), "k": (16, 12, 20), "m": (10, 8, 14)},
        answer="tensors",
        checks=(
            same_numbers(lambda x, w, b: np.maximum(x @ w.T + b, 0), points=2),
            holds("at most three stages", _blocks(3), "too many stages", points=0),
        ),
        hints={
            "the same numbers as NumPy": (
                "topi.add adds with NumPy's rules of shapes; topi.nn.relu is the positive part. dir(topi.nn) lists "
                "more.",
                "topi.nn.relu(topi.add(..., b))",
            )
        },
        template='    X = te.placeholder((n, k), name="X")\n    W = te.placeholder((m, k), name="W")\n    b = '
        'te.placeholder((m,), name="b")\n'
        "    Y = topi.nn.dense(X, W)  # not yet\n    return [X, W, b, Y]",
    ),
)
