"""One screen for a session: its layers in a row, two of them beside each other, one selection lit in all.

Selecting is local to the page, which has the link table of the kernel; the kernel of the notebook is told afterwards.

    screen = LayersScreen(LayersModel(session)); screen
    screen.selected               # numbers of the selected classes: session.provenance.links.things(screen.selected)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.ui.protocol import Answer, argument
from workbench.ui.schedule import ScheduleCommands
from workbench.ui.screen import Screen
from workbench.views.layers import LayersModel

if TYPE_CHECKING:
    from workbench.driver.session import Session
    from workbench.schedule.schedule import Schedule

_LINES_LIMIT: Final = 2_000
_OPENED_LIMIT: Final = 64
_SELECTED_LIMIT: Final = 10_000
_SCHEDULING: Final = ("open", "reasons", "apply", "undo", "redo", "switch", "ways", "accept", "force")
"""Commands of the schedule editor."""


class LayersScreen(Screen):
    """A screen on a `LayersModel`."""

    def __init__(self, model: LayersModel, fallback_html: str = "") -> None:
        self._model = model
        self.selected: tuple[int, ...] = ()
        self._editors: dict[str, ScheduleCommands] = {}
        """Of this session's kernels, by name."""
        commands = {
            **{f"schedule.{name}": self._scheduling(name) for name in _SCHEDULING},
            "open": self._open,
            "kernels": self._kernels,
            "pane": self._pane,
            "lines": self._lines,
            "links": self._links,
            "graph": self._graph,
            "select": self._select,
        }
        super().__init__("layers", commands, fallback_html)

    @property
    def session(self) -> Session:
        """The session shown, with all that was changed on the screen; assigning another one shows it in every view."""
        return self._model.session

    @session.setter
    def session(self, session: Session) -> None:
        self._editors.clear()
        self._show(session)

    def _show(self, session: Session) -> None:
        self._model = LayersModel(session)
        self.announce("changed")

    # --- schedules ---

    def _scheduling(self, name: str) -> Callable[[dict[str, Any]], Answer]:
        """A command of the schedule editor, for the kernel that is asked about; its moves become the session's."""

        def run(args: dict[str, Any]) -> Answer:
            kernel = argument(args, "kernel", str)
            commands = self._editor(kernel)
            before = commands.schedule.fingerprint()
            answer = commands.table()[name](args)
            if commands.schedule.fingerprint() != before:
                self._take_over(kernel, commands.schedule)
            return answer

        return run

    def _editor(self, kernel: str) -> ScheduleCommands:
        if kernel not in self._editors:
            self._editors[kernel] = ScheduleCommands(self.session.schedule(kernel), lambda: None)
        return self._editors[kernel]

    def _take_over(self, kernel: str, schedule: Schedule) -> None:
        """Show the session with a kernel scheduled otherwise; where it refuses that, the step is taken back."""
        try:
            made = self.session.edit(schedule={kernel: schedule.copy()})
        except WorkbenchError:
            schedule.moves.back()
            raise
        self._show(made)

    # --- looking ---

    def _open(self, args: dict[str, Any]) -> Answer:
        view = self._model.view()
        return Answer(view.state, view)

    def _kernels(self, args: dict[str, Any]) -> Answer:
        kernels = [kernel.to_json() for kernel in self._model.kernels()]
        return Answer("", {"kernels": kernels})

    def _pane(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._model.pane(argument(args, "layer", str), argument(args, "kernel", str, "")))

    def _lines(self, args: dict[str, Any]) -> Answer:
        start, count = argument(args, "start", int), argument(args, "count", int)
        if start < 0 or not 0 < count <= _LINES_LIMIT:
            raise WorkbenchError(
                "E-UI-ARGUMENT", "lines out of reach", found=f"start={start}, count={count}",
                expected=f"start from 0, at most {_LINES_LIMIT} lines",
            )  # fmt: skip
        layer, kernel = argument(args, "layer", str), argument(args, "kernel", str, "")
        return Answer("", self._model.lines(layer, kernel, start, count))

    def _links(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._model.links(argument(args, "kernel", str)))

    def _graph(self, args: dict[str, Any]) -> Answer:
        opened = tuple(str(one) for one in argument(args, "opened", list, [])[:_OPENED_LIMIT])
        return Answer("", self._model.graph(argument(args, "layer", str), opened))

    def _select(self, args: dict[str, Any]) -> Answer:
        given = argument(args, "classes", list)[:_SELECTED_LIMIT]
        self.selected = tuple(number for number in given if isinstance(number, int) and not isinstance(number, bool))
        return Answer("")
