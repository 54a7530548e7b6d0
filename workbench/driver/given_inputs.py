"""The inputs of a program by name, checked and in the order of its parameters.

    given_inputs(module, {"x": photo}, "check_numerics(inputs)")      # {"x": array}
    drawn_inputs(module)                                              # {"x": random numbers}

What a compiled model would refuse at run is refused here: unknown and missing names, other shapes, other dtypes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..arith.nodes import Var, literal
from ..core.arguments import by_name, unmasked
from ..core.errors import WorkbenchError, nearest
from ..core.module import IRModule
from ..lower.entry import input_names
from ..relay.ir.types import TensorType
from ..runtime.model import TensorSpec, conform
from ..tir.nodes import PrimFunc
from ..tir.transforms.flatten_buffer import written_names

_MOST_DRAWN: Final = 1 << 29
"""Elements of random inputs together."""


def entry_name(module: IRModule) -> str:
    """The function that is run: "main", else the first.  Raises `WorkbenchError` for a module without functions."""
    if not module.names():
        raise WorkbenchError(
            "E-MODULE-FUNCTION", "the module has no functions, so that there is nothing to run",
            found="functions: none", expected="a function, as a rule 'main'", fix='IRModule({"main": function})',
        )  # fmt: skip
    return "main" if "main" in module else module.names()[0]


def given_inputs(module: IRModule, inputs: Any, where: str) -> dict[str, np.ndarray]:
    """Arrays by name in the order of the entry's parameters; numbers as arrays without axes.

    What a loop function writes may be left out.  Raises `WorkbenchError`: E-RUN-INPUT, E-RUN-DTYPE, E-RUN-SHAPE.
    """
    given = by_name(inputs, where, "E-RUN-INPUT", '{"x": array, ...}')
    specs, optional = _inputs_of(module)
    require_names(given, specs, optional)
    return {
        name: conform(spec, given[name]) if spec is not None else np.asarray(unmasked(given[name]))
        for name, spec in specs.items()
        if name in given
    }


def own_copies(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Copies, for whoever reads them after the caller has gone on: cells fill their arrays anew."""
    return {name: array.copy() for name, array in given.items()}


def _inputs_of(module: IRModule) -> tuple[dict[str, TensorSpec | None], set[str]]:
    """The inputs by name, and which of them may be left out."""
    entry: Any = module[entry_name(module)]
    if isinstance(entry, PrimFunc):
        optional = set(entry.attrs.get("written", ()) if "signature" in entry.attrs else written_names(entry))
        return {parameter.name: _spec(parameter) for parameter in entry.params}, optional
    named = zip(input_names(entry), entry.params, strict=True)  # as the compiled model has them
    return {name: _relay_spec(name, parameter) for name, parameter in named}, set()


def drawn_inputs(module: IRModule, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs by name, as `random_inputs` draws them.

    Raises `WorkbenchError` (E-RUN-DRAWN) where an input is no tensor, or has an extent that is not known.
    """
    specs, _ = _inputs_of(module)
    for name, spec in specs.items():
        if spec is None or any(isinstance(extent, str) for extent in spec.shape):
            raise WorkbenchError(
                "E-RUN-DRAWN", f"nothing can be drawn for input {name!r}", where=f"input {name!r}",
                found="no tensor" if spec is None else str(spec), expected="a tensor whose extents are known",
                fix="give an array of your own, or open the model with shape={...}",
            )  # fmt: skip
    return random_inputs([spec for spec in specs.values() if spec is not None], seed)


def random_inputs(specs: Sequence[Any], seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs by name: normally distributed floats, integers and truth values of 0 and 1.

    Raises `WorkbenchError` as `require_drawable` does.
    """
    require_drawable({f"input {spec.name!r}": spec.concrete_shape for spec in specs})
    source = np.random.default_rng(seed)
    made: dict[str, np.ndarray] = {}
    for spec in specs:
        dtype = spec.dtype.to_numpy()
        kind = spec.dtype
        drawn = source.integers(0, 2, spec.concrete_shape) if kind.is_integer or kind.is_bool else None
        made[spec.name] = (drawn if drawn is not None else source.standard_normal(spec.concrete_shape)).astype(dtype)
    return made


def require_drawable(shapes: Mapping[str, Sequence[int]]) -> None:
    """Raise `WorkbenchError` (E-RUN-DRAWN) for more than 2^29 elements together: 4 GiB of what is drawn.

    `shapes` are by what has them, as an error names it.
    """
    sizes = {place: math.prod(shape) for place, shape in shapes.items()}
    elements = sum(sizes.values())
    if elements > _MOST_DRAWN:
        largest = max(sizes, key=lambda place: sizes[place])
        raise WorkbenchError(
            "E-RUN-DRAWN", "numbers for arrays of this size are not drawn",
            where=largest if len(sizes) == 1 else f"{largest}, the largest of {len(sizes)}",
            found=f"{elements:,} elements", expected=f"at most {_MOST_DRAWN:,}",
            fix="give arrays of your own, or take smaller extents",
        )  # fmt: skip


def arranged(module: IRModule, given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The arrays in the order of a graph's parameters: by name, as `run` takes them; what it has not is left out.

    Parameters that were renamed take what no parameter is called, in order.  Raises `WorkbenchError` (E-RUN-INPUT)
    where that leaves some without an array, or says nothing of which is which.
    """
    names = input_names(module[entry_name(module)])
    if all(name in given for name in names):
        return [given[name] for name in names]
    if len(names) != len(given):
        raise WorkbenchError(
            "E-RUN-INPUT", "the program takes another number of inputs", found=", ".join(names) or "no inputs",
            expected=", ".join(given),
        )  # fmt: skip
    left = iter([array for name, array in given.items() if name not in names])
    return [given[name] if name in given else next(left) for name in names]


def require_names(given: Mapping[str, Any], names: Mapping[str, Any], optional: set[str]) -> None:
    """Refuse inputs that the program has not, and the lack of those that it reads."""
    for name in given:
        if name not in names:
            raise WorkbenchError(
                "E-RUN-INPUT", f"there is no input {name!r}", expected=", ".join(names), fix=nearest(name, names)
            )
    for name in names:
        if name not in given and name not in optional:
            raise WorkbenchError(
                "E-RUN-INPUT", f"input {name!r} is missing", found=", ".join(given) or "no inputs",
                expected=", ".join(names),
            )  # fmt: skip


def _spec(parameter: Any) -> TensorSpec:
    if parameter.dtype.code == "handle":
        raise WorkbenchError(
            "E-RUN-INPUT", f"parameter {parameter.name!r} is an address, of which no array is known",
            found=str(parameter.dtype), expected="buffers and numbers",
        )  # fmt: skip
    if isinstance(parameter, Var):
        return TensorSpec(parameter.name, (), parameter.dtype)
    return TensorSpec(parameter.name, _extents(parameter.shape), parameter.dtype)


def _relay_spec(name: str, parameter: Any) -> TensorSpec | None:
    """Of a tensor; nothing is known of other values."""
    kind = parameter.checked_type
    return TensorSpec(name, _extents(kind.shape), kind.dtype) if isinstance(kind, TensorType) else None


def _extents(shape: Any) -> tuple[int | str, ...]:
    """Extents in numbers; others only have a name."""
    values = (literal(extent, extent) for extent in shape)
    return tuple(value if isinstance(value, int) else str(value) for value in values)
