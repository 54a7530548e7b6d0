"""The schedules that a screen and cells move, and the session that has them: one truth for both.

    editors = Editors(lambda: session, go, announce, sch)
    editors.carry_out("main", lambda: editors.editor("main").table()["apply"](args))    # and the session has the move
    sch.parallel(i); editors.follow()                                               # a cell's move: the session too
    editors.shown(other)                                                            # undo: the schedules move along

Invariant: what was agreed on last is kept for each schedule as its state.  A schedule in another state than that was
moved (by a cell, or by a command that was interrupted): the session takes it over.  A session that shows another
schedule was moved: the schedule goes to that state, if it has ever been in it.  Else (the text of what is scheduled was
edited) a schedule that cells hold begins anew there, so that they find the edit too; of others an editor is made anew.
A cell may run in another thread and move on at any time: what it did since is left to the next look, never taken back.
A cell's move that the session refuses stays with the cell: it is told, and tried again on each other session.
Questions (`get_loops`) behind the last move are no part of a state: the session has a schedule without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from workbench.core.errors import WorkbenchError
from workbench.core.interrupts import Interruptible
from workbench.driver.history import key_of
from workbench.driver.later_edits import later_edits
from workbench.driver.measure import Measurement, measure_kernel
from workbench.driver.plan import ScheduleRow
from workbench.schedule.history import shared_length
from workbench.ui.lens import PATIENCE, LensCommands
from workbench.ui.protocol import Answer
from workbench.ui.schedule import ScheduleCommands
from workbench.ui.worked_out import Steady
from workbench.views.schema import ErrorView
from workbench.views.strings.tables import say

if TYPE_CHECKING:
    from workbench.driver.session import Session
    from workbench.schedule.schedule import Schedule
    from workbench.target.target import Target


_BACK: Final = 3
"""Moves that are taken back one by one, as Python tells it."""


class _Agreed(NamedTuple):
    """A state that the session has too."""

    state: Any
    known: str
    """What the schedule is in it, after its last move (`_known`)."""


class _Refusal(NamedTuple):
    """A state of a schedule that a session could not take over, and why."""

    state: Any
    session: Session
    why: ErrorView


class Editors:
    """The editors and lenses of a session's kernels.  `go(session, call)` shows another session."""

    def __init__(
        self,
        session: Callable[[], Session],
        go: Callable[[Session, str, bool], None],
        turn: Callable[[Callable[[Session], bool]], bool],
        announce: Callable[[], None],
        given: Schedule | None = None,
        moved_by_cell: Callable[[str, str], None] = lambda kernel, code: None,
    ) -> None:
        """`given`: a schedule that cells hold too; `announce` is called when they have moved it.

        `turn(fits)` undoes or redoes a change of the program on the screen where that leads to a session that fits.

        `moved_by_cell(kernel, code)` is called when the session has followed them; `code` leads to the state.
        """
        self._session, self._go, self._turn, self._announce = session, go, turn, announce
        self._moved_by_cell = moved_by_cell
        self._given = given
        self._open: dict[str, ScheduleCommands] = {}
        self._lenses: dict[str, LensCommands] = {}
        self._agreed: dict[int, _Agreed] = {}
        """By the identity of a schedule."""
        self._steady: tuple[Session, Steady] | None = None
        """How long the session's schedules are what they were when they were last looked at."""
        self._followed: Schedule | None = None
        """What the session is made of just now."""
        self._refused: dict[int, _Refusal] = {}
        """For each schedule, by identity, the refusal of a state that it may be in."""
        if given is not None:
            self._open[given.func_working_on] = self._commands(given, announce)

    # --- looking ---

    def editor(self, kernel: str) -> ScheduleCommands:
        """The editor of a kernel, on the schedule that the session has.  Raises `WorkbenchError` for unknown ones."""
        if kernel not in self._open:
            session = self._session()
            schedule = session.schedule(kernel)
            given = self._given
            if given is not None and given.func_working_on == kernel and self._refusal(given) is None:
                _bring(given, schedule)
                schedule = given.retarget(session.target)
            told = self._announce if schedule is given else _nothing
            self._open[kernel] = self._commands(schedule, told)
            self._agree(schedule, schedule.copy())
            self._steady = session, Steady(session)  # by now the steps up to it are known
        return self._open[kernel]

    def lens(self, kernel: str) -> LensCommands:
        """The tile lens on the schedule that the kernel's editor has."""
        schedule = self.editor(kernel).schedule
        found = self._lenses.get(kernel)
        if found is None or found.schedule is not schedule:
            timed = partial(self._timed, kernel)
            found = self._lenses[kernel] = LensCommands(schedule, _nothing, timed)
        return found

    def known(self, kernel: str) -> Schedule | None:
        """The schedule of an editor that is open."""
        found = self._open.get(kernel)
        return found.schedule if found is not None else None

    def _commands(self, schedule: Schedule, told: Callable[[], None]) -> ScheduleCommands:
        kernel = schedule.func_working_on
        return ScheduleCommands(schedule, told, self._target, lambda: later_edits(self._session(), kernel))

    def _target(self) -> Target:
        return self._session().target

    def _timed(self, kernel: str) -> Measurement:
        return measure_kernel(self._session(), kernel, PATIENCE)

    # --- the session and the schedules ---

    @property
    def trouble(self) -> ErrorView | None:
        """Why the session could not follow a cell; None once it can."""
        found = (refusal for schedule in self._schedules() if (refusal := self._refusal(schedule)) is not None)
        return next((refusal.why for refusal in found), None)

    def _refusal(self, schedule: Schedule) -> _Refusal | None:
        """The refusal of the state that a schedule is in."""
        found = self._refused.get(id(schedule))
        return found if found is not None and found.state is schedule.state else None

    def _looked_at(self, schedule: Schedule) -> bool:
        """Whether the session shown has the state that a schedule is in, or has refused it."""
        refusal = self._refusal(schedule)
        refused = refusal is not None and refusal.session is self._session()
        agreed = self._agreed.get(id(schedule))
        return refused or (agreed is not None and agreed.state is schedule.state)

    def follow(self) -> None:
        """Make the session of what was moved outside of `carry_out`; `trouble` says why that was refused.

        Where users have entered something else (an operator, an intrinsic), schedules may be of other programs now.
        """
        session = self._session()
        if self._open and self._steady is not None and self._steady[0] is session and not self._steady[1].holds():
            self._close_outdated(session)
            self._refused.clear()  # it may fit what users have entered now
        if self._open and (self._steady is None or self._steady[0] is not session or not self._steady[1].holds()):
            self._steady = session, Steady(session)
        for schedule in self._schedules():
            if not self._looked_at(schedule):
                with Interruptible() as block:
                    self._follow(schedule)
                block.deliver()

    def _follow(self, schedule: Schedule) -> None:
        """Make the session of what a cell did to a schedule; interrupted, the next look tries again."""
        now, session = schedule.copy(), self._session()  # the cell may go on meanwhile
        self._followed = schedule
        try:
            before = now.moves.find(_fingerprint(session, now.func_working_on) or "")
            if self._take_over(now, _told(now, before), by_cell=True):
                self._moved_by_cell(now.func_working_on, now.code())
        except WorkbenchError as error:
            self._refused[id(schedule)] = _Refusal(now.state, session, ErrorView.of(error))
        except BaseException:
            self._agreed.pop(id(schedule), None)
            raise
        else:
            self._agree(schedule, now)
        finally:
            self._followed = None

    def carry_out(self, kernel: str, work: Callable[[], Answer], call: Callable[[], str] | None = None) -> Answer:
        """Do something with the schedule of a kernel; a session that refuses it undoes it, and so does an interrupt.

        `call` gives the line of Python that did it; without, it is told from the moves.  The answer is of a state of
        the schedule, and of what else the kernel's code is made of: figures of one target are none of another.
        """
        schedule = self.editor(kernel).schedule
        with schedule.alone(at_once=True):  # a cell waits
            mark, before = schedule.moves.mark(), schedule.moves.here
            try:
                answer = work()
                if not self._looked_at(schedule):
                    now = schedule.copy()
                    self._take_over(now, call() if call is not None else _told(now, before))
                    self._agree(schedule, now)
            except BaseException:
                schedule.moves.back_to(mark)
                self._agreed.pop(id(schedule), None)  # whether the session has followed is seen at the next look
                raise
        return replace(answer, state=f"{answer.state} {_but_for_schedules(self._session())}")

    def shown(self, session: Session) -> None:
        """Another session is shown: schedules go where it has them; editors without such a state are closed."""
        for schedule in self._schedules():
            schedule.retarget(session.target)
        for kernel, commands in list(self._open.items()):
            schedule, fingerprint = commands.schedule, _fingerprint(session, kernel)
            refusal = self._refusal(schedule)
            if refusal is not None and fingerprint is not None and _fingerprint(refusal.session, kernel) == fingerprint:
                continue  # it is the cell that has moved it, not the session: that is tried again
            if fingerprint is None:
                self._close(kernel)
                continue
            with schedule.alone(at_once=True):
                agreed, known = self._agreed.get(id(schedule)), _known(schedule)
                moved = schedule is self._followed or (agreed is not None and agreed.known != known)
                if moved and known != fingerprint:
                    continue  # a cell has moved it since: what it did is no part of what is shown, and stays
                if schedule is self._given and session.plan.level == "tir":  # of a graph: once it is looked at
                    _bring(schedule, session.schedule(kernel))
                elif not _brought(schedule, fingerprint):
                    self._close(kernel)
                    continue
                self._agree(schedule, schedule.copy())

    def _close_outdated(self, session: Session) -> None:
        """Close the editors of kernels that have become others, though nobody moved their schedules."""
        for kernel, commands in list(self._open.items()):
            schedule = commands.schedule
            agreed = self._agreed.get(id(schedule))
            moved = agreed is None or agreed.state is not schedule.state
            if not moved and _fingerprint(session, kernel) != _known(schedule):
                self._close(kernel)

    def _close(self, kernel: str) -> None:
        schedule = self._open.pop(kernel).schedule
        self._lenses.pop(kernel, None)
        if schedule is not self._given:
            self._agreed.pop(id(schedule), None)
            self._refused.pop(id(schedule), None)

    def part(self) -> None:
        """Close all editors; what cells hold goes its own way from now on."""
        self._given = None
        for kept in (self._open, self._lenses, self._agreed, self._refused):
            kept.clear()

    def _schedules(self) -> list[Schedule]:
        found = [commands.schedule for commands in self._open.values()]
        if self._given is not None and all(one is not self._given for one in found):
            found.append(self._given)
        return found

    def _agree(self, schedule: Schedule, now: Schedule) -> None:
        """The session has the state of a schedule that it was in when it was copied."""
        self._agreed[id(schedule)] = _Agreed(now.state, _known(now))
        self._refused.pop(id(schedule), None)

    def _take_over(self, schedule: Schedule, call: str, by_cell: bool = False) -> bool:
        """Make the session of a schedule's state, told as `call`; False where the session has it already.

        A move that is taken back or done again is that change of the screen undone or redone: there is one history.
        """
        kernel, session, known = schedule.func_working_on, self._session(), _known(schedule)
        if _has(session, kernel) and _fingerprint(session, kernel) == known:
            return False

        def fits(other: Session) -> bool:
            return _fingerprint(other, kernel) == known and _alike_but_for(kernel, other, session)

        if not self._turn(fits):
            moved = schedule.copy()
            moved.moves.go(moved.moves.here)
            self._go(session.edit(schedule={kernel: moved}), call, by_cell)
        return True


