"""Grading: honest, wrong and hostile answers; one never costs another's points, and each has its reason."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.core.errors import WorkbenchError
from workbench.driver.cli import main
from workbench.teach import report as reports
from workbench.teach.contain import Contained, Limits, contained
from workbench.teach.course import exercises
from workbench.teach.exercise import find
from workbench.teach.grade import Mark, Marks, grade, mark_of

REORDER = find(exercises(), "06_1")
GOOD = 'def answer(sch):\n    i, j, k = sch.get_loops("C")\n    sch.reorder(i, k, j)\n'
LIMITS = Limits(seconds=2, megabytes=700, output_kilobytes=64)


@pytest.fixture(scope="module")
def box() -> Iterator[Contained]:
    """One for all answers of this file, hostile ones among them."""
    with Contained(LIMITS) as found:
        yield found


HOSTILE = {
    "loops": ("def answer(sch):\n    while True:\n        pass\n", "took more than"),
    "crashes": ("def answer(sch):\n    import faulthandler\n    faulthandler._sigsegv()\n", "crashed (SIG"),
    "prints": ("def answer(sch):\n    while True:\n        print('x' * 10_000)\n", "printed more than 64 kB"),
    "exits": ("import os\n\n\ndef answer(sch):\n    os._exit(0)\n", "ended the process"),
    "exits politely": ("import sys\n\n\ndef answer(sch):\n    sys.exit()\n", "ended the process (status None)"),
    "exits on import": ("raise SystemExit(3)\n", "ended the process (status 3)"),
    "hoards": ("def answer(sch):\n    return [bytearray(10**8) for _ in range(1000)]\n", "needs more than 700 MB"),
    "forks": ("import os\n\n\ndef answer(sch):\n    while True:\n        os.fork()\n", "tried to start a process"),
    "calls a shell": ("import os\n\n\ndef answer(sch):\n    os.system('true')\n", "tried to start a process"),
    "calls home": (
        "import socket\n\n\ndef answer(sch):\n    socket.create_connection(('127.0.0.1', 9))\n",
        "tried to open",
    ),
    "loads code": ("import ctypes\n\n\ndef answer(sch):\n    ctypes.CDLL(None)\n", "tried to load or call native code"),
    "edits the checker": (
        "import workbench.teach.checks as checks\n\n\ndef answer(sch):\n    try:\n"
        "        open(checks.__file__, 'a').write('#')\n    except OSError:\n        pass\n" + GOOD[17:],
        "tried to write checks.py",
    ),
    "removes the checker": (
        "import os\nimport workbench.teach.checks as checks\n\n\ndef answer(sch):\n    os.remove(checks.__file__)\n",
        "tried to change checks.py",
    ),
    "patches the checker": (
        "import workbench.teach.tasks as task\nimport workbench.teach.child as child\n\n\ndef answer(sch):\n"
        "    task.judged = None\n    child.judge = lambda request, frames: ({'points': 2}, [])\n    return sch\n",
        "C runs in the order i, k, j",
    ),
    "forges an outcome": (
        "import json\nimport workbench.teach.answers as answers\n\n\ndef answer(sch):\n"
        "    import workbench.core.frames as frames\n"
        "    frames.json = type('j', (), {'dumps': lambda made: '{\"points\": 2, \"frames\": 0}'})\n"
        "    return sch\n",
        "answered something that cannot be read",
    ),
    "closes every pipe": (
        "import os, time\n\n\ndef answer(sch):\n    os.closerange(0, 100)\n    time.sleep(1000)\n",
        "sent what is no answer: it closed its pipe",
    ),
    "writes into every pipe": (
        "import os\n\n\ndef answer(sch):\n    for number in range(100):\n        try:\n"
        "            os.write(number, b'points: 2' * 10)\n        except OSError:\n            pass\n    return sch\n",
        "sent what is no answer",
    ),
    "answers without a number": (
        "import os\nimport workbench.core.frames as frames\n\n\ndef answer(sch):\n    for number in range(3, 20):\n"
        "        try:\n            frames.send(number, bytes(16), {'outcome': {}}, [])\n        except OSError:\n"
        "            pass\n    return sch\n",
        "sent what is no answer: it does not carry the number of the request",
    ),
    "forges a trace": (
        "from workbench.schedule import Trace\n\n\ndef answer(sch):\n    Trace.as_json = lambda self: '{}'\n",
        "E-TRACE-",
    ),
    "recurses": ("def answer(sch):\n    return answer(sch)\n", "RecursionError"),
    "is no Python": ("def answer(sch:\n", "SyntaxError"),
    "is empty": ("", "E-TEACH-ANSWER: answers/06_1.py defines no answer"),
    "answers a number": ("def answer(sch):\n    return 7\n", "E-TEACH-ANSWER"),
    "is refused": ("def answer(sch):\n    sch.parallel(sch.get_loops('C')[2])\n", "E-SCHEDULE-DEPENDENCE"),
    "has a bug": ("def answer(sch):\n    x = 1\n    return sch.nonsense(x)\n", "(line 3)"),
    "keeps a thread": (
        "import threading, time\n\n\ndef answer(sch):\n"
        "    threading.Thread(target=time.sleep, args=(1000,)).start()\n    return sch\n",
        "C runs in the order i, k, j",
    ),
}


def hand_in(folder: Path, student: str, source: str, exercise: str = "06_1") -> Path:
    path = folder / student / "answers" / f"{exercise}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return folder / student


def test_what_others_printed_is_not_counted(tmp_path: Path, box: Contained) -> None:
    """Every few answers one was told that it had printed too much: it began where those before it had ended."""
    chatty = "def answer(sch):\n    print('x' * 20_000)\n" + GOOD[17:]
    marks = [mark_of(hand_in(tmp_path, f"ada{number}", chatty), REORDER, box) for number in range(8)]
    assert [mark.points for mark in marks] == [2] * 8, [mark.reason for mark in marks]


PAST_PYTHON = {
    "kills by descriptor": "signal.pidfd_send_signal(os.pidfd_open(grader()), 9)",
    "starves the grader": "resource.prlimit(grader(), resource.RLIMIT_NOFILE, (0, 0))",
    "writes by folder": (
        "os.open('06_1.py', os.O_WRONLY | os.O_TRUNC, dir_fd=os.open(str(CLASS / 'ada' / 'answers'), os.O_PATH))"
    ),
    "copies another's": "exec((CLASS / 'ada' / 'answers' / '06_1.py').read_text())",
}
"""What Python tells no audit hook of; the grader is the parent's parent."""


