"""Reads at mixed-radix digits of iterators, the other way round: which iterations read a given element, or a box.

    Y[v] = B[v // 16, v % 16]       # B[i, j] is read where v is 16 * i + j, row i where it is 16 * i ... 16 * i + 15

Source: the inverse of an iterator map, as in `tir.IndexMap`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.affine import Affine, Ranges
from ..analysis.regions import Bound
from ..analysis.tree import BlockSite, iter_ranges
from ..arith.nodes import PrimExpr
from ..core.node import post_order
from ..tir import nodes as t
from ..tir.index_map import IndexMap


def reading_map(site: BlockSite, indices: Sequence[PrimExpr]) -> tuple[IndexMap, tuple[Affine, ...]] | None:
    """Where a block reads: a map of its iterators, and what stands still around it and is added to each output.

    None if loop variables or loads are in the indices, or iterators do not begin at 0.
    """
    own = {id(item.var) for item in site.block.iter_vars}
    inside = iter_ranges(site.block)
    outputs: list[PrimExpr] = []
    added: list[Affine] = []
    for index in indices:
        form, still = Affine.of(index, inside).moving(own)
        if not form.variables <= own or not still.variables <= site.held:
            return None
        if any(isinstance(node, t.BufferLoad) for node in post_order(index)):
            return None
        outputs.append(form.expr() if still.terms else index)
        added.append(still if still.terms else Affine.constant(0))
    if any(getattr(item.dom.min, "value", None) != 0 for item in site.block.iter_vars):
        return None
    return IndexMap(tuple(item.var for item in site.block.iter_vars), tuple(outputs)), tuple(added)


def digit_windows(
    site: BlockSite, region: t.BufferRegion, box: Sequence[Bound | None], whole: Sequence[Bound | None], ranges: Ranges
) -> dict[int, Bound]:
    """The values of each iterator (by identity) that read the elements of `box`, where indices are joint digits.

    Empty where each index is an iterator of its own, which need not be asked so, and where it is not decided: the
    windows would have gaps, or elements of the box that nobody reads might be taken for others.
    `whole` is what is there of the buffer in all, `ranges` are those of the loops that `box` is of.
    """
    inside = iter_ranges(site.block)
    forms = [Affine.of(axis.min, inside) for axis in region.region]
    plain = all(form.shifted(-form.offset).is_variable() is not None or form.value is not None for form in forms)
    below = any(least is None or least < 0 for least, _ in (form.interval(inside) for form in forms))
    if plain or below or any(Affine.of(axis.extent, ranges).value != 1 for axis in region.region):
        return {}
    reading = reading_map(site, [axis.min for axis in region.region])
    extents = [item.dom.extent for item in site.block.iter_vars]
    if reading is None or any(still.terms for still in reading[1]):
        return {}
    read = reading[0]
    back = read.inverted(extents) if read.is_bijective(extents) else None
    if back is None:
        return {}
    known: dict[int, Bound] = {}
    for var, bound, all_there, form, size in zip(
        back.initial_indices, box, whole, forms, read.map_shape(extents), strict=True
    ):
        least, most = form.interval(inside)
        if bound is None or all_there is None or least is None or most is None:
            return {}
        last = Affine.of(size, ranges).shifted(-1)
        for gap in (bound.low, last.minus(bound.high), Affine.constant(least).minus(all_there.low),
                    all_there.high.shifted(-most)):  # fmt: skip
            if not gap.never_negative(ranges):
                return {}
        known[id(var)] = bound
    windows = [_window(Affine.of(value, Ranges()), known, ranges) for value in back.final_indices]
    pairs = zip(site.block.iter_vars, windows, strict=True)
    return {} if None in windows else {id(item.var): window for item, window in pairs if window is not None}


def _window(value: Affine, known: Mapping[int, Bound], ranges: Ranges) -> Bound | None:
    """The values of a sum of multiples of variables in bounds; None where there are gaps, or it is no such sum."""
    low, reach = Affine.constant(value.offset), 0
    for atom, factor in sorted(value.terms.items(), key=lambda item: item[1]):
        bound = known.get(id(atom.expr))
        extent = bound.extent(ranges) if bound is not None else None
        if bound is None or extent is None or extent < 1 or factor < 0 or (extent > 1 and factor > reach + 1):
            return None
        low, reach = low.plus(bound.low.times(factor)), reach + factor * (extent - 1)
    return Bound(low, low.shifted(reach))
