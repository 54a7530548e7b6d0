"""Forms over the loops of a program: what follows from what, and what divides an index."""

from __future__ import annotations

import pytest

from workbench.arith import build
from workbench.arith.nodes import PrimExpr, Var
from workbench.arith.scope import Scope, multiple_of


@pytest.mark.parametrize(("scale", "offset", "expected"), [(16, 0, 16), (16, 8, 8), (6, 4, 2), (3, 1, 1)])
def test_multiples_are_seen(scale: int, offset: int, expected: int) -> None:
    i = Var("i")
    assert multiple_of(i * scale + offset) == expected
    assert multiple_of((i * scale + offset) * 4 // 2) == 2 * expected


A, B, C, D = (Var(name, "int64") for name in "abcd")
"""The first three take 0 ... 9."""
FOLLOWS = [
    (A * 2 + B < 28, []),
    (A < 3, [A * 2 + B < 5]),
    (A + B < 5, [A < 3, B < 3]),
    (A + D < 9, [A + D < 4]),
    (A < 4, [build.equal(A, 3)]),
]
DOES_NOT = [
    (A * 2 + B < 27, []),
    (A < 3, [A < 4]),
    (A + B < 4, [A < 3, B < 3]),
    (C < 3, [A < 3]),
    (A < 2, [A * 2 + B < 5]),
]


@pytest.mark.parametrize(
    ("condition", "given", "expected"), [*((*pair, True) for pair in FOLLOWS), *((*pair, False) for pair in DOES_NOT)]
)
def test_what_follows_from_what(condition: PrimExpr, given: list[PrimExpr], expected: bool) -> None:
    scope = Scope()
    for var in (A, B, C):
        scope.enter(var, build.const(0, "int64"), build.const(10, "int64"))
    known = [form for one in given for form in scope.limits(one)]
    assert scope.follows(scope.limits(condition), known) is expected
