"""Refusals of primitives in the words of the form that a person filled in: a field says "auto" where Python says None.

    in_field_words("split", error)      # "at most one of them auto", "for example auto, 8"
"""

from __future__ import annotations

import re
from typing import Final

from ..schedule.arguments import SEE_SIGNATURE
from ..schedule.errors import ScheduleError
from ..schedule.registry import PRIMITIVES
from .strings.tables import say

_LIST: Final = re.compile(r"\[([^\[\]]*\bNone\b[^\[\]]*)\]")
_NONE: Final = re.compile(r"\bNone\b")
_NUMBERS: Final = re.compile(r"\[((?:\d+, )*\d+)\]")


def in_field_words(primitive: str, error: ScheduleError) -> ScheduleError:
    """The error itself, of an attempt of its own, with its texts changed."""
    error.message, error.found, error.expected, error.fix = (
        worded(primitive, text) for text in (error.message, error.found, error.expected, error.hint)
    )
    return error


def worded(primitive: str, text: str) -> str:
    """A text of a refusal, changed where the primitive's form has a field of factors."""
    if text == SEE_SIGNATURE:
        return say.schedule.mend_the_field
    entry = PRIMITIVES.get(primitive)
    if entry is None or "factors" not in entry.annotations:
        return text
    return _NONE.sub(say.schedule.auto, _NUMBERS.sub(r"\1", _LIST.sub(r"\1", text)))
