"""Whether what a flat function's attributes say of it is so; code generation, callers and later passes believe them.

FlattenBuffer writes ``signature`` and ``written``, StoragePlan ``arena_bytes`` and offsets in it.  A text can say the
same of any function, so they are compared with the parameters and the body wherever a program enters.

    require_marks(function)     # E-TIR-SIGNATURE where they do not agree
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from ..arith import nodes as n
from ..arith.build import const, equal, multiply
from ..arith.simplify import Simplifier
from ..core.errors import WorkbenchError
from ..core.node import Node, pre_order, substitute
from ..core.per_node import per_node
from . import nodes as t

SIGNATURE: Final = "signature"
LAW: Final = "a function marked as flat is so, and its marks say what its parameters and its memory are"
_ENTRY: Final = re.compile(r"([a-z0-9_]+)(?:\[(.*)\])?")

Findings = Iterator[tuple[str, Node]]


@per_node
def disagreements(func: t.PrimFunc) -> tuple[tuple[str, Node], ...]:
    """What a function's marks say wrongly, with the nodes concerned; none of a function without marks."""
    return tuple((*_of_parameters(func), *_of_body(func), *_of_arena(func)))


def require_marks(func: t.PrimFunc, name: str = "", body: bool = True) -> None:
    """Raise E-TIR-SIGNATURE for a function that says of itself what is not so; without `body`, of its parameters."""
    for message, node in disagreements(func) if body else _of_parameters(func):
        raise WorkbenchError(
            "E-TIR-SIGNATURE", message, where=f"function {name or func.attrs.get('global_symbol', 'main')}",
            found=str(func.attrs.get(SIGNATURE, func.attrs.get("arena_bytes")))[:200], expected=LAW,
            fix="leave signature, written and arena_bytes out of T.func_attr: passes write them", nodes=(node,),
        )  # fmt: skip


def _of_parameters(func: t.PrimFunc) -> Findings:
    if SIGNATURE not in func.attrs:
        return
    entries: Any = func.attrs[SIGNATURE]
    if not _is_texts(entries) or not _is_texts(func.attrs.get("written", ())):
        yield "the attributes `signature` and `written` are tuples of texts", func
        return
    if len({param.name for param in func.params}) < len(func.params):
        yield "two parameters of a flat function have one name", func
    passed, appended = func.params[: len(entries)], func.params[len(entries) :]
    if len(passed) < len(entries) or not all(_is_extent(param) for param in appended):
        yield f"the attribute `signature` has {len(entries)} entries: there are other parameters", func
        return
    stated = _Stated(func)
    for param, entry in zip(passed, entries, strict=True):
        if not stated.agrees(param, entry):
            yield f"the attribute `signature` says {entry!r} of the parameter {param.name}, which is another", param


class _Stated:
    """What a signature says, with what the function itself asserts of its extents before it does anything."""

    def __init__(self, func: t.PrimFunc) -> None:
        self.extents = {param.name: param for param in func.params if _is_extent(param)}
        self.simplifier = Simplifier()
        self.known: dict[Any, Any] = {}
        own = {id(param) for param in self.extents.values()}
        for stmt in _asserted_first(func.body):
            if isinstance(stmt.condition, n.EQ):
                sides = stmt.condition.a, stmt.condition.b
                told = next((side for side in sides if id(side) in own and side not in self.known), None)
                if told is not None:
                    self.known[told] = sides[1] if told is sides[0] else sides[0]

    def agrees(self, param: Any, entry: str) -> bool:
        """Whether an entry says what a parameter is."""
        found = _ENTRY.fullmatch(entry)
        if found is None or found[1] != str(param.dtype):
            return False
        if found[2] is None:
            return isinstance(param, n.Var)
        plain = isinstance(param, t.Buffer) and len(param.shape) == 1 and not param.strides
        return plain and param.elem_offset is None and self._holds(param, found[2])

    def _holds(self, buffer: t.Buffer, extents: str) -> bool:
        """Whether that many elements are those of a buffer."""
        size: n.PrimExpr = const(1)
        for word in filter(None, (word.strip() for word in extents.split(","))):
            if not word.isascii() or not (word.isdigit() or word in self.extents):
                return False
            size = multiply(size, const(int(word)) if word.isdigit() else self.extents[word])
        own = buffer.shape[0]
        if isinstance(size, n.IntImm) and isinstance(own, n.IntImm):
            return size.value == own.value
        return self.simplifier.can_prove(equal(substitute(size, self.known), substitute(own, self.known)))


def _asserted_first(body: t.Stmt) -> Iterator[t.AssertStmt]:
    while isinstance(body, (t.AllocBuffer, t.LetStmt)):
        body = body.body
    for stmt in body.stmts if isinstance(body, t.SeqStmt) else (body,):
        if not isinstance(stmt, t.AssertStmt):
            return
        yield stmt


def _of_body(func: t.PrimFunc) -> Findings:
    """What is not flat, and stores into parameters that are not said to be written."""
    written: Any = func.attrs.get("written", ())
    if SIGNATURE not in func.attrs or not _is_texts(written):
        return
    passed = {id(param) for param in func.params}
    for node in pre_order(func.body):
        if isinstance(node, (t.Block, t.BlockRealize)):
            yield "a function with a `signature` is flat, and has no blocks", node
        elif isinstance(node, t.Buffer) and (len(node.shape) != 1 or node.strides or node.elem_offset is not None):
            yield f"a function with a `signature` is flat, and {node.name} has not one axis", node
        elif isinstance(node, t.BufferStore) and id(node.buffer) in passed and node.buffer.name not in written:
            yield f"the attribute `written` does not name {node.buffer.name}, which is stored into", node


def _of_arena(func: t.PrimFunc) -> Findings:
    """Allocations that reach beyond the arena in which they are said to lie."""
    size = func.attrs.get("arena_bytes", 0)
    if type(size) is not int or size < 0:
        yield "the attribute `arena_bytes` is a number of bytes", func
        return
    for node in pre_order(func.body, t.Stmt):
        offset = node.annotations.get("arena_offset") if isinstance(node, t.AllocBuffer) else None
        if offset is None or not isinstance(node, t.AllocBuffer):
            continue
        taken = max(1, node.buffer.dtype.bytes)
        for extent in node.buffer.shape:
            taken *= extent.value if isinstance(extent, n.IntImm) else size + 1
        if type(offset) is not int or offset < 0 or (size and offset + taken > size):
            yield f"{node.buffer.name} does not lie within the {size} bytes that `arena_bytes` says", node


def _is_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in cast("tuple[Any, ...]", value))


def _is_extent(param: Any) -> bool:
    return isinstance(param, n.Var) and param.dtype.is_integer and not param.dtype.is_vector


__all__ = ["LAW", "SIGNATURE", "disagreements", "require_marks"]
