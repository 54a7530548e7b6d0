"""Visitors and mutators over relay expressions (`relay.ExprVisitor`, `relay.ExprMutator`), as in the classic API.

Subclass, override `visit_call` and its like, call `visit` (or `super().visit_call`) for what is below.  Each expression
is visited once, its answer remembered.

>>> from workbench.relay.ir.expr import Tuple, Var
>>> class Rename(ExprMutator):
...     def visit_var(self, var):
...         return Var("z")
>>> Rename().visit(Tuple((Var("a"),))).fields[0].name_hint
'z'

What a mutator changes derives from what was there; types are found again by InferType.  Programs may be deep: a visit
from outside makes room for its recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..core import origin
from ..core.errors import WorkbenchError
from ..core.node import Node, substitute
from ..core.recursion import with_room
from .dataflow_pattern.facts import sequence
from .ir import expr as e
from .ir.operator import Operator
from .ir.plan import expressions, operands

_SHALLOW: Final = 40
"""Levels for which no room need be made."""


def depth_of(expr: e.Expr) -> int:
    """Levels of expressions below one, itself counted."""
    depth: dict[int, int] = {}
    for node in expressions(expr):
        depth[id(node)] = 1 + max((depth[id(operand)] for operand in operands(node)), default=0)
    return depth[id(expr)]


class ExprFunctor:
    """Calls the method for an expression's class; the base of visitors and mutators."""

    memo_map: dict[Any, Any]

    def __init__(self) -> None:
        self.memo_map = {}
        self._entered = False

    def visit(self, expr: Any) -> Any:
        """The answer for an expression: remembered, or by its method."""
        memo = self._memo()
        if expr in memo:
            return memo[expr]
        if getattr(self, "_entered", False) or not isinstance(expr, e.Expr):
            return self._visited(expr)
        self._entered = True
        try:
            levels = depth_of(expr)
            return self._visited(expr) if levels <= _SHALLOW else with_room(lambda: self._visited(expr), levels)
        except RecursionError:
            raise WorkbenchError(
                "E-RELAY-DEEP",
                f"{type(self).__name__} takes too many Python frames for each level of the program",
                fix="rewrite with relay.dataflow_pattern, or core.node.rewrite, which need no stack",
                nodes=(expr,),
            ) from None
        finally:
            self._entered = False

    def _memo(self) -> dict[Any, Any]:
        try:
            return self.memo_map
        except AttributeError:  # a subclass that does not call super().__init__(), as many do
            self.memo_map = {}
            return self.memo_map

    def _visited(self, expr: Any) -> Any:
        kind: type = type(expr)  # pyright: ignore[reportUnknownVariableType]
        name = _METHODS.get(kind) or ("visit_op" if isinstance(expr, (Operator, type)) else "")
        if not name:
            raise WorkbenchError(
                "E-RELAY-VISIT", f"a {type(expr).__name__} is no relay expression", found=repr(expr)[:80]
            )
        answer = getattr(self, name)(expr)
        self._memo()[expr] = answer
        return answer

    def _unknown(self, expr: Any) -> Any:
        raise WorkbenchError(
            "E-RELAY-VISIT",
            f"{type(self).__name__} has no {_METHODS.get(expr.__class__, 'visit_op')}",
            found=repr(expr)[:80],
            fix="override it, or derive from ExprVisitor or ExprMutator",
        )

    visit_function: Callable[..., Any] = _unknown
    visit_let: Callable[..., Any] = _unknown
    visit_call: Callable[..., Any] = _unknown
    visit_var: Callable[..., Any] = _unknown
    visit_global_var: Callable[..., Any] = _unknown
    visit_if: Callable[..., Any] = _unknown
    visit_tuple: Callable[..., Any] = _unknown
    visit_tuple_getitem: Callable[..., Any] = _unknown
    visit_constant: Callable[..., Any] = _unknown
    visit_op: Callable[..., Any] = _unknown
    visit_ref_create: Callable[..., Any] = _unknown
    visit_ref_read: Callable[..., Any] = _unknown
    visit_ref_write: Callable[..., Any] = _unknown
    visit_constructor: Callable[..., Any] = _unknown
    visit_match: Callable[..., Any] = _unknown


_METHODS: Final[dict[type, str]] = {
    e.Function: "visit_function",
    e.Let: "visit_let",
    e.Call: "visit_call",
    e.Var: "visit_var",
    e.GlobalVar: "visit_global_var",
    e.If: "visit_if",
    e.Tuple: "visit_tuple",
    e.TupleGetItem: "visit_tuple_getitem",
    e.Constant: "visit_constant",
    e.RefCreate: "visit_ref_create",
    e.RefRead: "visit_ref_read",
    e.RefWrite: "visit_ref_write",
    e.Constructor: "visit_constructor",
    e.Match: "visit_match",
}


