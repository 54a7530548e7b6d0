"""Parts that views of steps are made of: stretches of text near changes, rewrites in a line, how large a program is."""

from __future__ import annotations

import html
from typing import Any, Final

from ..core.module import IRModule
from ..core.node import Node, pre_order
from ..core.per_node import per_node
from ..driver.text import script
from ..relay.ir.brief import brief
from ..relay.ir.expr import Call, Expr, Function
from ..relay.ir.operator import Operator
from ..tir.nodes import PrimFunc, Stmt
from .schema import Chunk, RewriteSummary, TextView

_AROUND: Final = 40
"""Lines sent around each hunk; the screen asks for others."""


def operation_count(module: IRModule) -> int:
    """Calls of operators in relay functions, statements in loop functions.

    A call of a function that holds operators is none of its own: fusing makes as many operators into functions.
    """
    return sum(map(_operations, module.functions.values()))


def function_count(module: IRModule) -> int:
    """The functions that fusion made: what kernels are lowered from."""
    return sum(map(_primitives, module.functions.values()))


@per_node
def _operations(function: Any) -> int:
    if isinstance(function, PrimFunc):
        return sum(isinstance(node, Stmt) for node in pre_order(function))
    return sum(isinstance(node, Call) and isinstance(node.op, Operator) for node in pre_order(function))


@per_node
def _primitives(function: Any) -> int:
    return sum(isinstance(node, Function) and node.is_primitive for node in pre_order(function))


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
