"""Answers as source: running a file of answers, and finding the answers in a notebook.

>>> answer_of("def answer(sch):\\n    return sch\\n", "06_1")("anything")
'anything'
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..core.errors import WorkbenchError

HEADER = "import numpy as np\n\nimport workbench as wb\nfrom workbench import te, tir, topi\n\n\n"
"""The first lines of every file of answers."""
CELL = "answer-"
"""The cell of a notebook that holds an answer has the nbgrader id `answer-ID`."""
LIMIT = 200_000
"""Characters of an answer."""
NOTEBOOK_BYTES = 50_000_000


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


def submitted(folder: Path, exercise: str) -> str | None:
    """A student's answer: from `answers/ID.py`, `ID.py`, or a cell of a notebook; None if there is none."""
    for path in (folder / "answers" / f"{exercise}.py", folder / f"{exercise}.py"):
        if path.is_file() and not path.is_symlink():
            with path.open(encoding="utf-8", errors="replace") as file:
                return file.read(LIMIT + 1)
    for path in sorted(folder.glob("*.ipynb")):
        found = _in_notebook(path, exercise) if not path.is_symlink() else None
        if found is not None:
            return found
    return None


def _in_notebook(path: Path, exercise: str) -> str | None:
    try:
        if path.stat().st_size > NOTEBOOK_BYTES:
            return None
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"{CELL}{exercise}":
                return _header() + "".join(cell["source"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return None


def _header() -> str:
    return HEADER
