"""Rows for what a person changed by hand, from what they handed over; and what is left of a row after a conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.arguments import by_name
from ..core.equal import same
from ..core.errors import WorkbenchError, nearest
from ..core.module import IRModule
from ..lower.kernel import Kernel
from ..lower.provider import require_callers_served
from ..target.target import Target
from ..te.nodes import Tensor
from ..te.prim_func import create_prim_func
from ..tir.nodes import PrimFunc
from .anchors import anchor, located, unknown_kernel
from .contents import Contents
from .edit_check import require_sound
from .history import History, Stage
from .plan import ChosenBy, CompilePlan, EditRow, LowerRow, Row, ScheduleRow, TextDelta, TraceTail
from .rebase import Rebased
from .tails import rebase_tail, trace_tail
from .text import constants_in, is_module, parse, parse_function, texts_of

if TYPE_CHECKING:
    from ..core.transform import Pass
    from .session import Session


def functions_of(change: Any, program: IRModule) -> dict[str, Any]:
    """The functions that an edit replaces, parsed where they are text; unchanged ones are left out.

    An edit changes functions: it makes none and removes none.  Raises `WorkbenchError` (E-EDIT-FUNCTION, E-EDIT-TYPES)
    for a whole program that lacks some, and for functions and types that the program has not.
    """
    constants = constants_in(program)
    texts = texts_of(change)
    if isinstance(change, str):
        whole = is_module(change)
        change = parse(change, constants)
        _require_types(change, program)
        _require_functions(change.functions, program, texts, whole)
    if isinstance(change, IRModule):
        _require_types(change, program)
        _require_functions(change.functions, program, texts, True)
        change = dict(change.functions)
    if not isinstance(change, Mapping):
        raise WorkbenchError(
            "E-EDIT-KIND",
            "an edit is a script, an IRModule, or functions by name",
            found=type(change).__name__,
        )
    change = by_name(change, "edit(...)", "E-EDIT-KIND", "{name: function}")
    _require_functions(change, program, texts, False)
    parsed = {
        name: parse_function(value, constants) if isinstance(value, str) else value for name, value in change.items()
    }
    return {name: value for name, value in parsed.items() if name not in program or not same(value, program[name])}


def _require_functions(
    given: Mapping[str, Any], program: IRModule, texts: Mapping[str, tuple[int, str]], whole: bool
) -> None:
    """Refuse functions that the program has not; of a `whole` program also the lack of those that it has."""
    kept = "the session as it was"
    for name in given:
        if name not in program:
            line = f"line {texts[name][0]}" if name in texts else f"function {name}"
            raise WorkbenchError(
                "E-EDIT-FUNCTION", f"there is no function {name!r} here: an edit changes functions, it adds none",
                where=line, expected=", ".join(program.names()[:8]),
                fix=nearest(name, program.names()) or "write it into a function that is there, or open the whole anew",
                kept=kept,
            )  # fmt: skip
    gone = [name for name in program.names() if name not in given] if whole else []
    if gone:
        raise WorkbenchError(
            "E-EDIT-FUNCTION", f"function {gone[0]!r} was removed: an edit changes functions, it removes none",
            where=f"function {gone[0]}", found=", ".join(given) or "no function",
            expected=", ".join(program.names()[:8]),
            fix="hand over only what is changed, by name: {name: text}; or open the program without it", kept=kept,
        )  # fmt: skip


def _require_types(given: IRModule, program: IRModule) -> None:
    """Refuse a whole program whose type definitions are other ones: an edit would pass them over."""
    old, new = program.type_definitions, given.type_definitions
    for name in {**old, **new}:
        if name not in old or name not in new or not same(old[name], new[name]):
            how = "added" if name not in old else "removed" if name not in new else "changed"
            raise WorkbenchError(
                "E-EDIT-TYPES", f"type {name!r} was {how}: an edit changes functions", where=f"type {name}",
                fix="open the program with its types anew", kept="the session as it was",
            )  # fmt: skip


def as_kernels(change: Mapping[str, Any]) -> dict[str, Any]:
    """Unscheduled kernels from te tensors."""
    change = by_name(change, "edit(te=...)", "E-EDIT-KIND", "{kernel: te tensors}")
    for name, value in change.items():
        tensors = isinstance(value, (list, tuple)) and all(isinstance(item, Tensor) for item in value)
        if not (isinstance(value, PrimFunc) or (tensors and value)):
            raise WorkbenchError(
                "E-EDIT-KIND", f"the kernel {name!r} is none", found=type(value).__name__,
                expected="te tensors (inputs, then outputs) or a PrimFunc",
            )  # fmt: skip
    return {
        name: value if isinstance(value, PrimFunc) else create_prim_func(list(value), name=name)
        for name, value in change.items()
    }


def checked_row(level: str, change: Any, stage: Stage, history: History) -> EditRow:
    """The row of a change to the program of `stage`.  Raises `WorkbenchError` for what is no sound program."""
    functions = functions_of(change, stage.module)
    known = {name: made for name, made in functions.items() if name in stage.module}
    require_sound(known, stage.module, texts_of(change))
    if history.guard is not None:
        history.guard.note_typed(functions, stage.module)
    return edit_row(level, functions, stage, history.contents)


def require_change(row: EditRow) -> EditRow:
    """The row.  Raises E-EDIT-UNCHANGED where every function is what it was, however it is written."""
    if all(delta.before == delta.after for delta in row.deltas):
        raise WorkbenchError(
            "E-EDIT-UNCHANGED", "the program is what it was: there is nothing to apply", found="the same program",
            expected="a change", kept="the session as it was",
        )  # fmt: skip
    return row


def edit_row(level: str, functions: Mapping[str, Any], stage: Stage, contents: Contents) -> EditRow:
    """The row of changed functions of a stage's program."""
    return EditRow(
        level,
        tuple(
            TextDelta(
                anchor(name, stage),
                contents.text_of(name, stage.module[name]) if name in stage.module else "",
                contents.text_of(name, function),
            )
            for name, function in functions.items()
        ),
    )


