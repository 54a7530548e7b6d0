"""Further commands of the schedule editor: try first, drop, rank, time, the tree of schedules, edited code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.reliance import moment
from workbench.schedule.schedule import Schedule
from workbench.target.target import Target
from workbench.ui.protocol import Answer, argument
from workbench.views.editor_extras import (
    dropped,
    history_of,
    previewed,
    rank_options,
    replay,
    targets_of,
    time_of,
)
from workbench.views.facts import roofline_picture
from workbench.views.schedule import EditorModel

NAMES = ("preview", "targets", "drop", "ranks", "time", "time_here", "tree", "go", "replay", "roofline")

_Command = Callable[[dict[str, Any]], Answer]


class ScheduleExtras:
    """The commands; `do(args, command)` carries one out on the picture that the person saw."""

    def __init__(
        self,
        model: Callable[[], EditorModel],
        do: Callable[[dict[str, Any], Callable[[], None]], Answer],
        target: Callable[[], Target | None],
    ) -> None:
        self._model, self._do, self._target = model, do, target
        self._rates: dict[tuple[str, str, int], float] = {}
        """Operations a second by what was measured: the schedule's state, the target, and what users had entered by
        then."""

    def table(self) -> dict[str, _Command]:
        """The commands by name."""
        return {
            "preview": self._preview,
            "targets": self._targets,
            "drop": self._drop,
            "ranks": self._ranks,
            "time": self._time,
            "time_here": self._time_here,
            "tree": lambda args: self._tree(),
            "go": self._go,
            "replay": self._replay,
            "roofline": lambda args: self._roofline(),
        }

    @property
    def _schedule(self) -> Schedule:
        return self._model().schedule

    def _preview(self, args: dict[str, Any]) -> Answer:
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        made = self._model().tried(primitive, selection, argument(args, "arguments", dict, {}))
        return Answer(self._schedule.fingerprint(), previewed(made, self._schedule))

    def _targets(self, args: dict[str, Any]) -> Answer:
        found = targets_of(self._schedule, argument(args, "selection", str))
        return Answer(self._schedule.fingerprint(), {"targets": found})

    def _drop(self, args: dict[str, Any]) -> Answer:
        selection, onto = argument(args, "selection", str), argument(args, "onto", str)
        return self._do(args, lambda: self._schedule.follow(dropped(self._schedule, selection, onto)))

    def _ranks(self, args: dict[str, Any]) -> Answer:
        """The place of every primitive that works at a box, with the arguments that its form opens with."""
        model, selection = self._model(), argument(args, "selection", str)
        made: dict[str, Schedule] = {}
        for name, given in model.reasons(selection).arguments.items():
            try:
                made[name] = model.tried(name, selection, given)
            except WorkbenchError:
                continue
        return Answer(self._schedule.fingerprint(), {"ranks": rank_options(made, self._schedule)})

    def _time(self, args: dict[str, Any]) -> Answer:
        """The time of the schedule with one primitive more, which is not applied."""
        model = self._model()
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        made = model.tried(primitive, selection, model.reasons(selection).arguments.get(primitive, {}))
        return Answer(self._schedule.fingerprint(), self._timed(made))

    def _time_here(self, args: dict[str, Any]) -> Answer:
        self._timed(self._schedule)
        return self._tree()

    def _timed(self, schedule: Schedule) -> dict[str, Any]:
        found = time_of(schedule, self._target())
        if found["seconds"] is not None:
            self._rates[schedule.fingerprint(), *self._measured_on()] = found["rate"]
        return found

    def _tree(self) -> Answer:
        here = self._measured_on()
        rates = {state: rate for (state, *on), rate in self._rates.items() if tuple(on) == here}
        return Answer(self._schedule.fingerprint(), history_of(self._schedule, rates))

    def _measured_on(self) -> tuple[str, int]:
        return str(self._target()), moment()

    def _roofline(self) -> Answer:
        """The path that the steps took under the roofline, as a picture."""
        return Answer(self._schedule.fingerprint(), {"svg": roofline_picture(self._schedule, self._target())})

    def _go(self, args: dict[str, Any]) -> Answer:
        number = argument(args, "number", int)
        return self._do(args, lambda: self._gone(number))

    def _gone(self, number: int) -> None:
        """Go to a state; the one looked at stays, with what was asked there: a restore asks it too."""
        if number != self._schedule.moves.here:
            self._schedule.moves.go(number)

    def _replay(self, args: dict[str, Any]) -> Answer:
        code = argument(args, "code", str)
        return self._do(args, lambda: self._replayed(replay(self._schedule, code)))

    def _replayed(self, made: Schedule) -> None:
        """Where the schedule has been already, it goes there, with what can be redone from there."""
        number = self._schedule.moves.find(made.moves.fingerprint)
        if number is None:
            self._schedule.follow(made)
        else:
            self._gone(number)
