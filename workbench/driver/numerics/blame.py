"""Whose fault is a kernel that is wrong when compiled: the step's, or that of code generation?

Native code of a form is wrong.  The interpreter, which knows neither code generation nor the passes before it, runs
the same kernel on a smaller problem (`shrink`) on which the native code is wrong too:

* it is wrong there as well: the step is at fault;
* it is right: one of the passes that only checking needs (`forms.LEAST`) is, or else code generation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...codegen.llvm.contained import Contained
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.transform import PASSES, Pass
from ...tir import nodes as t
from ...tir.interpret import interpret
from .compare import Gap, compare_all
from .entry import EntryMachine
from .forms import INTRINSICS, LEAST, is_flat, lacks_lowering
from .graph import Memory
from .kernels import KernelChecker, brief
from .report import BAD, KernelCheck
from .shrink import SmallKernel, is_edited, small_kernels
from .whole import too_large

if TYPE_CHECKING:
    from .check import Checker


ATTEMPTS: Final = 6
"""Smaller problems that are tried for one kernel; each runs natively first."""


@dataclass(frozen=True)
class Culprit:
    """The step at fault, and the small problem that shows it (None: no small problem does)."""

    index: int
    small: SmallKernel | None
    check: KernelCheck
    sure: bool
    form: int
    """The step after which native code was wrong."""


def culprit(checker: Checker, index: int, found: KernelCheck) -> Culprit:
    """The step at fault for a kernel whose form after step `index` is wrong when compiled."""
    assert checker.machine is not None
    kernel = found.kernel
    problems = small_kernels(
        checker.session, kernel, checker.machine.meanings[kernel], checker.machine.captured[kernel]
    )
    with Contained(checker.child.seconds) as child:
        for small in _some([small for small in problems if _fits(small, index)]):
            if time.monotonic() > checker.deadline:
                break
            # At its own shapes it is the very problem that was found wrong: asked again it would fill another child.
            native = native_check(small, index, child, checker) if small.shrunk else found
            if native.verdict not in BAD:
                continue
            interpreted = interpreted_check(small, small.function(index), checker.tolerance)
            if interpreted.verdict in BAD:
                return Culprit(index, small, interpreted, True, index)
            return Culprit(_later(checker, small, index), small, native, True, index)
    return Culprit(index, None, found, False, index)


def reason(checker: Checker, index: int, kernel: str) -> str:
    """Why no small problem shows that a kernel is wrong after step `index`."""
    if time.monotonic() > checker.deadline:
        return "the time is spent"
    if not is_edited(checker.session, kernel):
        return "no smaller problem shows it when interpreted"
    assert checker.machine is not None
    machine = checker.machine
    own = next(small_kernels(checker.session, kernel, machine.meanings[kernel], machine.captured[kernel]), None)
    if own is None:
        return "an edited kernel keeps its shapes, and at these it cannot be cut out alone"
    try:
        size = too_large(own.function(index))
    except WorkbenchError as error:
        return f"an edited kernel keeps its shapes, and cut out alone at these it stops: {brief(error)}"
    if size:
        return f"an edited kernel keeps its shapes, and at these {size}"
    return "alone, at its own shapes, it is right"


def _some(problems: list[SmallKernel]) -> list[SmallKernel]:
    """The smallest ones and the largest: some faults are not there where a loop has a turn or two."""
    return [*problems[: ATTEMPTS - 1], *problems[ATTEMPTS - 1 :][-1:]]


def _fits(small: SmallKernel, index: int) -> bool:
    try:
        return not too_large(small.function(index))
    except WorkbenchError:
        return False


def native_check(small: SmallKernel, index: int, child: Contained, checker: Checker) -> KernelCheck:
    """The small kernel compiled as it stands after a step, or as native code after code generation."""
    lowered = small.session.step(1).stage.lowered
    assert lowered is not None
    machine = EntryMachine(lowered, Memory())
    machine.meanings[small.kernel] = small.meaning
    machine.captured[small.kernel] = small.inputs
    machine.narrow[small.kernel] = small.meaning.results(small.inputs)
    kernels = KernelChecker(machine, child, checker.tolerance, checker.deadline)
    kernels.prefix = f"small{id(small)}/"
    return kernels.check(small.kernel, small.session.step(small.position(index)))


def interpreted_check(small: SmallKernel, function: t.PrimFunc, tolerance: float, races: bool = False) -> KernelCheck:
    """The small kernel in the checking interpreter."""
    outputs = small.outputs(small.first)
    arrays = [*(np.array(array) for array in small.inputs), *outputs]
    if is_flat(function):
        arrays = [array.reshape(-1) for array in arrays]
    try:
        interpret(function, *arrays, check_races=races)
    except WorkbenchError as error:
        return KernelCheck(small.kernel, "failed", Gap(False), brief(error))
    wide, narrow = (small.meaning.results(small.inputs, float64) for float64 in (True, False))
    gap = compare_all(
        [np.asarray(output) for output in outputs],
        [array.reshape(output.shape) for array, output in zip(wide, outputs, strict=True)],
        tolerance,
        [array.reshape(output.shape) for array, output in zip(narrow, outputs, strict=True)],
        f"kernel {small.kernel}",
        rounding=small.meaning.rounding,
    )
    return KernelCheck(small.kernel, "right" if gap.right else "wrong", gap)


def _later(checker: Checker, small: SmallKernel, index: int) -> int:
    """The step to blame when the form itself is right: that of the first pass of `LEAST` that breaks it.

    It is the first later step that runs this very pass: labels are numbered, and a user's pass may have the name.
    """
    later = list(enumerate(checker.session.actions))[index + 1 :]
    function = small.function(index)
    module = IRModule({small.kernel: function})
    least = () if is_flat(function) else LEAST
    for name in (*least, INTRINSICS) if lacks_lowering(function) else least:
        if name == "BoundCheck":
            continue
        chosen: Pass = PASSES[name]()
        try:
            module = chosen(module)
            right = interpreted_check(small, module[small.kernel], checker.tolerance).verdict not in BAD
        except WorkbenchError:
            right = False
        same = (at for at, action in later if action.name == name and action.code == chosen.code_key)
        if not right and (at := next(same, None)) is not None:
            return at
    return len(checker.labels) - 1
