"""What a stage knows of its loops: the immutable record behind `te.Stage`.

Split, fused and root iteration variables are handles (`tir.IterVar`); `leaves` are the loops as they are now, outermost
first.  Invariant: a record never changes, each call makes the next one; the order of calls that do not touch the
same iteration variables leaves no trace in it except in `leaves`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...arith import build
from ...arith.nodes import Var
from ...te.nodes import Operation, PlaceholderOp
from ...tir.index_map import IndexMap
from ...tir.nodes import IterKind, IterVar, Range
from .calls import Call, refused


@dataclass(frozen=True, eq=False)
class Split:
    """`parent` as `outer * extent of inner + inner`; one of `factor` (of inner) and `nparts` (of outer) is given."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int | None
    nparts: int | None
    unguarded: bool
    """Whether iterations beyond the extent run (`disable_predication`)."""
    call: Call

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        return (self.parent,)

    @property
    def made(self) -> tuple[IterVar, ...]:
        return (self.outer, self.inner)

    @property
    def factors(self) -> tuple[int | None, int | None]:
        """The extents of the two loops, the open one None."""
        return (self.nparts, self.factor)


@dataclass(frozen=True, eq=False)
class Fuse:
    """`parts`, nested directly, as one loop; of no parts (a scalar stage) a loop of one iteration."""

    parts: tuple[IterVar, ...]
    fused: IterVar
    call: Call

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        return self.parts

    @property
    def made(self) -> tuple[IterVar, ...]:
        return (self.fused,)


@dataclass(frozen=True, eq=False)
class Transform:
    """The data axes under an index map; without axes where only the storage follows it."""

    inputs: tuple[IterVar, ...]
    made: tuple[IterVar, ...]
    index_map: IndexMap
    call: Call


Relation = Split | Fuse | Transform
MarkKind = Literal["parallel", "unroll", "vectorize", "bind", "pragma", "prefetch", "tensorize"]


@dataclass(frozen=True, eq=False)
class Mark:
    """What is to become of a loop."""

    axis: IterVar
    kind: MarkKind
    value: Any
    call: Call


@dataclass(frozen=True, eq=False)
class Remark:
    """What is to become of a whole stage: "set_scope", "double_buffer", "storage_align", ..."""

    kind: str
    value: Any
    call: Call


@dataclass(frozen=True, eq=False)
class Attach:
    """Where a stage is computed: at a loop of another stage, inside its consumers, or (`None`) on its own."""

    kind: Literal["inline", "scope"]
    stage: int
    axis: IterVar | None
    call: Call


