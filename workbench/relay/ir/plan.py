"""Where each expression of a graph stands when it is written as statements (A-normal form).

A graph has no order and shares freely; text has lines and nested blocks.  The plan gives every compound expression
one statement, in the innermost block that contains all of its uses, after the statements it depends on.  A `Let`
that ends a block continues that block; any other `Let` opens a block of its own.  Tuples and tuple items that are
used once stand inside the statement that uses them, values used once
in the let that binds them.  Printers and `ToANormalForm` share this plan.

Invariant: a statement's operands are variables, leaves, or statements before it in its own block or in one around it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.node import Node, pre_order
from ...core.walks import parts_first
from . import expr as e

LEAVES = (e.Var, e.GlobalVar, e.Constant, e.Constructor)
"""Expressions that stand wherever they are used."""


class Scope:
    """One block: its statements in order, then either a `Let` that continues in `rest`, or the result."""

    __slots__ = ("depth", "jump", "let", "parent", "rest", "result", "statements")

    def __init__(self, parent: Scope | None, result: e.Expr) -> None:
        self.parent = parent
        self.result = result
        self.statements: list[e.Expr] = []
        self.let: e.Let | None = None
        self.rest: Scope | None = None
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.jump: Scope = self if parent is None else _jump(parent)


def _jump(parent: Scope) -> Scope:
    """The far ancestor that makes common ancestors logarithmic (Myers' skew-binary jump pointers)."""
    far = parent.jump
    return far.jump if parent.depth - far.depth == far.depth - far.jump.depth else parent


def _ancestor(scope: Scope, depth: int) -> Scope:
    while scope.depth > depth:
        scope = scope.jump if scope.jump.depth >= depth else scope.parent or scope
    return scope


def common(one: Scope, other: Scope) -> Scope:
    """The innermost scope around both."""
    one, other = _ancestor(one, other.depth), _ancestor(other, one.depth)
    while one is not other:
        if one.jump is not other.jump:
            one, other = one.jump, other.jump
        else:
            one, other = one.parent or one, other.parent or other
    return one


class Plan:
    """The scopes of one program and which expression stands in which."""

    def __init__(self, root: e.Expr) -> None:
        self.root = root
        self.order = [node for node in expressions(root) if not isinstance(node, LEAVES)]
        """Compound expressions, operands first."""
        self.uses = _count_uses(root, self.order)
        self.inner: dict[int, tuple[Scope, ...]] = {}
        """Blocks opened by an expression: a function's body, the branches of an if, the clauses of a match, a let."""
        self.place: dict[int, Scope] = {}
        self.tails: set[int] = set()
        self.inlined: set[int] = set()
        self._last_uses: dict[int, tuple[tuple[int, ...], ...]] = {}
        self.top = self._open(None, root)
        self._meet(root, self.top)
        for expr in reversed(self.order):
            self._expand(expr)
        self._fill()

    def _open(self, parent: Scope | None, result: e.Expr) -> Scope:
        scope = Scope(parent, result)
        if isinstance(result, e.Let) and self.uses.get(id(result), 0) <= 1:
            scope.let = result
            self.tails.add(id(result))
        return scope

    def _meet(self, expr: e.Expr, scope: Scope) -> None:
        if isinstance(expr, LEAVES):
            return
        met = self.place.get(id(expr))
        self.place[id(expr)] = scope if met is None else common(met, scope)

    def _expand(self, expr: e.Expr) -> None:
        """Say where the operands of `expr`, whose own place is settled, are used."""
        here = self.place[id(expr)]
        if isinstance(expr, e.Let):
            block = here if id(expr) in self.tails else self._block(expr, here)
            self._meet(expr.value, block)
            block.rest = self._open(block, expr.body)
            self._meet(expr.body, block.rest)
            return
        bodies = block_bodies(expr)
        opened = tuple(self._open(here, body) for body in bodies)
        if opened:
            self.inner[id(expr)] = opened
        for scope in opened:
            self._meet(scope.result, scope)
        for operand in plain_operands(expr):
            self._meet(operand, here)

    def _block(self, let: e.Let, here: Scope) -> Scope:
        scope = Scope(here, let)
        scope.let = let
        self.inner[id(let)] = (scope,)
        return scope

    def _fill(self) -> None:
        named = {id(expr.op) for expr in self.order if isinstance(expr, e.Call)}
        bound = {id(expr.value) for expr in self.order if isinstance(expr, e.Let)}
        for expr in self.order:
            if id(expr) in self.tails:
                continue
            if self.uses.get(id(expr), 0) <= 1 and id(expr) not in named and self._stands_inside(expr, bound):
                self.inlined.add(id(expr))
            else:
                self.place[id(expr)].statements.append(expr)

    def last_uses(self, scope: Scope) -> tuple[tuple[int, ...], ...]:
        """For each statement of a block the statements (by identity) that nobody reads after it.

        Only those that statements of this very block read: what blocks inside read may be read at any time.
        """
        if id(scope) not in self._last_uses:
            last: dict[int, int] = {}
            counts: dict[int, int] = {}
            for number, statement in enumerate(scope.statements):
                for operand in self._read_by(statement):
                    last[id(operand)] = number
                    counts[id(operand)] = counts.get(id(operand), 0) + 1
            found: list[list[int]] = [[] for _ in scope.statements]
            for statement in scope.statements:
                key = id(statement)
                if counts.get(key, 0) == self.uses.get(key, 0) > 0:
                    found[last[key]].append(key)
            self._last_uses[id(scope)] = tuple(map(tuple, found))
        return self._last_uses[id(scope)]

    def _read_by(self, statement: e.Expr) -> Iterator[e.Expr]:
        """What a statement reads, and what stands inside of it."""
        waiting = list(plain_operands(statement))
        while waiting:
            operand = waiting.pop()
            yield operand
            if id(operand) in self.inlined:
                waiting += plain_operands(operand)

    def _stands_inside(self, expr: e.Expr, bound: set[int]) -> bool:
        """Whether an expression that is used once needs no statement of its own."""
        if id(expr) in bound:
            return not isinstance(expr, (e.If, e.Match, e.Let))
        small = isinstance(expr, (e.Tuple, e.TupleGetItem))
        return small and not any(id(operand) in self.inlined for operand in plain_operands(expr))


def block_bodies(expr: e.Expr) -> tuple[e.Expr, ...]:
    """The operands of an expression that stand in blocks of their own (a let's body aside)."""
    if isinstance(expr, e.Function):
        return (expr.body,)
    if isinstance(expr, e.If):
        return (expr.true_branch, expr.false_branch)
    if isinstance(expr, e.Match):
        return tuple(clause.rhs for clause in expr.clauses)
    return ()


def plain_operands(expr: e.Expr) -> tuple[e.Expr, ...]:
    """The operands that are evaluated where the expression itself is."""
    if isinstance(expr, e.Call):
        return (*expr.args, expr.op) if isinstance(expr.op, e.Expr) else expr.args
    if isinstance(expr, e.Tuple):
        return expr.fields
    if isinstance(expr, e.TupleGetItem):
        return (expr.tuple_value,)
    if isinstance(expr, e.Let):
        return (expr.value,)
    if isinstance(expr, e.If):
        return (expr.cond,)
    if isinstance(expr, e.Match):
        return (expr.data,)
    if isinstance(expr, e.RefCreate):
        return (expr.value,)
    if isinstance(expr, e.RefRead):
        return (expr.ref,)
    if isinstance(expr, e.RefWrite):
        return (expr.ref, expr.value)
    return ()


def operands(expr: e.Expr) -> tuple[e.Expr, ...]:
    """All expressions directly below an expression: in place, then in blocks."""
    body = (expr.body,) if isinstance(expr, e.Let) else block_bodies(expr)
    return (*plain_operands(expr), *body)


def expressions(root: e.Expr, into_kernels: bool = True) -> Iterator[e.Expr]:
    """Each expression below `root` once, operands first (patterns, types and operators are left out).

    Not `into_kernels`: what is in primitive functions below `root` is left out.
    """

    def below(expr: e.Expr) -> tuple[e.Expr, ...]:
        return () if isinstance(expr, e.Function) and expr.is_primitive and expr is not root else operands(expr)

    return parts_first([root], operands if into_kernels else below)


def _count_uses(root: e.Expr, order: list[e.Expr]) -> dict[int, int]:
    uses: dict[int, int] = {id(root): 1}
    for expr in order:
        for operand in operands(expr):
            uses[id(operand)] = uses.get(id(operand), 0) + 1
    return uses


def bound_variables(expr: e.Expr) -> tuple[e.Var, ...]:
    """The variables that an expression binds itself."""
    if isinstance(expr, e.Function):
        return expr.params
    if isinstance(expr, e.Let):
        return (expr.var,)
    if isinstance(expr, e.Match):
        return tuple(variable for clause in expr.clauses for variable in pattern_variables(clause.lhs))
    return ()


def pattern_variables(pattern: Node) -> list[e.Var]:
    """The variables that a pattern names, left to right."""
    return [node.var for node in pre_order(pattern, e.Pattern) if isinstance(node, e.PatternVar)]
