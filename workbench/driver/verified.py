"""Whether the program after a step is well-formed: the verifiers of graphs and of loop programs, on what it changed.

    found = s["FuseOps"].verify()
    found.problems, found.functions        # what is wrong, by function; how many functions were looked at
"""

from __future__ import annotations

from dataclasses import dataclass

from ..relay.ir.expr import Expr
from ..relay.ir.verify import verify as violations
from ..tir.nodes import PrimFunc
from ..tir.verify import problems
from .history import Step


@dataclass(frozen=True)
class IllFormed:
    """One broken law."""

    function: str
    check: str
    message: str

    def __str__(self) -> str:
        return f"{self.function}: {self.message} (check {self.check!r})"


@dataclass(frozen=True)
class Verified:
    """What the verifiers say of one step."""

    functions: int
    """Functions that were looked at."""
    problems: tuple[IllFormed, ...]

    def __bool__(self) -> bool:
        """Whether all is well-formed."""
        return not self.problems

    def __str__(self) -> str:
        if self:
            return f"well-formed: {self.functions} function{'s' if self.functions != 1 else ''}"
        return "\n".join(map(str, self.problems))


def verified(step: Step) -> Verified:
    """Verify the program that a step left; of a step that failed, the program it began with."""
    module = step.stage.module
    found: list[IllFormed] = []
    count = 0
    for name, function in module.items():
        if isinstance(function, PrimFunc):
            found += [IllFormed(name, one.check, one.message) for one in problems(function)]
        elif isinstance(function, Expr):
            found += [IllFormed(name, one.check, one.message) for one in violations(function, module)]
        else:
            continue
        count += 1
    return Verified(count, tuple(found))
