"""Classic strategies: how a user computes and schedules an operator, among the implementations of its own.

    @relay.op.register_strategy("nn.dense")
    def dense_strategy(attrs, inputs, out_type, target):
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(
            relay.op.strategy.wrap_compute_dense(my_dense), relay.op.strategy.wrap_topi_schedule(my_schedule),
            name="dense.mine", plevel=15,
        )
        return strategy

`attrs` is the operator with its attributes, `inputs` are its operands as te tensors, `out_type` the result's type.  A
compute `(attrs, inputs, out_type)` answers te tensors, a schedule `(attrs, outs, target)` a te schedule of the kernel's
outputs, with what is fused around the operator.  The implementation of the highest `plevel` above zero goes before all
of the workbench's own; the others can be chosen by name (`session.choose`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ... import topi
from ...core.errors import WorkbenchError
from ...core.table import Table
from ..ir.operator import OPERATORS

Compute = Callable[[Any, list[Any], Any], Any]
ScheduleOf = Callable[[Any, Any, Any], Any]
Strategy = Callable[[Any, list[Any], Any, Any], "OpStrategy"]


@dataclass(frozen=True)
class OpImplementation:
    """One way: None for `compute` is the operator's own, None for `schedule` block by block."""

    compute: Compute | None
    schedule: ScheduleOf | None
    name: str = "default"
    plevel: int = 10


@dataclass
class OpStrategy:
    """The ways in which a user computes an operator."""

    implementations: list[OpImplementation] = field(default_factory=list[OpImplementation])

    def add_implementation(
        self, compute: Compute | None, schedule: ScheduleOf | None, name: str = "default", plevel: int = 10
    ) -> None:
        """One more.  Raises `WorkbenchError` E-STRATEGY for what cannot be called."""
        for part, word in ((compute, "compute"), (schedule, "schedule")):
            if part is not None and not callable(part):
                raise _refuse(name, f"its {word} cannot be called", type(part).__name__, "a function, or None")
        self.implementations.append(OpImplementation(compute, schedule, str(name), int(plevel)))


@dataclass(frozen=True)
class Registered:
    """What users said of an operator."""

    strategy: Strategy | None = None
    compute: Compute | None = None
    schedule: ScheduleOf | None = None
    levels: tuple[tuple[str, int], ...] = ()
    """Of what they said, by the name of the part."""

    def implementations(self, attrs: Any, inputs: list[Any], out_type: Any, target: Any) -> list[OpImplementation]:
        """All ways, of the strategy and of what was registered by itself.

        Raises `WorkbenchError` E-STRATEGY where the strategy answers something else.
        """
        found: list[OpImplementation] = []
        if self.strategy is not None:
            made: Any = self.strategy(attrs, inputs, out_type, target)
            if not isinstance(made, OpStrategy):
                raise _refuse(attrs.name, "it answers no strategy", type(made).__name__, "a relay.op.OpStrategy")
            found += made.implementations
        if self.compute is not None or self.schedule is not None:
            level = max(level for part, level in self.levels if part != "strategy")
            found.append(OpImplementation(self.compute, self.schedule, "registered", level))
        return found


STRATEGIES: Table[Registered] = Table("strategy", filled_by=())


def register_strategy(op_name: str, fstrategy: Strategy | None = None, level: int = 10) -> Any:
    """What computes an operator, for each target; a decorator without `fstrategy`.

    A function of a lower `level` than one that is there is not taken.  Raises `WorkbenchError` for an unknown operator.
    """
    return _registered(op_name, "strategy", fstrategy, level)


def register_compute(op_name: str, compute: Compute | None = None, level: int = 10) -> Any:
    """What computes an operator, as `register_strategy` with one implementation."""
    return _registered(op_name, "compute", compute, level)


def register_schedule(op_name: str, schedule: ScheduleOf | None = None, level: int = 10) -> Any:
    """What schedules an operator's kernels, as `register_strategy` with one implementation."""
    return _registered(op_name, "schedule", schedule, level)


def register_injective_schedule(op_name: str, level: int = 10) -> Any:
    """Kernels of the operator run as maps of elements."""
    return register_schedule(op_name, _topi("schedule_injective"), level)


def register_broadcast_schedule(op_name: str, level: int = 10) -> Any:
    """As `register_injective_schedule`."""
    return register_injective_schedule(op_name, level)


def register_reduce_schedule(op_name: str, level: int = 10) -> Any:
    """Kernels of the operator run as reductions."""
    return register_schedule(op_name, _topi("schedule_reduce"), level)


def _registered(op_name: str, part: str, function: Any, level: int) -> Any:
    OPERATORS[op_name]  # refuses an unknown one

    def enter(given: Any) -> Any:
        if not callable(given):
            raise _refuse(op_name, f"its {part} cannot be called", type(given).__name__, "a function")
        before = STRATEGIES.get(op_name) or Registered()
        levels = dict(before.levels)
        if levels.get(part, level) <= level:
            made = replace(before, **{part: given}, levels=tuple(sorted({**levels, part: level}.items())))
            STRATEGIES.register(op_name, made, module="__main__", override=True)
        return given

    return enter if function is None else enter(function)


def _refuse(name: str, message: str, found: str, expected: str) -> WorkbenchError:
    return WorkbenchError("E-STRATEGY", f"strategy of {name}: {message}", found=found, expected=expected)


# --- from functions of topi -------------------------------------------------------------------------------------------


def wrap_topi_schedule(topi_schedule: Callable[[Any], Any]) -> ScheduleOf:
    """A function of the outputs as a schedule of a strategy; the target is the current one inside."""

    def schedule(attrs: Any, outs: Any, target: Any) -> Any:
        with target:
            return topi_schedule(outs)

    return schedule


def wrap_compute_conv2d(
    topi_compute: Callable[..., Any], need_data_layout: bool = False, need_out_layout: bool = False
) -> Compute:
    """A function (data, weight, strides, padding, dilation[, data_layout][, out_layout], out_dtype)."""

    def compute(attrs: Any, inputs: list[Any], out_type: Any) -> list[Any]:
        given = [inputs[0], inputs[1], attrs.strides, attrs.padding, attrs.dilation]
        given += [attrs.data_layout] if need_data_layout else []
        given += [attrs.out_layout or attrs.data_layout] if need_out_layout else []
        return [topi_compute(*given, str(out_type.dtype))]

    return compute


def wrap_compute_dense(topi_compute: Callable[..., Any]) -> Compute:
    """A function (data, weight, bias, out_dtype); the bias is None."""

    def compute(attrs: Any, inputs: list[Any], out_type: Any) -> list[Any]:
        return [topi_compute(inputs[0], inputs[1], None, str(out_type.dtype))]

    return compute


def wrap_compute_batch_matmul(topi_compute: Callable[..., Any]) -> Compute:
    """A function (a, b, the result's shape, out_dtype, transpose_a, transpose_b)."""

    def compute(attrs: Any, inputs: list[Any], out_type: Any) -> list[Any]:
        how = (attrs.transpose_a, attrs.transpose_b)
        return [topi_compute(inputs[0], inputs[1], out_type.shape, str(out_type.dtype), *how)]

    return compute


def wrap_compute_softmax(topi_compute: Callable[..., Any]) -> Compute:
    """A function (data, axis)."""

    def compute(attrs: Any, inputs: list[Any], out_type: Any) -> list[Any]:
        return [topi_compute(inputs[0], attrs.axis)]

    return compute


def _topi(name: str) -> ScheduleOf:
    def schedule(attrs: Any, outs: Any, target: Any) -> Any:
        with target:
            return getattr(topi.generic, name)(outs)

    return schedule
