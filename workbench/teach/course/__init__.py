"""The exercises of the course, a file a lesson: what each begins with and what is checked, never how it is solved.

exercises()              # all, in the order of the lessons
exercises_of("my.py")    # a teacher's own: a file that defines EXERCISES
"""

from __future__ import annotations

import importlib
import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from ...core.errors import WorkbenchError
from ..exercise import Exercise

LESSONS = tuple(f"lesson_{number:02}" for number in range(5, 15))
NOTEBOOKS = {
    "05": "05_te_topi",
    "06": "06_primitives",
    "07": "07_legality",
    "08": "08_memory_and_tiles",
    "09": "09_reductions_rfactor",
    "10": "10_tensorize",
    "11": "11_matmul_to_peak",
    "12": "12_fusion_and_layout",
    "13": "13_reading_generated_code",
    "14": "14_how_a_convolution_got_fast",
}
"""The notebook of each lesson."""


def exercises() -> tuple[Exercise, ...]:
    """All exercises of the course."""
    found: list[Exercise] = []
    for lesson in LESSONS:
        found += importlib.import_module(f"{__name__}.{lesson}").EXERCISES
    return tuple(found)


class _FromText(SourceFileLoader):
    """Not from bytecode: that of a file of the same size, written in the same second, is taken for it."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def exercises_of(path: str | Path) -> tuple[Exercise, ...]:
    """The exercises that a file defines as EXERCISES.  Runs the file: it is the teacher's."""
    place = Path(path)
    name = f"exercises_{place.stem}"
    spec = importlib.util.spec_from_file_location(name, place, loader=_FromText(name, str(place)))
    if spec is None or spec.loader is None or not place.is_file():
        raise WorkbenchError("E-TEACH-COURSE", "there is no such file of exercises", found=str(path), fix="a .py file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Any = getattr(module, "EXERCISES", None)
    if not isinstance(made, (list, tuple)) or not all(isinstance(item, Exercise) for item in made):
        raise WorkbenchError(
            "E-TEACH-COURSE",
            f"{place.name} defines no exercises",
            found=type(made).__name__,
            expected="EXERCISES = (Exercise(...), ...)",
        )
    return tuple(made)
