"""One node object at several places of a program: what is read once must not outlive a change of its memory.

Programs are compared with the interpreter, with the same program of which every place has a node of its own, and with
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.codegen.support import function
from workbench.core.equal import structural_equal
from workbench.core.node import children, rewrite
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret

HEAD = """
def f(A: T.Buffer((8,), "float32"), E: T.Buffer((1,), "int32"), C: T.Buffer((8,), "float32")):
"""
NEXT = (
    'T.float32(T.call_packed("test.shared_nodes.next", '
    'T.tvm_stack_make_array(T.address_of(E[0]), T.tvm_stack_make_shape(1), 0, 1, T.int32(0), 0), dtype="int32"))'
)
"""Zero; E is three times itself and 1, modulo 8."""
PLAIN = NEXT.removeprefix("T.float32(")[:-1]
INNER = f"C[i] = T.float32(E[0]) + {NEXT} + T.float32(E[0]) * T.float32(16.0)"
BODIES: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray, np.ndarray], None]]] = {}


def following(e: np.ndarray) -> int:
    e[0] = (3 * e[0] + 1) % 8
    return 0


def program(name: str, body: str) -> Callable[[Any], Any]:
    def enter(numpy: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> Any:
        BODIES[name] = (body, numpy)
        return numpy

    return enter


@program("a call between two loads of one store", f"    for i in T.serial(8):\n        {INNER}\n")
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        before = e[0]
        following(e)
        c[i] = before + 16 * e[0]


@program("the same unrolled", f"    for i in T.unroll(8):\n        {INNER}\n")
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    BODIES["a call between two loads of one store"][1](a, e, c)


@program("a store between two stores", """    for i in T.serial(8):
        C[i] = A[i] * 2.0
        A[i] = A[i] + 1.0
        C[i] = C[i] + A[i]
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    c[:] = 2 * a
    a[:] = a + 1
    c[:] = c + a


