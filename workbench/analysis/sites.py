"""The loads and stores of a statement, in the order in which they happen.

Invariant: operands come before the store that uses them, an index's own loads before the load they index; what
stands in an arm of ``if_then_else`` carries the condition under which it happens.

    for access in ordered(store):
        access.buffer, access.indices, access.is_store, access.guards
"""

from __future__ import annotations

from typing import NamedTuple

from ..arith import nodes as a
from ..arith.nodes import PrimExpr
from ..tir import nodes as t
from ..tir.array_values import operands

Guard = tuple[PrimExpr, bool]
"""A condition, and the value that it must have."""


class GuardedAccess(NamedTuple):
    """One load or store of a statement."""

    buffer: t.Buffer
    indices: tuple[PrimExpr, ...]
    is_store: bool
    guards: tuple[Guard, ...]
    node: t.BufferLoad | t.BufferStore


def ordered(stmt: t.Stmt) -> list[GuardedAccess]:
    """The accesses that one statement makes itself (not those of statements inside it)."""
    found: list[GuardedAccess] = []
    for root in _expressions(stmt):
        _collect(root, found)
    if isinstance(stmt, t.BufferStore):
        found.append(GuardedAccess(stmt.buffer, stmt.indices, True, (), stmt))
    return found


def _expressions(stmt: t.Stmt) -> tuple[PrimExpr, ...]:
    if isinstance(stmt, t.BufferStore):
        return (*stmt.indices, stmt.value)
    if isinstance(stmt, (t.IfThenElse, t.AssertStmt, t.While)):
        return (stmt.condition,)
    if isinstance(stmt, (t.LetStmt, t.Evaluate)):
        return (stmt.value,)
    if isinstance(stmt, t.BlockRealize):
        return (*stmt.iter_values, stmt.predicate)
    return ()


def _collect(root: PrimExpr, found: list[GuardedAccess]) -> None:
    stack: list[tuple[PrimExpr, tuple[Guard, ...], bool]] = [(root, (), False)]
    while stack:
        node, guards, ready = stack.pop()
        if ready:
            assert isinstance(node, t.BufferLoad)
            found.append(GuardedAccess(node.buffer, node.indices, False, guards, node))
            continue
        if isinstance(node, a.Call) and node.op in ("address_of", "prefetch"):
            continue
        if isinstance(node, t.BufferLoad):
            stack.append((node, guards, True))
        if isinstance(node, a.Call) and node.op == "if_then_else":
            condition, then, otherwise = node.args
            stack.append((otherwise, (*guards, (condition, False)), False))
            stack.append((then, (*guards, (condition, True)), False))
            stack.append((condition, guards, False))
            continue
        stack.extend((part, guards, False) for part in reversed(operands(node)))