def rescheduled(row: ScheduleRow, schedules: Mapping[str, Any], stage: Stage, target: Target) -> ScheduleRow:
    """The row with other schedules by hand for some kernels; `stage` is the one before scheduling.

    Raises `WorkbenchError` for a kernel that is not there, for a schedule of another function, and for one that
    changes how a kernel is called.
    """
    kernels = stage.kernels(target)
    schedules = by_name(schedules, "edit(schedule=...)", "E-EDIT-KIND", "{kernel: what s.schedule(kernel) gives}")
    made: dict[str, TraceTail] = {}
    for name, schedule in schedules.items():
        if not hasattr(schedule, "trace"):
            raise WorkbenchError(
                "E-EDIT-KIND",
                f"the schedule of {name!r} is none",
                found=type(schedule).__name__,
                expected="what s.schedule(kernel) gives, changed",
            )
        if name not in kernels:
            raise unknown_kernel(name, kernels)
        kernel = kernels[name]
        made[name] = trace_tail(anchor(name, stage), schedule, kernel, stage.default_schedule(kernel))
        require_callers_served(kernel, schedule, stage.module)
    kept = [part for tail in row.tails for part in _without(tail, made, stage, kernels)]
    return replace(row, tails=(*kept, *made.values()))


def _without(
    tail: TraceTail, made: Mapping[str, TraceTail], stage: Stage, kernels: Mapping[str, Kernel]
) -> list[TraceTail]:
    """A schedule by hand without the kernels that have another one; on what it is of besides it stays as it comes out.

    It is of several where calls that shared a kernel have kernels of their own now.
    """
    names, _ = located(tail.at, stage)
    if not set(names) & set(made):
        return [tail]
    rest = [kernels[name] for name in names if name not in made and name in kernels]
    found = [(kernel, rebase_tail(tail, kernel, stage.default_schedule)) for kernel in rest]
    return [
        trace_tail(anchor(kernel.name, stage), report.result, kernel, stage.default_schedule(kernel))
        for kernel, report in found
    ]


