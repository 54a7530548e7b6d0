"""The tile lens: one loop nest as formulas, from which a page draws the order of visits and footprints by itself.

An access is affine in the block's iterators; each iterator is a tree of splits over the loops (`lens_nest`).  From
the factors of the splits follow the extents, so that footprints, the order and what caches hold are closed formulas.

    view = lens_of(sch)              # of the block that does most; lens_of(sch, "C") of another
    view.accesses[0].dims            # C[i, j]: ((0, ((0, 1),)), (0, ((1, 1),)))
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final

from ..analysis.programs import target_of
from ..analysis.sites import ordered
from ..analysis.tree import BlockSite
from ..arith.scope import number_of
from ..core.errors import WorkbenchError, nearest
from ..schedule.schedule import Schedule
from ..tir import nodes as t
from ..tir.script import text
from .lens_nest import Nest, nest_of, refused
from .schema import SCHEMA_VERSION, View
from .strings.tables import say

_ELEMENTS_LIMIT: Final = 4_000_000
"""Elements of all arrays that a page draws at most."""


@dataclass(frozen=True, slots=True)
class TermView(View):
    """A loop of now or of before: its extent with the factors as they are."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class SplitView(View):
    """A term that is made of parts, outermost first.  A factor of None takes what the others leave."""

    term: int
    parts: tuple[int, ...]
    factors: tuple[int | None, ...]
    step: int
    """The step of the trace whose factors can be changed, from 1; 0 for none."""


@dataclass(frozen=True, slots=True)
class LensLoopView(View):
    """A loop, outermost first; the parts of a fused loop are loops of their own, side by side."""

    term: int
    kind: str
    fused: str


@dataclass(frozen=True, slots=True)
class AxisView(View):
    """An iterator of the block: the value of a term (none: -1) plus a number."""

    name: str
    extent: int
    term: int
    offset: int
    reduction: bool


@dataclass(frozen=True, slots=True)
class ArrayView(View):
    """An array, row by row in memory."""

    name: str
    shape: tuple[int, ...]
    bytes: int
    """Of one element."""


@dataclass(frozen=True, slots=True)
class AccessView(View):
    """A load or store, in the order of the statement: for each dimension a number, and (axis, coefficient) pairs."""

    array: int
    store: bool
    dims: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]


@dataclass(frozen=True, slots=True)
class CacheView(View):
    """A data cache of the target; sizes in bytes."""

    name: str
    size: int
    line: int


@dataclass(frozen=True, slots=True)
class LensView(View):
    """Everything that the lens draws of one block."""

    state: str
    function: str
    block: str
    blocks: tuple[tuple[str, str], ...]
    """Every block, with the reason why it cannot be drawn, or an empty one."""
    terms: tuple[TermView, ...]
    splits: tuple[SplitView, ...]
    loops: tuple[LensLoopView, ...]
    axes: tuple[AxisView, ...]
    arrays: tuple[ArrayView, ...]
    accesses: tuple[AccessView, ...]
    caches: tuple[CacheView, ...]
    notes: tuple[str, ...] = ()
    """What the drawing leaves out."""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class MeasuredView(View):
    """What running the program has shown: time, and misses of the whole function by cache."""

    state: str
    milliseconds: float | None
    text: str
    why_not: str
    """Why there is no time."""
    accesses: int
    misses: tuple[tuple[str, int], ...]
    why_no_misses: str
    rate: float = 0.0
    """Operations a second; 0 where nothing was measured."""
    share: float = 0.0
    """The part of the machine's peak."""
    version: int = SCHEMA_VERSION


def lens_of(schedule: Schedule, block: str = "", target: Any = None) -> LensView:
    """The lens on one block of a schedule; without a name on the block that makes most visits.

    Raises `WorkbenchError` E-LENS-BLOCK for a block that is not there, E-LENS-AFFINE for one that has no closed
    formulas (saying which expression is the reason), E-LENS-SIZE for arrays too large to draw.
    """
    sites = schedule.state.tree.leaves
    names = [site.name for site in sites]
    if not sites or (block and block not in names):
        raise WorkbenchError(
            "E-LENS-BLOCK", f"there is no block {block!r}" if block else "the function has no block to look at",
            found=block[:60], expected=", ".join(names), fix=nearest(block, names), kept="the schedule is unchanged",
        )  # fmt: skip
    read: dict[str, _Read] = {}
    reasons: dict[str, WorkbenchError] = {}
    for site in sites:
        try:
            read[site.name] = _Read(schedule, site)
        except WorkbenchError as error:
            reasons[site.name] = error
    drawn = [name for name in names if name in read]
    chosen = block or (max(drawn, key=lambda name: read[name].visits) if drawn else names[-1])
    if chosen not in read:
        raise reasons[chosen]
    machine = target_of(schedule, target)
    caches = tuple(CacheView(level.name, level.size, level.line) for level in machine.cache_levels)
    blocks = tuple((name, reasons[name].message if name in reasons else "") for name in names)
    return read[chosen].view(schedule, blocks, caches)


