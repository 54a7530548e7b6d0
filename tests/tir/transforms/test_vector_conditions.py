"""Conditions in vectors: asked once where all lanes agree, of each lane elsewhere; the numbers are the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.codegen.support import build, function
from workbench.arith import nodes as n
from workbench.core.node import pre_order
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.transforms.pipeline import lower

JOINED = """
def joined(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in T.serial(8):
        for lane in T.vectorized(8):
            C[i * 8 + lane] = T.if_then_else({condition}, A[i * 8 + lane], B[i * 8 + lane])
"""
STORED = """
def stored(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in T.serial(8):
        for lane in T.vectorized(8):
            C[i * 8 + lane] = B[i * 8 + lane]
    for i in T.serial(8):
        for lane in T.vectorized(8):
            if {condition}:
                C[i * 8 + lane] = A[i * 8 + lane]
"""


def conditions_in(text: str) -> list[n.PrimExpr]:
    """The conditions of a lowered program."""
    nodes = list(pre_order(lower(function(text)).body))
    choices = [node.args[0] for node in nodes if isinstance(node, n.Call) and node.op == "if_then_else"]
    return choices + [node.condition for node in nodes if isinstance(node, t.IfThenElse)]


def expected(condition: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    places = [(i, lane) for i in range(8) for lane in range(8)]
    return np.where([eval(condition, {"i": i, "lane": lane}) for i, lane in places], a, b)


PLACES = ("i * 8 + lane", "i * 16 + lane", "i * 8 + lane * 2", "i * 8 - lane", "i * 4 + lane", "i * 8 + lane + 1")
LIMITS = (16, 24, 15, 20, 0, -8)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("program", [JOINED, STORED], ids=["chosen", "stored"])
def test_every_comparison_chooses_what_each_lane_asks_for(place: str, program: str) -> None:
    a, b = np.arange(64, dtype=np.float32), -np.arange(64, dtype=np.float32)
    for limit, sign, turned in itertools.product(LIMITS, ("<", "<=", ">", ">="), (False, True)):
        condition = f"{limit} {sign} {place}" if turned else f"{place} {sign} {limit}"
        found = np.full(64, np.nan, np.float32)
        interpret(lower(function(program.format(condition=condition))), a, b, found)
        np.testing.assert_array_equal(found, expected(condition, a, b), condition)


@pytest.mark.parametrize(
    ("condition", "once"),
    [
        ("i * 8 + lane < 24", True),
        ("i * 8 + lane >= 24", True),
        ("24 > i * 8 + lane", True),
        ("24 <= i * 8 + lane", True),
        ("i * 8 + lane <= 23", True),
        ("i * 8 + lane > 23", True),
        ("i * 8 + lane < 24 and i * 8 + lane >= 8", True),
        ("i * 8 + lane < 25", False),
        ("i * 8 + lane <= 24", False),
        ("i * 8 + lane < 24 and lane < 3", False),
        ("i * 4 + lane < 24", False),
        ("i * 8 + lane * 2 < 24", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("program", [JOINED, STORED], ids=["chosen", "stored"])
def test_one_question_where_no_vector_lies_on_both_sides(program: str, condition: str, once: bool) -> None:
    text = program.format(condition=condition)
    assert any(asked.dtype.is_vector for asked in conditions_in(text)) != once
    a, b = np.arange(64, dtype=np.float32), -np.arange(64, dtype=np.float32)
    found = np.full(64, np.nan, np.float32)
    build(text)(a, b, found)
    np.testing.assert_array_equal(found, expected(condition, a, b))


LIMITED = """
def limited(A: T.Buffer((96,), "float32"), N: T.Buffer((1,), "int64"), C: T.Buffer((96,), "float32")):
    for j in T.serial(3):
        for i in T.serial({count}):
            for lane in T.vectorized({lanes}):
                if {condition}:
                    C[i * {lanes} + lane] = A[i * {lanes} + lane] + T.Cast("float32", j)
"""


@pytest.mark.parametrize("lanes", [2, 12, 16, 48])
def test_limits_that_are_no_numbers(lanes: int) -> None:
    count = 96 // lanes
    given, bound = np.arange(96, dtype=np.float32), np.array([lanes + 1], np.int64)
    limits = (f"j * {lanes}", "j * 24", "N[0]", f"j * {lanes} + 1")
    for limit, sign in itertools.product(limits, ("<", "<=", ">", ">=")):
        for condition in (f"i * {lanes} + lane {sign} {limit}", f"{limit} {sign} i * {lanes} + lane"):
            text = LIMITED.format(count=count, lanes=lanes, condition=condition)
            found, plain = np.zeros(96, np.float32), np.zeros(96, np.float32)
            interpret(function(text), given, bound, plain)
            interpret(lower(function(text)), given, bound, found)
            np.testing.assert_array_equal(found, plain, condition)


def test_a_limit_that_is_a_multiple_is_asked_once() -> None:
    text = LIMITED.format(count=6, lanes=16, condition="i * 16 + lane < j * 32")
    assert not any(asked.dtype.is_vector for asked in conditions_in(text))


ONE_ELEMENT = """
def one_element(A: T.Buffer((16,), "float32"), C: T.Buffer((1,), "float32")):
    for i in T.serial(2):
        for lane in T.vectorized(8):
            if i * 8 + lane < 8:
                {body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("C[0] = C[0] + A[i * 8 + lane]", 28.0),
        ("C[0] = A[i * 8 + lane]", 7.0),
        ("q: T.int64 = lane * 3\n                if q == 6:\n                    C[0] = A[q]", 6.0),
    ],
)
def test_what_lanes_store_to_one_element_under_a_condition_stays_in_order(body: str, expected: float) -> None:
    found = np.zeros(1, np.float32)
    build(ONE_ELEMENT.format(body=body))(np.arange(16, dtype=np.float32), found)
    assert found == [expected]


BOUND = """
def bound(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in T.serial(2):
        for lane in T.vectorized(8):
            {body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "q: T.int64 = lane * 3\n"
        "            C[i * 8 + lane] = T.if_then_else(q * 4 <= 20, A[i * 8 + lane], T.float32(5))",
        "q: T.int64 = lane * 3\n            if q == 6:\n                C[0] = A[q]",
        "q: T.int64 = lane * 3\n            p: T.int64 = q + 1\n            for u in T.serial(p):\n"
        "                C[i * 8 + lane] = C[i * 8 + lane] + A[q]",
        "q: T.int64 = lane * 3\n            C[i * 8 + lane] = A[q]\n            if lane == 2:\n"
        "                C[60] = A[q]",
    ],
)
def test_names_that_serial_statements_use_have_a_value_in_each_iteration(body: str) -> None:
    text, given = BOUND.format(body=body), np.arange(64, dtype=np.float32)
    plain, found, lowered = (np.zeros(64, np.float32) for _ in range(3))
    interpret(function(text), given, plain)
    build(text)(given, found)
    interpret(lower(function(text)), given, lowered)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(lowered, plain)


WRAPPING = """
def wrapping(P: T.Buffer((1,), "{dtype}"), C: T.Buffer((12,), "float32")):
    for lane in T.vectorized(T.{dtype}(12)):
        C[lane] = T.if_then_else(P[0] * T.{dtype}(12) + lane < T.{dtype}({limit}), T.float32(1), T.float32(0))
"""


WRAPPING_STORES = """
def wrapping_stores(P: T.Buffer((1,), "{dtype}"), C: T.Buffer((12,), "float32")):
    for lane in T.vectorized(12):
        C[lane] = T.float32(0)
    for lane in T.vectorized(T.{dtype}(12)):
        if P[0] * T.{dtype}(12) + lane < T.{dtype}({limit}):
            C[lane] = T.float32(1)
"""


@pytest.mark.parametrize(
    ("text", "dtype", "value", "limit"),
    [
        (WRAPPING, "uint8", 21, 252), (WRAPPING, "int8", 10, 12), (WRAPPING, "int32", 178956970, 2147483640),
        (WRAPPING_STORES, "uint8", 21, 252), (WRAPPING_STORES, "int8", 10, 12),
    ],
)  # fmt: skip
def test_narrow_numbers_may_wrap_between_lanes(text: str, dtype: str, value: int, limit: int) -> None:
    given, found = np.array([value], dtype), np.full(12, np.nan, np.float32)
    with np.errstate(over="ignore"):
        lanes = given * np.array(12, dtype) + np.arange(12, dtype=dtype)
    build(text.format(dtype=dtype, limit=limit))(given, found)
    np.testing.assert_array_equal(found, lanes < limit)
