"""Kernels, each checked alone: on the real inputs of one of its calls, in a child process.

A loop step is checked kernel by kernel: the kernel as it stands after the step, in checked mode and without later
passes, runs on what it reads at its first call in the network; its yardstick is its relay function in float64 on the
same inputs.  A kernel that a step leaves alone, or whose code becomes one that was right before, is not run again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codegen.llvm.contained import Answer, Contained, Unit, unit_of, written_positions
from ...core.child import ChildFailure
from ...core.equal import fingerprint
from ...core.errors import WorkbenchError
from ...core.host import give_back_memory
from ...core.module import IRModule
from ...target.target import Target, target_of_function
from ...tir import nodes as t
from .compare import Gap, compare_all
from .entry import EntryMachine
from .forms import checked_form, for_one_run
from .report import KernelCheck

if TYPE_CHECKING:
    from ..history import Step


def brief(error: WorkbenchError) -> str:
    """An error on one line: code, message, what was found and where."""
    parts = [f"{error.code} {error.message}"]
    parts += [f"{name} {getattr(error, name)}" for name in ("found", "expected") if getattr(error, name)]
    if error.where:
        parts.append(f"at {error.where}")
    return "; ".join(parts)


class KernelChecker:
    """Checks kernels of one model; see the module's header.  `deadline`: when to stop (`time.monotonic`)."""

    def __init__(self, machine: EntryMachine, child: Contained, tolerance: float, deadline: float) -> None:
        self.machine = machine
        self.child = child
        self.tolerance = tolerance
        self.deadline = deadline
        self.prefix = ""
        """Of the names of libraries, where several checkers share a child."""
        self._held = ""
        self._started = -1
        self._libraries: set[str] = set()
        self._expected: tuple[str, list[np.ndarray], list[np.ndarray]] = ("", [], [])
        self._known: dict[tuple[str, str], KernelCheck] = {}

    # --- one kernel at one step ---

    def check(self, kernel: str, step: Step) -> KernelCheck:
        """The verdict on a kernel as it stands after a step."""
        function = step.stage.module.functions.get(kernel)
        if not isinstance(function, t.PrimFunc):
            return KernelCheck(kernel, "failed", note="the kernel is gone")
        if kernel not in self.machine.captured:
            return KernelCheck(kernel, "not run", note="it is never called")
        if time.monotonic() > self.deadline:
            return KernelCheck(kernel, "not run", note="the time is spent")
        try:
            form = checked_form(function, kernel)
            key = (kernel, fingerprint(form))
            if key in self._known:
                known = self._known[key]
                return KernelCheck(kernel, "same" if known.verdict == "right" else known.verdict, known.gap, known.note)
            module, level = for_one_run(IRModule({kernel: form}))
            unit = unit_of(module, target_of_function(function.attrs) or Target("llvm"), level)
        except WorkbenchError as error:
            return KernelCheck(kernel, "failed", note=brief(error))
        made = self.run(kernel, f"{self.prefix}{kernel}/{key[1]}", unit)
        self._known[key] = made
        return made

    def run(self, kernel: str, library: str, unit: Unit) -> KernelCheck:
        """The verdict on a kernel of a unit, on its captured inputs."""
        answer = self._answer(kernel, library, unit, self.machine.captured[kernel])
        if answer.failure == "crashed":  # a child of its own tells whether another kernel had damaged its memory
            answer = self._answer(kernel, library, unit, self.machine.captured[kernel])
        if answer.error is not None:
            verdict = "failed" if answer.failure == "error" else answer.failure
            return KernelCheck(kernel, verdict, Gap(False), _note(answer, kernel))
        gap = self.compare(kernel, answer.outputs)
        return KernelCheck(kernel, "right" if gap.right else "wrong", gap)

    def compare(self, kernel: str, outputs: list[np.ndarray]) -> Gap:
        """What a kernel gave, against what it means."""
        if self._expected[0] != kernel:
            meaning, inputs = self.machine.meanings[kernel], self.machine.captured[kernel]
            shapes = [output.shape for output in outputs]
            wide, narrow = (
                [array.reshape(shape) for array, shape in zip(results, shapes, strict=True)]
                for results in (meaning.results(inputs, float64=True), self.machine.narrow[kernel])
            )
            self._expected = (kernel, wide, narrow)
        _, wide, narrow = self._expected
        names = self.output_names(kernel)
        rounding = self.machine.meanings[kernel].rounding
        return compare_all(outputs, wide, self.tolerance, narrow, f"kernel {kernel}", names, rounding)

    def forget(self) -> None:
        """Give up what was kept for the kernel that was compared last."""
        self._expected = ("", [], [])
        give_back_memory()

    def output_names(self, kernel: str) -> tuple[str, ...]:
        found = next(each for each in self.machine.lowered.kernels if each.name == kernel)
        count = self.machine.meanings[kernel].outputs
        return tuple(parameter.name for parameter in found.func.params[-count:])

    def _answer(self, kernel: str, library: str, unit: Unit, inputs: list[np.ndarray]) -> Answer:
        try:
            self._prepare(kernel, inputs)
            if library not in self._libraries:
                error = self.child.load(library, unit)
                if error is not None:
                    return Answer([], "error", error)
                self._libraries.add(library)
        except ChildFailure as failure:
            return Answer([], failure.kind, WorkbenchError("E-NUMERICS-CRASH", failure.detail, where="compilation"))
        shapes, dtypes = self.machine.shapes[kernel], self.machine.dtypes[kernel]
        first = len(inputs)
        outputs = [(place, dtypes[place], shapes[place]) for place in range(first, len(shapes))]
        return self.child.call(library, kernel, [f"in{place}" for place in range(first)], outputs)

    def _prepare(self, kernel: str, inputs: list[np.ndarray]) -> None:
        """See that the child holds the inputs of a kernel, and of no other."""
        if not self.child.alive or self.child.started != self._started:
            self._held, self._libraries = "", set()
        if self._held == kernel:
            return
        if self._held:
            self.child.drop([f"in{place}" for place in range(len(self.machine.shapes[self._held]))])
            self.forget()
        self._held = ""
        for place, array in enumerate(inputs):
            shape = self.machine.shapes[kernel][place]
            self.child.put(f"in{place}", array.reshape(shape))
        self._held, self._started = kernel, self.child.started


def _note(answer: Answer, kernel: str) -> str:
    assert answer.error is not None
    if answer.failure == "error":
        return f"kernel {kernel}: {brief(answer.error)}"
    return f"{answer.failure}: {answer.error.message} in kernel {kernel}"


def compiled_unit(compiled: Any, module: IRModule) -> Unit:
    """The functions of a built model or module, as its object code for the child."""
    code = compiled.module.code
    symbols = code.symbols or {}
    functions = {
        name: (symbols[name], written_positions(function))
        for name, function in module.items()
        if isinstance(function, t.PrimFunc) and name in symbols
    }
    return Unit(functions, (), tuple(code.objects))