def _bring(schedule: Schedule, wanted: Schedule) -> None:
    """Bring a schedule, which cells hold, to the state of another; where it has never been, it begins anew there.

    So it is after a text edit of what is scheduled: cells find the edit and what is done next in their own schedule.
    """
    if not _brought(schedule, _known(wanted)):
        schedule.moves.begin_anew(wanted.moves)


def _brought(schedule: Schedule, fingerprint: str) -> bool:
    """Whether a schedule is, or could be brought, where it has this fingerprint."""
    if _known(schedule) == fingerprint:
        return True
    number = schedule.moves.find(fingerprint, everywhere=True)
    if number is not None:
        schedule.moves.go(number)
    return number is not None


def _has(session: Session, kernel: str) -> bool:
    try:
        return kernel in session.kernels
    except WorkbenchError:  # what makes kernels has failed
        return False


def _fingerprint(session: Session, kernel: str) -> str | None:
    """The state of a kernel's schedule in a session; None where it has none."""
    try:
        return _known(session.schedule(kernel))
    except WorkbenchError:  # no such kernel, or what makes kernels or schedules them has failed
        return None


def _known(schedule: Schedule) -> str:
    """What a schedule is after its last move: what was asked since then is no change."""
    return schedule.moves.fingerprint


def _but_for_schedules(session: Session) -> str:
    """What code is made of beside schedules: the program, its passes and edits, the target, the settings."""
    return key_of(*(action.key for action in session.actions if action.kind != "schedule"))


