"""Simplified arithmetic of narrow integers wraps where the written one wraps, and nowhere else: no new overflow."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nightly import examples
from workbench.arith import build, evaluate
from workbench.arith import nodes as n
from workbench.arith.nodes import PrimExpr, Var
from workbench.arith.simplify import Simplifier
from workbench.core.dtype import DataType

ENDS = {"int8": (-128, -127, -3, -1, 0, 1, 2, 64, 126, 127), "uint8": (0, 1, 2, 3, 127, 128, 254, 255)}
BINARY = (n.Add, n.Sub, n.Mul, n.FloorDiv, n.FloorMod, n.Div, n.Mod, n.Min, n.Max)
COMPARE = (n.LT, n.LE, n.GT, n.GE, n.EQ, n.NE)


class Programs:
    """Strategies of expressions of one narrow dtype, over two variables of it and a condition."""

    def __init__(self, dtype: str) -> None:
        self.dtype = DataType(dtype)
        self.x, self.y, self.b = Var("x", self.dtype), Var("y", self.dtype), Var("b", DataType("bool"))
        self.constants = [n.IntImm(value, self.dtype) for value in ENDS[dtype]]

    def numbers(self) -> st.SearchStrategy[PrimExpr]:
        leaves = st.sampled_from([self.x, self.y, self.x, build.cast(str(self.dtype), self.b), *self.constants])
        return st.recursive(leaves, self._larger, max_leaves=6)

    def _larger(self, inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
        both = st.tuples(st.sampled_from(BINARY), inner, inner).map(lambda found: self._made(*found))
        chosen = st.tuples(self._conditions(inner), inner, inner).map(lambda found: n.Select(*found))
        return st.one_of(both, both, chosen)

    def _made(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if kind in (n.FloorDiv, n.FloorMod, n.Div, n.Mod) and not (isinstance(b, n.IntImm) and b.value):
            kind = n.Sub
        return kind(a, b)

    def _conditions(self, inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
        return st.tuples(st.sampled_from(COMPARE), inner, inner).map(lambda found: found[0](found[1], found[2]))

    def all(self) -> st.SearchStrategy[PrimExpr]:
        return st.one_of(self.numbers(), self._conditions(self.numbers()))


PROGRAMS = {dtype: Programs(dtype) for dtype in ENDS}


@pytest.mark.parametrize("dtype", ENDS)
@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_simplified_narrow_arithmetic_is_worth_the_same(dtype: str, data: st.DataObject) -> None:
    made = PROGRAMS[dtype]
    expr = data.draw(made.all())
    simple = Simplifier().simplify(expr)
    for x, y, b in itertools.product(ENDS[dtype], ENDS[dtype], (False, True)):
        given = {made.x: x, made.y: y, made.b: b}
        assert evaluate.evaluate(simple, given) == evaluate.evaluate(expr, given), (simple, given)
    assert all(_fits(node) for node in _constants(simple)), simple


def test_the_least_number_by_minus_one_wraps() -> None:
    made = PROGRAMS["int8"]
    for kind in (n.FloorDiv, n.FloorMod):
        expr = n.LT(made.x, kind(made.x, n.IntImm(-1, made.dtype)))
        simple = Simplifier().simplify(expr)
        for x in ENDS["int8"]:
            assert evaluate.evaluate(simple, {made.x: x}) == evaluate.evaluate(expr, {made.x: x}), x


def _constants(expr: PrimExpr) -> list[n.IntImm]:
    found, stack = [], [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, n.IntImm):
            found.append(node)
        stack += [part for name in node.field_names if isinstance(part := getattr(node, name), PrimExpr)]
    return found


def _fits(node: n.IntImm) -> bool:
    low, high = node.dtype.limits() if node.dtype.is_integer else (0, 1)
    return low <= node.value <= high
