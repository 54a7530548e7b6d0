"""Recurrences: `scan` builds one, `plan` finds out which stages belong to its cell and how they are told the time.

    X = placeholder((m, n), name="X")
    state = placeholder((m, n), name="state")
    init = compute((1, n), lambda _, i: X[0, i], name="init")
    update = compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    S = scan(init, update, state, inputs=[X])          # S[t, i] = X[0, i] + ... + X[t, i]

Invariant of a plan: a stage of the cell is read at the time of its reader only, and a state at times before it, which
the scan has made by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arith import build as b
from ..arith.analyzer import Analyzer
from ..arith.nodes import IntImm, Var
from ..core.equal import same
from ..core.errors import WorkbenchError
from ..core.node import FrozenMap, post_order
from ..core.walks import parents_first
from ..tir.nodes import IterKind, IterVar, Range
from ..tir.script import script
from .nodes import ComputeOp, ExternOp, Operation, PlaceholderOp, ProducerLoad, ScanOp, Tensor, own_parts, several
from .tags import tag_or_current


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """The tensor whose first elements are `init`, and each further one `update`, which reads `state_placeholder`.

    The first axis is the time.  `init` has shape (k, ...) and gives times 0 ... k - 1; `update` and the state have the
    result's shape, and `update` at time t reads the state at t - 1 ... t - k.  Lists of equal length make several
    states in step, and answer a list.  Raises `WorkbenchError` (E-TE-SCAN) when shapes, dtypes or times do not fit.
    """
    inits, updates, states = (_tensors(value, name) for value in (init, update, state_placeholder))
    if not len(inits) == len(updates) == len(states) or not states:
        raise _refuse(
            name, "a scan has one init, one update and one state placeholder for each state",
            f"{len(inits)} inits, {len(updates)} updates, {len(states)} state placeholders",
            "lists of equal length",
        )  # fmt: skip
    for first, later, state in zip(inits, updates, states, strict=True):
        _check_state(name, first, later, state)
    if len({(id(state.op), state.value_index) for state in states}) < len(states):
        raise _refuse(name, "a state placeholder stands for one state", "one of them twice", "one placeholder a state")
    begin = inits[0].op.output_shape(inits[0].value_index)[0]
    end = states[0].op.output_shape(states[0].value_index)[0]
    time = _time_name(updates[0])
    axis = IterVar(Var(time), Range(begin, b.subtract(end, begin)), IterKind.SCAN)
    op = ScanOp(
        name, inits, updates, states, _tensors(inputs or (), name), axis, tag_or_current(tag), FrozenMap(attrs or {})
    )
    plan(op)
    outputs = [op.output(index) for index in range(len(states))]
    return outputs[0] if len(outputs) == 1 else outputs


def _time_name(update: Tensor) -> str:
    return update.op.axis[0].var.name if isinstance(update.op, ComputeOp) else "t"


def _tensors(value: Any, name: str) -> tuple[Tensor, ...]:
    made = several(value)
    for item in made:
        if not isinstance(item, Tensor):
            raise _refuse(name, "a scan is made of tensors", type(item).__name__, "te tensors")
    return made


def _refuse(name: str, message: str, found: str, expected: str, fix: str = "", node: Any = None) -> WorkbenchError:
    return WorkbenchError(
        "E-TE-SCAN", message, where=f"scan {name}", found=found, expected=expected,
        fix=fix or "see the example of te.scan", nodes=(node,) if node is not None else (),
    )  # fmt: skip


def _check_state(name: str, init: Tensor, update: Tensor, state: Tensor) -> None:
    if not isinstance(state.op, PlaceholderOp):
        raise _refuse(name, f"state {state.name} is not a placeholder", state.name, "te.placeholder(shape)", node=state)
    if not init.dtype == update.dtype == state.dtype:
        raise _refuse(
            name,
            f"the dtypes of state {state.name} differ",
            f"init {init.dtype}, update {update.dtype}, state {state.dtype}",
            "one dtype",
            "cast in the computes",
            state,
        )
    shapes = [item.op.output_shape(item.value_index) for item in (init, update, state)]
    ranks = {len(shape) for shape in shapes}
    if len(ranks) > 1 or 0 in ranks:
        raise _refuse(name, f"the ranks of state {state.name} differ", _ranks(init, update, state), "one rank")
    if not all(same(one, two) for one, two in zip(shapes[1], shapes[2], strict=True)) or not all(
        same(one, two) for one, two in zip(shapes[0][1:], shapes[2][1:], strict=True)
    ):
        found = f"init {list(init.shape)}, update {list(update.shape)}, state {list(state.shape)}"
        raise _refuse(name, f"the shapes of state {state.name} differ", found, "one shape but for init's first axis")
    first, whole = shapes[0][0], shapes[2][0]
    if isinstance(first, IntImm) and (first.value < 1 or (isinstance(whole, IntImm) and first.value > whole.value)):
        raise _refuse(
            name, f"init of state {state.name} does not fit its times",
            f"{first.value} times of {getattr(whole, 'value', whole)}",
            "at least one time, and not more than the state has",
        )  # fmt: skip


def _ranks(*tensors: Tensor) -> str:
    return ", ".join(f"{item.name} has {item.ndim} axes" for item in tensors)


# --- the plan -----------------------------------------------------------------------------------------------------


@dataclass
class ScanPlan:
    """How a scan becomes blocks."""

    op: ScanOp
    cell: list[ComputeOp] = field(default_factory=list[ComputeOp])
    """The stages that run once for each time, in order."""
    time_axis: dict[int, int] = field(default_factory=dict[int, int])
    """By the identity of a stage of the cell: which of its axes is the time."""


def plan(op: ScanOp) -> ScanPlan:
    """The stages of a scan's cell.  Raises `WorkbenchError` (E-TE-SCAN) when they cannot run time by time."""
    states = {id(state.op) for state in op.state_placeholder}
    order = [node for node in post_order(list(op.update)) if isinstance(node, Operation)]
    updates = {id(tensor.op) for tensor in op.update}
    dependent: set[int] = set()
    made = ScanPlan(op)
    for stage in order:
        inside = any(id(tensor.op) in states or id(tensor.op) in dependent for tensor in operands(stage))
        if inside and not isinstance(stage, ComputeOp):
            raise _refuse(
                op.name, f"{stage.name} reads the state, but does not run time by time", type(stage).__name__,
                "te.compute stages between the state and the update", node=stage,
            )  # fmt: skip
        if isinstance(stage, ComputeOp) and (inside or id(stage) in updates):
            dependent.add(id(stage))
            made.cell.append(stage)
    for stage in post_order(list(op.init)):
        if id(stage) in states:
            raise _refuse(op.name, "an init reads the state, which it begins", stage.name, "inputs only", node=stage)  # type: ignore[attr-defined]
    _tell_times(made, updates, states)
    return made


