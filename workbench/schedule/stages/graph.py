"""Calls that change the graph of stages: `cache_read`, `cache_write`, `rfactor`.

    cache_write(C, "local")     C = sum(A * B)    ->   CC = sum(A * B), in "local";  C = CC

Each makes the operation of a new stage, so that `s[CC].op.axis` and `s[CC].op.body` are there at once; the loops are
made later, by the primitives of the same names.  Invariant: data axes of `C` stay with the stage of `C`, reduction
axes go with the reduction; the new stage has fresh data axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...arith import build
from ...arith.nodes import PrimExpr, Var, literal
from ...core.node import substitute
from ...te.nodes import ComputeOp, Operation, ProducerLoad, Reduce, Tensor
from ...tir.nodes import IterKind, IterVar, Range
from .calls import Call, refused
from .relations import Fuse, Relation, Split, StageRecord, derived, first_record

if TYPE_CHECKING:
    from .schedule import Recorded


@dataclass(frozen=True, eq=False)
class CacheRead:
    """Stage `made` copies output `index` of stage `source` for `readers`."""

    source: int
    index: int
    scope: str
    readers: tuple[int, ...]
    made: int
    call: Call

    @property
    def uses(self) -> frozenset[int]:
        return frozenset((self.source, *self.readers))

    @property
    def changes(self) -> frozenset[int]:
        return frozenset()


@dataclass(frozen=True, eq=False)
class CacheWrite:
    """Stage `made` computes in `scope` what stage `source` copies from there."""

    source: int
    scope: str
    made: int
    call: Call

    @property
    def uses(self) -> frozenset[int]:
        return frozenset((self.source,))

    changes = uses


@dataclass(frozen=True, eq=False)
class RFactor:
    """Stage `made` reduces stage `source` over all but `axis`, which `relations` made of its axes."""

    source: int
    made: int
    axis: IterVar
    position: int
    before: tuple[IterVar, ...]
    """The axes of the stage before."""
    relations: tuple[Relation, ...]
    moved: Mapping[int, IterVar]
    """The axis of the new stage for each loop (by identity) that the reduction had."""
    call: Call

    @property
    def uses(self) -> frozenset[int]:
        return frozenset((self.source,))

    changes = uses


GraphCall = CacheRead | CacheWrite | RFactor


def cache_read(
    recorded: Recorded, source: int, tensor: Tensor, scope: str, readers: Sequence[int], call: Call
) -> tuple[Recorded, Tensor]:
    """(the record with the copy's stage, the copy)."""
    wanted = (source, tensor.value_index)
    for reader in readers:
        record = recorded.stages[reader]
        if wanted not in record.reads:
            read = [recorded.stages[key].op.output(index).name for key, index in record.reads]
            raise refused(
                call, "E-STAGE-READER", f"{record.op.name} does not read {tensor.name}",
                found=f"it reads {', '.join(read) or 'nothing'}", expected="operations that read the tensor now",
                fix="name its readers; after cache_write the new stage is the reader",
            )  # fmt: skip
    if not readers:
        raise refused(
            call, "E-STAGE-READER", "nobody reads the copy", found="no readers", expected="at least one operation",
            fix="name the operations that are to read the copy",
        )  # fmt: skip
    now = recorded.stages[source].op.output(tensor.value_index)
    axis = tuple(_fresh(f"ax{number}", build.const(0), extent) for number, extent in enumerate(_extents(now)))
    op = ComputeOp(f"{tensor.name}.{scope}", axis, (ProducerLoad(now, tuple(item.var for item in axis)),))
    key = len(recorded.stages)
    stages = {**recorded.stages, key: first_record(key, op, (wanted,))}
    for reader in readers:
        record = stages[reader]
        reads = tuple((key, 0) if item == wanted else item for item in record.reads)
        stages[reader] = replace(record, reads=reads)
    first = min(recorded.order.index(reader) for reader in readers)
    made = CacheRead(source, tensor.value_index, scope, tuple(readers), key, call)
    return _with_new(recorded, stages, key, op, first, made, scope), op.output(0)


def cache_write(recorded: Recorded, source: int, scope: str, call: Call) -> tuple[Recorded, list[Tensor]]:
    """(the record with the computing stage, its tensors)."""
    record = recorded.stages[source]
    op = _pristine(record, call)
    if op.num_outputs != 1:
        raise refused(
            call, "E-STAGE-CACHE", f"{op.name} has several results, which cannot be cached",
            found=f"{op.num_outputs} outputs", expected="an operation of one output",
            fix="compute the results by operations of their own",
        )  # fmt: skip
    fresh = [_fresh(f"{axis.var.name}.c", axis.dom.min, axis.dom.extent) for axis in op.axis]
    values = {axis.var: new.var for axis, new in zip(op.axis, fresh, strict=True)}
    bodies = tuple(substitute(body, values) for body in op.body)
    computing = ComputeOp(f"{op.name}.{scope}", tuple(fresh), bodies, op.tag, op.attrs)
    where = tuple(axis.var for axis in op.axis)
    tensors = [computing.output(index) for index in range(op.num_outputs)]
    copying = ComputeOp(op.name, op.axis, tuple(ProducerLoad(tensor, where) for tensor in tensors))
    key = len(recorded.stages)
    copied = first_record(source, copying, tuple((key, index) for index in range(op.num_outputs)))
    stages = {
        **recorded.stages,
        key: first_record(key, computing, record.reads),
        source: replace(copied, is_output=record.is_output, attach=record.attach, remarks=record.remarks),
    }
    made = CacheWrite(source, scope, key, call)
    at = recorded.order.index(source)
    return _with_new(recorded, stages, key, computing, at, made, scope, {id(copying): source}), tensors


def rfactor(recorded: Recorded, source: int, axis: IterVar, position: int, call: Call) -> tuple[Recorded, list[Tensor]]:
    """(the record with the stage that reduces all but `axis`, its tensors)."""
    record = recorded.stages[source]
    op = record.op
    if not isinstance(op, ComputeOp) or axis.kind is not IterKind.REDUCE:
        raise refused(
            call, "E-STAGE-RFACTOR", f"{axis.var.name} is no reduction axis", found="a loop over data",
            expected=f"a reduction loop of {op.name}", fix="split a reduction axis and factor one of the parts",
        )  # fmt: skip
    relations = _ancestry(record, axis)
    roots = tuple(root for root in record.roots if any(root is item for item in _inputs(relations, axis)))
    if any(root.kind is not IterKind.REDUCE for root in roots):
        raise refused(
            call, "E-STAGE-RFACTOR", f"{axis.var.name} mixes data and reduction", found="fused loops of both kinds",
            expected="loops of reduction axes only", fix="fuse reduction axes among themselves",
        )  # fmt: skip
    _require_only(record, relations, call)
    if not 0 <= position <= len(op.axis):
        raise refused(
            call, "E-STAGE-RFACTOR", "the result has no such dimension", found=str(position),
            expected=f"0 to {len(op.axis)}", fix="leave factor_axis out",
        )  # fmt: skip
    partial, final, moved = _factored(op, record, axis, position, roots, relations)
    key = len(recorded.stages)
    count = op.num_outputs
    rest = first_record(source, final, tuple((key, index) for index in range(count)))
    stages = {
        **recorded.stages,
        key: first_record(key, partial, record.reads),
        source: replace(rest, is_output=record.is_output, attach=record.attach, remarks=record.remarks),
    }
    made = RFactor(source, key, axis, position, record.roots, relations, moved, call)
    at = recorded.order.index(source)
    tensors = [partial.output(index) for index in range(count)]
    return _with_new(recorded, stages, key, partial, at, made, "global", {id(final): source}), tensors


def between(recorded: Recorded, first: set[int], last: set[int], include_inputs: bool) -> tuple[int, ...]:
    """The stages on ways from `first` to `last`, the ends of the ways included, the beginnings if asked for."""
    after = set(first)
    for key in recorded.order:
        if any(read in after for read, _ in recorded.stages[key].reads):
            after.add(key)
    before = set(last)
    for key in reversed(recorded.order):
        if key in before and (key not in first):
            before.update(read for read, _ in recorded.stages[key].reads)
    chosen = after & before
    return tuple(
        key
        for key in recorded.order
        if key in chosen and (include_inputs or key not in first) and not recorded.stages[key].is_placeholder
    )


# --- helpers ---


def _with_new(
    recorded: Recorded,
    stages: Mapping[int, StageRecord],
    key: int,
    op: Operation,
    at: int,
    call: GraphCall,
    scope: str,
    owners: Mapping[int, int] | None = None,
) -> Recorded:
    return replace(
        recorded,
        stages=stages,
        order=(*recorded.order[:at], key, *recorded.order[at:]),
        owners={**recorded.owners, id(op): key, **(owners or {})},
        origins={**recorded.origins, key: op},
        calls=(*recorded.calls, call),
        scopes={**recorded.scopes, key: scope},
    )


def _fresh(name: str, low: PrimExpr, extent: PrimExpr) -> IterVar:
    return IterVar(Var(name), Range(low, extent), IterKind.SPATIAL)


def _extents(tensor: Tensor) -> tuple[PrimExpr, ...]:
    return tensor.op.output_shape(tensor.value_index)


def _pristine(record: StageRecord, call: Call) -> ComputeOp:
    """The operation of a stage that may be cached."""
    if not isinstance(record.op, ComputeOp):
        raise refused(
            call, "E-STAGE-PLACEHOLDER", f"{record.op.name} is not computed element by element",
            found=type(record.op).__name__, expected="a tensor of te.compute", fix="cache what is computed",
        )  # fmt: skip
    earlier = [*record.relations, *record.marks]
    if record.is_touched:
        last = earlier[-1].call if earlier else record.ordered
        raise refused(
            call, "E-STAGE-SCHEDULED", f"the loops of {record.op.name} were scheduled before",
            found=last.where if last is not None else "", expected="a stage whose loops are as they were",
            fix="call cache_write before split, reorder and the like",
        )  # fmt: skip
    return record.op


def _require_only(record: StageRecord, relations: Sequence[Relation], call: Call) -> None:
    """Refuse a stage of which more was scheduled than the reduction loops that are factored."""
    for other in (*record.marks, *record.relations):
        if all(other is not item for item in relations):
            raise refused(
                call, "E-STAGE-SCHEDULED", f"loops of {record.op.name} were scheduled that rfactor would undo",
                found=other.call.where, expected="splits of the factored reduction axis only",
                fix="call rfactor first, then schedule both stages",
            )  # fmt: skip


def _ancestry(record: StageRecord, axis: IterVar) -> tuple[Relation, ...]:
    """The relations that made `axis`, and those of the same origin, in the order of calls."""
    known = {id(axis)}
    while True:
        found = [
            item for item in record.relations if any(id(part) in known for part in (*item.inputs, *item.made))
        ]  # fmt: skip
        wider = known | {id(part) for item in found for part in (*item.inputs, *item.made)}
        if wider == known:
            return tuple(found)
        known = wider


def _inputs(relations: Sequence[Relation], axis: IterVar) -> list[IterVar]:
    return [axis, *(part for relation in relations for part in relation.inputs)]


def _factored(
    op: ComputeOp,
    record: StageRecord,
    axis: IterVar,
    position: int,
    roots: Sequence[IterVar],
    relations: Sequence[Relation],
) -> tuple[ComputeOp, ComputeOp, dict[int, IterVar]]:
    """(the operation over all but `axis`, the one over `axis`, the new axes by the old loops' identities)."""
    consumed = {id(part) for relation in relations for part in relation.inputs}
    parts = [part for part in record.leaves if part.kind is IterKind.REDUCE and part is not axis]
    data = [_fresh(item.var.name, item.dom.min, item.dom.extent) for item in op.axis]
    factor = IterVar(Var(axis.var.name), axis.dom, IterKind.SPATIAL)
    whole = {id(root) for root in record.roots}
    reduced = [part if id(part) in whole else derived(part.var.name, part.dom.extent, part.kind) for part in parts]
    moved = {id(old): new for old, new in zip((*op.axis, axis, *parts), (*data, factor, *reduced), strict=True)}
    values: dict[Var, PrimExpr] = {old.var: moved[id(old)].var for old in (*op.axis, axis, *parts)}
    guards: list[PrimExpr] = []
    for relation in reversed(relations):
        values.update(_values(relation, values))
    for root in roots:
        if id(root) in consumed and _may_exceed(relations):
            guards.append(build.less(values[root.var], build.add(root.dom.min, root.dom.extent)))
    first = op.body[0]
    assert isinstance(first, Reduce)
    condition = substitute(build.all_of(first.condition, *guards), values)
    sources = tuple(substitute(source, values) for source in first.source)
    axes = tuple(reduced)
    if axes:
        bodies = tuple(
            Reduce(first.combiner, sources, axes, condition, index) for index in range(op.num_outputs)
        )  # fmt: skip
    else:
        bodies = tuple(
            build.select(condition, source, identity)
            for source, identity in zip(sources, first.combiner.identity, strict=True)
        )
    own = (*data[:position], factor, *data[position:])
    partial = ComputeOp(f"{op.name}.rf", own, bodies, op.tag, op.attrs)
    last = derived(f"{axis.var.name}.v", axis.dom.extent, IterKind.REDUCE)
    plain = [item.var for item in op.axis]
    where = (*plain[:position], last.var, *plain[position:])
    loads = tuple(ProducerLoad(partial.output(index), where) for index in range(op.num_outputs))
    finals = tuple(
        Reduce(first.combiner, loads, (last,), build.const(True), index) for index in range(op.num_outputs)
    )  # fmt: skip
    return partial, ComputeOp(op.name, op.axis, finals, op.tag, op.attrs), moved


def _values(relation: Relation, values: Mapping[Var, PrimExpr]) -> dict[Var, PrimExpr]:
    """What the inputs of a relation are, from what its results are."""
    if isinstance(relation, Split):
        outer, inner = values[relation.outer.var], values[relation.inner.var]
        value = build.add(build.multiply(outer, relation.inner.dom.extent), inner)
        return {relation.parent.var: build.add(relation.parent.dom.min, value)}
    assert isinstance(relation, Fuse)
    rest = values[relation.fused.var]
    found: dict[Var, PrimExpr] = {}
    for part in reversed(relation.parts[1:]):
        found[part.var] = build.add(part.dom.min, build.floormod(rest, part.dom.extent))
        rest = build.floordiv(rest, part.dom.extent)
    if relation.parts:
        found[relation.parts[0].var] = build.add(relation.parts[0].dom.min, rest)
    return found


def _may_exceed(relations: Sequence[Relation]) -> bool:
    """Whether a split does not divide its extent (or may not)."""
    for relation in relations:
        if isinstance(relation, Split):
            extent = literal(relation.parent.dom.extent, None)
            size = relation.factor or relation.nparts or 1
            if extent is None or extent % size:
                return True
    return False


__all__ = [
    "CacheRead",
    "CacheWrite",
    "GraphCall",
    "RFactor",
    "between",
    "cache_read",
    "cache_write",
    "rfactor",
]
