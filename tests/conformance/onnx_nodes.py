"""The ONNX standard's own operator cases, through our importer and an executor: native code or the interpreter.

Run it for the table:  python -m tests.conformance.onnx_nodes [-v] [--compiled] [-jN] [name-part ...]

A case passes when every output agrees with the expected one in dtype, shape and (within the case's tolerance) value.
Inputs whose values decide shapes (Reshape's shape) are fixed to the case's values where the importer asks for it; such
passes are counted apart, and so are those of which no input is left, where all was computed at import.

Compiled cases run in worker processes with a time limit each; that nothing but native kernels runs is asserted.
"""

from __future__ import annotations

import multiprocessing
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from workbench.core.errors import InternalError, WorkbenchError
from workbench.core.node import post_order
from workbench.frontend.onnx import ImportedModel, import_model
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Var

RANDOM = ("test_bernoulli",)
"""Cases that are random by design."""
ROUGH = {"test_dft_inverse": 4e-6, "test_dft_inverse_opset19": 4e-6}
"""Cases whose expected values, made in float32, are themselves further than their tolerance from the exact ones (made
in float64): the absolute tolerance that allows for it."""
PASSED = ("pass", "fixed", "folded")
"""Right; right with some inputs fixed at import; right, but all was computed at import."""
SECONDS_PER_CASE = 60.0
Executor = Callable[[ImportedModel, Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class Outcome:
    """`status`: one of PASSED, or refused, wrong, crashed, slow, died."""

    name: str
    status: str
    reason: str = ""

    @property
    def passed(self) -> bool:
        return self.status in PASSED


@cache
def cases() -> tuple[Any, ...]:
    """Every operator case of the installed onnx, built in memory."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    return tuple(case for case in found if not case.name.startswith(RANDOM))


def run_case(case: Any, compiled: bool = False) -> Outcome:
    """Import, run and compare one case."""
    statuses: set[str] = set()
    executor = run_native if compiled else run_interpreted
    try:
        for inputs, outputs in case.data_sets:
            names = [value.name for value in case.model.graph.input]
            given = {name: array(value) for name, value in zip(names, inputs, strict=False)}
            found, status = run_model(case.model, given, executor)
            statuses.add(status)
            problem = difference(found, [array(value) for value in outputs], case.rtol, ROUGH.get(case.name, case.atol))
            if problem:
                return Outcome(case.name, "wrong", problem)
    except WorkbenchError as error:
        status = "crashed" if isinstance(error, InternalError) else "refused"
        return Outcome(case.name, status, f"{error.code} {error.message} [{error.found}]"[:160])
    except Exception as error:  # the point of the table is to list these
        return Outcome(case.name, "crashed", f"{type(error).__name__}: {error}"[:160])
    return Outcome(case.name, next(status for status in reversed(PASSED) if status in statuses))


def array(value: Any) -> Any:
    """A case's value as an array; lists and missing values as they are."""
    if hasattr(value, "data_type"):
        from onnx import numpy_helper

        return numpy_helper.to_array(value)
    return value


def run_model(model: Any, given: dict[str, Any], executor: Executor) -> tuple[list[Any], str]:
    """The outputs for these inputs, and how it came to them (one of PASSED)."""
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
        found = executor(imported, [given[name] for name in imported.input_names])
        return found, "folded" if not imported.input_names else "fixed" if values else "pass"


def run_interpreted(imported: ImportedModel, inputs: Sequence[Any]) -> list[Any]:
    """By the relay interpreter."""
    with np.errstate(all="ignore"):
        found = interpret(imported.module["main"], *inputs)
    return list(found) if len(imported.output_names) > 1 else [found]


def run_native(imported: ImportedModel, inputs: Sequence[Any]) -> list[Any]:
    """By native code, and nothing else."""
    from workbench.driver.build import build_model

    library = build_model(imported.module)
    kernels = set(library.module.function_names) - {"main"}
    called = set(re.findall(r"T\.(call_\w+)\(\"(\w+)\"", library.get_source("tir", "main")))
    assert called == {("call_tir", name) for name in kernels}, f"the entry calls {called}"
    return library.run_arrays(inputs)


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


def run_cases(chosen: Sequence[Any], compiled: bool, workers: int = 1) -> list[Outcome]:
    """The outcomes in order; with `compiled`, in worker processes."""
    if not compiled:
        return [run_case(case) for case in chosen]
    return Crew(chosen, workers).run()


class Crew:
    """Worker processes that run cases, replaced when one takes too long or dies."""

    def __init__(
        self,
        chosen: Sequence[Any],
        workers: int,
        seconds: float = SECONDS_PER_CASE,
        run: Callable[[Any], Outcome] | None = None,
    ) -> None:
        self.chosen = chosen
        self.run_one = run or run_compiled
        self.seconds = seconds
        self.outcomes: list[Outcome | None] = [None] * len(chosen)
        self._waiting = list(range(len(chosen) - 1, -1, -1))
        self._workers = workers
        self._running: dict[Any, tuple[Any, int, float]] = {}
        """By pipe: the process, its case, and when that began."""

    def run(self) -> list[Outcome]:
        from multiprocessing.connection import wait

        for _ in range(min(self._workers, len(self.chosen))):
            self._hire()
        while self._running:
            for pipe in wait(list(self._running), timeout=1.0):
                self._hear(pipe)
            for pipe, (process, index, since) in list(self._running.items()):
                if time.monotonic() - since > self.seconds:
                    process.kill()
                    self._lost(pipe, index, "slow", f"more than {self.seconds:.0f} s")
        return [outcome for outcome in self.outcomes if outcome is not None]

    def _hire(self) -> None:
        if not self._waiting:
            return
        context = multiprocessing.get_context("fork")  # the cases are in memory already
        mine, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(self.chosen, self.run_one, theirs), daemon=True)
        process.start()
        theirs.close()
        self._give(mine, process)

    def _give(self, pipe: Any, process: Any) -> None:
        if not self._waiting:
            pipe.send(None)
            self._running.pop(pipe, None)
            process.join()
            return
        index = self._waiting.pop()
        self._running[pipe] = (process, index, time.monotonic())
        pipe.send(index)

    def _hear(self, pipe: Any) -> None:
        process, index, _ = self._running[pipe]
        try:
            self.outcomes[index] = pipe.recv()
        except EOFError:
            process.join()
            self._lost(pipe, index, "died", f"exit status {process.exitcode}")
            return
        self._give(pipe, process)

    def _lost(self, pipe: Any, index: int, status: str, reason: str) -> None:
        del self._running[pipe]
        self.outcomes[index] = Outcome(self.chosen[index].name, status, reason)
        self._hire()


def run_compiled(case: Any) -> Outcome:
    return run_case(case, compiled=True)


def _serve(chosen: Sequence[Any], run: Callable[[Any], Outcome], pipe: Any) -> None:
    while (index := pipe.recv()) is not None:
        pipe.send(run(chosen[index]))


def table(outcomes: Sequence[Outcome]) -> str:
    """Counts by status, then the reasons of what did not pass, most frequent first."""
    counts = Counter(outcome.status for outcome in outcomes)
    passed = sum(outcome.passed for outcome in outcomes)
    lines = [f"{passed} of {len(outcomes)} pass; " + ", ".join(f"{count} {name}" for name, count in counts.items())]
    reasons = Counter(re.sub(r"\d+|'[^']*'", "_", item.reason)[:90] for item in outcomes if not item.passed)
    return "\n".join([*lines, *(f"{count:5}  {reason}" for reason, count in reasons.most_common())])


def main(arguments: list[str]) -> None:
    """Print the table; -v lists what does not pass; other words choose cases by part of their name."""
    wanted = [word for word in arguments if not word.startswith("-")]
    workers = [int(word[2:]) for word in arguments if re.fullmatch(r"-j\d+", word)]
    chosen = [case for case in cases() if not wanted or any(word in case.name for word in wanted)]
    outcomes = run_cases(chosen, "--compiled" in arguments, *workers)
    if "-v" in arguments:
        for outcome in outcomes:
            if not outcome.passed:
                print(f"{outcome.status:<8} {outcome.name:<60} {outcome.reason}")
    print(table(outcomes))


if __name__ == "__main__":
    main(sys.argv[1:])
