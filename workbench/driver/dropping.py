"""What of the edits of a session does not apply any more: told before it is dropped, and dropped.

    plan, losses = applicable_plan(session)     # `session.rebase()` is the session of this plan
    losses[0]                                   # Loss(step="Edit#2", function="main", where=..., why=...)

An edit that does not apply hides those after it, so the steps run up to each of them in turn, in sessions that are
only tried and count among no branches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .edits import applicable
from .plan import CompilePlan
from .rebase import RebaseError

if TYPE_CHECKING:
    from .session import Session


@dataclass(frozen=True)
class Loss:
    """A part of an edit that does not apply."""

    step: str
    """The label of the edit's step in the session asked."""
    function: str
    where: str
    why: str


def applicable_plan(session: Session) -> tuple[CompilePlan, tuple[Loss, ...]]:
    """The plan with what applies of every edit, and what does not, in the order of the steps."""
    made, labels, losses = session, list(session.labels), list[Loss]()
    for _ in range(len(session)):
        stopped = next((step for step in map(made.step, range(len(made))) if step.error is not None), None)
        if stopped is None or not isinstance(stopped.error, RebaseError):
            break
        index, reports = made.labels.index(stopped.label), stopped.error.reports
        losses += [Loss(labels[index], one.name, item.where, item.why) for one in reports for item in one.dropped]
        row = applicable(made.plan.rows[index - 1], reports, stopped.stage, made.history.contents, made.target)
        plan = made.plan.without(index) if row is None else made.plan.with_row(index, row)
        if row is None:
            del labels[index]
        made = replace(made, plan=plan, is_branch=False)
    return made.plan, tuple(losses)
