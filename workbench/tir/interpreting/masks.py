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
from ...arith.evaluate import evaluate
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


def is_one_narrow_lane(stmt: t.IfThenElse) -> bool:
    """Whether it is known that one lane is on, which stores an integer of less than 64 bits and can do so alone."""
    parts = [node for node in pre_order(stmt.then_case) if isinstance(node, t.Stmt)]
    narrow = all(
        isinstance(one, t.BufferStore) and one.buffer.dtype.is_integer and one.buffer.dtype.bytes < 8 for one in parts
    )
    if not narrow or any(isinstance(node, (n.Var, t.BufferLoad, n.Call)) for node in pre_order(stmt.condition)):
        return False
    if any(_is_of_lanes_together(node) for node in pre_order(stmt.then_case)):
        return False
    alone = by_lane(stmt)
    assert isinstance(alone.body, t.IfThenElse)
    condition = alone.body.condition
    return sum(bool(evaluate(condition, {alone.var: lane})) for lane in range(stmt.condition.dtype.lanes)) == 1


def _is_of_lanes_together(node: object) -> bool:
    """Whether something has no meaning for one lane: vectors bound around, what is made of several lanes."""
    if isinstance(node, n.Call):
        return not node.dtype.is_vector
    return isinstance(node, n.Var) and node.dtype.is_vector
