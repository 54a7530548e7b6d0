"""What a screen needs to know of the things it shows: two small protocols.

Invariant: models are values.  A command gives a new model and leaves the old one as it was, so that a
screen is a pointer that moves and every state stays reachable.  Methods raise `WorkbenchError` with a
reason, never anything else; a screen shows it and stays where it was.

    class OneStep:                       # the least pipeline
        def view(self): return PipelineView("s0", (StepSummary("a", "Import", "import", True, 1.0, 0, 3),))
        def step(self, step): ...
        def rewrite(self, step, index): ...
        def text(self, step, side, start, count): ...
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

from workbench.views.schema import (
    Chunk,
    PipelineView,
    ReasonsView,
    RewriteView,
    ScheduleView,
    SourceView,
    StepView,
    SuggestionsView,
)

Side = Literal["before", "after"]


@runtime_checkable
class PipelineModel(Protocol):
    """A history of steps, for looking at."""

    def view(self) -> PipelineView:
        """The list of steps."""
        ...

    def step(self, step: str) -> StepView:
        """A step closely.  Text far from every hunk may be left out of the chunks when it is long."""
        ...

    def rewrite(self, step: str, index: int) -> RewriteView:
        """The rewrite `index` (from 0) of a step: the text before and after this one rewrite."""
        ...

    def text(self, step: str, side: Side, start: int, count: int) -> Chunk:
        """Lines [start, start + count) of the program before or after a step."""
        ...


@runtime_checkable
class EditableModel(PipelineModel, Protocol):
    """A history of steps that can be changed; each change gives another model and the Python that does the same."""

    def source(self, step: str, function: str = "") -> SourceView:
        """The text of a function after a step, as it may be edited; the first function without a name."""
        ...

    def edited(self, step: str, function: str, text: str) -> tuple[EditableModel, str]:
        """With a function changed after a step.  An error in the text names its line ("line 3:14")."""
        ...

    def without(self, step: str) -> tuple[EditableModel, str]:
        """Without a pass or an edit."""
        ...

    def inserted(self, step: str, name: str) -> tuple[EditableModel, str]:
        """With a pass put in after a step."""
        ...


@runtime_checkable
class ScheduleModel(Protocol):
    """A schedule at one state, for looking at and for going on from."""

    def view(self) -> ScheduleView:
        """The loop tree, the code so far, and the primitives with the reasons against them."""
        ...

    @property
    def schedule(self) -> Any:
        """The schedule itself, for going on in code."""
        ...

    def reasons(self, selection: str) -> ReasonsView:
        """What can be done at one node, and why not; asked for where `view().judged` is false."""
        ...

    def apply(self, primitive: str, selection: str, arguments: dict[str, Any]) -> ScheduleModel:
        """The schedule after one more primitive at the node `selection`; a refusal is a `WorkbenchError`."""
        ...

    def ways(self, primitive: str, selection: str) -> SuggestionsView:
        """What could be done in place of a refused primitive."""
        ...

    def accept(self, primitive: str, selection: str, number: int) -> ScheduleModel:
        """The schedule after one of these suggestions, counted from 0."""
        ...

    def force(self, primitive: str, selection: str) -> ScheduleModel:
        """The schedule after what only legality refuses, done all the same and marked unsafe."""
        ...

    def undo(self) -> ScheduleModel:
        """The state one entry earlier."""
        ...

    def redo(self) -> ScheduleModel:
        """The state one entry later, on the branch last undone."""
        ...

    def switch(self, branch: int) -> ScheduleModel:
        """The end of another branch, by its number in the view."""
        ...
