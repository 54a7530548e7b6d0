"""Building without history: `relay.build` for models, `build` for loop programs and te tensors.

lib = relay.build(mod, target="llvm", params=params)
add = wb.build(te.create_prim_func([A, B, C]), target="llvm")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..codegen.backend import backend_of, building_for
from ..core import progress
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.origin import OriginTable
from ..core.tensor import Tensor
from ..core.transform import PassContext
from ..lower import Lowered
from ..lower.provider import Provider
from ..runtime.model import CompiledModel, KernelCall, TensorSpec
from ..runtime.module import Module
from ..target import Target
from ..tir.nodes import Buffer, PrimFunc
from . import actions
from .contents import Contents
from .history import Stage
from .plan import CompilePlan, ProgramRef
from .progress import with_progress


@with_progress
def build_model(
    mod: Any,
    target: Target | str | None = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    provider: Provider | None = None,
) -> CompiledModel:
    """Compile a relay module to native code (classic `relay.build`).

    Without a target the one of `with Target(...)` is meant, else this machine; a kind without a backend is refused.
    Runs the pipeline under the current `PassContext`, like `wb.open`: without a level that is named, the best code is
    made (level 3); passes above the level are skipped unless the executor needs them.  `params` are bound into the
    model as constants.
    """
    from .open import bound_module

    chosen = building_for(target, target_host)
    module = bound_module(mod, params)
    with progress.task("build", 4) as task:
        return run(plan_of(chosen), module, provider, task.advance).compiled


def optimize(
    mod: Any, target: Target | str | None = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """(the relay module after the graph passes of `build_model`, parameters left over: none) (classic API)."""
    from .open import bound_module

    module = bound_module(mod, params)
    plan = plan_of(target)
    graph = tuple(row for row in plan.rows if row.level == "relay")
    return run(replace(plan, rows=graph), module).module, {}


def plan_of(target: Target | str | None = None) -> CompilePlan:
    """The plan of a build without a history, under the contexts around this call."""
    return CompilePlan.of(ProgramRef("IRModule"), "relay", target)


def run(
    plan: CompilePlan,
    module: IRModule,
    provider: Provider | None = None,
    advance: Callable[[], None] = lambda: None,
    contents: Contents | None = None,
) -> Stage:
    """What a plan makes of a module, without a history; the same as a session's last step.

    `contents` holds the constants that edits name; without edits there are none.
    `advance` is called after the graph passes, lowering, scheduling and code generation.  Raises the error of the
    first step that fails.
    """
    root = actions.import_action(module, plan.program, OriginTable())
    stage = Stage(module)
    for action in actions.actions_of(plan, root, contents or Contents(), actions.deciding(), provider)[1:]:
        if action.kind == "lower":
            advance()
        try:
            stage = action.run(stage)
        except WorkbenchError as error:
            raise error.located(f"step {action.name}") from None
        if action.kind != "pass":
            advance()
    return stage


def compile_stage(stage: Stage, target: Target) -> Any:
    """Native code of a session's last loop step: a model when it was lowered from a graph, else its functions."""
    if stage.lowered is None:
        return CompiledFunctions(backend_of(target).compile_module(stage.module, target).module(), stage.module)
    return compiled_model(stage.module, stage.lowered, target)


def compiled_model(module: IRModule, lowered: Lowered, target: Target) -> CompiledModel:
    """Compile the loop functions of a lowered model."""
    names = lowered.output_names or tuple(f"output_{index}" for index in range(len(lowered.outputs)))
    # Of the kernels as they were lowered: in a session the module's own are flat by now.
    shapes = {
        kernel.name: tuple(_buffer_spec(parameter).concrete_shape for parameter in kernel.func.params)
        for kernel in lowered.kernels
    }
    renamed = {f"output_{index}": name for index, name in enumerate(names)}
    return CompiledModel(
        name="default",
        module=backend_of(target).compile_module(module, target).module(),
        inputs=tuple(TensorSpec(name, tensor.concrete_shape, tensor.dtype) for name, tensor in lowered.inputs),
        outputs=tuple(
            TensorSpec(name, tensor.concrete_shape, tensor.dtype)
            for name, tensor in zip(names, lowered.outputs, strict=True)
        ),
        constants=tuple((TensorSpec(name, data.shape, data.dtype), stored(data)) for name, data in lowered.constants),
        temporaries=tuple(_buffer_spec(buffer) for buffer in lowered.temporaries),
        guards=lowered.guards,
        calls=tuple(
            KernelCall(
                call.kernel,
                call.label,
                tuple(renamed.get(buffer.name, buffer.name) for buffer in call.buffers),
                shapes[call.kernel],
            )
            for call in lowered.calls
        ),
    )


def stored(data: Tensor) -> np.ndarray:
    """A constant as one compact array; a lazy fill is written out here, once."""
    return np.require(data.numpy(), requirements="C")  # ascontiguousarray would make scalars one-dimensional


def _buffer_spec(buffer: Buffer) -> TensorSpec:
    return TensorSpec(buffer.name, tuple(getattr(extent, "value", -1) for extent in buffer.shape), buffer.dtype)


