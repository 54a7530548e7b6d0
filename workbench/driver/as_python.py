"""A session as the lines of Python that make it again from its source: the contexts, the passes, the edits in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ..core.errors import WorkbenchError
from ..schedule.trace import Trace
from ..tir.nodes import PrimFunc
from .anchors import located
from .choices import choosing_call
from .option_code import RESERVED, OptionCode
from .plan import CompilePlan, EditRow, LowerRow, PassRow, Row, ScheduleRow, TextDelta, default_rows
from .rebase import RebaseError
from .settings import PassSettings
from .text import function_text

if TYPE_CHECKING:
    from .session import Session


def to_python(session: Session) -> str:
    """The lines of Python that make this session again from its source.

    They can be read as Python whatever the session holds; what they cannot make themselves (the program, arrays bound
    to parameters, values of options that have no text) are variables, each with a remark at the top.

    Raises `WorkbenchError` E-PYTHON-CONFLICT where a change by hand does not apply to what is before it now: what
    it was made on is no step of this session, and made on what is there, it would lead to another program; and where a
    step before it stops, so that there is nothing to make it on.
    """
    plan, program = session.plan, session.plan.program
    _require_applied(session)
    passes = _Passes(session)
    opened, changes = _body(session, passes)
    body = [*opened, *changes]
    lines = [*(line for line in passes.values.imports if line.startswith("import ")), "import workbench as wb"]
    lines += [line for line in passes.values.imports if not line.startswith("import ")]
    used = [name for name, sign in (("PASSES", "PASSES["), ("pass_named", "pass_named(")) if sign in "".join(body)]
    if used:
        lines.append(f"from workbench.core.transform import {', '.join(used)}")
    own = dict.fromkeys(row.name for row in plan.rows if isinstance(row, PassRow) and row.own)
    lines += [_remark(f"{name}: a pass that is not the workbench's own; define it first") for name in own]
    guard = session.history.guard
    if guard is not None:
        lines.append(_remark(f"{guard}: look at the functions before you run this"))
    if not program.file:
        lines.append(_remark(f"program: what was opened, of kind {program.source}"))
    lines += [_remark(text) for text in passes.values.remarks]
    lines += [_remark(f"{_variable(name)}: the value that {name} was specialised for") for name in program.assume]
    lines += [_remark(f"{_variable(name, 'bound')}: the array bound to parameter {name}") for name in program.params]
    return "\n".join([*lines, "", *body]) + "\n"


def changes_in_python(session: Session) -> list[str]:
    """Of the lines of `to_python` those that do something to what was opened, the opening among them where it does."""
    _require_applied(session)
    opened, changes = _body(session, _Passes(session))
    plain = len(opened) == 1 and ", passes=[" not in opened[0]
    return [*(() if plain else opened), *changes]


def _body(session: Session, passes: _Passes) -> tuple[list[str], list[str]]:
    """The lines that open, and those that change what they opened."""
    plan, program = session.plan, session.plan.program
    graph = tuple(row for row in plan.rows if isinstance(row, PassRow) and row.level == "relay")
    base = replace(plan, rows=default_rows(plan.level, plan.settings))
    usual = tuple(row for row in base.rows if row.level == "relay")
    arguments = [repr(program.path) if program.file else "program"]
    if program.shape:
        arguments.append(f"shape={dict(program.shape)!r}")
    arguments.append(f"target={str(plan.target)!r}")
    if plan.level == "relay" and list(map(_key, graph)) != list(map(_key, usual)):
        arguments.append(f"passes=[{', '.join(map(passes.code, graph))}]")
        base = base.with_graph(graph)
    for option, names, others in (("assume", program.assume, "assumed"), ("params", program.params, "bound")):
        if names:
            arguments.append(f"{option}={{{', '.join(f'{name!r}: {_variable(name, others)}' for name in names)}}}")
    opened = f"s = wb.open({', '.join(arguments)})"
    return _under(plan.settings, opened), list(_changes(session, base, passes))


def _require_applied(session: Session) -> None:
    by_hand = (EditRow, ScheduleRow, LowerRow)
    for index, row in enumerate(session.plan.rows, 1):
        error = session.step(index).error if isinstance(row, by_hand) else None
        if isinstance(error, RebaseError):
            raise _conflict(f"step {session.labels[index]} does not apply to what is before it", error,
                            "s.rebase() keeps what applies, s.save(path) keeps all as it is")  # fmt: skip
        made = isinstance(row, EditRow) or bool(getattr(row, "tails", ()) or getattr(row, "choices", ()))
        if error is not None and made and session.step(index - 1).error is not None:
            raise _conflict(f"a step before {session.labels[index]}, which is by hand, stops with an error", error,
                            "leave out or change the step that stops; s.save(path) keeps all as it is")  # fmt: skip


def _conflict(what: str, error: WorkbenchError, fix: str) -> WorkbenchError:
    return WorkbenchError(
        "E-PYTHON-CONFLICT", f"no lines of Python make this session: {what}",
        where=error.where, found=f"{error.code}: {error.message}"[:300], expected="edits and schedules that apply",
        fix=fix, kept="the session",
    )  # fmt: skip


def _remark(text: str) -> str:
    """A comment of one line, whatever a file says."""
    return "# " + "".join(character if character.isprintable() else " " for character in text)


def _variable(name: str, others: str = "assumed") -> str:
    """What a value is called in the lines: its name where that is one in Python, and free; else one of `others`."""
    free = name.isidentifier() and not iskeyword(name) and name not in RESERVED
    return name if free else f"{others}[{name!r}]"


def _under(settings: PassSettings, opened: str) -> list[str]:
    """The line that opens, under the settings where they are not the usual ones."""
    given = {
        "opt_level": (settings.level, PassSettings().level),
        "required_pass": (list(settings.required), []),
        "disabled_pass": (list(settings.disabled), []),
        "config": (json.loads(settings.config), {}),
    }
    named = [f"{name}={value!r}" for name, (value, usual) in given.items() if value != usual]
    return [f"with wb.transform.PassContext({', '.join(named)}):", f"    {opened}"] if named else [opened]


def _key(row: Row) -> tuple[Any, ...]:
    return (row.kind, row.name, *((row.options, row.own) if isinstance(row, PassRow) else ()))


class _Passes:
    """Passes with their options as code."""

    def __init__(self, session: Session) -> None:
        self._contents = session.history.contents
        self.values = OptionCode((*session.plan.program.assume, *session.plan.program.params))

    def code(self, row: PassRow) -> str:
        """The pass of a row."""
        chosen = self._contents.known_pass(row)
        if chosen is not None and not chosen.has_whole_options:
            return self.values.of(chosen, row.name)
        given = self._contents.options(row)
        options = {key: self.values.of(value, f"{row.name}_{key}") for key, value in given.items()}
        if row.own:  # others may have its name, the workbench's passes too
            held = ", ".join(f"{key!r}: {value}" for key, value in options.items())
            return f"pass_named({row.name!r}, {{{held}}}, {row.own!r})"
        named = ", ".join(f"{key}={value}" for key, value in options.items())
        return f"PASSES[{row.name!r}]({named})" if named else repr(row.name)


def _changes(session: Session, made: CompilePlan, passes: _Passes) -> Iterator[str]:
    """The commands that lead from a plan to the session's, from the first step to the last."""
    wanted = session.plan.rows
    scheduled = False
    for place, row in enumerate(wanted):
        here = _key(row)
        later = [index for index in range(place, len(made.rows)) if _key(made.rows[index]) == here]
        twins_are_few = len(later) < sum(_key(other) == here for other in wanted[place:])
        if later[:1] != [place] and (twins_are_few or not all(map(_can_go, made.rows[place : later[0]]))):
            label = made.labels[place]
            ahead = _schedules_ahead(row, wanted[place:], made)
            if ahead is not None:
                yield from _schedules(session, ahead, wanted.index(ahead) + 1, as_made=True)
                made, scheduled = made.after(made.schedule_row()[0] - 1, ahead), True
            if isinstance(row, EditRow):
                yield from _edit(session, row, place + 1, label)
            elif isinstance(row, PassRow):
                yield f"s = s.rerun(insert={{{label!r}: {passes.code(row)}}})"
            made, later = made.after(place, row), [place]
        for _ in range(place, later[0]):
            yield f"s = s.without({made.labels[place + 1]!r})"
            made = made.without(place + 1)
        if isinstance(row, LowerRow):
            yield from _choices(session, row, place + 1)
        if isinstance(row, ScheduleRow) and not scheduled:
            yield from _schedules(session, row, place + 1)
    for _ in range(len(wanted), len(made.rows)):
        yield f"s = s.without({made.labels[len(wanted) + 1]!r})"
        made = made.without(len(wanted) + 1)


