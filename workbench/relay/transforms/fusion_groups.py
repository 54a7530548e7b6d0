"""Which expressions of one block become one kernel: grouping over post-dominators.

The algorithm is the classic one of Relay's fusion: in the graph from producers to consumers each node has an immediate
post-dominator, the first node that all of its values flow into.  Three phases walk the nodes in order and merge a node
with everything up to its post-dominator if every path there allows it:

1. heavy operators take elementwise consumers; elementwise and broadcasting operators join what follows, reductions too
2. injective operators and intermediate tuples join injective consumers
3. injective operators join an intermediate tuple of such a group
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ...core.walks import parents_first
from ..ir import expr as e
from ..ir import types as t
from ..ir.operator import Fusion, Operator
from ..ir.plan import plain_operands

MAX_ARGUMENTS: Final = 128
"""Operands that a kernel may come to have by fusion."""


@dataclass(eq=False)
class Group:
    """A set of nodes (union-find): `root()` is the group of the last one."""

    expr: e.Expr
    pattern: Fusion
    parent: Group | None = None
    heavy: e.Expr | None = None
    count: int = 1
    edges: int = 0
    """Operands of all its nodes; an upper bound of the kernel's arguments."""

    def root(self) -> Group:
        group = self
        while group.parent is not None:
            group = group.parent
        current = self
        while current.parent is not None and current.parent is not group:
            current.parent, current = group, current.parent
        return group

    def merge_into(self, other: Group) -> None:
        """Join `other`, which comes later in the flow."""
        mine, theirs = self.root(), other.root()
        if mine is theirs:
            return
        theirs.count += mine.count
        theirs.edges += mine.edges - 1  # the one between the two is inside now
        mine.parent = theirs
        if mine.heavy is not None:
            theirs.heavy = mine.heavy
            theirs.pattern = max(mine.pattern, theirs.pattern)


@dataclass(eq=False)
class FlowNode:
    """One expression of the block, with where its value flows."""

    index: int
    expr: e.Expr
    pattern: Fusion
    escapes: bool = False
    """Its value is needed outside of what can be fused: it must be materialised."""
    outputs: list[tuple[FlowNode, Fusion]] = field(default_factory=list[tuple["FlowNode", Fusion]])
    dominator: FlowNode | None = None
    dominator_pattern: Fusion = Fusion.OPAQUE
    depth: int = 0


def is_inlined_scalar(expr: e.Expr) -> bool:
    """Scalar constants belong to each kernel that uses them."""
    return isinstance(expr, e.Constant) and expr.data.size == 1


def pattern_of(expr: e.Expr) -> Fusion:
    """The fusion kind of an expression."""
    if isinstance(expr, e.Call) and isinstance(expr.op, Operator):
        return expr.op.fusion
    if isinstance(expr, e.Tuple):
        return Fusion.TUPLE
    if isinstance(expr, e.TupleGetItem):
        return Fusion.INJECTIVE
    return Fusion.OPAQUE


def fuse_groups(statements: list[e.Expr], escaping: set[int], max_depth: int) -> dict[int, Group]:
    """Groups of a block's expressions (operands first), by identity.

    `escaping` are the expressions that something outside of the block's flow needs.
    """
    nodes = _flow(statements, escaping)
    _dominate(nodes)
    groups = [
        Group(node.expr, node.pattern, heavy=_heavy(node), edges=len(plain_operands(node.expr))) for node in nodes
    ]
    for phase in range(3):
        for node in nodes:
            _try(phase, node, groups, max_depth)
    return {id(node.expr): groups[node.index] for node in nodes}


def _heavy(node: FlowNode) -> e.Expr | None:
    return node.expr if node.pattern is Fusion.OUT_ELEMWISE_FUSABLE else None


def _flow(statements: list[e.Expr], escaping: set[int]) -> list[FlowNode]:
    nodes = [
        FlowNode(index, expr, pattern_of(expr), escapes=id(expr) in escaping) for index, expr in enumerate(statements)
    ]
    by_expr = {id(node.expr): node for node in nodes}
    for node in nodes:
        for operand in plain_operands(node.expr):
            source = by_expr.get(id(operand))
            if source is None:
                continue
            if node.pattern is Fusion.OPAQUE and not _is_operator(node.expr):
                source.escapes = True
            source.outputs.append((node, _edge(node, operand)))
    return nodes


def _is_operator(expr: e.Expr) -> bool:
    return isinstance(expr, e.Call) and isinstance(expr.op, Operator)


def _edge(node: FlowNode, operand: e.Expr) -> Fusion:
    """How a node reads an operand: a broadcasting operator reads one of full shape element by element."""
    if isinstance(node.expr, (e.Tuple, e.TupleGetItem)):
        return Fusion.INJECTIVE
    if node.pattern is not Fusion.BROADCAST:
        return node.pattern
    mine, theirs = node.expr.type_or_none, operand.type_or_none
    both = isinstance(mine, t.TensorType) and isinstance(theirs, t.TensorType)
    same = both and t.TensorType(mine.shape) == t.TensorType(theirs.shape)  # type: ignore[union-attr]
    return Fusion.ELEMWISE if same else Fusion.BROADCAST


