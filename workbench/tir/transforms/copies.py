"""Copies of a statement: each variable and buffer that it defines is defined anew, so that none has two definitions."""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...core.node import Node, pre_order, rewrite
from .. import nodes as t


def fresh_copy(stmt: t.Stmt) -> t.Stmt:
    """`stmt` with new variables for its loops and lets and new buffers for its allocations.

    No statement is shared with `stmt` either, so that a later pass may put definitions into both.
    """
    renamed: dict[int, Node] = {}
    for node in pre_order(stmt):
        if isinstance(node, (t.For, t.LetStmt, n.Let)):
            renamed[id(node.var)] = n.Var(node.var.name, node.var.dtype)
        elif isinstance(node, t.AllocBuffer):
            buffer = node.buffer
            renamed[id(buffer)] = t.Buffer(
                buffer.name, buffer.shape, buffer.dtype, buffer.scope, buffer.strides, buffer.elem_offset,
                buffer.axis_separators,
            )  # fmt: skip

    def pre(node: Any) -> Any:
        found = renamed.get(id(node))
        return found if found is not None else node if isinstance(node, t.Buffer) else None

    def post(node: Any) -> Any:
        if not isinstance(node, t.Stmt):
            return None
        return type(node)(**{name: getattr(node, name) for name in node.field_names})

    return rewrite(stmt, post, pre)
