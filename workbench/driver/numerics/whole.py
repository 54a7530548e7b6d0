"""Whole programs in the child: the entry with all its kernels, or loop functions that were opened as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arith.nodes import literal
from ...codegen.llvm.contained import Answer, Contained, Unit, unit_of
from ...codegen.llvm.returns import answers
from ...codegen.llvm.signature import packed_parameters
from ...core.child import ChildFailure
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...lower.entry import Lowered
from ...target.target import Target, target_of_function
from ...tir import nodes as t
from ...tir.interpret import interpret, interpreted_bytes
from ...tir.transforms.flatten_buffer import written_names
from .forms import flat_form, for_one_run, is_flat, iterations

INTERPRETED_ITERATIONS = 300_000
"""Innermost iterations up to which the interpreter runs a function (a second or two)."""
INTERPRETED_BYTES = 256 << 20
"""What elements may take in the interpreter, which keeps each as an object of Python."""


def too_large(*functions: t.PrimFunc) -> str:
    """Why functions are not interpreted; empty where they are."""
    takes, held = sum(map(iterations, functions)), sum(map(interpreted_bytes, functions))
    if takes > INTERPRETED_ITERATIONS:
        return f"it takes {takes:,} iterations, of which {INTERPRETED_ITERATIONS:,} are interpreted at most"
    if held > INTERPRETED_BYTES:
        return f"its elements take {held:,} bytes, of which {INTERPRETED_BYTES:,} are interpreted at most"
    return ""


def run_entry(child: Contained, unit: Unit, lowered: Lowered, arrays: Sequence[np.ndarray], library: str) -> Answer:
    """Run the entry of a lowered model in the child, which ends with it.

    Its accesses are not checked, so it may have damaged the memory in which others would run.
    """
    constants = [data.numpy() for _, data in lowered.constants]
    keys: list[str] = []
    try:
        for place, array in enumerate([*arrays, *constants]):
            keys.append(f"entry{place}")
            child.put(keys[-1], np.require(array, requirements="C"))
        error = child.load(library, unit)
        if error is not None:
            return Answer([], "error", error)
        outputs = [
            (len(keys) + place, tensor.dtype, tensor.concrete_shape) for place, tensor in enumerate(lowered.outputs)
        ]
        return child.call(library, "main", keys, outputs)
    except ChildFailure as failure:
        return Answer([], failure.kind, WorkbenchError("E-NUMERICS-CRASH", failure.detail, where="the whole model"))
    finally:
        child.close()


def entry_unit(module: IRModule) -> Unit:
    """The whole module as it stands, in the least form that compiles."""
    return unit_of(flat_form(module, checked=False), _target(module["main"]), optimise=1)


def _target(function: t.PrimFunc) -> Target:
    return target_of_function(function.attrs) or Target("llvm")


# --- loop functions that were opened as such ------------------------------------------------------------------------


def argument_names(function: t.PrimFunc) -> tuple[list[str], list[str]]:
    """Names of the parameters that are only read, and of those that are written."""
    written = set(function.attrs.get("written", ()) if is_flat(function) else written_names(function))
    names = [parameter.name for parameter in function.params]
    return [name for name in names if name not in written], [name for name in names if name in written]


def run_function(
    child: Contained, module: IRModule, name: str, given: dict[str, np.ndarray], unit: Unit | None = None
) -> list[np.ndarray]:
    """What a loop function writes and answers by ``T.ret``, from arrays by parameter name.

    Outputs may be missing: they start as zeros.  Interpreted when it is small and not flat yet, else in checked mode
    in the child; a `unit` runs there as it is.  Raises `WorkbenchError`.
    """
    function = module[name]
    if unit is None and not is_flat(function) and not too_large(*module.functions.values()):
        return _interpreted(module, function, given)
    form, level = (module, 0) if unit is not None else for_one_run(flat_form(module, checked=True))
    made = unit or unit_of(form, _target(function), level)
    parameters = packed_parameters(form[name])
    shapes = _shapes(parameters, given)
    order = [parameter.name for parameter in form[name].params][: len(parameters)]
    inputs: list[Any] = []
    outputs = []
    initial: dict[int, str] = {}
    try:
        for place, (parameter, own) in enumerate(zip(parameters, order, strict=True)):
            array = given.get(own)
            if parameter.shape is None:
                assert array is not None
                inputs.append(array.item())
                continue
            if array is None:
                array = np.zeros(shapes[place], parameter.dtype.to_numpy())
            child.put(own, array)
            if parameter.written:
                outputs.append((place, parameter.dtype, shapes[place]))
                initial[place] = own
            else:
                inputs.append(own)
        error = child.load(f"function {name}", made)
        if error is not None:
            raise error
    except ChildFailure as failure:
        raise WorkbenchError("E-NUMERICS-CRASH", failure.detail, where=f"compilation of {name}") from None
    answer = child.call(f"function {name}", name, inputs, outputs, initial)
    if answer.error is not None:
        raise answer.error
    return [*answer.outputs, *_returned(function, answer.returned)]


def _returned(function: t.PrimFunc, value: Any) -> list[np.ndarray]:
    """What a function answers by ``T.ret``, where it answers anything, as one result more."""
    return [np.asarray(value if isinstance(value, float) else int(value))] if answers(function) else []


def _shapes(parameters: Sequence[Any], given: dict[str, np.ndarray]) -> list[tuple[int, ...]]:
    """The parameters' shapes, names bound by the arrays that are given."""
    known: dict[str, int] = {}
    for parameter in parameters:
        array = given.get(parameter.name)
        if array is not None and parameter.shape is not None:
            known.update({word: size for word, size in zip(parameter.shape, array.shape, strict=False)
                          if isinstance(word, str)})  # fmt: skip
    made: list[tuple[int, ...]] = []
    for parameter in parameters:
        words = parameter.shape or ()
        lacking = [word for word in words if isinstance(word, str) and word not in known]
        if lacking:
            raise WorkbenchError(
                "E-RUN-OUTPUT", f"{parameter.name} has a symbolic shape", found=", ".join(map(str, lacking)),
                fix=f"give an array for {parameter.name}",
            )  # fmt: skip
        made.append(tuple(known[word] if isinstance(word, str) else word for word in words))
    return made


def _interpreted(module: IRModule, function: t.PrimFunc, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    _, written = argument_names(function)
    arrays: list[np.ndarray] = []
    bound: dict[int, int] = {}
    for parameter in function.params:
        array = given.get(parameter.name)
        if array is not None and isinstance(parameter, t.Buffer):
            bound.update({id(extent): size for extent, size in zip(parameter.shape, array.shape, strict=False)})
    for parameter in function.params:
        array = given.get(parameter.name)
        if array is None:
            assert isinstance(parameter, t.Buffer)
            shape = [literal(extent, bound.get(id(extent))) for extent in parameter.shape]
            if None in shape:
                raise WorkbenchError(
                    "E-RUN-OUTPUT", f"{parameter.name} has a symbolic shape", fix=f"give an array for {parameter.name}"
                )
            array = np.zeros([int(extent) for extent in shape if extent is not None], parameter.dtype.to_numpy())
        arrays.append(np.array(array, order="C") if parameter.name in written else np.require(array, requirements="C"))
    value = interpret(function, *arrays, module=module)
    results = [array for parameter, array in zip(function.params, arrays, strict=True) if parameter.name in written]
    return [*results, *_returned(function, value)]
