"""The actions that a plan's rows stand for: import, a pass, lower, schedule, an edit, code generation.

    actions_of(session.plan, session.history.root, session.history.contents)

Every action runs under the plan's own target and settings; instruments are those of the moment, since they only watch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..core import origin, reliance
from ..core.errors import WorkbenchError, nearest
from ..core.limits import limits
from ..core.module import IRModule
from ..core.transform import PASSES, Pass, PassContext, PassInstrument
from ..lower.choosing import choice_by_hand, no_choice
from ..lower.entry import Lowered, lower_module
from ..lower.implementation import Choice
from ..lower.kernel import Kernel
from ..lower.provider import Provider, override, schedule_kernels
from ..relay.ir.users_operators import note_operators
from ..schedule.trace import Trace
from ..tir.by_hand import note_by_hand
from ..tir.flat import require_marks
from ..tir.nodes import PrimFunc
from ..tir.transforms.pipeline import CHECKED_PIPELINE
from . import reattach
from .anchors import anchor, located, unknown_kernel
from .contents import Contents, OfTheMoment
from .history import Action, Stage, key_of
from .native import compile_stage
from .plan import IMPORT, CompilePlan, EditRow, LowerRow, PassRow, ProgramRef, ScheduleRow, TraceTail
from .rebase import Dropped, Rebased, RebaseError, rebase_text, second_of
from .tails import moves_by_hand, rebase_tail, steps_of


def import_action(module: IRModule, program: ProgramRef, origins: origin.OriginTable) -> Action:
    """The root of a history: a module, with the origins that import recorded."""

    for name, function in module.functions.items():
        if isinstance(function, PrimFunc):
            require_marks(function, name)
    imported = Stage(module)  # now: a caller's module may be another one when the step runs

    def run(stage: Stage | None) -> Stage:
        table = origin.active()
        if table is not None:
            table.join(origins)
        return imported

    arguments = {"source": program.source, "file": program.file, "shape": dict(program.shape)}
    return Action(IMPORT, "import", level_of(module), arguments, key_of("import", module.fingerprint()), run)


def level_of(module: IRModule) -> str:
    """relay or tir"""
    return "tir" if any(isinstance(function, PrimFunc) for function in module.functions.values()) else "relay"


def actions_of(
    plan: CompilePlan,
    root: Action,
    contents: Contents,
    deciders: Sequence[PassInstrument] = (),
    provider: Provider | None = None,
) -> tuple[Action, ...]:
    """The history of a plan, not run.

    `deciders` are instruments that decide which passes run; they make other steps.  `provider` gives the schedules
    that nobody made by hand.
    """
    around = _Around(plan, contents, tuple(deciders), provider)
    return (root, *(around.action(row) for row in plan.rows))


class _Around:
    """What all actions of a plan share."""

    def __init__(
        self,
        plan: CompilePlan,
        contents: Contents,
        deciders: tuple[PassInstrument, ...],
        provider: Provider | None,
    ) -> None:
        self.plan = plan
        self.contents = contents
        self.deciders = deciders
        self.provider = provider
        contents.hold(deciders)
        self.key = key_of(plan.target, plan.settings, *(id(decider) for decider in deciders))

    def action(self, row: Any) -> Action:
        """The action of a row."""
        if isinstance(row, PassRow):
            return self._pass(row)
        if isinstance(row, EditRow):
            return self._edit(row)
        if isinstance(row, ScheduleRow):
            return self._schedule(row)
        return self._lower(row) if isinstance(row, LowerRow) else self._codegen()

    @contextmanager
    def entered(self) -> Iterator[tuple[PassInstrument, ...]]:
        """The plan's target and settings, watched by the instruments of the moment, which are entered already."""
        watching = tuple(item for item in PassContext.current().instruments if not decides(item))
        instruments = (*self.deciders, *watching)
        with self.plan.target, self.plan.settings.context(instruments).applied():
            yield instruments

    def _pass(self, row: PassRow) -> Action:
        key = key_of("pass", row.name, row.options, row.code, self.key)

        def run(stage: Stage | None) -> Stage:
            assert stage is not None
            with reliance.unrecorded():  # the step's key holds the code's
                made = self.contents.required_pass(row, self.plan.rows)
            memo = self.contents.memo(key) if made.each is not None and row.name in CHECKED_PIPELINE else None
            with self.entered() as instruments, self._unchanged(row, made):
                note_operators(stage.module)
                if memo is None or instruments:
                    return replace(stage, module=made(stage.module))
                return replace(stage, module=memo.run(made, stage.module))

        return Action(row.name, "pass", row.level, self.contents.options(row), key, run, row.code)

    @contextmanager
    def _unchanged(self, row: PassRow, made: Pass) -> Iterator[None]:
        """Run a pass that reads what it read when it was chosen: its step is known by that."""
        if not made.may_change:
            yield
            return
        before = made.code_key
        if self.contents.chosen_code(before) != self.contents.chosen_code(row.code):
            raise OfTheMoment(
                "E-PASS-CHANGED", f"pass {row.name} reads something that changed after the pass was chosen",
                found=f"the code {before}", expected=f"the code {row.code}",
                fix="take the pass as it is now: s.reload()", kept="the steps before it",
            )  # fmt: skip
        try:
            yield
        finally:  # also of a run that failed: it may be tried again
            self.contents.note_run(before, made.code_key)

    def _lower(self, row: LowerRow) -> Action:
        parts = [part for one in row.choices for part in (one.at, one.implementation, one.config)]
        key = key_of("lower", *parts, self.key)
        known = key_of("lower", self.key)

        def run(stage: Stage | None) -> Stage:
            assert stage is not None
            with self.entered():
                note_operators(stage.module)
                typed = PASSES["InferType"]()(stage.module)
                earlier = self.contents.kernels(key_of(known, limits))  # with other limits, kernels and schedules anew
                lowered = lower_module(typed, self.plan.target, earlier)
                if row.choices:
                    chosen = self._chosen(row, replace(stage, module=lowered.module, lowered=lowered))
                    lowered = lower_module(typed, self.plan.target, earlier, chosen)
            return replace(stage, module=lowered.module, lowered=lowered)

        arguments = {"target": str(self.plan.target), **_by_name((one.at.name, str(one)) for one in row.choices)}
        return Action("Lower", "lower", "tir", arguments, key, run)

    def _chosen(self, row: LowerRow, stage: Stage) -> dict[str, Choice]:
        """What a person chose, by the fingerprint of today's kernels, in a lowered stage without choices.

        Raises `RebaseError` where one does not apply.
        """
        kernels, reports = stage.kernels(self.plan.target), list[Rebased]()
        made: dict[str, Choice] = {}
        for part, one in enumerate(row.choices):
            names, lost = located(one.at, stage)
            reports += [replace(lost, part=part)] if lost is not None else []
            for name in names:
                workload = kernels[name].workload
                try:
                    if workload is None:
                        raise no_choice(name)
                    made[kernels[name].fingerprint] = choice_by_hand(workload, one.implementation, dict(one.config))
                    own = replace(one, at=anchor(name, stage))
                    reports.append(Rebased(name, own, (str(one),), part=part))
                except WorkbenchError as error:
                    dropped = Dropped(f"{one} of {name}", error.message)
                    reports.append(Rebased(name, None, (), (dropped,), part=part))
        _refuse_lost(reports)
        return made

    def _codegen(self) -> Action:
        def run(stage: Stage | None) -> Stage:
            assert stage is not None
            with self.entered():
                return replace(stage, compiled=compile_stage(stage, self.plan.target))

        key = key_of("codegen", self.key)
        return Action("Codegen", "codegen", "native", {"target": str(self.plan.target)}, key, run)

    # --- edits ---

    def _schedule(self, row: ScheduleRow) -> Action:
        def run(stage: Stage | None) -> Stage:
            assert stage is not None
            with self.entered():
                kernels = stage.kernels(self.plan.target)
                chosen = self._by_hand(row, stage, kernels)
                provider = override(chosen, self._otherwise(stage))
                wanted = [kernel for name, kernel in kernels.items() if stage.lowered is not None or name in chosen]
                module, schedules = schedule_kernels(stage.module, tuple(wanted), provider)
            return replace(stage, module=module, schedules=schedules)

        arguments = _by_name((tail.at.name, _code(tail.trace)) for tail in row.tails)
        parts = [part for tail in row.tails for part in (tail.at, tail.shared, tail.trace)]
        return Action(row.name, "schedule", "tir", arguments, key_of("schedule", *parts, self.key), run)

    def _otherwise(self, stage: Stage) -> Provider:
        """What schedules the kernels that nobody scheduled by hand."""
        return self.provider or stage.default_schedule

    def _by_hand(self, row: ScheduleRow, stage: Stage, kernels: Mapping[str, Kernel]) -> dict[str, Any]:
        """The schedules by hand, each on today's kernel.  Raises `RebaseError` where one does not apply."""
        reports: list[Rebased] = []
        for part, tail in enumerate(row.tails):
            names, lost = located(tail.at, stage)
            if not (tail.at.fingerprint or (names and names[0] in kernels)):
                raise unknown_kernel(tail.at.name, kernels)
            for name in names:
                report = second_of(name, "kernel", reports)
                if report is None:
                    report = rebase_tail(tail, kernels[name], self._otherwise(stage), self.contents.guard)
                    reports.append(replace(report, part=part))
                else:
                    reports.append(_of_schedule(report, tail, part))
            reports += [_of_schedule(lost, tail, part)] if lost is not None else []
        _refuse_lost(reports)
        return {report.name: report.result for report in reports}

    def _edit(self, row: EditRow) -> Action:
        def run(stage: Stage | None) -> Stage:
            assert stage is not None
            with self.entered(), origin.recording():  # what merging and checking say of origins is not the edit's
                changed = self._edited(row, stage)
            note_by_hand(changed.values())
            for name, function in changed.items():
                reattach.record(function, stage.module[name], name)
            return replace(stage, module=stage.module.with_functions(changed), lowered=_with_kernels(stage, changed))

        arguments = _by_name((delta.at.name, delta.after) for delta in row.deltas)
        parts = [part for delta in row.deltas for part in (delta.at, delta.before, delta.after)]
        return Action(row.name, "edit", row.level, arguments, key_of("edit", row.level, *parts), run)

    def _edited(self, row: EditRow, stage: Stage) -> dict[str, Any]:
        """The edited functions by name, on today's.  Raises `RebaseError` where one does not apply."""
        reports: list[Rebased] = []
        for part, delta in enumerate(row.deltas):
            names, lost = located(delta.at, stage)
            if not names and not delta.before:
                hint = nearest(delta.at.name, stage.module.names())
                raise WorkbenchError("E-EDIT-FUNCTION", f"there is no function {delta.at.name!r} here", fix=hint)
            for name in names:
                now = stage.module[name]
                before = self.contents.function(delta.before) if delta.before else now
                report = second_of(name, "function", reports)
                after = self.contents.function(delta.after)
                report = report or rebase_text(name, before, after, now, stage.module)
                reports.append(replace(report, part=part))
            reports += [replace(lost, part=part)] if lost is not None else []
        _refuse_lost(reports)
        return {report.name: report.result for report in reports}


