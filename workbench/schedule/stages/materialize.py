"""Carrying out the recorded calls of a te schedule, by primitives of the one engine, in one canonical order.

    1. cache_read, cache_write, rfactor     on the program as te makes it, what uses another's result after it
    2. compute_inline                       producers first
    3. each stage, consumers first          into its place (compute_at), then its splits and fusions, then their order
    4. scopes and remarks on stages
    5. kinds of loops                       parallel, unroll, bind, remarks on loops; vectorize last
    6. initialisations of reductions        into loops of their own before the reduction loops (as te lowers them)
    7. tensorize

Invariant: what is done depends on the calls, not on the order of calls that do not use each other's results.
A stage that stands at a loop of a consumer finds that loop finished, whenever the consumer's loops were split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...analysis.tree import extent_of
from ...arith.nodes import FloatImm, IntImm
from ...core.errors import WorkbenchError
from ...core.node import post_order
from ...te.nodes import ComputeOp, PlaceholderOp, Tensor
from ...te.prim_func import create_prim_func
from ...tir import nodes as t
from ...tir.nodes import IterKind, IterVar
from ...tir.tensor_intrin import registered_name
from ..errors import ScheduleError
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .calls import Call, blamed, refused
from .graph import CacheRead, CacheWrite, GraphCall, RFactor
from .group import place_of
from .relations import Attach, Fuse, Mark, Relation, Remark, Split, StageRecord

if TYPE_CHECKING:
    from .schedule import Recorded

_KINDS = ("parallel", "unroll", "bind", "pragma", "prefetch", "vectorize")
"""Kinds of marks, in the order in which they are done."""


def default_arguments(recorded: Recorded) -> tuple[Tensor, ...]:
    """The placeholders, then the outputs."""
    inputs = [op for op in recorded.origins.values() if isinstance(op, PlaceholderOp)]
    return tuple(op.output(index) for op in (*inputs, *recorded.outputs) for index in range(op.num_outputs))


def materialized(recorded: Recorded, args: Sequence[Any], name: str) -> Schedule:
    """The schedule of the function of `args` that the recorded calls lead to.

    Raises `StageError` for a call that is refused, `WorkbenchError` if an output is not among `args`.
    """
    _require_outputs(recorded, args)
    return _Builder(recorded, args, name).run()


def _require_outputs(recorded: Recorded, args: Sequence[Any]) -> None:
    given = {id(item.op) for item in args if isinstance(item, Tensor)}
    for op in recorded.outputs:
        if id(op) not in given:
            raise WorkbenchError(
                "E-STAGE-ARGS",
                f"output {op.name} is not among the arguments",
                found=", ".join(getattr(item, "name", repr(item)) for item in args),
                expected="all placeholders and outputs",
                fix=f"add {op.name} to the list",
            )


class _Builder:
    """The engine's schedule under way, and which blocks and loops the stages' handles are there."""

    def __init__(self, recorded: Recorded, args: Sequence[Any], name: str) -> None:
        self.recorded = recorded
        func = create_prim_func(args, name=name)
        self.schedule = Schedule(func)
        self.names = _block_names(recorded, args, self.schedule)
        self.params = {
            id(item.op): parameter
            for item, parameter in zip(args, func.params, strict=True)
            if isinstance(item, Tensor) and isinstance(item.op, PlaceholderOp)
        }  # fmt: skip
        self.blocks: dict[int, BlockRV] = {}
        self.loops: dict[tuple[int, int], LoopRV] = {}
        """The loop of each handle, by stage and the handle's identity."""
        self.nests: dict[int, list[IterVar]] = {}
        """For stages whose loops are not in the order of their roots: the order that they are in."""
        self.iterators: dict[int, list[IterVar]] = {}
        """The same for the iterators of their blocks, which compute_at makes loops of."""

    def run(self) -> Schedule:
        recorded = self.recorded
        for call in _in_order(recorded.calls):
            self._graph_call(call)
        present = [key for key in recorded.order if key in self.names or key in self.blocks]
        self._require_no_lost(present)
        stages = [recorded.stages[key] for key in present]
        inlined = [stage for stage in stages if _is_inline(stage)]
        for stage in inlined:
            assert stage.attach is not None
            with blamed(stage.attach.call):
                self.schedule.compute_inline(self.block(stage.key))
        standing = [stage for stage in stages if not _is_inline(stage)]
        for stage in reversed(standing):
            self._place(stage)
            self._shape(stage)
        for stage in standing:
            for remark in sorted(stage.remarks, key=_remark_order):
                self._remark(stage, remark)
        for stage, mark in _marks(standing, _KINDS):
            self._mark(stage, mark)
        for stage in standing:
            self._decompose(stage)
        for stage, mark in _marks(standing, ("tensorize",)):
            with blamed(mark.call):
                name = registered_name(mark.value)
                self.schedule.tensorize(self.loops[stage.key, id(mark.axis)], name)
        return self.schedule

    def block(self, key: int) -> BlockRV:
        """The block of a stage."""
        if key not in self.blocks:
            self.blocks[key] = self.schedule.get_block(self.names[key])
        return self.blocks[key]

    def _require_no_lost(self, present: Sequence[int]) -> None:
        """Refuse calls on stages that have no block: constants, which are folded into their users."""
        known = set(present)
        for key, stage in self.recorded.stages.items():
            earlier = [*stage.relations, *stage.marks, *stage.remarks, *([stage.attach] if stage.attach else [])]
            if key not in known and not stage.is_placeholder and earlier:
                raise refused(
                    earlier[0].call, "E-STAGE-CONSTANT", f"{stage.op.name} has no loops: it is a constant",
                    found="a value that is put into its users", expected="a stage that is computed",
                    fix="leave it out",
                )  # fmt: skip

    # --- 1. calls that change the graph ---

    def _graph_call(self, call: GraphCall) -> None:
        with blamed(call.call):
            if isinstance(call, CacheWrite):
                self._cache_write(call)
            elif isinstance(call, CacheRead):
                self._cache_read(call)
            else:
                self._rfactor(call)

    def _cache_write(self, call: CacheWrite) -> None:
        block = self.block(call.source)
        count = len(self.schedule.get(block).writes)
        if count != 1:
            raise refused(
                call.call, "E-STAGE-CACHE", "an operation of several outputs cannot be cached",
                found=f"{count} outputs", expected="an operation of one output",
                fix="compute the outputs by operations of their own",
            )  # fmt: skip
        copy = self.schedule.cache_write(block, 0, call.scope)
        self.blocks[call.made], self.blocks[call.source] = block, copy

    def _cache_read(self, call: CacheRead) -> None:
        buffer = self._buffer(call.source, call.index)
        readers = [self.block(key) for key in call.readers]
        index = _read_index(self.schedule.get(readers[0]), buffer)
        others = any(
            stage.key not in (*call.readers, call.made) and (call.source, call.index) in stage.reads
            for stage in self.recorded.stages.values()
        )
        if len(readers) == 1 and not others:
            copy = self.schedule.cache_read(readers[0], index, call.scope)
        else:
            copy = self.schedule.cache_read(readers[0], index, call.scope, consumer_blocks=readers)
        self.blocks[call.made] = copy

    def _buffer(self, key: int, index: int) -> t.Buffer:
        op = self.recorded.stages[key].op
        if isinstance(op, PlaceholderOp):
            return self.params[id(op)]
        return self.schedule.get(self.block(key)).writes[index].buffer

    def _rfactor(self, call: RFactor) -> None:
        block = self.block(call.source)
        nest = dict(zip(map(id, call.before), self.schedule.get_loops(block), strict=True))
        current = list(call.before)
        for relation in call.relations:
            current = self._relate(relation, current, nest)
        self.blocks[call.made] = self.schedule.rfactor(nest[id(call.axis)], call.position)
        self.nests[call.made] = [call.moved[id(axis)] for axis in current]
        parts = [axis for axis in current if all(axis is not root for root in call.before)]
        parts = parts or [call.axis]
        whole = [axis for axis in call.before if any(axis is item for item in current) and axis is not call.axis]
        self.iterators[call.made] = [call.moved[id(axis)] for axis in (*whole, *parts)]

    # --- 3. places and loops ---

    def _place(self, stage: StageRecord) -> None:
        attach = stage.attach or place_of(self.recorded.groups, stage.key)
        block = self.block(stage.key)
        if attach is not None and not (stage.attach is None and attach.stage == stage.key):
            with blamed(attach.call):
                self.schedule.compute_at(block, self._attached(stage, attach), preserve_unit_loops=True)
        known = self.nests if attach is None else self.iterators
        axes = known.get(stage.key, list(stage.roots))
        found = self.schedule.get_loops(block)
        own = found[len(found) - len(axes) :]
        self.loops.update(((stage.key, id(axis)), loop) for axis, loop in zip(axes, own, strict=True))
        self.nests[stage.key] = axes

    def _attached(self, stage: StageRecord, attach: Attach) -> LoopRV:
        """The loop that a stage is attached to."""
        parent = self.recorded.stages[attach.stage]
        assert attach.axis is not None
        if all(leaf is not attach.axis for leaf in parent.leaves):
            later = next((item for item in parent.relations if any(p is attach.axis for p in item.inputs)), None)
            raise refused(
                attach.call, "E-STAGE-CONSUMED", f"{attach.axis.var.name} is no loop of {parent.op.name} any more",
                found=later.call.where if later is not None else "cache_write or rfactor gave the stage other loops",
                expected=", ".join(leaf.var.name for leaf in parent.leaves), fix="attach to one of these",
            )  # fmt: skip
        loop = self.loops.get((parent.key, id(attach.axis)))
        if loop is None:
            raise refused(
                attach.call, "E-STAGE-PARENT", f"{stage.op.name} cannot be computed inside {parent.op.name}",
                found=_why_no_loops(parent), expected="a stage that reads it and has loops of its own",
                fix="choose a consumer",
            )  # fmt: skip
        return loop

    def _shape(self, stage: StageRecord) -> None:
        """Splits and fusions in an order of their own, then the loops in the order of the leaves."""
        nest = {id(axis): self.loops[stage.key, id(axis)] for axis in self.nests[stage.key]}
        current = list(self.nests[stage.key])
        waiting = list(stage.relations)
        while waiting:
            relation = _next_relation(waiting, current, stage)
            waiting.remove(relation)
            with blamed(relation.call):
                current = self._relate(relation, current, nest, self.block(stage.key))
        if not _same_order(current, stage.leaves):
            blame = stage.ordered or stage.relations[-1].call if stage.ordered or stage.relations else None
            if blame is None:
                self.schedule.reorder(*(nest[id(leaf)] for leaf in stage.leaves))
            else:
                with blamed(blame):
                    self.schedule.reorder(*(nest[id(leaf)] for leaf in stage.leaves))
        self.loops.update(((stage.key, number), loop) for number, loop in nest.items())

    def _relate(
        self, relation: Relation, current: list[IterVar], nest: dict[int, LoopRV], block: BlockRV | None = None
    ) -> list[IterVar]:
        """The loops, outermost first, after one split or fusion."""
        if isinstance(relation, Split):
            at = _index(current, relation.parent)
            loop = nest[id(relation.parent)]
            most = extent_of(self.schedule.get(loop))  # te makes no part longer than the loop, so nor are there guards
            factors = [size if size is None or not most else min(size, most) for size in relation.factors]
            outer, inner = self.schedule.split(loop, factors)
            nest[id(relation.outer)], nest[id(relation.inner)] = outer, inner
            return [*current[:at], relation.outer, relation.inner, *current[at + 1 :]]
        if not relation.parts:
            assert block is not None
            nest[id(relation.fused)] = self.schedule.add_unit_loop(block)
            return [relation.fused, *current]
        at = _index(current, relation.parts[0])
        rest = [axis for axis in current if all(axis is not part for part in relation.parts)]
        at -= sum(any(axis is part for part in relation.parts) for axis in current[:at])
        together = [*rest[:at], *relation.parts, *rest[at:]]
        if not _same_order(current, together):
            self.schedule.reorder(*(nest[id(axis)] for axis in together))
        nest[id(relation.fused)] = self.schedule.fuse(*(nest[id(part)] for part in relation.parts))
        return [*rest[:at], relation.fused, *rest[at:]]

    # --- 4. to 6. ---

    def _remark(self, stage: StageRecord, remark: Remark) -> None:
        block = self.block(stage.key)
        with blamed(remark.call):
            if remark.kind == "set_scope":
                for index in range(len(self.schedule.get(block).writes)):
                    self.schedule.set_scope(block, index, remark.value)
            elif remark.kind == "storage_align":
                self.schedule.storage_align(block, 0, *remark.value)
            elif remark.kind == "rolling_buffer":
                self.schedule.rolling_buffer(block, 0)
            elif remark.kind == "double_buffer":
                self.schedule.annotate(block, "double_buffer_scope", remark.value)
            elif remark.kind == "store_predicate":
                self.schedule.annotate(block, "store_predicate", _text(remark.value))
            elif remark.kind == "env_threads":
                self.schedule.annotate(block, "env_threads", remark.value)

    def _mark(self, stage: StageRecord, mark: Mark) -> None:
        if all(leaf is not mark.axis for leaf in stage.leaves):
            return
        loop = self.loops[stage.key, id(mark.axis)]
        schedule = self.schedule
        with blamed(mark.call):
            if mark.kind == "bind":
                schedule.bind(loop, mark.value)
            elif mark.kind == "pragma":
                schedule.annotate(loop, f"pragma_{mark.value[0]}", mark.value[1])
            elif mark.kind == "prefetch":
                schedule.annotate(loop, f"prefetch_{mark.value[0]}", mark.value[1])
            else:
                getattr(schedule, mark.kind)(loop)

    def _decompose(self, stage: StageRecord) -> None:
        """Give the initialisation loops of its own, where the engine can take it out."""
        reduced = [leaf for leaf in stage.leaves if leaf.kind is IterKind.REDUCE]
        bound = {id(mark.axis) for mark in stage.marks if mark.kind == "bind"}
        block = self.block(stage.key)
        if any(mark.kind == "tensorize" for mark in stage.marks):
            return  # The intrinsic says itself what it does about initial values.
        if not reduced or any(id(leaf) in bound for leaf in reduced) or self.schedule.get(block).init is None:
            return
        try:
            self.schedule.decompose_reduction(block, self.loops[stage.key, id(reduced[0])])
        except ScheduleError:
            return  # Fused with data, or guarded together: the block keeps its own initialisation, which is as right.


