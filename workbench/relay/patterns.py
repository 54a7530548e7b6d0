"""Patterns over relay expressions, as data, for rules (`core.rewrite`).

    op("add", any_("x"), constant("c"), commutative=True)
    op("reshape", op("reshape", any_("x"), once=True))
    op(("nn.conv2d", "nn.dense"), any_("data"), constant("weight"), attrs={"groups": 1})
    op(operators("a view", lambda operator: operator.aliasing is not None), any_("x"))

A name that occurs twice must meet the same expression (equal constants are the same).  `attrs` constrain
attributes: a value, or a function of the value.  `once=True` demands that nothing else uses the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.node import EMPTY, FrozenMap, Node
from ..core.rewrite import Clause, Failure, Match, Pattern
from .ir import expr as e
from .ir import types as t
from .ir.brief import brief
from .ir.operator import Operator


def bind(match: Match, name: str, node: Node) -> Failure | None:
    """Bind a name, or compare with what it is bound to."""
    if not name:
        return None
    known = match.bound.setdefault(name, node)
    same = known is node or (isinstance(known, e.Constant) and isinstance(node, e.Constant) and known.data == node.data)
    return None if same else Failure(f"{name} is the same expression in both places", lambda: brief(node))


@dataclass(frozen=True)
class Any_:
    """Any expression."""

    name: str = ""

    def match(self, node: Node, match: Match) -> Failure | None:
        return bind(match, self.name, node)


@dataclass(frozen=True)
class ConstantPattern:
    """A constant; `value` asks that every element equals it."""

    name: str = ""
    value: float | None = None

    def fits(self, head: Hashable) -> bool:
        return head is e.Constant

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Constant):
            return Failure(f"{self.name or 'the operand'} is a constant", lambda: brief(node))
        if self.value is not None and not is_filled(node, self.value):
            return Failure(f"{self.name or 'the constant'} is {self.value:g} everywhere", lambda: brief(node))
        return bind(match, self.name, node)


def is_filled(node: e.Constant, value: float) -> bool:
    """Whether every element of a constant equals `value`."""
    data = node.data
    if data.fill_value is not None:
        return bool(data.fill_value == value)
    return data.size > 0 and bool(np.all(data.numpy() == value))


@dataclass(frozen=True)
class Operators:
    """Some operators, by name or by what their class says; `text` completes "a call of ..."."""

    text: str
    holds: Callable[[Operator], bool]
    names: tuple[str, ...] | None = None
    """Theirs, where these decide."""


def operators(text: str, holds: Callable[[Operator], bool]) -> Operators:
    """Operators of which something holds, for `op`: those from outside that say so are among them."""
    return Operators(text, holds)


def _named(names: str | tuple[str, ...]) -> Operators:
    listed = (names,) if isinstance(names, str) else names
    return Operators(" or ".join(listed), lambda operator: operator.name in listed, listed)


def head_of(node: Node) -> Hashable:
    """For `Driver.head`: the name of the operator that is called, else the node's class."""
    operator = node.op if isinstance(node, e.Call) else None
    return operator.name if isinstance(operator, Operator) else type(node)


class OfCalls:
    """For patterns that fit calls of operators only."""

    def fits(self, head: Hashable) -> bool:
        return isinstance(head, str)


