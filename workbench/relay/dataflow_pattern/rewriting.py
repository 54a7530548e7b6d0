"""Finding all matches of a pattern in a program, and replacing them or cutting them out as functions.

Matches are sought from the results towards the inputs, so that of overlapping ones the outermost is taken.  A match
is not replaced if an expression inside it, other than its root, is also used outside: that use would still need it.
Each replacement is logged as a firing (`core.rewrite.logging`) and derives from what was matched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import origin
from ...core.equal import structural_equal
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import FrozenMap, map_children, substitute
from ...core.rewrite import Failure, Match, Rule, fired, trying
from ...core.walks import parts_first
from ..ir import expr as e
from ..ir.brief import brief
from ..ir.infer import infer_type, keep_type
from ..ir.operator import Operator
from ..ir.plan import bound_variables, expressions, operands, plain_operands
from .facts import sequence, use_counts
from .patterns import AltPattern, ConstantPattern, ExprPattern, require_pattern

ROUNDS = 100
"""After so many rounds rules are taken to undo each other."""

PARTITIONED = "PartitionedFromPattern"
"""The attribute of functions that `partition` made; patterns do not look into them again."""


class DFPatternCallback:
    """A pattern and what replaces it: set `self.pattern`, override `callback`.

    `require_type`: types are inferred before each round.  `rewrite_once`: one round only.
    """

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.pattern: Any = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Any) -> Any:
        """`expr` with every match replaced."""
        return rewrite(self, expr)

    def callback(self, pre: Any, post: Any, node_map: Mapping[Any, Sequence[Any]]) -> Any:
        """The replacement of a match: `pre` as it was, `post` with its operands rewritten already.

        `node_map[pattern]` are the expressions (in `post`) that each sub-pattern met.
        """
        raise WorkbenchError(
            "E-PATTERN-CALLBACK", f"{type(self).__name__} has no callback", fix="override callback(pre, post, node_map)"
        )

    def rule(self) -> Rule:
        """The pattern as a rule, for logs and `core.rewrite.why_not`."""
        code = type(self).callback.__code__
        where = f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"
        return Rule(type(self).__name__, require_pattern(self.pattern), None, (), type(self).__doc__ or "", where)


class _Replacing(DFPatternCallback):
    """A callback made of a function."""

    def __init__(self, pattern: Any, replace: Callable[..., Any], require_type: bool) -> None:
        super().__init__(require_type)
        self.pattern = pattern
        self.replace = replace

    def callback(self, pre: Any, post: Any, node_map: Mapping[Any, Sequence[Any]]) -> Any:
        return self.replace(pre, post, node_map)


def rewrite_with(pattern: Any, replace: Callable[..., Any], expr: Any, require_type: bool) -> Any:
    """`rewrite` with one pattern and a function for its callback."""
    return rewrite(_Replacing(pattern, replace, require_type), expr)


def match(pattern: Any, expr: Any) -> bool:
    """Whether a pattern fits an expression."""
    return bool(require_pattern(pattern).match(expr))


def rewrite(callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: Any, mod: IRModule | None = None) -> Any:
    """`expr` with the matches of each callback replaced, round after round until nothing changes.

    A module is rewritten function by function.  Raises E-REWRITE-ENDLESS when callbacks undo each other.
    """
    chosen = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    if isinstance(expr, IRModule):
        return expr.with_functions({name: rewrite(chosen, func, expr) for name, func in expr.items()})
    for _ in range(ROUNDS):
        last = expr
        for callback in chosen:
            expr = _one_round(callback, expr, mod)
        if expr is last or structural_equal(last, expr) or all(callback.rewrite_once for callback in chosen):
            return expr
    names = ", ".join(type(callback).__name__ for callback in chosen)
    raise WorkbenchError(
        "E-REWRITE-ENDLESS",
        f"rewriting does not come to an end: {names}",
        found=f"{ROUNDS} rounds",
        fix="a callback must not match its own result; or set rewrite_once",
        kept="the expression before",
        nodes=(expr,),
    )


def _one_round(callback: DFPatternCallback, expr: Any, mod: IRModule | None) -> Any:
    if callback.require_type:
        infer_type(expr, mod)
    rule = callback.rule()
    trying([rule])
    groups = {id(group.root): group for group in find_groups(rule.pattern, expr)}
    if not groups:
        return expr

    def replace(pre: e.Expr, post: e.Expr, now: Callable[[Any], Any]) -> Any:
        found = groups[id(pre)].match
        node_map = {pattern: tuple(map(now, sequence(nodes) or ())) for pattern, nodes in found.bound.items()}
        return callback.callback(pre, post, node_map)

    return _rebuild(expr, groups, rule, replace)


def _rebuild(expr: e.Expr, groups: Mapping[int, Group], rule: Rule, replace: Callable[..., Any]) -> Any:
    """The program with the roots of groups replaced, operands first."""
    done: dict[int, Any] = {}
    kept: list[Any] = []
    binders = _binders(expr)

    def now(node: Any) -> Any:
        if isinstance(node, (e.Clause, e.Pattern)):
            return map_children(node, now)
        return done.get(id(node), node)

    for current in expressions(expr):
        started = time.perf_counter_ns()
        post = map_children(current, now)
        if post is not current:
            keep_type(post, current)
        answer = post
        if id(current) in groups:
            answer = _checked(replace(current, post, now), rule, current, id(current) in binders)
            if answer is not post:
                origin.derived(answer, *dict.fromkeys([current, *groups[id(current)].match.matched]))
                fired(rule, current, answer, started)
        kept.append(post)
        done[id(current)] = answer
    return done[id(expr)]


def _binders(expr: e.Expr) -> set[int]:
    return {id(variable) for node in expressions(expr) for variable in bound_variables(node)}


def _checked(answer: Any, rule: Rule, current: e.Expr, bound: bool) -> Any:
    if not isinstance(answer, e.Expr):
        raise WorkbenchError(
            "E-PATTERN-CALLBACK",
            f"the callback {rule.name} must return an expression",
            where=rule.where,
            found=type(answer).__name__,
            nodes=(current,),
        )
    if bound and not isinstance(answer, e.Var):
        raise WorkbenchError(
            "E-PATTERN-BINDER",
            f"the callback {rule.name} replaces a variable that the expression binds",
            where=rule.where,
            found=brief(answer),
            expected="a variable",
            nodes=(current,),
        )
    return answer


# --- matches ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """One match that can be replaced."""

    root: e.Expr
    match: Match

    def interior(self) -> dict[int, e.Expr]:
        """What the pattern went through, by identity; all else that it met are inputs."""
        return {id(node): node for node in [self.root, *self.match.matched] if isinstance(node, e.Expr)}


def find_groups(pattern: Any, root: e.Expr) -> list[Group]:
    """The matches of a pattern below a root that neither overlap nor are used from outside, outermost first."""
    counts = use_counts(root)
    taken: set[int] = set()
    groups: list[Group] = []
    for node in reversed(list(_outside_partitions(root))):
        if id(node) in taken and not isinstance(node, (e.Constant, e.Var)):
            continue
        found = Match(node, lambda used: counts.get(id(used), 1))
        if pattern.match(node, found) is not None:
            continue
        group = Group(node, found)
        if refusal(group, taken, counts) is None:
            groups.append(group)
            taken.update(group.interior())
    return groups


def _outside_partitions(root: e.Expr) -> Iterator[e.Expr]:
    """Expressions, operands first, without what is inside functions made by `partition`."""
    inside: set[int] = set()
    order = list(expressions(root))
    for node in order:
        if isinstance(node, e.Function) and PARTITIONED in node.attrs and node is not root:
            inside.update(id(inner) for inner in expressions(node) if not isinstance(inner, (e.Var, e.Constant)))
    return (node for node in order if id(node) not in inside)


def refusal(group: Group, taken: set[int], counts: Mapping[int, int]) -> Failure | None:
    """Why a match cannot be replaced as a whole."""
    inner = group.interior()
    edges: dict[int, int] = {}
    for node in inner.values():
        for operand in operands(node):
            edges[id(operand)] = edges.get(id(operand), 0) + 1
    for key, node in inner.items():
        if isinstance(node, (e.Constant, e.Function, e.Var)):
            continue
        if key in taken:
            return Failure("matches do not overlap", lambda node=node: brief(node))
        if node is not group.root and counts.get(key, 1) > edges.get(key, 0):
            return Failure(lambda node=node: f"{brief(node)} is used inside the match only", f"{counts[key]} uses")
    return None


# --- partition ----------------------------------------------------------------------------------------------------


def partition(
    pattern: Any, expr: Any, attrs: Mapping[str, Any] | None = None, check: Callable[[Any], bool] | None = None
) -> Any:
    """`expr` with each match as a call of a function of its own.

    The function's parameters are what the match computes from, its attributes `attrs` and `PartitionedFromPattern`
    (the names of its operators).  `check(root)` false leaves a match as it is.
    """
    require_pattern(pattern)
    if isinstance(expr, IRModule):
        return expr.with_functions({name: partition(pattern, func, attrs, check) for name, func in expr.items()})
    groups = {id(one.root): one for one in find_groups(pattern, expr) if check is None or check(one.root)}
    rule = Rule("partition", pattern, None, (), "A match becomes a function of its own.")

    def replace(pre: e.Expr, post: e.Expr, now: Callable[[Any], Any]) -> Any:
        return _cut_out(groups[id(pre)], FrozenMap(attrs or {}), now)

    return _rebuild(expr, groups, rule, replace) if groups else expr


def _cut_out(group: Group, attrs: FrozenMap, now: Callable[[Any], Any]) -> e.Call:
    inner = group.interior()
    arguments = _arguments(group, inner)
    params = [e.Var(f"FunctionVar_{index}") for index in range(len(arguments))]
    for param, argument in zip(params, arguments, strict=True):
        if argument.type_or_none is not None:
            param.set_type(argument.checked_type)
    # What lies beyond the arguments was rewritten meanwhile; the body is cut from the program as it was.
    body = substitute(group.root, dict(zip(arguments, params, strict=True)))
    named = attrs.set(PARTITIONED, _name(group.root, inner))
    function = e.Function(tuple(params), body, None, (), named)
    made = e.Call(function, tuple(now(argument) for argument in arguments))
    return made


def _arguments(group: Group, inner: Mapping[int, e.Expr]) -> list[e.Expr]:
    """Operands of the match that are no part of it: in the pattern's order, then from left to right."""
    needed: dict[int, e.Expr] = {}
    for node in _inside(group.root, inner):
        for operand in plain_operands(node) if not isinstance(node, (e.If, e.Let)) else operands(node):
            if id(operand) not in inner and not isinstance(operand, (e.Function, e.GlobalVar, e.Constructor)):
                needed.setdefault(id(operand), operand)
    order: dict[int, e.Expr] = {}
    for pattern, nodes in group.match.bound.items():
        for node in sequence(nodes) or (nodes,):
            if _embeds(pattern, node, group.match):
                needed.pop(id(node), None)
            elif id(node) in needed:
                order.setdefault(id(node), node)
    order.update(needed)
    return [node for key, node in order.items() if key in needed]


