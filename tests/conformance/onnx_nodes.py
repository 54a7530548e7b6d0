"""The ONNX standard's own operator cases, through our importer and the relay interpreter.

Run it for the table:  python -m tests.conformance.onnx_nodes [-v] [name-part ...]

A case passes when every output agrees with the expected one in dtype, shape and (within the case's tolerance) value.
Inputs whose values decide shapes (Reshape's shape) are fixed to the case's values where the importer asks for it; such
passes are counted apart.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from workbench.core.errors import InternalError, WorkbenchError
from workbench.core.node import post_order
from workbench.frontend.onnx import import_model
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Var

RANDOM = ("test_bernoulli",)
"""Cases that are random by design."""


@dataclass(frozen=True)
class Outcome:
    """`status`: pass, fixed (pass with inputs fixed), refused, wrong or crashed."""

    name: str
    status: str
    reason: str = ""


@cache
def cases() -> tuple[Any, ...]:
    """Every operator case of the installed onnx, built in memory."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    return tuple(case for case in found if not case.name.startswith(RANDOM))


def run_case(case: Any) -> Outcome:
    """Import, run and compare one case."""
    fixed = False
    try:
        for inputs, outputs in case.data_sets:
            names = [value.name for value in case.model.graph.input]
            given = {name: array(value) for name, value in zip(names, inputs, strict=False)}
            found, needed_values = run_model(case.model, given)
            fixed |= needed_values
            problem = difference(found, [array(value) for value in outputs], case.rtol, case.atol)
            if problem:
                return Outcome(case.name, "wrong", problem)
    except WorkbenchError as error:
        status = "crashed" if isinstance(error, InternalError) else "refused"
        return Outcome(case.name, status, f"{error.code} {error.message} [{error.found}]"[:160])
    except Exception as error:  # the point of the table is to list these
        return Outcome(case.name, "crashed", f"{type(error).__name__}: {error}"[:160])
    return Outcome(case.name, "fixed" if fixed else "pass")


def array(value: Any) -> Any:
    """A case's value as an array; lists and missing values as they are."""
    if hasattr(value, "data_type"):
        from onnx import numpy_helper

        return numpy_helper.to_array(value)
    return value


def run_model(model: Any, given: dict[str, Any]) -> tuple[list[Any], bool]:
    """The outputs for these inputs; the flag says whether some had to be fixed at import."""
    for name, value in given.items():
        if not isinstance(value, (np.ndarray, np.generic)):
            raise WorkbenchError("E-ONNX-INPUT", f"the input '{name}' is not a tensor", found=type(value).__name__)
    values: dict[str, Any] = {}
    while True:
        shape = {name: np.shape(value) for name, value in given.items() if name not in values}
        try:
            imported = import_model(model, shape, values=values)
        except WorkbenchError as error:
            fresh = _asked_for(error) - values.keys()
            if error.code != "E-ONNX-VALUE" or not fresh:
                raise
            values |= {name: given[name] for name in fresh}
            continue
        main = imported.module["main"]
        with np.errstate(all="ignore"):
            found = interpret(main, *[given[name] for name in imported.input_names])
        return list(found) if len(imported.output_names) > 1 else [found], bool(values)


def _asked_for(error: WorkbenchError) -> set[str]:
    return {part.name_hint for part in post_order(list(error.nodes)) if isinstance(part, Var)}


def difference(found: list[Any], expected: list[Any], rtol: float, atol: float) -> str:
    """What differs first, or the empty text."""
    if len(found) != len(expected):
        return f"{len(found)} outputs, not {len(expected)}"
    for index, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        if not isinstance(theirs, (np.ndarray, np.generic)):
            return f"output {index} is a {type(theirs).__name__}"
        mine = np.asarray(mine)
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            return f"output {index}: {mine.dtype}{mine.shape}, not {theirs.dtype}{theirs.shape}"
        if not _close(mine, theirs, rtol, atol):
            wide = [item.astype(np.float64) for item in (mine, theirs)]
            with np.errstate(all="ignore"):
                return f"output {index}: differs by up to {np.nanmax(np.abs(wide[0] - wide[1])):.3g}"
    return ""


def _close(mine: np.ndarray, theirs: np.ndarray, rtol: float, atol: float) -> bool:
    if mine.dtype.kind in "iub" and mine.dtype.itemsize >= 1 and mine.dtype.name in np.sctypeDict:
        return bool(np.array_equal(mine, theirs))
    wide = [item.astype(np.float64) for item in (mine, theirs)]
    return bool(np.allclose(wide[0], wide[1], rtol=max(rtol, _epsilon(mine.dtype)), atol=atol, equal_nan=True))


def _epsilon(dtype: np.dtype) -> float:
    """Two rounding steps of the small floats, whose cases ask for more than they hold."""
    return {"float16": 2e-3, "bfloat16": 1.6e-2}.get(dtype.name, 0.0)


def main(arguments: list[str]) -> None:
    """Print the table; -v lists what does not pass; other words choose cases by part of their name."""
    wanted = [word for word in arguments if not word.startswith("-")]
    chosen = [case for case in cases() if not wanted or any(word in case.name for word in wanted)]
    outcomes = [run_case(case) for case in chosen]
    if "-v" in arguments:
        for outcome in outcomes:
            if outcome.status not in ("pass", "fixed"):
                print(f"{outcome.status:<8} {outcome.name:<60} {outcome.reason}")
    counts = Counter(outcome.status for outcome in outcomes)
    passed = counts["pass"] + counts["fixed"]
    print(f"{passed} of {len(outcomes)} pass ({counts['fixed']} with inputs fixed); " + str(dict(counts)))


if __name__ == "__main__":
    main(sys.argv[1:])
