"""The schedule editor: the loop tree, the primitives with the reasons against them, and the code so far.

Invariant: legality is the model's; the screen sends one primitive with its arguments and shows what comes
back. A refusal leaves the schedule, the screen's pointer and its history as they were.

    editor = ScheduleEditor(schedule_model); editor
    editor.schedule                       # the schedule after the clicks, a value like any other
"""

from __future__ import annotations

from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ui.models import ScheduleModel
from workbench.ui.protocol import Answer, argument
from workbench.ui.screen import Screen


class ScheduleEditor(Screen):
    """A screen on a `ScheduleModel`."""

    def __init__(self, model: ScheduleModel, fallback_html: str = "") -> None:
        self._model = model
        commands = {
            "open": lambda args: self._show(),
            "reasons": self._reasons,
            "apply": self._apply,
            "undo": lambda args: self._go("undo", args),
            "redo": lambda args: self._go("redo", args),
            "switch": self._switch,
            "ways": self._ways,
            "accept": self._accept,
            "force": self._force,
        }
        super().__init__("schedule", commands, fallback_html)

    @property
    def model(self) -> ScheduleModel:
        """The schedule shown; assigning shows another one in every view of this screen."""
        return self._model

    @model.setter
    def model(self, model: ScheduleModel) -> None:
        self._model = model
        self.announce("changed", state=model.view().state)

    @property
    def schedule(self) -> Any:
        """The schedule after the clicks; `session.edit(schedule={name: editor.schedule})` goes on with it."""
        return self._model.schedule

    @property
    def code(self) -> str:
        """The Python that leads to the schedule shown."""
        return self._model.view().code

    def _show(self) -> Answer:
        view = self._model.view()
        return Answer(view.state, view)

    def _reasons(self, args: dict[str, Any]) -> Answer:
        view = self._model.reasons(argument(args, "selection", str))
        return Answer(view.state, view)

    def _apply(self, args: dict[str, Any]) -> Answer:
        self._require_current(args)
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        return self._move(self._model.apply(primitive, selection, argument(args, "arguments", dict, {})))

    def _go(self, direction: str, args: dict[str, Any]) -> Answer:
        self._require_current(args)
        return self._move(self._model.undo() if direction == "undo" else self._model.redo())

    def _ways(self, args: dict[str, Any]) -> Answer:
        view = self._model.ways(argument(args, "primitive", str), argument(args, "selection", str))
        return Answer(view.state, view)

    def _accept(self, args: dict[str, Any]) -> Answer:
        self._require_current(args)
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        return self._move(self._model.accept(primitive, selection, argument(args, "number", int)))

    def _force(self, args: dict[str, Any]) -> Answer:
        self._require_current(args)
        primitive, selection = argument(args, "primitive", str), argument(args, "selection", str)
        return self._move(self._model.force(primitive, selection))

    def _switch(self, args: dict[str, Any]) -> Answer:
        self._require_current(args)
        return self._move(self._model.switch(argument(args, "branch", int)))

    def _move(self, model: ScheduleModel) -> Answer:
        answer_view = model.view()
        self.model = model
        return Answer(answer_view.state, answer_view)

    def _require_current(self, args: dict[str, Any]) -> None:
        """A click on a picture that is out of date must not change anything else than the person saw."""
        seen, state = argument(args, "seen", str, None), self._model.view().state
        if seen is not None and seen != state:
            raise WorkbenchError(
                "E-UI-STALE",
                "the schedule has changed since this was drawn",
                found=f"state {seen[:16]}",
                expected=f"state {state[:16]}",
                fix="look at the new state and choose again",
                kept="the schedule is unchanged",
            )
