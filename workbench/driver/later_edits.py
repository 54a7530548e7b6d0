"""Which steps behind the schedules change a kernel's loop text by hand.

    later_edits(session, "main")        # ("Edit",)

A move of the schedule goes under such an edit: it is made again on what comes there (`rebase`), and what does not
apply any more stops at its step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .anchors import located
from .plan import EditRow

if TYPE_CHECKING:
    from .session import Session


def later_edits(session: Session, kernel: str) -> tuple[str, ...]:
    """The labels of these steps, in their order; the kernel has a schedule in the session."""
    index, row = session.plan.schedule_row()
    behind = index if row is not None else index - 1
    edits = [
        (label, edit)
        for label, edit in zip(session.labels[behind + 1 :], session.plan.rows[behind:], strict=True)
        if isinstance(edit, EditRow)
    ]
    if not edits:
        return ()
    stage = session.step(session.plan.kernel_step()).stage
    return tuple(label for label, edit in edits if any(kernel in located(delta.at, stage)[0] for delta in edit.deltas))
