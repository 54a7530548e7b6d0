"""What LLVM says of the loops that it vectorised or did not, with the line of the loop program, from a child process.

    remarks(machine.job_of(text, Target("llvm"), "asm"))[0].message     # "loop not vectorized: cannot prove ..."
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Final

from ...core.child import Child, ChildFailure, Limits
from ...core.errors import WorkbenchError
from ...core.limits import limits
from .machine import Job

_REMARK: Final = re.compile(r"^remark: (.+?):(\d+):\d+: (.*)$")


@dataclass(frozen=True)
class Remark:
    """One remark: on which line of the loop program (0: on none), and what LLVM says."""

    line: int
    message: str


def remarks(job: Job, optimise: int = 3) -> tuple[Remark, ...]:
    """The remarks of the loop vectoriser while `job` is compiled at that level, in the order of lines, each once.

    Raises `WorkbenchError` E-LLVM-REMARKS where the child ends or takes longer than `limits.llvm_seconds`.
    """
    bound = Limits(file_bytes=limits.llvm_bytes)
    with Child("workbench.codegen.llvm.service", seconds=limits.llvm_seconds, limits=bound) as child:
        try:
            child.ask("remarks", {"job": asdict(replace(job, optimise=optimise))})
        except ChildFailure as failure:
            raise WorkbenchError(
                "E-LLVM-REMARKS", "LLVM ended while its remarks were recorded",
                found=failure.said[-300:] or failure.detail, fix="check that the kernel compiles: s.build()",
            ) from None  # fmt: skip
        said = [_REMARK.match(line.decode("utf-8", "replace").rstrip("\n")) for line in child.printed()]
    found = {Remark(int(one[2]), one[3]) for one in said if one is not None}
    return tuple(sorted(found, key=lambda one: (one.line, one.message)))
