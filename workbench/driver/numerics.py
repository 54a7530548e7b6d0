"""Checking numbers step by step: the first step whose program computes something else is named.

The reference is the imported module, interpreted by the operators' NumPy definitions in float64.  Graph steps are
interpreted.  Loop steps run in the checking interpreter when they are small enough; larger ones are compiled as they
stand, after the least lowering that code generation needs (`LEAST_LOWERING`), so that later passes have no say.  So
is a step that plans storage: the interpreter gives every buffer a place of its own, native code the planned one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import progress
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import pre_order
from ..core.transform import PASSES, PassContext
from ..lower.entry import Lowered
from ..tir import nodes as t
from ..tir.transforms.flatten_buffer import written_names
from ..tir.transforms.storage_plan import byte_size

if TYPE_CHECKING:
    from .history import Stage, Step
    from .session import Session

LEAST_LOWERING = ("LowerBlocks", "FlattenBuffer", "VectorizeLoop")
"""Passes that code generation cannot do without."""

INTERPRETED_ITERATIONS = 300_000
"""Innermost iterations up to which the interpreter runs a step (a second or two)."""

ABSOLUTE = 1e-4
"""Absolute part of the tolerance, for values near zero."""


@dataclass(frozen=True)
class StepCheck:
    """One step's verdict; errors are the greatest over all outputs."""

    step: str
    verdict: str
    """right, wrong, failed, unchanged, not run"""
    absolute: float = 0.0
    relative: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class NumericsReport:
    """The verdicts of all steps; true when none is wrong or failed."""

    checks: tuple[StepCheck, ...]

    @property
    def first_wrong(self) -> str | None:
        """The name of the first step that is wrong or failed."""
        return next((check.step for check in self.checks if check.verdict in ("wrong", "failed")), None)

    def __bool__(self) -> bool:
        return self.first_wrong is None

    def __str__(self) -> str:
        rows = [f"{'step':<28} {'verdict':<10} {'max abs':>10} {'max rel':>10}"]
        for check in self.checks:
            numbers = f"{check.absolute:>10.2e} {check.relative:>10.2e}" if check.verdict in ("right", "wrong") else ""
            rows.append(f"{check.step:<28} {check.verdict:<10} {numbers} {check.note}".rstrip())
        first = self.first_wrong
        rows.append(f"first wrong step: {first}" if first else "every step computes the same")
        return "\n".join(rows)

    __repr__ = __str__


def check_numerics(session: Session, inputs: Mapping[str, Any], tolerance: float) -> NumericsReport:
    """Run the steps in order on `inputs` and compare each with the imported module; stops at the first wrong one."""
    root = session.step(0).stage.module
    arrays = _arguments(root, inputs)
    expected = _interpret_relay(root, arrays, in_float64=True) if session.plan[0].level == "relay" else None
    checks: list[StepCheck] = []
    for index, label in progress.track(list(enumerate(session.labels)), "check numbers", lambda pair: pair[1]):
        step = session.step(index)
        check, outputs = _check(step, label, arrays, expected, tolerance)
        expected = outputs if expected is None else expected
        checks.append(check)
        if check.verdict in ("wrong", "failed"):
            break
    return NumericsReport(tuple(checks))


def _check(
    step: Step, label: str, arrays: Sequence[np.ndarray], expected: list[np.ndarray] | None, tolerance: float
) -> tuple[StepCheck, list[np.ndarray] | None]:
    if step.error is not None:
        return StepCheck(label, "failed", note=str(step.error).split("\n", 1)[0]), None
    if not step.changed and step.action.kind != "codegen":
        return StepCheck(label, "unchanged"), None
    try:
        outputs = _run(step, arrays)
    except WorkbenchError as error:
        return StepCheck(label, "failed", note=str(error).split("\n", 1)[0]), None
    if expected is None:
        return StepCheck(label, "right"), outputs
    return _compared(label, outputs, expected, tolerance), outputs


