"""The classic graph executor: set inputs, run, get outputs.

    gmod = graph_executor.GraphModule(lib["default"](dev))
    gmod.set_input("x", array); gmod.run(); gmod.get_output(0).numpy()

The model runs through its one native entry; this class holds inputs and outputs between calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import WorkbenchError, nearest
from ..runtime.benchmark import BenchmarkResult, evaluator
from ..runtime.compiled import CompiledModel, prepared
from ..runtime.device import Device, cpu
from ..runtime.ndarray import NDArray, array, empty


class Executor:
    """An instance of a compiled model: its own inputs and outputs."""

    def __init__(self, compiled: CompiledModel) -> None:
        self.compiled = compiled
        self.inputs: list[NDArray | None] = [None] * len(compiled.inputs)
        self.outputs: list[NDArray] = []

    def index_of(self, key: int | str) -> int:
        """The position of an input by name or number; -1 for a constant.  Raises `WorkbenchError` if there is none."""
        names = [spec.name for spec in self.compiled.inputs]
        if isinstance(key, int) and 0 <= key < len(names):
            return key
        if key in names:
            return names.index(str(key))
        if key in dict(self.compiled.constants):
            return -1
        raise WorkbenchError(
            "E-RUN-INPUT", f"there is no input {key!r}", expected=", ".join(names), fix=nearest(str(key), names)
        )

    def set_input(self, key: int | str, value: Any) -> None:
        """Copy a value in."""
        index = self.index_of(key)
        if index < 0:
            raise WorkbenchError("E-RUN-CONSTANT", f"{key!r} was compiled in as a constant", fix="build without params")
        self.inputs[index] = array(prepared(value, self.compiled.inputs[index]))

    def run(self) -> None:
        """Run the model.  Earlier outputs stay as they were; new ones are made."""
        for spec, held in zip(self.compiled.inputs, self.inputs, strict=True):
            if held is None:
                raise WorkbenchError("E-RUN-INPUT", f"input {spec.name!r} is not set", fix=f"set_input({spec.name!r}, array)")
        outputs = [empty(spec.shape, spec.dtype) for spec in self.compiled.outputs]
        self.compiled.module[self.compiled.entry](*self.inputs, *self.compiled.constant_arrays, *outputs)
        self.outputs = outputs

    def output(self, index: int) -> NDArray:
        """An output of the last run."""
        if not self.outputs:
            raise WorkbenchError("E-RUN-OUTPUT", "there is no output yet", fix="call run() first")
        if not 0 <= index < len(self.outputs):
            raise WorkbenchError("E-RUN-OUTPUT", f"there are {len(self.outputs)} outputs", found=str(index))
        return self.outputs[index]


class GraphModule:
    """The classic handle on an executor; methods are also reached as ``gmod["run"]``."""

    def __init__(self, module: Executor) -> None:
        if not isinstance(module, Executor):
            raise WorkbenchError(
                "E-EXECUTOR-KIND", "a GraphModule is made of lib['default'](device)", found=type(module).__name__
            )
        self.module = module

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in ("set_input", "run", "get_output", "get_input", "get_num_inputs", "get_num_outputs"):
            raise WorkbenchError("E-EXECUTOR-FUNCTION", f"the executor has no function {name!r}")
        return getattr(self, name)

    def set_input(self, key: int | str | None = None, value: Any = None, **params: Any) -> None:
        """Set one input by name or position, and others by keyword."""
        if key is not None:
            self.module.set_input(key, value)
        for name, given in params.items():
            if self.module.index_of(name) >= 0:
                self.module.set_input(name, given)

    def run(self, **inputs: Any) -> None:
        """Run; inputs may be given by keyword."""
        self.set_input(None, None, **inputs)
        self.module.run()

    def get_num_outputs(self) -> int:
        return len(self.module.compiled.outputs)

    def get_num_inputs(self) -> int:
        return len(self.module.compiled.inputs)

    def get_input(self, index: int | str, out: NDArray | None = None) -> NDArray:
        """An input as it was set."""
        held = self.module.inputs[self.module.index_of(index)]
        if held is None:
            raise WorkbenchError("E-RUN-INPUT", f"input {index!r} is not set")
        return held if out is None else held.copyto(out)

    def get_output(self, index: int, out: NDArray | None = None) -> NDArray:
        """An output of the last run, or copied into `out`."""
        found = self.module.output(index)
        return found if out is None else found.copyto(out)

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Shapes and dtypes of the inputs by name."""
        specs = self.module.compiled.inputs
        return {spec.name: spec.shape for spec in specs}, {spec.name: str(spec.dtype) for spec in specs}

    def benchmark(
        self, device: Device | None = None, func_name: str = "run", number: int = 10, repeat: int = 5, min_repeat_ms: int = 0
    ) -> BenchmarkResult:
        """Time whole runs, in seconds."""
        return evaluator(self.module.run, number, repeat, min_repeat_ms)()


def create(module: CompiledModel, device: Device | None = None) -> GraphModule:
    """An executor of a compiled model."""
    return GraphModule(module["default"](device or cpu()))