def _tell_times(made: ScanPlan, updates: set[int], states: set[int]) -> None:
    """Find the time axis of each stage from how it is read, readers first; check the times at which states are read."""
    members = {id(stage) for stage in made.cell}
    made.time_axis.update({id(stage): 0 for stage in made.cell if id(stage) in updates})
    for reader in reversed(made.cell):
        time = reader.axis[made.time_axis[id(reader)]].var
        for load in loads(reader):
            if id(load.producer.op) in states:
                _check_lag(made.op, reader, time, load)
            elif id(load.producer.op) in members:
                _tell_time(made, reader, time, load)


def _tell_time(made: ScanPlan, reader: ComputeOp, time: Var, load: ProducerLoad) -> None:
    stage = load.producer.op
    known = made.time_axis.get(id(stage))
    places = [number for number, index in enumerate(load.indices) if index is time]
    if not places or (known is not None and known not in places):
        raise _refuse(
            made.op.name, f"{stage.name} belongs to the cell, but {reader.name} does not read it at its own time",
            f"{stage.name} read from {reader.name} at another time than {time.name}",
            f"{stage.name}[{time.name}, ...]", "only states are kept for later times: make it a state", reader,
        )  # fmt: skip
    if known is None:
        made.time_axis[id(stage)] = places[0]


def _check_lag(op: ScanOp, reader: ComputeOp, time: Var, load: ProducerLoad) -> None:
    """A state is read at least one time and at most the init's times back."""
    difference = Analyzer().simplify(b.subtract(time, load.indices[0]))
    first = op.scan_axis.dom.min
    lag = difference.value if isinstance(difference, IntImm) else 0
    enough = not isinstance(first, IntImm) or lag <= first.value
    if lag < 1 or not enough:
        limit = f"{time.name} - {first.value}" if isinstance(first, IntImm) and first.value > 1 else ""
        shown = script(load.indices[0])
        raise _refuse(
            op.name, f"{reader.name} reads state {load.producer.name} at a time that is not made yet",
            f"{load.producer.name}[{shown}, ...]",
            f"{load.producer.name}[{time.name} - 1, ...]" + (f" to [{limit}, ...]" if limit else ""),
            "read an earlier time, or give init more times", reader,
        )  # fmt: skip


def operands(op: Operation) -> list[Tensor]:
    """The tensors that an operation reads."""
    if isinstance(op, ComputeOp):
        return [load.producer for load in loads(op)]
    if isinstance(op, ExternOp):
        return list(op.inputs)
    if isinstance(op, ScanOp):
        return [*op.init, *op.update, *op.inputs]
    return []


def loads(op: ComputeOp) -> list[ProducerLoad]:
    """The elements that the bodies of a stage read, each node once."""
    return [part for part in parents_first(op.body, own_parts) if isinstance(part, ProducerLoad)]
