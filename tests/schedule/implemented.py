"""Kernels of one operator, as `lower.kernel` makes them, from te tensors: with anything fused behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench import te
from workbench.arith import build
from workbench.lower.choosing import choice_by_hand, chosen
from workbench.lower.implementation import Choice, Workload
from workbench.lower.kernel import Kernel
from workbench.lower.provider import default_provider
from workbench.relay.ir.operator import Operator
from workbench.relay.ir.types import TensorType
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.te.prim_func import lowered

WIDE = Target("llvm -mcpu=znver5")
NARROW = Target("llvm -mcpu=x86-64-v3")

Made = Callable[[Target], Kernel]
"""A kernel for a target."""
Behind = Callable[[te.Tensor], tuple[Sequence[te.Tensor], te.Tensor]]
"""Of an operator's result: further inputs, and what is fused behind it."""


def nothing(result: te.Tensor) -> tuple[Sequence[te.Tensor], te.Tensor]:
    return (), result


def relu(result: te.Tensor) -> tuple[Sequence[te.Tensor], te.Tensor]:
    return (), te.compute(result.shape, lambda *i: build.maximum(result(*i), 0.0), name="relu")


def implemented(
    op: Operator, operands: Sequence[te.Tensor], behind: Behind = nothing, choice: Choice | str = ""
) -> Made:
    """An operator on placeholders, by its cheapest implementation, or by a choice, or one that is named."""

    def made(target: Target) -> Kernel:
        types: Any = tuple(TensorType(operand.shape, operand.dtype) for operand in operands)
        workload = Workload(op, types, target)
        named = isinstance(choice, str)
        taken = choice if not named else choice_by_hand(workload, choice, {}) if choice else chosen(workload)
        result = op.compute(*operands) if taken is None else taken.compute(*operands)
        inputs, last = behind(result)
        whole = lowered([*operands, *inputs, last])
        return Kernel("main", whole.func, target, workload, "", (), taken, _anchor(result, operands, whole.blocks))

    return made


def _anchor(result: te.Tensor, operands: Sequence[te.Tensor], blocks: dict[int, str]) -> str:
    stages, waiting = list[te.Operation](), [result.op]
    while waiting:
        stage = waiting.pop()
        if stage not in stages and all(stage is not operand.op for operand in operands):
            stages.append(stage)
            waiting += [tensor.op for tensor in stage.input_tensors]
    reductions = [stage for stage in stages if isinstance(stage, te.ComputeOp) and stage.reduce_axis]
    return blocks[id(reductions[0] if len(reductions) == 1 else result.op)]


def loops_alone(tensors: Sequence[te.Tensor]) -> Made:
    """Loops that no operator has: of inputs, then outputs."""
    func = te.create_prim_func(tensors)
    return lambda target: Kernel("main", func, target, None, "")


def scheduled(made: Made, target: Target = WIDE) -> Schedule:
    """The default schedule."""
    return default_provider(made(target))