def system_confines(folder: Path) -> bool:
    """Whether this system has both Landlock and seccomp; asked in a process of its own, which is confined after it."""
    code = "import pathlib, sys, workbench.core.confinement as c\nprint(*c.confined(pathlib.Path(sys.argv[1])))"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True)
    return set(done.stdout.split()) == {"calls", "files"}


def test_what_goes_past_pythons_own_events_is_refused_by_the_system(tmp_path: Path) -> None:
    """Each of these killed the grader, or changed another student's answer."""
    if not system_confines(tmp_path):
        pytest.skip("this system confines no process: Landlock and seccomp are Linux's, and may be off")
    hand_in(tmp_path, "ada", GOOD)
    for name, line in PAST_PYTHON.items():
        source = (
            "import os, pathlib, resource, signal\n\n\ndef grader():\n"
            "    told = open(f'/proc/{os.getppid()}/stat').read()\n    return int(told.rsplit(')', 1)[1].split()[1])\n"
            f"\n\nCLASS = pathlib.Path({str(tmp_path)!r})\n\n\ndef answer(sch):\n    {line}\n{GOOD[17:]}"
        )
        hand_in(tmp_path, f"eve {name}", source)
    hand_in(tmp_path, "zoe", GOOD)
    marks = grade(tmp_path, [REORDER], LIMITS, jobs=1)
    assert {mark.student for mark in marks.marks if mark.points} == {"ada", "zoe"}
    reasons = [mark.reason for mark in marks.marks if not mark.points]
    assert len(reasons) == len(PAST_PYTHON) and all("PermissionError" in reason for reason in reasons), reasons
    assert (tmp_path / "ada" / "answers" / "06_1.py").read_text() == GOOD


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_earns_nothing_and_says_why(name: str, tmp_path: Path, box: Contained) -> None:
    source, reason = HOSTILE[name]
    started = time.monotonic()
    mark = mark_of(hand_in(tmp_path, "eve", source), REORDER, box)
    assert mark.points == 0
    assert reason in mark.reason, mark.reason
    assert time.monotonic() - started < 30


