"""Special values through every operator of the table: native code and its loops interpreted, against the reference.

    python -m tests.conformance.special_matrix [OPERATOR...]        # what disagrees, one line each

Each good example of an operator is run again with some of its numbers replaced (NaN, infinities, zeros of both signs
and denormal numbers, the greatest and least), with each of its extents set to nothing, and in 16-bit floats, where
what is added up must be rounded once.  A result agrees if it is NaN, infinite or a number where the reference's is, and
near it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tests.topi.cases import as_function, flat, inputs_of, type_of
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.driver.build import build_model
from workbench.relay.ir.expr import Expr, Function, Tuple, Var
from workbench.relay.ir.operator import OPERATORS, Example, Operator
from workbench.relay.ir.types import TensorType, TupleType
from workbench.tir.interpret import interpret
from workbench.topi.calls import call
from workbench.topi.widen import tensor_expression

SPECIAL: dict[str, tuple[str, ...]] = {
    "NaN": ("nan",), "infinity": ("inf",), "minus infinity": ("-inf",), "all": ("nan", "inf", "-inf"),
    "zeros": ("0", "-0.0", "denormal", "-denormal"),
}  # fmt: skip
"""What is put among the numbers of an example, by kind."""


@dataclass(frozen=True)
class Case:
    """One example with other numbers."""

    operator: str
    index: int
    kind: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    tolerance: float | None = None

    @property
    def name(self) -> str:
        return f"{self.operator}-{self.index}-{self.kind}"


def table() -> dict[str, type[Operator]]:
    """The project's own operators; dynamic forms run on the interpreter only."""
    own = ((name, OPERATORS[name]) for name in OPERATORS if not name.startswith("dyn."))
    return {name: cls for name, cls in own if cls.__module__.startswith("workbench.")}


def cases(name: str) -> Iterator[Case]:
    """The examples of an operator with special values, and without elements."""
    for index, example in enumerate(OPERATORS[name].examples):
        if example.error:
            continue
        inputs = inputs_of(example)
        if any(item.dtype.kind == "f" for value in inputs for item in flat(value)):
            for kind, values in SPECIAL.items():
                made = tuple(_with(value, values, at) for at, value in enumerate(inputs))
                yield Case(name, index, kind, made, example.attributes, example.tolerance)
        yield from _empty(name, index, example, inputs)


def _with(value: Any, special: tuple[str, ...], seed: int) -> Any:
    """About a third of the numbers of a float array replaced, the first by the first."""
    if isinstance(value, tuple):
        return tuple(_with(item, special, seed + at) for at, item in enumerate(value))
    if value.dtype.kind != "f" or not value.size:
        return value
    tiny = float(ml_dtypes.finfo(value.dtype).smallest_subnormal) * 3
    numbers = [float(word.replace("denormal", str(tiny))) for word in special]
    random = np.random.default_rng(seed)
    made = value.copy().reshape(-1)
    chosen = random.random(made.size) < 1 / 3
    chosen[seed % made.size] = True
    made[chosen] = np.resize(np.array(numbers, value.dtype), int(chosen.sum()))
    return made.reshape(value.shape)


def _empty(name: str, index: int, example: Example, inputs: list[Any]) -> Iterator[Case]:
    """The example with one of its extents 0 wherever it stands, and with one axis of one operand empty."""
    arrays = [item for value in inputs for item in flat(value)]
    for extent in sorted({size for item in arrays for size in item.shape if size}):
        made = tuple(_without(value, extent) for value in inputs)
        yield Case(name, index, f"no {extent}", made, example.attributes, example.tolerance)
    for axis in range(arrays[0].ndim) if arrays else ():
        cut = np.take(arrays[0], [], axis)
        first = (cut, *inputs[0][1:]) if isinstance(inputs[0], tuple) else cut
        yield Case(name, index, f"none along {axis}", (first, *inputs[1:]), example.attributes, example.tolerance)


def _without(value: Any, extent: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_without(item, extent) for item in value)
    return np.zeros([0 if size == extent else size for size in value.shape], value.dtype)


