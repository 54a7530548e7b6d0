"""Carrying out the recorded calls of a te schedule, by primitives of the one engine, in one canonical order.

    1. cache_read, cache_write, rfactor     on the program as te makes it, what uses another's result after it;
                                            transform_layout
    2. compute_inline                       producers first; an argument of the function is written besides
    3. each stage, consumers first          into its place (compute_at), then its splits and fusions, then their order
    4. scopes and remarks on stages
    5. kinds of loops                       parallel, unroll, bind, remarks on loops; vectorize last
    6. initialisations of reductions        into loops of their own before the reduction loops (as te lowers them)
    7. tensorize

Invariant: what is done depends on the calls, not on the order of calls that do not use each other's results.
A stage that stands at a loop of a consumer finds that loop finished, whenever the consumer's loops were split.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ...analysis.tree import extent_of
from ...arith.nodes import Var
from ...core.errors import WorkbenchError
from ...te.nodes import PlaceholderOp, ScanOp, Tensor
from ...te.prim_func import lowered
from ...tir import nodes as t
from ...tir.index_map import IndexMap, index_map_of
from ...tir.nodes import IterKind, IterVar
from ...tir.script import script
from ...tir.tensor_intrin.registry import registered_name
from ..errors import ScheduleError
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .calls import Call, blamed, refused
from .graph import CacheRead, CacheWrite, GraphCall, RFactor
from .group import place_of
from .order import in_order, index_of, next_relation, ordered_marks, remark_rank, same_order
from .relations import Attach, Fuse, Mark, Relation, Remark, Split, StageRecord, Transform

if TYPE_CHECKING:
    from .schedule import Recorded

_KINDS = ("parallel", "unroll", "bind", "pragma", "prefetch", "vectorize")
"""Kinds of marks, in the order in which they are done."""


def default_arguments(recorded: Recorded) -> tuple[Tensor, ...]:
    """The placeholders, then the outputs."""
    operations = list(recorded.origins.values())
    states = {id(state.op) for op in operations if isinstance(op, ScanOp) for state in op.state_placeholder}
    inputs = [op for op in operations if isinstance(op, PlaceholderOp) and id(op) not in states]
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
        made = lowered(args, name)
        self.schedule = Schedule(made.func)
        self.names = {recorded.owners[key]: block for key, block in made.blocks.items() if key in recorded.owners}
        self.first_buffers = made.buffers
        attached = [self._attach(stage) for stage in recorded.stages.values()]
        self.parents = {attach.stage for attach in attached if attach is not None}
        """Stages that others stand in."""
        self.blocks: dict[int, BlockRV] = {}
        self.loops: dict[tuple[int, int], LoopRV] = {}
        """The loop of each handle, by stage and the handle's identity."""
        self.nests: dict[int, list[IterVar]] = {}
        """For stages whose loops are not in the order of their roots: the order that they are in."""
        self.iterators: dict[int, list[IterVar]] = {}
        """The same for the iterators of their blocks, which compute_at makes loops of."""

    def run(self) -> Schedule:
        recorded = self.recorded
        for call in in_order(recorded.calls):
            self._graph_call(call)
        present = [key for key in recorded.order if key in self.names or key in self.blocks]
        self._require_no_lost(present)
        stages = [recorded.stages[key] for key in present]
        for stage in stages:
            self._transform(stage)
        for stage in stages:
            self._inline(stage)
        standing = [stage for stage in stages if not _is_inline(stage)]
        for stage in reversed(standing):
            if self._is_worked_on(stage):
                self._place(stage)
                self._shape(stage)
        self._finish(standing)
        return self.schedule

    def _inline(self, stage: StageRecord) -> None:
        if stage.attach is not None and stage.attach.kind == "inline":
            with self.blamed(stage.attach.call):
                block = self.block(stage.key)
                readers = self._readers_of_an_argument(block)
                if readers:  # who calls the function gets its values all the same
                    self.schedule.cache_write(block, 0, "global", consumer_blocks=readers)
                self.schedule.compute_inline(block)

    def _readers_of_an_argument(self, block: BlockRV) -> list[BlockRV]:
        """The blocks that read what `block` writes, if that is an argument of the function."""
        written = {id(region.buffer) for region in self.schedule.get(block).writes}
        if written.isdisjoint(id(param) for param in self.schedule.func.params):
            return []
        return self.schedule.get_consumers(block)

    def _finish(self, standing: Sequence[StageRecord]) -> None:
        """What is done once all loops stand: 4. to 7."""
        for stage in standing:
            for remark in sorted(stage.remarks, key=remark_rank):
                self._remark(stage, remark)
        for stage, mark in ordered_marks(standing, _KINDS):
            self._mark(stage, mark)
        for stage in standing:
            self._decompose(stage)
        for stage, mark in ordered_marks(standing, ("tensorize",)):
            with self.blamed(mark.call):
                name = registered_name(mark.value)
                self.schedule.tensorize(self.loops[stage.key, id(mark.axis)], name)

    def _is_worked_on(self, stage: StageRecord) -> bool:
        """Whether anything asks for the loops of a stage: the others leave no lines in the trace."""
        placed = self._attach(stage) is not None or stage.key in self.parents
        return placed or stage.is_touched or any(axis.kind is IterKind.REDUCE for axis in stage.roots)

    def _attach(self, stage: StageRecord) -> Attach | None:
        return stage.attach or place_of(self.recorded.groups, stage.key)

    def blamed(self, call: Call) -> AbstractContextManager[None]:
        """Refusals inside are of `call`."""
        return blamed(call, self._loop_names)

    def _loop_names(self) -> dict[str, str]:
        axes = {id(axis): axis.var.name for stage in self.recorded.stages.values() for axis in stage.all_axes}
        return {loop.name: axes[axis] for (_, axis), loop in self.loops.items() if axis in axes}

    def block(self, key: int) -> BlockRV:
        """The block of a stage."""
        if key not in self.blocks:
            self.blocks[key] = self.schedule.get_block(self.names[key])
        return self.blocks[key]

    def _require_no_lost(self, present: Sequence[int]) -> None:
        """Refuse calls on stages that have no block: constants, which are folded into their users, and scans, which
        are what their init and update stages write."""
        known = set(present)
        for key, stage in self.recorded.stages.items():
            remarks = [remark for remark in stage.remarks if remark.kind != "env_threads"]
            earlier = [*stage.relations, *stage.marks, *remarks, *([stage.attach] if stage.attach else [])]
            if key not in known and not stage.is_placeholder and earlier:
                raise refused(
                    earlier[0].call, "E-STAGE-NO-BLOCK", f"{stage.op.name} computes nothing of its own",
                    found="a scan" if isinstance(stage.op, ScanOp) else "a constant, which is put into its users",
                    expected="a stage that is computed", fix="schedule the stages that it reads",
                )  # fmt: skip

    # --- 1. calls that change the graph ---

    def _graph_call(self, call: GraphCall) -> None:
        with self.blamed(call.call):
            if isinstance(call, CacheWrite):
                self._cache_write(call)
            elif isinstance(call, CacheRead):
                self._cache_read(call)
            else:
                self._rfactor(call)

    def _cache_write(self, call: CacheWrite) -> None:
        block = self.block(call.source)
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
            return self.first_buffers[id(op), 0]
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

    def _transform(self, stage: StageRecord) -> None:
        """The stage's result, and its loops, under an index map."""
        for relation in stage.relations:
            if isinstance(relation, Transform):
                block, index_map = self.block(stage.key), relation.index_map
                with self.blamed(relation.call):
                    self.schedule.transform_layout(block, ("write", 0), index_map)
                    if relation.made:
                        rest = len(stage.roots) - len(relation.made)
                        self.schedule.transform_block_layout(block, _with_rest(index_map, rest))

    # --- 3. places and loops ---

    def _place(self, stage: StageRecord) -> None:
        attach = self._attach(stage)
        block = self.block(stage.key)
        if attach is not None:
            with self.blamed(attach.call):
                self.schedule.compute_at(block, self._attached(stage, attach), preserve_unit_loops=True)
        known = self.nests if attach is None else self.iterators
        axes = known.get(stage.key, list(stage.roots))
        found = self.schedule.get_loops(block) if axes else []
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
        waiting: list[Relation] = [relation for relation in stage.relations if not isinstance(relation, Transform)]
        while waiting:
            relation = next_relation(waiting, current)
            waiting.remove(relation)
            with self.blamed(relation.call):
                current = self._relate(relation, current, nest, self.block(stage.key))
        if not same_order(current, stage.leaves):
            blame = stage.ordered or stage.relations[-1].call if stage.ordered or stage.relations else None
            if blame is None:
                self.schedule.reorder(*(nest[id(leaf)] for leaf in stage.leaves))
            else:
                with self.blamed(blame):
                    self.schedule.reorder(*(nest[id(leaf)] for leaf in stage.leaves))
        self.loops.update(((stage.key, number), loop) for number, loop in nest.items())

    def _relate(
        self, relation: Relation, current: list[IterVar], nest: dict[int, LoopRV], block: BlockRV | None = None
    ) -> list[IterVar]:
        """The loops, outermost first, after one split or fusion."""
        if isinstance(relation, Split):
            at = index_of(current, relation.parent)
            loop = nest[id(relation.parent)]
            most = extent_of(self.schedule.get(loop))  # te makes no part longer than the loop, so nor are there guards
            factors = [size if size is None or not most else min(size, most) for size in relation.factors]
            outer, inner = self.schedule.split(loop, factors, disable_predication=relation.unguarded)
            nest[id(relation.outer)], nest[id(relation.inner)] = outer, inner
            return [*current[:at], relation.outer, relation.inner, *current[at + 1 :]]
        assert isinstance(relation, Fuse)
        if not relation.parts:
            assert block is not None
            nest[id(relation.fused)] = self.schedule.add_unit_loop(block)
            return [relation.fused, *current]
        at = index_of(current, relation.parts[0])
        rest = [axis for axis in current if all(axis is not part for part in relation.parts)]
        at -= sum(any(axis is part for part in relation.parts) for axis in current[:at])
        together = [*rest[:at], *relation.parts, *rest[at:]]
        if not same_order(current, together):
            self.schedule.reorder(*(nest[id(axis)] for axis in together))
        nest[id(relation.fused)] = self.schedule.fuse(*(nest[id(part)] for part in relation.parts))
        return [*rest[:at], relation.fused, *rest[at:]]

    # --- 4. to 6. ---

    def _remark(self, stage: StageRecord, remark: Remark) -> None:
        block = self.block(stage.key)
        with self.blamed(remark.call):
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
        with self.blamed(mark.call):
            if mark.kind == "bind":
                across = mark.axis.kind is IterKind.REDUCE and mark.value.startswith("threadIdx")
                schedule.bind(loop, mark.value, cross_thread=across)
            elif mark.kind == "pragma":
                schedule.annotate(loop, f"pragma_{mark.value[0]}", mark.value[1])
            elif mark.kind == "prefetch":
                schedule.annotate(loop, f"prefetch_{mark.value[0]}", mark.value[1])
            else:
                getattr(schedule, mark.kind)(loop)

    def _decompose(self, stage: StageRecord) -> None:
        """Give the initialisation loops of its own, where the engine can take it out."""
        reduced = [leaf for leaf in stage.leaves if leaf.kind is IterKind.REDUCE]
        if not reduced:
            return
        if any(mark.kind == "tensorize" for mark in stage.marks):
            return  # The intrinsic says itself what it does about initial values.
        bound = {id(mark.axis) for mark in stage.marks if mark.kind == "bind"}
        block = self.block(stage.key)
        if any(id(leaf) in bound for leaf in reduced) or self.schedule.get(block).init is None:
            return
        try:
            self.schedule.decompose_reduction(block, self.loops[stage.key, id(reduced[0])])
        except ScheduleError:
            return  # Fused with data, or guarded together: the block keeps its own initialisation, which is as right.


# --- helpers ------------------------------------------------------------------------------------------------------


def _with_rest(index_map: IndexMap, count: int) -> IndexMap:
    """The map with `count` more indices, which stay as they are."""
    rest = tuple(Var(f"rest{number}") for number in range(count))
    return index_map_of((*index_map.initial_indices, *rest), (*index_map.final_indices, *rest))


def _is_inline(stage: StageRecord) -> bool:
    return stage.attach is not None and stage.attach.kind == "inline"


def _read_index(block: t.Block, buffer: t.Buffer) -> int:
    distinct: list[t.Buffer] = []
    for region in block.reads:
        if all(region.buffer is not other for other in distinct):
            distinct.append(region.buffer)
    return next(number for number, item in enumerate(distinct) if item is buffer)


def _why_no_loops(parent: StageRecord) -> str:
    if parent.is_placeholder:
        return f"{parent.op.name} is a placeholder"
    if _is_inline(parent):
        return f"{parent.op.name} is inlined"
    return f"{parent.op.name} does not use it"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else script(value)


__all__ = ["Call", "Fuse", "default_arguments", "materialized"]
