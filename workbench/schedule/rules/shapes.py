"""Numbers that rules decide with: the machine's registers, extents of blocks, divisors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ...analysis.tree import BlockSite, domains_of
from ...arith import nodes as n
from ...arith.build import const
from ...arith.forms import Form
from ...arith.scope import Scope, are_equal, number_of, variables_in
from ...core.node import pre_order, substitute
from ...tir import nodes as t
from ...tir.transforms.flatten_buffer import strides_of
from ...tir.transforms.vectorize_expr import Lanes, Scalarise, scalar_of
from ..schedule import Schedule

PARALLEL_FROM = 16384
"""Iterations below which waking other threads costs more than it brings."""
LINE: Final = 64
"""Bytes of a line of the caches."""


@dataclass(frozen=True)
class Machine:
    """What rules know of a target."""

    lanes: int
    """float32 elements of a vector."""
    registers: int
    nearest: int = 32 * 1024
    """Bytes of the first data cache."""
    second: int = 512 * 1024
    """Bytes of the second cache."""
    fma_units: int = 2
    """Multiply-adds of vectors that start in one cycle."""

    @classmethod
    def of(cls, target: Any) -> Machine:
        if target is None:
            return cls(4, 16)
        caches = target.caches
        first, second = (int(caches[at]) if len(caches) > at else None for at in (0, 1))
        units = int(target.nominal.fma_units)
        return cls(int(target.lanes), int(target.vector_registers), first or cls.nearest, second or cls.second, units)

    def lanes_for(self, buffer: t.Buffer) -> int:
        return max(2, self.lanes * 4 // max(buffer.dtype.bytes, 1))


def extent(item: t.IterVar) -> int | None:
    """The constant extent of an iterator's domain."""
    return number_of(item.dom.extent)


def iterations(site: BlockSite) -> int:
    """How many instances a block has; 2**40 if symbolic."""
    total = 1
    for item in site.block.iter_vars:
        known = extent(item)
        if known is None:
            return 2**40
        total *= known
    return total


def site_of(schedule: Schedule, name: str) -> BlockSite:
    return schedule.state.find_block(name)


def divisors(number: int) -> list[int]:
    return [candidate for candidate in range(1, number + 1) if number % candidate == 0]


