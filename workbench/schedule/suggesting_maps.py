"""The layout of a buffer that its readers walk through in order.

    index_map = suggest_index_map(buffer, load.indices, loops)
    sch.transform_layout(block, ("read", 1), index_map)

Invariant: the map suggested is a bijection of the buffer's box, in which the innermost loop moves the last index.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..arith import build
from ..arith.iter_map import IterMap, detect
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import number_of
from ..tir import nodes as t
from ..tir.index_map import IndexMap


def suggest_index_map(
    buffer: t.Buffer, indices: Sequence[PrimExpr], loops: Sequence[t.For], predicate: PrimExpr | None = None
) -> IndexMap | None:
    """A layout of `buffer` in which an access at `indices` moves through memory as `loops` (outermost first) do.

    None where the indices are no mixed-radix numbers of the loops, cover the buffer only in part, or are in that
    order already.  Method: each index is a sum of digits of loops; the digits become the new indices, sorted by the
    loops that they belong to.
    """
    found = detect(list(indices), {loop.var: (loop.min, loop.extent) for loop in loops}, predicate)
    if not isinstance(found, IterMap) or not _covers(found, buffer):
        return None
    order = {loop.var.name: number for number, loop in enumerate(loops)}
    variables = tuple(Var(f"i{number}") for number in range(len(indices)))
    digits: list[tuple[tuple[int, int], PrimExpr]] = []
    for var, item in zip(variables, found.sums, strict=True):
        for position, split in enumerate(item.splits):
            if split.extent is None or split.mark.name not in order:
                return None
            if split.extent == 1:
                continue
            digit = build.floordiv(var, split.scale)
            digits.append(
                (
                    (order[split.mark.name], -split.lower),
                    build.floormod(digit, split.extent) if position else digit,
                )
            )
    ordered = sorted(digits, key=lambda pair: pair[0])
    if [id(digit) for _, digit in ordered] == [id(digit) for _, digit in digits]:
        return None
    return IndexMap(variables, tuple(digit for _, digit in ordered))


def _covers(found: IterMap, buffer: t.Buffer) -> bool:
    """Whether the indices run from 0 through each axis of the buffer."""
    for item, extent in zip(found.sums, buffer.shape, strict=True):
        whole = number_of(extent)
        if number_of(item.base) != 0 or whole is None or item.extent != whole:
            return False
    return True