def _dominate(nodes: list[FlowNode]) -> None:
    """Immediate post-dominators, by common ancestors in reverse order."""
    for node in reversed(nodes):
        if node.escapes or not node.outputs:
            continue
        dominator: FlowNode | None = node.outputs[0][0]
        pattern = Fusion.ELEMWISE
        for consumer, edge in node.outputs:
            pattern = max(pattern, edge)
            dominator, pattern = _meet(dominator, consumer, pattern)
        node.dominator, node.dominator_pattern = dominator, pattern
        node.depth = dominator.depth + 1 if dominator is not None else 0
    # Depths grow from the end of the flow, so consumers always have theirs before producers ask.


def _meet(one: FlowNode | None, other: FlowNode | None, pattern: Fusion) -> tuple[FlowNode | None, Fusion]:
    while one is not other:
        if one is None or other is None:
            return None, pattern
        if one.depth < other.depth:
            one, other = other, one
        pattern = max(pattern, one.dominator_pattern)
        if one.depth == other.depth:
            pattern = max(pattern, other.dominator_pattern)
            other = other.dominator
        one = one.dominator
    return one, pattern


Allowed = Callable[[Fusion, bool], bool]


def _paths_allow(source: FlowNode, sink: FlowNode, groups: list[Group], allowed: Allowed, most: int) -> bool:
    """Whether every node between source and sink (and the sink) is of an allowed kind, and they are at most `most`.

    More nodes than a group may hold do not become one, so that no more are looked at.
    """

    def users(node: FlowNode) -> list[FlowNode]:
        return [user for user, _ in node.outputs] if node is not sink else []

    return all(
        count < most and allowed(groups[node.index].root().pattern, node is sink)
        for count, node in enumerate(parents_first(users(source), users), start=1)
    )


def _between(source: FlowNode, sink: FlowNode) -> list[FlowNode]:
    """The source and the nodes on its paths to the sink."""
    return list(parents_first([source], lambda node: [user for user, _ in reversed(node.outputs) if user is not sink]))


def _commit(source: FlowNode, sink: FlowNode, groups: list[Group], max_depth: int) -> None:
    between = _between(source, sink)
    roots = {id(groups[node.index].root()): groups[node.index].root() for node in [*between, sink]}
    heavy = [root for root in roots.values() if root.heavy is not None]
    if sum(root.count for root in roots.values()) > max_depth or len(heavy) > 1:
        return
    # A single wide operator and the tuple that it reads stay together; more is not added to them.
    arguments = sum(root.edges - 1 for root in roots.values()) + 1
    if arguments > MAX_ARGUMENTS and not isinstance(source.expr, e.Tuple):
        return
    for node in between:
        groups[node.index].merge_into(groups[sink.index])


_SINKS = frozenset(
    {Fusion.ELEMWISE, Fusion.BROADCAST, Fusion.INJECTIVE, Fusion.COMM_REDUCE, Fusion.OUT_ELEMWISE_FUSABLE}
)


def _light(kind: Fusion, is_sink: bool) -> bool:
    return kind <= Fusion.BROADCAST


def _movable(kind: Fusion, is_sink: bool) -> bool:
    return kind <= Fusion.INJECTIVE


def _into_sink(kind: Fusion, is_sink: bool) -> bool:
    return kind in _SINKS if is_sink else kind <= Fusion.INJECTIVE


def _try(phase: int, node: FlowNode, groups: list[Group], max_depth: int) -> None:
    """Merge a node with what lies up to its post-dominator, if this phase does so."""
    group, sink = groups[node.index], node.dominator
    if sink is None or group.pattern is Fusion.OPAQUE:
        return
    target = groups[sink.index]
    if phase == 2:
        inside_tuple = target.pattern is Fusion.TUPLE and target.root().pattern <= Fusion.INJECTIVE
        if group.pattern <= Fusion.INJECTIVE and inside_tuple and _paths_allow(node, sink, groups, _movable, max_depth):
            _commit(node, sink, groups, max_depth)
        return
    if group.root() is target.root() or target.pattern is Fusion.TUPLE:
        return
    allowed = _rule(phase, group.pattern, node.dominator_pattern)
    if allowed is not None and _paths_allow(node, sink, groups, allowed, max_depth):
        _commit(node, sink, groups, max_depth)


def _rule(phase: int, kind: Fusion, towards: Fusion) -> Allowed | None:
    """What the paths of a node of this kind may hold, or None if it does not fuse in this phase."""
    if kind is Fusion.OUT_ELEMWISE_FUSABLE:
        return _light if phase == 0 and towards is Fusion.ELEMWISE else None
    if kind <= Fusion.BROADCAST:
        return _into_sink if towards <= Fusion.INJECTIVE or towards is Fusion.COMM_REDUCE else None
    if kind in (Fusion.INJECTIVE, Fusion.TUPLE):
        return _movable if phase == 1 else None
    return None
