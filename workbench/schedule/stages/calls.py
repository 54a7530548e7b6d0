"""A recorded call of the classic te schedule: what was called, and the line of the user's program that called it.

    s[C].split(x, factor=0)      # StageError: where  lesson.py line 12: s[C].split(x, factor=0)

Invariant: every refusal of a te schedule, at once or at the first look, names one `Call`.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
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
    """A call on a te schedule was refused; `call` is the one to blame, `cause` the refusal of the engine, if it was."""

    call: Call | None = None
    cause: ScheduleError | None = None
    loops: Mapping[str, str] = MappingProxyType({})
    """What te calls the loops that the engine's hints speak of."""

    @property
    def underlined(self) -> str:
        """The lines of the program concerned, underlined."""
        return self.cause.underlined if self.cause is not None else ""

    @property
    def fix(self) -> str:
        """How to mend it; where the engine refused, also the nearest legal alternative, found by trying."""
        if self.cause is None:
            return self._fix
        return _REFERENCE.sub(lambda found: self.loops.get(found[0], found[0]), self.cause.fix)

    @fix.setter
    def fix(self, value: str) -> None:
        self._fix = value


_REFERENCE = re.compile(r"\bl\d+\b")


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
def blamed(call: Call, loops: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Refusals of the engine inside become refusals of `call`, with the engine's reason, place and witness kept.

    `loops` gives te's names of the loops by those of the engine's references.
    """
    try:
        yield
    except StageError:
        raise
    except ScheduleError as error:
        raise _blaming(call, error, loops()) from None


def _blaming(call: Call, error: ScheduleError, loops: Mapping[str, str]) -> StageError:
    made = StageError(
        error.code,
        f"{call.text}: {error.message}",
        where=call.where,
        found=error.found,
        expected=error.expected,
        kept="the te schedule keeps the call; nothing was built",
        nodes=error.nodes,
    )
    made.call, made.cause, made.loops = call, error, loops
    made.primitive, made.witness, made.attempt = error.primitive, error.witness, error.attempt
    return made
