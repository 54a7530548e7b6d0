"""VectorizeLoop: a vectorized loop of constant extent becomes vector expressions.

    before:  for x in T.vectorized(16):        after:  C[T.ramp(y * 16, 1, 16)] = A[T.ramp(y * 16, 1, 16)] + 1.0
                 C[y * 16 + x] = A[y * 16 + x] + 1.0

Runs on one-dimensional accesses.  Conditions that differ by lane stay conditions, on vectors: code generation masks
what is inside.  What has no vector form (an inner loop whose extent differs by lane, an allocation, a call for its
effect) makes the loop serial; the meaning is the same.
"""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...arith.build import const
from ...core import origin
from ...core.dtype import DataType
from ...core.node import Node, map_children, pre_order, rewrite
from ...core.transform import PassContext, function_pass
from .. import nodes as t
from .simplify import simplified


class _NoVectorForm(Exception):
    """The loop must run serially."""


@function_pass(name="VectorizeLoop", applies_to=t.PrimFunc)
def VectorizeLoop(func: t.PrimFunc, mod: Any, ctx: PassContext) -> t.PrimFunc:
    """Turn vectorized loops into vector expressions."""
    as_serial = bool(ctx.config.get("tir.disable_vectorize", False))

    def post(node: Node) -> Node | None:
        if not isinstance(node, t.For) or node.kind is not t.ForKind.VECTORIZED:
            return None
        serial = node.replace(kind=t.ForKind.SERIAL)
        if as_serial or not isinstance(node.extent, n.IntImm) or node.extent.value < 1:
            return serial
        if node.extent.value == 1:
            return serial
        try:
            return _Vectorizer(node).statement(node.body)
        except _NoVectorForm:
            return serial

    return rewrite(func, post)


class _Vectorizer:
    """Rewrites the body of one loop; `lanes` of its variable run side by side."""

    def __init__(self, loop: t.For) -> None:
        assert isinstance(loop.extent, n.IntImm)
        self.lanes = loop.extent.value
        self.varying: dict[int, n.PrimExpr] = {id(loop.var): n.Ramp(loop.min, const(1, loop.var.dtype), self.lanes)}

    # --- statements (nested as shallowly as loops are) ---

    def statement(self, stmt: t.Stmt) -> t.Stmt:
        """The statement for all lanes at once.  Raises `_NoVectorForm`."""
        made = self._statement(stmt)
        return origin.derived(made, stmt) if made is not stmt else stmt

    def _statement(self, stmt: t.Stmt) -> t.Stmt:
        if isinstance(stmt, t.BufferStore):
            return self._store(stmt)
        if isinstance(stmt, t.SeqStmt):
            return t.SeqStmt(tuple(self.statement(part) for part in stmt.stmts))
        if isinstance(stmt, t.IfThenElse):
            otherwise = self.statement(stmt.else_case) if stmt.else_case is not None else None
            return t.IfThenElse(self.expression(stmt.condition), self.statement(stmt.then_case), otherwise)
        if isinstance(stmt, t.For):
            if self._varies(stmt.min) or self._varies(stmt.extent) or stmt.kind is t.ForKind.PARALLEL:
                raise _NoVectorForm
            return stmt.replace(body=self.statement(stmt.body))
        if isinstance(stmt, t.LetStmt):
            return self._let(stmt)
        raise _NoVectorForm

    def _store(self, stmt: t.BufferStore) -> t.Stmt:
        value = self.expression(stmt.value)
        indices = tuple(simplified(self.expression(index)) for index in stmt.indices)
        wide = any(index.dtype.is_vector for index in indices)
        if value.dtype.lanes > 1 and not wide:
            raise _NoVectorForm  # every lane stores to one element
        if wide and (len(indices) != 1 or stmt.value.dtype.is_vector):
            raise _NoVectorForm
        if wide and not value.dtype.is_vector:
            value = n.Broadcast(value, self.lanes)
        return t.BufferStore(stmt.buffer, value, indices)

    def _let(self, stmt: t.LetStmt) -> t.Stmt:
        value = self.expression(stmt.value)
        if not value.dtype.is_vector:
            return stmt.replace(body=self.statement(stmt.body))
        wide = n.Var(stmt.var.name, value.dtype)
        self.varying[id(stmt.var)] = wide
        return t.LetStmt(wide, value, self.statement(stmt.body))

    def _varies(self, expr: n.PrimExpr) -> bool:
        return any(id(node) in self.varying for node in pre_order(expr))

    # --- expressions ---

    def expression(self, expr: n.PrimExpr) -> n.PrimExpr:
        """The expression for all lanes: itself if it does not vary, else a vector."""
        if not self._varies(expr):
            return expr
        return rewrite(expr, self._widened, self._known)

    def _known(self, node: Node) -> Node | None:
        if id(node) in self.varying:
            return self.varying[id(node)]
        if isinstance(node, (n.Ramp, n.Broadcast, n.Let)):
            raise _NoVectorForm
        return node if isinstance(node, t.Buffer) else None

    def _widened(self, node: Node) -> Node | None:
        """A node some of whose operands have become vectors."""
        if isinstance(node, t.BufferLoad):
            return self._load(node)
        if not isinstance(node, n.PrimExpr):
            return None
        operands = [part for part in _operands(node) if part.dtype.lanes > 1]
        if not operands:
            return None
        if isinstance(node, n.Cast):
            return n.Cast(node.dtype.with_lanes(self.lanes), node.value)
        if isinstance(node, n.Call):
            return self._call(node)
        wide: Any = map_children(node, self._spread)
        return type(node)(*(getattr(wide, name) for name in node.field_names))

    def _load(self, node: t.BufferLoad) -> Node | None:
        if all(not index.dtype.is_vector for index in node.indices):
            return None
        if len(node.indices) != 1 or node.buffer.dtype.is_vector:
            raise _NoVectorForm
        return t.BufferLoad(node.buffer, (simplified(node.indices[0]),))

    def _call(self, node: n.Call) -> n.Call:
        if node.op in ("address_of", "call_extern", "call_packed", "call_tir", "shuffle") or node.dtype == "void":
            raise _NoVectorForm
        condition_only = node.op == "if_then_else" and not node.args[0].dtype.is_vector
        arguments = tuple(
            argument if condition_only and position == 0 else self._spread(argument)
            for position, argument in enumerate(node.args)
        )
        return n.Call(node.dtype.element_of.with_lanes(self.lanes), node.op, arguments)

    def _spread(self, node: Any) -> Any:
        """A scalar operand beside a vector one is repeated."""
        if isinstance(node, n.PrimExpr) and not node.dtype.is_vector and node.dtype != DataType("handle"):
            return n.Broadcast(node, self.lanes)
        return node


def _operands(node: n.PrimExpr) -> list[n.PrimExpr]:
    if isinstance(node, n.Call):
        return list(node.args)
    return [part for name in node.field_names if isinstance(part := getattr(node, name), n.PrimExpr)]
