"""A graph as boxes within boxes, few enough on each level to be read: repeated blocks once, long chains in sections.

The calls stand in an order in which operands come first.  Neighbours in that order are grouped: no path can leave such
a group and come back, so that drawing a group as one box makes no cycle.  What lies between two places that a single
value passes is a block (of a residual network, of a transformer); equal blocks behind each other, and equal runs of
blocks, are one box; what is still long is cut where the fewest values pass.  What can be read whole stays whole.

    top = boxes_of(main)
    [box.title for box in top]                # ["conv2d", "conv2d, relu, add ×3", ...]
    top[1].children                           # the three blocks
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from ..core.node import post_order
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from .strings.tables import say

MOST: Final = 48
"""Boxes on one level."""
_SHOWN: Final = 3
"""Operators in the title of a group."""
_SECTION: Final = 32
"""Boxes that a section is made for; it has up to `MOST`, so that it can end where few values pass."""
_AMBIENT: Final = 4
"""A value that passes more than this share of a graph (a mask that each layer reads) does not hold blocks together."""


@dataclass(frozen=True)
class Box:
    """A call, or neighbours that are drawn as one until they are opened."""

    id: str
    """Its place: "2.0" is the first box in the third of the outermost level."""
    title: str
    nodes: tuple[r.Call, ...]
    children: tuple[Box, ...] = ()
    """Empty for a call."""
    times: int = 1
    """How many equal blocks it holds, if they are its children."""

    @cached_property
    def reads(self) -> tuple[r.Expr, ...]:
        """What its calls read from outside of it, each time that one reads it."""
        own = {id(node) for node in self.nodes}
        return tuple(source for node in self.nodes for source in operands(node) if id(source) not in own)


def boxes_of(function: r.Function) -> tuple[Box, ...]:
    """The outermost boxes of a function's graph, in order."""
    nodes = drawn(function.body)
    names = {id(node): operators(node) for node in nodes}
    items = [_Item(names[id(node)], (node,)) for node in nodes]
    return tuple(_box(item, str(number), names) for number, item in enumerate(_levels(items)))


def drawn(body: r.Expr) -> list[r.Call]:
    """The calls of the outermost level, operands first."""
    inside: set[int] = set()
    order = [node for node in post_order(body) if isinstance(node, (r.Call, r.Function))]
    for node in order:
        if isinstance(node, r.Function):
            inside.update(id(inner) for inner in post_order(node))
    return [node for node in order if isinstance(node, r.Call) and id(node) not in inside]


def operands(call: r.Call) -> list[r.Expr]:
    """What a call reads: calls, parameters and constants, also those that come in tuples or out of them."""
    found: list[r.Expr] = []
    pending: list[r.Expr] = list(reversed(call.args))
    while pending:
        node = pending.pop()
        if isinstance(node, r.Tuple):
            pending.extend(reversed(node.fields))
        elif isinstance(node, r.TupleGetItem):
            pending.append(node.tuple_value)
        else:
            found.append(node)
    return found


def operators(call: r.Call) -> tuple[str, ...]:
    """The operators that a call carries out, by name; what it calls where that is no operator."""
    if isinstance(call.op, Operator):
        return (call.op.name,)
    if isinstance(call.op, r.Function):
        called = [one.op for one in post_order(call.op.body) if isinstance(one, r.Call)]
        return tuple(op.name for op in called if isinstance(op, Operator)) or (say.graph.function,)
    return (str(getattr(call.op, "name_hint", say.graph.call)),)


# --- grouping -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Item:
    """Neighbours under one token: what is alike has the same."""

    token: Any
    nodes: tuple[r.Call, ...]
    inner: tuple[_Item, ...] = ()
    times: int = 1


def _levels(items: list[_Item]) -> list[_Item]:
    """At most `MOST` items: as they are where they are few, else blocks, what repeats as one, sections of the rest."""
    if len(items) <= MOST:
        return items
    return _sections(_folded(_blocks(items)))