def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor of `number` that is at most `limit`."""
    return max((candidate for candidate in range(1, min(number, limit) + 1) if number % candidate == 0), default=1)


def is_choice(node: Any) -> bool:
    """Whether an expression asks a condition."""
    return isinstance(node, n.Call) and node.op == "if_then_else"


def is_reduction(site: BlockSite) -> bool:
    return any(item.kind is t.IterKind.REDUCE for item in site.block.iter_vars)


def contiguous_axes(site: BlockSite) -> int:
    """How many trailing iterators run through memory in step with every access (or do not occur in it)."""
    items = site.block.iter_vars
    regions = (*site.block.reads, *site.block.writes)
    count = 0
    while count < len(items) and all(_in_step(items, count + 1, region) for region in regions):
        count += 1
    return count


def _in_step(items: tuple[t.IterVar, ...], count: int, region: t.BufferRegion) -> bool:
    trailing = items[-count:]
    wanted = {id(item.var) for item in trailing}
    used = {id(var) for axis in region.region for var in variables_in(axis.min)}
    if not used & wanted:
        return True
    axes = region.region[-count:]
    shape = region.buffer.shape[-count:]
    if len(axes) < count or any(not _is_one(axis) for axis in region.region):
        return False
    if any(id(var) in wanted for axis in region.region[:-count] for var in variables_in(axis.min)):
        return False
    for number, (item, axis, size) in enumerate(zip(trailing, axes, shape, strict=True)):
        if axis.min is not item.var:
            return False
        if number and not are_equal(size, item.dom.extent):
            return False
    return True


def _is_one(axis: t.Range) -> bool:
    return number_of(axis.extent) == 1


def whole_lanes(size: int, lanes: int) -> int | None:
    """Lanes for `size` elements without a remainder (which costs more than odd lanes); None if there are none."""
    for whole in (lanes, lanes // 2):
        if whole >= 4 and size % whole == 0:
            return whole
    even = [candidate for candidate in divisors(size) if 4 <= candidate <= 2 * lanes and candidate % 2 == 0]
    divisor = max(even, default=largest_divisor(size, 2 * lanes))
    return divisor if divisor >= 4 else None


def lanes_in_step(site: BlockSite, lanes: int) -> int | None:
    """Vectors along the last iterator, if each access finds the elements of one side by side, or all in one place.

    More than `contiguous_axes` sees: rows of reshaped operands are in step where no vector crosses their end, as in
    ``p0[i // 32, i % 32]`` with 16 lanes; so are rows that a table tells.
    """
    body, items = site.block.body, site.block.iter_vars
    size = extent(items[-1]) if len(items) == len(site.loops) > 1 else None
    most = whole_lanes(size, lanes) if size is not None else None
    if size is None or most is None or not isinstance(body, t.BufferStore):
        return None
    narrower = (most // 2,) if most % 2 == 0 and most >= 8 and any(map(is_choice, pre_order(body))) else ()
    return next((chosen for chosen in (most, *narrower) if _in_step_by(site, body, size, chosen)), None)


def _in_step_by(site: BlockSite, body: t.BufferStore, size: int, chosen: int) -> bool:
    """Whether vectors of `chosen` lanes are in step; conditions take masks where lanes differ, which few have."""
    items = site.block.iter_vars
    scope = domains_of(site.block)
    whole, lane = n.Var("whole"), n.Var("lane")
    scope.enter(whole, const(0), const(size // chosen))
    scope.enter(lane, const(0), const(chosen))
    cut = {items[-1].var: whole * chosen + lane}
    for node in pre_order(body):
        if isinstance(node, n.Call) and is_choice(node) and not _is_uniform(node.args[0], items[-1].var, chosen):
            return False
        if isinstance(node, (t.BufferLoad, t.BufferStore)):
            step = _step(node, cut, lane, scope)
            if step != 1 and (step != 0 or node is body):
                return False
    return True


def _is_uniform(condition: n.PrimExpr, row: n.Var, chosen: int) -> bool:
    """Whether all lanes of a vector along a row agree on a condition, as VectorizeLoop will find."""
    whole, lane = n.Var("whole", row.dtype), n.Var("lane", row.dtype)
    cut = substitute(condition, {row: whole * chosen + lane})
    try:
        return not scalar_of(Lanes(lane, const(0, row.dtype), chosen).vector(cut)).dtype.is_vector
    except Scalarise:
        return False


def _step(
    access: t.BufferLoad | t.BufferStore, cut: dict[n.Var, n.PrimExpr], lane: n.Var, scope: Scope
) -> int | None:
    """Elements from one lane of an access to the next; None if they are not equally far apart."""
    place, variable = Form({}, 0), scope.number_of(lane)
    for index, stride in zip(access.indices, strides_of(access.buffer), strict=True):
        if not isinstance(stride, n.IntImm):
            return None
        place = place.plus(scope.linear(substitute(index, cut)), stride.value)
    step = place.terms.get(variable, 0)
    return None if scope.moves(place.plus(scope.variable(lane), -step), {variable}) else step


def unit_stride(site: BlockSite, item: t.IterVar, most: int = 1) -> bool:
    """True if every access steps by at most `most` elements in its last axis with an iterator, or does not use it."""
    for region in (*site.block.reads, *site.block.writes):
        for number, axis in enumerate(region.region):
            scope = Scope()
            form, variable = scope.linear(axis.min), scope.number_of(item.var)
            if not scope.moves(form, {variable}):
                continue
            step = form.terms.get(variable, 0)
            last, others = number == len(region.region) - 1, form.plus(scope.variable(item.var), -step)
            if not last or not 1 <= step <= most or scope.moves(others, {variable}):
                return False
    return True


def of_kind(items: Iterable[t.IterVar], kind: t.IterKind) -> list[int]:
    return [number for number, item in enumerate(items) if item.kind is kind]
