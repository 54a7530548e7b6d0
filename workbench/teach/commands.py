"""`workbench teach release | grade | report`.

workbench teach release --output handout --lesson 06
workbench teach grade submissions -o marks.json --csv marks.csv
workbench teach report marks.json --html marks.html
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import WorkbenchError
from ..core.whole_file import write_whole
from ..views.html import visible
from . import report as made
from .contain import Limits
from .course import NOTEBOOKS, exercises, exercises_of
from .grade import Mark, Marks, students_of
from .grade import grade as mark_all
from .release import release as write

if TYPE_CHECKING:
    from .exercise import Exercise

LessonOption = Annotated[list[str] | None, typer.Option("--lesson", help="only these lessons, e.g. 06; repeatable")]
CourseOption = Annotated[
    Path | None, typer.Option("--course", help="a Python file that defines EXERCISES, in place of the course's own")
]

app = typer.Typer(no_args_is_help=True, help="Exercises: hand them out, grade what comes back, see how it went.")


@app.command()
def release(
    output: Annotated[Path, typer.Option("--output", "-o", help="folder to write")],
    lesson: LessonOption = None,
    course: CourseOption = None,
    notebooks: Annotated[Path | None, typer.Option(help="folder of the lessons' notebooks")] = None,
    student: Annotated[str, typer.Option(help="fix the shapes of one student")] = "",
) -> None:
    """Write notebooks without solutions, templates of the answers, and tests for otter; nbgrader's metadata is in."""
    chosen = _exercises(lesson, course)
    books = {} if course else _notebooks(notebooks, [exercise.lesson for exercise in chosen])
    for path in write(output, chosen, books, student, str(course) if course else ""):
        typer.echo(str(path))


@app.command()
def grade(
    submissions: Annotated[Path, typer.Argument(help="folder with a folder for each student")],
    output: Annotated[Path, typer.Option("--output", "-o", help="marks as JSON")] = Path("marks.json"),
    csv: Annotated[Path | None, typer.Option("--csv", help="marks as CSV, too")] = None,
    lesson: LessonOption = None,
    course: CourseOption = None,
    seconds: Annotated[float, typer.Option(min=0.5, help="processor time of one answer")] = 20.0,
    megabytes: Annotated[int, typer.Option(min=300, help="memory of one answer")] = 1500,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="answers graded side by side")] = 1,
) -> None:
    """Run every answer in a contained process and write the marks, each with its reason."""
    def say(mark: Mark) -> None:
        _print(f"{mark.student:<24} {mark.exercise:<8} {mark.points} of {mark.of}  {mark.reason}")

    chosen = _exercises(lesson, course)
    beside = students_of(submissions)[1]
    if beside:
        _print(f"not graded, no folders of students: {', '.join(beside)}", err=True)
    limits = Limits(seconds, megabytes)
    marks = mark_all(submissions, chosen, limits, jobs, str(course) if course else "", say)
    write_whole(output, marks.json())
    if csv is not None:
        write_whole(csv, marks.csv())


@app.command()
def report(
    marks: Annotated[Path, typer.Argument(help="marks that `grade` wrote")],
    html: Annotated[Path | None, typer.Option("--html", help="write a page, too")] = None,
) -> None:
    """Print for each exercise how many solved it and what failed most often."""
    try:
        read = Marks.from_json(marks.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError("E-TEACH-MARKS", f"{marks} cannot be read", found=str(error)) from None
    _print(made.text(read).rstrip("\n"))
    if html is not None:
        write_whole(html, made.html(read))


def _print(text: str, err: bool = False) -> None:
    """Print what strangers named: nothing that a terminal obeys, nor what its encoding lacks, which would end us."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "utf-8"
    typer.echo(visible(text).encode(encoding, "backslashreplace").decode(encoding), err=err)


def _exercises(lessons: Sequence[str] | None, course: Path | None) -> tuple[Exercise, ...]:
    known = exercises_of(course) if course is not None else exercises()
    wanted = [lesson.zfill(2) for lesson in lessons or ()]
    there = list(dict.fromkeys(exercise.lesson for exercise in known))
    for lesson in wanted:
        if lesson not in there:
            raise WorkbenchError("E-TEACH-UNKNOWN", f"there is no lesson {lesson}", found=f"lessons {', '.join(there)}")
    return tuple(exercise for exercise in known if not wanted or exercise.lesson in wanted)


def _notebooks(folder: Path | None, lessons: Sequence[str]) -> dict[str, Path]:
    """The notebooks of lessons, where they are to be had: beside a clone, in the package, or here."""
    package = Path(__file__).resolve().parent.parent
    places = (
        [folder] if folder is not None else [package.parent / "notebooks", package / "notebooks", Path("notebooks")]
    )
    found: dict[str, Path] = {}
    for lesson in lessons:
        for place in places:
            path = place / f"{NOTEBOOKS.get(lesson, lesson)}.ipynb"
            if lesson not in found and path.is_file():
                found[lesson] = path
    return found