def _blocks(items: Sequence[_Item]) -> list[_Item]:
    """What lies between places that at most one value passes; values that are read all along do not count."""
    crossing = _crossing(items, len(items) // _AMBIENT)
    cuts = [at for at in range(len(items)) if crossing[at] <= 1]
    parts = [items[start:end] for start, end in pairwise((*cuts, len(items)))]
    large = len(items) // 2  # nearly all of it is no block
    return [one for part in parts for one in ([_block(part)] if 1 < len(part) <= large else part)]


def _block(items: Sequence[_Item]) -> _Item:
    return _joined(_levels(list(items)), ("block", tuple(item.token for item in items)))


def _folded(items: list[_Item]) -> list[_Item]:
    """With every repetition as one item, until none is left."""
    while found := _repetitions([item.token for item in items]):
        for start, length, times in sorted(found, reverse=True):
            parts = [items[at : at + length] for at in range(start, start + length * times, length)]
            blocks = tuple(part[0] if length == 1 else _block(part) for part in parts)
            folded = replace(_joined(blocks, ("times", blocks[0].token)), times=times)
            items[start : start + length * times] = [_in_stretches(folded)]
    return items


def _in_stretches(folded: _Item) -> _Item:
    """Very many equal blocks as stretches of them, each again so many times the block."""
    if len(folded.inner) <= MOST:
        return folded
    length = math.ceil(len(folded.inner) / math.ceil(len(folded.inner) / MOST))
    starts = range(0, len(folded.inner), length)
    parts = [folded.inner[start : start + length] for start in starts]
    stretches = [replace(_joined(part, ("times", part[0].token)), times=len(part)) for part in parts]
    return _in_stretches(replace(folded, inner=tuple(stretches)))


def _joined(items: Sequence[_Item], token: Any) -> _Item:
    return _Item(token, tuple(node for item in items for node in item.nodes), tuple(items))


def _repetitions(tokens: list[Any]) -> list[tuple[int, int, int]]:
    """(start, length, times) of runs in which the same comes again and again; those that save most, without overlap."""
    numbers: dict[Any, int] = {}
    series = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)
    found: list[tuple[int, int, int, int]] = []
    for length in range(1, len(series) // 2 + 1):
        same = np.concatenate(([0], series[length:] == series[:-length], [0])).astype(np.int8)
        edges = np.flatnonzero(np.diff(same))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            times = int(end - start) // length + 1
            if times > 1:
                found.append(((times - 1) * length, -length, int(start), times))
    taken = np.zeros(len(series), dtype=bool)
    chosen: list[tuple[int, int, int]] = []
    for _, negative, start, times in sorted(found, reverse=True):
        length = -negative
        if not taken[start : start + length * times].any():
            taken[start : start + length * times] = True
            chosen.append((start, length, times))
    return chosen


def _sections(items: list[_Item]) -> list[_Item]:
    """At most `MOST` items: neighbours joined between the places that the fewest values pass."""
    while len(items) > MOST:
        count = math.ceil(len(items) / _SECTION)
        crossing = _crossing(items, len(items))
        cuts = [0]
        for number in range(1, count):
            middle, reach = number * len(items) // count, (MOST - _SECTION) // 2
            near = range(max(middle - reach, cuts[-1] + 1), min(middle + reach, len(items) - 1) + 1)
            if near:
                cuts.append(min(near, key=lambda at: (crossing[at], abs(at - middle))))
        parts = [items[start:end] for start, end in pairwise((*cuts, len(items)))]
        items = [part[0] if len(part) == 1 else _joined(part, ("section", id(part[0]))) for part in parts]
    return items


def _crossing(items: Sequence[_Item], reach: int) -> list[int]:
    """How many values pass from before each place to behind it, but for those that pass more than `reach` items."""
    place = {id(node): number for number, item in enumerate(items) for node in item.nodes}
    last: dict[int, int] = {}
    for number, item in enumerate(items):
        for node in item.nodes:
            for source in operands(node):
                if id(source) in place:
                    last[id(source)] = max(last.get(id(source), 0), number)
    steps = [0] * (len(items) + 1)
    for source, end in last.items():
        if place[source] < end <= place[source] + reach:
            steps[place[source] + 1] += 1
            steps[end + 1] -= 1
    return list(np.cumsum(steps))


def _box(item: _Item, place: str, names: Mapping[int, tuple[str, ...]]) -> Box:
    """`names`: the operators of each call, by identity."""
    if not item.inner:
        return Box(place, _title(item.nodes, names), item.nodes)
    children = tuple(_box(inner, f"{place}.{number}", names) for number, inner in enumerate(item.inner))
    shown = _one_block(item).nodes if item.times > 1 else item.nodes
    title = _title(shown, names) + (f" ×{item.times}" if item.times > 1 else f" ({len(item.nodes)})")
    return Box(place, title, item.nodes, children, item.times)


def _one_block(item: _Item) -> _Item:
    """The block that an item repeats, also through stretches."""
    while item.times > 1:
        item = item.inner[0]
    return item


def _title(nodes: Sequence[r.Call], names: Mapping[int, tuple[str, ...]]) -> str:
    """The operators, each once; of many the first ones."""
    distinct = list(dict.fromkeys(name.removeprefix("nn.") for node in nodes for name in names[id(node)]))
    return ", ".join(distinct[:_SHOWN]) + (", …" if len(distinct) > _SHOWN else "")
