"""Reads at mixed-radix digits of iterators, the other way round: which iterations read a given element, or a box.

    Y[v] = B[v // 16, v % 16]       # B[i, j] is read where v is 16 * i + j, row i where it is 16 * i ... 16 * i + 15

Source: the inverse of an iterator map, as in `tir.IndexMap`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.regions import Bound
from ..analysis.tree import BlockSite
from ..arith import build
from ..arith.forms import FINITE, Form
from ..arith.nodes import IntImm, PrimExpr, literal
from ..arith.scope import Scope
from ..core.node import post_order
from ..tir import nodes as t
from ..tir.index_map import IndexMap


def reading_map(site: BlockSite, indices: Sequence[PrimExpr]) -> tuple[IndexMap, tuple[PrimExpr, ...]] | None:
    """Where a block reads: a map of its iterators, and what stands still around it and is added to each output.

    None if loop variables or loads are in the indices, or iterators do not begin at 0.
    """
    scope, outputs, added = site.forms, list[PrimExpr](), list[PrimExpr]()
    for index in indices:
        form, still = scope.parted(scope.linear(index), site.iterators)
        if not scope.variables_of(form) <= site.iterators or not site.is_held(still):
            return None
        if any(isinstance(node, t.BufferLoad) for node in post_order(index)):
            return None
        outputs.append(scope.index(form) if still.terms else index)
        added.append(scope.index(still) if still.terms else build.const(0))
    if any(literal(item.dom.min, None) != 0 for item in site.block.iter_vars):
        return None
    return IndexMap(tuple(item.var for item in site.block.iter_vars), tuple(outputs)), tuple(added)


def digit_windows(
    site: BlockSite, region: t.BufferRegion, box: Sequence[Bound | None], whole: Sequence[Bound | None]
) -> dict[int, Bound]:
    """The values of each iterator (by identity) that read the elements of `box`, where indices are joint digits.

    Empty where each index is an iterator of its own, which need not be asked so, and where it is not decided: the
    windows would have gaps, or elements of the box that nobody reads might be taken for others.
    `whole` is what is there of the buffer in all.
    """
    scope = site.forms
    forms = [scope.linear(axis.min) for axis in region.region]
    limits = [scope.atoms.bound(form) for form in forms]
    plain = all(not form.terms or scope.only_variable(form.shifted(-form.offset)) is not None for form in forms)
    wild = any(bound.low < 0 or bound.high > FINITE for bound in limits)
    if plain or wild or any(scope.linear(axis.extent).constant != 1 for axis in region.region):
        return {}
    reading = reading_map(site, [axis.min for axis in region.region])
    extents = [item.dom.extent for item in site.block.iter_vars]
    if reading is None or any(not isinstance(still, IntImm) for still in reading[1]):
        return {}
    read = reading[0]
    back = read.inverted(extents) if read.is_bijective(extents) else None
    if back is None:
        return {}
    known: dict[int, Bound] = {}
    for var, bound, all_there, limit, size in zip(
        back.initial_indices, box, whole, limits, read.map_shape(extents), strict=True
    ):
        if bound is None or all_there is None:
            return {}
        last = scope.linear(size).shifted(-1)
        for gap in (bound.low, last.minus(bound.high), Form({}, limit.low).minus(all_there.low),
                    all_there.high.shifted(-limit.high)):  # fmt: skip
            if not scope.is_natural(gap):
                return {}
        known[scope.atoms.variable_number(var)] = bound
    windows = [_window(scope.linear(value), known, scope) for value in back.final_indices]
    pairs = zip(site.block.iter_vars, windows, strict=True)
    return {} if None in windows else {id(item.var): window for item, window in pairs if window is not None}


def _window(value: Form, known: Mapping[int, Bound], scope: Scope) -> Bound | None:
    """The values of a sum of multiples of variables in bounds; None where there are gaps, or it is no such sum."""
    low, reach = Form({}, value.offset), 0
    for atom, factor in sorted(value.terms.items(), key=lambda item: item[1]):
        bound = known.get(atom)
        extent = bound.extent(scope) if bound is not None else None
        if bound is None or extent is None or extent < 1 or factor < 0 or (extent > 1 and factor > reach + 1):
            return None
        low, reach = low.plus(bound.low, factor), reach + factor * (extent - 1)
    return Bound(low, low.shifted(reach))