def decides(instrument: PassInstrument) -> bool:
    """Whether an instrument decides which passes run, and does not only watch."""
    return type(instrument).should_run is not PassInstrument.should_run


def deciding() -> tuple[PassInstrument, ...]:
    """The instruments of the current context that decide which passes run."""
    return tuple(item for item in PassContext.current().instruments if decides(item))


def _of_schedule(lost: Rebased, tail: TraceTail, part: int) -> Rebased:
    """The report of a kernel on which nothing of a schedule can be done, with how much that is."""
    moves = max(1, moves_by_hand(tail))
    return replace(lost, part=part, moves=moves, dropped=tuple(replace(item, moves=moves) for item in lost.dropped))


def _refuse_lost(reports: Sequence[Rebased]) -> None:
    lost = [report.name for report in reports if report.dropped]
    if lost:
        names = ", ".join(dict.fromkeys(lost))
        raise RebaseError(reports, names)


def _by_name(parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parts of a row by the name that their function had; one that occurs again is numbered ("relu#2")."""
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for name, part in parts:
        counts[name] += 1
        found[name if counts[name] == 1 else f"{name}#{counts[name]}"] = part
    return found


def _code(trace: str) -> str:
    try:
        return Trace(steps_of(trace)).as_python()  # only shown
    except WorkbenchError:  # a damaged file: the step says so
        return json.loads(trace) if trace.startswith('"') else trace


def _as_a_wish(kernel: Kernel) -> Choice | None:
    return None if kernel.choice is None else replace(kernel.choice, by_hand=False)


def _with_kernels(stage: Stage, changed: Mapping[str, Any]) -> Lowered | None:
    """The lowered model with kernels changed before they are scheduled.

    What was chosen to compute one says no more than how to schedule what is left of it.
    """
    if stage.lowered is None or stage.schedules:
        return stage.lowered
    kernels = tuple(
        replace(kernel, func=changed[kernel.name], choice=_as_a_wish(kernel)) if kernel.name in changed else kernel
        for kernel in stage.lowered.kernels
    )
    return replace(stage.lowered, kernels=kernels)
