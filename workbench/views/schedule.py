"""A schedule as the editor sees it: the loop tree, the primitives with reasons, the code so far.

Boxes are named by what stands in the program now: "b:C" for block C, "l:C:1" for the second loop around block C
(counted from outside); the first block below a loop names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.flow import effort
from ..analysis.programs import target_of
from ..core.errors import WorkbenchError
from ..core.reliance import moment
from ..schedule.errors import IllegalError, ScheduleError
from ..schedule.ranking import ranked
from ..schedule.registry import PRIMITIVES
from ..schedule.schedule import Schedule
from ..target.target import Target
from .editor_boxes import boxes_of, key_of, meant, referenced, tree_of
from .editor_forms import (
    first_working,
    is_positional,
    movable,
    offered,
    parameters_of,
    reason_of,
    shown_arguments,
    spread,
    unfit,
)
from .editor_kept import LoopNames
from .field_words import in_field_words, worded
from .schema import (
    ErrorView,
    HistoryEntry,
    PrimitiveView,
    ReasonsView,
    ScheduleView,
    SuggestionsView,
    SuggestionView,
    TextView,
)
from .strings.tables import say
from .witness import witness_of


class EditorModel:
    """What the schedule editor shows of a `Schedule`, and its commands, which move that same schedule.

    A cell that holds the schedule sees what was done here, and the other way round: there is one history, the
    schedule's, default rules included.  A refused command leaves it as it was.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._looked = _Looked(schedule)
        self._names = LoopNames()

    def view(self) -> ScheduleView:
        """The loop tree with everything that can be done, the code, and the moves that led here."""
        moves, stories = self.schedule.moves, self.schedule.moves.stories
        return ScheduleView(
            state=self.schedule.fingerprint(),
            name=self.schedule.func_working_on,
            tree=tree_of(self.schedule.func, self._here().references, self._names.kept_in(self.schedule.state)),
            code=self.schedule.code(),
            script=TextView.of(self.schedule.script()),
            primitives=_offered(target_of(self.schedule)),
            history=tuple(HistoryEntry(move.name, move.code) for move in (*moves.done, *moves.ahead)),
            position=len(moves.done),
            can_undo=bool(moves.done),
            can_redo=bool(moves.ahead),
            branches=stories if len(stories) > 1 else (),
            branch=moves.branch,
            moved=moves.fingerprint,
        )

    def reasons(self, selection: str) -> ReasonsView:
        """What can be done at one box, and why the rest cannot.

        Legality is exact and takes milliseconds a primitive, so that a screen asks for one box at a time.
        """
        return self._here().reasons(selection)

    def apply(self, primitive: str, selection: str, arguments: Mapping[str, Any], unsafe: bool = False) -> None:
        """Do one more primitive at the box `selection`.  Raises `WorkbenchError` when it is refused.

        `unsafe` does what only legality refuses all the same; the code, the notes and the program say so.
        """
        given = {**arguments, "unsafe": True} if unsafe else arguments
        self.schedule.follow(self.tried(primitive, selection, given))

    def tried(self, primitive: str, selection: str, arguments: Mapping[str, Any]) -> Schedule:
        """A copy with one primitive more.  Raises `WorkbenchError` when it is refused."""
        made = self.schedule.copy()
        try:
            _do(made, primitive, selection, arguments)
        except ScheduleError as error:
            error.nodes = tuple(boxes_of(error.nodes, self._here().references))
            in_field_words(primitive, error)
            raise
        return made

    def ways(self, primitive: str, selection: str) -> SuggestionsView:
        """What could be done in place of a primitive that is refused at a box: each has been tried."""
        made, error = self._attempt(primitive, selection)
        state = self.schedule.fingerprint()
        if error is None:
            code = made.moves.done[-1].code
            legal = SuggestionView(say.schedule.legal_after_all, code)
            return SuggestionsView(state, selection, primitive, None, (legal,), False)
        found = tuple(
            SuggestionView(one.suggestion.text, "\n".join(one.suggestion.steps), one.rank, one.gains)
            for one in ranked(made, error)
        )
        forcible, witness = isinstance(error, IllegalError), witness_of(error, self._here().references)
        return SuggestionsView(state, selection, primitive, ErrorView.of(error), found, forcible, witness)

    def accept(self, primitive: str, selection: str, number: int) -> None:
        """Do one of the suggestions of `ways`, counted from 0."""
        made, error = self._attempt(primitive, selection)
        found = [] if error is None else ranked(made, error)
        if not 0 <= number < (1 if error is None else len(found)):
            raise WorkbenchError("E-SCHEDULE-SUGGESTION", "there is no such suggestion", found=str(number)[:40])
        if error is not None:
            found[number].suggestion.apply(made)
        self.schedule.follow(made)

    def force(self, primitive: str, selection: str) -> None:
        """Do what was refused all the same."""
        self.apply(primitive, selection, self._here().refused(selection, primitive), unsafe=True)

    def _attempt(self, primitive: str, selection: str) -> tuple[Schedule, ScheduleError | None]:
        """A copy after what `reasons` refused, decided exactly; or before it, and its refusal."""
        arguments = self._here().refused(selection, primitive)
        made = self.schedule.copy()
        try:
            _do(made, primitive, selection, arguments)
        except ScheduleError as error:
            return made, in_field_words(primitive, error)
        return made, None

    def undo(self) -> None:
        """Take the last move back."""
        if not self.schedule.moves.back():
            raise WorkbenchError("E-SCHEDULE-UNDO", "there is nothing to undo")

    def redo(self) -> None:
        """Do again what was taken back last."""
        if not self.schedule.moves.forward():
            raise WorkbenchError("E-SCHEDULE-REDO", "there is nothing to redo")

    def switch(self, branch: int) -> None:
        """Go to the end of another branch.  Raises `WorkbenchError` if there is none of that number."""
        self.schedule.moves.switch(branch)

    def _here(self) -> _Looked:
        """What has been found out about the schedule's state, as it is now."""
        if not self._looked.holds(self.schedule):
            self._looked = _Looked(self.schedule)
        return self._looked


