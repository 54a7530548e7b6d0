"""A recorded call of the classic te schedule: what was called, and the line of the user's program that called it.

    s[C].split(x, factor=0)      # StageError: where  lesson.py line 12: s[C].split(x, factor=0)

Invariant: every refusal of a te schedule, at once or at the first look, names one `Call`.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ...te.nodes import Operation, Tensor
from ...tir.nodes import IterVar
from ..errors import ScheduleError


@dataclass(frozen=True)
class Call:
    """One call, and where it stands."""

    text: str
    """The call written out: "s[C].split(x, factor=4)"."""
    file: str
    line: int
    source: str
    """The user's line; empty where it cannot be read."""

    @property
    def where(self) -> str:
        return f"{PurePath(self.file).name} line {self.line}: {self.source or self.text}"


class StageError(ScheduleError):
    """A call on a te schedule was refused; `call` is the one to blame."""

    call: Call | None = None


def called(owner: str, name: str, positional: Sequence[Any], named: Mapping[str, Any] | None = None) -> Call:
    """The record of a call made by the nearest line outside the workbench; named arguments that are None are left
    out."""
    shown = [_shown(item) for item in positional]
    shown += [f"{key}={_shown(value)}" for key, value in (named or {}).items() if value is not None]
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("workbench."):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    return Call(f"{owner}.{name}({', '.join(shown)})", file, line, linecache.getline(file, line).strip())


def _shown(value: Any) -> str:
    """An argument as one would write it."""
    if isinstance(value, IterVar):
        return value.var.name
    if isinstance(value, (Tensor, Operation)):
        return value.name
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_shown(item) for item in value)}]"
    if callable(value):
        return getattr(value, "__name__", type(value).__name__).replace("<lambda>", "lambda")
    return repr(value)[:60]


def refused(call: Call, code: str, message: str, *, found: str, expected: str, fix: str) -> StageError:
    """The error for a call that the te schedule itself refuses."""
    error = StageError(
        code, f"{call.text}: {message}", where=call.where, found=found, expected=expected, fix=fix,
        kept="the schedule is unchanged",
    )  # fmt: skip
    error.call = call
    return error


@contextmanager
def blamed(call: Call) -> Iterator[None]:
    """Refusals of the engine inside become refusals of `call`, with the engine's reason, place and witness kept."""
    try:
        yield
    except StageError:
        raise
    except ScheduleError as error:
        raise _blaming(call, error) from None


def _blaming(call: Call, error: ScheduleError) -> StageError:
    made = StageError(
        error.code,
        f"{call.text}: {error.message}",
        where=call.where,
        found=error.found,
        expected=error.expected,
        fix=error.fix,
        kept="the te schedule keeps the call; nothing was built",
        nodes=error.nodes,
    )
    made.call, made.primitive, made.witness, made.underlined = call, error.primitive, error.witness, error.underlined
    return made
