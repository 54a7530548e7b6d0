"""From a student's answer to its outcome, and back to work that can be checked.

An answer is plain Python; its *outcome* is data: the trace of a schedule, the text of a program, a value.  The first
half (`produce`) runs the student's code, the second (`read_back`) only reads.  A notebook does both in one process,
grading in two; both give the same marks.

    outcome = produce(exercise, shapes, answer)          # {"kind": "trace", "text": ...}
    work = read_back(exercise, shapes, outcome)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..relay.ir.script_parse import parse as parse_relay
from ..schedule.schedule import Schedule
from ..schedule.trace import Trace
from ..te.prim_func import create_prim_func
from ..tir import nodes as t
from ..tir.script import parse, script
from .exercise import Exercise
from .work import Work

Outcome = dict[str, str]
LIMIT = 400_000
"""Characters of an outcome."""


def start_of(exercise: Exercise, shapes: Mapping[str, int]) -> Any:
    """The program that the exercise begins with; te tensors become their loop function."""
    made = exercise.start(**shapes)
    return _function(made) if isinstance(made, (list, tuple)) else made


def produce(exercise: Exercise, shapes: Mapping[str, int], answer: Any) -> Outcome:
    """Run an answer.  Raises whatever the answer raises, and E-TEACH-ANSWER for an answer of a wrong kind."""
    outcome = _PRODUCERS[exercise.answer](exercise, shapes, answer)
    if len(outcome["text"]) > LIMIT:
        raise _wrong(exercise, f"a text of {len(outcome['text']):,} characters", f"at most {LIMIT:,}")
    return outcome


def _wrong(exercise: Exercise, found: str, expected: str) -> WorkbenchError:
    return WorkbenchError(
        "E-TEACH-ANSWER",
        f"this cannot be an answer to {exercise.id}",
        found=found,
        expected=expected,
        fix=exercise.signature() + " ...",
    )


def _called(exercise: Exercise, answer: Any, *arguments: Any, **named: Any) -> Any:
    if not callable(answer):
        raise _wrong(exercise, type(answer).__name__, "a function")
    return answer(*arguments, **named)


def _schedule(exercise: Exercise, shapes: Mapping[str, int], answer: Any) -> Outcome:
    sch = Schedule(start_of(exercise, shapes))
    returned = answer if isinstance(answer, Schedule) else _called(exercise, answer, sch)
    if returned is not None and not isinstance(returned, Schedule):
        raise _wrong(exercise, type(returned).__name__, "the schedule, changed (or None)")
    return {"kind": "trace", "text": (sch if returned is None else returned).trace.as_json()}


def _tensors(exercise: Exercise, shapes: Mapping[str, int], answer: Any) -> Outcome:
    returned = _called(exercise, answer, **shapes)
    if isinstance(returned, t.PrimFunc):
        return {"kind": "program", "text": script(returned)}
    if not isinstance(returned, (list, tuple)) or not returned:
        raise _wrong(exercise, type(returned).__name__, "a list of te tensors: inputs, then outputs")
    return {"kind": "program", "text": script(_function(returned))}


def _function(tensors: Any) -> t.PrimFunc:
    return create_prim_func(list(tensors))


def _program(exercise: Exercise, shapes: Mapping[str, int], answer: Any) -> Outcome:
    returned = _called(exercise, answer, start_of(exercise, shapes)) if callable(answer) else answer
    if isinstance(returned, Schedule):
        returned = returned.func
    if isinstance(returned, str):
        return {"kind": "program", "text": returned}
    if not isinstance(returned, t.PrimFunc):
        raise _wrong(exercise, type(returned).__name__, "a loop function")
    return {"kind": "program", "text": script(returned)}


def _value(exercise: Exercise, shapes: Mapping[str, int], answer: Any) -> Outcome:
    returned = _called(exercise, answer, start_of(exercise, shapes)) if callable(answer) else answer
    try:
        return {"kind": "value", "text": json.dumps(plain(returned))}
    except (TypeError, ValueError):
        raise _wrong(exercise, type(returned).__name__, "numbers, texts, lists of them") from None


def plain(value: Any) -> Any:
    """A value as JSON has it: NumPy's numbers and arrays become Python's, tuples lists, sets sorted lists."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _pass(exercise: Exercise, shapes: Mapping[str, int], answer: Any) -> Outcome:
    program = start_of(exercise, shapes)
    made: Any = _called(exercise, answer)
    after = _called(exercise, made, program)
    if not isinstance(after, IRModule):
        raise _wrong(exercise, type(after).__name__, "a pass: a function from module to module")
    return {"kind": "module", "text": after.script()}


_PRODUCERS: dict[str, Callable[[Exercise, Mapping[str, int], Any], Outcome]] = {
    "schedule": _schedule,
    "tensors": _tensors,
    "function": _program,
    "value": _value,
    "pass": _pass,
}


def read_back(exercise: Exercise, shapes: Mapping[str, int], outcome: Mapping[str, str]) -> Work:
    """The work of an outcome; runs nothing of the student's.  Raises `WorkbenchError` for what cannot be read."""
    begin = start_of(exercise, shapes)
    text = outcome["text"]
    if exercise.answer == "schedule":
        sch = Schedule(begin)
        sch.replay(Trace.from_json(text))
        return Work(shapes, begin, sch.func, sch)
    if exercise.answer == "value":
        return Work(shapes, begin, begin if isinstance(begin, t.PrimFunc) else None, value=json.loads(text))
    if exercise.answer == "pass":
        return Work(shapes, begin, module=_module(text))
    func = parse(text)
    if isinstance(func, IRModule):
        func = func["main"]
    return Work(shapes, begin, func)


def _module(text: str) -> Any:
    return parse_relay(text)
