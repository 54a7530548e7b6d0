"""Index maps put to work on a function: a buffer in new coordinates, and what a map must be for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analysis.regions import detect
from ..analysis.tree import BlockSite, entered
from ..arith.nodes import PrimExpr, literal
from ..arith.scope import Scope
from ..core.errors import WorkbenchError
from ..core.node import post_order, pre_order, rewrite
from ..tir import nodes as t
from ..tir.build import full_region
from ..tir.index_map import IndexMap, table
from .arguments import UNSAFE
from .errors import refuse, require
from .state import ScheduleState
from .surgery import simplified


def require_rank(index_map: IndexMap, count: int, of: str, nodes: Sequence[Any]) -> None:
    """Refuse a map of another number of indices."""
    require(
        len(index_map.initial_indices) == count,
        "E-SCHEDULE-MAP-RANK",
        f"the index map takes {len(index_map.initial_indices)} indices, {of} has {count}",
        found=index_map.text,
        expected=f"a map of {count} indices",
        fix="name one index for each axis",
        nodes=nodes,
    )


def mapped_shape(index_map: IndexMap, shape: Sequence[PrimExpr], nodes: Sequence[Any]) -> tuple[PrimExpr, ...]:
    """The extents of a map's outputs over a box.  Refuses a map whose outputs may be negative or are unbounded."""
    try:
        return tuple(index_map.map_shape(shape))
    except WorkbenchError as error:
        raise refuse(
            "E-SCHEDULE-MAP-SHAPE",
            f"the index map leaves the box: {error.message}",
            found=error.found,
            expected="outputs from 0 on, with an upper bound",
            fix="shift the map so that its least output is 0",
            nodes=nodes,
        ) from None


def require_injective(index_map: IndexMap, shape: Sequence[PrimExpr], assume: bool, nodes: Sequence[Any]) -> bool:
    """Refuse a map that takes two points of a box to one, naming them.  True if it was shown, False if assumed."""
    known = index_map.is_injective(shape)
    if known is False:
        first, second, common = colliding(index_map, [_value(extent) for extent in shape])
        raise refuse(
            "E-SCHEDULE-MAP-COLLIDES",
            f"two elements would lie in one place: {first} and {second} both go to {common}",
            found=index_map.text,
            expected="a map that keeps different indices apart",
            fix="use every index, quotient and remainder: lambda i: (i // 4, i % 4)",
            nodes=nodes,
        )
    if known is None and not assume:
        raise refuse(
            "E-SCHEDULE-MAP-UNPROVEN",
            "cannot show that the index map keeps different indices apart",
            found=f"{index_map.text} on a box that is symbolic or has too many points to try",
            expected="a mixed-radix map, or constant extents",
            fix="assume_injective_transform=True takes your word for it",
            nodes=nodes,
        )
    return known is True


def colliding(index_map: IndexMap, sizes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Two points of a box that a map takes to one, and that one; the first in row-major order."""
    outputs = table(index_map, sizes)
    _, first, inverse = np.unique(outputs, axis=0, return_index=True, return_inverse=True)
    earliest = first[inverse.reshape(-1)]
    second = int(np.flatnonzero(earliest != np.arange(len(outputs)))[0])
    points = [tuple(int(part) for part in np.unravel_index(at, sizes)) for at in (int(earliest[second]), second)]
    return points[0], points[1], tuple(int(part) for part in outputs[second])


def _value(extent: PrimExpr) -> int:
    return int(literal(extent, 0))


# --- a buffer in new coordinates ----------------------------------------------------------------------------------


def require_plain_storage(state: ScheduleState, site: BlockSite, buffer: t.Buffer, verb: str) -> None:
    """Refuse buffers whose place in memory is fixed otherwise, or which are read as vectors."""
    aligned = any("buffer_dim_align" in writer.block.annotations for writer in state.tree.writers(buffer))
    require(
        not (buffer.strides or buffer.elem_offset is not None or aligned),
        "E-SCHEDULE-LAYOUT-STRIDES",
        f"cannot {verb} {buffer.name}: its strides are fixed already",
        found="storage_align on its axes" if aligned else "strides or an offset",
        expected="a compact buffer",
        fix="change the layout first, align the new axes afterwards",
        nodes=(site.block,),
    )
    for node in post_order(state.func.body):
        if isinstance(node, (t.BufferLoad, t.BufferStore)) and node.buffer is buffer:
            require(
                all(index.dtype.lanes == 1 for index in node.indices),
                "E-SCHEDULE-LAYOUT-VECTOR",
                f"cannot {verb} {buffer.name}: it is accessed as a vector",
                found="a vector of indices",
                expected="accesses of single elements",
                fix="change the layout before vectors are written by hand",
                nodes=(site.block,),
            )


def relaid(func: t.PrimFunc, old: t.Buffer, new: t.Buffer, index_map: IndexMap) -> t.PrimFunc:
    """`func` with `old` replaced by `new`, every access at the mapped indices, and the regions read from the bodies."""
    scope = entered(Scope(), (node for node in pre_order(func.body) if isinstance(node, t.Stmt)))

    def at(indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        return tuple(simplified(index, scope) for index in index_map.map_indices(indices))

    def post(node: Any) -> Any:
        if isinstance(node, t.BufferLoad) and node.buffer is old:
            return t.BufferLoad(new, at(node.indices))
        if isinstance(node, t.BufferStore) and node.buffer is old:
            return node.replace(buffer=new, indices=at(node.indices))
        if isinstance(node, t.Block):
            return _declared_anew(node, old, new)
        return None

    made = rewrite(func, post, lambda node: node if isinstance(node, (t.Buffer, t.BufferRegion)) else None)
    params = tuple(new if item is old else item for item in made.params)
    return made.replace(params=params)


def _declared_anew(block: t.Block, old: t.Buffer, new: t.Buffer) -> t.Block:
    """A block whose body uses `new` already, with its declarations changed to it."""
    allocated = tuple(new if item is old else item for item in block.alloc_buffers)
    if all(region.buffer is not old for region in (*block.reads, *block.writes)):
        return block.replace(alloc_buffers=allocated) if any(a is old for a in block.alloc_buffers) else block
    found = detect(block)
    reads, writes = (
        _exchanged(regions, tuple(region for region in own if region.buffer is new), old, new)
        for regions, own in zip((block.reads, block.writes), found, strict=True)
    )
    return block.replace(reads=reads, writes=writes, alloc_buffers=allocated)


def _exchanged(
    regions: tuple[t.BufferRegion, ...], own: tuple[t.BufferRegion, ...], old: t.Buffer, new: t.Buffer
) -> tuple[t.BufferRegion, ...]:
    """`regions` with those of `old` replaced by `own`, at the first one's place; the whole buffer if there are none."""
    made: list[t.BufferRegion] = []
    placed = False
    for region in regions:
        if region.buffer is not old:
            made.append(region)
        elif not placed:
            placed = True
            made.extend(own or (full_region(new),))
    return tuple(made)


def marked_unsafe(func: t.PrimFunc) -> t.PrimFunc:
    """`func` with the attribute that makes builds of it run contained."""
    return func.replace(attrs=func.attrs.set(UNSAFE, 1))


def is_parameter(state: ScheduleState, buffer: t.Buffer) -> bool:
    return any(buffer is item for item in state.func.params)


__all__ = [
    "colliding", "is_parameter", "mapped_shape", "marked_unsafe", "relaid", "require_injective",
    "require_plain_storage", "require_rank",
]  # fmt: skip
