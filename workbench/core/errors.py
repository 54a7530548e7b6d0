"""One family of errors: whatever a user did, they get one `WorkbenchError`.

An error says what went wrong, where, what was found, what was expected, how to mend it and what was kept.
Its text has at most six lines (long fields are shortened), the same in a terminal and in a notebook:

    E-SCHEDULE-REORDER  cannot reorder k before i
      where     matmul.py line 7: for k in T.serial(512)
      found     k carries the sum into C[i, j]
      expected  loops whose iterations commute
      fix       schedule.decompose_reduction(block, k) first
      kept      the schedule is unchanged
"""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any, Final

from .._lazy import told

_FIELD_LIMIT: Final = 400
_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class WorkbenchError(Exception):
    """The base of every error that reaches a user.

    `code` is stable and documented ("E-TYPE-MISMATCH"); `nodes` are the program nodes concerned, for underlining
    in printed text; `partial` is whatever a caller can still use; `file` is the name of the file that is to blame.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: str = "",
        found: str = "",
        expected: str = "",
        fix: str = "",
        kept: str = "",
        nodes: Iterable[Any] = (),
        partial: Any = None,
        file: str = "",
    ) -> None:
        self.code = code
        self.message = message
        self.where = where
        self.found = found
        self.expected = expected
        self.fix = fix
        self.kept = kept
        self.nodes = tuple(nodes)
        self.partial = partial
        self.file = file
        super().__init__(message)

    def __str__(self) -> str:
        lines = [f"{self.code}  {shorten(self.message)}"]
        for name in ("where", "found", "expected", "fix", "kept"):
            value = getattr(self, name)
            if value:
                lines.append(f"  {name:<9} {shorten(value)}")
        return "\n".join(lines)

    def located(self, where: str) -> WorkbenchError:
        """This error with its place filled in, if it had none."""
        if not self.where:
            self.where = where
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().problem_bundle(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows as plain text; its own printer of exceptions knows only the message."""
        printer.text(str(self))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback."""
        return str(self).split("\n")


class InternalError(WorkbenchError):
    """A bug of the workbench itself, caught at the boundary; nothing of the user's is lost."""


def shorten(text: str | bytes, limit: int = _FIELD_LIMIT) -> str:
    """`text` on one line, control characters made visible, at most `limit` characters."""
    if isinstance(text, bytes):  # protobuf's, where a text is no UTF-8
        text = text[: limit + 1].decode(errors="replace")
    clean = text[: limit + 1].translate(_ON_ONE_LINE)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def _pictures() -> dict[int, str]:
    codes = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)}
    unseen = (127, *range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    return codes | dict.fromkeys(unseen, "\ufffd") | dict.fromkeys(range(0xD800, 0xE000), "\ufffd") | {127: "\u2421"}


PICTURES: Final = _pictures()
"""For `str.translate`: what takes the place of characters that a terminal or a page would obey instead of showing."""
_ON_ONE_LINE: Final = {**PICTURES, 9: "\u2409", 10: " "}


DEFINE_FIRST: Final = "if it is your own, run the cell or import the module that defines it first"
"""The hint for a name that is like no other."""


def nearest(name: Any, names: Iterable[str]) -> str:
    """A hint ``did you mean 'x'?`` or the empty string; what is no text is like no name."""
    close = difflib.get_close_matches(name, list(names), n=1) if isinstance(name, str) else []
    return f"did you mean {close[0]!r}?" if close else ""


def require(condition: bool, code: str, message: str, **fields: Any) -> None:
    """Raise `WorkbenchError(code, message, **fields)` unless `condition` holds."""
    if not condition:
        raise WorkbenchError(code, message, **fields)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn of what stands at the line of the user's that called the workbench."""
    frame, level = sys._getframe(1), 2  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
