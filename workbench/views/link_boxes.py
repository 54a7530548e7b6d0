"""The boxes of a kernel's schedule as its link table names them, and which of them each line stands in.

    found = linked_boxes(session, "main", ("te", "schedule", "tir", "ll", "asm"))
    found.boxes[0]           # ("l:C:0", "i", 0): the box as the editor names it, its loop's name, the number around it
    found.within["asm"]      # by line the number of its box, from 1; 0 outside of all
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.node import children
from ..driver.loop_links import innermost_loops
from ..tir import nodes as t
from .editor_boxes import key_of, referenced

if TYPE_CHECKING:
    from ..driver.session import Session

Box = tuple[str, str, int]
"""How the editor calls it, the name of its loop or block, and the number of the box around it; 0 for none."""


@dataclass(frozen=True)
class LinkedBoxes:
    """See the module's header."""

    state: str = ""
    """The schedule that has these boxes, after its last move; empty where there is none."""
    boxes: tuple[Box, ...] = ()
    within: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


def linked_boxes(session: Session, kernel: str, layers: Collection[str]) -> LinkedBoxes:
    """The boxes of a kernel; none where its loops were edited as text, since then no schedule has them."""
    if "schedule" not in layers:
        return LinkedBoxes()
    schedule = session.schedule(kernel)
    function = session.step(session.plan.loop_step()).stage.module[kernel]
    if schedule.func is not function:
        return LinkedBoxes()
    numbers, boxes = _numbered(schedule)
    inner = innermost_loops(session, kernel, layers)
    within = {name: tuple(numbers.get(id(node), 0) for node in lines) for name, lines in inner.items()}
    return LinkedBoxes(schedule.moves.fingerprint, boxes, within)


def _numbered(schedule: Any) -> tuple[dict[int, int], tuple[Box, ...]]:
    """By identity the number of each loop and block that the editor shows, from 1, outer ones first; and these."""
    named = {key_of(one): box for box, one in referenced(schedule)[1].items()}
    numbers: dict[int, int] = {}
    boxes: list[Box] = []
    waiting: list[tuple[Any, int]] = [(schedule.func, 0)]
    while waiting:
        node, around = waiting.pop()
        name = node.var.name if isinstance(node, t.For) else node.name if isinstance(node, t.Block) else ""
        box = named.get(id(node.var) if isinstance(node, t.For) else name)
        if box is not None:
            boxes.append((box, name, around))
            around = numbers[id(node)] = len(boxes)
        waiting.extend((child, around) for child in reversed([*children(node)]) if isinstance(child, t.Stmt | t.Block))
    return numbers, tuple(boxes)