# --- helpers ------------------------------------------------------------------------------------------------------


def _block_names(recorded: Recorded, args: Sequence[Any], schedule: Schedule) -> dict[int, str]:
    """The block that computes each stage at first: te makes them in the order of the operations."""
    leaves = [site.name for site in schedule.state.tree.leaves]
    tensors = [item for item in args if isinstance(item, Tensor)]
    given = {id(tensor.op) for tensor in tensors}
    operations = [
        op for op in post_order(tensors) if isinstance(op, ComputeOp) and (id(op) in given or not _is_constant(op))
    ]
    return {
        recorded.owners[id(op)]: name
        for op, name in zip(operations, leaves, strict=True)
        if id(op) in recorded.owners
    }  # fmt: skip


def _is_constant(op: ComputeOp) -> bool:
    return not op.axis and isinstance(op.body[0], (IntImm, FloatImm))


def _in_order(calls: Sequence[GraphCall]) -> list[GraphCall]:
    """The calls in canonical order: what uses or changes what another made or changed stays after it."""
    waiting = list(calls)
    done: list[GraphCall] = []
    while waiting:
        ready = [
            call for at, call in enumerate(waiting) if not any(_depends(call, earlier) for earlier in waiting[:at])
        ]  # fmt: skip
        chosen = min(ready, key=_rank)
        waiting.remove(chosen)
        done.append(chosen)
    return done


