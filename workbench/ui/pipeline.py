"""The pipeline stepper: the list of steps, each with its difference, its rewrites, and its text to edit.

Invariant: models are values.  A change (`pipeline_edits`) moves the screen to another model, and undo moves it back.
Selecting is local to the page; the kernel is told afterwards, so that a later cell can go on from `selected_step` and
`selected_rewrite`.

    stepper = PipelineStepper(LlvmPassesModel(session.llvm_passes(kernel))); stepper
    stepper.select("SROAPass")
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from workbench.core.errors import WorkbenchError, nearest
from workbench.ui.kept import Kept
from workbench.ui.models import PipelineModel
from workbench.ui.pipeline_edits import Edits
from workbench.ui.protocol import JSON_LIMIT, Answer, argument, items
from workbench.ui.screen import Screen
from workbench.views.kinds import kinds_view
from workbench.views.schema import PipelineView
from workbench.views.snapshot import Snapshot
from workbench.views.snapshot_steps import steps_snapshot
from workbench.views.strings.tables import say

_PREFETCH_LIMIT: Final = 41
_LINES_LIMIT: Final = 2_000


class PipelineCommands:
    """The commands of a stepper on a `PipelineModel`; `announce(name, **args)` tells the pages of what happened."""

    def __init__(self, model: PipelineModel, announce: Callable[..., None]) -> None:
        self._model = model
        self._announce = announce
        self._view: PipelineView | None = None
        self.selected_step = ""
        self.selected_rewrite: int | None = None
        self.edits = Edits(lambda: self._model, self._changed_to)

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {
            **self.edits.commands(),
            "open": self._open,
            "step": self._step,
            "steps": self._steps,
            "kinds": self._kinds,
            "rewrite": self._rewrite,
            "text": self._text,
            "select": self._select,
        }

    @property
    def model(self) -> PipelineModel:
        """What is shown; assigning shows another state in every view of this screen."""
        return self._model

    @model.setter
    def model(self, model: PipelineModel) -> None:
        view = model.view()  # what can fail comes before anything changes
        self._model, self._view = model, view
        known = {step.id for step in self.view.steps}
        if self.selected_step not in known:
            self.selected_step, self.selected_rewrite = "", None
        self._announce("changed", state=self.view.state)

    def _changed_to(self, model: PipelineModel) -> str:
        """Show another state; select what was put in, left out or switched on, or the step before what is gone.

        Gives the id of the selected step.
        """
        before, selected = self.view, self.selected_step
        old = [step.id for step in before.steps]
        self.model = model
        new = [step.id for step in self.view.steps]
        if before.target != self.view.target and _named_alike(before, self.view):
            self.selected_step = dict(zip(old, new, strict=True)).get(selected, "")  # all are others: the place stays
            return self.selected_step
        differing = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
        differing = min(len(old), len(new)) if differing is None else differing
        if new != old:
            place = differing - 1 if len(new) < len(old) else differing
            self.selected_step, self.selected_rewrite = new[min(max(place, 0), len(new) - 1)], None
        return self.selected_step

    @property
    def view(self) -> PipelineView:
        """The list of steps, asked for once: a model is a value."""
        if self._view is None:
            self._view = self._model.view()
        return self._view

    @property
    def selected(self) -> str:
        """The name of the selected step."""
        return next((step.name for step in self.view.steps if step.id == self.selected_step), "")

    def select(self, step: str, rewrite: int | None = None) -> None:
        """Show a step (by id, or by name: the first of that name) and perhaps one rewrite of it."""
        steps = self.view.steps
        named = sorted((s for s in steps if step == s.name), key=lambda s: s.left_out)  # what runs goes before
        found = next((s for s in steps if step == s.id), None) or next(iter(named), None)
        if found is None:
            raise WorkbenchError(
                "E-UI-STEP",
                "there is no such step",
                found=repr(step),
                expected="the id or the name of a step",
                fix=nearest(step, [s.name for s in steps]),
            )
        self.selected_step, self.selected_rewrite = found.id, rewrite
        self._announce("select", step=found.id, rewrite=rewrite)

    def _open(self, args: dict[str, Any]) -> Answer:
        if any(step.pending for step in self.view.steps):
            self._view = None  # other questions may have computed them
        view = self.view
        selected = {"step": self.selected_step, "rewrite": self.selected_rewrite}
        return Answer(view.state, {**view.to_json(), "selected": selected, **self.edits.facts()})

    def _step(self, args: dict[str, Any]) -> Answer:
        view = self._model.step(argument(args, "step", str))
        self._view = None  # looking at a step may have computed it and others
        return Answer(self.view.state, view)

    def _steps(self, args: dict[str, Any]) -> Answer:
        """As many of the wished steps, in their order, as fit into one reply; the first always."""
        without = {step.id for step in self.view.steps if step.pending or step.left_out}
        wished = [name for name in items(args, "steps", str)[:_PREFETCH_LIMIT] if name not in without]
        views: list[dict[str, Any]] = []
        size = 0
        for name in wished:
            view = self._model.step(name).to_json()
            size += len(json.dumps(view, ensure_ascii=False).encode()) + 2
            if views and size > JSON_LIMIT - 1_000:
                break
            views.append(view)
        return Answer(self.view.state, {"steps": views})

    def _kinds(self, args: dict[str, Any]) -> Answer:
        step = argument(args, "step", str)
        return Answer(self.view.state, kinds_view(step, self._model.difference(step)))

    def _rewrite(self, args: dict[str, Any]) -> Answer:
        view = self._model.rewrite(argument(args, "step", str), argument(args, "index", int))
        return Answer(self.view.state, view)

    def _text(self, args: dict[str, Any]) -> Answer:
        side = argument(args, "side", str)
        if side not in ("before", "after"):
            raise WorkbenchError("E-UI-ARGUMENT", "a step has two sides", found=side[:40], expected="before, after")
        start, count = argument(args, "start", int), argument(args, "count", int)
        if start < 0 or not 0 < count <= _LINES_LIMIT:
            raise WorkbenchError(
                "E-UI-ARGUMENT",
                "lines out of reach",
                found=f"start={start}, count={count}",
                expected=f"start from 0, at most {_LINES_LIMIT} lines",
            )
        return Answer(self.view.state, self._model.text(argument(args, "step", str), side, start, count))

    def _select(self, args: dict[str, Any]) -> Answer:
        step = argument(args, "step", str)
        rewrite = argument(args, "rewrite", int, None)
        if step not in {s.id for s in self.view.steps}:
            raise WorkbenchError("E-UI-STEP", "there is no such step", found=repr(step)[:80])
        if rewrite is not None and rewrite < 0:
            raise WorkbenchError("E-UI-ARGUMENT", "there is no such rewrite", found=str(rewrite), expected="0 or more")
        self.selected_step, self.selected_rewrite = step, rewrite
        return Answer(self.view.state)


def _named_alike(one: PipelineView, other: PipelineView) -> bool:
    return [step.name for step in one.steps] == [step.name for step in other.steps]


class PipelineStepper(Screen):
    """A screen on a `PipelineModel`."""

    def __init__(self, model: PipelineModel) -> None:
        self._commands = PipelineCommands(model, lambda name, **args: self.announce(name, **args))
        kept = Kept(
            lambda: self.view.title or say.pipeline.screen,
            self._snapshot,
            lambda: (self.view.state, self.selected_step),
        )
        super().__init__("pipeline", self._commands.table(), kept)

    def _snapshot(self) -> Snapshot:
        """The steps, and the selected one's difference where it has run."""
        chosen = next((one for one in self.view.steps if one.id == self.selected_step), None)
        told = chosen is not None and not (chosen.pending or chosen.left_out)
        return steps_snapshot(self.view, self.model.step(self.selected_step) if told else None)

    @property
    def model(self) -> PipelineModel:
        """What is shown; assigning shows another state in every view of this screen."""
        return self._commands.model

    @model.setter
    def model(self, model: PipelineModel) -> None:
        with self._dispatcher.one_at_a_time:
            self._commands.model = model

    @property
    def view(self) -> PipelineView:
        """The list of steps."""
        with self._dispatcher.one_at_a_time:
            return self._commands.view

    @property
    def selected_step(self) -> str:
        """The id of the selected step."""
        return self._commands.selected_step

    @property
    def selected_rewrite(self) -> int | None:
        """The number of the selected rewrite; None for the whole step."""
        return self._commands.selected_rewrite

    @property
    def selected(self) -> str:
        """The name of the selected step."""
        with self._dispatcher.one_at_a_time:
            return self._commands.selected

    def select(self, step: str, rewrite: int | None = None) -> None:
        """Show a step (by id, or by name: the first of that name) and perhaps one rewrite of it."""
        with self._dispatcher.one_at_a_time:
            self._commands.select(step, rewrite)