def run(case: Case) -> list[str]:
    """What disagrees, executor by executor; nothing where the operator refuses the case."""
    cls = OPERATORS[case.operator]
    try:
        op = cls(**case.attributes)
        wanted_type = op.infer(*map(type_of, case.inputs))
    except WorkbenchError:
        return []
    with np.errstate(all="ignore"):
        wanted = flat(_reference(op, case))
    kinds = wanted_type.fields if isinstance(wanted_type, TupleType) else (wanted_type,)
    problems = [
        f"type: {kind}, reference {item.dtype}{item.shape}"
        for kind, item in zip(kinds, wanted, strict=True)
        if isinstance(kind, TensorType) and kind != TensorType(item.shape, item.dtype.name)
    ]
    for executor, found in (("native", native), ("loops", loops)):
        try:
            values = found(op, case)
        except WorkbenchError as error:
            problems.append(f"{executor}: {error.code} {error.message} [{error.found}]")
            continue
        problems += [
            f"{executor}: {text}"
            for mine, theirs in zip(values, wanted, strict=True)
            if (text := difference(mine, theirs, case.tolerance))
        ]
    return problems


def _reference(op: Operator, case: Case) -> Any:
    """What the interpreter of relay gives: the reference, or the decomposition's."""
    from workbench.relay.interpret import interpret as evaluate

    return evaluate(function(op, case), *_arrays(case))


def _arrays(case: Case) -> list[np.ndarray]:
    return [item for value in case.inputs for item in flat(value)]


def function(op: Operator, case: Case) -> Function:
    """A relay function of one call."""
    variables = [Var(f"x{at}", type_of(value)) for at, value in enumerate(_arrays(case))]
    left = iter(variables)
    operands = [
        Tuple(tuple(next(left) for _ in value)) if isinstance(value, tuple) else next(left) for value in case.inputs
    ]
    names = [operand.name for operand in type(op).operands()]
    body: Expr = call(type(op), **dict(zip(names, operands, strict=False)), **case.attributes)
    return Function(tuple(variables), body)


def native(op: Operator, case: Case) -> list[np.ndarray]:
    """By compiled code."""
    return build_model(IRModule.from_expr(function(op, case))).run_arrays(_arrays(case))


def loops(op: Operator, case: Case) -> list[np.ndarray]:
    """By the loop interpreter, on results that held something else before."""
    func, arguments = as_function(op, list(case.inputs), tensor_expression)
    results = arguments[len(_arrays(case)) :]
    for item in results:
        item[...] = 1 if item.dtype == bool else 77
    with np.errstate(all="ignore"):
        interpret(func, *arguments)
    return results


def difference(found: Any, wanted: Any, tolerance: float | None) -> str:
    """The first element of another class or far away; empty if there is none."""
    mine, theirs = np.asarray(found), np.asarray(wanted)
    if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
        return f"{mine.dtype}{mine.shape}, not {theirs.dtype}{theirs.shape}"
    if mine.dtype.kind in "iub":
        same = mine == theirs
    else:
        relative = tolerance or {2: 4e-3, 4: 1e-4, 8: 1e-10}[mine.dtype.itemsize]
        wide = mine.astype(np.float64), theirs.astype(np.float64)
        same = np.isclose(*wide, rtol=relative, atol=relative * 0.1, equal_nan=True)
    places = np.argwhere(~same)
    if not len(places):
        return ""
    at = tuple(int(index) for index in places[0])
    return f"{len(places)} of {mine.size} differ; at {at} {mine[at]}, not {theirs[at]}"


def main(names: list[str]) -> None:
    """Print what disagrees."""
    count = 0
    for name in names or table():
        for case in cases(name):
            count += 1
            try:
                problems = run(case)
            except Exception as error:  # the point of the list
                problems = [f"{type(error).__name__}: {str(error)[:150]}"]
            for problem in problems:
                print(f"{case.name} {case.attributes}: {problem}"[:300], flush=True)
    print(f"{count} cases")


if __name__ == "__main__":
    main(sys.argv[1:])