@dataclass(frozen=True)
class OpPattern:
    """A call of one of some operators."""

    which: Operators
    operands: tuple[Pattern, ...] | None
    attributes: FrozenMap = EMPTY
    name: str = ""
    once: bool = False
    commutative: bool = False

    def fits(self, head: Hashable) -> bool:
        return isinstance(head, str) and (self.which.names is None or head in self.which.names)

    def match(self, node: Node, match: Match) -> Failure | None:
        failure = self._head(node, match)
        if failure is not None:
            return failure
        assert isinstance(node, e.Call)
        match.matched.append(node)
        return bind(match, self.name, node) or self._operands(node, match)

    def _head(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Call) or not isinstance(node.op, Operator) or not self.which.holds(node.op):
            return Failure(self._wanted, lambda: brief(node))
        if self.once and node is not match.root and match.uses(node) > 1:
            return Failure(lambda: f"{brief(node)} is used once", f"{match.uses(node)} uses")
        for key, wish in self.attributes.items():
            value = getattr(node.op, key, None)
            if not (wish(value) if callable(wish) else value == wish):
                shown = getattr(wish, "__name__", wish)
                return Failure(f"{node.op.name} has {key}={shown}", f"{key}={value!r}")
        return None

    def _wanted(self) -> str:
        return f"{self.name or 'the expression'} is a call of {self.which.text}"

    def _operands(self, node: e.Call, match: Match) -> Failure | None:
        if self.operands is None:
            return None
        if len(node.args) != len(self.operands):
            return Failure(lambda: f"{brief(node)} has {len(self.operands or ())} operands", str(len(node.args)))
        mark = match.mark()
        failure = _each(self.operands, node.args, match)
        if failure is not None and self.commutative:
            match.back_to(mark)
            return failure if _each(self.operands, node.args[::-1], match) is not None else None
        return failure


def _each(patterns: tuple[Pattern, ...], nodes: tuple[e.Expr, ...], match: Match) -> Failure | None:
    for pattern, node in zip(patterns, nodes, strict=True):
        failure = pattern.match(node, match)
        if failure is not None:
            return failure
    return None


@dataclass(frozen=True)
class TuplePattern:
    """A tuple of so many fields."""

    fields: tuple[Pattern, ...]

    def fits(self, head: Hashable) -> bool:
        return head is e.Tuple

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Tuple) or len(node.fields) != len(self.fields):
            return Failure(f"a tuple of {len(self.fields)} fields", lambda: brief(node))
        match.matched.append(node)
        return _each(self.fields, node.fields, match)


@dataclass(frozen=True)
class ItemPattern:
    """Item `index` (None: any) of a tuple."""

    whole: Pattern
    index: int | None = None

    def fits(self, head: Hashable) -> bool:
        return head is e.TupleGetItem

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.TupleGetItem) or self.index not in (None, node.index):
            return Failure(f"item {'' if self.index is None else self.index} of a tuple", lambda: brief(node))
        match.matched.append(node)
        return self.whole.match(node.tuple_value, match)


def any_(name: str = "") -> Pattern:
    """Any expression, bound to `name`."""
    return Any_(name)


def constant(name: str = "", value: float | None = None) -> Pattern:
    """A constant; `value`: the same number everywhere."""
    return ConstantPattern(name, value)


def op(
    which: str | tuple[str, ...] | Operators,
    *operands: Pattern,
    name: str = "",
    once: bool = False,
    commutative: bool = False,
    attrs: dict[str, Any] | None = None,
    any_operands: bool = False,
) -> Pattern:
    """A call of an operator on operands; `attrs` constrain attributes by value or by a function of the value."""
    chosen = which if isinstance(which, Operators) else _named(which)
    return OpPattern(chosen, None if any_operands else operands, FrozenMap(attrs or {}), name, once, commutative)


def tuple_of(*fields: Pattern) -> Pattern:
    return TuplePattern(fields)


def item(whole: Pattern, index: int | None = None) -> Pattern:
    return ItemPattern(whole, index)


def where(text: str, holds: Callable[[Match], bool], found: Callable[[Match], Any] | None = None) -> Clause:
    """A clause beyond the pattern."""
    return Clause(text, holds, found) if found is not None else Clause(text, holds)


def same_type(one: str, other: str = "") -> Clause:
    """Two bound expressions (or one and the whole) have the same type."""

    def second(match: Match) -> Any:
        return match[other] if other else match.root

    return where(
        f"{one} has the type of {other or 'the whole'}",
        lambda match: match[one].type_or_none is not None and match[one].type_or_none == second(match).type_or_none,
        lambda match: f"{match[one].type_or_none} and {second(match).type_or_none}",
    )


def is_float(name: str) -> Clause:
    """A bound expression is a tensor of floating-point numbers."""

    def holds(match: Match) -> bool:
        found = match[name].type_or_none
        return isinstance(found, t.TensorType) and found.dtype.is_float

    return where(f"{name} is floating-point", holds, lambda match: match[name].type_or_none)
