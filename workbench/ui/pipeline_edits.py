"""What can be changed from the pipeline screen: texts of functions, the list of passes; with undo and redo.

Each change makes another model and moves the screen to it; the models before stay reachable by undo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final, Literal, NamedTuple

from workbench.core.errors import WorkbenchError
from workbench.core.interrupts import hold_interrupts
from workbench.driver.edit_check import place
from workbench.ui.models import EditableModel, PipelineModel
from workbench.ui.protocol import Answer, argument
from workbench.views.schema import ErrorView

TEXT_LIMIT: Final = 2_000_000
"""Characters of an edited text that the screen takes."""
_LOSSES: Final = 60
"""Parts of edits listed that do not apply."""


def plan(steps: Iterable[tuple[str, str, bool]]) -> str:
    """A list of steps by content, with those that were left out; of each its id, its name, whether it is left out."""
    last, left_out = "", list[str]()
    for identity, name, out in steps:
        if out:
            left_out.append(f"{identity} {name}")
        else:
            last = identity
    return ", ".join([last, *left_out])


class Call(NamedTuple):
    """A line of Python that does what was done, and whether a cell did it rather than the screen."""

    code: str
    by_cell: bool
    begun: Any = None
    """Where something else was put on the screen: what its owner keeps of what is done on that (`Edits.begun`)."""


@dataclass(frozen=True)
class _Trail:
    """The states that undo and redo lead to, and the calls that led from one to the next: never one without the other,
    whenever an interrupt comes."""

    past: tuple[tuple[PipelineModel, Call], ...] = ()
    """Oldest first: a state, and what was done to it."""
    future: tuple[tuple[PipelineModel, Call], ...] = ()
    """The next one last: a state, and what leads to it."""
    turned: Literal["", "undo", "redo"] = ""


def _is_change(step: tuple[PipelineModel, Call]) -> bool:
    """Whether a step of a trail changes what is on the screen, and puts nothing else there."""
    return step[1].begun is None


class Edits:
    """The changes made on one screen.  `show(model)` draws another state."""

    def __init__(self, current: Callable[[], PipelineModel], show: Callable[[PipelineModel], str]) -> None:
        self._current, self._show = current, show
        self._trail = _Trail()

    def commands(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        return {
            "source": self._source,
            "edit": self._seen(self._edit),
            "without": self._seen(self._without),
            "switch_on": self._seen(self._switch_on),
            "losses": self._losses,
            "rebase": self._seen(self._rebase),
            "insert": self._seen(self._insert),
            "pass_form": self._pass_form,
            "options": self._seen(self._options),
            "undo": self._seen(self._undo),
            "redo": self._seen(self._redo),
        }

    def seeing(self, table: dict[str, Callable[[dict[str, Any]], Answer]], *names: str) -> dict[str, Any]:
        """A table of commands, those of these `names` (none: all) refused to a page that shows other steps."""
        return {
            name: self._seen(command) if not names or name in names else command for name, command in table.items()
        }

    def _seen(self, command: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
        """The command, refused to a page that shows another list of steps: another view has changed it."""

        def run(args: dict[str, Any]) -> Answer:
            seen = argument(args, "seen", str, "")
            if seen and seen != (shown := self._plan()):
                raise WorkbenchError(
                    "E-UI-STALE", "another view has changed the program since this was drawn",
                    where="the list of steps", found=f"steps {seen[:80]}", expected=f"steps {shown[:80]}",
                    fix="look at the new state, which is drawn now, and choose again", kept="the program is unchanged",
                )  # fmt: skip
            return command(args)

        return run

    def facts(self) -> dict[str, Any]:
        """What the page needs to draw its buttons, and `plan`, which a change is asked with as `seen`."""
        editable = isinstance(self._current(), EditableModel)
        return {
            "editable": editable, "undo": len(self._trail.past), "redo": len(self._trail.future), "call": self.call,
            "plan": self._plan(),
        }  # fmt: skip

    def _plan(self) -> str:
        """Of what is only for looking at, nothing."""
        model = self._current()
        return plan(model.names()) if isinstance(model, EditableModel) else ""

    @property
    def models(self) -> tuple[PipelineModel, ...]:
        """What was shown since `begun`: the one shown first, then what undo leads through, then redo."""
        sides = (takewhile(_is_change, reversed(side)) for side in (self._trail.past, self._trail.future))
        return (self._current(), *(model for side in sides for model, _ in side))

    @property
    def begun(self) -> Any:
        """What `go` was given with what is on the screen, before all that was done on it; None for the first."""
        return next((call.begun for _, call in reversed(self._trail.past) if call.begun is not None), None)

    @property
    def done(self) -> list[Call]:
        """What was done on that, oldest first, without what was taken back."""
        return [call for _, call in takewhile(_is_change, reversed(self._trail.past))][::-1]

    @property
    def calls(self) -> list[str]:
        """The lines of Python that do all that undo leads back through, oldest first."""
        return [call.code for _, call in self._trail.past]

    @property
    def call(self) -> str:
        """The line of Python that does what was done last."""
        return self._trail.past[-1][1].code if self._trail.past else ""

    @property
    def turned(self) -> Literal["", "undo", "redo"]:
        """Whether the last change took one back, or did one again."""
        return self._trail.turned

    def _model(self) -> EditableModel:
        model = self._current()
        if not isinstance(model, EditableModel):
            raise WorkbenchError("E-UI-READONLY", "this pipeline is only for looking at", fix="open it with wb.open")
        return model

    def _source(self, args: dict[str, Any]) -> Answer:
        view = self._model().source(argument(args, "step", str), argument(args, "function", str, ""))
        if len(view.text) > TEXT_LIMIT:
            raise WorkbenchError(
                "E-UI-SIZE",
                f"{view.function} is too large to be edited in a page",
                found=f"{len(view.text):,} characters",
                expected=f"at most {TEXT_LIMIT:,}",
                fix="change it in code: s[step].edit({name: text})",
            )
        return Answer("", view)

    def _edit(self, args: dict[str, Any]) -> Answer:
        step, function, text = (argument(args, name, str) for name in ("step", "function", "text"))
        try:
            return self._made(self._model().edited(step, function, text))
        except WorkbenchError as error:
            line, column = place(error) or (0, 0)
            return Answer("", {"refused": replace(ErrorView.of(error), line=line, column=column).to_json()})

    def _without(self, args: dict[str, Any]) -> Answer:
        return self._made(self._model().without(argument(args, "step", str)))

    def _switch_on(self, args: dict[str, Any]) -> Answer:
        return self._made(self._model().switched_on(argument(args, "step", str)))

    def _losses(self, args: dict[str, Any]) -> Answer:
        """What `rebase` would drop, each part with its place and the reason; the first of them where they are many."""
        losses = self._model().losses()
        rows = [[f"{one.step}, {one.function}", one.where, one.why] for one in losses[:_LOSSES]]
        return Answer("", {"rows": rows, "more": len(losses) - len(rows)})

    def _rebase(self, args: dict[str, Any]) -> Answer:
        return self._made(self._model().rebased())

    def _insert(self, args: dict[str, Any]) -> Answer:
        step, name = argument(args, "step", str), argument(args, "name", str)
        return self._made(self._model().inserted(step, name, argument(args, "values", dict, {})))

    def _pass_form(self, args: dict[str, Any]) -> Answer:
        """The fields of a pass's options: of the step's own, or of the pass `name`."""
        return Answer("", self._model().pass_form(argument(args, "step", str), argument(args, "name", str, "")))

    def _options(self, args: dict[str, Any]) -> Answer:
        """The step's pass again, under what its form holds; where it runs so already, that is no change."""
        step = argument(args, "step", str)
        model, call = self._model().with_options(step, argument(args, "values", dict))
        if plan(model.names()) == self._plan():
            return Answer("", {"step": step})
        return self._made((model, call))

    def _made(self, made: tuple[PipelineModel, str]) -> Answer:
        return Answer("", {"step": self.go(*made)})

    def go(self, model: PipelineModel, call: str, by_cell: bool = False, begun: Any = None) -> str:
        """Show another state, which a line of Python leads to; undo leads back.  Gives the id of the selected step."""
        return self._to(model, _Trail((*self._trail.past, (self._current(), Call(call, by_cell, begun)))))

    def turn(self, fits: Callable[[PipelineModel], bool]) -> bool:
        """Undo the last change, or redo the next one, where that leads to a state that fits; whether one did.

        Never to what was on the screen before something else was put there, nor to that again.
        """
        for there, turned in ((self._trail.past, self._undo), (self._trail.future, self._redo)):
            if there and _is_change(there[-1]) and fits(there[-1][0]):
                turned({})
                return True
        return False

    @property
    def mark(self) -> Any:
        """The state shown, with what undo and redo lead to: for `back_to`."""
        return self._current(), self._trail

    def back_to(self, mark: Any) -> None:
        """Show what was shown when the mark was read; what was done since is out of reach of undo and redo."""
        self._to(*mark)

    def _undo(self, args: dict[str, Any]) -> Answer:
        past, future = self._trail.past, self._trail.future
        if not past:
            raise WorkbenchError("E-UI-UNDO", "there is nothing to undo")
        model, call = past[-1]
        return Answer("", {"step": self._to(model, _Trail(past[:-1], (*future, (self._current(), call)), "undo"))})

    def _redo(self, args: dict[str, Any]) -> Answer:
        past, future = self._trail.past, self._trail.future
        if not future:
            raise WorkbenchError("E-UI-UNDO", "there is nothing to redo")
        model, call = future[-1]
        return Answer("", {"step": self._to(model, _Trail((*past, (self._current(), call)), future[:-1], "redo"))})

    def _to(self, model: PipelineModel, trail: _Trail) -> str:
        """Show a state, with its trail; refused or interrupted, the one before stays.

        Once it is shown, interrupts wait: what keeps and tells it follows whole.
        """
        before, was = self._current(), self._trail
        try:
            self._trail = trail
            step = self._show(model)
            hold_interrupts()
        except BaseException:
            self._trail = was
            if self._current() is not before:
                self._show(before)
            raise
        return step
