"""A compiled model: one native entry with its constants, inputs and outputs; what `relay.build` and sessions give.

    compiled.run({"x": array}) -> {"output_0": array}
    graph_executor.GraphModule(compiled["default"](cpu(0)))      # the classic way
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.dtype import DataType
from ..core.errors import WorkbenchError, nearest
from ..core.tensor import Tensor
from .module import Module
from .ndarray import NDArray, aligned, aligned_copy, cpu


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape and dtype of an input or output."""

    name: str
    shape: tuple[int, ...]
    dtype: DataType


@dataclass(frozen=True)
class KernelCallSpec:
    """One call that the entry makes: the kernel and the names of the buffers, outputs last."""

    kernel: str
    arguments: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """See the module's header.  Python does three things a call: check inputs, make outputs, call the entry once."""

    module: Module
    entry: str
    inputs: tuple[TensorSpec, ...]
    constants: tuple[tuple[str, Tensor], ...]
    outputs: tuple[TensorSpec, ...]
    calls: tuple[KernelCallSpec, ...] = ()
    graph_text: str = ""
    """The graph that was compiled, as text (the classic `get_graph_json` is not offered)."""

    @cached_property
    def constant_arrays(self) -> tuple[NDArray, ...]:
        """The constants in storage that native code reads; made once."""
        return tuple(NDArray(aligned_copy(data.numpy()), cpu()) for _, data in self.constants)

    @property
    def params(self) -> dict[str, NDArray]:
        """The constants by name (classic API)."""
        return dict(zip((name for name, _ in self.constants), self.constant_arrays, strict=True))

    # --- running ---

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Outputs by name.  Raises `WorkbenchError` for a missing, unknown or unfit input."""
        known = [spec.name for spec in self.inputs]
        for name in inputs:
            if name not in known:
                raise WorkbenchError(
                    "E-RUN-INPUT", f"there is no input {name!r}", expected=", ".join(known), fix=nearest(name, known)
                )
        missing = [name for name in known if name not in inputs]
        if missing:
            raise WorkbenchError("E-RUN-INPUT", f"input {missing[0]!r} is missing", expected=", ".join(known))
        results = self.run_arrays([inputs[name] for name in known])
        return dict(zip((spec.name for spec in self.outputs), results, strict=True))

    def run_arrays(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """Outputs in order, from inputs in order; each run makes fresh outputs."""
        given = [prepared(value, spec) for value, spec in zip(arrays, self.inputs, strict=True)]
        outputs = [aligned(spec.shape, spec.dtype.to_numpy()) for spec in self.outputs]
        self.module[self.entry](*given, *self.constant_arrays, *outputs)
        return outputs

    # --- the classic factory ---

    def __getitem__(self, name: str) -> Any:
        """``lib["default"]``: makes an executor for a device.  Other names are functions of the code."""
        if name == "default":
            from ..contrib.graph_executor import Executor

            return lambda *devices: Executor(self)
        return self.module[name]

    def get_lib(self) -> Module:
        return self.module

    def get_params(self) -> dict[str, NDArray]:
        return self.params

    def export_library(self, file_name: str) -> None:
        """Write code and constants to one shared library that `runtime.load_module` loads."""
        from .export import export_model

        export_model(self, str(file_name))

    def source(self, form: str, name: str) -> str:
        """Text of one function: "ll", "ll-opt", "asm", "tir"."""
        return self.module.source(form, name)

    def __iter__(self) -> Any:
        """Unpacks as ``graph, lib, params`` (classic API)."""
        return iter((self.graph_text, self.module, self.params))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{spec.name}: {spec.dtype}{list(spec.shape)}" for spec in self.inputs)
        return f"CompiledModel({inputs}; {len(self.calls)} kernel calls)"


def prepared(value: Any, spec: TensorSpec) -> Any:
    """An input as native code takes it: of the dtype and shape stated, compact.

    Values are converted only where nothing can be lost (safe casts); everything else is refused.
    """
    array = value.data if isinstance(value, NDArray) else np.asarray(value)
    wanted = spec.dtype.to_numpy()
    if array.shape != spec.shape:
        raise WorkbenchError(
            "E-RUN-SHAPE", f"input {spec.name!r} has the wrong shape", found=str(array.shape), expected=str(spec.shape)
        )
    if array.dtype != wanted:
        if not np.can_cast(array.dtype, wanted, "safe"):
            raise WorkbenchError(
                "E-RUN-DTYPE",
                f"input {spec.name!r} has the wrong dtype",
                found=str(array.dtype),
                expected=str(spec.dtype),
                fix=f'convert it: array.astype("{spec.dtype}")',
            )
        array = array.astype(wanted)
    good = array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
    return array if good else aligned_copy(array)