class _Read:
    """One block, read as formulas."""

    def __init__(self, schedule: Schedule, site: BlockSite) -> None:
        self.site = site
        self.nest: Nest = nest_of(schedule, site)
        self.iterators = list(site.block.iter_vars)
        self.extents = [self._extent(iterator) for iterator in self.iterators]
        self.arrays = self._parameters(schedule.func)
        self.accesses = [access for store in _stores(site.block) for access in self._accesses(store)]
        elements = sum(prod(array.shape) for array in self._array_views())
        if elements > _ELEMENTS_LIMIT:
            raise WorkbenchError(
                "E-LENS-SIZE", f"the arrays of block {site.name} are too large to draw", found=f"{elements:,} elements",
                expected=f"at most {_ELEMENTS_LIMIT:,}", fix="look at the same schedule on a smaller shape",
                kept="the schedule is unchanged",
            )  # fmt: skip

    def _parameters(self, func: t.PrimFunc) -> list[t.Buffer]:
        """The function's parameters that the block touches; its own arrays come after them."""
        regions = (*self.site.block.reads, *self.site.block.writes)
        parameters = [one for one in func.params if isinstance(one, t.Buffer)]
        return [one for one in parameters if any(region.buffer is one for region in regions)]

    @property
    def visits(self) -> int:
        return prod(self.extents) * len(self.accesses)

    def _extent(self, iterator: t.IterVar) -> int:
        extent = number_of(iterator.dom.extent)
        if extent is None:
            raise refused(
                f"iterator {iterator.var.name} of block {self.site.name} has no constant extent",
                text(iterator.dom.extent).text, "look at a program of constant shapes", (self.site.block,),
            )  # fmt: skip
        return extent

    def _accesses(self, store: t.BufferStore) -> list[AccessView]:
        scope = self.site.forms
        numbers = {scope.number_of(iterator.var): number for number, iterator in enumerate(self.iterators)}
        found: list[AccessView] = []
        for access in ordered(store):
            if access.guards:
                raise refused(
                    f"block {self.site.name} reads {access.buffer.name} only where a condition holds",
                    text(access.guards[0][0]).text, "look at another block", (access.node,),
                )  # fmt: skip
            dims: list[tuple[int, tuple[tuple[int, int], ...]]] = []
            for index in access.indices:
                form = scope.linear(index)
                if any(atom not in numbers for atom in form.terms):
                    raise refused(
                        f"block {self.site.name} reaches {access.buffer.name} by an index that is not affine",
                        text(index).text, "look at another block", (access.node,),
                    )  # fmt: skip
                pairs = sorted((numbers[atom], factor) for atom, factor in form.terms.items())
                dims.append((form.offset, tuple(pairs)))
            found.append(AccessView(self._array(access.buffer), access.is_store, tuple(dims)))
        return found

    def _array(self, buffer: t.Buffer) -> int:
        known = next((number for number, one in enumerate(self.arrays) if one is buffer), None)
        if known is None:
            self.arrays.append(buffer)
            return len(self.arrays) - 1
        return known

    def _array_views(self) -> tuple[ArrayView, ...]:
        shapes = [tuple(number_of(extent) or 0 for extent in array.shape) for array in self.arrays]
        return tuple(
            ArrayView(array.name, shape or (1,), array.dtype.bytes)
            for array, shape in zip(self.arrays, shapes, strict=True)
        )

    def view(self, schedule: Schedule, blocks: tuple[tuple[str, str], ...], caches: tuple[CacheView, ...]) -> LensView:
        nest = self.nest
        axes = [
            AxisView(iterator.var.name, extent, *nest.axes[iterator.var], iterator.kind is t.IterKind.REDUCE)
            for iterator, extent in zip(self.iterators, self.extents, strict=True)
        ]
        return LensView(
            state=schedule.fingerprint(),
            function=schedule.func_working_on,
            block=self.site.name,
            blocks=blocks,
            terms=tuple(TermView(name, extent) for name, extent in zip(nest.names, nest.extents, strict=True)),
            splits=tuple(SplitView(split.of, split.parts, split.factors, split.step) for split in nest.splits),
            loops=tuple(LensLoopView(leaf.term, leaf.kind, leaf.fused) for leaf in nest.leaves),
            axes=tuple(axes),
            arrays=self._array_views(),
            accesses=tuple(self.accesses),
            caches=caches,
            notes=tuple(self._notes(schedule)),
        )

    def _notes(self, schedule: Schedule) -> list[str]:
        found: list[str] = []
        if self.site.block.init is not None:
            found.append(say.lens.start_value_left_out)
        around = {id(loop) for loop in self.site.loops}
        beside = [
            site.name
            for site in schedule.state.tree.leaves
            if site is not self.site and any(id(loop) in around for loop in site.loops)
        ]
        if beside:
            found.append(say.lens.blocks_left_out(", ".join(beside)))
        given = {id(one) for one in schedule.func.params}
        for array in self.arrays:
            if id(array) not in given:
                found.append(say.lens.inside_function(array.name))
        parallel = [loop.var.name for loop in self.site.loops if loop.kind is t.ForKind.PARALLEL]
        if parallel:
            found.append(say.lens.one_thread(parallel[0]))
        return found


def _stores(block: t.Block) -> list[t.BufferStore]:
    """The stores that a block consists of."""
    parts = block.body.stmts if isinstance(block.body, t.SeqStmt) else (block.body,)
    stores = [part for part in parts if isinstance(part, t.BufferStore)]
    if len(stores) != len(parts):
        other = next(part for part in parts if not isinstance(part, t.BufferStore))
        raise refused(
            f"block {block.name} holds more than stores", text(other).text, "look at another block", (block,)
        )  # fmt: skip
    return stores
