"""The verifier's word on each step of a screen, asked step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.driver.history import identities
from workbench.driver.verified import Verified, verified
from workbench.ui.protocol import Answer, argument
from workbench.ui.worked_out import Steady, worked_out

if TYPE_CHECKING:
    from workbench.driver.session import Session

_SHOWN: Final = 20
"""Problems of a step that are sent to a page."""
_KEPT: Final = 200


class VerifyCommands:
    """The command; what was found of a step is kept by the state it led to, while users' operators say the same."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session
        self._known: dict[str, tuple[Verified, Steady]] = {}

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The command by its name."""
        return {"pipeline.verify": self._verify}

    def _verify(self, args: dict[str, Any]) -> Answer:
        wanted, session = argument(args, "step", str), self._session()
        known = identities(session.actions)
        if wanted not in known:
            raise WorkbenchError("E-STEP-UNKNOWN", "there is no such step in this session", found=repr(wanted)[:60])
        step = session.step(known.index(wanted))
        kept = self._known.get(step.state)
        if kept is None or not kept[1].holds():
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            kept = self._known[step.state] = worked_out(session, lambda: verified(step))
        found, _ = kept
        problems = [str(one) for one in found.problems[:_SHOWN]]
        return Answer("", {"functions": found.functions, "problems": problems, "count": len(found.problems)})
