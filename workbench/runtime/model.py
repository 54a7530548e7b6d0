"""A compiled model: the native entry, its inputs, constants and outputs, and its kernels call by call.

    lib = relay.build(...)                       # a CompiledModel
    gmod = graph_executor.GraphModule(lib["default"](cpu(0)))
    lib.run({"x": photo})                        # -> {"output_0": array}

The entry takes inputs, constants, outputs, in that order.  `calls` lists the kernels with the names of the values that
each takes, for the debug executor; the entry itself does not need it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arguments import by_name, unmasked
from ..core.dtype import DataType
from ..core.errors import WorkbenchError, nearest
from .dlpack import tensor_of
from .export import export_library
from .guards import Guard, check_guards
from .module import Module
from .ndarray import NDArray, numpy_of
from .threads import limit_run


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape (extents, or names of shape variables) and dtype of a value."""

    name: str
    shape: tuple[int | str, ...]
    dtype: DataType

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape in numbers.  Raises `WorkbenchError` when it has variables."""
        if any(isinstance(extent, str) for extent in self.shape):
            raise WorkbenchError("E-MODEL-SHAPE", f"{self.name} has a shape known only when run", found=str(self.shape))
        return tuple(int(extent) for extent in self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.concrete_shape) * self.dtype.to_numpy().itemsize

    def array_in(self, memory: memoryview) -> np.ndarray:
        """The value as a read-only array on the first `nbytes` of memory, which it holds."""
        dtype = self.dtype.to_numpy()
        array = np.frombuffer(memory, dtype, self.nbytes // dtype.itemsize).reshape(self.concrete_shape)
        array.flags.writeable = False
        return array

    def as_json(self) -> list[Any]:
        return [self.name, list(self.shape), str(self.dtype)]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> TensorSpec:
        return cls(data[0], tuple(data[1]), DataType(data[2]))


@dataclass(frozen=True)
class KernelCall:
    """One kernel call of the entry."""

    kernel: str
    """The function's name in the module."""
    label: str
    """What it computes, for people: the relay call or fused function."""
    arguments: tuple[str, ...]
    """Names of inputs, constants, temporaries and outputs, in the kernel's order."""
    shapes: tuple[tuple[int, ...], ...]
    """The shape in which the kernel sees each argument; a reshape between kernels only renames memory."""


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """See the module's header.  Immutable; executors made of it have memory of their own."""

    name: str
    module: Module
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constants: tuple[tuple[TensorSpec, np.ndarray], ...] = ()
    temporaries: tuple[TensorSpec, ...] = ()
    calls: tuple[KernelCall, ...] = ()
    entry: str = "main"
    guards: tuple[Guard, ...] = ()
    """Values of inputs that the code was specialised for; checked at each run."""
    fills_outputs: bool = False
    """Whether each run is known to write all of the outputs: nothing else that memory held before can be read then."""

    @property
    def output_values(self) -> tuple[str, ...]:
        """What the outputs are called among the values that calls name."""
        others = (*self.inputs, *(spec for spec, _ in self.constants), *self.temporaries)
        return output_values([spec.name for spec in self.outputs], [spec.name for spec in others])

    # --- classic factory ---

    def __getitem__(self, name: str) -> Any:
        """``lib["default"]`` makes executors: call it with a device."""
        from .executor import GraphExecutor

        if name in ("default", self.name):
            return lambda *devices: GraphExecutor(self, *devices)
        if name == "debug_create":
            from .executor import DebugExecutor

            return lambda _name, *devices: DebugExecutor(self, *devices)
        return self.module.get_function(name)

    @property
    def lib(self) -> Module:
        return self.module

    def get_lib(self) -> Module:
        return self.module

    @property
    def params(self) -> dict[str, NDArray]:
        """The constants by name: arrays of the caller's own, copied as soon as they are written into or handed on."""
        return {spec.name: NDArray(_read_only(array)) for spec, array in self.constants}

    def get_params(self) -> dict[str, NDArray]:
        return self.params

    def get_graph_json(self) -> str:
        """The kernels and the values between them, as JSON."""
        return json.dumps(self.describe(), indent=1)

    graph_json = property(get_graph_json)

    def __iter__(self) -> Iterator[Any]:
        """Classic: ``graph, lib, params = relay.build(...)``."""
        return iter((self.get_graph_json(), self.module, self.params))

    @property
    def function_names(self) -> tuple[str, ...]:
        return self.module.function_names

    def get_source(self, fmt: str = "ll", name: str | None = None) -> str:
        """Text of all functions or of one: "tir", "ll", "ll-opt", "asm"."""
        return self.module.get_source(fmt, name)

    # --- running ---

    def run(self, inputs: Mapping[str, Any] | None = None, **named: Any) -> dict[str, np.ndarray]:
        """Run on arrays by input name; outputs by name, in memory of their own."""
        if type(inputs) is dict and not named:
            plain = self._as_expected(inputs)
            if plain is not None:
                return dict(zip(self._output_names, self._called(plain, plain), strict=True))
        given = {**by_name(inputs, "run(inputs)", "E-RUN-INPUT", '{"x": array, ...}'), **named}
        self._check_names(given)
        outputs = self.run_arrays([given[spec.name] for spec in self.inputs])
        return {spec.name: array for spec, array in zip(self.outputs, outputs, strict=True)}

    def run_arrays(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """Outputs in order, from inputs in order."""
        given = [conform(spec, array) for spec, array in zip(self.inputs, arrays, strict=True)]
        return self._called(given, [as_argument(array) for array in given])

    def _called(self, given: Sequence[np.ndarray], arguments: Sequence[Any]) -> list[np.ndarray]:
        """New outputs, filled by the entry from conforming inputs and what stands for them as its arguments."""
        self.check_guards(given)
        new = np.empty if self.fills_outputs else np.zeros
        outputs = [new(shape, dtype) for shape, dtype in self._output_kinds]
        limit_run()
        self._entry(*arguments, *self._constant_arguments, *map(as_argument, outputs))
        return outputs

    def _as_expected(self, inputs: dict[Any, Any]) -> list[np.ndarray] | None:
        """The inputs in order if the entry can take each as it is, else None: a look at each, without questions."""
        if len(inputs) != len(self._input_kinds):
            return None
        found: list[np.ndarray] = []
        for name, shape, dtype in self._input_kinds:
            value = inputs.get(name)
            if type(value) is not np.ndarray or value.shape != shape or value.dtype is not dtype:
                return None
            if not value.flags.carray:  # compact, aligned, writable
                return None
            found.append(value)
        return found

    @cached_property
    def _input_kinds(self) -> tuple[tuple[str, tuple[int | str, ...], np.dtype | None], ...]:
        """Name, shape and dtype of each input; no dtype where arrays of it are wrapped for the entry."""
        kinds = ((spec, spec.dtype.to_numpy()) for spec in self.inputs)
        return tuple((spec.name, spec.shape, kind if _is_taken(kind) else None) for spec, kind in kinds)

    @cached_property
    def _output_kinds(self) -> tuple[tuple[tuple[int, ...], np.dtype], ...]:
        return tuple((spec.concrete_shape, spec.dtype.to_numpy()) for spec in self.outputs)

    @cached_property
    def _output_names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.outputs)

    @cached_property
    def _entry(self) -> Any:
        return self.module.get_function(self.entry)

    def check_guards(self, arrays: Sequence[np.ndarray]) -> None:
        """Refuse inputs (in order) that differ from what the code was specialised for."""
        if self.guards:
            names = [spec.name for spec in self.inputs]
            check_guards(self.guards, dict(zip(names, arrays, strict=True)))

    @cached_property
    def _constant_arguments(self) -> tuple[Any, ...]:
        return tuple(as_argument(array) for _, array in self.constants)

    def _check_names(self, given: Mapping[str, Any]) -> None:
        known = [spec.name for spec in self.inputs]
        for name in given:
            if name not in known:
                raise WorkbenchError(
                    "E-RUN-INPUT",
                    f"the model has no input {name!r}",
                    expected=", ".join(known),
                    fix=nearest(name, known),
                )
        missing = [name for name in known if name not in given]
        if missing:
            raise WorkbenchError(
                "E-RUN-INPUT", f"input {missing[0]!r} is missing", found=", ".join(given) or "no inputs",
                expected=", ".join(known),
            )  # fmt: skip

    # --- exporting ---

    def describe(self) -> dict[str, Any]:
        """Everything but code and constants, as JSON-able data."""
        return {
            "name": self.name,
            "entry": self.entry,
            "inputs": [spec.as_json() for spec in self.inputs],
            "outputs": [spec.as_json() for spec in self.outputs],
            "constants": [spec.as_json() for spec, _ in self.constants],
            "temporaries": [spec.as_json() for spec in self.temporaries],
            "guards": [guard.text() for guard in self.guards],
            "fills_outputs": self.fills_outputs,
            "calls": [
                [call.kernel, call.label, list(call.arguments), list(map(list, call.shapes))] for call in self.calls
            ],
        }

    @classmethod
    def described(cls, data: Mapping[str, Any], module: Module, constants: Sequence[np.ndarray]) -> CompiledModel:
        """The model that `describe` told of, with its code and constants."""
        specs = map(TensorSpec.from_json, data["constants"])
        return cls(
            name=data["name"],
            module=module,
            inputs=tuple(map(TensorSpec.from_json, data["inputs"])),
            outputs=tuple(map(TensorSpec.from_json, data["outputs"])),
            constants=tuple(zip(specs, constants, strict=True)),
            temporaries=tuple(map(TensorSpec.from_json, data["temporaries"])),
            calls=tuple(
                KernelCall(kernel, label, tuple(arguments), tuple(map(tuple, shapes)))
                for kernel, label, arguments, shapes in data["calls"]
            ),
            entry=data["entry"],
            guards=tuple(map(Guard.from_text, data.get("guards", ()))),
            fills_outputs=bool(data.get("fills_outputs", False)),
        )

    def export_library(
        self, file_name: str | Path, *, fcompile: Any = None, addons: Sequence[str] | None = None
    ) -> Path:
        """Write the model (code, constants, description) as one shared library; `load_module` gives it back."""
        arrays = [array for _, array in self.constants]
        return export_library(Path(file_name), self.module.code, {"model": self.describe()}, arrays)

    def __repr__(self) -> str:
        return f"CompiledModel({self.name}, {len(self.inputs)} inputs, {len(self.calls)} kernel calls)"


