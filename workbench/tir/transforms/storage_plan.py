"""StoragePlan: the intermediates of an entry share one arena.

    before:  alloc A (1 MB): alloc B (1 MB): alloc C (1 MB): f(x, A); g(A, B); h(B, C); k(C, y)
    after:   the same, with arena_offset 0 for A and C, 1 MB for B; attribute arena_bytes = 2 MB

A buffer is live from the first to the last statement that mentions it (loops widen this to the whole loop).  Each is
placed at the lowest offset free during its life, aligned to 64 bytes; `place` says in which order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ...core.node import children, pre_order, rewrite
from ...core.transform import function_pass
from ...tir.build import constant_size
from .. import nodes as t

ALIGNMENT: Final = 64


@dataclass
class Life:
    """A buffer's size in bytes and the statements (numbered in program order) during which it is live."""

    buffer: t.Buffer
    size: int
    first: int
    last: int
    offset: int = 0


@function_pass(name="StoragePlan", applies_to=t.PrimFunc)
def StoragePlan(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Lay the intermediates of an entry out in one arena."""
    return plan_storage(func)


def plan_storage(func: t.PrimFunc) -> t.PrimFunc:
    """`func` with offsets on its allocations, if its role is "entry"; others are left alone."""
    if func.attrs.get("role") != "entry":
        return func
    lives = lifetimes(func.body)
    if not lives:
        return func
    total = place(list(lives.values()))
    return func.replace(body=_annotated(func.body, lives), attrs=func.attrs.set("arena_bytes", total))


def _annotated(root: t.Stmt, lives: dict[int, Life]) -> t.Stmt:
    def post(node: Any) -> Any:
        if isinstance(node, t.AllocBuffer) and id(node.buffer) in lives:
            return node.replace(annotations=node.annotations.set("arena_offset", lives[id(node.buffer)].offset))
        return None

    return rewrite(root, post, lambda node: node if isinstance(node, t.Buffer) else None)


def lifetimes(body: t.Stmt) -> dict[int, Life]:
    """Lives of the buffers of constant size that `body` allocates outside of parallel loops."""
    walk = _Lifetimes()
    stack: list[tuple[t.Stmt, bool]] = [(body, False)]
    while stack:
        current, leaving = stack.pop()
        if leaving:
            walk.leave_loop()
            continue
        walk.enter(current)
        if isinstance(current, t.For) and current.kind is t.ForKind.PARALLEL:
            continue  # all that it mentions has been noted; what it allocates is per iteration
        if isinstance(current, (t.For, t.While)):
            walk.loops.append((walk.moment, set()))
            stack.append((current, True))
        inner = [child for child in children(current) if isinstance(child, t.Stmt)]
        stack.extend((child, False) for child in reversed(inner))
    for life in walk.lives.values():
        life.last = max(life.last, life.first)
    return walk.lives


class _Lifetimes:
    """The state of the walk: lives so far, and the loops around with the buffers that they allocate inside."""

    def __init__(self) -> None:
        self.lives: dict[int, Life] = {}
        self.loops: list[tuple[int, set[int]]] = []
        self.moment = 0

    def enter(self, stmt: t.Stmt) -> None:
        self.moment += 1
        _mention(stmt, self.lives, self.moment)
        size = byte_size(stmt.buffer) if isinstance(stmt, t.AllocBuffer) else None
        if isinstance(stmt, t.AllocBuffer) and size is not None:
            self.lives[id(stmt.buffer)] = Life(stmt.buffer, size, self.moment, -1)
            for _, allocated in self.loops:
                allocated.add(id(stmt.buffer))

    def leave_loop(self) -> None:
        """What a loop mentions but does not allocate is live in all its iterations."""
        begin, allocated = self.loops.pop()
        for key, life in self.lives.items():
            if key not in allocated and life.last >= begin:
                life.first, life.last = min(life.first, begin), self.moment


def _mention(stmt: t.Stmt, lives: dict[int, Life], moment: int) -> None:
    """Extend the lives of buffers that `stmt` mentions; a parallel loop mentions all that is in it."""
    whole = isinstance(stmt, t.For) and stmt.kind is t.ForKind.PARALLEL
    own = [child for child in children(stmt) if whole or not isinstance(child, t.Stmt)]
    for node in pre_order(own if not isinstance(stmt, t.AllocBuffer) else ()):
        life = lives.get(id(node))
        if life is not None:
            if life.last < 0:
                life.first = moment
            life.last = moment


def byte_size(buffer: t.Buffer) -> int | None:
    """Bytes of a buffer of constant shape, rounded up to the alignment."""
    elements = constant_size(buffer)
    return None if elements is None else -(-max(elements * max(1, buffer.dtype.bytes), 1) // ALIGNMENT) * ALIGNMENT


def place(lives: list[Life]) -> int:
    """Choose offsets; returns the arena's size in bytes.

    Each buffer lies at the lowest offset that is free during its life.  The order in which they are placed decides how
    good that is: the best of several is taken, by size, by the widest moment of a life, by size and length of it
    (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020).
    """
    bound, least, kept = live_bytes(lives), -1, list[int]()
    for order in _orders(lives):
        total = _placed(order)
        if least < 0 or total < least:
            least, kept = total, [life.offset for life in lives]
        if least == bound:
            break
    for life, offset in zip(lives, kept, strict=True):
        life.offset = offset
    return max(least, 0)


def live_bytes(lives: list[Life]) -> int:
    """The most bytes that are live at a moment: what any arena takes at least."""
    return max(_widths(lives).values(), default=0)


def _widths(lives: list[Life]) -> dict[int, int]:
    """Live bytes at each moment at which some buffer begins to live: between them they only become fewer."""
    changes = sorted([(life.first, life.size) for life in lives] + [(life.last + 1, -life.size) for life in lives])
    found: dict[int, int] = {}
    total = 0
    for moment, change in changes:
        total += change
        found[moment] = total
    return found


def _orders(lives: list[Life]) -> Iterator[list[Life]]:
    yield sorted(lives, key=lambda life: (-life.size, life.first))
    widths = _widths(lives)
    widest = {id(one): max(width for at, width in widths.items() if one.first <= at <= one.last) for one in lives}
    yield sorted(lives, key=lambda life: (-widest[id(life)], -life.size, life.first))
    yield sorted(lives, key=lambda life: (-life.size * (life.last - life.first + 1), life.first))
    yield sorted(lives, key=lambda life: (life.first - life.last, -life.size, life.first))
    yield sorted(lives, key=lambda life: (life.first, -life.size))


def _placed(order: list[Life]) -> int:
    """Place buffers in that order; the arena's size."""
    placed: list[Life] = []
    for life in order:
        busy = sorted(
            (other.offset, other.offset + other.size)
            for other in placed
            if other.first <= life.last and life.first <= other.last
        )
        offset = 0
        for begin, end in busy:
            if offset + life.size <= begin:
                break
            offset = max(offset, end)
        life.offset = offset
        placed.append(life)
    return max((life.offset + life.size for life in placed), default=0)
