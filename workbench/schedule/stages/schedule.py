"""The classic `te.Schedule`: stages of a graph of tensor expressions, whose calls are recorded and carried out later.

    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "local")
    xo, xi = s[C].split(C.op.axis[0], factor=8)
    s[CC].compute_at(s[C], xo)
    s.show(); wb.lower(s, [A, B, C]); wb.build(s, [A, B, C])
    s.to_schedule([A, B, C])                    # the `tir.Schedule` that the calls lead to, for the editor

Invariant: a schedule is a handle on an immutable `Recorded`.  The order of calls that do not use each other's results
does not matter; `materialize` does them in one canonical order, by primitives of the one engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..._lazy import views
from ...core.errors import WorkbenchError, nearest
from ...core.node import post_order
from ...te.nodes import Operation, Tensor, several
from ...tir.nodes import IterVar
from . import graph
from .calls import Call, called, refused
from .graph import GraphCall
from .group import Group
from .materialize import default_arguments, materialized
from .relations import StageRecord, first_record, names
from .stage import Stage

if TYPE_CHECKING:
    from ..schedule import Schedule as LoopSchedule
    from ..trace import Trace


@dataclass(frozen=True, eq=False)
class Recorded:
    """All that was called so far."""

    outputs: tuple[Operation, ...]
    stages: Mapping[int, StageRecord]
    order: tuple[int, ...]
    """Stages, producers first."""
    owners: Mapping[int, int]
    """The stage of each operation, by the operation's identity."""
    origins: Mapping[int, Operation]
    """The operation that each stage had first."""
    calls: tuple[GraphCall, ...] = ()
    scopes: Mapping[int, str] = field(default_factory=dict[int, str])
    groups: tuple[Group, ...] = ()

    def with_stage(self, record: StageRecord) -> Recorded:
        return replace(self, stages={**self.stages, record.key: record})


