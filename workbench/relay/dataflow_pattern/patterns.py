"""The classes of dataflow patterns: data that an expression fits or does not, with the reason.

A pattern is a `core.rewrite.Pattern` like those of `relay.patterns`, so both stand in rule tables, in each other and
under one `why_not`.  What it met is in `match[pattern]`, a tuple of expressions.  The same pattern object twice must
meet the same expression twice.

>>> from workbench.relay.ir.expr import Var
>>> x = WildcardPattern()
>>> (x | ConstantPattern()).match(Var("a"))
True

Matching uses no Python stack: patterns may be as deep as programs are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...core.errors import WorkbenchError
from ...core.node import Node
from ...core.rewrite import Failure, Match
from ...core.trampoline import Task, run
from ..ir import expr as e
from ..ir import types as t
from ..ir.brief import brief
from ..ir.operator import Operator
from ..op.build import get
from .facts import attribute_of, equal_values, expression_type, lazy_uses, pattern_text, same_expression, sequence


class DFPattern:
    """The base of dataflow patterns; build them with `is_op("add")(wildcard(), is_constant())` and its like."""

    __slots__ = ()
    parts: tuple[str, ...] = ()
    """The fields that hold sub-patterns (one each, or a tuple of them)."""

    def visit(self, node: Any, match: Match) -> Task:
        """Match one node; yields `meet(...)` for sub-patterns; returns the failure or None."""
        raise NotImplementedError(type(self).__name__)

    def match(self, node: Node, match: Match | None = None) -> Any:
        """Whether the pattern fits an expression.

        With a `Match` (as a rule's pattern): the failure, or None with what was met recorded in it.
        """
        if match is None:
            return self.why_not(node) is None
        return run(meet(self, node, match))

    def why_not(self, expr: Node) -> Failure | None:
        """The first clause that fails, with the value found; None if the pattern fits."""
        return run(meet(self, expr, Match(expr, lazy_uses(expr))))

    def find(self, expr: Node) -> Match | None:
        """What the pattern meets in an expression (`found[pattern]` is a tuple of expressions); None: no fit."""
        match = Match(expr, lazy_uses(expr))
        return None if run(meet(self, expr, match)) is not None else match

    def rewrite(self, replace: Callable[..., Any], expr: Any, require_type: bool = False) -> Any:
        """`expr` with `replace(pre, post, node_map)` in place of each match, until nothing changes."""
        from .rewriting import rewrite_with

        return rewrite_with(self, replace, expr, require_type)

    def partition(
        self, expr: Any, attrs: Mapping[str, Any] | None = None, check: Callable[[Any], bool] | None = None
    ) -> Any:
        """`expr` with each match as a call of a function of its own, which gets `attrs`; `check(root)` may veto."""
        from .rewriting import partition

        return partition(self, expr, attrs, check)

    # --- building ---

    def __call__(self, *args: Any) -> CallPattern:
        return CallPattern(self, None if args == (None,) else args)

    def __or__(self, other: Any) -> AltPattern:
        return AltPattern(self, require_pattern(other))

    def __add__(self, other: Any) -> CallPattern:
        return _operator("add")(self, other)

    def __sub__(self, other: Any) -> CallPattern:
        return _operator("subtract")(self, other)

    def __mul__(self, other: Any) -> CallPattern:
        return _operator("multiply")(self, other)

    def __truediv__(self, other: Any) -> CallPattern:
        return _operator("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """This pattern, with attributes (of the call, operator or function) of these values."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: t.Type) -> TypePattern:
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        return ShapePattern(self, shape)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This pattern, with or without what `option_constructor` puts around it (with it, where both fit)."""
        return AltPattern(option_constructor(self), self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """`parent`, all of whose values flow through `path` into this pattern."""
        return DominatorPattern(parent, path if path is not None else WildcardPattern(), self)

    def children(self) -> list[Any]:
        """The sub-patterns, in order."""
        found: list[Any] = []
        for name in self.parts:
            value = getattr(self, name)
            found.extend(sequence(value) or ([] if value is None else [value]))
        return found

    def __repr__(self) -> str:
        return pattern_text(self)


def _operator(name: str) -> ExprPattern:
    return ExprPattern(get(name))


def meet(pattern: Any, node: Any, match: Match) -> Task:
    """Match a pattern at a node and record it: the one way into a pattern."""
    if not isinstance(pattern, DFPattern):
        return pattern.match(node, match)
    known = match.bound.get(pattern)
    if known is not None:
        return None if same_expression(known[0], node) else Failure("the same expression twice", lambda: brief(node))
    failure = yield pattern.visit(node, match)
    if failure is None:
        match.bound[pattern] = (*match.bound.get(pattern, ()), node)
    return failure


def meet_all(patterns: Iterable[Any], nodes: Iterable[Any], match: Match) -> Task:
    """Patterns against nodes one by one; the first failure or None."""
    for pattern, node in zip(patterns, nodes, strict=True):
        failure = yield meet(pattern, node, match)
        if failure is not None:
            return failure
    return None


def meet_any(choices: Iterable[Callable[[], Task]], match: Match) -> Task:
    """The first of several ways that fits; the first failure if none does."""
    first: Failure | None = None
    for choice in choices:
        mark = match.mark()
        failure = yield choice()
        if failure is None:
            return None
        match.back_to(mark)
        first = first or failure
    return first


class WildcardPattern(DFPattern):
    """Anything; after `redirect_to(pattern)`, what that pattern fits (which may use this one: recursion)."""

    __slots__ = ("pattern",)

    def __init__(self) -> None:
        self.pattern: DFPattern | None = None

    def redirect_to(self, pat: DFPattern) -> None:
        """Make the wildcard stand for `pat`."""
        self.pattern = pat

    def visit(self, node: Any, match: Match) -> Task:
        return (yield meet(self.pattern, node, match)) if self.pattern is not None else None


class ExprPattern(DFPattern):
    """One expression (up to the names it binds), or any operator instance of an operator class."""

    __slots__ = ("expr",)

    def __init__(self, expr: Any) -> None:
        self.expr = expr

    @property
    def operator_name(self) -> str:
        """The operator's name; "" for an expression."""
        return str(getattr(self.expr, "name", "")) if isinstance(self.expr, type) else ""

    def visit(self, node: Any, match: Match) -> Task:
        yield from ()
        if isinstance(self.expr, type):
            fits = getattr(node, "name", None) == self.operator_name
            return None if fits else Failure(f"the operator is {self.operator_name}", lambda: _called(node))
        fits = same_expression(self.expr, node, structural=True)
        return None if fits else Failure(lambda: f"the expression is {brief(self.expr)}", lambda: brief(node))


class VarPattern(DFPattern):
    """A variable; of that name, if one is given."""

    __slots__ = ("name",)

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint

    def visit(self, node: Any, match: Match) -> Task:
        yield from ()
        fits = isinstance(node, e.Var) and self.name in ("", node.name_hint)
        return None if fits else Failure(f"a variable{' ' + self.name if self.name else ''}", lambda: brief(node))


class ConstantPattern(DFPattern):
    """A constant."""

    __slots__ = ()

    def visit(self, node: Any, match: Match) -> Task:
        yield from ()
        return None if isinstance(node, e.Constant) else Failure("a constant", lambda: brief(node))


class CallPattern(DFPattern):
    """A call: what is called, and the operands (None: any number of any).

    Commutative operators (`Operator.commutative`) fit with their operands in either order, products and quotients in
    either association ((a * b) / c is b * (a / c)).
    """

    __slots__ = ("args", "op")
    parts = ("op", "args")

    def __init__(self, op: Any, args: Sequence[Any] | None) -> None:
        self.op = op
        self.args: tuple[Any, ...] | None = None if args is None else tuple(args)

    @property
    def operator_name(self) -> str:
        """The operator that is called; "" if the pattern leaves it open."""
        inner = self.op
        while isinstance(inner, (AttrPattern, TypePattern, DataTypePattern, ShapePattern)):
            inner = inner.pattern
        return inner.operator_name if isinstance(inner, ExprPattern) else ""

    def visit(self, node: Any, match: Match) -> Task:
        if not isinstance(node, e.Call):
            return Failure(
                lambda: f"a call{' of ' + self.operator_name if self.operator_name else ''}", lambda: brief(node)
            )
        ways = [lambda: self._as_written(node, match)]
        if self._commutes(node):
            ways.append(lambda: self._as_written(node, match, swapped=True))
        ways += [
            lambda other=other: meet_any([lambda: other.visit(node, match)], match) for other in self._associated(node)
        ]
        return (yield (ways[0]() if len(ways) == 1 else meet_any(ways, match)))

    def _commutes(self, node: e.Call) -> bool:
        op = node.op
        named = isinstance(op, Operator) and op.name == self.operator_name and op.commutative
        return named and self.args is not None and len(self.args) == 2

    def _as_written(self, node: e.Call, match: Match, swapped: bool = False) -> Task:
        failure = yield meet(self.op, node.op, match)
        if failure is not None:
            return failure
        if self.args is not None and len(self.args) != len(node.args):
            return Failure(lambda: f"{brief(node)} has {len(self.args or ())} operands", str(len(node.args)))
        match.matched.append(node)
        if self.args is None:
            return None
        return (yield meet_all(self.args, node.args[::-1] if swapped else node.args, match))

    def _associated(self, node: e.Call) -> list[CallPattern]:
        """The pattern written the other way round, where the node divides and multiplies in the other order."""
        name, called = self.operator_name, getattr(node.op, "name", "")
        quotient_of_product = name == "divide" and called == "multiply"
        product_with_quotient = name == "multiply" and called == "divide"
        if self.args is None or len(self.args) != 2 or not (quotient_of_product or product_with_quotient):
            return []
        found: list[CallPattern] = []
        for position, inner in enumerate(self.args):
            if not isinstance(inner, CallPattern) or inner.operator_name != called or inner.args is None:
                continue
            found += self._turned(position, inner, called)
        return found

    def _turned(self, position: int, inner: CallPattern, called: str) -> list[CallPattern]:
        assert self.args is not None and inner.args is not None
        if called == "multiply" and position == 0:  # (a * b) / c  is  b * (a / c)
            return [
                CallPattern(inner.op, (inner.args[1 - kept], CallPattern(self.op, (inner.args[kept], self.args[1]))))
                for kept in (0, 1)
            ]
        if called == "divide":  # a * (b / c)  is  (a * b) / c
            factor = CallPattern(self.op, (self.args[1 - position], inner.args[0]))
            return [CallPattern(inner.op, (factor, inner.args[1]))]
        return []


class AltPattern(DFPattern):
    """Either of two patterns, the left one first."""

    __slots__ = ("left", "right")
    parts = ("left", "right")

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    def visit(self, node: Any, match: Match) -> Task:
        sides = [lambda: meet(self.left, node, match), lambda: meet(self.right, node, match)]
        return (yield meet_any(sides, match))


class AttrPattern(DFPattern):
    """A pattern with attributes of the call, operator, function or constant; `TOpPattern` is the fusion kind."""

    __slots__ = ("attrs", "pattern")
    parts = ("pattern",)

    def __init__(self, pattern: Any, attrs: Mapping[str, Any]) -> None:
        self.pattern, self.attrs = pattern, dict(attrs)

    def visit(self, node: Any, match: Match) -> Task:
        failure = yield meet(self.pattern, node, match)
        if failure is not None:
            return failure
        for name, wish in self.attrs.items():
            known, value = attribute_of(node, name)
            if not known or not equal_values(value, wish):
                shown = f"{name}={value!r}" if known else f"no attribute {name}"
                return Failure(lambda name=name, wish=wish: f"{_called(node)} has {name}={wish!r}", shown)
        return None


class TypePattern(DFPattern):
    """A pattern with a type."""

    __slots__ = ("pattern", "type")
    parts = ("pattern",)

    def __init__(self, pattern: Any, ttype: t.Type) -> None:
        self.pattern, self.type = pattern, ttype

    def visit(self, node: Any, match: Match) -> Task:
        found = expression_type(node)
        if found != self.type:
            return Failure(lambda: f"{brief(node)} has type {self.type}", str(found or "an unknown type"))
        return (yield meet(self.pattern, node, match))


class DataTypePattern(DFPattern):
    """A pattern for a tensor with a dtype."""

    __slots__ = ("dtype", "pattern")
    parts = ("pattern",)

    def __init__(self, pattern: Any, dtype: str) -> None:
        self.pattern, self.dtype = pattern, dtype

    def visit(self, node: Any, match: Match) -> Task:
        found = expression_type(node)
        if not isinstance(found, t.TensorType) or found.dtype != self.dtype:
            return Failure(lambda: f"{brief(node)} is a tensor of {self.dtype}", str(found or "an unknown type"))
        return (yield meet(self.pattern, node, match))


class ShapePattern(DFPattern):
    """A pattern for a tensor of a shape."""

    __slots__ = ("pattern", "shape")
    parts = ("pattern",)

    def __init__(self, pattern: Any, shape: Sequence[Any]) -> None:
        self.pattern, self.shape = pattern, tuple(shape)

    def visit(self, node: Any, match: Match) -> Task:
        found = expression_type(node)
        if not isinstance(found, t.TensorType) or found != t.TensorType(self.shape, found.dtype):
            return Failure(lambda: f"{brief(node)} has shape {self.shape}", str(found or "an unknown type"))
        return (yield meet(self.pattern, node, match))


class DominatorPattern(DFPattern):
    """`child`, into which all values of `parent` flow, through expressions that fit `path` only."""

    __slots__ = ("child", "parent", "path")
    parts = ("parent", "path", "child")

    def __init__(self, parent: Any, path: Any, child: Any) -> None:
        self.parent, self.path, self.child = parent, path, child

    def visit(self, node: Any, match: Match) -> Task:
        from .dominator import visit_dominator

        return (yield visit_dominator(self, node, match))


def _called(node: Any) -> str:
    """An operator by its name, everything else in brief."""
    name = getattr(node, "name", None)
    return name if isinstance(name, str) else brief(node)


def require_pattern(value: Any) -> Any:
    """`value` if it can be matched.  Raises `WorkbenchError` otherwise."""
    if callable(getattr(value, "match", None)):
        return value
    raise WorkbenchError(
        "E-PATTERN-KIND", "this is not a pattern", found=repr(value)[:80], expected="is_op(...), wildcard(), ..."
    )
