"""Small questions about nodes that the printer and the parser must answer alike."""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...core.equal import first_difference
from ...core.node import Node, pre_order
from .. import nodes as t


def is_integer(expr: Any, value: int) -> bool:
    """True for the int64 constant `value`."""
    return type(expr) is n.IntImm and expr.value == value and expr.dtype == "int64"


def is_index_constant(expr: Any) -> bool:
    return type(expr) is n.IntImm and expr.dtype == "int64"


def has_end(start: Any, extent: Any) -> bool:
    """Whether start and start + extent are both int64 constants, so that a range prints as begin and end."""
    return is_index_constant(start) and is_index_constant(extent) and -(2**63) <= start.value + extent.value < 2**63


def identical(one: Any, other: Any) -> bool:
    """Equal with the very same variables."""
    return one is other or first_difference(one, other, names=True, map_free_variables=False) is None


def has_plain_root(function: t.PrimFunc) -> bool:
    """True when the body is a root block without anything to say, which the parser puts back."""
    body = function.body
    if not isinstance(body, t.BlockRealize) or body.iter_values or not is_true(body.predicate):
        return False
    block = body.block
    if block.name != "root" or block.iter_vars or block.reads or block.writes or len(block.annotations):
        return False
    return block.init is None and (
        bool(block.alloc_buffers) or (contains_block(block.body) and not is_root(block.body))
    )


def is_true(expr: n.PrimExpr) -> bool:
    return type(expr) is n.IntImm and expr.value == 1 and expr.dtype == "bool"


def contains_block(stmt: Node) -> bool:
    """True when a block stands anywhere in a statement."""
    return any(isinstance(node, (t.Block, t.BlockRealize)) for node in pre_order(stmt, t.Stmt))


def is_root(stmt: Node) -> bool:
    """True for the realization of a block named "root"."""
    return isinstance(stmt, t.BlockRealize) and stmt.block.name == "root"
