"""Native code of the last loop step: a model when it was lowered from a graph, else its functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..arith.nodes import literal
from ..codegen.backend import backend_of
from ..codegen.llvm.unsafe_calls import is_unsafe
from ..core.arguments import by_name
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.host import give_back_memory
from ..core.module import HeldModule, IRModule
from ..core.tensor import Tensor
from ..core.transform import PASSES
from ..lower.entry import Lowered
from ..runtime.model import CompiledModel, KernelCall, TensorSpec, conform, output_values
from ..runtime.module import Module
from ..runtime.ndarray import numpy_of
from ..target.target import Target
from ..tir.by_hand import is_by_hand
from ..tir.nodes import Buffer, PrimFunc
from .given_inputs import require_names
from .history import Stage


def compile_stage(stage: Stage, target: Target) -> Any:
    """Native code of a session's last loop step: a model when it was lowered from a graph, else its functions."""
    if stage.lowered is None:
        return CompiledFunctions(backend_of(target).compile_module(stage.module, target).module(), stage.module)
    return compiled_model(stage.module, stage.lowered, target)


def compiled_model(module: IRModule, lowered: Lowered, target: Target) -> CompiledModel:
    """Compile the loop functions of a lowered model."""
    compiled = backend_of(target).compile_module(module, target).module()
    give_back_memory()  # what LLVM's and the loop passes' programs took: a third of what a session keeps, in 1 ms
    # What a person wrote, or made by steps that were not vouched for, may leave some of the outputs as they were.
    by_hand = is_unsafe(module) or any(map(is_by_hand, module.functions.values()))
    return model_of(lowered, compiled, fills_outputs=not by_hand)


def model_of(lowered: Lowered, compiled: Module, fills_outputs: bool) -> CompiledModel:
    """The model of compiled functions that were lowered from a graph."""
    names = lowered.output_names or tuple(f"output_{index}" for index in range(len(lowered.outputs)))
    # Of the kernels as they were lowered: in a session the module's own are flat by now.
    shapes = {
        kernel.name: tuple(
            _buffer_spec(buffer).concrete_shape for buffer in cast("tuple[Buffer, ...]", kernel.func.params)
        )
        for kernel in lowered.kernels
    }
    others = [name for part in (lowered.inputs, lowered.constants) for name, _ in part]
    called = output_values(names, [*others, *(buffer.name for buffer in lowered.temporaries)])
    params = cast("tuple[Buffer, ...]", cast(PrimFunc, lowered.module["main"]).params)
    renamed = {id(buffer): name for buffer, name in zip(params[len(params) - len(called) :], called, strict=True)}
    return CompiledModel(
        name="default",
        module=compiled,
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
                tuple(renamed.get(id(buffer), buffer.name) for buffer in call.buffers),
                shapes[call.kernel],
            )
            for call in lowered.calls
        ),
        fills_outputs=fills_outputs,
    )


def stored(data: Tensor) -> np.ndarray:
    """A constant as one compact read-only array; a lazy fill is written out here, once."""
    array = np.require(data.numpy(), requirements="C")  # ascontiguousarray would make scalars one-dimensional
    array.flags.writeable = False
    return array


def _buffer_spec(buffer: Buffer) -> TensorSpec:
    return TensorSpec(buffer.name, tuple(literal(extent, -1) for extent in buffer.shape), buffer.dtype)


class CompiledFunctions:
    """Compiled loop functions in a session: `run` fills the outputs, which are the buffers that are written."""

    program = HeldModule()

    def __init__(self, module: Module, program: IRModule) -> None:
        """`program`: as it was compiled; what no step has flattened code generation has, and callers see that form."""
        self.module = module
        self.entry = "main" if "main" in program else program.names()[0]
        self.program = program if "signature" in program[self.entry].attrs else PASSES["FlattenBuffer"]()(program)

    def __getitem__(self, name: str) -> Any:
        return self.module[name]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run the only (or "main") function on arrays by parameter name; written parameters may be left out.

        What it returns by ``T.ret`` stands under "return".
        """
        name = self.entry
        function = self.program[name]
        written = set(function.attrs.get("written", ()))
        given = by_name(inputs, "run(inputs)", "E-RUN-INPUT", '{"x": array, ...}')
        passed = _passed(function)
        require_names(given, {parameter.name: None for parameter in passed}, written)
        arguments: dict[str, Any] = {}
        for parameter in passed:
            if parameter.name not in given:
                arguments[parameter.name] = _new_output(function, parameter.name)
            elif parameter.name in written:
                arguments[parameter.name] = given[parameter.name]
            else:
                arguments[parameter.name] = _as_array(function, parameter.name, given[parameter.name])
        answer = self.module[name](*arguments.values())
        returned = {} if answer is None else {"return": np.asarray(answer)}  # no parameter can have this name
        return {**{key: value for key, value in arguments.items() if key in written}, **returned}

    def with_own_outputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs with copies of those that a run writes: each run then begins with what the caller gave."""
        written = self.program[self.entry].attrs.get("written", ())
        return {name: _copied(value) if name in written else value for name, value in inputs.items()}

    def run_arrays(self, arrays: Sequence[Any]) -> list[Any]:
        """Outputs in order, from the inputs in order."""
        function = self.program[self.entry]
        written = set(function.attrs.get("written", ()))
        names = [parameter.name for parameter in _passed(function) if parameter.name not in written]
        return list(self.run(dict(zip(names, arrays, strict=False))).values())

    def get_source(self, fmt: str = "ll", name: str | None = None) -> str:
        return self.module.get_source(fmt, name)

    def export_library(self, file_name: str) -> None:
        self.module.export_library(file_name)


def with_own_outputs(compiled: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs for one run that leaves the caller's arrays as they are; a model writes none of its inputs."""
    given = by_name(inputs, "run(inputs)", "E-RUN-INPUT", '{"x": array, ...}')
    return compiled.with_own_outputs(given) if isinstance(compiled, CompiledFunctions) else given


def _copied(value: Any) -> Any:
    """A copy of what holds an array; other things, which a run refuses, as they are."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return numpy_of(value).copy() if hasattr(value, "__dlpack__") else value


def _passed(function: PrimFunc) -> tuple[Any, ...]:
    """The parameters that callers give; extents that shapes say follow them."""
    return function.params[: len(function.attrs["signature"])]


def _new_output(function: PrimFunc, name: str) -> np.ndarray:
    spec = _packed_spec(function, name)
    if spec is None or any(isinstance(extent, str) for extent in spec.shape):
        raise WorkbenchError("E-RUN-OUTPUT", f"output {name!r} has a symbolic shape", fix="give an array for it")
    return np.zeros(spec.concrete_shape, spec.dtype.to_numpy())


def _as_array(function: PrimFunc, name: str, value: Any) -> Any:
    """Numbers and lists for a tensor as an array, as a model takes them; other values are what they are."""
    spec = _packed_spec(function, name) if isinstance(value, (bool, int, float, np.generic, list, tuple)) else None
    return value if spec is None else conform(spec, value)


def _packed_spec(function: PrimFunc, name: str) -> TensorSpec | None:
    """Shape and dtype of a parameter as callers see it, by the signature that FlattenBuffer wrote; None of numbers."""
    position = [parameter.name for parameter in function.params].index(name)
    dtype, bracket, rest = function.attrs["signature"][position].partition("[")
    extents = [extent.strip() for extent in rest.rstrip("]").split(",") if extent.strip()]
    shape = tuple(int(extent) if extent.isdigit() else extent for extent in extents)
    return TensorSpec(name, shape, DataType(dtype.strip())) if bracket else None
