"""A session as the pipeline screen sees it: the list of steps, each with its difference and its rewrites."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import Node, pre_order
from ..driver.text import script
from ..relay.ir.expr import Call, Expr
from ..tir.nodes import PrimFunc, Stmt
from .diff import line_hunks
from .schema import (
    Chunk,
    ErrorView,
    Hunk,
    PipelineView,
    RewriteSummary,
    RewriteView,
    StepSummary,
    StepView,
    TextView,
)

if TYPE_CHECKING:
    from ..driver.history import Step
    from ..driver.session import Session

_AROUND: Final = 40
"""Lines sent around each hunk; the screen asks for others."""
_REWRITES: Final = 200
"""Rewrites listed with a step."""
_KINDS: Final = {
    "import": "import",
    "lower": "te",
    "schedule": "schedule",
    "edit": "edit",
    "codegen": "codegen",
}


def operation_count(module: IRModule) -> int:
    """Calls in relay functions and statements in loop functions."""
    count = 0
    for function in module.functions.values():
        kinds = (Stmt,) if isinstance(function, PrimFunc) else (Call,)
        count += sum(isinstance(node, kinds) for node in pre_order(function))
    return count


def error_view(error: WorkbenchError) -> ErrorView:
    return ErrorView(error.code, error.message, error.where, error.found, error.expected, error.fix, error.kept)


@dataclass(frozen=True)
class SessionModel:
    """A `PipelineModel` on a session; all steps are computed when it is first looked at."""

    session: Session

    def view(self) -> PipelineView:
        """The list of steps."""
        steps = tuple(self._summary(index) for index in range(len(self.session)))
        return PipelineView(steps[-1].id if steps else "", steps, self.session.source)

    def _summary(self, index: int) -> StepSummary:
        step = self.session.step(index)
        action = step.action
        before = step.previous.stage.module if step.previous is not None else None
        return StepSummary(
            id=step.id,
            name=step.label,
            kind=_KINDS.get(action.kind, action.level),  # type: ignore[arg-type]
            changed=step.changed,
            milliseconds=round(step.milliseconds, 3),
            ops_before=_count(before) if before is not None else 0,
            ops_after=_count(step.stage.module),
            rewrite_count=len(step.firings),
            error=error_view(step.error) if step.error is not None else None,
        )

    def _find(self, identity: str) -> tuple[str, Step]:
        for label, index in zip(self.session.labels, range(len(self.session)), strict=True):
            step = self.session.step(index)
            if step.id == identity:
                return label, step
        raise WorkbenchError("E-STEP-UNKNOWN", "there is no such step in this session", found=repr(identity)[:60])

    def step(self, step: str) -> StepView:
        """One step closely: its difference, with lines around the changes."""
        label, found = self._find(step)
        before, after = _texts(found)
        hunks = line_hunks(before, after)
        return StepView(
            id=found.id,
            state=found.id,
            before=_near(before, [(hunk.before_start, hunk.before_count) for hunk in hunks]),
            after=_near(after, [(hunk.after_start, hunk.after_count) for hunk in hunks]),
            hunks=hunks,
            rewrites=tuple(rewrite_summary(firing) for firing in found.firings[:_REWRITES]),
            rewrite_count=len(found.firings),
            call=f"s[{label!r}].diff()",
        )

    def rewrite(self, step: str, index: int) -> RewriteView:
        """One rule that fired: the expression before and after it, as text."""
        _, found = self._find(step)
        if not 0 <= index < len(found.firings):
            raise WorkbenchError("E-REWRITE-UNKNOWN", f"the step has {len(found.firings)} rewrites", found=str(index))
        firing = found.firings[index]
        before, after = _fragment(firing.before), _fragment(firing.after)
        return RewriteView(
            step=found.id,
            index=index,
            rewrite=rewrite_summary(firing),
            before=TextView.of(before),
            after=TextView.of(after),
            hunks=line_hunks(before.split("\n"), after.split("\n")),
            why=firing.rule.doc,
        )

    def text(self, step: str, side: Any, start: int, count: int) -> Chunk:
        """Further lines of the program before or after a step."""
        _, found = self._find(step)
        lines = _texts(found)[0 if side == "before" else 1]
        return Chunk(start, tuple(lines[start : start + count]))

    def rewrite_hunks(self, step: str, index: int) -> tuple[Hunk, ...]:
        return self.rewrite(step, index).hunks


@lru_cache(maxsize=256)
def _count_state(state: Any) -> int:
    return operation_count(IRModule.from_state(state))


def _count(module: IRModule) -> int:
    return _count_state(module.state)


@lru_cache(maxsize=64)
def _lines(state: Any) -> tuple[str, ...]:
    return tuple(script(IRModule.from_state(state)).rstrip("\n").split("\n"))


def _texts(step: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    before = _lines(step.previous.stage.module.state) if step.previous is not None else ()
    return before, _lines(step.stage.module.state)


def _near(lines: tuple[str, ...], places: list[tuple[int, int]]) -> TextView:
    """The lines near the changes as chunks; short texts whole."""
    if len(lines) <= 400:
        return TextView(len(lines), (Chunk(0, lines),) if lines else ())
    chunks: list[Chunk] = []
    shown_to = 0
    for start, count in places or [(0, 200)]:
        low, high = max(shown_to, start - _AROUND), min(len(lines), start + count + _AROUND)
        if high <= low:
            continue
        if chunks and low == shown_to:
            last = chunks.pop()
            low = last.start
        chunks.append(Chunk(low, lines[low:high]))
        shown_to = high
        if shown_to - chunks[0].start > 1200:
            break
    return TextView(len(lines), tuple(chunks))


def rewrite_summary(firing: Any) -> RewriteSummary:
    """A firing of a rule for the list."""
    return RewriteSummary(firing.rule.name, firing.rule.where, _brief(firing.before), firing.nanoseconds / 1000)


def _brief(node: Any) -> str:
    first = _fragment(node).strip().split("\n")[-1]
    return first if len(first) <= 90 else first[:89] + "…"


def _fragment(node: Any) -> str:
    """A piece of a program as text: the expression with its nearest operands."""
    from ..relay.ir.script import expression_text

    if isinstance(node, Expr):
        return expression_text(node)
    return script(node) if isinstance(node, Node) else html.escape(repr(node))