def _alike_but_for(kernel: str, one: Session, other: Session) -> bool:
    """Whether two sessions of one program are of one plan, and differ in nothing but the schedule of a kernel.

    Schedules are compared as they are now: what was moved under a kernel's name may have become another one's.
    """
    plans = [
        (plan.target, plan.settings, [row for row in plan.rows if not isinstance(row, ScheduleRow)])
        for plan in (one.plan, other.plan)
    ]
    if plans[0] != plans[1]:
        return False
    try:
        rest = {*one.kernels, *other.kernels} - {kernel}
    except WorkbenchError:  # what makes kernels has failed
        return False
    return all(_fingerprint(one, name) == _fingerprint(other, name) for name in rest)


def _told(schedule: Schedule, before: int | None) -> str:
    """The Python that led to the state looked at, from the one of that number in `moves.tree` (None: the last move).

    It can be run on any schedule that is where this one was: numbers of states are this one's own.
    """
    moves = schedule.moves
    done = [move.code for move in moves.done]
    began = done[:-1]
    if before is not None:
        way = {number: (parent, move) for number, parent, move in moves.tree}
        began = []
        while before in way and (move := way[before][1]) is not None:  # a branch that is dropped is in no tree
            began.insert(0, move.code)
            before = way[before][0]
    shared = shared_length(began, done)
    back, further = len(began) - shared, done[shared:]
    if back <= _BACK:
        lines = ["sch.moves.back()"] * back
        if back and not further:  # of several such lines, done again one by one, each says where it leads
            lines[-1] += f"  # {say.schedule.left(len(done))}"
        return "\n".join([*lines, *further])
    return "\n".join(["sch.restart()", *done])


def _nothing() -> None:
    """Nobody but the page moves this schedule: there is nothing to be told."""
