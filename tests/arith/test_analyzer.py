"""The classic analyzer: what is told of variables, and what follows."""

from __future__ import annotations

from workbench.arith.analyzer import Analyzer, ConstIntBound
from workbench.arith.nodes import Var
from workbench.core.dtype import DataType

I64 = DataType("int64")


def test_equality_is_proved_or_not_shown() -> None:
    i, j = Var("i", I64), Var("j", I64)
    analyzer = Analyzer()
    assert analyzer.can_prove_equal((i * 8 + j) - j, i * 8)
    assert not analyzer.can_prove_equal(i, j)
    analyzer.bind(i, (0, 8))
    assert analyzer.can_prove_equal(i // 8, 0)


def test_a_variable_is_bound_by_a_pair_a_value_or_bounds() -> None:
    i, j, k = (Var(name, I64) for name in "ijk")
    analyzer = Analyzer()
    analyzer.bind(i, (2, 10))
    analyzer.bind(j, 7)
    analyzer.update(k, ConstIntBound(0, ConstIntBound.POS_INF))
    bound = analyzer.const_int_bound(i + j)
    assert (bound.min_value, bound.max_value) == (9, 16)
    assert analyzer.can_prove(k >= 0) and not analyzer.can_prove(k < 100)


def test_a_constraint_holds_inside_its_block_only() -> None:
    i = Var("i", I64)
    analyzer = Analyzer()
    with analyzer.constraint_scope(i < 4):
        assert analyzer.can_prove(i < 5)
    assert not analyzer.can_prove(i < 5)
