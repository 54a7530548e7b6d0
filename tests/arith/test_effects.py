"""Expressions are built and simplified without leaving out a call with effects, or taking two calls for one value."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from workbench.arith import build
from workbench.arith import nodes as n
from workbench.arith.analyzer import Analyzer
from workbench.arith.effects import has_effects, is_effect
from workbench.arith.simplify import can_prove, simplify
from workbench.core.dtype import DataType
from workbench.core.node import children


def call(name: str = "next_number", dtype: str = "int64") -> n.PrimExpr:
    return n.Call(DataType(dtype), "call_extern", (n.StringImm(name),))


def calls(expr: n.PrimExpr) -> Counter[str]:
    """How often each call stands in an expression, shared parts counted at each place."""
    found: Counter[str] = Counter()
    stack: list[Any] = [expr]
    while stack:
        node = stack.pop()
        if is_effect(node):
            found[node.args[0].value] += 1
        stack += children(node)
    return found


C, D, F, TRUE = call(), call("other"), call("real", "float32"), call("truth", "bool")

BUILT: dict[str, tuple[n.PrimExpr, Counter[str]]] = {
    "c - c": (build.subtract(C, C), Counter(next_number=2)),
    "(c + 1) - the same": ((lambda it: build.subtract(it, it))(build.add(C, 1)), Counter(next_number=2)),
    "c * 0": (build.multiply(C, 0), Counter(next_number=1)),
    "0 * c": (build.multiply(0, C), Counter(next_number=1)),
    "c % 1": (build.floormod(C, 1), Counter(next_number=1)),
    "min(c, c)": (build.minimum(C, C), Counter(next_number=2)),
    "max(c, c)": (build.maximum(C, C), Counter(next_number=2)),
    "c and false": (build.logical_and(TRUE, False), Counter(truth=1)),
    "c or true": (build.logical_or(TRUE, True), Counter(truth=1)),
    "select(true, 1, c)": (build.select(True, 1, C), Counter(next_number=1)),
    "select(false, c, 1)": (build.select(False, C, 1), Counter(next_number=1)),
    "select(true, d, c)": (build.select(True, D, C), Counter(next_number=1, other=1)),
    "a real % 2.0": (build.floormod(F, 2.0), Counter(real=1)),
    "2.0 % a real": (build.floormod(2.0, F), Counter(real=1)),
    "a real % itself": (build.floormod(F, F), Counter(real=2)),
    "c + 0": (build.add(C, 0), Counter(next_number=1)),
    "c // 1": (build.floordiv(C, 1), Counter(next_number=1)),
}


@pytest.mark.parametrize("what", BUILT)
def test_calls_with_effects_stay_as_often_as_they_are_written(what: str) -> None:
    expr, expected = BUILT[what]
    assert calls(expr) == expected
    assert calls(simplify(expr)) == expected


def test_two_calls_are_two_values() -> None:
    assert not Analyzer().can_prove_equal(C, C) and not can_prove(build.equal(C, C))
    assert not can_prove(build.less_equal(C, C)) and not can_prove(n.Not(build.less(C, C)))


def test_what_has_no_effects_is_folded() -> None:
    i = n.Var("i")
    root = build.call("sqrt", n.Var("x", DataType("float32")))
    assert not has_effects(root) and has_effects(build.add(build.multiply(C, 2), i))
    assert build.minimum(root, root) is root
    for zero in (build.subtract(i, i), build.multiply(i, 0), build.floormod(i, 1)):
        assert isinstance(zero, n.IntImm) and zero.value == 0
    assert build.select(True, C, i) is C and build.if_then_else(True, i, C) is i
