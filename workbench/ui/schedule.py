"""The schedule editor: the loop tree, the primitives with the reasons against them, and the code so far.

Invariant: the screen and the cells hold one schedule.  What either side does, both show; a refusal leaves the
schedule and its history as they were.

    editor = ScheduleEditor(schedule); editor
    schedule.code()                       # with the clicks in it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from workbench.schedule.schedule import Schedule
from workbench.target.target import Target
from workbench.ui.kept import Kept
from workbench.ui.protocol import Answer, argument, outdated_schedule
from workbench.ui.schedule_extras import ScheduleExtras
from workbench.ui.screen import Screen
from workbench.views.schedule import EditorModel
from workbench.views.snapshot import schedule_snapshot
from workbench.views.strings.tables import say


class ScheduleCommands:
    """The commands of an editor on one schedule; `moved` is called when the schedule is in another state."""

    def __init__(
        self,
        schedule: Schedule,
        moved: Callable[[], None],
        target: Callable[[], Target | None] = lambda: None,
        edits: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`target` gives what options are timed for; None is this machine.

        `edits` gives the steps behind the schedule that change the loop text by hand.
        """
        self._tell, self._edits = moved, edits
        self._told = False
        """Whether the pages know that they are behind; the next one that looks resets it."""
        self._extras = ScheduleExtras(lambda: self._model, self._do, target)
        self.show(schedule)

    def show(self, schedule: Schedule) -> None:
        """Work on another schedule from now on."""
        self._model = EditorModel(schedule)
        schedule.watch(self._moved)

    @property
    def schedule(self) -> Schedule:
        return self._model.schedule

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {
            **self._extras.table(),
            "open": lambda args: self._show(),
            "reasons": self._reasons,
            "apply": self._apply,
            "undo": lambda args: self._do(args, self._model.undo),
            "redo": lambda args: self._do(args, self._model.redo),
            "switch": self._switch,
            "ways": self._ways,
            "accept": self._accept,
            "force": self._force,
        }

    def _moved(self) -> None:
        """The schedule is in another state: tell the pages once, however many steps a cell does."""
        if not self._told:
            self._told = True
            self._tell()

    def _show(self) -> Answer:
        self._told = False
        with self.schedule.alone():
            view = self._model.view()
        edits = self._edits()
        return Answer(view.state, replace(view, edited=say.schedule.edited_after(edits)) if edits else view)

    def _reasons(self, args: dict[str, Any]) -> Answer:
        view = self._model.reasons(argument(args, "selection", str))
        return Answer(view.state, view)

    def _ways(self, args: dict[str, Any]) -> Answer:
        view = self._model.ways(argument(args, "primitive", str), argument(args, "selection", str))
        return Answer(view.state, view)

    def _apply(self, args: dict[str, Any]) -> Answer:
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        arguments = argument(args, "arguments", dict, {})
        return self._do(args, lambda: self._model.apply(primitive, selection, arguments))

    def _accept(self, args: dict[str, Any]) -> Answer:
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        number = argument(args, "number", int)
        return self._do(args, lambda: self._model.accept(primitive, selection, number))

    def _force(self, args: dict[str, Any]) -> Answer:
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        return self._do(args, lambda: self._model.force(primitive, selection))

    def _switch(self, args: dict[str, Any]) -> Answer:
        branch = argument(args, "branch", int)
        return self._do(args, lambda: self._model.switch(branch))

    def _do(self, args: dict[str, Any], command: Callable[[], None]) -> Answer:
        """Carry out a command on the picture that the person saw.

        Raises `WorkbenchError` where a cell has moved the schedule meanwhile; the pages draw it anew then.
        """
        with self.schedule.alone(at_once=True):
            seen, state = argument(args, "seen", str, None), self.schedule.fingerprint()
            if seen is not None and seen != state:
                self._told = False
                self._moved()
                raise outdated_schedule(self.schedule.func_working_on, f"state {seen[:16]}", f"state {state[:16]}")
            command()
            return self._show()


class ScheduleEditor(Screen):
    """A screen on a `Schedule`."""

    def __init__(self, schedule: Schedule) -> None:
        self._commands = ScheduleCommands(schedule, lambda: self.announce("changed"))
        kept = Kept(
            lambda: self.schedule.func_working_on, lambda: schedule_snapshot(self.schedule),
            lambda: self.schedule.fingerprint(),
        )  # fmt: skip
        super().__init__("schedule", self._commands.table(), kept)

    @property
    def schedule(self) -> Schedule:
        """The schedule shown; `session.edit(schedule={name: editor.schedule})` goes on with it.

        Assigning another one shows it in every view of this screen.
        """
        return self._commands.schedule

    @schedule.setter
    def schedule(self, schedule: Schedule) -> None:
        with self._dispatcher.one_at_a_time:
            self._commands.show(schedule)
            self.announce("changed")

    @property
    def code(self) -> str:
        """The Python that leads to the schedule shown."""
        return self.schedule.code()