def _depends(call: GraphCall, earlier: GraphCall) -> bool:
    touched = earlier.changes | {earlier.made}
    return bool(touched & call.uses) or bool(call.changes & earlier.uses)


def _rank(call: GraphCall) -> tuple[Any, ...]:
    readers = call.readers if isinstance(call, CacheRead) else ()
    return (type(call).__name__, call.source, readers, getattr(call, "scope", ""))


def _is_inline(stage: StageRecord) -> bool:
    return stage.attach is not None and stage.attach.kind == "inline"


def _next_relation(waiting: Iterable[Relation], current: Sequence[IterVar], stage: StageRecord) -> Relation:
    """Of the relations whose inputs are there, the one of the outermost loop in the stage's own canonical order."""
    places = {id(axis): number for number, axis in enumerate(current)}
    ready = [item for item in waiting if all(id(part) in places for part in item.inputs)]
    return min(ready, key=lambda item: [places[id(part)] for part in item.inputs])


def _same_order(one: Sequence[IterVar], other: Sequence[IterVar]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def _index(axes: Sequence[IterVar], wanted: IterVar) -> int:
    return next(number for number, axis in enumerate(axes) if axis is wanted)


def _read_index(block: t.Block, buffer: t.Buffer) -> int:
    distinct: list[t.Buffer] = []
    for region in block.reads:
        if all(region.buffer is not other for other in distinct):
            distinct.append(region.buffer)
    return next(number for number, item in enumerate(distinct) if item is buffer)


def _remark_order(remark: Remark) -> tuple[Any, ...]:
    return (remark.kind, repr(remark.value) if isinstance(remark.value, (int, str, tuple)) else "")


def _marks(stages: Sequence[StageRecord], kinds: Sequence[str]) -> list[tuple[StageRecord, Mark]]:
    """The marks by kind, then stage, then loop."""
    found: list[tuple[StageRecord, Mark]] = []
    for kind in kinds:
        for stage in stages:
            places = {id(leaf): number for number, leaf in enumerate(stage.leaves)}
            own = [mark for mark in stage.marks if mark.kind == kind]
            own.sort(key=lambda mark: (places.get(id(mark.axis), -1), repr(mark.value)))
            found.extend((stage, mark) for mark in own)
    return found


def _why_no_loops(parent: StageRecord) -> str:
    if parent.is_placeholder:
        return f"{parent.op.name} is a placeholder"
    if _is_inline(parent):
        return f"{parent.op.name} is inlined"
    return f"{parent.op.name} does not use it"


def _text(value: Any) -> str:
    from ...tir.script import script

    return value if isinstance(value, str) else script(value)


__all__ = ["Call", "Fuse", "default_arguments", "materialized"]
