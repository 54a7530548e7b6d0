"""Facts of a loop program that the emitter asks for: what a statement writes, whether its vectors are explicit.

facts = Facts(func.body, noalias=True)
id(buffer) in facts.written(loop)
"""

from __future__ import annotations

from typing import Final

from ...arith import nodes as n
from ...core.node import children, pre_order
from ...tir import nodes as t

_ADDRESSES: Final = ("address_of", "access_ptr")


class Facts:
    """Facts of one function, computed when asked for and kept."""

    def __init__(self, body: t.Stmt, noalias: bool) -> None:
        self._noalias = noalias
        self._written: dict[int, frozenset[int]] = {}
        self._escaped = frozenset(
            id(node.args[0].buffer)
            for node in pre_order(body)
            if isinstance(node, n.Call) and node.op in _ADDRESSES and isinstance(node.args[0], t.BufferLoad)
        )
        self._body = body

    def written(self, stmt: t.Stmt) -> frozenset[int] | None:
        """The buffers that a statement may write, by identity; None where buffers may overlap."""
        if not self._noalias:
            return None
        known = self._written
        stack: list[tuple[t.Stmt, bool]] = [(stmt, False)]
        while stack:
            current, expanded = stack.pop()
            if id(current) in known:
                continue
            inner = [child for child in children(current) if isinstance(child, t.Stmt)]
            if inner and not expanded:
                stack.append((current, True))
                stack.extend((child, False) for child in inner)
                continue
            own = frozenset((id(current.buffer),)) if isinstance(current, t.BufferStore) else self._escaped
            known[id(current)] = own.union(*(known[id(child)] for child in inner))
        return known[id(stmt)]


def has_explicit_vectors(body: t.Stmt) -> bool:
    """Whether every innermost loop of a function works on vectors; parallel loops in it are functions of their own.

    Such a function gains nothing from LLVM's loop passes.  One without loops neither.
    """
    pending: list[t.Stmt] = [body]
    while pending:
        stmt = pending.pop()
        if isinstance(stmt, t.While):
            return False
        inner = [child for child in children(stmt) if isinstance(child, t.Stmt)]
        if not isinstance(stmt, t.For):
            pending.extend(inner)
        elif stmt.kind is not t.ForKind.PARALLEL or stmt is body:
            if not _is_innermost(stmt):
                pending.extend(inner)
            elif not _has_vector(stmt):
                return False
    return True


def _is_innermost(loop: t.For) -> bool:
    return not any(isinstance(node, (t.For, t.While)) and not _unrolls(node) for node in pre_order(loop.body))


def _unrolls(loop: t.For | t.While) -> bool:
    return isinstance(loop, t.For) and loop.kind is t.ForKind.UNROLLED and isinstance(loop.extent, n.IntImm)


def _has_vector(loop: t.For) -> bool:
    return any(isinstance(node, t.BufferStore) and node.value.dtype.is_vector for node in pre_order(loop.body))
