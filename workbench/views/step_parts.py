"""Parts that views of steps are made of: stretches of text near changes, rewrites in a line, how large a program is."""

from __future__ import annotations

import html
from typing import Any, Final

from ..core.module import IRModule
from ..core.node import Node, pre_order
from ..core.per_node import per_node
from ..driver.text import script
from ..relay.ir.brief import brief
from ..relay.ir.expr import Call, Expr
from ..tir.nodes import PrimFunc, Stmt
from .schema import Chunk, RewriteSummary, TextView

_AROUND: Final = 40
"""Lines sent around each hunk; the screen asks for others."""


def operation_count(module: IRModule) -> int:
    """Calls in relay functions and statements in loop functions."""
    return sum(map(_operations, module.functions.values()))


@per_node
def _operations(function: Any) -> int:
    kinds = (Stmt,) if isinstance(function, PrimFunc) else (Call,)
    return sum(isinstance(node, kinds) for node in pre_order(function))


def near(lines: tuple[str, ...], places: list[tuple[int, int]]) -> TextView:
    """The lines near the changes as chunks; short texts whole."""
    if len(lines) <= 400:
        return TextView(len(lines), (Chunk(0, lines),) if lines else ())
    chunks: list[Chunk] = []
    shown_to = 0
    for start, count in places or [(0, 200)]:
        low, high = max(shown_to, start - _AROUND), min(len(lines), start + count + _AROUND)
        if high <= low:
            continue
        if chunks and low == shown_to:
            last = chunks.pop()
            low = last.start
        chunks.append(Chunk(low, lines[low:high]))
        shown_to = high
        if shown_to - chunks[0].start > 1200:
            break
    return TextView(len(lines), tuple(chunks))


def rewrite_summary(firing: Any) -> RewriteSummary:
    """A firing of a rule for the list."""
    return RewriteSummary(firing.rule.name, firing.rule.where, _brief(firing.before), firing.nanoseconds / 1000)


def _brief(node: Any) -> str:
    if isinstance(node, Expr):
        return brief(node)
    return html.escape(script(node).strip().split("\n")[-1].strip()[:90] if isinstance(node, Node) else repr(node)[:90])
