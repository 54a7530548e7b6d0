"""Functions whose buffers may overlap: by attribute, by the classic one and by the option of the context."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import WorkbenchError
from workbench.core.transform import PassContext
from workbench.tir.script import parse

ATTRIBUTES = {"attribute": '"noalias": False', "classic attribute": '"tir.noalias": False', "option": '"note": 0'}
COUNT = 16


def program(attribute: str, kind: str = "serial") -> Any:
    """Running sums that go wrong where a read moves over a write of the same memory: read, write, read again."""
    return parse(f"""
@T.prim_func
def f(A: T.Buffer(({COUNT},), "float32"), B: T.Buffer(({COUNT},), "float32"), C: T.Buffer((1,), "float32")):
    T.func_attr({{{attribute}}})
    for i in T.{kind}({COUNT}):
        B[i] = C[0] + A[i]
        C[0] = B[i] + C[0]
        B[i] = A[i] + C[0]
""")


def in_order(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for i in range(COUNT):
        b[i] = c[0] + a[i]
        c[0] = b[i] + c[0]
        b[i] = a[i] + c[0]


def views(shared: np.ndarray, layout: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and C in one memory."""
    first = {"same": 0, "shifted": 1, "behind": 0}[layout]
    second = {"same": 0, "shifted": 0, "behind": 1}[layout]
    place = {"same": 3, "shifted": 4, "behind": 5}[layout]
    return shared[first : first + COUNT], shared[second : second + COUNT], shared[place : place + 1]


@pytest.mark.parametrize("kind", ["serial", "unroll"])
@pytest.mark.parametrize("way", ATTRIBUTES)
def test_buffers_may_overlap_where_that_is_said(way: str, kind: str) -> None:
    context = PassContext(config={"tir.noalias": False}) if way == "option" else nullcontext()
    with context:
        session = wb.open(program(ATTRIBUTES[way], kind))
        built = session.build()
        run = wb.build(program(ATTRIBUTES[way], kind))["f"]
    for function in (run, built["f"]):
        for layout in ("same", "shifted", "behind"):
            found = np.linspace(1, 2, COUNT + 1, dtype=np.float32)
            wanted = found.copy()
            function(*views(found, layout))
            in_order(*views(wanted, layout))
            np.testing.assert_array_equal(found, wanted, err_msg=layout)
    text = built.get_source("ll", "f")
    assert not re.search(r"noalias align|readonly", text)


def test_threads_of_a_loop_whose_buffers_may_overlap() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"noalias": %s})
    for i in T.parallel(64):
        B[i] = A[i] + T.float32(1)
"""
    found = {said: wb.build(parse(text % said)).get_source("ll", "f") for said in (True, False)}
    assert re.search(r"ptr noalias %c\d", found[True]) and re.search(r"ptr %c\d", found[False])
    assert not re.search(r"ptr noalias %c\d", found[False])


def test_buffers_that_overlap_are_refused_elsewhere() -> None:
    shared = np.ones(COUNT + 1, np.float32)
    with pytest.raises(WorkbenchError) as caught:
        wb.build(program(ATTRIBUTES["option"]))["f"](*views(shared, "same"))
    assert caught.value.code == "E-CALL-OVERLAP"
    np.testing.assert_array_equal(shared, np.ones(COUNT + 1, np.float32))
