"""What a screen has worked out of a session, as long as it would be the same again.

    found, steady = worked_out(session, lambda: intermediates(session, inputs, step))
    steady.holds()       # not once a user's operator, rule or intrinsic that was read is defined otherwise
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from workbench.core import reliance

if TYPE_CHECKING:
    from workbench.driver.session import Session

T = TypeVar("T")


class Steady:
    """What was read of users' tables by the steps of a session that were computed, and beside them."""

    def __init__(self, session: Session, *beside: reliance.Reliance) -> None:
        self._relied = (*(step.relied for step in session.history.computed(session.actions)), *beside)

    def holds(self) -> bool:
        """Whether all of it says the same now."""
        now = reliance.Now()
        return all(one.holds(now) for one in self._relied)


def worked_out(session: Session, work: Callable[[], T]) -> tuple[T, Steady]:
    """The result, and how long it holds."""
    with reliance.recording() as recorded:
        made = work()
    return made, Steady(session, recorded.settled())
