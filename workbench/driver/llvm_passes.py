"""What if LLVM's O3 ran on a kernel: its passes as steps, each with the text before and after.

This is another compilation than the one that is run: kernels with explicit vectors need one of these passes (see
`codegen.llvm.pipelines`).  ``s.provenance`` and ``s.codegen`` show the code that is run.

    passes = s.llvm_passes("fused_nn_dense")
    passes                                  # a summary: how many ran, which changed something
    passes.assembly                         # what O3 would make of the kernel
    passes.changed[3].diff()                # as for any step
    passes["InstCombinePass"]               # the first run of a pass by name
    passes.show()                           # the pipeline screen

They are recorded in a child process, since LLVM's switches for this are global; see `codegen.llvm.pass_dumps`, also
for what the texts of a large kernel show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, overload

from .._lazy import views
from ..codegen.llvm import machine
from ..codegen.llvm.machine import Job, compile_job
from ..codegen.llvm.pass_dumps import PassDump, pass_dumps
from ..codegen.llvm.pipelines import LEAN
from ..codegen.llvm.remarks import Remark, remarks
from ..core.errors import WorkbenchError, nearest
from .difference import Difference, text_difference

if TYPE_CHECKING:
    from .session import Session

FULL: Final = 3
"""The level asked about."""
_SYMBOL = re.compile(r"^define .*?@([\w.$]+)\(", re.MULTILINE)


@dataclass(frozen=True)
class LlvmPass:
    """One run of one pass on one function, loop or the module."""

    index: int
    dump: PassDump

    @property
    def name(self) -> str:
        """As LLVM calls it: "LICMPass", "Machine Copy Propagation Pass (machine-cp)"."""
        return self.dump.name

    @property
    def where(self) -> str:
        """What it ran on: "[module]", a function, "loop %loop7 in function ..."."""
        return self.dump.where

    @property
    def phase(self) -> str:
        """ "ir" while it is LLVM IR, "machine" from instruction selection on."""
        return self.dump.phase

    @property
    def changed(self) -> bool:
        return self.dump.changed

    @property
    def instructions(self) -> tuple[int, int]:
        """Instructions before and after: of the kernel in phase "ir", of the one function in phase "machine"; of a
        kernel of many loops, of what the pass ran on."""
        return self.dump.before.instructions, self.dump.after.instructions

    @property
    def before(self) -> str:
        return self.dump.before.text

    @property
    def after(self) -> str:
        return self.dump.after.text

    def diff(self) -> Difference:
        """What the pass changed, as text."""
        return text_difference(f"{self.name} on {self.where or 'what is gone'}", self.before, self.after)

    def show(self) -> Any:
        return views().show_difference(self.diff())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().difference_bundle(self.diff())

    def __repr__(self) -> str:
        counts = "{} -> {} instructions".format(*self.instructions) if self.changed else "no change"
        return f"LlvmPass({self.index}, {self.name!r} on {self.where!r}, {counts})"


@dataclass(frozen=True)
class LlvmPasses(Sequence[LlvmPass]):
    """All passes of LLVM's O3 on a kernel, in order; not the compilation that is run."""

    kernel: str
    steps: tuple[LlvmPass, ...]
    job: Job
    """What was compiled for this."""

    @property
    def label(self) -> str:
        """What these passes belong to."""
        return f"what if O{self.job.optimise}"

    @cached_property
    def assembly(self) -> str:
        """The kernel's assembly by these passes; the one that is run is ``s.provenance.text(kernel, "asm")``."""
        return compile_job(self.job).decode()

    @cached_property
    def optimised(self) -> str:
        """The kernel's LLVM IR after these passes."""
        return compile_job(replace(self.job, form="ll")).decode()

    @overload
    def __getitem__(self, which: int | str) -> LlvmPass: ...

    @overload
    def __getitem__(self, which: slice) -> tuple[LlvmPass, ...]: ...

    def __getitem__(self, which: int | str | slice) -> LlvmPass | tuple[LlvmPass, ...]:
        """By position; by name, the first run that changed something, else the first run."""
        if not isinstance(which, str):
            return self.steps[which]
        named = [step for step in self.steps if step.name == which]
        if not named:
            names = sorted({step.name for step in self.steps})
            raise WorkbenchError(
                "E-LLVM-PASS-UNKNOWN", f"LLVM ran no pass {which!r} on {self.kernel}", fix=nearest(which, names)
            )
        return next((step for step in named if step.changed), named[0])

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[LlvmPass]:
        return iter(self.steps)

    @cached_property
    def changed(self) -> tuple[LlvmPass, ...]:
        """Those that changed something."""
        return tuple(step for step in self.steps if step.changed)

    def show(self) -> Any:
        """The passes that changed something: the pipeline screen in a notebook, a list elsewhere."""
        return views().show_llvm_passes(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().text_bundle(str(self), "script")

    def __str__(self) -> str:
        rows = [f"{self.kernel}, {self.label}: LLVM ran {len(self)} passes, {len(self.changed)} changed something"]
        for step in self.changed:
            before, after = step.instructions
            rows.append(f"  {step.index:5} {step.phase:8} {before:6} -> {after:6}  {step.name}  {step.where}")
        return "\n".join(rows)

    __repr__ = __str__


def llvm_remarks(session: Session, kernel: str) -> tuple[Remark, ...]:
    """What LLVM's loop vectoriser says of a kernel at O3, by lines of its loop program.

    Raises `WorkbenchError` for an unknown kernel.
    """
    return remarks(machine.job_of(session.provenance.text(kernel, "ll"), session.target, "asm"), FULL)


def llvm_passes(session: Session, kernel: str) -> LlvmPasses:
    """What LLVM's O3, or the level that the target names, does to one kernel of a session.

    Raises `WorkbenchError` for an unknown kernel and beyond limits.
    """
    text = session.provenance.text(kernel, "ll")
    functions = [symbol for symbol in _SYMBOL.findall(text) if not symbol.startswith("__tvm_ffi_")]
    job = machine.job_of(text, session.target, "asm")
    what_if = replace(job, optimise=FULL if job.optimise == LEAN else job.optimise)
    dumps = pass_dumps(what_if, functions)
    return LlvmPasses(kernel, tuple(LlvmPass(index, dump) for index, dump in enumerate(dumps)), what_if)
