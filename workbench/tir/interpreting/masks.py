"""Masked statements, lane by lane: stores under a condition that differs by lane, and choices that do.

    if T.ramp(i * 16, 1, 16) < T.broadcast(49, 16):            for lane in range(16):
        C[T.ramp(i * 16, 1, 16)] = A[T.ramp(i * 16, 1, 16)]        if i * 16 + lane < 49:
                                                                       C[i * 16 + lane] = A[i * 16 + lane]

A lane that is off touches no memory, so that its accesses are not checked: just as masked instructions behave.
"""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...arith.build import INDEX, add, cast, const, multiply
from ...core.node import pre_order, rewrite
from .. import nodes as t


def is_masked(stmt: t.BufferStore | t.IfThenElse) -> bool:
    """Whether lanes of a statement may be off: by its condition, or by an ``if_then_else`` of vectors in it."""
    if isinstance(stmt, t.IfThenElse):
        return stmt.condition.dtype.is_vector
    return stmt.indices[-1:] != () and stmt.indices[-1].dtype.is_vector and any(map(_chooses, pre_order(stmt)))


def _chooses(node: Any) -> bool:
    return isinstance(node, n.Call) and node.op == "if_then_else" and node.args[0].dtype.is_vector


def by_lane(stmt: t.BufferStore | t.IfThenElse) -> t.For:
    """The statement as a loop over its lanes."""
    first = stmt.condition if isinstance(stmt, t.IfThenElse) else stmt.indices[-1]
    lane = n.Var("lane", INDEX)
    bound = (node.var for node in pre_order(stmt) if isinstance(node, (n.Let, t.LetStmt)))
    own = {id(var): n.Var(var.name, var.dtype.element_of) for var in bound if var.dtype.is_vector}

    def scalar(node: Any) -> Any:
        if isinstance(node, n.Var):
            around = node.dtype.is_vector and id(node) not in own  # bound around the statement: one lane of it
            return n.Call(node.dtype.element_of, "shuffle", (node, lane)) if around else own.get(id(node))
        if isinstance(node, n.Ramp):
            step = multiply(cast(node.stride.dtype, lane), node.stride)
            return add(node.base, step)
        if isinstance(node, n.Broadcast):
            return node.value
        if isinstance(node, (n.Call, n.Cast)) and node.dtype.is_vector:
            return node.replace(dtype=node.dtype.element_of)
        return None

    return t.For(lane, const(0), const(first.dtype.lanes), t.ForKind.SERIAL, rewrite(stmt, scalar))
