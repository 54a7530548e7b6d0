"""The one screen: a session's layers in a row, two of them beside each other, what each consists of, one selection.

Selecting is local to the page, which has the link table of the kernel; the kernel of the notebook is told afterwards.
What a cell does to the session or to the schedule on the screen redraws it; what is done on the screen, a cell sees.

    screen = Workbench(session); screen
    screen.session                # with all that was changed on the screen; assigning another one shows that
    screen.selection              # numbers of selected classes: session.provenance.links.things(screen.selection)
    screen.inputs = {"x": photo}  # what its checks run on; without, random numbers
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.core.interrupts import interrupts_held
from workbench.driver.given_inputs import drawn_inputs
from workbench.driver.history import identities
from workbench.driver.layers import compiled_apart, lacks_onnx
from workbench.driver.measure import measure_kernel, modelled_cycles
from workbench.driver.session import Session
from workbench.ui.ablation import ablation_commands
from workbench.ui.branches import BranchCommands
from workbench.ui.candidates import CHOOSE, candidate_commands
from workbench.ui.changes import RECORDED, Changes, Command, Record
from workbench.ui.changes_store import ChangesStore
from workbench.ui.changes_subject import SessionSubject
from workbench.ui.checks import ChecksCommands
from workbench.ui.editors import Editors
from workbench.ui.exercise import ExerciseCommands, GivenTask
from workbench.ui.given import GivenInputs, RunInputs
from workbench.ui.journal import Journal, keeping
from workbench.ui.kept import Kept
from workbench.ui.layers import LayerCommands
from workbench.ui.lens_extras import NAMES as LENS_EXTRAS
from workbench.ui.native import NativeCommands
from workbench.ui.pipeline import PipelineCommands
from workbench.ui.places import PlaceCommands
from workbench.ui.protocol import Answer, argument, items, outdated_schedule
from workbench.ui.reading import ReadingCommands
from workbench.ui.remarks import remark_commands
from workbench.ui.runs import run_commands
from workbench.ui.schedule_extras import NAMES as EXTRAS
from workbench.ui.screen import Screen
from workbench.ui.target_commands import TargetCommands
from workbench.ui.tensors import TensorCommands
from workbench.ui.verifying import VerifyCommands
from workbench.ui.why_not import why_not_commands
from workbench.views.layers import LayersModel
from workbench.views.left_out import LeftOut, missing
from workbench.views.pipeline import SessionModel
from workbench.views.snapshot import Snapshot, schedule_snapshot, snapshot_of
from workbench.views.strings.tables import say

if TYPE_CHECKING:
    from workbench.schedule.schedule import Schedule

_SELECTED_LIMIT: Final = 10_000
_SCHEDULING: Final = ("open", "reasons", "apply", "undo", "redo", "switch", "ways", "accept", "force", *EXTRAS)
"""Commands of the schedule editor."""
_LENS: Final = ("open", "release", "exact", *LENS_EXTRAS)
"""Commands of the tile lens."""


@dataclass(frozen=True)
class _Begun:
    """What is kept of what is done on one session that the screen was given."""

    journal: Journal
    record: Record = field(default_factory=Record)


class Workbench(Screen):
    """A screen on a session, perhaps with one kernel's schedule, which a cell holds too, opened in its editor."""

    def __init__(
        self,
        session: Session,
        schedule: Schedule | None = None,
        at: str = "",
        task: GivenTask | None = None,
        left_out: tuple[LeftOut, ...] = (),
        unattended: bool = False,
    ) -> None:
        """`at`: the place to begin with.  `task`: the exercise that the schedule is an answer to.

        `left_out`: what another screen on the session left out, and its list of steps shows.

        `unattended`: no person works on it: it keeps no changes and takes none that are offered.
        """
        self._steps = PipelineCommands(SessionModel(session, left_out), self._announced)
        self._model = LayersModel(session)
        self._looking = LayerCommands(lambda: self._model)
        self._branches = BranchCommands(lambda: self._model, self._go_to_branch, lambda: self.announce("branches"))
        self.checks = ChecksCommands(
            lambda: self.session, self._run_inputs, lambda: self.announce("checks"), lambda: self._inputs.key,
            lambda: self._dispatcher.one_at_a_time,
        )  # fmt: skip
        """Badges of the program shown; `screen.checks.check = session.check(inputs)` shows those of a cell."""
        self._inputs = GivenInputs()
        self._selected: tuple[tuple[int, ...], LayersModel] = (), self._model
        """Numbers of classes, and what they were selected in."""
        self._at = at
        """The place that a page begins with (`ui.places`)."""
        self._history, self._histories = session.history, 1  # how many have been shown: each numbers its own branches
        self._first = _Begun(Journal(session))
        self._places = PlaceCommands(
            lambda: self.session,
            self._run_inputs,
            lambda: self._begun.journal.to_json(self.session),
            lambda: self.left_out,
        )
        self._given = schedule.func_working_on if schedule is not None else ""
        self._editors = Editors(
            lambda: self._model.session, self._go, self._turn, lambda: self.announce("changed"), schedule,
            self._moved_by_cell,
        )  # fmt: skip
        self._exercise = ExerciseCommands(task, lambda: self.schedule)
        subject = SessionSubject(
            lambda: self._model.session, lambda kernel: self._editors.editor(kernel).schedule, self._steps,
            lambda: self._given, lambda: self._begun.record, lambda: self._begun.journal,
        )  # fmt: skip
        store = ChangesStore(None) if unattended else ChangesStore.of_user()
        self._changes = Changes(subject, store, lambda: self.announce("changed"))
        commands = {
            **self._steps.edits.seeing(self._changes.table(), "changes.restore", "changes.discard"),
            **self._looking.table(),
            **self._steps.edits.seeing(self._branches.table(), "branch"),
            **self.checks.table(),
            **NativeCommands(lambda: self._model.session).table(),
            **ReadingCommands(lambda: self._model).table(),
            **self._places.table(),
            **self._exercise.table(),
            **self._steps.edits.seeing(TargetCommands(lambda: self._model.session, self._go).table(), "target.set"),
            **self._steps.edits.seeing(candidate_commands(lambda: self._model.session, self._go), CHOOSE),
            **TensorCommands(lambda: self.session, self._run_inputs).table(),
            **remark_commands(lambda: self._model),
            **why_not_commands(lambda: self._model),
            **ablation_commands(lambda: self.session, self._run_inputs),
            **VerifyCommands(lambda: self._model.session).table(),
            **run_commands(lambda: self.session, self._run_inputs),
            **{f"pipeline.{name}": command for name, command in self._steps.table().items()},
            **{f"schedule.{name}": self._scheduling(name) for name in _SCHEDULING},
            **{f"lens.{name}": self._through_lens(name) for name in _LENS},
            "open": self._open,
            "select": self._select,
            "measure": self._measure,
            **self._steps.edits.seeing({"take_back": self._take_back, "set_attribute": self._set_attribute}),
        }

        def kept(name: str, command: Command) -> Command:
            return keeping(name, command, lambda: self._begun.journal)

        commands |= {name: kept(name, commands[name]) for name in RECORDED}  # a restore does them too
        recorded = {name: self._following(self._changes.recording(name, run)) for name, run in commands.items()}
        followed = {name: run if name in RECORDED else kept(name, run) for name, run in recorded.items()}
        self._changes.start()
        self._branches.follow()
        super().__init__(
            "workbench", followed, Kept(lambda: self._model.session.heading, self._snapshot, self._snapshot_key)
        )

    # --- what a cell sees and does ---

    @property
    def session(self) -> Session:
        """The session shown, with all that was changed on the screen; assigning another one shows it in every view."""
        with self._dispatcher.one_at_a_time:
            self._editors.follow()
            return self._model.session

    @session.setter
    def session(self, session: Session) -> None:
        known = SessionModel(_a_session(session))  # with nothing left out: the journal begins with the session alone
        known.view()  # what can fail, and what takes long, comes before anything changes
        with self._dispatcher.one_at_a_time, interrupts_held():
            self._editors.part()
            self._given = ""
            self._steps.edits.go(known, say.pipeline.another_session, begun=_Begun(Journal(session)))
            self._changes.start()

    @property
    def _begun(self) -> _Begun:
        return self._steps.edits.begun or self._first

    @property
    def inputs(self) -> Mapping[str, Any] | None:
        """What checks and runs are done on; None for random numbers.

        Assigned, arrays are copied.  What was found out with others is no longer shown, and is back with them.
        """
        return self._inputs.values

    @inputs.setter
    def inputs(self, inputs: Mapping[str, Any] | None) -> None:
        given = GivenInputs.of(inputs)
        with self._dispatcher.one_at_a_time, interrupts_held():
            if given.key != self._inputs.key:
                self._inputs = given
                self.announce("inputs")

    def _go(self, session: Session, call: str, by_cell: bool = False) -> None:
        self._steps.edits.go(self._model_of(session), call, by_cell)

    def _go_to_branch(self, session: Session, call: str) -> None:
        """One that was never shown may be a cell's: what it lacks of the first one can be switched on."""
        model = self._shown_before(session)
        first = session.history.plans[0].rows
        self._steps.edits.go(model or SessionModel(session, missing(first, session.plan.rows)), call)

    def _turn(self, fits: Callable[[Session], bool]) -> bool:
        def model_fits(model: Any) -> bool:
            return fits(model.session)

        return self._steps.edits.turn(model_fits)

    def _model_of(self, session: Session) -> SessionModel:
        """A session for the list of steps: with what was left out of it here when it was shown, or is left out now."""
        model: Any = self._steps.model
        return self._shown_before(session) or model.followed_by(session)

    def _shown_before(self, session: Session) -> SessionModel | None:
        """A session for the list of steps, as it was shown already."""
        shown: Any = self._steps.edits.models
        known = next((model for model in shown if model.session.plan == session.plan), None)
        return SessionModel(session, known.left_out) if known is not None else None

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The passes and edits that were left out on this screen."""
        model: Any = self._steps.model
        return model.left_out

    @property
    def views(self) -> Mapping[str, str]:
        """The views that are kept by name now, a copy: `session.show(at=screen.views[name])` opens one."""
        return MappingProxyType(dict(self._places.views))

    def journal(self) -> str:
        """What was asked of this screen on the session it was given last, as a file that `workbench replay` does again.
        """
        with self._dispatcher.one_at_a_time:
            return self._begun.journal.to_json(self.session)

    @property
    def schedule(self) -> Schedule:
        """The schedule that the screen was opened for.  Raises `WorkbenchError` where it was opened for a session."""
        with self._dispatcher.one_at_a_time:
            if not self._given:
                raise WorkbenchError(
                    "E-UI-ARGUMENT", "this screen was opened for a session", fix="screen.session.schedule(kernel)"
                )
            return self._editors.editor(self._given).schedule

    @property
    def code(self) -> str:
        """The Python that leads to the schedule that the screen was opened for."""
        return self.schedule.code()

    @property
    def selected(self) -> str:
        """The name of the selected step."""
        with self._dispatcher.one_at_a_time:
            return self._steps.selected

    @property
    def selected_rewrite(self) -> int | None:
        """The number of the selected rewrite; None for the whole step."""
        return self._steps.selected_rewrite

    @property
    def selection(self) -> tuple[int, ...]:
        """The numbers of the selected classes; none once another program is shown, whose classes have other numbers."""
        with self._dispatcher.one_at_a_time:
            numbers, model = self._selected
            return numbers if numbers and self._numbered_alike(model) else ()

    @selection.setter
    def selection(self, numbers: Iterable[int]) -> None:
        with self._dispatcher.one_at_a_time:
            self._selected = tuple(numbers), self._model

    def _numbered_alike(self, model: LayersModel) -> bool:
        """Asked where numbers are read: what tells them apart is known once the program is lowered."""
        if model is self._model:
            return True
        try:
            return model.numbering() == self._model.numbering()
        except WorkbenchError:  # a step of the program shown fails: it has no classes
            return False

    def select(self, step: str, rewrite: int | None = None) -> None:
        """Show what a step (by id, or by name: the first of that name) changed, and perhaps one rewrite of it."""
        with self._dispatcher.one_at_a_time:
            self._steps.select(step, rewrite)

    # --- one truth for the parts of the screen ---

    def _announced(self, name: str, **args: Any) -> None:
        """The stepper's part tells of a change: the other parts show the same session."""
        if name == "changed":
            session: Any = self._steps.model.session  # type: ignore[attr-defined]
            if session is not self._model.session:
                self._model = LayersModel(session)
                self._branches.follow()
                self._editors.shown(session)
        self.announce(name, **args)

    def _following(self, command: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
        def run(args: dict[str, Any]) -> Answer:
            self._editors.follow()
            target = self._model.session.target  # loops of one's own name none: what is said of them is for it too
            with self._branches.answering(), target:
                return command(args)

        return run

    # --- schedules ---

    def _moved_by_cell(self, kernel: str, code: str) -> None:
        self._begun.journal.moved_by_cell(kernel, code)
        self._changes.moved_by_cell(kernel, code)

    def _scheduling(self, name: str) -> Callable[[dict[str, Any]], Answer]:
        """A command of the schedule editor, for the kernel that is asked about; its moves become the session's."""

        def run(args: dict[str, Any]) -> Answer:
            kernel = argument(args, "kernel", str)
            commands = self._editors.editor(kernel)
            return self._editors.carry_out(kernel, lambda: commands.table()[name](args))

        return run

    def _through_lens(self, name: str) -> Callable[[dict[str, Any]], Answer]:
        """A command of the tile lens, on the schedule that the kernel's editor has too."""

        def run(args: dict[str, Any]) -> Answer:
            kernel = argument(args, "kernel", str)
            lens = self._editors.lens(kernel)
            return self._editors.carry_out(kernel, lambda: lens.table()[name](args), lambda: lens.call)

        return run

    # --- what a notebook keeps ---

    def _snapshot(self) -> Snapshot:
        schedule = self._editors.known(self._given)
        if schedule is not None:
            return schedule_snapshot(schedule)
        return snapshot_of(self._model.session, self._steps.selected, self._given)

    def _snapshot_key(self) -> tuple[Any, ...]:
        """What the snapshot depends on; asking runs nothing."""
        session, schedule = self._model.session, self._editors.known(self._given)
        lowered = session.history.peek(session.actions, session.plan.kernel_step()) is not None
        moved = schedule.fingerprint() if schedule is not None else ""
        known = session.history.computed(session.actions)
        compiled = len(known), compiled_apart(session, known)
        return (identities(session.actions)[-1], self._steps.selected_step, lowered, moved, compiled)

    def _run_inputs(self) -> RunInputs:
        given = self._inputs
        if given.values is not None:
            return RunInputs(given.values, "screen.inputs", given.key)
        session = self._model.session
        drawn = drawn_inputs(session.history.step(session.actions, 0).stage.module)
        return RunInputs(drawn, say.checks.random_inputs, given.key)

    # --- the whole ---

    def _open(self, args: dict[str, Any]) -> Answer:
        view = self._model.view()
        facts = self._steps.edits.facts()
        start = {"kernel": self._given, "editing": bool(self._given), "step": self._steps.selected_step}
        start |= {"at": self._at}
        task = self._exercise.title if self._given else ""  # none of another session that a cell has put here
        told = {**view.to_json(), **facts, **self._branches.facts(), **self._changes.facts()}
        trouble = self._editors.trouble
        told |= {"no_onnx": say.session.no_onnx if lacks_onnx(self._model.session.plan.program) else ""}
        told |= {"calls": self._steps.edits.calls, "trouble": trouble.to_json() if trouble is not None else None}
        return Answer(view.state, {**told, "start": start, "subject": self._subject(), "exercise": task})

    def _subject(self) -> str:
        """What branches and kernels are of: the import, and the how-manieth history that this screen shows."""
        session = self._model.session
        if session.history is not self._history:
            self._history, self._histories = session.history, self._histories + 1
        return f"{identities(session.actions)[0]} {self._histories}"

    def _select(self, args: dict[str, Any]) -> Answer:
        self.selection = items(args, "classes", int)[:_SELECTED_LIMIT]
        return Answer("")

    def _measure(self, args: dict[str, Any]) -> Answer:
        """A kernel's time on this machine, as it is compiled, its rate and share of the peak; cycles by the model."""
        number, session = argument(args, "number", int, None), self._model.session
        if number is not None:
            session = self._branches.numbered(number).session
        kernel = argument(args, "kernel", str)
        found = measure_kernel(session, kernel)
        return Answer("", {
            "text": str(found), "seconds": found.seconds, "share": found.share, "rate": found.rate,
            "cycles": modelled_cycles(session, kernel),
        })  # fmt: skip

    def _take_back(self, args: dict[str, Any]) -> Answer:
        """A kernel's schedule without one of its moves (from 1, with this code); the later ones are done again."""
        kernel, number, code = argument(args, "kernel", str), argument(args, "number", int), argument(args, "code", str)
        schedule = self._editors.editor(kernel).schedule
        moves = schedule.moves.done
        if not 0 < number <= len(moves):
            raise WorkbenchError(
                "E-UI-ARGUMENT", "there is no such move", found=str(number)[:40], expected=f"1 to {len(moves)}"
            )
        if moves[number - 1].code != code:
            raise outdated_schedule(kernel, code, f"move {number}: {moves[number - 1].code}")
        step = sum(len(move.steps) for move in moves[:number])

        def leave_out() -> Answer:
            schedule.leave_out(step)
            return Answer("")

        return self._editors.carry_out(kernel, leave_out, lambda: f"sch.leave_out({step})")

    def _set_attribute(self, args: dict[str, Any]) -> Answer:
        """Change an attribute of a call of a graph; what follows is computed anew."""
        layer, step, place = (argument(args, name, str) for name in ("layer", "step", "place"))
        number, name, text = argument(args, "number", int), argument(args, "name", str), argument(args, "text", str)
        self._go(*self._model.with_attribute(layer, step, place, number, name, text[:1000]))
        return Answer("")


def _a_session(given: object) -> Session:
    """What a cell puts on the screen.  Raises E-UI-ARGUMENT for anything but a session."""
    if not isinstance(given, Session):
        raise WorkbenchError(
            "E-UI-ARGUMENT", "a screen shows sessions", found=type(given).__name__, expected="a session",
            fix="screen.session = wb.open(...)", kept="the screen is unchanged",
        )  # fmt: skip
    return given