class _Looked:
    """What has been found out about one state of a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self.state = schedule.state
        self._moment = moment()
        self._prepared, self.references = referenced(schedule)
        self._boxes = {key_of(other): box for box, other in self.references.items()}
        self._judged: dict[str, ReasonsView] = {}
        self._refused: dict[tuple[str, str], dict[str, Any]] = {}
        """The arguments of what was refused first, by box and primitive."""

    def holds(self, schedule: Schedule) -> bool:
        """Whether the schedule is where it was, and users have entered nothing since (an intrinsic, a primitive)."""
        return self.state is schedule.state and self._moment == moment()

    def refused(self, selection: str, primitive: str) -> dict[str, Any]:
        """The arguments with which a primitive was refused at a box."""
        self.reasons(selection)
        return self._refused.get((selection, primitive), {})

    def reasons(self, selection: str) -> ReasonsView:
        if selection not in self._judged:
            self._judged[selection] = self._reasons(selection)
        return self._judged[selection]

    def _reasons(self, selection: str) -> ReasonsView:
        if selection not in self.references:
            raise WorkbenchError(
                "E-SCHEDULE-SELECTION", "there is no such loop or block any more", found=repr(selection)[:60]
            )
        reference = self.references[selection]
        reasons: dict[str, str | None] = {}
        arguments: dict[str, Mapping[str, Any]] = {}
        for entry in offered():
            if not entry.selects(type(reference)):
                continue
            with effort(0):  # what would take longer is asked for one primitive at a time: `ways`
                refusal, tried = first_working(self._prepared, entry, reference)
            reasons[entry.name] = None if refusal is None else worded(entry.name, reason_of(refusal))
            shown = shown_arguments(entry, tried, self._boxes)
            if refusal is not None:
                self._refused[selection, entry.name] = shown
                continue
            if entry.name == "reorder":  # the form moves all loops that can be moved, not two of them
                shown = dict.fromkeys(shown, movable(self._prepared, reference, self._boxes))
            arguments[entry.name] = shown
        return ReasonsView(self.state.fingerprint, selection, reasons, arguments)


def _offered(target: Target) -> tuple[PrimitiveView, ...]:
    """The primitives of the editor; those that the target has no use for come last and say why."""
    views = [(unfit(entry, target), entry) for entry in offered()]
    return tuple(
        PrimitiveView(
            entry.name, entry.doc.split("\n\nRaises", 1)[0], parameters_of(entry), category=why or entry.category
        )
        for why, entry in sorted(views, key=lambda pair: bool(pair[0]))
    )  # fmt: skip


def _do(made: Schedule, primitive: str, selection: str, arguments: Mapping[str, Any]) -> None:
    """Carry out a primitive at a box.  Raises `WorkbenchError`."""
    entry = PRIMITIVES.get(primitive)
    if entry is None or entry not in offered():
        raise WorkbenchError("E-SCHEDULE-PRIMITIVE", "the editor has no such primitive", found=repr(primitive)[:60])
    values: dict[str, Any] = {}
    for position, item in enumerate(entry.parameters):
        given = selection if position == 0 else arguments.get(item.name)
        if position == 0 and item.kind is item.VAR_POSITIONAL:
            listed = _listed(item.name, arguments.get(item.name))
            given = listed if selection in listed else [selection, *listed]
        if given is not None and given != "":
            values[item.name] = meant(made, given)
    positional = [value for item in entry.parameters for value in spread(item, values)]
    named = {
        item.name: values[item.name]
        for item in entry.parameters
        if item.name in values and item not in entry.parameters[:1] and not is_positional(item)
    }
    if arguments.get("unsafe"):
        named["unsafe"] = True
    getattr(made, primitive)(*positional, **named)


def _listed(name: str, given: Any) -> list[Any]:
    """The items of an argument that takes any number; nothing is none of them."""
    if given is None or given == "" or isinstance(given, list):
        return list(given or ())
    raise WorkbenchError(
        "E-SCHEDULE-ARGUMENT", f"{name} is not what it takes", where=f"the argument {name}", found=repr(given)[:80],
        expected="a list of loops", kept="the schedule is unchanged",
    )  # fmt: skip
