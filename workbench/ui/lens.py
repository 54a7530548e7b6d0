"""The tile lens: the order of visits of one loop nest, drawn in the page; on release a factor becomes the schedule's.

While a tile's edge is dragged nothing is asked: `open` has sent the formulas.  `release` redoes the split with the
new factor and the later moves on top, or refuses and says which move is in the way; `exact` then runs the program.

    lens = TileLens(schedule); lens
    schedule.code()                       # with the released factors in it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from workbench.analysis.cache import simulate_cache
from workbench.core.errors import WorkbenchError
from workbench.driver.measure import Measurement, measure
from workbench.schedule.schedule import Schedule
from workbench.ui.lens_extras import lens_extras
from workbench.ui.protocol import Answer, argument, items, outdated_schedule
from workbench.ui.screen import Screen
from workbench.views.lens import MeasuredView, lens_of

_ACCESSES_LIMIT: Final = 1_200_000
"""Accesses that are simulated one by one while a person waits."""
PATIENCE: Final = 0.3
"""Seconds that measuring may take, if one run does not take longer."""


class LensCommands:
    """The commands of a lens on one schedule; `moved` is called when a cell has moved the schedule."""

    def __init__(
        self, schedule: Schedule, moved: Callable[[], None], timed: Callable[[], Measurement] | None = None
    ) -> None:
        """`timed` measures what is compiled of the schedule; without, the schedule's function is measured alone."""
        self.schedule = schedule
        self._tell, self._timed = moved, timed or (lambda: measure(schedule, patience=PATIENCE))
        self._block = ""
        self._told = False
        """Whether the pages know that they are behind; the next one that looks resets it."""
        self.call = ""
        """The Python that does what was released last."""
        schedule.watch(self._moved)

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        own = {"open": self._open, "release": self._release, "exact": self._exact}
        return {**lens_extras(lambda: self.schedule), **own}

    def _moved(self) -> None:
        if not self._told:
            self._told = True
            self._tell()

    def _open(self, args: dict[str, Any]) -> Answer:
        return self._show(argument(args, "block", str, self._block))

    def _show(self, block: str) -> Answer:
        self._told = False
        view = lens_of(self.schedule, block)
        self._block = block
        return Answer(view.state, view)

    def _release(self, args: dict[str, Any]) -> Answer:
        """Give a split other factors.  Raises `WorkbenchError` naming the later move that is refused then."""
        step, factors = argument(args, "step", int), argument(args, "factors", list)
        items({"factors": [one for one in factors if one is not None]}, "factors", int)
        with self.schedule.alone(at_once=True):
            seen, state = argument(args, "seen", str), self.schedule.fingerprint()
            if seen != state:
                raise outdated_schedule(self.schedule.func_working_on, f"state {seen[:16]}", f"state {state[:16]}")
            self._told = True  # the answer shows what moves now
            try:
                self.schedule.change(step, factors=factors)
                self.call = f"sch.change({step}, factors={factors})"
            finally:
                self._told = False
            return self._show(self._block)

    def _exact(self, args: dict[str, Any]) -> Answer:
        """The time on this machine, and the misses of the caches, counted one by one."""
        milliseconds, said, why_not, rate, share = None, "", "", 0.0, 0.0
        try:
            found = self._timed()
            milliseconds, said, rate, share = found.seconds * 1e3, str(found), found.rate, found.share
        except WorkbenchError as error:
            why_not = error.message
        accesses, misses, why_no_misses = 0, (), ""
        try:
            report = simulate_cache(self.schedule, limit=_ACCESSES_LIMIT)
            accesses, misses = report.accesses, tuple((level.cache.name, level.misses) for level in report.levels)
        except WorkbenchError as error:
            why_no_misses = error.message
        state = self.schedule.fingerprint()
        shown = MeasuredView(state, milliseconds, said, why_not, accesses, misses, why_no_misses, rate, share)
        return Answer(state, shown)


class TileLens(Screen):
    """A screen on the tile lens alone."""

    def __init__(self, schedule: Schedule) -> None:
        self._commands = LensCommands(schedule, lambda: self.announce("changed"))
        super().__init__("lens", self._commands.table())

    @property
    def schedule(self) -> Schedule:
        """The schedule shown, with the factors that were released."""
        return self._commands.schedule
