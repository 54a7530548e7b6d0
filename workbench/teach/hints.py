"""Hint ladders, computed from the first check that fails: which property, where, by what, and the line itself.

Where a schedule is asked for, nothing is written by hand.  The line comes from the check where it knows one; else
primitives are tried on a copy of the schedule, and the line is the one that makes the check pass.  Answers that are
expressions or values have the teacher's own words on the last two rungs.

    ladder(exercise, report)      # four texts, from the faintest to the plainest
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..core.errors import WorkbenchError
from ..schedule.errors import ScheduleError
from ..schedule.references import BlockRV, LoopRV, make_reference
from ..schedule.registry import PRIMITIVES, Primitive
from ..schedule.schedule import Schedule
from ..schedule.suggest import suggest
from .checks import verdict_of
from .exercise import Check, Exercise, Verdict
from .taking_back import possible
from .work import Work

TRIES: Final = 120
"""Steps that are tried in the search for a line."""
CANDIDATES: Final = 12
"""Arguments that are tried for one primitive at one place."""
DEFAULT_HELPS: Final = ("vectorize", "parallel", "reorder", "split", "compute_at", "compute_inline")


def ladder(exercise: Exercise, check: Check, verdict: Verdict, work: Work | None) -> tuple[str, ...]:
    """Four hints for a check that failed."""
    own = exercise.hints.get(check.name, ())
    first = f"Look at: {check.name}. It says: {_sentence(verdict.reason)}"
    lines, primitive = verdict.lines, verdict.primitive
    if not lines and check.remedy is not None and work is not None:
        lines = check.remedy(work) or ()
    if not lines and work is not None and work.schedule is not None:
        found = search(check, work, check.helps or tuple(name for name in (primitive,) if name) or DEFAULT_HELPS)
        if found is not None:
            lines, primitive = found, primitive or _called(found[-1])
    lines, back = possible(lines, work.schedule) if lines and work is not None and work.schedule else (lines, ())
    where = verdict.where or _where(lines, work)
    second = f"It is about {_and(where)}." if where else "It is about the program as a whole: print it, and compare."
    third = f"Try {primitive}: {_purpose(primitive)}" if primitive else f"Read again: {exercise.goal}"
    if primitive and back:
        third = f"Take {_and(back)} back; then {third[0].lower()}{third[1:]}"
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
    instead = _instead(error)
    names = [getattr(getattr(node, "var", node), "name", "") for node in error.nodes]
    concerned = _and(tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name)))
    return (
        f"The answer was refused{f' at {primitive}' if primitive else ''}: {error.message}.",
        f"It is about {concerned or error.where or 'the call that was refused'}: {error.found or error.message}.",
        f"Possible is: {instead[0]}." if instead else f"Wanted is: {error.expected or 'what the message says'}.",
        instead[1] if instead else error.fix or error.expected or error.message,
    )


def _instead(error: WorkbenchError) -> tuple[str, str] | None:
    """What is legal instead of a refused step, and the lines that do it; found by trying."""
    if not isinstance(error, ScheduleError) or error.attempt is None:
        return None
    found = suggest(error, 1)
    if not found:
        return None
    state = error.attempt.state
    spoken = {name: getattr(target, "name", target) for name, target in state.named.items()}
    lines = [_spoken(line, spoken) for line in found[0].steps]
    return found[0].text, "\n".join(lines)


def _spoken(line: str, spoken: Mapping[str, str]) -> str:
    """A line of a trace with the program's names in place of the trace's."""
    return re.sub(r"\b[a-z]\d+\b", lambda found: spoken.get(found.group(), found.group()), line)


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
    base = schedule.copy()
    blocks, loops, spoken = _named(base)
    for name in primitives:
        entry = PRIMITIVES.get(name)
        if entry is None or not entry.parameters:
            continue
        for selection in (*blocks, *loops):
            if not entry.selects(type(selection)):
                continue
            for arguments in itertools.islice(base.candidates(entry, selection), CANDIDATES):
                tried = _tried(base, entry, arguments, {**spoken, **blocks_as_text(blocks)})
                if tried is not None:
                    trial, used, text = tried
                    yield trial, (*_intros(base, blocks, spoken, used), text)


def _named(base: Schedule) -> tuple[list[BlockRV], list[LoopRV], dict[str, str]]:
    """References to all blocks and loops of a schedule, and a word for each loop, different from the others."""
    blocks: list[BlockRV] = []
    loops: dict[int, LoopRV] = {}
    spoken: dict[str, str] = {}
    for name in [name for name in base.state.tree.blocks if name != "root"]:
        block = base.get_block(name)
        blocks.append(block)
        for loop in base.get_loops(block):
            first = loops.setdefault(id(loop.target), loop)
            if first is loop:
                word = _word(loop.target.name)
                spoken[loop.name] = f"{word}_{_word(name)}" if word in spoken.values() else word
            else:
                spoken[loop.name] = spoken[first.name]
    return blocks, list(loops.values()), spoken


def blocks_as_text(blocks: Sequence[BlockRV]) -> dict[str, str]:
    """How blocks are written in a line: by their names, in quotes."""
    return {block.name: repr(block.target) for block in blocks}


def _intros(base: Schedule, blocks: Sequence[BlockRV], spoken: Mapping[str, str], used: set[str]) -> list[str]:
    """Lines that name the loops which a step speaks of, the later blocks first."""
    lines: list[str] = []
    wanted = {spoken[name] for name in used if name in spoken}
    word_of = {id(base.get(make_reference(name, base.state.named[name])).var): word for name, word in spoken.items()}
    for block in reversed(blocks):
        words = [word_of[id(loop.var)] for loop in base.state.tree.blocks[block.target].loops]
        if wanted & set(words):
            wanted -= set(words)
            lines.append(f"{', '.join(words)}{',' if len(words) == 1 else ''} = sch.get_loops({block.target!r})")
    return lines


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _tried(
    base: Schedule, entry: Primitive, arguments: dict[str, Any], spoken: dict[str, str]
) -> tuple[Schedule, set[str], str] | None:
    """One step on a copy, the references it speaks of, and its line; None if it is refused."""
    values = [value for group in arguments.values() for value in (group if isinstance(group, tuple) else (group,))]
    used = {item.name for item in values if isinstance(item, (LoopRV, BlockRV))}
    if not used <= set(spoken):
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
    return trial, used, _spoken(call, spoken)