def applicable(row: Row, reports: Sequence[Rebased], stage: Stage, contents: Contents, target: Target) -> Row | None:
    """What of an edit's row applies, by the reports of its conflict; None where nothing of an edit of functions does.

    `stage` is the one before the row's step; each report says of which part of the row it is.
    """
    parts = row.tails if isinstance(row, ScheduleRow) else row.deltas if isinstance(row, EditRow) else ()
    parts = row.choices if isinstance(row, LowerRow) else parts
    by_part = [[report for report in reports if report.part == number] for number in range(len(parts))]
    if isinstance(row, ScheduleRow):
        kernels = stage.kernels(target)
        kept = (_applicable_tails(tail, mine, stage, kernels) for tail, mine in zip(row.tails, by_part, strict=True))
        return replace(row, tails=tuple(tail for some in kept for tail in some))
    if isinstance(row, LowerRow):
        found = (_applicable_choices(one, mine) for one, mine in zip(row.choices, by_part, strict=True))
        return replace(row, choices=tuple(one for some in found for one in some))
    assert isinstance(row, EditRow)
    deltas: list[TextDelta] = []
    for delta, mine in zip(row.deltas, by_part, strict=True):
        if not any(report.dropped for report in mine):
            deltas.append(delta)
            continue
        for report in mine:
            if report.applied and report.name in stage.module:
                before = contents.text_of(report.name, stage.module[report.name])
                after = contents.text_of(report.name, report.result)
                deltas.append(TextDelta(anchor(report.name, stage), before, after))
    return replace(row, deltas=tuple(deltas)) if deltas else None


def _applicable_choices(one: ChosenBy, reports: Sequence[Rebased]) -> list[ChosenBy]:
    if not any(report.dropped for report in reports):
        return [one]
    return [report.result for report in reports if report.applied]


def _applicable_tails(
    tail: TraceTail, reports: Sequence[Rebased], stage: Stage, kernels: Mapping[str, Kernel]
) -> list[TraceTail]:
    if not any(report.dropped for report in reports):
        return [tail]
    return [
        trace_tail(anchor(one.name, stage), one.result, kernels[one.name], stage.default_schedule(kernels[one.name]))
        for one in reports
        if one.result is not None and (one.applied or not one.dropped)
    ]


def with_passes(
    session: Session, replace: Mapping[str | int, str | Pass], insert: Mapping[str | int, str | Pass]
) -> CompilePlan:
    """The session's plan with other passes in the places of steps, and further ones after steps.

    Every label and number is one of the session's steps as they are now: names are numbered anew once one is replaced.
    Raises `WorkbenchError` (E-STEP-UNKNOWN, E-PASS-UNKNOWN, E-PASS-PLACE) for what is no step, is no pass, has no
    place after it, or is replaced twice.
    """
    contents = session.history.contents
    plan = session.plan
    replaced: dict[int, str | int] = {}
    for label, chosen in replace.items():
        index = session[label].index
        row = plan.rows[index - 1] if index else None
        if row is None or row.kind != "pass":
            kind = "import" if row is None else row.kind
            raise WorkbenchError("E-PASS-UNKNOWN", f"step {label!r} is no pass", found=f"a step of kind {kind}")
        if index in replaced:
            raise WorkbenchError(
                "E-PASS-PLACE", f"step {session.labels[index]!r} is replaced twice", where="rerun(replace=...)",
                found=f"{replaced[index]!r} and {label!r}", expected="one pass for each step",
            )  # fmt: skip
        replaced[index] = label
        plan = plan.with_row(index, contents.row_of(chosen, row.level))
    places = [(session[label].index, label, chosen) for label, chosen in insert.items()]
    for index, label, chosen in sorted(reversed(places), key=lambda place: -place[0]):  # the last first: none moves
        level = session.actions[index].level
        if level == "native":
            raise WorkbenchError("E-PASS-PLACE", "no pass runs after code generation", found=str(label))
        plan = plan.after(index, contents.row_of(chosen, level))
    return plan