def _can_go(row: Row) -> bool:
    """Whether a step can be left out: a twin behind one that stays is another one."""
    return isinstance(row, (PassRow, EditRow))


def _schedules_ahead(row: Row, coming: Sequence[Row], made: CompilePlan) -> ScheduleRow | None:
    """The schedules of a loop program that come first: before a pass of the pipeline, which would stand behind them.

    A loop program gets its schedules in front of the pipeline's first pass; this one was put before them afterwards.
    """
    if not isinstance(row, PassRow) or row.own or any(isinstance(each, ScheduleRow) for each in made.rows):
        return None
    return next((each for each in coming if isinstance(each, ScheduleRow)), None)


def _edit(session: Session, row: EditRow, index: int, at: str) -> Iterator[str]:
    """The edit as it came out, so that it is made on the very program that it is shown on.

    One that changes nothing is made too: it is a step, after which further ones are put and numbered.
    """
    step = session.step(index)
    texts = {delta.at.name: _marked(session, delta) for delta in row.deltas}
    if step.error is not None:
        yield _remark(f"step {step.label} does not apply: {step.error.code}")
    elif step.previous is not None:
        before, after = step.previous.stage.module, step.stage.module
        changed = [name for name in after.names() if before.functions.get(name) is not after[name]]
        texts = {name: function_text(name, after[name]).text for name in changed}
    functions = ", ".join(f"{name!r}: {_quoted(text)}" for name, text in texts.items())
    yield f"s = s.edit({row.level}={{{functions}}}, at={at!r})"


