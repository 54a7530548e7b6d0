"""Looking inside one step: breakpoints on its rewrites, the program between two of them, the first that is wrong.

    s.debug("SimplifyExpr", rule="add-zero")          # every place where the rule fired, with what it matched
    s.debug("FoldScaleAxis", node="nn.conv2d", action="debug")   # the Python debugger, inside the rule
    s["SimplifyExpr"].after_rewrites(3).script()      # the program after three rewrites
    s["SimplifyExpr"].first_wrong_rewrite(inputs)     # by bisection

The step is run again on the program before it; the session and its history stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._lazy import told
from ..core import breakpoints, origin, rewrite
from ..core.arguments import number, whole
from ..core.breakpoints import Breakpoint
from ..core.errors import WorkbenchError, nearest
from ..core.host import give_back_memory
from ..core.module import IRModule
from ..core.node import Node
from ..relay.ir.brief import brief
from ..relay.ir.expr import Call, Expr
from ..relay.ir.operator import Operator
from .given_inputs import given_inputs
from .history import Step
from .numerics.compare import Gap, WrongTensor
from .numerics.yardstick import Yardstick
from .text import script

_BRIEF = 110


@dataclass(frozen=True)
class StopView:
    """One rewrite at which a breakpoint stopped."""

    step: Step
    stop: breakpoints.Stop

    @property
    def rule(self) -> str:
        return self.stop.rule.name

    @property
    def before(self) -> Node:
        """The node that the rule replaces."""
        return self.stop.before

    @property
    def after(self) -> Node:
        """What it is replaced by."""
        return self.stop.after

    def __getitem__(self, name: str) -> Any:
        """What the rule's pattern met under a name."""
        if name not in self.stop.bound:
            raise WorkbenchError(
                "E-BREAK-NAME", f"the rule {self.rule} binds no {name!r}", fix=nearest(name, self.stop.bound)
            )
        return self.stop.bound[name]

    @property
    def program(self) -> IRModule:
        """The whole program just before this rewrite."""
        return after_rewrites(self.step, self.stop.number)

    def __str__(self) -> str:
        rule = self.stop.rule
        rows = [f"rewrite {self.stop.number} of {self.step.label}: {rule.name} ({rule.where})"]
        rows += [f"  {line}" for line in rule.doc.split("\n")[:1] if line]
        rows += [f"  {name:<8}  {_brief(value)}" for name, value in self.stop.bound.items()]
        return "\n".join([*rows, f"  before    {_brief(self.before)}", f"  after     {_brief(self.after)}"])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().stops_bundle([self])


@dataclass(frozen=True)
class Stops(Sequence[StopView]):
    """The stops of one run of a step."""

    views: tuple[StopView, ...]
    step: Step
    error: WorkbenchError | None = None
    """Why the step failed, if it did; the stops before are kept."""

    def __len__(self) -> int:
        return len(self.views)

    def __getitem__(self, index: Any) -> Any:
        return self.views[index]

    def __iter__(self) -> Iterator[StopView]:
        return iter(self.views)

    def __str__(self) -> str:
        if not self.views:
            names = ", ".join(dict.fromkeys(firing.rule.name for firing in self.step.firings))
            return f"no rewrite of {self.step.label} fits; rules that fired in it: {names or 'none'}"
        return "\n".join(str(view) for view in self.views)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().stops_bundle(self)


def debug(
    step: Step,
    rule: str | None,
    node: Callable[[Node], bool] | Node | str | None,
    action: str | Callable[[StopView], None],
) -> Stops:
    """Run a step again with a breakpoint on a rule, on nodes, or on both."""
    before = _before(step)
    point = Breakpoint(rule, node, (lambda stop: action(StopView(step, stop))) if callable(action) else action)
    error: WorkbenchError | None = None
    with origin.recording(), rewrite.logging(), breakpoints.watching(point) as stops:
        try:
            step.action.run(before)
        except WorkbenchError as raised:
            error = raised
    return Stops(tuple(StopView(step, stop) for stop in stops), step, error)