def test_an_answer_that_is_no_python_names_its_line_once(tmp_path: Path, box: Contained) -> None:
    """Python's own text of a syntax error ends with a piece of the name that the source was compiled under."""
    mark = mark_of(hand_in(tmp_path, "eve", "import math\ndef answer(sch)\n    return sch\n"), REORDER, box)
    assert mark.reason == "SyntaxError: expected ':' (line 2)"


def test_a_sleeping_answer_is_ended_by_wall_time() -> None:
    request = {"do": "answer", "exercise": "06_1", "student": "", "course": ""}
    source = "def answer(sch):\n    import time\n    time.sleep(1000)\n"
    ending = contained({**request, "source": source}, Limits(seconds=1))
    assert ending.result is None and ending.reason == "took more than 3 s"


def test_a_program_that_takes_for_ever_to_check_costs_its_own_points_only(tmp_path: Path, box: Contained) -> None:
    exercise = find(exercises(), "05_1")
    source = (
        "from workbench import te\n\n\ndef answer(n, m):\n    A = te.placeholder((n, m), name='A')\n"
        "    k = te.reduce_axis((0, 10**12), name='k')\n"
        "    return [A, te.compute((n,), lambda i: te.sum(A[i, k % m], axis=k), name='B')]\n"
    )
    mark = mark_of(hand_in(tmp_path, "eve", source, "05_1"), exercise, box)
    assert mark.points == 0 and ("E-TIR-STEPS" in mark.reason or "while it was checked" in mark.reason), mark.reason


def test_what_is_too_long_or_a_link_is_not_read(tmp_path: Path, box: Contained) -> None:
    long = hand_in(tmp_path, "long", GOOD + "#" * 300_000)
    assert "longer than 200,000 characters" in mark_of(long, REORDER, box).reason
    other = hand_in(tmp_path, "ada", GOOD)
    link = tmp_path / "eve" / "answers"
    link.mkdir(parents=True)
    (link / "06_1.py").symlink_to(other / "answers" / "06_1.py")
    mark = mark_of(tmp_path / "eve", REORDER, box)
    assert (mark.points, mark.handed_in) == (0, True) and "answers/06_1.py: a link leads to it" in mark.reason


def test_one_hostile_answer_costs_nobody_else_anything(tmp_path: Path) -> None:
    checks_file = Path(__file__).resolve().parents[2] / "workbench" / "teach" / "checks.py"
    before = checks_file.read_bytes()
    hand_in(tmp_path, "ada", GOOD)
    for name in ("edits the checker", "loops", "exits"):
        hand_in(tmp_path, f"eve {name}", HOSTILE[name][0])
    hand_in(tmp_path, "zoe", GOOD)
    (tmp_path / "late").mkdir()
    seen: list[Mark] = []
    marks = grade(tmp_path, [REORDER], LIMITS, jobs=2, done=seen.append)
    points = {mark.student: mark.points for mark in marks.marks}
    assert points == {
        "ada": 2, "eve edits the checker": 0, "eve exits": 0, "eve loops": 0, "late": 0, "zoe": 2,
    }  # fmt: skip
    assert marks.of("late")[0].reason == "nothing was handed in" and not marks.of("late")[0].handed_in
    assert len(seen) == 6
    assert checks_file.read_bytes() == before


