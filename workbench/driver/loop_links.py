"""Which loop of its schedule each line of a kernel's texts stands in.

    inner = innermost_loops(session, "main", ("schedule", "tir", "ll", "asm"))
    inner["asm"][410]      # the `For` of the scheduled function that line 411 is run in; None outside of all loops

A line with which a loop begins stands in it; of several that begin on one line, in the innermost.  Code's loops are
those of the schedule as far as that can be told (`driver.scheduled_loops`): else a line of code stands in none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from ..core.node import pre_order
from ..core.text import Span, Text
from ..tir import nodes as t
from .links import ROOT
from .scheduled_loops import scheduled_loops
from .text import function_text
from .trips import nests

if TYPE_CHECKING:
    from .session import Session

Innermost = tuple[t.For | t.Block | None, ...]
"""By line, the first at 0."""
_NATIVE: Final = ("ll", "asm")


def innermost_loops(session: Session, kernel: str, layers: Collection[str]) -> Mapping[str, Innermost]:
    """By layer, of "schedule", "tir", "ll" and "asm" those in `layers`, the loop that each line stands in.

    In the schedule's text a block is told too, where it is nearer.
    """
    found: dict[str, Innermost] = {}
    if "schedule" not in layers:
        return found
    function = session.step(session.plan.loop_step()).stage.module[kernel]
    assert isinstance(function, t.PrimFunc)
    found["schedule"] = _of_text(function, function_text(kernel, function))
    if "tir" not in layers:
        return found
    provenance = session.provenance
    inner = _of_code(session, kernel, function)
    found["tir"] = tuple(inner.get(line) for line in range(1, _count(provenance.text(kernel, "tir")) + 1))
    for form in (form for form in _NATIVE if form in layers):
        lines: list[t.For | t.Block | None] = [None] * _count(provenance.text(kernel, form))
        for spot in provenance.native(kernel, form).spots:
            lines[spot.text_line - 1] = inner.get(spot.line)
        found[form] = tuple(lines)
    return found


def _of_code(session: Session, kernel: str, function: t.PrimFunc) -> Mapping[int, t.For]:
    """By line of a kernel's code, from 1, the innermost of the loops of `function` that it is run in."""
    known = {id(node) for node in pre_order(function) if isinstance(node, t.For)}
    scheduled = scheduled_loops(session, kernel)
    inner: dict[int, t.For] = {}
    for line, nest in nests(session.provenance.function(kernel), kernel).items():
        loops = scheduled.of(nest)
        if loops and id(loops[-1]) in known:
            inner[line] = loops[-1]
    return inner


def _of_text(function: t.PrimFunc, text: Text) -> Innermost:
    """Loops that begin on one line are not printed one inside of the other: how they nest, the program tells."""
    lines: list[t.For | t.Block | None] = [None] * (len(text.lines) - text.text.endswith("\n"))
    spans: dict[int, list[Span]] = {}
    for node, span in text.spans:
        spans.setdefault(id(node), []).append(span)
    for node in pre_order(function):
        inside = node.block if isinstance(node, t.BlockRealize) else node if isinstance(node, t.For) else None
        for span in spans.get(id(node), ()) if inside is not None and getattr(inside, "name", "") != ROOT else ():
            first, last = text.position(span.start)[0] - 1, text.position(max(span.start, span.end - 1))[0]
            lines[first:last] = [inside] * (last - first)
    return tuple(lines)


def _count(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1