class ExprVisitor(ExprFunctor):
    """Visits everything below an expression; override what is of interest."""

    def visit_function(self, func: e.Function) -> Any:
        for param in func.params:
            self.visit(param)
        self.visit(func.body)

    def visit_let(self, let: e.Let) -> Any:
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_call(self, call: e.Call) -> Any:
        self.visit(call.op)
        for argument in call.args:
            self.visit(argument)

    def visit_if(self, i: e.If) -> Any:
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_tuple(self, tup: e.Tuple) -> Any:
        for item in tup.fields:
            self.visit(item)

    def visit_tuple_getitem(self, op: e.TupleGetItem) -> Any:
        self.visit(op.tuple_value)

    def visit_ref_create(self, r: e.RefCreate) -> Any:
        self.visit(r.value)

    def visit_ref_read(self, r: e.RefRead) -> Any:
        self.visit(r.ref)

    def visit_ref_write(self, r: e.RefWrite) -> Any:
        self.visit(r.ref)
        self.visit(r.value)

    def visit_match(self, m: e.Match) -> Any:
        self.visit(m.data)
        for clause in m.clauses:
            self.visit(clause.rhs)

    def _nothing(self, expr: Any) -> Any:
        """Nothing is below it."""

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _nothing


class ExprMutator(ExprFunctor):
    """Rebuilds an expression; override what changes.  What does not change stays the same object."""

    def _visited(self, expr: Any) -> Any:
        answer = super()._visited(expr)
        if answer is not expr and isinstance(answer, Node) and isinstance(expr, Node):
            origin.derived(answer, expr)
        return answer

    def visit_function(self, fn: e.Function) -> Any:
        return _rebuilt(fn, params=self._all(fn.params), body=self.visit(fn.body))

    def visit_let(self, let: e.Let) -> Any:
        return _rebuilt(let, var=self.visit(let.var), value=self.visit(let.value), body=self.visit(let.body))

    def visit_call(self, call: e.Call) -> Any:
        return _rebuilt(call, op=self.visit(call.op), args=self._all(call.args))

    def visit_if(self, ite: e.If) -> Any:
        branches = {"true_branch": self.visit(ite.true_branch), "false_branch": self.visit(ite.false_branch)}
        return _rebuilt(ite, cond=self.visit(ite.cond), **branches)

    def visit_tuple(self, tup: e.Tuple) -> Any:
        return _rebuilt(tup, fields=self._all(tup.fields))

    def visit_tuple_getitem(self, op: e.TupleGetItem) -> Any:
        return _rebuilt(op, tuple_value=self.visit(op.tuple_value))

    def visit_ref_create(self, r: e.RefCreate) -> Any:
        return _rebuilt(r, value=self.visit(r.value))

    def visit_ref_read(self, r: e.RefRead) -> Any:
        return _rebuilt(r, ref=self.visit(r.ref))

    def visit_ref_write(self, r: e.RefWrite) -> Any:
        return _rebuilt(r, ref=self.visit(r.ref), value=self.visit(r.value))

    def visit_match(self, m: e.Match) -> Any:
        clauses = tuple(_rebuilt(clause, rhs=self.visit(clause.rhs)) for clause in m.clauses)
        return _rebuilt(m, data=self.visit(m.data), clauses=clauses)

    def _all(self, exprs: tuple[e.Expr, ...]) -> tuple[Any, ...]:
        return tuple([self.visit(expr) for expr in exprs])

    def _same(self, expr: Any) -> Any:
        """It stays."""
        return expr

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _same


def _rebuilt(old: Any, **fields: Any) -> Any:
    """`old` with other fields; itself where they are the same objects."""
    changes = {name: value for name, value in fields.items() if not _unchanged(getattr(old, name), value)}
    return old.replace(**changes) if changes else old


def _unchanged(old: Any, new: Any) -> bool:
    olds, news = sequence(old), sequence(new)
    if olds is None or news is None:
        return old is new
    return len(olds) == len(news) and all(one is other for one, other in zip(olds, news, strict=True))


def bind(expr: e.Expr, binds: dict[e.Var, e.Expr]) -> e.Expr:
    """`expr` with free variables (or parameters of a function, which it then loses) replaced."""
    if not isinstance(expr, e.Function):
        return substitute(expr, binds)
    kept = tuple(param for param in expr.params if param not in binds)
    return expr.replace(params=kept, body=substitute(expr.body, binds))


__all__ = ["ExprFunctor", "ExprMutator", "ExprVisitor", "bind", "depth_of"]
