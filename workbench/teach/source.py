"""Answers as source: running a file of answers, and choosing it among what a student handed in.

>>> answer_of("def answer(sch):\\n    return sch\\n", "06_1")("anything")
'anything'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import WorkbenchError
from .handed_in import BY_NAME, IN_CELL, Candidate, HandedIn, handed_in

HEADER = "import numpy as np\n\nimport workbench as wb\nfrom workbench import te, tir, topi\n\n\n"
"""The first lines of every file of answers."""
NOTHING = "nothing was handed in"
_NAMED = 3
"""How many places or problems a reason names."""


def answer_of(source: str, exercise: str) -> Any:
    """What a file of answers defines: `answer`, or `answer_ID`.

    Runs the source.  Raises E-TEACH-ANSWER where nothing of these names is defined, and whatever the source raises.
    """
    names: dict[str, Any] = {"__name__": f"answer_{exercise}"}
    code = compile(source, f"<answers/{exercise}.py>", "exec", dont_inherit=True)
    remember_source(source, exercise)
    exec(code, names)
    for name in ("answer", f"answer_{exercise}"):
        if name in names:
            return names[name]
    raise WorkbenchError(
        "E-TEACH-ANSWER",
        f"answers/{exercise}.py defines no answer",
        found=", ".join(name for name in names if not name.startswith("__")) or "nothing",
        expected="def answer(...)",
    )


def remember_source(source: str, exercise: str) -> None:
    """Let tracebacks show the lines of an answer."""
    import linecache

    name = f"<answers/{exercise}.py>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


# --- choosing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submission:
    """The answer of a student, or why there is none; with what a teacher should know about it."""

    source: str | None
    note: str = ""
    """Of an answer: what else there is; where there is no answer: the reason."""
    handed_in: bool = True


def submitted(folder: Path, exercise: str, unedited: str = "") -> Submission:
    """A student's answer: from `answers/ID.py`, else `ID.py`, else a cell of a notebook.

    What is empty, or as it was handed out (`unedited`), counts only where there is nothing else.  Of different answers
    in places of one kind none is chosen; one in a later place is told.  Raises OSError if the folder cannot be read.
    """
    found = handed_in(folder, exercise)
    untouched = ("", _essence(unedited, exercise))
    edited = [one for one in found.candidates if _essence(one.text, exercise) not in untouched]
    if not edited and found.problems:
        return Submission(None, _unread(found))
    if not found.candidates:
        beside = f" (not looked at: {_some(found.others)})" if found.others else ""
        return Submission(None, f"{NOTHING}{beside}", handed_in=False)
    chosen = min(edited or found.candidates, key=lambda one: one.rank)
    others = [one for one in edited if _essence(one.text, exercise) != _essence(chosen.text, exercise)]
    rivals = [one.place for one in others if one.rank == chosen.rank]
    if rivals:
        places = _some([chosen.place, *rivals])
        return Submission(None, f"is ambiguous: there are different answers in {places}")
    source = HEADER + chosen.text if chosen.rank >= IN_CELL else chosen.text
    return Submission(source, _note(chosen, others, found))


def _note(chosen: Candidate, others: Sequence[Candidate], found: HandedIn) -> str:
    later = [one.place for one in others if one.rank < BY_NAME]  # what else defines its name may be a draft
    parts = [
        chosen.note,
        f"graded is {chosen.place}; another answer is in {_some(later)}" if later else "",
        _unread(found) if found.problems else "",
    ]
    return "; ".join(part for part in parts if part)


def _unread(found: HandedIn) -> str:
    return f"cannot be read: {_some(found.problems, '; ')}"


def _some(names: Sequence[str], between: str = ", ") -> str:
    left = len(names) - _NAMED
    return between.join(names[:_NAMED]) + (f"{between}{left} more" if left > 0 else "")


def _essence(text: str, exercise: str) -> str:
    """What tells answers apart: without blank lines, the header, the text above it, and which of its names it has."""
    begin = text.lstrip()
    if begin.startswith('"""'):
        begin = begin[3:].partition('"""')[2]
    header = HEADER.split("\n")
    lines = [line.rstrip() for line in begin.replace(f"answer_{exercise}", "answer").split("\n")]
    return "\n".join(line for line in lines if line and line not in header)
