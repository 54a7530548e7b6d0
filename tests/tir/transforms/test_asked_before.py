"""Simplify puts a loop behind the conditions of its body that it does not change; what is decided is not emitted."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.support import artefact, build, function
from workbench.codegen.llvm.facts import needs_one_pass
from workbench.core.module import IRModule
from workbench.core.node import pre_order
from workbench.core.transform import PASSES
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import script
from workbench.tir.transforms.pipeline import lower

ROWS = """
def rows(A: T.Buffer((28, 32), "float32"), N: T.Buffer((1,), "int32"), C: T.Buffer((28, 32), "float32")):
    for io in T.serial(4):
        for ii in T.{kind}(7):
            for j in T.{inner}(32):
                if {condition}:
                    C[io * 7 + ii, j] = A[io * 7 + ii, j] + T.float32(1)
"""


def simplified(text: str) -> t.PrimFunc:
    return PASSES["Simplify"]()(IRModule({"f": function(text)}))["f"]


def nesting(func: t.PrimFunc) -> list[str]:
    """Loops and conditions of a nest from outside in."""
    steps = (node for node in pre_order(func.body, t.Stmt) if isinstance(node, (t.For, t.IfThenElse)))
    return [step.var.name if isinstance(step, t.For) else "if" for step in steps]


@pytest.mark.parametrize("inner", ["serial", "unroll", "vectorized"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("io * 7 + ii < 27", ["io", "ii", "if", "j"]),
        ("io < 3", ["io", "if", "ii", "j"]),
        ("io * 7 + ii < 27 and j < 20", ["io", "ii", "if", "j", "if"]),
        ("j < 20 and io < 2 and ii < 3", ["io", "if", "ii", "if", "j", "if"]),
        ("io * 7 + ii < 27 or j < 5", ["io", "ii", "j", "if"]),
        ("(io * 7 + ii) // 9 < 3", ["io", "ii", "if", "j"]),
        ("N[0] > io", ["io", "ii", "j", "if"]),
    ],
)
def test_what_a_loop_does_not_change_is_asked_before_it(condition: str, expected: list[str], inner: str) -> None:
    text = ROWS.format(kind="serial", inner=inner, condition=condition)
    func = simplified(text)
    assert nesting(func) == expected, script(func)
    a, count = np.arange(28 * 32, dtype=np.float32).reshape(28, 32), np.array([2], np.int32)
    found, plain = np.zeros((28, 32), np.float32), np.zeros((28, 32), np.float32)
    interpret(function(text), a, count, plain)
    build(text)(a, count, found)
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("condition", ["N[0] > 1", "4 // (N[0] - 1) > 2"])
def test_what_memory_says_is_asked_where_it_stands(condition: str) -> None:
    func = simplified(ROWS.format(kind="serial", inner="serial", condition=condition))
    assert nesting(func) == ["io", "ii", "j", "if"]


def test_threads_keep_their_conditions() -> None:
    func = simplified(ROWS.format(kind="parallel", inner="serial", condition="io < 3"))
    assert nesting(func) == ["io", "ii", "if", "j"]


def test_a_condition_with_another_case_stays() -> None:
    func = simplified(
        """
        def either(A: T.Buffer((8,), "float32"), C: T.Buffer((4, 8), "float32")):
            for i, j in T.grid(4, 8):
                if i < 2:
                    C[i, j] = A[j]
                else:
                    C[i, j] = T.float32(0)
        """
    )
    assert nesting(func) == ["i", "j", "if"]


STORED = """
def stored(A: T.Buffer((27, 32), "float32"), C: T.Buffer((27, 32), "float32")):
    for io in T.serial(4):
        for ii in T.serial(7):
            if io * 7 + ii < 27:
                for j in T.serial(2):
                    C[io * 7 + ii, T.ramp(j * 16, 1, 16)] = A[io * 7 + ii, T.ramp(j * 16, 1, 16)]
"""
SUMMED = """
def summed(A: T.Buffer((27, 32), "float32"), N: T.Buffer((4,), "int32"), C: T.Buffer((2, 16), "float32")):
    for io in T.serial(4):
        for k in T.serial(27):
            for j in T.vectorized(16):
                C[0, j] = C[0, j] + A[k, j]
            if io < N[0]:
                for j in T.vectorized(16):
                    C[1, j] = C[1, j] + A[k, j]
"""
COPIED = SUMMED.replace("C[1, j] = C[1, j] + A[k, j]", "C[1, j] = A[k, j]").replace("def summed", "def copied")


@pytest.mark.parametrize(("text", "once"), [(STORED, True), (COPIED, True), (SUMMED, False)])
def test_a_sum_under_a_condition_of_its_loop_is_llvms_to_split(text: str, once: bool) -> None:
    assert needs_one_pass(lower(function(text)).body) == once


CHOSEN = """
def chosen(A: T.Buffer((32,), "float32"), C: T.Buffer((3, 32), "float32")):
    for i in T.unroll(3):
        for j in T.vectorized(32):
            C[i, j] = T.Select(i == 0, A[j], T.Select(i == 1, A[j] * T.float32(2), A[j] - T.float32(1)))
"""


def test_choices_that_are_decided_are_not_emitted() -> None:
    made = artefact(CHOSEN)
    (text,) = made.texts.values()
    assert " select " not in text
    a, c = np.arange(32, dtype=np.float32), np.zeros((3, 32), np.float32)
    made.module()(a, c)
    np.testing.assert_array_equal(c, np.stack([a, a * 2, a - 1]))


ARMS = """
def arms(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    for i in T.unroll(4):
        for j in T.vectorized(16):
            C[i, j] = T.if_then_else(i < 1, A[i, j], T.float32(3))
"""


def test_arms_that_are_decided_are_not_emitted() -> None:
    made = artefact(ARMS)
    (text,) = made.texts.values()
    assert "br i1 true" not in text and "br i1 false" not in text and " phi <16" not in text
    a, c = np.ones((4, 16), np.float32), np.zeros((4, 16), np.float32)
    made.module()(a, c)
    np.testing.assert_array_equal(c, np.where(np.arange(4)[:, None] < 1, a, 3))
