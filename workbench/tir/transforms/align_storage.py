"""Alignment of rows: allocations with the annotation ``storage_align`` get strides (a part of FlattenBuffer).

    before:  C = T.allocate((4, 6), annotations={"storage_align": [[0, 8, 1]]})        # axis, factor, offset
    after:   C = T.allocate((4, 6), strides=(9, 1))                                    # 9 = 8 * 1 + 1 >= 6

A stride is the least one not below what the axes inside need that leaves `offset` when divided by `factor`.
"""

from __future__ import annotations

from typing import Any, Final, cast

from ...arith import nodes as n
from ...arith.build import add, const, floordiv, multiply, subtract
from ...core.node import pre_order, rewrite
from .. import nodes as t

BLOCK_KEY: Final = "buffer_dim_align"
"""On a block: rows of (number of the buffer among its writes, axis, factor, offset)."""
KEY: Final = "storage_align"
"""On an allocation: rows of (axis, factor, offset)."""


def block_rows(block: t.Block) -> dict[int, list[tuple[int, int, int]]]:
    """Rows of (axis, factor, offset) for the buffers (by identity) that a block writes.

    Rows that fit no buffer, axis or factor are left out: the annotation may have been written by hand.
    """
    written: list[t.Buffer] = []
    for region in block.writes:
        if all(region.buffer is not other for other in written):
            written.append(region.buffer)
    found: dict[int, list[tuple[int, int, int]]] = {}
    rows: Any = block.annotations.get(BLOCK_KEY, ())
    for row in cast("tuple[Any, ...]", rows) if isinstance(rows, tuple) else ():
        if type(row) is not tuple:
            continue
        numbers = cast("tuple[Any, ...]", row)
        if len(numbers) != 4 or any(type(item) is not int for item in numbers):
            continue
        number, axis, factor, offset = cast("tuple[int, int, int, int]", numbers)
        if 0 <= number < len(written) and 0 <= axis < len(written[number].shape) and 0 <= offset < factor:
            found.setdefault(id(written[number]), []).append((axis, factor, offset))
    return found


def align_storage(root: t.Stmt) -> t.Stmt:
    """`root` with strides on the buffers whose allocations ask for alignment."""
    aligned: dict[int, t.Buffer] = {}
    for node in pre_order(root, t.Stmt):
        if isinstance(node, t.AllocBuffer) and KEY in node.annotations and not node.buffer.strides:
            aligned[id(node.buffer)] = node.buffer.replace(strides=_strides(node.buffer, node.annotations[KEY]))
    if not aligned:
        return root

    def pre(node: Any) -> Any:
        return aligned.get(id(node), node) if isinstance(node, t.Buffer) else None

    def post(node: Any) -> Any:
        if isinstance(node, t.AllocBuffer) and KEY in node.annotations:
            kept = {key: value for key, value in node.annotations.items() if key != KEY}
            return node.replace(annotations=type(node.annotations)(kept))
        return None

    return rewrite(root, post, pre)


def _strides(buffer: t.Buffer, rows: tuple[tuple[int, int, int], ...]) -> tuple[n.PrimExpr, ...]:
    """Row-major strides, with those of the axes in `rows` rounded up."""
    wanted = {axis: (factor, offset) for axis, factor, offset in rows}
    strides: list[n.PrimExpr] = []
    step: n.PrimExpr = const(1)
    for axis in reversed(range(len(buffer.shape))):
        if axis in wanted:
            factor, offset = wanted[axis]
            rest = subtract(step, offset)
            step = add(multiply(floordiv(add(rest, factor - 1), factor), factor), offset)
        strides.append(step)
        step = multiply(step, buffer.shape[axis])
    return tuple(reversed(strides))


__all__ = ["BLOCK_KEY", "KEY", "align_storage", "block_rows"]
