"""Shapes of one's own: every student gets the same exercise with other extents, always the same for the same student.

Invariant: the choice depends on the exercise, the student and the name of the extent only, by SHA-256, so it is the
same on every machine and in every version of Python; also where a file system keeps a name in another normal form.

>>> choices = {"n": (24, 32, 40), "m": (48, 64)}
>>> shapes_for("06_1", "ada", choices)
{'n': 40, 'm': 48}
>>> shapes_for("06_1", "", {"n": (24, 32, 40)})
{'n': 24}
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence

from ..core.errors import WorkbenchError


def shapes_for(exercise: str, student: str, choices: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """One extent for each name; without a student, the first of each (these are the ones that a lesson speaks of)."""
    if not isinstance(student, str):
        raise WorkbenchError(
            "E-TEACH-STUDENT", "a student is a text", found=repr(student), fix='student="ada" or WORKBENCH_STUDENT=ada'
        )
    own = unicodedata.normalize("NFC", student)
    return {name: _chosen(f"{exercise}\0{own}\0{name}", values, student) for name, values in choices.items()}


def _chosen(key: str, values: Sequence[int], student: str) -> int:
    if not student:
        return values[0]
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return values[int.from_bytes(digest[:8], "big") % len(values)]
