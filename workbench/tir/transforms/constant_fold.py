"""Folding what substitution made constant: arithmetic of constants, conditions that are known, empty branches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...arith import build
from ...arith import nodes as n
from ...core.node import rewrite
from .. import nodes as t
from ..build import seq

_BINARY = {
    n.Add: build.add, n.Sub: build.subtract, n.Mul: build.multiply, n.FloorDiv: build.floordiv,
    n.FloorMod: build.floormod, n.Min: build.minimum, n.Max: build.maximum, n.LT: build.less, n.LE: build.less_equal,
    n.GT: build.greater, n.GE: build.greater_equal, n.EQ: build.equal, n.NE: build.not_equal,
    n.And: build.logical_and, n.Or: build.logical_or,
}  # fmt: skip


def fold(root: Any) -> Any:
    """`root` with constant integer arithmetic done and dead branches dropped."""
    return rewrite(root, _post, lambda node: node if isinstance(node, t.Buffer) else None)


def folded_with(root: Any, values: Mapping[Any, n.PrimExpr]) -> Any:
    """`root` with variables replaced by values and folded, in one walk."""
    known = {id(variable): value for variable, value in values.items()}

    def pre(node: Any) -> Any:
        return node if isinstance(node, t.Buffer) else known.get(id(node))

    return rewrite(root, _post, pre)


def _post(node: Any) -> Any:
    builder = _BINARY.get(node.__class__)
    if builder is not None and not node.a.dtype.is_float and not node.a.dtype.is_vector:
        if isinstance(node, (n.FloorDiv, n.FloorMod)) and isinstance(node.b, n.IntImm) and node.b.value == 0:
            return None
        if isinstance(node.a, n.IntImm) or isinstance(node.b, n.IntImm):
            return builder(node.a, node.b)
        return None
    if isinstance(node, n.Not):
        return build.logical_not(node.a)
    if isinstance(node, n.Select):
        return _decided(node)
    if isinstance(node, n.Call) and node.op == "if_then_else" and isinstance(node.args[0], n.IntImm):
        return node.args[1] if node.args[0].value else node.args[2]
    if isinstance(node, t.IfThenElse) and isinstance(node.condition, n.IntImm):
        return node.then_case if node.condition.value else (node.else_case or seq())
    if isinstance(node, t.SeqStmt):
        return _without_nothing(node)
    return None


def _decided(node: n.Select) -> n.PrimExpr | None:
    """The arm of a choice that is a constant, of all lanes or of one."""
    condition = node.condition.value if isinstance(node.condition, n.Broadcast) else node.condition
    if not isinstance(condition, n.IntImm):
        return None
    return node.true_value if condition.value else node.false_value


def _without_nothing(node: t.SeqStmt) -> t.Stmt | None:
    """Splice nested sequences and drop evaluations of constants."""
    if not any(isinstance(part, t.SeqStmt) or _is_nothing(part) for part in node.stmts):
        return None
    return seq(*(part for part in node.stmts if not _is_nothing(part)))


def _is_nothing(stmt: t.Stmt) -> bool:
    return isinstance(stmt, t.Evaluate) and isinstance(stmt.value, n.IntImm)
