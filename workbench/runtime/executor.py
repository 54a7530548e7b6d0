"""Executors: the classic way to run a model step by step (set inputs, run, get outputs), plain and debugging.

Both own their memory.  The plain one calls the native entry; the debugging one calls kernel by kernel, keeps every
intermediate and measures each call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import WorkbenchError, nearest
from ..core.whole_file import write_arrays, write_whole
from .devices import Device, cpu, require_cpu
from .dlpack import tensor_of
from .model import CompiledModel, as_argument, conform
from .native.loader import library
from .ndarray import NDArray, numpy_of
from .packed import packed_at
from .profiling import KernelTime, ProfileReport
from .threads import limit_run
from .timing import BenchmarkResult, evaluator, measure


class GraphExecutor:
    """``lib["default"](dev)``: a model with inputs set one by one."""

    def __init__(self, model: CompiledModel, *devices: Device) -> None:
        self.model = model
        self.device = require_cpu(devices[0] if devices else cpu(0))
        self._inputs = [np.zeros(spec.concrete_shape, spec.dtype.to_numpy()) for spec in model.inputs]
        self._outputs = [np.zeros(spec.concrete_shape, spec.dtype.to_numpy()) for spec in model.outputs]
        self._constants = [as_argument(array) for _, array in model.constants]
        self._entry = model.module.get_function(model.entry)
        self._arguments: list[Any] | None = None

    # --- inputs ---

    def get_input_index(self, name: str) -> int:
        """The position of an input, or -1."""
        return next((index for index, spec in enumerate(self.model.inputs) if spec.name == name), -1)

    def _index(self, key: str | int) -> int:
        names = [spec.name for spec in self.model.inputs]
        if isinstance(key, str):
            if key not in names:
                raise WorkbenchError(
                    "E-RUN-INPUT", f"the model has no input {key!r}", expected=", ".join(names), fix=nearest(key, names)
                )
            return names.index(key)
        return _checked_index(key, len(names), "input")

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Copy a value into an input, by name or position; several by keyword.  Constants are accepted and ignored."""
        if key is not None:
            self._set(key, value)
        held = {spec.name for spec, _ in self.model.constants}
        for name, each in params.items():
            if name not in held:
                self._set(name, each)

    def _set(self, key: str | int, value: Any) -> None:
        index = self._index(key)
        np.copyto(self._inputs[index], conform(self.model.inputs[index], value))

    def get_input(self, key: str | int) -> NDArray:
        return NDArray(self._inputs[self._index(key)])

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Shapes and dtypes of the inputs by name."""
        specs = self.model.inputs
        return {s.name: s.concrete_shape for s in specs}, {s.name: str(s.dtype) for s in specs}

    def get_num_inputs(self) -> int:
        return len(self._inputs)

    def get_num_outputs(self) -> int:
        return len(self._outputs)

    def load_params(self, params_bytes: bytes) -> None:
        """Refused: the parameters that a model was built with are part of it, and others are set by name."""
        raise WorkbenchError(
            "E-EXECUTOR-PARAMS", "parameters are not read from bytes", where="load_params(params_bytes)",
            fix="bind them when building: relay.build(mod, target, params=params); or set_input(**params)",
            kept="the inputs as they were",
        )  # fmt: skip

    # --- running ---

    def run(self, **inputs: Any) -> None:
        """Run the model; keyword arguments set inputs first."""
        if inputs:
            self.set_input(**inputs)
        self.model.check_guards(self._inputs)
        if self._arguments is None:
            self._arguments = [
                *map(as_argument, self._inputs), *self._constants, *map(as_argument, self._outputs)
            ]  # fmt: skip
        limit_run()
        self._entry(*self._arguments)

    def get_output(self, index: int, out: Any = None) -> Any:
        """Output `index`: a copy (an NDArray), or `out` with it copied into: an NDArray, or an array that fits."""
        found = self._outputs[_checked_index(index, len(self._outputs), "output")]
        if out is None:
            return NDArray(found.copy())
        if isinstance(out, NDArray):
            return out.copyfrom(found)
        array = numpy_of(out)
        fits = isinstance(out, np.ndarray) and array.shape == found.shape and array.dtype == found.dtype
        if not fits or not array.flags.writeable:
            raise WorkbenchError(
                "E-ARRAY-SHAPE", "the output does not fit into this array", where=f"get_output({index}, out)",
                found=f"{type(out).__name__}, {array.dtype}{list(array.shape)}",
                expected=f"an array to write into, {found.dtype}{list(found.shape)}", kept="the array as it was",
            )  # fmt: skip
        np.copyto(out, found)
        return out

    def benchmark(
        self,
        device: Device | None = None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int = 0,
        end_to_end: bool = False,
        **inputs: Any,
    ) -> BenchmarkResult:
        """Seconds a run; `end_to_end` includes setting inputs and reading outputs."""
        require_cpu(device)
        if inputs:
            self.set_input(**inputs)

        def whole() -> None:
            for index, array in enumerate(list(self._inputs)):
                self._set(index, array)
            self.run()
            for index in range(len(self._outputs)):
                self.get_output(index)

        return measure(whole if end_to_end else self.run, number=number, repeat=repeat, min_repeat_ms=min_repeat_ms)

    # --- as a module ---

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """``gmod["set_input"]``: the methods as functions, as in the classic API."""
        if name not in _METHODS:
            raise WorkbenchError(
                "E-MODULE-FUNCTION", f"an executor has no function {name!r}", fix=nearest(name, _METHODS)
            )
        return getattr(self, name)

    get_function = __getitem__

    @property
    def module(self) -> GraphExecutor:
        return self

    def time_evaluator(self, func_name: str, dev: Device | None = None, **options: Any) -> Callable[..., Any]:
        require_cpu(dev)
        return evaluator(self[func_name], **options)


_METHODS = (
    "set_input", "run", "get_output", "get_input", "get_num_inputs", "get_num_outputs", "get_input_index",
    "get_input_info", "load_params",
)  # fmt: skip


def _checked_index(index: Any, count: int, what: str) -> int:
    if not isinstance(index, (int, np.integer)) or not -count <= index < count:
        raise WorkbenchError(
            f"E-RUN-{what.upper()}", f"there is no {what} {index!r}", expected=f"0 to {count - 1}" if count else "none"
        )
    return int(index) % count


_EMPTY_CALLS = 30


class _BoundCall:
    """A kernel and what it is called with."""

    def __init__(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self) -> None:
        self.function(*self.arguments)

    @cached_property
    def empty(self) -> int:
        """Nanoseconds of a call with these arguments that does nothing: the least of some; 0 where none can be made."""
        runtime = library()
        if runtime is None:
            return 0
        nothing = packed_at(runtime.nothing, "nothing", runtime, frozenset())
        return min(_nanoseconds(nothing, self.arguments) for _ in range(_EMPTY_CALLS))


def _nanoseconds(function: Callable[..., Any], arguments: list[Any]) -> int:
    begin = time.perf_counter_ns()
    function(*arguments)
    return time.perf_counter_ns() - begin


class DebugExecutor(GraphExecutor):
    """Runs kernel by kernel; keeps every intermediate by name and measures each call.

    debug = debug_executor.create(None, lib, cpu(0))
    print(debug.profile(x=photo))                  # one table
    debug.debug_get_output("nn_conv2d_nn_relu")    # a result by label, position or name
    debug.dump_outputs("values.npz")               # all of them
    """

    def __init__(self, model: CompiledModel, *devices: Device, dump_root: str | Path | None = None) -> None:
        super().__init__(model, *devices)
        if not model.calls:
            raise WorkbenchError("E-DEBUG-CALLS", "this model carries no list of kernel calls")
        self.seconds: list[float] = []
        """Seconds of each kernel call of the last run, each without those of an empty call (`empty_seconds`)."""
        self.dump_root = Path(dump_root) if dump_root is not None else None
        self._values: dict[str, np.ndarray] = {}
        self._bound_calls: dict[int, _BoundCall] = {}
        self._bind(model.inputs, self._inputs)
        self._values.update(zip(model.output_values, self._outputs, strict=True))
        self._bind([spec for spec, _ in model.constants], [array for _, array in model.constants])
        self._bind(model.temporaries, [np.empty(s.concrete_shape, s.dtype.to_numpy()) for s in model.temporaries])

    def _bind(self, specs: Any, arrays: Any) -> None:
        self._values.update({spec.name: array for spec, array in zip(specs, arrays, strict=True)})

    # --- running ---

    def run(self, **inputs: Any) -> None:
        """Run every kernel in order, measuring each; with a `dump_root`, write the graph and all values there."""
        if inputs:
            self.set_input(**inputs)
        self.model.check_guards(self._inputs)
        self.seconds = [self.run_call(index) for index in range(len(self.model.calls))]
        if self.dump_root is not None:
            self.dump_root.mkdir(parents=True, exist_ok=True)
            write_whole(self.dump_root / "graph.json", self.model.get_graph_json())
            self.dump_outputs(self.dump_root / "values.npz")

    def run_call(self, index: int) -> float:
        """Run one kernel on the values as they are; returns its seconds, without those of an empty call."""
        call = self._bound(index)
        limit_run()
        return max(0, _nanoseconds(call.function, call.arguments) - call.empty) / 1e9

    @property
    def empty_seconds(self) -> list[float]:
        """What each call takes where its kernel does nothing: with the same arguments, by the same clock."""
        return [self._bound(index).empty / 1e9 for index in range(len(self.model.calls))]

    def moved_bytes(self, index: int, touched: Sequence[int | None] = ()) -> int:
        """Bytes of the arrays that a kernel call reads and writes, each counted once.

        `touched`: elements of each argument that the kernel touches at most; None, and nothing: all of them.
        """
        call = self.model.calls[_checked_index(index, len(self.model.calls), "call")]
        parts: dict[str, int] = {}
        for name, most in zip_longest(call.arguments, touched[: len(call.arguments)]):
            array = self._values[name]
            part = array.nbytes if most is None else min(array.nbytes, most * array.itemsize)
            parts[name] = max(parts.get(name, 0), part)
        return sum(parts.values())

    def _bound(self, index: int) -> _BoundCall:
        """A kernel with its arguments: arrays that stay, made tensors once, so that a call is short."""
        index = _checked_index(index, len(self.model.calls), "call")
        if index not in self._bound_calls:
            call = self.model.calls[index]
            arguments = [
                tensor_of(self._values[name].reshape(shape))
                for name, shape in zip(call.arguments, call.shapes, strict=True)
            ]
            self._bound_calls[index] = _BoundCall(self.model.module.get_function(call.kernel), arguments)
        return self._bound_calls[index]

    def run_individual_node(
        self, index: int, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0, **options: int
    ) -> BenchmarkResult:
        """Seconds of one kernel call, measured like `time_evaluator`: `repeat` means of `number` calls each."""
        return measure(self._bound(index), number=number, repeat=repeat, min_repeat_ms=min_repeat_ms, **options)

    def run_individual(
        self, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0, **options: int
    ) -> list[tuple[float, ...]]:
        """Seconds of every kernel call in order, each measured alone: one number for each repeat.

        Runs the model once before, so that every kernel sees what it sees in the network.
        """
        self.run()
        return [
            self.run_individual_node(index, number, repeat, min_repeat_ms, **options).results
            for index in range(len(self.model.calls))
        ]

    def profile(self, number: int = 0, repeat: int = 1, **inputs: Any) -> ProfileReport:
        """Run and report one row a kernel call; `number` measures each alone that many times (0: the one run)."""
        self.run(**inputs)
        note = "one run: small kernels are timed roughly; profile(number=10) measures each alone"
        seconds = self.seconds
        if number:
            note = f"each kernel alone, the mean of {number} calls" + (f", least of {repeat}" if repeat > 1 else "")
            alone = zip(self.run_individual(number, repeat), self.empty_seconds, strict=True)
            seconds = [max(0.0, min(each) - empty) for each, empty in alone]
        total = sum(seconds) or 1.0
        rows = (
            KernelTime(index, call.label, call.kernel, taken, taken / total, self._described(call.arguments[-1]))
            for index, (call, taken) in enumerate(zip(self.model.calls, seconds, strict=True))
        )
        return ProfileReport(tuple(rows), note)

    def _described(self, name: str) -> str:
        array = self._values[name]
        return f"{array.dtype}[{', '.join(map(str, array.shape))}] {name}"

    def exit(self) -> None:
        """Classic API: nothing is left running."""

    # --- values ---

    def value(self, name: str) -> np.ndarray:
        """A copy of any value by name: inputs, constants, intermediates, outputs."""
        if name not in self._values:
            raise WorkbenchError("E-DEBUG-VALUE", f"there is no value {name!r}", fix=nearest(name, self._values))
        return self._values[name].copy()

    @property
    def value_names(self) -> tuple[str, ...]:
        """Names of all values: inputs, outputs, constants, intermediates."""
        return tuple(self._values)

    def get_node_output(self, index: int, out: Any = None) -> NDArray:
        """The result of the kernel call at a position."""
        return self.debug_get_output(int(index), out)

    def debug_get_output(self, node: str | int, out: Any = None) -> NDArray:
        """The result of a kernel call (by position or label), or any value by name."""
        found = NDArray(self.value(self._result_name(node)))
        return found if out is None else out.copyfrom(found)

    def _result_name(self, node: str | int) -> str:
        if isinstance(node, int):
            return self.model.calls[_checked_index(node, len(self.model.calls), "call")].arguments[-1]
        return next((call.arguments[-1] for call in self.model.calls if call.label == node), node)

    def dump_outputs(self, path: str | Path, constants: bool = False) -> Path:
        """Write every input, intermediate and output (and the constants) as arrays by name into an .npz file."""
        held = {spec.name for spec, _ in self.model.constants}
        kept = {name: array for name, array in self._values.items() if constants or name not in held}
        file = Path(path)
        file = file if file.suffix == ".npz" else file.with_name(file.name + ".npz")
        return write_arrays(file, kept)


__all__ = ["DebugExecutor", "GraphExecutor"]