class Schedule:
    """See the module's header."""

    def __init__(self, outputs: Sequence[Operation]) -> None:
        operations = [node for node in post_order(list(outputs)) if isinstance(node, Operation)]
        owners = {id(op): number for number, op in enumerate(operations)}
        chosen = {id(op) for op in outputs}
        records = {
            number: replace(
                first_record(
                    number, op, tuple((owners[id(item.op)], item.value_index) for item in op.input_tensors)
                ),
                is_output=id(op) in chosen,
            )
            for number, op in enumerate(operations)
        }  # fmt: skip
        self._recorded = Recorded(
            tuple(outputs), records, tuple(records), owners, dict(enumerate(operations))
        )  # fmt: skip
        self._looked: tuple[Recorded, tuple[Any, ...], str, LoopSchedule] | None = None

    # --- reading ---

    @property
    def recorded(self) -> Recorded:
        """The immutable record that this handle points to."""
        return self._recorded

    @property
    def outputs(self) -> list[Operation]:
        return list(self._recorded.outputs)

    @property
    def stages(self) -> list[Stage]:
        """All stages, producers first."""
        return [Stage(self, key) for key in self._recorded.order]

    @property
    def stage_map(self) -> dict[Operation, Stage]:
        """The stage of each operation, of those too that a stage had before a cache was put in."""
        made = {op: Stage(self, key) for key, op in self._recorded.origins.items()}
        made.update({self._recorded.stages[key].op: Stage(self, key) for key in self._recorded.order})
        return made

    def __getitem__(self, tensor: Tensor | Operation) -> Stage:
        """The stage that computes a tensor.  Raises `WorkbenchError` E-STAGE-UNKNOWN for one of another graph."""
        return Stage(self, self.key_of(tensor))

    def key_of(self, tensor: Any) -> int:
        """The stage's number.  Raises `WorkbenchError` E-STAGE-UNKNOWN."""
        op = tensor.op if isinstance(tensor, Tensor) else tensor
        key = self._recorded.owners.get(id(op))
        if key is not None:
            return key
        known = [record.op.name for record in self._recorded.stages.values()]
        raise WorkbenchError(
            "E-STAGE-UNKNOWN",
            f"the schedule has no stage for {getattr(op, 'name', repr(op)[:60])}",
            found=f"stages: {', '.join(known)}",
            expected="a tensor or operation that the schedule was created of",
            fix=nearest(str(getattr(op, "name", "")), known) or "create_schedule of the outputs that use it",
        )

    def owner_of(self, axis: IterVar) -> str:
        """ "a loop of stage A", or the empty text."""
        for record in self._recorded.stages.values():
            if any(item is axis for item in record.all_axes):
                return f"an iteration variable of stage {record.op.name}"
        return ""

    # --- recording ---

    def become(self, record: StageRecord) -> None:
        """Put the next record of a stage in the place of the last (for `Stage`)."""
        self._recorded = self._recorded.with_stage(record)

    def restore(self, recorded: Recorded) -> None:
        """Point to another record of this schedule (for `Group`, and to go back)."""
        self._recorded = recorded

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """A copy of `tensor` in `scope`, which the operations `readers` read in its place; the copy's tensor."""
        call = called("s", "cache_read", [tensor, scope, readers])
        keys = [self.key_of(reader) for reader in several(readers)]
        self._recorded, made = graph.cache_read(self._recorded, self.key_of(tensor), tensor, scope, keys, call)
        return made

    def cache_write(self, tensor: Any, scope: str) -> Any:
        """Compute `tensor` in `scope`; its stage becomes a copy from there.  The tensor (or list of them, for the
        outputs of one operation) of the new stage."""
        call = called("s", "cache_write", [tensor, scope])
        given = several(tensor)
        keys = {self.key_of(item) for item in given}
        if len(keys) != 1 or len(given) > given[0].op.num_outputs:
            raise refused(
                call, "E-STAGE-CACHE", "the outputs of one operation were expected",
                found=f"{len(given)} tensors of {len(keys)} operations", expected="a tensor, or all of one operation",
                fix="call cache_write for each operation",
            )  # fmt: skip
        self._recorded, made = graph.cache_write(self._recorded, keys.pop(), scope, call)
        return made if isinstance(tensor, (list, tuple)) else made[given[0].value_index]

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Reduce over all but `axis` into a new tensor, which has `axis` as its dimension `factor_axis`; the stage of
        `tensor` then reduces that one over `axis`."""
        call = called("s", "rfactor", [tensor, axis], {"factor_axis": factor_axis or None})
        key = self.key_of(tensor)
        self[tensor].record.position(axis, call, self.owner_of)
        self._recorded, made = graph.rfactor(self._recorded, key, axis, int(factor_axis), call)
        return made if len(made) > 1 else made[0]

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
        """The stages between `inputs` and `outputs` as one, to be placed together with `compute_at`."""
        call = called("s", "create_group", [outputs, inputs])
        last, first = ({self.key_of(item) for item in several(side)} for side in (outputs, inputs))
        members = graph.between(self._recorded, first, last, include_inputs)
        made = Group(self, len(self._recorded.groups), members, call)
        self._recorded = replace(self._recorded, groups=(*self._recorded.groups, made))
        return made

    def normalize(self) -> Schedule:
        """A schedule of the same record: there is nothing left to be made regular (classic API)."""
        made = Schedule(self._recorded.outputs)
        made._recorded = self._recorded
        return made

    copy = normalize

    # --- looking ---

    def to_schedule(self, args: Sequence[Any] | None = None, name: str = "main") -> LoopSchedule:
        """The `tir.Schedule` that the calls lead to, on the block form of the graph; `args` as `lower` takes them
        (default: placeholders, then outputs).

        Raises `StageError` for the first call, in canonical order, that the engine refuses.
        """
        given = tuple(args) if args is not None else default_arguments(self._recorded)
        looked = self._looked
        if looked is None or looked[0] is not self._recorded or looked[2] != name or not _alike(looked[1], given):
            looked = self._looked = (self._recorded, given, name, materialized(self._recorded, given, name))
        return looked[3].copy()

    @property
    def trace(self) -> Trace:
        """The steps of the engine that the calls lead to."""
        return self.to_schedule().trace

    def script(self, args: Sequence[Any] | None = None) -> str:
        """The text of the scheduled function."""
        return self.to_schedule(args).script()

    def show(self, args: Sequence[Any] | None = None) -> Any:
        """The schedule editor in a notebook; the text of the function elsewhere."""
        return views().show_schedule(self.to_schedule(args))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().schedule_bundle(self.to_schedule())

    def __repr__(self) -> str:
        rows = ["te.Schedule"]
        for key in self._recorded.order:
            record = self._recorded.stages[key]
            if not record.is_placeholder:
                rows.append(f"  {record.op.name:<16} {_place(self._recorded, record):<24} {names(record.leaves)}")
        return "\n".join(rows)


def _alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _place(recorded: Recorded, record: StageRecord) -> str:
    if record.attach is None:
        return "output" if record.is_output else "root"
    if record.attach.axis is None:
        return "inline"
    return f"at {recorded.stages[record.attach.stage].op.name}, {record.attach.axis.var.name}"


def create_schedule(ops: Any) -> Schedule:
    """A schedule of the operations (or tensors) `ops`, the outputs, and of all they read.

    Raises `WorkbenchError` E-STAGE-OPERATIONS for anything else.
    """
    outputs = [item.op if isinstance(item, Tensor) else item for item in several(ops)]
    if not outputs or not all(isinstance(item, Operation) for item in outputs):
        raise WorkbenchError(
            "E-STAGE-OPERATIONS",
            "a te schedule is of operations",
            found=repr(ops)[:80],
            expected="te.create_schedule(C.op), or a list of operations",
            fix="for a PrimFunc use tir.Schedule",
        )
    return Schedule(outputs)


__all__ = ["Call", "Recorded", "Schedule", "create_schedule"]
