"""FuseOps and DefuseOps: groups of operators become primitive functions, each of which becomes one kernel.

    R.nn.relu(R.add(R.nn.conv2d(x, w), b))   ->   f(x, w, b)   with  f = fn (p0, p1, p2) {...}, Primitive=1

`fusion_groups` decides the groups.  Equal groups give equal functions (parameters in order of first use), so that
they share a kernel.  Scalars stay inside; other constants become arguments.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ...core import origin, rewrite
from ...core.module import IRModule
from ...core.node import FrozenMap, Node, map_children
from ...core.transform import PassContext, function_pass
from ...core.walks import parts_first
from ..ir import expr as e
from ..ir.infer import keep_type
from ..ir.operator import Operator
from ..ir.plan import LEAVES, Plan, Scope, block_bodies, expressions, operands, plain_operands
from .fusion_groups import Group, fuse_groups, is_inlined_scalar
from .inline import body_on
from .rules import rebuild

FUSE = rewrite.step("fuse", "Operators that one loop nest can compute become one primitive function.")
UNFUSE = rewrite.step("defuse", "A call of a primitive function is its body.")

MAX_DEPTH = 64
"""Operators of one kernel, unless the context says otherwise.  What a kernel costs to schedule grows with the square of
its operators, so long chains are cut; the longest kernel of a real network has 48."""


@function_pass(opt_level=0, name="FuseOps", required=["InferType"], applies_to=e.Function)
def FuseOps(func: e.Function, mod: IRModule, ctx: PassContext, *, fuse_opt_level: int = -1) -> e.Function:
    """Group operators into primitive functions.

    `fuse_opt_level` below 1 (with -1: the context's level) makes each operator a function of its own.
    "relay.FuseOps.max_depth" in the context's config limits the operators of one function (default 64).
    """
    if func.is_primitive:
        return func
    level = ctx.opt_level if fuse_opt_level < 0 else fuse_opt_level
    depth = int(ctx.config.get("relay.FuseOps.max_depth", MAX_DEPTH)) if level >= 1 else 1
    return _Fuser(func, depth).run()


@dataclass
class _Members:
    """A group that becomes a function: its expressions, operands first, the last one giving the result."""

    exprs: list[e.Expr] = field(default_factory=list[e.Expr])


class _Fuser:
    """Rebuilds a function with its groups as calls of primitive functions."""

    def __init__(self, func: e.Function, max_depth: int) -> None:
        self.func = func
        self.plan = Plan(func)
        self.inside = _inside_kernels(self.plan)
        self.groups: dict[int, Group] = {}
        self.members: dict[int, _Members] = {}
        self.done: dict[int, Node] = {}
        self._group(max_depth)

    def _group(self, max_depth: int) -> None:
        blocks: dict[int, tuple[Scope, list[e.Expr]]] = {}
        for expr in self.plan.order:
            if id(expr) not in self.inside:
                scope = self.plan.place[id(expr)]
                blocks.setdefault(id(scope), (scope, []))[1].append(expr)
        escaping = self._escaping()
        for _, statements in blocks.values():
            self.groups.update(fuse_groups(statements, escaping, max_depth))
        for expr in self.plan.order:
            group = self.groups.get(id(expr))
            if group is not None:
                self.members.setdefault(id(group.root()), _Members()).exprs.append(expr)

    def _escaping(self) -> set[int]:
        """What is needed as a value: results of blocks, values of lets, operands of other blocks and control flow."""
        found: set[int] = {id(self.func.body)}
        for expr in self.plan.order:
            if isinstance(expr, e.Let):
                found.update((id(expr.value), id(expr.body)))
            found.update(id(body) for body in block_bodies(expr))
            inside, place = id(expr) in self.inside, self.plan.place[id(expr)]
            for operand in plain_operands(expr):
                if inside or not _flows(expr) or self.plan.place.get(id(operand)) is not place:
                    found.add(id(operand))
        return found

    def run(self) -> e.Function:
        """The function with every group replaced."""
        for expr in self.plan.order:
            if id(expr) in self.inside:
                self.done[id(expr)] = expr
                continue
            group = self.groups[id(expr)]
            members = self.members[id(group.root())].exprs
            if not self._is_kernel(members):
                self.done[id(expr)] = self._rebuilt(expr)
            elif expr is members[-1]:
                self.done[id(expr)] = self._fused(expr, members)
        result = self.done[id(self.func)]
        assert isinstance(result, e.Function)
        return result

    def _is_kernel(self, members: list[e.Expr]) -> bool:
        return any(_is_operator(expr) for expr in members)

    def _rebuilt(self, expr: e.Expr) -> Node:
        new = map_children(expr, self._replacement)
        keep_type(new, expr)
        return new

    def _replacement(self, child: Node) -> Node:
        if isinstance(child, e.Clause):
            return map_children(child, self._replacement)
        return self.done.get(id(child), child)

    def _fused(self, sink: e.Expr, members: list[e.Expr]) -> e.Expr:
        started = time.perf_counter_ns()
        own = {id(expr) for expr in members}
        params: list[e.Var] = []
        arguments: list[e.Expr] = []
        inner: dict[int, Node] = {}
        for expr in _depth_first(sink, own):
            if id(expr) in own and not _is_outside_item(expr, own):
                inner[id(expr)] = map_children(expr, lambda child: inner.get(id(child), child))
            elif id(expr) not in inner and not is_inlined_scalar(expr):
                param = e.Var(f"p{len(params)}", expr.checked_type)
                inner[id(expr)] = param
                params.append(param)
                argument = self._rebuilt(expr) if id(expr) in own else self._replacement(expr)
                assert isinstance(argument, e.Expr)
                arguments.append(argument)
        body = inner[id(sink)]
        assert isinstance(body, e.Expr)
        function = e.Function(tuple(params), body, sink.checked_type, (), FrozenMap({"Primitive": 1}))
        call = e.Call(function, tuple(arguments))
        for expr in members:  # operands first: what is known of them already stays theirs alone
            origin.derived(inner[id(expr)], expr)
        origin.derived(call, *members)
        rewrite.fired(FUSE, sink, call, started, matched=members)
        return call


def _is_operator(expr: e.Expr) -> bool:
    return isinstance(expr, e.Call) and isinstance(expr.op, Operator)


def _is_outside_item(expr: e.Expr, own: set[int]) -> bool:
    """Whether an expression takes an element of a tuple made outside: the kernel gets the element, not the tuple."""
    return isinstance(expr, e.TupleGetItem) and id(expr.tuple_value) not in own


def _flows(expr: e.Expr) -> bool:
    """Whether an expression can be part of a kernel, so that its operands need not be stored to memory."""
    return _is_operator(expr) or isinstance(expr, (e.Tuple, e.TupleGetItem))


def _inside_kernels(plan: Plan) -> set[int]:
    """The expressions of primitive functions that an earlier fusion made; they are left as they are."""
    found: set[int] = set()
    for expr in plan.order:
        if isinstance(expr, e.Function) and expr.is_primitive:
            found.update(id(inner) for inner in expressions(expr) if not isinstance(inner, LEAVES))
    return found


def _depth_first(sink: e.Expr, own: set[int]) -> list[e.Expr]:
    """The group's expressions and their operands outside, each once, in the order of a left-to-right walk."""

    def below(expr: e.Expr) -> tuple[e.Expr, ...]:
        return operands(expr) if id(expr) in own and not _is_outside_item(expr, own) else ()

    return list(parts_first([sink], below))


@function_pass(opt_level=0, name="DefuseOps", required=["InferType"], applies_to=e.Function)
def DefuseOps(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Put the bodies of primitive functions back where they are called."""
    if func.is_primitive:
        return func

    def visit(old: e.Expr, new: e.Expr) -> e.Expr | None:
        if not isinstance(new, e.Call) or not isinstance(new.op, e.Function) or not new.op.is_primitive:
            return None
        started = time.perf_counter_ns()
        body = body_on(new.op, new.args)
        rewrite.fired(UNFUSE, old, body, started)
        return body

    # the call comes from all that was fused; each expression of a body from one of them
    return rebuild(func, visit, traced=False)
