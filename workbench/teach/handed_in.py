"""What a student's folder holds for an exercise: all that may be the answer, and all that cannot be read.

    answers/06_1.py      06_1.py      *.ipynb: the cells whose nbgrader id is answer-06_1, or that define answer_06_1

Capitals in these names do not matter.  Invariant: read are plain files of bounded size in the student's own folder,
never what a link leads to; whatever is handed in, the reading of it ends, and what was passed over has its reason.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from ..core.errors import shorten
from ..core.plain_file import read_plain

CELL: Final = "answer-"
"""The cell of a notebook that holds an answer has the nbgrader id `answer-ID`."""
LIMIT: Final = 200_000
"""Characters of an answer."""
NOTEBOOK_BYTES: Final = 50_000_000
"""Of all notebooks of one student."""
NOTEBOOKS: Final = 100
IN_FOLDER, BESIDE, IN_CELL, BY_NAME = range(4)
"""Where an answer stands; the first of these counts.  `BY_NAME` is a cell that only defines the answer's name."""
_ANSWER: Final = re.compile(r"[0-9]{2}_[0-9a-z]+\.py")
_OURS: Final = ("__pycache__", "__macosx")
_NAME: Final = 4 * 255
"""Characters of a name: as many as those of the longest one, each byte written out."""


@dataclass(frozen=True)
class Candidate:
    """A text that may be the answer; `note` says what is odd about it."""

    rank: int
    place: str
    text: str
    note: str = ""


@dataclass
class HandedIn:
    """For one student and exercise; `problems` are "place: reason", `others` the names of what was not looked at."""

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    problems: list[str] = field(default_factory=list[str])
    others: list[str] = field(default_factory=list[str])


def handed_in(folder: Path, exercise: str) -> HandedIn:
    """All that a student's folder holds for an exercise.  Raises OSError if the folder itself cannot be read."""
    found = HandedIn()
    names = _listed(folder, folder)
    for name in names:
        if name.casefold() == "answers":
            try:
                inside = _listed(folder, folder / name)
            except OSError as error:
                found.problems.append(f"{shown(name)}: {why(error)}")
                continue
            _files(found, folder, [Path(name, own) for own in inside], exercise, IN_FOLDER)
    files = [Path(name) for name in names if name.casefold() != "answers" and not _is_notebook(name)]
    _files(found, folder, files, exercise, BESIDE)
    _notebooks(found, folder, [name for name in names if _is_notebook(name)], exercise)
    return found


def shown(name: str) -> str:
    """A file's name as a text that can be printed and written, even if it is no Unicode.

    >>> shown("z\\udcff")
    'z\\\\xff'
    """
    return shorten(os.fsencode(name).decode("utf-8", "backslashreplace"), _NAME)


def why(error: OSError) -> str:
    return error.strerror or str(error)


def _is_notebook(name: str) -> bool:
    return name.casefold().endswith(".ipynb")


def _listed(student: Path, folder: Path) -> list[str]:
    _require_own(student, folder)
    return sorted(name for name in os.listdir(folder) if not name.startswith(".") and name.casefold() not in _OURS)


def _require_own(student: Path, path: Path) -> None:
    """Refuse what a link leads to, on any part of the way from the student's folder (itself included).

    A hard link to another's file cannot be told from a file of one's own.
    """
    parent, name = os.path.split(os.path.abspath(student))
    own = os.path.join(os.path.realpath(parent), name, *path.relative_to(student).parts)
    if os.path.realpath(path) != own:
        raise OSError(errno.ELOOP, "a link leads to it, perhaps to another's work")


def _read(student: Path, path: Path, most: int) -> bytes:
    _require_own(student, path)
    return read_plain(path, most)


# --- files --------------------------------------------------------------------------------------------------------


def _files(found: HandedIn, folder: Path, paths: list[Path], exercise: str, rank: int) -> None:
    for path in paths:
        place = "/".join(shown(part) for part in path.parts)
        if path.name.casefold() != f"{exercise}.py":
            if not _ANSWER.fullmatch(path.name.casefold()):
                found.others.append(place)
            continue
        try:
            text = _decoded(_read(folder, folder / path, 4 * LIMIT))
        except OSError as error:
            found.problems.append(f"{place}: {why(error)}")
            continue
        found.candidates.append(Candidate(rank, place, text))


def _decoded(raw: bytes) -> str:
    """The text of a file of Python, with whichever byte order mark and line ends an editor wrote."""
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return _lines(raw.decode("utf-16" if wide else "utf-8-sig", errors="replace"))


def _lines(text: str) -> str:
    return text[: LIMIT + 1].replace("\r\n", "\n").replace("\r", "\n")


# --- notebooks ----------------------------------------------------------------------------------------------------


def _notebooks(found: HandedIn, folder: Path, names: list[str], exercise: str) -> None:
    left = NOTEBOOK_BYTES
    for number, name in enumerate(names):
        if number == NOTEBOOKS:
            found.problems.append(f"{len(names) - number:,} notebooks: there are more than {NOTEBOOKS}")
            return
        try:
            raw = _read(folder, folder / name, left)
            left -= len(raw)
            found.candidates += _in_notebook(_book(raw), shown(name), exercise)
        except OSError as error:
            found.problems.append(f"{shown(name)}: {why(error)}")
        except ValueError as error:
            found.problems.append(f"{shown(name)}: {shorten(str(error), 200)}")
        except (RecursionError, MemoryError):
            found.problems.append(f"{shown(name)}: it is nested too deep, or too large")


def _book(raw: bytes) -> list[Any]:
    """The cells of a notebook of format 4 or 3.  Raises ValueError for what is none."""
    if not raw.strip():
        raise ValueError("it is empty")
    try:
        book: Any = json.loads(raw)  # of bytes: UTF-8, UTF-16 or UTF-32, with or without a byte order mark
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no text in {error.encoding}") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON, or not all of it: {error}") from None
    sheets = [book, *(_list(book.get("worksheets")))] if isinstance(book, dict) else []
    parts = [sheet["cells"] for sheet in sheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)]
    if not parts:
        raise ValueError("it is no notebook: it has no cells")
    return [cell for part in parts for cell in part]


def _in_notebook(cells: list[Any], name: str, exercise: str) -> Iterator[Candidate]:
    """Raises ValueError for the answer's own cell if it holds no text; other odd cells are passed over."""
    defines = re.compile(rf"^(?:def[ \t]+answer_{exercise}[ \t]*\(|answer_{exercise}[ \t]*=[^=])", re.MULTILINE)
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        own = cast("dict[str, Any]", cell)
        text = _text(own.get("source", own.get("input")))
        place, kind = f"{name}, cell {number}", own.get("cell_type", "code")
        if _dict(_dict(own.get("metadata")).get("nbgrader")).get("grade_id") == f"{CELL}{exercise}":
            if text is None:
                raise ValueError(f"cell {number}, the answer's, holds no text")
            odd = f"{place}, is no code but {shorten(str(kind), 20)}" if kind != "code" else ""
            yield Candidate(IN_CELL, place, _lines(text), odd)
        elif text is not None and kind == "code" and defines.search(text):
            yield Candidate(BY_NAME, place, _lines(text), f"{place}, has not the id {CELL}{exercise}")


def _text(source: Any) -> str | None:
    if isinstance(source, str):
        return source
    parts = _list(source)
    return "".join(parts) if isinstance(source, list) and all(isinstance(part, str) for part in parts) else None


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
