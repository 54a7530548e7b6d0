"""What a computation told while it ran, so that whoever uses its result again can tell it again.

    with told.hearing() as heard:
        made = lower(function)
    outcome = heard.told()        # keep it beside what was made
    ...
    if outcome.holds(now):
        outcome.again()           # to who listens now

Three things are told: origins of nodes, rewrites that fired, and what was read of tables that users add to.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from . import origin, reliance, rewrite


@dataclass(frozen=True, eq=False)
class Told:
    """See the module's header."""

    origins: origin.OriginTable | None
    """None where nobody asked for origins: then they are not known."""
    firings: tuple[Any, ...] = ()
    relied: tuple[reliance.Reliance, ...] = ()

    def serves(self) -> bool:
        """Whether all is known that is listened for now."""
        return self.origins is not None or origin.active() is None

    def holds(self, now: reliance.Now) -> bool:
        """Whether what was read says the same now."""
        return all(one.holds(now) for one in self.relied)

    def after(self, before: Told) -> Told:
        """This, heard after `before` with its origins as the earlier ones, as one."""
        return replace(self, firings=(*before.firings, *self.firings), relied=(*before.relied, *self.relied))

    def again(self) -> None:
        """Tell it to who listens now."""
        table = origin.active()
        if table is not None and self.origins is not None:
            table.join(self.origins)
        rewrite.log_again(self.firings)
        for one in self.relied:
            reliance.note_again(one)


class Heard:
    """What has been told so far inside a `hearing`."""

    def __init__(self, origins: origin.OriginTable | None, log: list[Any], recorded: reliance.Recording) -> None:
        self._origins, self._log, self._recorded = origins, log, recorded

    def told(self) -> Told:
        """All of it, as it is now."""
        relied = self._recorded.settled()
        return Told(self._origins, tuple(self._log), (relied,) if relied.lookups else ())


@contextmanager
def hearing(earlier: origin.OriginTable | None = None) -> Generator[Heard]:
    """Collect what is told inside the block, beside who listens outside of it: tell it `again` to reach them.

    Origins are collected where somebody listens for them, into a table that knows the same old nodes; with `earlier`
    always, into one that begins with what `earlier` knows.  What was told before an error is lost with it.
    """
    known = origin.active() if earlier is None else earlier
    with rewrite.logging() as log, reliance.recording() as recorded:
        if known is None:
            yield Heard(None, log, recorded)
            return
        with origin.recording() as table:
            table.share_old(known)
            if earlier is not None:
                table.join(earlier)
            yield Heard(table, log, recorded)
