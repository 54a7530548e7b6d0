"""Running the operators' examples: inputs, types, and the tensor expression's value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.topi.evaluate import evaluate
from workbench import te
from workbench.relay.ir.operator import Example, Operator
from workbench.relay.ir.types import TensorType, TupleType, Type
from workbench.tir.nodes import PrimFunc


def material(value: Any, random: np.random.Generator) -> Any:
    """An example's input as arrays (a tuple for a tuple operand)."""
    if isinstance(value, (tuple, list)):
        return tuple(material(item, random) for item in value)
    return np.asarray(value(random) if callable(value) else value)


def inputs_of(case: Example) -> list[Any]:
    random = np.random.default_rng(7)
    return [material(item, random) for item in case.inputs]


def type_of(value: Any) -> Type:
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(item) for item in value))
    return TensorType(value.shape, value.dtype.name)


def cases(table: dict[str, type[Operator]], good: bool) -> Iterator[tuple[str, type[Operator], Example]]:
    """(identity, class, example) of every good or bad example."""
    for name, cls in sorted(table.items()):
        for number, case in enumerate(cls.examples):
            if bool(case.error) != good:
                yield f"{name}-{number}", cls, case


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _placeholder(value: Any, name: str, given: dict[te.Tensor, np.ndarray]) -> Any:
    """A te placeholder (or a list of them), its value noted in `given`."""
    if isinstance(value, tuple):
        return [_placeholder(item, f"{name}_{at}", given) for at, item in enumerate(value)]
    made = te.placeholder(value.shape, value.dtype.name, name=name)
    given[made] = value
    return made


def computed(op: Operator, inputs: list[Any]) -> tuple[list[np.ndarray], list[te.Tensor], dict[te.Tensor, np.ndarray]]:
    """(values, output tensors, placeholders with their values) of the operator's tensor expression."""
    given: dict[te.Tensor, np.ndarray] = {}
    outputs = flat(op.compute(*(_placeholder(value, f"x{at}", given) for at, value in enumerate(inputs))))
    return evaluate(outputs, given), outputs, given


def as_function(
    op: Operator, inputs: list[Any], compute: Callable[[Operator, list[Any]], Any] | None = None
) -> tuple[PrimFunc, list[np.ndarray]]:
    """The operator as a loop function in block form, with the arguments to call it on.

    `compute` makes its tensors (`topi.widen.tensor_expression`); by default its own `compute` does.
    """
    given: dict[te.Tensor, np.ndarray] = {}
    operands = [_placeholder(value, f"x{at}", given) for at, value in enumerate(inputs)]
    outputs = flat(compute(op, operands) if compute else op.compute(*operands))
    kept = [
        tensor
        if isinstance(tensor.op, te.ComputeOp)
        else te.compute(tensor.shape, lambda *i, t=tensor: t(*i), name="copy")
        for tensor in outputs
    ]
    func = te.create_prim_func([*given, *kept], name="kernel")
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in kept]
    results = [np.zeros(shape, tensor.dtype.to_numpy()) for shape, tensor in zip(shapes, kept, strict=True)]
    return func, [*(np.array(value) for value in given.values()), *results]


def agree(found: np.ndarray, wanted: np.ndarray, tolerance: float | None = None) -> None:
    """Equal dtype and shape; numbers within the tolerance of their dtype."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if wanted.dtype.kind in "iub":
        np.testing.assert_array_equal(found, wanted)
        return
    relative = tolerance or {2: 2e-3, 4: 2e-5, 8: 1e-12}[wanted.dtype.itemsize]
    wide, true = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(wide, true, rtol=relative, atol=relative * 0.1)
