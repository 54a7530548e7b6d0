"""What is found in a student's folder: no file holds up a batch, nobody's work is another's, nothing is lost unsaid."""

from __future__ import annotations

import json
import os
import socket
import threading
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.teach.test_grade import GOOD, LIMITS, REORDER, hand_in
from workbench.core.errors import WorkbenchError
from workbench.driver.cli import main
from workbench.teach import handed_in as reading
from workbench.teach import report as reports
from workbench.teach.contain import Contained, Ending
from workbench.teach.grade import Mark, Marks, grade, mark_of
from workbench.teach.release import template
from workbench.teach.shapes import shapes_for

OTHER = GOOD.replace("i, k, j)", "k, i, j)")
IN_BOOK = GOOD.replace("answer", "answer_06_1")


class Box:
    """In place of a contained process: keeps the sources and gives every answer full points."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def do(self, request: Mapping[str, Any]) -> Ending:
        if request["do"] == "judge":
            return Ending({"points": 2, "reason": "", "checks": []})
        self.sources.append(request["source"])
        return Ending({"outcome": {"kind": "trace", "text": ""}})


def marked(student: Path) -> tuple[Mark, str]:
    """The mark, and the source that was graded.  Fails where reading does not end."""
    box, marks = Box(), list[Mark]()
    work = threading.Thread(target=lambda: marks.append(mark_of(student, REORDER, cast(Contained, box))), daemon=True)
    work.start()
    work.join(60)
    assert not work.is_alive(), "reading this submission does not end"
    return marks[0], "".join(box.sources)


def cell(source: Any = IN_BOOK, name: str = "answer-06_1", **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": name}}, "source": source, **more}


def book(*cells: Any, **more: Any) -> str:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more})


def put(student: Path, name: str, text: str | bytes) -> Path:
    path = student / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return student


# --- what is no plain file ----------------------------------------------------------------------------------------


def bound(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(path.name)
    finally:
        os.chdir(here)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a FIFO": (os.mkfifo, "it is not a plain file"),
    "a socket": (bound, ""),  # the system's own words
    "a folder": (os.mkdir, "it is not a plain file"),
    "a terabyte": (sparse, "it has 1,099,511,627,776 bytes"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a link leads to it"),
    "a loop": (lambda path: path.symlink_to(path.name), "a link leads to it"),
}


@pytest.mark.parametrize("place", ["x.ipynb", "06_1.py", "answers/06_1.py"])
@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_plain_file_has_a_mark_and_its_reason(kind: str, place: str, tmp_path: Path) -> None:
    """A FIFO with the name of a notebook held up the grading of the whole class for ever."""
    make, reason = ODD[kind]
    path = tmp_path / "eve" / place
    path.parent.mkdir(parents=True)
    try:
        make(path)
    except OSError as error:
        pytest.skip(f"this file system makes no such thing: {error}")
    mark, source = marked(tmp_path / "eve")
    assert (mark.points, mark.handed_in, mark.unclear, source) == (0, True, True, "")
    assert mark.reason.startswith("cannot be read: ") and f"{place}: " in mark.reason, mark.reason
    assert reason in mark.reason or "Too many levels" in mark.reason, mark.reason


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("answers"), Path.touch])
def test_answers_that_is_no_folder_is_said(make: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "eve").mkdir()
    make(tmp_path / "eve" / "answers")
    mark, _ = marked(tmp_path / "eve")
    assert mark.handed_in and mark.reason.startswith("cannot be read: answers: "), mark.reason


def test_what_cannot_be_opened_or_listed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    student = hand_in(tmp_path, "eve", GOOD)
    monkeypatch.setattr(reading, "read_plain", refused)
    assert marked(student)[0].reason == "cannot be read: answers/06_1.py: Permission denied"
    monkeypatch.setattr(os, "listdir", refused)
    mark, _ = marked(student)
    assert mark.handed_in and mark.reason == "cannot be read: Permission denied"


def test_notebooks_of_a_student_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = book(cell("1", "other"))
    for number in range(4):
        put(tmp_path / "eve", f"{number}.ipynb", text)
    monkeypatch.setattr(reading, "NOTEBOOK_BYTES", 2 * len(text))
    mark, _ = marked(tmp_path / "eve")
    assert "2.ipynb: it has" in mark.reason and "3.ipynb: it has" in mark.reason, mark.reason
    monkeypatch.setattr(reading, "NOTEBOOKS", 1)
    assert "3 notebooks: there are more than 1" in marked(tmp_path / "eve")[0].reason


def test_one_odd_submission_stops_no_batch(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada", GOOD)
    (tmp_path / "eve").mkdir()
    os.mkfifo(tmp_path / "eve" / "x.ipynb")
    put(tmp_path / "mal", "x.ipynb", b"[" * 1_000_000)
    (tmp_path / "bob").symlink_to("ada")
    (tmp_path / "roster.csv").touch()
    hand_in(tmp_path, "zoe", GOOD)
    marks: list[Marks] = []
    work = threading.Thread(target=lambda: marks.append(grade(tmp_path, [REORDER], LIMITS)), daemon=True)
    work.start()
    work.join(120)
    assert marks, "grading does not end"
    told = {mark.student: (mark.points, mark.reason.partition(":")[0]) for mark in marks[0].marks}
    unread = (0, "cannot be read")
    assert told == {"ada": (2, ""), "bob": unread, "eve": unread, "mal": unread, "zoe": (2, "")}


# --- another's work -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("ada/answers", "../bob/answers"), ("ada/answers/06_1.py", "../../bob/answers/06_1.py"),
        ("ada/06_1.py", "../bob/answers/06_1.py"), ("ada/06.ipynb", "../bob/06.ipynb"), ("ada", "bob"),
        ("ada/answers", "../../solutions"),
    ],
)  # fmt: skip
def test_anothers_answer_is_not_graded_as_ones_own(link: str, target: str, tmp_path: Path) -> None:
    """A linked folder of answers ran another student's file, and could run the teacher's solutions."""
    group = tmp_path / "class"
    hand_in(group, "bob", GOOD)
    put(group / "bob", "06.ipynb", book(cell()))
    put(tmp_path / "solutions", "06_1.py", GOOD)
    path = group / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    mark, source = marked(group / "ada")
    assert (mark.points, mark.handed_in, source) == (0, True, "")
    assert "a link leads to it" in mark.reason, mark.reason


def test_a_class_behind_a_link_is_graded(tmp_path: Path) -> None:
    hand_in(tmp_path / "autumn", "ada", GOOD)
    (tmp_path / "class").symlink_to("autumn")
    assert marked(tmp_path / "class" / "ada")[0].points == 2


# --- notebooks ----------------------------------------------------------------------------------------------------

READ = {
    "a byte order mark": book(cell()).encode("utf-8-sig"),
    "UTF-16": book(cell()).encode("utf-16"),
    "a cell without metadata": book({"cell_type": "markdown", "source": ["hi"]}, cell()),
    "a cell whose nbgrader is null": book({"metadata": {"nbgrader": None}, "source": []}, cell()),
    "cells that are none": book(None, 7, [], {"metadata": [], "source": 1}, {"metadata": {"nbgrader": "x"}}, cell()),
    "one text for lines": book(cell(IN_BOOK)),
    "a list of lines": book(cell(IN_BOOK.splitlines(keepends=True))),
    "CRLF": book(cell(IN_BOOK.replace("\n", "\r\n"))).replace("{", "{\r\n"),
    "another kernel": book(cell(), metadata={"kernelspec": {"name": "my env", "language": "R"}}),
    "no language": book(cell(), metadata=None),
    "format 3": json.dumps({
        "nbformat": 3, "worksheets": [{"cells": [{**cell(), "source": None, "input": IN_BOOK}]}, None],
    }).replace('"source": null, ', ""),
    "the same cell twice": book(cell(), cell()),
    "a draft before": book({"cell_type": "code", "source": f"{IN_BOOK}    # draft"}, cell()),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ)
def test_an_answer_in_a_notebook_is_found(kind: str, tmp_path: Path) -> None:
    """Of most of these it was said that nothing was handed in."""
    mark, source = marked(put(tmp_path / "ada", "06.IPYNB" if kind == "CRLF" else "06.ipynb", READ[kind]))
    assert (mark.points, mark.reason, mark.unclear) == (2, "", False)
    assert source.endswith(IN_BOOK) and source.startswith("import numpy as np\n")


UNREAD = {
    "cut": (book(cell())[:-20], "it is no JSON, or not all of it: "),
    "latin": ('{"cells": ["ü"]}'.encode("latin-1"), "it is no text in utf-8"),
    "empty": ("", "it is empty"),
    "blank": (" \n", "it is empty"),
    "no notebook": ("[]", "it is no notebook: it has no cells"),
    "cells of no list": ('{"cells": {"a": 1}}', "it is no notebook: it has no cells"),
    "deep": ("[" * 1_000_000, "it is nested too deep, or too large"),
    "an answer without text": (book(cell(None)), "cell 1, the answer's, holds no text"),
    "an answer of numbers": (book(1, cell(["a", 1])), "cell 2, the answer's, holds no text"),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_a_notebook_that_cannot_be_read_is_not_nothing(kind: str, tmp_path: Path) -> None:
    content, reason = UNREAD[kind]
    mark, source = marked(put(tmp_path / "ada", "06.ipynb", content))
    assert (mark.points, mark.handed_in, mark.unclear, source) == (0, True, True, "")
    assert mark.reason.startswith(f"cannot be read: 06.ipynb: {reason}"), mark.reason
    (row,) = reports.summary(Marks((mark,)))
    assert row.handed_in == 1 and row.failures == (("cannot be read", 1),)
    assert f"ada, 06_1: {mark.reason}" in reports.text(Marks((mark,)))


def test_what_can_be_read_is_graded_and_the_rest_is_said(tmp_path: Path) -> None:
    put(tmp_path / "ada", "06.ipynb", book(cell()))
    mark, _ = marked(put(tmp_path / "ada", "a.ipynb", "{"))
    assert mark.points == 2 and mark.unclear and mark.reason.startswith("cannot be read: a.ipynb: "), mark.reason
    assert f"ada, 06_1: {mark.reason}" in reports.text(Marks((mark,)))


def test_an_unedited_answer_beside_what_cannot_be_read_is_not_graded(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada", template(REORDER))
    mark, source = marked(put(tmp_path / "ada", "06.ipynb", "{"))
    assert source == "" and mark.reason.startswith("cannot be read: 06.ipynb: "), mark.reason


def test_an_answer_in_a_cell_of_another_kind_or_without_its_id_is_graded_and_said(tmp_path: Path) -> None:
    mark, source = marked(put(tmp_path / "ada", "06.ipynb", book(1, cell(cell_type="markdown"))))
    assert source.endswith(IN_BOOK) and mark.reason == "06.ipynb, cell 2, is no code but markdown"
    unedited = cell(REORDER.unedited("answer_06_1"))
    mark, source = marked(put(tmp_path / "bob", "06.ipynb", book(unedited, {"source": IN_BOOK})))
    assert source.endswith(IN_BOOK) and mark.reason == "06.ipynb, cell 2, has not the id answer-06_1"


# --- several answers ----------------------------------------------------------------------------------------------

AMBIGUOUS: dict[str, dict[str, str]] = {
    "06.ipynb, cell 1, 06.ipynb, cell 2": {"06.ipynb": book(cell(), cell(OTHER))},
    "06-Copy1.ipynb, cell 1, 06.ipynb, cell 1": {"06.ipynb": book(cell()), "06-Copy1.ipynb": book(cell(OTHER))},
    "06.ipynb, cell 1, 06.ipynb, cell 2, 06.ipynb, cell 3, 2 more": {
        "06.ipynb": book(*(cell(f"{OTHER}    {number}\n") for number in range(5)))
    },
    "06_1.PY, 06_1.py": {"06_1.py": GOOD, "06_1.PY": OTHER},
    "Answers/06_1.py, answers/06_1.py": {"Answers/06_1.py": GOOD, "answers/06_1.py": OTHER},
}


@pytest.mark.parametrize("places", AMBIGUOUS)
def test_of_different_answers_none_is_chosen(places: str, tmp_path: Path) -> None:
    """The first one was graded, and nobody was told."""
    for name, text in AMBIGUOUS[places].items():
        if (tmp_path / "ada" / name).exists():
            pytest.skip("this file system takes capitals for small letters")
        put(tmp_path / "ada", name, text)
    mark, source = marked(tmp_path / "ada")
    assert (mark.points, mark.handed_in, mark.unclear, source) == (0, True, True, "")
    assert mark.reason == f"is ambiguous: there are different answers in {places}"


def test_the_file_of_an_answer_comes_first_and_others_are_said(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada", GOOD)
    put(tmp_path / "ada", "06_1.py", OTHER)
    mark, source = marked(put(tmp_path / "ada", "06.ipynb", book(cell(OTHER))))
    assert source == GOOD and mark.points == 2 and mark.unclear
    assert mark.reason == "graded is answers/06_1.py; another answer is in 06_1.py, 06.ipynb, cell 1"


@pytest.mark.parametrize("student", ["", "ada", "bob"])
@pytest.mark.parametrize("first", ["template", "", "\ufeff\r\n"])
def test_what_was_handed_out_does_not_hide_an_answer(first: str, student: str, tmp_path: Path) -> None:
    """Who solved the notebook and handed in the whole handout got the points of its untouched file."""
    hand_in(tmp_path, "ada", template(REORDER, student).replace("\n", "\r\n") if first else first)
    mark, source = marked(put(tmp_path / "ada", "06.ipynb", book(cell())))
    assert source.endswith(IN_BOOK) and (mark.points, mark.reason) == (2, "")


def test_the_same_answer_in_two_places_is_one(tmp_path: Path) -> None:
    from workbench.teach.source import HEADER

    hand_in(tmp_path, "ada", f"{HEADER}{IN_BOOK}")
    unedited = cell(REORDER.unedited("answer_06_1"))
    put(tmp_path / "ada", "old.ipynb", book(unedited))
    mark, source = marked(put(tmp_path / "ada", "06.ipynb", book(cell())))
    assert source == HEADER + IN_BOOK and mark.reason == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_of_an_answer_is_read_as_an_editor_wrote_it(encoding: str, tmp_path: Path) -> None:
    text = GOOD.replace("\n", "\r\n").encode(encoding)
    assert marked(put(tmp_path / "ada", "answers/06_1.py", text))[1] == GOOD


def test_what_no_editor_writes_is_an_answer_with_a_reason(tmp_path: Path) -> None:
    """Empty, zeros, bytes that are no text, half a character: each is run in its process, and said to be wrong."""
    hand_in(tmp_path, "empty", "")
    put(tmp_path / "zeros", "06_1.py", bytes(100))
    put(tmp_path / "latin", "06_1.py", (GOOD + "# für").encode("latin-1"))
    put(tmp_path / "noise", "06_1.py", bytes(range(256)))
    put(tmp_path / "half", "06.ipynb", book(cell("x = '\ud800'\n" + IN_BOOK)))
    told = {mark.student: mark for mark in grade(tmp_path, [REORDER], LIMITS).marks}
    assert told.pop("latin").points == 2
    assert told["empty"].reason == "E-TEACH-ANSWER: answers/06_1.py defines no answer"
    assert all(mark.points == 0 and mark.reason and mark.handed_in for mark in told.values()), told
    assert json.loads(Marks(tuple(told.values())).json()) and Marks(tuple(told.values())).csv().encode()


def test_what_was_not_looked_at_is_named(tmp_path: Path) -> None:
    put(tmp_path / "ada", "ps1/06.ipynb", book(cell()))
    put(tmp_path / "ada", "answers/06_1.txt", GOOD)
    put(tmp_path / "ada", "answers/06_2.py", GOOD)
    put(tmp_path / "ada", ".DS_Store", "")
    put(tmp_path / "ada", "._06.ipynb", "")
    mark, _ = marked(put(tmp_path / "ada", "__MACOSX/x", ""))
    assert mark.reason == "nothing was handed in (not looked at: answers/06_1.txt, ps1)"
    assert not mark.handed_in and mark.unclear
    assert mark.reason in reports.html(Marks((mark,)))
    mark, _ = marked(put(tmp_path / "bob", "answers/06_2.py", GOOD))
    assert mark.reason == "nothing was handed in" and not mark.unclear


# --- names --------------------------------------------------------------------------------------------------------


def test_students_of_nearly_one_name_are_told(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
    for name in ("Ada", "ada", composed, decomposed, "bob"):
        hand_in(tmp_path, name, GOOD)
    if len(os.listdir(tmp_path)) < 5:
        pytest.skip("this file system takes such names for one")
    told = {mark.student: (mark.reason, mark.unclear) for mark in grade(tmp_path, [REORDER], LIMITS).marks}
    note = "a folder of nearly the same name is there: "
    assert told == {
        "bob": ("", False), "Ada": (f"{note}'ada'", True), "ada": (f"{note}'Ada'", True),
        composed: (f"{note}'Zoe\\u0308'", True), decomposed: (f"{note}'Zo\\xeb'", True),
    }  # fmt: skip


def test_shapes_are_those_of_a_name_in_any_normal_form() -> None:
    choices = {"n": tuple(range(1000))}
    forms = {unicodedata.normalize(form, "Zoë Müller") for form in ("NFC", "NFD")}
    assert len(forms) == 2 and len({shapes_for("06_1", form, choices)["n"] for form in forms}) == 1


def test_names_that_are_no_unicode_or_obeyed_by_terminals_are_graded_and_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first such name ended the batch."""
    group = tmp_path / "class"
    for name in (b"z\xff", "Zoë".encode(), b"a\x1b[31m"):
        folder = os.path.join(os.fsencode(group), name)
        try:
            os.makedirs(folder)
        except OSError as error:
            pytest.skip(f"this file system makes no such name: {error}")
        Path(os.fsdecode(folder), "06_1.py").write_text(GOOD)
        Path(os.fsdecode(os.path.join(folder, b"\xfe.ipynb"))).write_text("{")
    (group / "ada.zip").touch()
    marks, table, page = (str(tmp_path / name) for name in ("marks.json", "marks.csv", "marks.html"))
    with pytest.raises(SystemExit) as ended:
        main(["teach", "grade", str(group), "-o", marks, "--csv", table, "--lesson", "06"])
    assert ended.value.code in (0, None)
    with pytest.raises(SystemExit) as ended:
        main(["teach", "report", marks, "--html", page])
    assert ended.value.code in (0, None)
    points = {mark.student: mark.points for mark in Marks.from_json(Path(marks).read_text()).marks
              if mark.exercise == "06_1"}  # fmt: skip
    assert points == {"a␛[31m": 2, "Zoë": 2, "z\\xff": 2}
    told = capfd.readouterr()
    assert "z\\xff" in told.out and "\\xfe.ipynb: it is no JSON" in told.out and "\x1b" not in told.out
    assert "not graded, no folders of students: ada.zip" in told.err
    assert "z\\xff,06_1,2,2," in Path(table).read_text(encoding="utf-8")


def test_half_a_character_can_be_written() -> None:
    assert Marks((Mark("ada", "06_1", 0, 2, "found \ud800"),)).csv().encode().endswith(b"found ?\n")


def test_a_folder_that_cannot_be_listed_is_refused_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, reason in (("file", "Not a directory"), ("none", "No such file or directory")):
        with pytest.raises(WorkbenchError) as caught:
            grade(tmp_path / name, [REORDER])
        assert caught.value.code == "E-TEACH-SUBMISSIONS" and caught.value.found == reason
