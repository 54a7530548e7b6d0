"""Hint ladders, computed from the first check that fails: which property, where, by what, and the line itself.

Where a schedule is asked for, nothing is written by hand.  The line comes from the check where it knows one; else primitives are
tried on a copy of the schedule, and the line is the one that makes the check pass, or brings a figure down most.  Answers that are
expressions or values have the teacher's own words on the last two rungs.

    ladder(exercise, report)      # four texts, from the faintest to the plainest
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..core.errors import WorkbenchError
from ..schedule import Schedule
from ..schedule.references import BlockRV, LoopRV
from ..schedule.registry import PRIMITIVES, Primitive
from .checks import verdict_of
from .exercise import Check, Exercise, Verdict
from .work import Work

TRIES: Final = 120
"""Steps that are tried in the search for a line."""
DEFAULT_HELPS: Final = ("vectorize", "parallel", "reorder", "split", "compute_at", "compute_inline")


def ladder(exercise: Exercise, check: Check, verdict: Verdict, work: Work | None) -> tuple[str, ...]:
    """Four hints for a check that failed."""
    own = exercise.hints.get(check.name, ())
    first = f"Look at: {check.name}. It says: {_sentence(verdict.reason)}"
    lines, primitive = verdict.lines, verdict.primitive
    if not lines and work is not None and work.schedule is not None:
        found = search(check, work, check.helps or tuple(name for name in (primitive,) if name) or DEFAULT_HELPS)
        if found is not None:
            lines, primitive = found, primitive or _called(found[-1])
    where = verdict.where or _where(lines, work)
    second = f"It is about {_and(where)}." if where else "It is about the program as a whole: print it, and compare."
    third = f"Try {primitive}: {_purpose(primitive)}" if primitive else f"Read again: {exercise.goal}"
    fourth = "\n".join(lines) if lines else f"The answer looks like\n{exercise.unedited()}"
    if own and not lines:  # what no checker can know
        third, fourth = own[0], own[-1]
    return first, second, third, fourth


def refused_ladder(exercise: Exercise, error: BaseException) -> tuple[str, ...]:
    """Hints for an answer that ended in an error: the error's own fields, one after another."""
    if not isinstance(error, WorkbenchError):
        name, text = type(error).__name__, str(error) or "no text"
        return (
            f"The answer ended in {name}.",
            f"It says: {text}",
            f"An answer looks like {exercise.signature()} ... and gives back what its last line says.",
            exercise.unedited(),
        )
    primitive = getattr(error, "primitive", "")
    names = [getattr(getattr(node, "var", node), "name", "") for node in error.nodes]
    concerned = _and(tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name)))
    return (
        f"The answer was refused{f' at {primitive}' if primitive else ''}: {error.message}.",
        f"It is about {concerned or error.where or 'the call that was refused'}: {error.found or error.message}.",
        f"Wanted is: {error.expected or 'what the message says'}.",
        error.fix or error.expected or error.message,
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def _purpose(primitive: str) -> str:
    """The first line of each primitive's documentation."""
    found: list[str] = []
    for name in re.findall(r"[a-z_]+", primitive):
        entry = PRIMITIVES.get(name)
        if entry is not None:
            line = entry.doc.split("\n", 1)[0]
            found.append(line[:1].lower() + line[1:].rstrip("."))
    return "; then ".join(found) + "." if found else "see its help."


def _called(line: str) -> str:
    match = re.search(r"sch\.([a-z_]+)\(", line)
    return match.group(1) if match else ""


def _where(lines: Sequence[str], work: Work | None) -> tuple[str, ...]:
    """The loops that the last line names; else the blocks of the program."""
    if lines:
        inside = lines[-1].partition("(")[2]
        names = [name for name in re.findall(r"[A-Za-z_]\w*", inside) if name not in ("factors", "None", "sch")]
        if names:
            return tuple(dict.fromkeys(names))
    if work is not None and work.func is not None:
        return tuple(name for name in work.tree.blocks if name != "root")[:3]
    return ()


# --- trying -------------------------------------------------------------------------------------------------------


def search(check: Check, work: Work, primitives: Sequence[str]) -> tuple[str, ...] | None:
    """Lines that make `check` pass: one step, or two where one is not enough; None if none is found in `TRIES`."""
    assert work.schedule is not None
    budget = itertools.count()
    for names in (primitives, [name for name in DEFAULT_HELPS if name not in primitives]):
        for trial, lines in _steps(work.schedule, names):
            if next(budget) >= TRIES:
                return None
            tried = Work(work.shapes, work.start, trial.func, trial)
            if verdict_of(check, tried).passed:
                return lines
    return None


def _steps(schedule: Schedule, primitives: Sequence[str]) -> Iterator[tuple[Schedule, tuple[str, ...]]]:
    """Schedules one step further, each with the Python that leads there."""
    for name in primitives:
        entry = PRIMITIVES.get(name)
        if entry is None or not entry.parameters:
            continue
        for block in _blocks(schedule):
            base = schedule.copy()
            try:
                block_rv = base.get_block(block)
                loops = base.get_loops(block_rv)
            except WorkbenchError:
                continue
            spoken = {block_rv.name: repr(block), **{loop.name: _word(loop.target.name) for loop in loops}}
            left = ", ".join(_word(loop.target.name) for loop in loops)
            intro = f"{left}{',' if len(loops) == 1 else ''} = sch.get_loops({block!r})"
            selections = [item for item in (block_rv, *loops) if entry.selects(type(item))]
            for selection in selections:
                for arguments in itertools.islice(base.candidates(entry, selection), 12):
                    line = _tried(base, entry, arguments, spoken)
                    if line is not None:
                        trial, text = line
                        yield trial, (intro, text) if isinstance(selection, LoopRV) or loops else (text,)


def _blocks(schedule: Schedule) -> list[str]:
    return [name for name in schedule.state.tree.blocks if name != "root"]


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _tried(
    base: Schedule, entry: Primitive, arguments: dict[str, Any], spoken: dict[str, str]
) -> tuple[Schedule, str] | None:
    """One step on a copy, and its line with the names of loops in place of the trace's; None if it is refused."""
    references = [value for group in arguments.values() for value in (group if isinstance(group, tuple) else (group,))]
    if any(isinstance(item, (LoopRV, BlockRV)) and item.name not in spoken for item in references):
        return None
    trial = base.copy()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for item in entry.parameters:
        if item.name not in arguments:
            continue
        if item.kind is inspect.Parameter.VAR_POSITIONAL:
            positional.extend(arguments[item.name])
        else:
            named[item.name] = arguments[item.name]
    try:
        getattr(trial, entry.name)(*positional, **named)
    except WorkbenchError:
        return None
    line = trial.trace.steps[-1].line()
    call = line[line.index("sch.") :]
    text = re.sub(r"\b[a-z]\d+\b", lambda found: spoken.get(found.group(), found.group()), call)
    return trial, text
