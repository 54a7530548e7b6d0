"""Patterns of the constructs that hold expressions: functions, ifs, lets, tuples and their items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.rewrite import Failure, Match
from ...core.trampoline import Task
from ..ir import expr as e
from ..ir.brief import brief
from .patterns import DFPattern, meet, meet_all


class FunctionPattern(DFPattern):
    """A function: its parameters (None: any) and its body."""

    __slots__ = ("body", "params")
    parts = ("params", "body")

    def __init__(self, params: Sequence[Any] | None, body: Any) -> None:
        self.params: tuple[Any, ...] | None = None if params is None else tuple(params)
        self.body = body

    def visit(self, node: Any, match: Match) -> Task:
        if not isinstance(node, e.Function):
            return Failure("a function", lambda: brief(node))
        if self.params is not None and len(self.params) != len(node.params):
            return Failure(f"a function of {len(self.params)} parameters", str(len(node.params)))
        match.matched.append(node)
        failure = yield meet_all(self.params or (), node.params if self.params is not None else (), match)
        return failure if failure is not None else (yield meet(self.body, node.body, match))


class IfPattern(DFPattern):
    __slots__ = ("cond", "false_branch", "true_branch")
    parts = ("cond", "true_branch", "false_branch")

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any) -> None:
        self.cond, self.true_branch, self.false_branch = cond, true_branch, false_branch

    def visit(self, node: Any, match: Match) -> Task:
        if not isinstance(node, e.If):
            return Failure("an if", lambda: brief(node))
        match.matched.append(node)
        return (yield meet_all(self.children(), (node.cond, node.true_branch, node.false_branch), match))


class LetPattern(DFPattern):
    __slots__ = ("body", "value", "var")
    parts = ("var", "value", "body")

    def __init__(self, var: Any, value: Any, body: Any) -> None:
        self.var, self.value, self.body = var, value, body

    def visit(self, node: Any, match: Match) -> Task:
        if not isinstance(node, e.Let):
            return Failure("a let", lambda: brief(node))
        match.matched.append(node)
        return (yield meet_all(self.children(), (node.var, node.value, node.body), match))


class TuplePattern(DFPattern):
    """A tuple: its fields (None: any number of any)."""

    __slots__ = ("fields",)
    parts = ("fields",)

    def __init__(self, fields: Sequence[Any] | None) -> None:
        self.fields: tuple[Any, ...] | None = None if fields is None else tuple(fields)

    def visit(self, node: Any, match: Match) -> Task:
        if not isinstance(node, e.Tuple):
            return Failure("a tuple", lambda: brief(node))
        if self.fields is not None and len(self.fields) != len(node.fields):
            return Failure(f"a tuple of {len(self.fields)} fields", str(len(node.fields)))
        match.matched.append(node)
        return (yield meet_all(self.fields, node.fields, match)) if self.fields is not None else None


class TupleGetItemPattern(DFPattern):
    """An item of a tuple; of that index, if one is given."""

    __slots__ = ("index", "tuple")
    parts = ("tuple",)

    def __init__(self, tuple_value: Any, index: int | None = None) -> None:
        self.tuple = tuple_value
        self.index = None if index is None or index < 0 else index

    def visit(self, node: Any, match: Match) -> Task:
        if not isinstance(node, e.TupleGetItem) or self.index not in (None, node.index):
            return Failure(f"item {'' if self.index is None else self.index} of a tuple", lambda: brief(node))
        match.matched.append(node)
        return (yield meet(self.tuple, node.tuple_value, match))