def _inside(root: e.Expr, inner: Mapping[int, e.Expr]) -> list[e.Expr]:
    """The match's own expressions, operands first, not looking into functions."""

    def below(node: e.Expr) -> list[e.Expr]:
        return [one for one in operands(node) if id(one) in inner] if not isinstance(node, e.Function) else []

    return list(parts_first([root], below))


def _embeds(pattern: Any, node: Any, match: Match) -> bool:
    """Whether a constant becomes part of the function: the pattern names a constant at this place."""
    if not isinstance(node, e.Constant):
        return False
    if isinstance(pattern, AltPattern):
        side = pattern.left if pattern.left in match.bound else pattern.right
        return _embeds(side, node, match)
    return isinstance(pattern, ConstantPattern) or (isinstance(pattern, ExprPattern) and not pattern.operator_name)


def _name(root: e.Expr, inner: Mapping[int, e.Expr]) -> str:
    """The names of a match's operators, operands first: ``nn.conv2d_nn.relu_``."""
    words: list[str] = []
    for node in _inside(root, inner):
        if isinstance(node, e.Call) and isinstance(node.op, Operator):
            words.append(node.op.name)
        elif isinstance(node, e.Tuple):
            words.append("Tuple")
        elif isinstance(node, e.TupleGetItem):
            words.append(f"TupleGetItem{node.index}")
    return "".join(f"{word}_" for word in words)


__all__ = [
    "DFPatternCallback", "Group", "find_groups", "match", "partition", "refusal", "rewrite", "rewrite_with"
]
