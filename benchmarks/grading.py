"""Seconds that grading one student's lesson takes: 120 submissions, three of which are hostile or endless.

    python -m benchmarks.grading [--students N] [--lesson 06] [--jobs N]

The other students hand in the course's own solutions.  Each mark is given its time from the moment the one before it
in its line was given; printed are the median of a whole submission, and how many marks were given with which reasons.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

from workbench.teach.course import exercises
from workbench.teach.grade import Mark, grade

WANTED = 2.0
"""Seconds, the median of one submission."""
SOLUTIONS = Path(__file__).resolve().parents[1] / "tests" / "teach" / "solutions"
HOSTILE = {
    "endless": "while True:\n    pass\n",
    "greedy": "kept = []\nwhile True:\n    kept.append(bytearray(1 << 26))\n",
    "killing": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n",
}


def hand_in(folder: Path, students: int, lesson: str) -> None:
    """A folder for each student, the hostile ones among them."""
    names = [f"student{number:03}" for number in range(students - len(HOSTILE))]
    for name in [*names, *HOSTILE]:
        answers = folder / name / "answers"
        answers.mkdir(parents=True)
        for solution in sorted(SOLUTIONS.glob(f"{lesson}_*.py")):
            (answers / solution.name).write_text(HOSTILE.get(name) or solution.read_text())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--students", type=int, default=120)
    parser.add_argument("--lesson", default="06")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    chosen = tuple(one for one in exercises() if one.lesson == given.lesson)
    spent: Counter[str] = Counter()
    last = time.perf_counter()

    def done(mark: Mark) -> None:
        nonlocal last
        now = time.perf_counter()
        spent[mark.student] += (now - last) * given.jobs  # type: ignore[assignment]
        last = now

    with tempfile.TemporaryDirectory() as folder:
        hand_in(Path(folder), given.students, given.lesson)
        begun = time.perf_counter()
        marks = grade(folder, chosen, jobs=given.jobs, done=done).marks
        total = time.perf_counter() - begun
    median = statistics.median(spent.values())
    print(f"{given.students} submissions of lesson {given.lesson}, {len(chosen)} exercises each: {total:.1f} s")
    print(f"median of a submission {median:.2f} s (wanted {WANTED:.0f} s), longest {max(spent.values()):.1f} s")
    full = sum(mark.points == mark.of for mark in marks if mark.student not in HOSTILE)
    print(f"{len(marks)} marks of {given.students * len(chosen)}; of the solutions {full} have full points")
    for mark in marks:
        if mark.student in HOSTILE and mark.exercise == chosen[0].id:
            print(f"{mark.student:<10} {mark.points} of {mark.of}  {mark.reason}")


if __name__ == "__main__":
    main()