@dataclass(frozen=True, eq=False)
class StageRecord:
    """See the module's header."""

    key: int
    op: Operation
    roots: tuple[IterVar, ...]
    leaves: tuple[IterVar, ...]
    reads: tuple[tuple[int, int], ...]
    """(stage, output) of each tensor read."""
    relations: tuple[Relation, ...] = ()
    marks: tuple[Mark, ...] = ()
    remarks: tuple[Remark, ...] = ()
    attach: Attach | None = None
    ordered: Call | None = None
    """The last `reorder`."""
    is_output: bool = False

    @property
    def is_placeholder(self) -> bool:
        return isinstance(self.op, PlaceholderOp)

    @property
    def is_touched(self) -> bool:
        """Whether any call has changed the stage's own loops or marks."""
        return bool(self.relations or self.marks or self.ordered)

    @property
    def all_axes(self) -> tuple[IterVar, ...]:
        made = [axis for relation in self.relations for axis in (*relation.inputs, *relation.made)]
        seen: dict[int, IterVar] = {id(axis): axis for axis in (*self.roots, *made)}
        return tuple(seen.values())

    def position(self, axis: Any, call: Call, owner: Callable[[IterVar], str]) -> int:
        """The place of `axis` among the leaves; refuses what is no loop of this stage, or none any more."""
        if not isinstance(axis, IterVar):
            raise refused(
                call, "E-STAGE-AXIS", "an iteration variable was expected", found=repr(axis)[:60],
                expected=f"one of {names(self.leaves)}", fix=f"take it from s[{self.op.name}].op.axis or from a split",
            )  # fmt: skip
        for number, leaf in enumerate(self.leaves):
            if leaf is axis:
                return number
        for relation in self.relations:
            if any(part is axis for part in relation.inputs):
                raise refused(
                    call, "E-STAGE-CONSUMED", f"{axis.var.name} is no loop any more", found=f"{relation.call.where}",
                    expected=f"one of {names(self.leaves)}", fix=f"use {names(relation.made)}",
                )  # fmt: skip
        raise refused(
            call, "E-STAGE-AXIS", f"{axis.var.name} is not an iteration variable of stage {self.op.name}",
            found=owner(axis) or "an iteration variable of another schedule",
            expected=f"{names(self.leaves) or 'none: the stage has no loops'}",
            fix=f"take it from s[{self.op.name}].op.axis or from a split of it",
        )  # fmt: skip

    def require_unmarked(self, axis: IterVar, call: Call) -> None:
        """Refuse to consume a loop that was vectorized, unrolled, bound ...: its mark would be lost."""
        for mark in self.marks:
            if mark.axis is axis:
                raise refused(
                    call, "E-STAGE-MARKED", f"{axis.var.name} was given to {mark.kind} before",
                    found=mark.call.where, expected="a loop without marks",
                    fix="split and fuse first, mark the results",
                )  # fmt: skip

    # --- the next record ---

    def split(
        self, axis: IterVar, at: int, factor: int | None, nparts: int | None, unguarded: bool, call: Call
    ) -> StageRecord:
        """The record with the leaf number `at` split."""
        name, extent = axis.var.name, axis.dom.extent
        rest = build.floordiv(build.add(extent, (factor or nparts or 1) - 1), factor or nparts or 1)
        parts = (rest, build.const(factor)) if factor is not None else (build.const(nparts or 1), rest)
        outer, inner = (
            derived(f"{name}.{side}", size, axis.kind) for side, size in zip(("outer", "inner"), parts, strict=True)
        )
        relation = Split(axis, outer, inner, factor, nparts, unguarded, call)
        leaves = (*self.leaves[:at], outer, inner, *self.leaves[at + 1 :])
        return replace(self, leaves=leaves, relations=(*self.relations, relation))

    def fuse(self, parts: Sequence[IterVar], at: int, call: Call) -> StageRecord:
        """The record with the leaves from `at` on, as many as `parts`, made one."""
        extent = build.const(1)
        for part in parts:
            extent = build.multiply(extent, part.dom.extent)
        name = ".".join(part.var.name for part in parts) + ".fused" if parts else "singleton"
        kinds = {part.kind for part in parts}
        fused = derived(name, extent, IterKind.REDUCE if IterKind.REDUCE in kinds else IterKind.SPATIAL)
        leaves = (*self.leaves[:at], fused, *self.leaves[at + len(parts) :])
        return replace(self, leaves=leaves, relations=(*self.relations, Fuse(tuple(parts), fused, call)))

    def reorder(self, axes: Sequence[IterVar], positions: Sequence[int], call: Call) -> StageRecord:
        """The record with the leaves at `positions` in the order of `axes`; the others stay."""
        leaves = list(self.leaves)
        for place, axis in zip(sorted(positions), axes, strict=True):
            leaves[place] = axis
        return replace(self, leaves=tuple(leaves), ordered=call)

    def mark(self, axis: IterVar, kind: MarkKind, value: Any, call: Call) -> StageRecord:
        """The record with a mark more; of vectorize, unroll and parallel a loop keeps the last, of others each."""
        one_of = ("parallel", "unroll", "vectorize")
        kept = tuple(
            mark
            for mark in self.marks
            if mark.axis is not axis
            or not ((mark.kind == kind and mark.value == value) or (mark.kind in one_of and kind in one_of))
        )
        return replace(self, marks=(*kept, Mark(axis, kind, value, call)))

    def remark(self, kind: str, value: Any, call: Call, *, alone: bool = True) -> StageRecord:
        """The record with a remark more; `alone` replaces an earlier one of the kind."""
        kept = tuple(item for item in self.remarks if not (alone and item.kind == kind))
        return replace(self, remarks=(*kept, Remark(kind, value, call)))


def derived(name: str, extent: Any, kind: IterKind) -> IterVar:
    """A new iteration variable from 0 on."""
    return IterVar(Var(name), Range(build.const(0), extent), kind)


def names(axes: Sequence[IterVar]) -> str:
    return ", ".join(axis.var.name for axis in axes)


def first_record(key: int, op: Operation, reads: tuple[tuple[int, int], ...]) -> StageRecord:
    """The record of a stage that nothing was done to."""
    roots = (*getattr(op, "axis", ()), *getattr(op, "reduce_axis", ()))
    return StageRecord(key, op, roots, roots, reads)