def _marked(session: Session, delta: TextDelta) -> str:
    """The text of an edit as it was made; of one from a file with the mark of what nobody allowed."""
    guard, function = session.history.guard, session.history.contents.function(delta.after)
    if guard is None or not isinstance(function, PrimFunc):
        return delta.after
    return function_text(delta.at.name, guard.mark(delta.at.name, function)).text


def _choices(session: Session, row: LowerRow, index: int) -> Iterator[str]:
    """What a person chose to compute kernels, by the names that they have now."""
    for one in row.choices:
        for name in located(one.at, session.step(index).stage)[0]:
            yield choosing_call(name, one.implementation, one.config)


def _schedules(session: Session, row: ScheduleRow, index: int, as_made: bool = False) -> Iterator[str]:
    """The schedules as they came out; `as_made`: as they were made, before what was put in front of them."""
    for tail in row.tails:
        step = session.step(index)
        names = [] if as_made else located(tail.at, session.step(index - 1).stage)[0]
        for name in names or (tail.at.name,):
            try:
                schedule = step.stage.schedules.get(name) if step.error is None and not as_made else None
                code = schedule.code() if schedule is not None else Trace.from_json(tail.trace).as_python()
            except WorkbenchError as error:
                yield _remark(f"the schedule of {name} cannot be read: {error.code}")
                continue
            yield f"sch = s.schedule({name!r}, default=False)"
            yield from code.rstrip().split("\n")
            yield f"s = s.edit(schedule={{{name!r}: sch}})"


def _quoted(text: str) -> str:
    """A text as a raw-looking literal of several lines where it can be."""
    return repr(text) if "\\" in text or "'''" in text else f"'''{text}'''"
