"""What `check_numerics` answers: a verdict a step, the first wrong step and tensor, and a test that shows the fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._lazy import views
from ...core.errors import WorkbenchError
from .compare import Gap, WrongTensor

BAD = ("wrong", "failed", "crashed", "hangs")


@dataclass(frozen=True)
class KernelCheck:
    """One kernel's verdict at one step."""

    kernel: str
    verdict: str
    """right, same, wrong, failed, crashed, hangs, not run"""
    gap: Gap = field(default_factory=Gap)
    note: str = ""


@dataclass(frozen=True)
class StepCheck:
    """One step's verdict; errors are the greatest over all outputs and kernels."""

    step: str
    verdict: str
    """right, wrong, failed, crashed, hangs, unchanged, not run"""
    absolute: float = 0.0
    relative: float = 0.0
    part: float = 0.0
    """Greatest part of its tolerance that an element uses up; above 1 it is wrong."""
    note: str = ""
    tensor: WrongTensor | None = None
    kernels: tuple[KernelCheck, ...] = ()
    """The kernels that the step changed, each checked alone."""

    @property
    def bad(self) -> bool:
        return self.verdict in BAD


@dataclass(frozen=True)
class NumericsReport:
    """The verdicts of all steps; true when none is wrong, failed, crashed or hanging.

    report.first_wrong             # "FuseOps", or None
    report.tensor                  # the first wrong tensor: place, index, found, expected, ulp
    report.save_test("test_it.py") # the smallest failing piece, as a pytest file
    """

    checks: tuple[StepCheck, ...]
    notes: tuple[str, ...] = ()
    """What was shared, left out or cut short."""
    seconds: float = 0.0
    """Processor seconds that the check took, child processes included."""
    writer: Callable[[Path], Path] | None = None
    no_test: str = ""
    """Why no test of the first wrong step can be written, where that is so."""

    @property
    def first_wrong(self) -> str | None:
        """The name of the first step that is wrong, failed, crashed or hangs."""
        return next((check.step for check in self.checks if check.bad), None)

    @property
    def tensor(self) -> WrongTensor | None:
        """The first wrong tensor."""
        return next((check.tensor for check in self.checks if check.bad), None)

    @property
    def part(self) -> float:
        """Greatest part of its tolerance that any element of any step uses up."""
        return max((check.part for check in self.checks), default=0.0)

    @property
    def kernel_checks(self) -> int:
        """How many kernels were run, all steps together."""
        return sum(kernel.verdict not in ("same", "not run") for check in self.checks for kernel in check.kernels)

    def save_test(self, path: str | Path) -> Path:
        """Write the smallest failing piece as a pytest file: it fails now, and says itself when it will pass.

        A step with a name is run again, and the test passes once it is right; of a pass that is written in a notebook,
        and of an edit, it holds the text that was made.  Raises `WorkbenchError`: E-NUMERICS-RIGHT when no step is
        wrong, E-NUMERICS-PIECE where the report says that no test can be written.
        """
        if self.first_wrong is not None and self.no_test:
            raise no_piece(self.first_wrong, self.no_test, str(self.tensor or "the step as a whole"))
        if self.first_wrong is None or self.writer is None:
            raise WorkbenchError("E-NUMERICS-RIGHT", "no step is wrong, so there is nothing to write a test of")
        return self.writer(Path(path))

    def __bool__(self) -> bool:
        return self.first_wrong is None

    def __str__(self) -> str:
        width = max([22, *(len(check.step) for check in self.checks)]) + 2
        rows = [f"{'step':<{width}}{'verdict':<11}{'kernels':>8}{'max abs':>11}{'max rel':>11}{'of tolerance':>14}"]
        rows += [_row(check, width) for check in self.checks]
        first = self.first_wrong
        rows.append(f"first wrong step: {first}" if first else _all_right(self.checks))
        if first and self.tensor is not None:
            rows.append(f"first wrong tensor: {self.tensor}")
        if first and self.writer is not None:
            rows.append('report.save_test("test_it.py") writes the smallest piece that fails')
        if first and self.no_test:
            rows.append(f"no test of it can be written: {self.no_test}")
        rows += [f"note: {note}" for note in self.notes]
        return "\n".join(rows)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().report_bundle(self)

    __repr__ = __str__


def no_piece(step: str, why: str, found: str) -> WorkbenchError:
    """No test can be written of a step."""
    return WorkbenchError(
        "E-NUMERICS-PIECE", f"no test can be written: {why}", where=f"step {step}", found=found,
        expected="a step whose fault a graph or one kernel shows, of a size that can be interpreted",
        fix=f"look at report.tensor and at what the step changed: session[{step!r}].diff()", kept="the report",
    )  # fmt: skip


def _row(check: StepCheck, width: int) -> str:
    ran = sum(kernel.verdict not in ("same", "not run") for kernel in check.kernels)
    kernels = str(ran) if check.kernels else ""
    row = f"{check.step:<{width}}{check.verdict:<11}{kernels:>8}"
    if check.verdict in ("right", "wrong"):
        part = f"{100 * check.part:.1f} %" if check.part < 100 else f"{check.part:.1e} x"
        row += f"{check.absolute:>11.2e}{check.relative:>11.2e}{part:>14}"
    return f"{row}  {check.note}".rstrip()


def _all_right(checks: tuple[StepCheck, ...]) -> str:
    left = sum(check.verdict == "not run" for check in checks)
    return "every step computes the same" if not left else f"right; {left} steps did not need to be run"