def test_marks_are_those_of_the_notebook(tmp_path: Path, box: Contained) -> None:
    from workbench import teach
    from workbench.teach.source import answer_of

    half = 'def answer(sch):\n    sch.parallel(sch.get_loops("D")[0])\n'
    exercise = find(exercises(), "06_4")
    mark = mark_of(hand_in(tmp_path, "ada", half, "06_4"), exercise, box)
    report = teach.check_answer(exercise, answer_of(half, "06_4"), "ada")
    assert 0 < mark.points == report.points < mark.of
    assert mark.reason == report.reason


def test_answers_are_found_in_notebooks(tmp_path: Path, box: Contained) -> None:
    metadata = {"nbgrader": {"grade_id": "answer-06_1"}}
    source = GOOD.replace("answer", "answer_06_1").splitlines(keepends=True)
    cells = [{"cell_type": "code", "metadata": {}, "source": ["1"]}, {"metadata": metadata, "source": source}]
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / "broken.ipynb").write_text("{", encoding="utf-8")
    (folder / "lesson.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert mark_of(folder, REORDER, box).points == 2


def test_marks_as_csv_and_json() -> None:
    marks = Marks((Mark("=cmd()", "06_1", 0, 2, '=1+1, "quoted"\nand more'), Mark("ada", "06_1", 2, 2)))
    rows = list(csv.reader(io.StringIO(marks.csv())))
    assert rows[0] == ["student", "exercise", "points", "of", "reason"]
    assert rows[1][0] == "'=cmd()" and rows[1][4].startswith("'=1+1")
    assert Marks.from_json(marks.json()) == marks
    for text in ("", "[]", "{}", '{"format": "workbench.teach.marks", "version": 9, "marks": []}'):
        with pytest.raises(WorkbenchError) as caught:
            Marks.from_json(text)
        assert caught.value.code == "E-TEACH-MARKS"


def test_a_report_counts_and_escapes() -> None:
    failed = ({"name": "order", "passed": False, "points": 0, "of": 2, "reason": "no"},)
    marks = Marks((
        Mark("ada", "06_1", 2, 2), Mark("<script>", "06_1", 0, 2, "order: no", True, failed),
        Mark("eve", "06_1", 0, 2, "crashed (SIGSEGV)"), Mark("zoe", "06_1", 0, 2, "nothing was handed in", False),
    ))  # fmt: skip
    (row,) = reports.summary(marks)
    assert (row.students, row.handed_in, row.solved, row.mean) == (4, 3, 1, 0.5)
    assert row.failures == (("crashed", 1), ("order", 1))
    page, table = reports.html(marks), reports.text(marks)
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "3 of 4" in table and "order (1)" in table


def test_grading_refuses_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError) as caught:
        grade(tmp_path, [REORDER])
    assert caught.value.code == "E-TEACH-SUBMISSIONS"


def test_the_command_line_from_release_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, submissions = tmp_path / "out", tmp_path / "submissions"
    _command("teach", "release", "--output", str(out), "--lesson", "6", "--student", "ada")
    assert (out / "answers" / "06_1.py").is_file() and (out / "tests" / "q06_1.py").is_file()
    hand_in(submissions, "ada", (out / "answers" / "06_1.py").read_text(encoding="utf-8"))
    hand_in(submissions, "zoe", GOOD)
    marks, table = tmp_path / "marks.json", tmp_path / "marks.csv"
    _command("teach", "grade", str(submissions), "-o", str(marks), "--csv", str(table), "--lesson", "6")
    assert {mark.points for mark in Marks.from_json(marks.read_text()).marks if mark.exercise == "06_1"} == {0, 2}
    assert "zoe,06_1,2,2," in table.read_text()
    page = tmp_path / "marks.html"
    _command("teach", "report", str(marks), "--html", str(page))
    assert "06_1" in capsys.readouterr().out and page.read_text().startswith("<!doctype html>")


def test_the_command_line_refuses_with_six_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("grade", str(tmp_path)), ("report", str(tmp_path / "none.json")),
                      ("release", "--output", str(tmp_path / "o"), "--lesson", "99"),
                      ("release", "--output", str(tmp_path / "o"), "--course", str(tmp_path / "none.py"))):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["teach", *arguments])
        assert ended.value.code == 2
        assert "E-TEACH-" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def _command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code in (0, None)