class CompiledFunctions:
    """Compiled loop functions in a session: `run` fills the outputs, which are the buffers that are written."""

    def __init__(self, module: Module, program: IRModule) -> None:
        self.module = module
        self.program = program
        self.entry = "main" if "main" in program else program.names()[0]

    def __getitem__(self, name: str) -> Any:
        return self.module[name]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run the only (or "main") function on arrays by parameter name; written parameters may be left out."""
        name = self.entry
        function = self.program[name]
        written = set(function.attrs.get("written", ()))
        arguments: dict[str, Any] = {}
        for parameter in function.params:
            if parameter.name in inputs:
                arguments[parameter.name] = inputs[parameter.name]
            elif parameter.name in written:
                spec = _packed_spec(function, parameter.name)
                arguments[parameter.name] = np.zeros(spec.shape, spec.dtype.to_numpy())
            else:
                raise WorkbenchError("E-RUN-INPUT", f"input {parameter.name!r} is missing")
        self.module[name](*arguments.values())
        return {key: value for key, value in arguments.items() if key in written}

    def run_arrays(self, arrays: Sequence[Any]) -> list[Any]:
        """Outputs in order, from the inputs in order."""
        function = self.program[self.entry]
        written = set(function.attrs.get("written", ()))
        names = [parameter.name for parameter in function.params if parameter.name not in written]
        return list(self.run(dict(zip(names, arrays, strict=False))).values())

    def get_source(self, fmt: str = "ll", name: str | None = None) -> str:
        return self.module.get_source(fmt, name)

    def export_library(self, file_name: str) -> None:
        self.module.export_library(file_name)


def _packed_spec(function: PrimFunc, name: str) -> TensorSpec:
    """Shape and dtype of a parameter as callers see it, from the signature that FlattenBuffer wrote."""
    position = [parameter.name for parameter in function.params].index(name)
    dtype, _, extents = function.attrs["signature"][position].partition("[")
    try:
        shape = tuple(int(extent) for extent in extents.rstrip("]").split(",") if extent.strip())
    except ValueError:
        raise WorkbenchError(
            "E-RUN-OUTPUT", f"output {name!r} has a symbolic shape", fix="give an array for it"
        ) from None
    return TensorSpec(name, shape, DataType(dtype.strip()))


def lower(
    program: Any,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Any, Any] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """A loop program after the loop passes: `print` shows its text (classic `lower`).

    `program` is a te schedule (with its `args`, placeholders and outputs), te tensors, a PrimFunc, a `tir.Schedule` or
    an IRModule of PrimFuncs.  The text is the simple one in either mode.
    """
    from ..tir.transforms.pipeline import lower_module as lower_loops

    _require_no_binds(binds)
    return lower_loops(_loop_module(program, args, name))


def build(
    program: Any,
    args: Sequence[Any] | None = None,
    target: Target | str | None = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str = "main",
    binds: Mapping[Any, Any] | None = None,
) -> Module:
    """Compile a te schedule, te tensors, a PrimFunc, a `tir.Schedule`, or an IRModule of PrimFuncs (classic `build`).

    The host is the target itself, and `target_host` may say no other; `runtime` stands for classic calls.
    """
    _require_no_binds(binds)
    chosen = building_for(target, target_host)
    module = _loop_module(program, args, name)
    plan = CompilePlan.of(ProgramRef(type(program).__name__), "tir", chosen)
    instruments = PassContext.current().instruments
    # The backend itself puts functions through the loop passes, those left out that are flat already.
    with plan.target, plan.settings.context(instruments).applied():
        return backend_of(chosen).compile_module(module, chosen).module()


def _require_no_binds(binds: Mapping[Any, Any] | None) -> None:
    if binds:
        raise WorkbenchError(
            "E-BUILD-BINDS",
            "tensors cannot be bound to buffers of one's own here",
            found=f"{len(binds)} bindings",
            expected="no binds",
            fix="write the function with T.prim_func and its own buffers",
        )


def _loop_module(program: Any, args: Sequence[Any] | None, name: str) -> IRModule:
    from ..schedule import Schedule
    from ..schedule.stages import Schedule as StageSchedule
    from ..te import Tensor, create_prim_func

    if isinstance(program, IRModule):
        return program
    if isinstance(program, Schedule):
        program = program.func
    if isinstance(program, StageSchedule):
        program = program.to_schedule(args, name).func
    if isinstance(program, (list, tuple)) and program and all(isinstance(item, Tensor) for item in program):
        program = create_prim_func(list(program), name=name)
    if isinstance(program, PrimFunc):
        own = str(program.attrs.get("global_symbol", name))
        return IRModule({name if name != "main" else own: program})
    raise WorkbenchError(
        "E-BUILD-KIND",
        f"a {type(program).__name__} cannot be built",
        found=repr(program)[:80],
        expected="a PrimFunc, a tir or te schedule, te tensors, an IRModule of PrimFuncs (relay.build for relay)",
    )
