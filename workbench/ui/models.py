"""What the pipeline screen needs to know of what it shows.

Invariant: models are values.  A command gives a new model and leaves the old one as it was, so that a
screen is a pointer that moves and every state stays reachable.  Methods raise `WorkbenchError` with a
reason, never anything else; a screen shows it and stays where it was.

    class OneStep:                       # the least pipeline
        def view(self): return PipelineView("s0", (StepSummary("a", "Import", "import", True, 1.0, 0, 3),))
        def step(self, step): ...
        def difference(self, step): ...
        def rewrite(self, step, index): ...
        def text(self, step, side, start, count): ...
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from workbench.driver.difference import Difference
from workbench.driver.dropping import Loss
from workbench.views.schema import (
    Chunk,
    PipelineView,
    PrimitiveView,
    RewriteView,
    SourceView,
    StepView,
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

    def difference(self, step: str) -> Difference:
        """What a step changed, by kinds of changes."""
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

    def names(self) -> list[tuple[str, str, bool]]:
        """Of every step in the list its id, its name and whether it is left out; asking runs nothing."""
        ...

    def source(self, step: str, function: str = "") -> SourceView:
        """The text of a function after a step, as it may be edited; the first function without a name."""
        ...

    def edited(self, step: str, function: str, text: str) -> tuple[EditableModel, str]:
        """With a function changed after a step.  An error in the text names its line ("line 3:14")."""
        ...

    def without(self, step: str) -> tuple[EditableModel, str]:
        """Without a pass or an edit; the list of steps still has it, as left out."""
        ...

    def switched_on(self, step: str) -> tuple[EditableModel, str]:
        """With a step again that was left out."""
        ...

    def losses(self) -> tuple[Loss, ...]:
        """The parts of edits that `rebased` is without, each with its reason."""
        ...

    def rebased(self) -> tuple[EditableModel, str]:
        """Without the parts of edits that do not apply to what comes before them now."""
        ...

    def inserted(self, step: str, name: str, values: Mapping[str, Any] | None = None) -> tuple[EditableModel, str]:
        """With a pass put in after a step; `values` are what the form of its options holds."""
        ...

    def pass_form(self, step: str, name: str = "") -> PrimitiveView:
        """The form of the options of a step's pass, or of the pass `name`."""
        ...

    def with_options(self, step: str, values: Mapping[str, Any]) -> tuple[EditableModel, str]:
        """With a step's pass under other options."""
        ...