@program("a store between, lanes", """    C[T.ramp(0, 1, 8)] = A[T.ramp(0, 1, 8)] * T.broadcast(T.float32(2.0), 8)
    A[T.ramp(0, 1, 8)] = A[T.ramp(0, 1, 8)] + C[T.ramp(0, 1, 8)]
    C[T.ramp(0, 1, 8)] = C[T.ramp(0, 1, 8)] + A[T.ramp(0, 1, 8)]
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    c[:] = 2 * a
    a[:] = a + c
    c[:] = c + a


@program("an index that a call writes", f"""    for i in T.serial(8):
        E[0] = T.int32(i) % 4
        C[E[0]] = A[E[0]] + {NEXT} + A[E[0]]
        C[(E[0] + 1) % 8] = A[E[0]]
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        e[0] = i % 4
        before = a[e[0]]
        following(e)
        c[e[0]] = before + a[e[0]]
        c[(e[0] + 1) % 8] = a[e[0]]


@program("a condition and its arms", f"""    for i in T.serial(8):
        C[i] = T.if_then_else(T.float32(E[0]) < 3.0, T.float32(E[0]) + {NEXT}, T.float32(E[0])) + T.float32(E[0])
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        found = np.float32(e[0])
        if found < 3:
            following(e)
        c[i] = found + e[0]


@program("a packed call between", """    for i in T.serial(8):
        C[i] = A[i]
        T.evaluate(T.call_packed("test.shared_nodes.double", T.tvm_stack_make_array(
            T.address_of(A[0]), T.tvm_stack_make_shape(8), 0, 1, T.float32(0.0), 0), dtype="int32"))
        C[i] = C[i] + A[i]
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        c[i] = a[i]
        a[:] = 2 * a
        c[i] += a[i]


@program("a local that is added to", """    L = T.alloc_buffer((8,), "float32", scope="local")
    for i in T.serial(8):
        L[0] = A[i]
        for j in T.serial(4):
            L[0] = L[0] + A[i] * T.float32(j)
            A[i] = L[0] + A[i]
        C[i] = L[0] + A[i]
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        total = a[i]
        for j in range(4):
            total = total + a[i] * j
            a[i] = total + a[i]
        c[i] = total + a[i]


@program("whole numbers", f"""    for i in T.serial(8):
        C[i] = T.float32(E[0] + {PLAIN} + E[0] - E[0] * 2)
        C[i] = C[i] + T.float32(E[0])
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        before = e[0]
        following(e)
        c[i] = before + e[0] - 2 * e[0] + e[0]


@program("a comparison", f"""    for i in T.serial(8):
        C[i] = T.Select(E[0] > {PLAIN} + E[0], T.float32(100), T.float32(E[0]))
        C[i] = C[i] + T.if_then_else(E[0] == {PLAIN} + E[0], T.float32(1000), T.float32(2000))
        if E[0] * 2 <= {PLAIN} + E[0] * 2:
            C[i] = C[i] + T.float32(0.5)
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        before = e[0]
        following(e)
        c[i] = 100 if before > e[0] else e[0]
        before = e[0]
        following(e)
        c[i] += 1000 if before == e[0] else 2000
        before = e[0]
        following(e)
        if before <= e[0]:
            c[i] += 0.5


@program("a let within an expression", f"""    for i in T.serial(8):
        C[i] = {NEXT} + T.Let(w, T.float32(E[0]), w * w + {NEXT} + w * T.float32(E[0])) + T.float32(E[0])
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        following(e)
        w = e[0]
        following(e)
        c[i] = w * w + w * e[0] + e[0]


@program("calls that are shared", f"""    for i in T.serial(8):
        C[i] = T.float32(E[0]) + {NEXT} + {NEXT} + T.float32(E[0])
        C[i] = C[i] + {NEXT} + T.float32(E[0])
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        before = e[0]
        following(e)
        following(e)
        c[i] = before + e[0]
        following(e)
        c[i] += e[0]


@program("a chosen call", f"""    for i in T.serial(8):
        C[i] = T.Select(E[0] < 4, T.float32(E[0]), A[i]) + T.if_then_else(
            E[0] % 2 == 0, T.if_then_else(E[0] > 3, {NEXT} + T.float32(E[0]), T.float32(E[0])), T.float32(E[0]) + {NEXT}
        ) + T.float32(E[0])
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        total = float(e[0]) if e[0] < 4 else a[i]
        if e[0] % 2 == 0:
            if e[0] > 3:
                following(e)
            total = total + e[0]
        else:
            total = total + e[0]
            following(e)
        c[i] = total + e[0]


@program("a let that holds the value before", f"""    for i in T.serial(8):
        v = T.float32(E[0])
        C[i] = v + {NEXT} + T.float32(E[0]) * 16.0 + v
""")  # fmt: skip
def _(a: np.ndarray, e: np.ndarray, c: np.ndarray) -> None:
    for i in range(8):
        before = e[0]
        following(e)
        c[i] = before + e[0] * 16 + before


def shared(func: t.PrimFunc) -> t.PrimFunc:
    """The function in which equal expressions are one object each."""
    held: list[Any] = []

    def post(node: Any) -> Any:
        if not isinstance(node, wb.tir.PrimExpr) or isinstance(node, wb.tir.Var):
            return None
        known = next((one for one in held if type(one) is type(node) and structural_equal(one, node)), None)
        if known is None:
            held.append(node)
        return known

    return func.replace(body=rewrite(func.body, post, lambda node: node if isinstance(node, t.Buffer) else None))


def repeated(func: t.PrimFunc) -> int:
    """How many places of loads stand for a node that stands at another place, too."""
    places, stack = [], [func.body]
    while stack:
        node = stack.pop()
        places += [id(node)] if isinstance(node, t.BufferLoad) else []
        stack += children(node)
    return len(places) - len(set(places))


@pytest.fixture(scope="module", autouse=True)
def doubling() -> Any:
    def double(array: Any) -> None:
        held = np.from_dlpack(array)
        held *= 2

    wb.register_func("test.shared_nodes.next", lambda array: following(np.from_dlpack(array)), override=True)
    wb.register_func("test.shared_nodes.double", double, override=True)


@pytest.mark.parametrize("name", BODIES)
def test_a_shared_node_is_read_at_each_of_its_places(name: str) -> None:
    text, numpy = BODIES[name]
    own = function(HEAD + text)
    one = shared(own)
    assert repeated(one) > repeated(own), "nothing is shared"
    results = {}
    for how, run in {
        "NumPy": numpy,
        "interpreted": lambda *arrays: interpret(one, *arrays),
        "nodes of their own": wb.build(own)["f"],
        "shared nodes": wb.build(one)["f"],
    }.items():
        arrays = (np.float32(1.5) * np.float32(2) ** np.arange(-2, 6, dtype="float32"), np.array([2], "int32"),
                  np.zeros(8, "float32"))  # fmt: skip
        run(*arrays)
        results[how] = arrays
    for how, arrays in results.items():
        for found, expected in zip(arrays, results["NumPy"], strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=how)
