"""The laws of the simplifier, as data: each has a name, a text, both sides, and a condition.

In a rule, variables named c, c1, c2 match integer constants; x, y, z match any expression; b1, b2 any condition.
`REWRITES` are applied by matching.  `FORM_LAWS` are what linear forms (`arith.forms`) amount to: the simplifier
reaches them by computing, and the tests check that it does.

>>> REWRITES[0].name
'min-of-itself'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..core.dtype import DataType
from ..core.node import pre_order
from . import nodes as n
from .nodes import PrimExpr

Bindings = Mapping[str, PrimExpr]


@dataclass(frozen=True)
class Rule:
    """left -> right where `when` holds of the constants matched; `floats`: valid for floats too."""

    name: str
    law: str
    left: PrimExpr
    right: PrimExpr | Callable[[Bindings], PrimExpr]
    when: Callable[[Mapping[str, int]], bool] | None = None
    floats: bool = False


_INDEX: Final = DataType("int64")
_x, _y, _z = (n.Var(name, _INDEX) for name in "xyz")
_c, _c1, _c2 = (n.Var(name, _INDEX) for name in ("c", "c1", "c2"))
_b1, _b2 = (n.Var(name, DataType("bool")) for name in ("b1", "b2"))
_true, _false = n.IntImm(1, DataType("bool")), n.IntImm(0, DataType("bool"))


def _number(value: int) -> n.IntImm:
    return n.IntImm(value, _INDEX)


def _positive(constants: Mapping[str, int]) -> bool:
    return all(value > 0 for value in constants.values())


REWRITES: Final[Sequence[Rule]] = (
    Rule("min-of-itself", "min(x, x) = x", n.Min(_x, _x), _x, floats=True),
    Rule("max-of-itself", "max(x, x) = x", n.Max(_x, _x), _x, floats=True),
    Rule("min-absorbs", "min(x, max(x, y)) = x", n.Min(_x, n.Max(_x, _y)), _x),
    Rule("min-absorbs-right", "min(max(x, y), x) = x", n.Min(n.Max(_x, _y), _x), _x),
    Rule("max-absorbs", "max(x, min(x, y)) = x", n.Max(_x, n.Min(_x, _y)), _x),
    Rule("max-absorbs-right", "max(min(x, y), x) = x", n.Max(n.Min(_x, _y), _x), _x),
    Rule("min-absorbs-second", "min(x, max(y, x)) = x", n.Min(_x, n.Max(_y, _x)), _x),
    Rule("max-absorbs-second", "max(x, min(y, x)) = x", n.Max(_x, n.Min(_y, _x)), _x),
    Rule("min-again", "min(min(x, y), y) = min(x, y)", n.Min(n.Min(_x, _y), _y), n.Min(_x, _y)),
    Rule("min-again-first", "min(min(x, y), x) = min(x, y)", n.Min(n.Min(_x, _y), _x), n.Min(_x, _y)),
    Rule("max-again", "max(max(x, y), y) = max(x, y)", n.Max(n.Max(_x, _y), _y), n.Max(_x, _y)),
    Rule("max-again-first", "max(max(x, y), x) = max(x, y)", n.Max(n.Max(_x, _y), _x), n.Max(_x, _y)),
    Rule(
        "min-of-constants",
        "min(min(x, c1), c2) = min(x, min(c1, c2))",
        n.Min(n.Min(_x, _c1), _c2),
        n.Min(_x, n.Min(_c1, _c2)),
    ),
    Rule(
        "max-of-constants",
        "max(max(x, c1), c2) = max(x, max(c1, c2))",
        n.Max(n.Max(_x, _c1), _c2),
        n.Max(_x, n.Max(_c1, _c2)),
    ),
    Rule(
        "clamp-shut",
        "max(min(x, c1), c2) = c2 for c1 <= c2",
        n.Max(n.Min(_x, _c1), _c2),
        _c2,
        lambda k: k["c1"] <= k["c2"],
    ),
    Rule(
        "clamp-shut-min",
        "min(max(x, c1), c2) = c2 for c1 >= c2",
        n.Min(n.Max(_x, _c1), _c2),
        _c2,
        lambda k: k["c1"] >= k["c2"],
    ),
    Rule("select-same", "select(b, x, x) = x", n.Select(_b1, _x, _x), _x, floats=True),
    Rule(
        "select-not",
        "select(not b, x, y) = select(b, y, x)",
        n.Select(n.Not(_b1), _x, _y),
        n.Select(_b1, _y, _x),
        floats=True,
    ),
    Rule(
        "select-nested-true",
        "select(b, select(b, x, y), z) = select(b, x, z)",
        n.Select(_b1, n.Select(_b1, _x, _y), _z),
        n.Select(_b1, _x, _z),
        floats=True,
    ),
    Rule(
        "select-nested-false",
        "select(b, x, select(b, y, z)) = select(b, x, z)",
        n.Select(_b1, _x, n.Select(_b1, _y, _z)),
        n.Select(_b1, _x, _z),
        floats=True,
    ),
    Rule("and-itself", "b and b = b", n.And(_b1, _b1), _b1),
    Rule("or-itself", "b or b = b", n.Or(_b1, _b1), _b1),
    Rule("and-opposite", "b and not b = false", n.And(_b1, n.Not(_b1)), _false),
    Rule("and-opposite-first", "not b and b = false", n.And(n.Not(_b1), _b1), _false),
    Rule("or-opposite", "b or not b = true", n.Or(_b1, n.Not(_b1)), _true),
    Rule("or-opposite-first", "not b or b = true", n.Or(n.Not(_b1), _b1), _true),
    Rule("and-absorbs", "b1 and (b1 or b2) = b1", n.And(_b1, n.Or(_b1, _b2)), _b1),
    Rule("or-absorbs", "b1 or (b1 and b2) = b1", n.Or(_b1, n.And(_b1, _b2)), _b1),
    Rule("not-not", "not not b = b", n.Not(n.Not(_b1)), _b1),
    Rule("not-less", "not x < y = y <= x", n.Not(n.LT(_x, _y)), n.LE(_y, _x)),
    Rule("not-less-equal", "not x <= y = y < x", n.Not(n.LE(_x, _y)), n.LT(_y, _x)),
    Rule("not-greater", "not x > y = x <= y", n.Not(n.GT(_x, _y)), n.LE(_x, _y)),
    Rule("not-greater-equal", "not x >= y = x < y", n.Not(n.GE(_x, _y)), n.LT(_x, _y)),
    Rule("not-equal", "not x == y = x != y", n.Not(n.EQ(_x, _y)), n.NE(_x, _y), floats=True),
    Rule("not-different", "not x != y = x == y", n.Not(n.NE(_x, _y)), n.EQ(_x, _y), floats=True),
)
"""Matched against simplified nodes, the first that fits."""

FORM_LAWS: Final[Sequence[Rule]] = (
    Rule("add-zero", "x + 0 = x", n.Add(_x, _number(0)), _x),
    Rule("subtract-itself", "x - x = 0", n.Sub(_x, _x), _number(0)),
    Rule("collect", "x*c1 + x*c2 = x*(c1 + c2)", n.Add(n.Mul(_x, _c1), n.Mul(_x, _c2)), n.Mul(_x, n.Add(_c1, _c2))),
    Rule("distribute", "(x + y)*c = x*c + y*c", n.Mul(n.Add(_x, _y), _c), n.Add(n.Mul(_x, _c), n.Mul(_y, _c))),
    Rule(
        "div-of-multiple",
        "(x*c + y) // c = x + y // c for c > 0",
        n.FloorDiv(n.Add(n.Mul(_x, _c), _y), _c),
        n.Add(_x, n.FloorDiv(_y, _c)),
        _positive,
    ),
    Rule(
        "mod-of-multiple",
        "(x*c + y) % c = y % c for c > 0",
        n.FloorMod(n.Add(n.Mul(_x, _c), _y), _c),
        n.FloorMod(_y, _c),
        _positive,
    ),
    Rule(
        "div-of-div",
        "(x // c1) // c2 = x // (c1*c2) for c1, c2 > 0",
        n.FloorDiv(n.FloorDiv(_x, _c1), _c2),
        n.FloorDiv(_x, n.Mul(_c1, _c2)),
        _positive,
    ),
    Rule(
        "div-of-shifted-div",
        "(x // c1 + c) // c2 = (x + c*c1) // (c1*c2) for c1, c2 > 0",
        n.FloorDiv(n.Add(n.FloorDiv(_x, _c1), _c), _c2),
        n.FloorDiv(n.Add(_x, n.Mul(_c, _c1)), n.Mul(_c1, _c2)),
        lambda k: k["c1"] > 0 and k["c2"] > 0,
    ),
    Rule(
        "cancel-in-div",
        "(x*c1) // (c1*c2) = x // c2 for c1, c2 > 0",
        n.FloorDiv(n.Mul(_x, _c1), n.Mul(_c1, _c2)),
        n.FloorDiv(_x, _c2),
        _positive,
    ),
    Rule(
        "cancel-in-mod",
        "(x*c1) % (c1*c2) = (x % c2)*c1 for c1, c2 > 0",
        n.FloorMod(n.Mul(_x, _c1), n.Mul(_c1, _c2)),
        n.Mul(n.FloorMod(_x, _c2), _c1),
        _positive,
    ),
    Rule(
        "div-and-mod",
        "(x // c)*c + x % c = x for c > 0",
        n.Add(n.Mul(n.FloorDiv(_x, _c), _c), n.FloorMod(_x, _c)),
        _x,
        _positive,
    ),
    Rule(
        "mod-of-mod",
        "(x % (c1*c2)) % c1 = x % c1 for c1, c2 > 0",
        n.FloorMod(n.FloorMod(_x, n.Mul(_c1, _c2)), _c1),
        n.FloorMod(_x, _c1),
        _positive,
    ),
    Rule(
        "div-of-mod",
        "(x % (c1*c2)) // c1 = (x // c1) % c2 for c1, c2 > 0",
        n.FloorDiv(n.FloorMod(_x, n.Mul(_c1, _c2)), _c1),
        n.FloorMod(n.FloorDiv(_x, _c1), _c2),
        _positive,
    ),
    Rule(
        "common-in-min",
        "min(x + z, y + z) = min(x, y) + z",
        n.Min(n.Add(_x, _z), n.Add(_y, _z)),
        n.Add(n.Min(_x, _y), _z),
    ),
    Rule(
        "common-in-max",
        "max(x + z, y + z) = max(x, y) + z",
        n.Max(n.Add(_x, _z), n.Add(_y, _z)),
        n.Add(n.Max(_x, _y), _z),
    ),
    Rule("cancel-in-less", "x + z < y + z = x < y", n.LT(n.Add(_x, _z), n.Add(_y, _z)), n.LT(_x, _y)),
    Rule("cancel-in-equal", "x + z == y + z = x == y", n.EQ(n.Add(_x, _z), n.Add(_y, _z)), n.EQ(_x, _y)),
    Rule("less-or-equal", "x <= y = x < y + 1", n.LE(_x, _y), n.LT(_x, n.Add(_y, _number(1)))),
    Rule("scale-in-less", "x*c < y*c = x < y for c > 0", n.LT(n.Mul(_x, _c), n.Mul(_y, _c)), n.LT(_x, _y), _positive),
    Rule(
        "scale-in-equal", "x*c == y*c = x == y for c > 0", n.EQ(n.Mul(_x, _c), n.Mul(_y, _c)), n.EQ(_x, _y), _positive
    ),
)
"""What computing with linear forms gives; `right` is simplified in turn."""


def constant_names(rule: Rule) -> list[str]:
    """The names in a rule that stand for constants."""
    return sorted({variable.name for variable in variables(rule.left) if variable.name.startswith("c")})


def variables(expr: PrimExpr) -> list[n.Var]:
    """The variables of a rule's side, by first appearance."""
    found: dict[str, n.Var] = {}
    for node in pre_order(expr):
        if isinstance(node, n.Var):
            found.setdefault(node.name, node)
    return list(found.values())
