"""The one screen: a session's layers in a row, two of them beside each other, what each consists of, one selection.

Selecting is local to the page, which has the link table of the kernel; the kernel of the notebook is told afterwards.
What a cell does to the session or to the schedule on the screen redraws it; what is done on the screen, a cell sees.

    screen = Workbench(session); screen
    screen.session                # with all that was changed on the screen; assigning another one shows that
    screen.selection              # numbers of selected classes: session.provenance.links.things(screen.selection)
    screen.inputs = {"x": photo}  # what its checks run on; without, random numbers
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.driver.given_inputs import drawn_inputs
from workbench.driver.history import identities
from workbench.ui.ablation import ablation_commands
from workbench.ui.branches import BranchCommands
from workbench.ui.changes import Changes
from workbench.ui.changes_store import ChangesStore
from workbench.ui.changes_subject import SessionSubject
from workbench.ui.checks import ChecksCommands
from workbench.ui.journal import Journal
from workbench.ui.kept import Kept
from workbench.ui.layers import LayerCommands
from workbench.ui.lens import LensCommands
from workbench.ui.lens_extras import NAMES as LENS_EXTRAS
from workbench.ui.native import NativeCommands
from workbench.ui.pipeline import PipelineCommands
from workbench.ui.places import PlaceCommands
from workbench.ui.protocol import Answer, argument
from workbench.ui.reading import ReadingCommands
from workbench.ui.remarks import remark_commands
from workbench.ui.schedule import ScheduleCommands
from workbench.ui.schedule_extras import NAMES as EXTRAS
from workbench.ui.screen import Screen
from workbench.ui.tensors import TensorCommands
from workbench.ui.why_not import why_not_commands
from workbench.views.layers import LayersModel
from workbench.views.pipeline import SessionModel
from workbench.views.snapshot import Snapshot, schedule_snapshot, snapshot_of

if TYPE_CHECKING:
    from workbench.driver.session import Session
    from workbench.schedule.schedule import Schedule

_SELECTED_LIMIT: Final = 10_000
_SCHEDULING: Final = ("open", "reasons", "apply", "undo", "redo", "switch", "ways", "accept", "force", *EXTRAS)
"""Commands of the schedule editor."""
_LENS: Final = ("open", "release", "exact", *LENS_EXTRAS)
"""Commands of the tile lens."""


class Workbench(Screen):
    """A screen on a session, perhaps with one kernel's schedule, which a cell holds too, opened in its editor."""

    def __init__(self, session: Session, schedule: Schedule | None = None, at: str = "") -> None:
        self._steps = PipelineCommands(SessionModel(session), self._announced)
        self._model = LayersModel(session)
        self._looking = LayerCommands(lambda: self._model)
        self._branches = BranchCommands(lambda: self._model, self._go)
        self.checks = ChecksCommands(lambda: self.session, self._inputs_of_checks, lambda: self.announce("checks"))
        """Badges of the program shown; `screen.checks.check = session.check(inputs)` shows those of a cell."""
        self.inputs: Mapping[str, Any] | None = None
        """What checks run on; None for random numbers."""
        self.selection: tuple[int, ...] = ()
        self._at = at
        """The place that a page begins with (`ui.places`)."""
        self._journal = Journal(session)
        self._places = PlaceCommands(
            lambda: self.session, self._inputs_of_checks, lambda: self._journal.to_json(self.session)
        )
        self._editors: dict[str, ScheduleCommands] = {}
        self._lenses: dict[str, LensCommands] = {}
        """Both of this session's kernels, by name."""
        self._moved: set[str] = set()
        """Kernels whose schedule a cell has moved since the session was last made to follow."""
        self._given = schedule.func_working_on if schedule is not None else ""
        if schedule is not None:
            self._editors[self._given] = ScheduleCommands(schedule, lambda: self._behind(self._given))
        subject = SessionSubject(
            lambda: self._model.session, lambda kernel: self._editor(kernel).schedule, self._steps, self._given
        )
        self._changes = Changes(subject, ChangesStore.of_user())
        commands = {
            **self._changes.table(),
            **self._looking.table(),
            **self._branches.table(),
            **self.checks.table(),
            **NativeCommands(lambda: self._model.session).table(),
            **ReadingCommands(lambda: self._model).table(),
            **self._places.table(),
            **TensorCommands(lambda: self.session, self._inputs_of_checks).table(),
            **remark_commands(lambda: self._model),
            **why_not_commands(lambda: self._model),
            **ablation_commands(lambda: self.session, self._inputs_of_checks),
            **{f"pipeline.{name}": command for name, command in self._steps.table().items()},
            **{f"schedule.{name}": self._scheduling(name) for name in _SCHEDULING},
            **{f"lens.{name}": self._through_lens(name) for name in _LENS},
            "open": self._open,
            "select": self._select,
            "measure": self._measure,
            "take_back": self._take_back,
            "set_attribute": self._set_attribute,
        }
        recorded = {name: self._changes.recording(name, command) for name, command in commands.items()}
        followed = {name: self._journal.keeping(name, self._following(run)) for name, run in recorded.items()}
        self._changes.start()
        super().__init__(
            "workbench", followed, Kept(lambda: self._model.session.heading, self._snapshot, self._snapshot_key)
        )

    # --- what a cell sees and does ---

    @property
    def session(self) -> Session:
        """The session shown, with all that was changed on the screen; assigning another one shows it in every view."""
        self._follow()
        return self._model.session

    @session.setter
    def session(self, session: Session) -> None:
        self._editors.clear()
        self._moved.clear()
        self._journal.restart(session)
        self._go(session, "# another session, from a cell")
        self._changes.begin()
        self._changes.start()

    def _go(self, session: Session, call: str) -> None:
        self._steps.edits.go(SessionModel(session), call)

    @property
    def views(self) -> dict[str, str]:
        """The views that were kept by name: `session.show(at=screen.views[name])` opens one."""
        return self._places.views

    def journal(self) -> str:
        """What was asked of this screen, as the text of a file that `workbench replay` does again."""
        return self._journal.to_json(self.session)

    @property
    def schedule(self) -> Schedule:
        """The schedule that the screen was opened for.  Raises `WorkbenchError` where it was opened for a session."""
        if not self._given:
            raise WorkbenchError(
                "E-UI-ARGUMENT", "this screen was opened for a session", fix="screen.session.schedule(kernel)"
            )
        return self._editor(self._given).schedule

    @property
    def code(self) -> str:
        """The Python that leads to the schedule that the screen was opened for."""
        return self.schedule.code()

    @property
    def selected(self) -> str:
        """The name of the selected step."""
        return self._steps.selected

    @property
    def selected_rewrite(self) -> int | None:
        """The number of the selected rewrite; None for the whole step."""
        return self._steps.selected_rewrite

    def select(self, step: str, rewrite: int | None = None) -> None:
        """Show what a step (by id, or by name: the first of that name) changed, and perhaps one rewrite of it."""
        self._steps.select(step, rewrite)

    # --- one truth for the parts of the screen ---

    def _announced(self, name: str, **args: Any) -> None:
        """The stepper's part tells of a change: the other parts show the same session."""
        if name == "changed":
            session: Any = self._steps.model.session  # type: ignore[attr-defined]
            if session is not self._model.session:
                self._model = LayersModel(session)
                self._keep_editors(session)
        self.announce(name, **args)

    def _keep_editors(self, session: Session) -> None:
        """Editors whose schedule is no longer the session's are made anew when they are looked at."""
        for kernel in list(self._editors):
            if kernel not in session.kernels:
                del self._editors[kernel]
            elif session.schedule(kernel).fingerprint() != self._editors[kernel].schedule.fingerprint():
                if kernel != self._given:
                    del self._editors[kernel]

    def _behind(self, kernel: str) -> None:
        self._moved.add(kernel)
        self.announce("changed")

    def _following(self, command: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
        def run(args: dict[str, Any]) -> Answer:
            self._follow()
            return command(args)

        return run

    def _follow(self) -> None:
        """Make the session of the schedules that cells have moved."""
        for kernel in tuple(self._moved):
            self._moved.discard(kernel)
            self._take_over(kernel, self._editors[kernel].schedule)

    def _take_over(self, kernel: str, schedule: Schedule, call: str = "") -> None:
        made = self._model.session.edit(schedule={kernel: schedule.copy()})
        last = schedule.moves.done[-1].code if schedule.moves.done else "sch.restart()"
        self._go(made, call or last)

    # --- schedules ---

    def _scheduling(self, name: str) -> Callable[[dict[str, Any]], Answer]:
        """A command of the schedule editor, for the kernel that is asked about; its moves become the session's."""

        def run(args: dict[str, Any]) -> Answer:
            kernel = argument(args, "kernel", str)
            commands = self._editor(kernel)
            before = commands.schedule.fingerprint()
            answer = commands.table()[name](args)
            self._moved.discard(kernel)
            if commands.schedule.fingerprint() != before:
                try:
                    self._take_over(kernel, commands.schedule)
                except WorkbenchError:
                    commands.schedule.moves.back()
                    self._moved.discard(kernel)
                    raise
            return answer

        return run

    def _through_lens(self, name: str) -> Callable[[dict[str, Any]], Answer]:
        """A command of the tile lens, on the schedule that the kernel's editor has too."""

        def run(args: dict[str, Any]) -> Answer:
            kernel = argument(args, "kernel", str)
            lens = self._lens(kernel)
            before = lens.schedule.fingerprint()
            answer = lens.table()[name](args)
            self._moved.discard(kernel)
            if lens.schedule.fingerprint() != before:
                try:
                    self._take_over(kernel, lens.schedule, lens.call)
                except WorkbenchError:
                    lens.take_back()
                    self._moved.discard(kernel)
                    raise
            return answer

        return run

    def _lens(self, kernel: str) -> LensCommands:
        schedule = self._editor(kernel).schedule
        found = self._lenses.get(kernel)
        if found is None or found.schedule is not schedule:
            found = self._lenses[kernel] = LensCommands(schedule, lambda: None)
        return found

    def _editor(self, kernel: str) -> ScheduleCommands:
        if kernel not in self._editors:
            self._editors[kernel] = ScheduleCommands(self._model.session.schedule(kernel), lambda: None)
        return self._editors[kernel]

    # --- what a notebook keeps ---

    def _snapshot(self) -> Snapshot:
        if self._given in self._editors:
            return schedule_snapshot(self._editors[self._given].schedule)
        return snapshot_of(self._model.session, self._steps.selected, self._given)

    def _snapshot_key(self) -> tuple[Any, ...]:
        """What the snapshot depends on; asking runs nothing."""
        session = self._model.session
        lowered = session.history.peek(session.actions, session.plan.kernel_step()) is not None
        moved = self._editors[self._given].schedule.fingerprint() if self._given in self._editors else ""
        return (identities(session.actions)[-1], self._steps.selected_step, lowered, moved)

    def _inputs_of_checks(self) -> tuple[Mapping[str, Any], str]:
        if self.inputs is not None:
            return self.inputs, "screen.inputs"
        session = self._model.session
        return drawn_inputs(session.history.step(session.actions, 0).stage.module), "random inputs"

    # --- the whole ---

    def _open(self, args: dict[str, Any]) -> Answer:
        view = self._model.view()
        facts = self._steps.edits.facts()
        start = {"kernel": self._given, "editing": bool(self._given), "step": self._steps.selected_step}
        start |= {"at": self._at}
        told = {**view.to_json(), **facts, **self._branches.facts(), **self._changes.facts()}
        return Answer(view.state, {**told, "calls": self._steps.edits.calls, "start": start})

    def _select(self, args: dict[str, Any]) -> Answer:
        given = argument(args, "classes", list)[:_SELECTED_LIMIT]
        self.selection = tuple(number for number in given if isinstance(number, int) and not isinstance(number, bool))
        return Answer("")

    def _measure(self, args: dict[str, Any]) -> Answer:
        """A kernel's time on this machine, its rate and share of the peak."""
        number = argument(args, "number", int, None)
        session = self._model.session if number is None else self._model.session.branches[number]
        found = session.schedule(argument(args, "kernel", str)).measure()
        return Answer("", {"text": str(found), "seconds": found.seconds, "share": found.share, "rate": found.rate})

    def _take_back(self, args: dict[str, Any]) -> Answer:
        """A kernel's schedule without one of its moves (from 1); the later ones are done again."""
        kernel, number = argument(args, "kernel", str), argument(args, "number", int)
        schedule = self._editor(kernel).schedule
        moves = schedule.moves.done
        if not 0 < number <= len(moves):
            expected = f"1 to {len(moves)}"
            raise WorkbenchError("E-UI-ARGUMENT", "there is no such move", found=str(number), expected=expected)
        before = schedule.fingerprint()
        step = sum(len(move.steps) for move in moves[:number])
        schedule.leave_out(step)
        self._moved.discard(kernel)
        if schedule.fingerprint() != before:
            self._take_over(kernel, schedule, f"sch.leave_out({step})")
        return Answer("")

    def _set_attribute(self, args: dict[str, Any]) -> Answer:
        """Change an attribute of a call of a graph; what follows is computed anew."""
        layer, step, place = (argument(args, name, str) for name in ("layer", "step", "place"))
        number, name, text = argument(args, "number", int), argument(args, "name", str), argument(args, "text", str)
        self._go(*self._model.with_attribute(layer, step, place, number, name, text[:1000]))
        return Answer("")
