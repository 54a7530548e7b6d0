"""Which blocks read sums before these are finished, by counting while a program runs.

    for i, k: S[i] += A[i, k]; C[i] = S[i]        # C does: what it reads is right in its last run only
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tests.property.schedule_programs import Case, value_of
from workbench.arith import build
from workbench.arith.scope import variables_in
from workbench.core.node import post_order, rewrite
from workbench.tir import nodes as t
from workbench.tir.build import decl_buffer, load, seq, store
from workbench.tir.interpret import interpret

MOST_EVENTS = 1 << 18
BEGIN, ADD, READ = "begin", "add", "read"


def unfinished_reads(func: t.PrimFunc, case: Case) -> set[str]:
    """The blocks of a function, at the sizes of a case, that read an element which is added to afterwards."""
    events = _Events(func, case)
    log, place = np.zeros(MOST_EVENTS, "int64"), np.zeros(1, "int64")
    interpret(events.func, *case.arrays(), log, place)
    times: Counter[tuple[int, int]] = Counter()
    added: Counter[tuple[int, int, int]] = Counter()
    reads: list[tuple[str, tuple[int, int, int], int]] = []
    for event in log[: place[0]]:
        number, element = divmod(int(event), events.size)
        kind, block, buffer = events.kinds[number]
        at = buffer, element
        if kind == BEGIN:
            times[at] += 1
        elif kind == ADD:
            added[*at, times[at]] += 1
        else:
            reads.append((block, (*at, times[at]), added[*at, times[at]]))
    return {block for block, at, count in reads if count < added[at]}


class _Events:
    """The function with a log: each beginning, addition and read of an element of a reduction, in order."""

    def __init__(self, func: t.PrimFunc, case: Case) -> None:
        blocks = [node for node in post_order(func) if isinstance(node, t.Block)]
        self.sums = {id(node.buffer) for block in blocks if _adds(block) for node in _stores(block.body)}
        buffers = [node for node in post_order(func) if isinstance(node, t.Buffer)]
        self.shapes = {id(it): [value_of(extent, case.sizes) for extent in it.shape] for it in buffers}
        self.size = max(int(np.prod(shape)) for shape in self.shapes.values())
        self.kinds: list[tuple[str, str, int]] = []
        self.log = decl_buffer((MOST_EVENTS,), "int64", "log")
        self.place = decl_buffer((1,), "int64", "place")
        made = rewrite(func, self._post)
        self.func = made.replace(params=(*made.params, self.log, self.place))

    def _post(self, node: Any) -> Any:
        if not isinstance(node, t.Block) or any(isinstance(inner, t.Block) for inner in post_order(node.body)):
            return None
        own = {id(item.buffer) for item in _stores(node.body)}
        seen = [item for item in post_order(node.body) if isinstance(item, t.BufferLoad) and id(item.buffer) not in own]
        seen = [item for item in seen if id(item.buffer) in self.sums and _is_plain(item, node)]
        before = [self._event(READ, node, item) for item in seen]
        kind = ADD if _adds(node) else BEGIN
        after = [self._event(kind, node, item) for item in _stores(node.body) if id(item.buffer) in self.sums]
        init = node.init
        if init is not None:
            init = seq(init, *(self._event(BEGIN, node, item) for item in _stores(init)))
        return node.replace(body=seq(*before, node.body, *after), init=init)

    def _event(self, kind: str, block: t.Block, access: t.BufferLoad | t.BufferStore) -> t.Stmt:
        flat: Any = build.const(0, "int64")
        for index, extent in zip(access.indices, self.shapes[id(access.buffer)], strict=True):
            flat = flat * extent + build.cast("int64", index)
        event = build.const(len(self.kinds) * self.size, "int64") + flat
        self.kinds.append((kind, block.name, id(access.buffer)))
        zero = build.const(0)
        next_one = load(self.place, zero) + build.const(1, "int64")
        return seq(store(self.log, event, load(self.place, zero)), store(self.place, next_one, zero))


def _adds(block: t.Block) -> bool:
    return any(item.kind is t.IterKind.REDUCE for item in block.iter_vars)


def _stores(stmt: t.Stmt) -> list[t.BufferStore]:
    return [node for node in post_order(stmt) if isinstance(node, t.BufferStore)]


def _is_plain(access: t.BufferLoad, block: t.Block) -> bool:
    """Whether a read's place is told by the block's iterators alone."""
    own = {id(item.var) for item in block.iter_vars}
    return all(id(var) in own for index in access.indices for var in variables_in(index))