def _run(step: Step, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of the program after a step."""
    stage = step.stage
    if step.action.kind == "codegen":
        return stage.compiled.run_arrays(arrays)
    if step.action.level == "relay":
        return _interpret_relay(stage.module, arrays, in_float64=False)
    if stage.lowered is None:
        return _run_functions(stage, arrays)
    if _plans_storage(step) or cost(stage.module) > INTERPRETED_ITERATIONS:
        return _run_compiled(stage, arrays)
    return interpret_lowered(stage.module, stage.lowered, arrays)


def _plans_storage(step: Step) -> bool:
    """Whether the step changed the entry's arena.  Raises `WorkbenchError` for a place outside of it."""
    main = step.stage.module["main"]
    if "arena_bytes" not in main.attrs or (step.previous and step.previous.stage.module["main"] is main):
        return False
    for node in pre_order(main):
        offset = node.annotations.get("arena_offset") if isinstance(node, t.AllocBuffer) else None
        if offset is not None and not 0 <= offset <= main.attrs["arena_bytes"] - (byte_size(node.buffer) or 0):
            raise WorkbenchError("E-NUMERICS-ARENA", f"buffer {node.buffer.name} is placed outside of the arena")
    return True


def _least_lowered(module: IRModule) -> IRModule:
    """The module in the least form that code generation takes."""
    flat = {name: function for name, function in module.items() if "signature" in function.attrs}
    rest = IRModule({name: function for name, function in module.items() if name not in flat})
    for name in LEAST_LOWERING:
        rest = PASSES[name]()(rest)
    # Vectors that no pass has made yet stay loops.
    with PassContext(opt_level=3, config={"tir.disable_vectorize": True}):
        return PASSES["VectorizeLoop"]()(module.with_functions(dict(rest.functions)))


def _run_compiled(stage: Stage, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    from .build import compiled_model

    assert stage.lowered is not None
    target = stage.module["main"].attrs["target"]
    return compiled_model(_least_lowered(stage.module), stage.lowered, target).run_arrays(arrays)


def _run_functions(stage: Stage, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of loop functions that were opened as such."""
    from ..target import Target
    from .build import compile_stage

    lowered = replace(stage, module=_least_lowered(stage.module))
    return compile_stage(lowered, Target("llvm")).run_arrays(arrays)


def _interpret_relay(module: IRModule, arrays: Sequence[np.ndarray], in_float64: bool) -> list[np.ndarray]:
    from ..relay.interpret import interpret

    return _flat(interpret(module, *arrays, float64=in_float64))


def interpret_lowered(module: IRModule, lowered: Lowered, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run the entry of a lowered module in the checking interpreter."""
    from ..tir.interpret import interpret

    outputs = [np.zeros(tensor.concrete_shape, tensor.dtype.to_numpy()) for tensor in lowered.outputs]
    constants = [np.require(data.numpy(), requirements="C") for _, data in lowered.constants]
    main = module["main"]
    # FlattenBuffer leaves one-dimensional parameters; the views share the memory of the outputs.
    flat = "signature" in main.attrs
    held = [np.require(array, requirements="C") for array in arrays]
    arguments = [array.reshape(-1) if flat else array for array in (*held, *constants, *outputs)]
    interpret(main, *arguments, module=module)
    return outputs


def cost(module: IRModule) -> int:
    """About how many innermost iterations running every kernel once takes."""
    return sum(_function_cost(function) for function in module.functions.values())


def _function_cost(function: Any) -> int:
    loops = [node for node in pre_order(function) if isinstance(node, t.For)]
    total = 0
    for loop in loops:
        if any(isinstance(inner, t.For) for inner in pre_order(loop.body)):
            continue
        around = [outer for outer in loops if any(inner is loop for inner in pre_order(outer))]
        total += prod(getattr(outer.extent, "value", 16) for outer in around)
    return total


def _arguments(module: IRModule, inputs: Mapping[str, Any]) -> list[np.ndarray]:
    """The inputs in the order of the entry's parameters; a loop function's outputs are none."""
    entry = module["main" if "main" in module else module.names()[0]]
    written = set(written_names(entry)) if isinstance(entry, t.PrimFunc) else set()
    names = [getattr(parameter, "name_hint", None) or parameter.name for parameter in entry.params]
    names = [name for name in names if name not in written]
    arrays: list[np.ndarray] = []
    for name in names:
        if name not in inputs:
            raise WorkbenchError("E-RUN-INPUT", f"input {name!r} is missing", expected=", ".join(names))
        arrays.append(np.asarray(inputs[name]))
    return arrays


def _flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in _flat(item)]
    return [np.asarray(value)]


def _compared(label: str, found: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> StepCheck:
    """Compare outputs; a NaN equals a NaN, infinities must agree."""
    absolute = relative = 0.0
    right = len(found) == len(expected)
    for one, other in zip(found, expected, strict=False):
        if one.shape != other.shape:
            return StepCheck(label, "wrong", note=f"shape {one.shape} instead of {other.shape}")
        x, y = one.astype(np.float64), other.astype(np.float64)
        with np.errstate(invalid="ignore"):
            gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
        gap = np.where(np.isnan(gap), np.inf, gap)
        right = right and bool(np.all(gap <= ABSOLUTE + tolerance * np.where(np.isfinite(y), np.abs(y), 0.0)))
        absolute = max(absolute, float(gap.max(initial=0.0)))
        relative = max(relative, float((gap / np.maximum(np.abs(y), ABSOLUTE)).max(initial=0.0)))
    return StepCheck(label, "right" if right else "wrong", absolute, relative)
