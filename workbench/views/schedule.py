"""A schedule as the editor sees it: the loop tree, the primitives with reasons, the code so far.

Boxes are named by what stands in the program now: "b:C" for block C, "l:C:1" for the second loop around block C
(counted from outside); the first block below a loop names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..analysis.flow import effort
from ..core.errors import WorkbenchError
from ..schedule.errors import IllegalError, ScheduleError
from ..schedule.references import Reference
from ..schedule.registry import PRIMITIVES
from ..schedule.schedule import Schedule
from ..schedule.suggest import Suggestion
from .editor_boxes import boxes_of, key_of, meant, referenced, tree_of
from .editor_forms import (
    chain_of,
    first_working,
    is_positional,
    offered,
    parameters_of,
    reason_of,
    shown_arguments,
    spread,
)
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

_LEGAL = "legal after all, as a longer look at the values shows"


@dataclass(frozen=True)
class EditorModel:
    """A `ui.models.ScheduleModel` on a `Schedule`; every command gives a new model."""

    schedule: Schedule
    undone: tuple[Schedule, ...] = ()
    """States that redo goes back to, nearest last."""
    earlier: tuple[Schedule, ...] = ()
    """States that undo goes back to, nearest last."""
    others: tuple[tuple[Schedule, ...], ...] = ()
    """The chains of states of the other branches: an undone command followed by another one leaves one."""
    branch: int = 0
    """The number of this branch among all, by age."""
    _boxes: list[tuple[Schedule, dict[str, Reference]]] = field(
        default_factory=list["tuple[Schedule, dict[str, Reference]]"], init=False, compare=False, repr=False
    )
    _refused: dict[tuple[str, str], dict[str, Any]] = field(
        default_factory=dict["tuple[str, str]", "dict[str, Any]"], init=False, compare=False, repr=False
    )
    """The arguments of what was refused first, by box and primitive."""
    _judged: dict[str, ReasonsView] = field(
        default_factory=dict[str, ReasonsView], init=False, compare=False, repr=False
    )

    def view(self) -> ScheduleView:
        """The loop tree with everything that can be done at each box, and why the rest cannot."""
        _, references = self._prepared()
        lines = self._history()
        chains = self._chains()
        return ScheduleView(
            state=self.schedule.fingerprint(),
            name=self.schedule.func_working_on,
            tree=tree_of(self.schedule.func, references),
            code=self.schedule.code(),
            script=TextView.of(self.schedule.script()),
            primitives=tuple(
                PrimitiveView(
                    entry.name,
                    entry.doc.split("\n\nRaises", 1)[0],
                    parameters_of(entry),
                    category=entry.category,
                )
                for entry in offered()
            ),
            history=lines,
            position=len(self.earlier),
            can_undo=bool(self.earlier),
            can_redo=bool(self.undone),
            judged=False,
            branches=tuple(_story(number, chains) for number in range(len(chains))) if self.others else (),
            branch=self.branch,
        )

    def reasons(self, selection: str) -> ReasonsView:
        """What can be done at one box, and why the rest cannot.

        Legality is exact and takes milliseconds a primitive, so that a screen asks for one box at a time.
        """
        known = self._judged.get(selection)
        if known is not None:
            return known
        prepared, references = self._prepared()
        if selection not in references:
            raise WorkbenchError(
                "E-SCHEDULE-SELECTION", "there is no such loop or block any more", found=repr(selection)[:60]
            )
        reference = references[selection]
        boxes = {key_of(other): box for box, other in references.items()}
        reasons: dict[str, str | None] = {}
        arguments: dict[str, Mapping[str, Any]] = {}
        for entry in offered():
            if entry.selects(type(reference)):
                with effort(0):  # what would take longer is asked for one primitive at a time: `ways`
                    refusal, tried = first_working(prepared, entry, reference)
                reasons[entry.name] = None if refusal is None else reason_of(refusal)
                shown = shown_arguments(entry, tried, boxes)
                if refusal is not None:
                    self._refused[selection, entry.name] = shown
                    continue
                if entry.name == "reorder":  # the form moves the loops of the whole nest, not two of them
                    shown = dict.fromkeys(shown, chain_of(prepared, reference, boxes))
                arguments[entry.name] = shown
        made = ReasonsView(self.schedule.fingerprint(), selection, reasons, arguments)
        self._judged[selection] = made
        return made

    def _prepared(self) -> tuple[Schedule, dict[str, Reference]]:
        """A copy in which every box has a reference, and these by box; made once."""
        if not self._boxes:
            self._boxes.append(referenced(self.schedule))
        return self._boxes[0]

    def _history(self) -> tuple[HistoryEntry, ...]:
        return tuple(_entry(before, after) for before, after in pairwise(self._chain()))

    def _chain(self) -> tuple[Schedule, ...]:
        """The states of this branch, undone ones too."""
        return (*self.earlier, self.schedule, *reversed(self.undone))

    def _chains(self) -> tuple[tuple[Schedule, ...], ...]:
        """All branches, by age."""
        return (*self.others[: self.branch], self._chain(), *self.others[self.branch :])

    def apply(self, primitive: str, selection: str, arguments: dict[str, Any], unsafe: bool = False) -> EditorModel:
        """The schedule after one more primitive at the box `selection`.  Raises `WorkbenchError` when it is refused.

        `unsafe` does what only legality refuses all the same; the code, the notes and the program say so.
        """
        made = self.schedule.copy()
        try:
            _do(made, primitive, selection, {**arguments, **({"unsafe": True} if unsafe else {})})
        except ScheduleError as error:
            error.nodes = tuple(boxes_of(error.nodes, self._prepared()[1]))
            raise
        return self._followed_by(made)

    def ways(self, primitive: str, selection: str) -> SuggestionsView:
        """What could be done in place of a primitive that is refused at a box: each has been tried."""
        made, error = self._attempt(primitive, selection)
        state = self.schedule.fingerprint()
        if error is None:
            code = _entry(self.schedule, made).code
            return SuggestionsView(state, selection, primitive, None, (SuggestionView(_LEGAL, code),), False)
        found = tuple(SuggestionView(one.text, "\n".join(one.steps)) for one in made.suggest(error))
        forcible = isinstance(error, IllegalError)
        return SuggestionsView(state, selection, primitive, ErrorView.of(error), found, forcible)

    def accept(self, primitive: str, selection: str, number: int) -> EditorModel:
        """The schedule after one of the suggestions of `ways`, counted from 0."""
        made, error = self._attempt(primitive, selection)
        found: list[Suggestion] = [] if error is None else made.suggest(error)
        if not 0 <= number < (1 if error is None else len(found)):
            raise WorkbenchError("E-SCHEDULE-SUGGESTION", "there is no such suggestion", found=str(number)[:40])
        if error is not None:
            found[number].apply(made)
        return self._followed_by(made)

    def force(self, primitive: str, selection: str) -> EditorModel:
        """The schedule after what was refused, done all the same."""
        self.reasons(selection)
        return self.apply(primitive, selection, self._refused.get((selection, primitive), {}), unsafe=True)

    def _attempt(self, primitive: str, selection: str) -> tuple[Schedule, ScheduleError | None]:
        """A copy after what `reasons` refused, decided exactly; or before it, and its refusal."""
        self.reasons(selection)
        made = self.schedule.copy()
        try:
            _do(made, primitive, selection, self._refused.get((selection, primitive), {}))
        except ScheduleError as error:
            return made, error
        return made, None

    def _followed_by(self, made: Schedule) -> EditorModel:
        """The model after a command: on this branch, or on a new one if something was undone."""
        earlier = (*self.earlier, self.schedule)
        if not self.undone:
            return EditorModel(made, (), earlier, self.others, self.branch)
        return EditorModel(made, (), earlier, self._chains(), len(self._chains()))

    def switch(self, branch: int) -> EditorModel:
        """The end of another branch.  Raises `WorkbenchError` if there is none of that number."""
        chains = self._chains()
        if not 0 <= branch < len(chains):
            raise WorkbenchError("E-SCHEDULE-BRANCH-NUMBER", "there is no such branch", found=str(branch)[:40])
        *earlier, last = chains[branch]
        return EditorModel(last, (), tuple(earlier), (*chains[:branch], *chains[branch + 1 :]), branch)

    def undo(self) -> EditorModel:
        """The state one command earlier."""
        if not self.earlier:
            raise WorkbenchError("E-SCHEDULE-UNDO", "there is nothing to undo")
        undone = (*self.undone, self.schedule)
        return EditorModel(self.earlier[-1], undone, self.earlier[:-1], self.others, self.branch)

    def redo(self) -> EditorModel:
        """The state one command later."""
        if not self.undone:
            raise WorkbenchError("E-SCHEDULE-REDO", "there is nothing to redo")
        earlier = (*self.earlier, self.schedule)
        return EditorModel(self.undone[-1], self.undone[:-1], earlier, self.others, self.branch)


def _do(made: Schedule, primitive: str, selection: str, arguments: Mapping[str, Any]) -> None:
    """Carry out a primitive at a box.  Raises `WorkbenchError`."""
    entry = PRIMITIVES.get(primitive)
    if entry is None or entry not in offered():
        raise WorkbenchError("E-SCHEDULE-PRIMITIVE", "the editor has no such primitive", found=repr(primitive)[:60])
    values: dict[str, Any] = {}
    for position, item in enumerate(entry.parameters):
        given = selection if position == 0 else arguments.get(item.name)
        if position == 0 and item.kind is item.VAR_POSITIONAL:
            listed = list(arguments.get(item.name) or ())
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


def _story(number: int, chains: Sequence[Sequence[Schedule]]) -> str:
    """What a branch does after it left the others: "vectorize, parallel"."""
    prints = [[state.fingerprint() for state in chain] for chain in chains]
    shared = max(_common(prints[number], other) for other in [*prints[:number], *prints[number + 1 :]])
    names = [_entry(before, after).label for before, after in pairwise(chains[number][max(shared, 1) - 1 :])]
    return ", ".join(names) or "as it was"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next(
        (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _entry(before: Schedule, after: Schedule) -> HistoryEntry:
    """The lines that a command added; the last one is the primitive itself."""
    steps = after.trace.steps[len(before.trace.steps) :]
    lines = [step.line() for step in steps]
    return HistoryEntry(steps[-1].primitive if steps else "", "\n".join(lines))
