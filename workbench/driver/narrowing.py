"""From the first wrong step to what is wrong in it: the first wrong rewrite, or the pass itself.

found = narrowed(session, index, reference)
print(found)        # rule "scale-after-bias" (fold_scale_axis.py:41), rewrite 3 of 12, ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from ..analysis.fact import Fact
from ..core import transform
from ..core.errors import WorkbenchError
from .debugging import bisected
from .numerics.check import check_from_edits
from .numerics.compare import WrongTensor
from .numerics.reference import Reference
from .plan import PassRow
from .rewrites import Names, rewrite_shown
from .text import script

if TYPE_CHECKING:
    from .session import Session

_LINES: Final = 40
"""Of a rewrite's text that are kept."""


@dataclass(frozen=True)
class Narrowed(Fact):
    """What is wrong in one step.

    `kind`: "rewrite" for one rewrite of a rule, "pass" where the pass is wrong without any, "step" where a step of
    loops or of code generation was found by halving, "edit" where a kernel is right before a person's edit and wrong
    after it.
    """

    step: str
    kind: str
    rule: str
    """The rule's name, or that of the pass."""
    source: str
    """file:line where it is written; empty where that is not known."""
    number: int
    """Of the rewrite, from 0."""
    count: int
    """Rewrites of the step."""
    error: float
    """Greatest absolute difference."""
    why: str = ""
    """What the rule says that it does."""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    tensor: WrongTensor | None = None

    def __str__(self) -> str:
        place = f" ({self.source})" if self.source else ""
        if self.kind == "rewrite":
            head = f"{self.step}: rewrite {self.number + 1} of {self.count} is the first wrong one: {self.rule}{place}"
        elif self.kind == "pass":
            head = f"{self.step}: wrong before any of its {self.count} rewrites; the pass itself: {self.rule}{place}"
        elif self.kind == "edit":
            head = f"{self.step}, made by hand, is wrong"
        else:
            head = f"{self.step} is the first wrong step"
        rows = [head]
        rows += [f"  {self.tensor}"] if self.tensor is not None else []
        rows += [f"  - {line}" for line in self.before] + [f"  + {line}" for line in self.after]
        return "\n".join(rows)


def narrowed(session: Session, index: int, reference: Reference) -> Narrowed:
    """What is wrong in a graph step; the reference measures against what the program before it computes.

    Raises `WorkbenchError` E-CHECK-RIGHT where it turns out to be right.
    """
    step = session.history.step(session.actions, index)
    found = bisected(step, reference.gap_of)
    if found is None:
        raise WorkbenchError("E-CHECK-RIGHT", f"step {step.label} computes what the one before it does")
    count = len(step.firings)
    if found.stop is None:
        return Narrowed(
            step.label, "pass", step.action.name, _written(session, index), 0, count, found.error, tensor=found.tensor
        )
    rule, before, after = found.stop.stop.rule, script_lines(found.stop.before), script_lines(found.stop.after)
    if found.number < count and step.firings[found.number].rule.name == rule.name:
        shown = rewrite_shown(step.firings[found.number], Names(step))
        before, after = shown.before, shown.after
    return Narrowed(
        step.label, "rewrite", rule.name, rule.where, found.number, count, found.error, rule.doc.split("\n")[0],
        before[:_LINES], after[:_LINES], found.tensor,
    )  # fmt: skip


def narrowed_below(
    session: Session, inputs: Mapping[str, Any], tolerance: float, seconds: float
) -> tuple[Narrowed, Any]:
    """The wrong step where native code is: an edit if one is, else the first one, found by halving.

    With the report that can write a test.
    """
    report = check_from_edits(session, inputs, tolerance, seconds)
    label = report.first_wrong
    if label is None:
        raise WorkbenchError(
            "E-CHECK-RIGHT", "no step is wrong when each is checked alone",
            found="; ".join(report.notes), fix="check again with more time: check(inputs, seconds=...)",
        )  # fmt: skip
    last = report.checks[-1]
    index = session.labels.index(label)
    kind = "edit" if session.actions[index].kind == "edit" else "step"
    found = Narrowed(
        label, kind, session.actions[index].name, _written(session, index), 0, 0, last.absolute, last.note,
        tensor=last.tensor,
    )  # fmt: skip
    return found, report


def script_lines(node: Any) -> tuple[str, ...]:
    try:
        return tuple(script(node).rstrip("\n").split("\n"))
    except WorkbenchError:
        return (str(node)[:200],)


def _written(session: Session, index: int) -> str:
    """file:line of the function that a pass is written as."""
    row = session.plan.rows[index - 1] if index else None
    if not isinstance(row, PassRow):
        return ""
    made = session.history.contents.known_pass(row)
    code = _code(made.each or made.function) if made is not None else None
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else ""


def _code(function: Any) -> CodeType | None:
    """The code that a user wrote, under what the decorators of passes put around it."""
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        waiting += [inner for name in ("__wrapped__", "func", "__func__") if (inner := getattr(current, name, None))]
        code = getattr(current, "__code__", None)
        if code is not None and code.co_filename != transform.__file__:
            return code
        cells = getattr(current, "__closure__", None) or ()
        waiting += [cell.cell_contents for cell in cells if callable(getattr(cell, "cell_contents", None))]
    return None