def output_values(outputs: Sequence[str], others: Iterable[str]) -> tuple[str, ...]:
    """What outputs are called among the values of a model: by their names, where no other value has them.

    A model that gives an input on as its output has two values of one name, in memory of their own.
    """
    found, taken = list[str](), set(others)
    for index, name in enumerate(outputs):
        made = name if name not in taken else f"output_{index}"
        while made in taken:
            made += "_"
        taken.add(made)
        found.append(made)
    return tuple(found)


def conform(spec: TensorSpec, value: Any) -> np.ndarray:
    """An input as a compact array of the right dtype and shape.

    Strided and foreign-endian arrays are copied; a dtype is converted when no value can change (int32 to int64, lists).
    Raises `WorkbenchError` (E-RUN-DTYPE, E-RUN-SHAPE) naming the input.
    """
    unmasked(value, f"input {spec.name!r}")
    try:
        given = numpy_of(value)
    except Exception as error:  # what objects of others raise when they are asked for an array
        raise WorkbenchError("E-RUN-DTYPE", f"input {spec.name!r} is no array", found=str(error)[:120]) from None
    wanted = spec.dtype.to_numpy()
    if spec.dtype == "bfloat16" and given.dtype == np.uint16:
        given = given.view(wanted)  # bits: what NumPy without bfloat16 holds them in
    if given.dtype != wanted:
        literal = not hasattr(value, "dtype") and given.dtype.kind in "biuf" and _holds(wanted, given)
        if not literal and not np.can_cast(given.dtype, wanted, "safe"):
            raise WorkbenchError(
                "E-RUN-DTYPE",
                f"input {spec.name!r} has the wrong dtype",
                found=str(given.dtype),
                expected=str(spec.dtype),
                fix=f"array.astype({str(spec.dtype)!r})",
            )  # fmt: skip
        given = given.astype(wanted)
    if given.ndim != len(spec.shape) or any(
        isinstance(extent, int) and extent != own for extent, own in zip(spec.shape, given.shape, strict=True)
    ):
        raise WorkbenchError(
            "E-RUN-SHAPE", f"input {spec.name!r} has the wrong shape", found=str(given.shape), expected=str(spec.shape)
        )
    aligned = given.ctypes.data % max(1, wanted.alignment) == 0
    return given if given.flags.c_contiguous and aligned else np.array(given, order="C", copy=True)


def _holds(wanted: np.dtype, literal: np.ndarray) -> bool:
    """Whether numbers without a dtype keep their values in one: floats are rounded, integers and bools are not."""
    if wanted.kind not in "biu":
        return True
    with np.errstate(invalid="ignore"):
        return bool((literal.astype(wanted) == literal).all())


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def as_argument(array: np.ndarray) -> Any:
    """An array in the form that packed functions take fastest; read-only and small-float arrays are wrapped."""
    return array if array.flags.writeable and _is_taken(array.dtype) else tensor_of(array)


def _is_taken(dtype: np.dtype) -> bool:
    """Whether packed functions take arrays of a dtype as they are."""
    return dtype.kind in "iuf" and dtype.isbuiltin == 1