def after_rewrites(step: Step, count: int) -> IRModule:
    """The program of a step in which only the first `count` rewrites of its rules happen.

    Passes that are no tables of rules do all their work at once; for them any count gives the program after the step.
    """
    count = whole(count, "after_rewrites(count)", "E-REWRITE-UNKNOWN")
    with origin.recording(), rewrite.logging(), breakpoints.budget(count):
        return step.action.run(_before(step)).module


@dataclass(frozen=True)
class WrongRewrite:
    """The first rewrite after which a step's program computes something else."""

    stop: StopView | None
    """None where the program is wrong without any rewrite: the pass changes it by other means."""
    number: int
    error: float
    """Greatest absolute difference that it makes."""
    tensor: WrongTensor | None = None
    """The output that is wrong, by its element that is furthest beyond the tolerance."""

    def __str__(self) -> str:
        where = f"\n  {self.tensor}" if self.tensor is not None else ""
        if self.stop is None:
            return f"wrong before any rewrite: the pass itself is at fault (difference {self.error:.3g}){where}"
        return f"first wrong rewrite, number {self.number} (difference {self.error:.3g}){where}\n{self.stop}"

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().wrong_rewrite_bundle(self)


def first_wrong_rewrite(step: Step, inputs: Mapping[str, Any], tolerance: float) -> WrongRewrite | None:
    """Bisect over a relay step's rewrites; None if the whole step computes the same as the program before it.

    What is the same is decided as in `check_numerics`.
    """
    if step.action.level != "relay":
        raise WorkbenchError(
            "E-REWRITE-LEVEL", "only graph steps are rewritten rule by rule", found=f"a {step.action.level} step"
        )
    number(tolerance, "first_wrong_rewrite(tolerance=...)", "E-NUMERICS-NUMBER", "0.001")
    before = _before(step).module
    yardstick = Yardstick(before, given_inputs(before, inputs, "first_wrong_rewrite(inputs)"), tolerance)
    try:
        return bisected(step, lambda program: yardstick.gap_of(program, "the program"))
    finally:
        yardstick.memory.clear()
        give_back_memory()


def bisected(step: Step, gap_of: Callable[[IRModule], Gap]) -> WrongRewrite | None:
    """The first wrong rewrite of a step by halving; `gap_of` says how far a program is from what it should compute."""
    stops = debug(step, None, None, "keep")

    def gap_after(count: int) -> Gap:
        try:
            return gap_of(after_rewrites(step, count))
        except Exception:  # between two rewrites, what users wrote may meet a program that it never meets otherwise
            return Gap(False, math.inf, math.inf, math.inf)

    gap = gap_after(len(stops))
    if gap.right:
        return None
    untouched = gap_after(0) if len(stops) else gap
    if not untouched.right:
        return WrongRewrite(None, 0, untouched.absolute, untouched.tensor)
    low, high = 0, len(stops)
    while high - low > 1:
        middle = (low + high) // 2
        found = gap_after(middle)
        low, high, gap = (middle, high, gap) if found.right else (low, middle, found)
    return WrongRewrite(stops[low], low, gap.absolute, gap.tensor)


def _before(step: Step) -> Any:
    if step.previous is None:
        raise WorkbenchError("E-STEP-FIRST", "nothing comes before the first step", found=step.label)
    return step.previous.stage


def _brief(value: Any) -> str:
    text = _nested(value) if isinstance(value, Expr) else script(value) if isinstance(value, Node) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _BRIEF else text[: _BRIEF - 1] + "…"


def _nested(expr: Expr, depth: int = 3) -> str:
    """An expression in one line: calls with their operands, down to a depth, and the outermost one's attributes."""
    if not isinstance(expr, Call):
        return brief(expr)
    name = getattr(expr.op, "name", "") or brief(expr.op)
    parts = [_nested(operand, depth - 1) for operand in expr.args] if depth else ["…"]
    if depth == 3 and isinstance(expr.op, Operator):
        parts += [f"{key}={value!r}" for key, value in expr.op.changed_attributes.items()]
    return f"{name}({', '.join(parts)})"
