"""What was asked of a screen, kept as it comes, saved with the program it began with, and done again without a page.

    text = journal.to_json()                 # a file of this can be replayed: `workbench replay session.json`
    replay(text)                             # Replayed(requests=41, different=())

Replaying asks a new screen on the same program the same things.  It must answer as it did: the same refusals, the same
texts and graphs, and in the end the same Python.  Times are not compared.

Invariant: all that changes the program is in it, what cells did to its schedules too; of what is only asked, the first
requests.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.core.whole_file import write_whole
from workbench.ui.changes import RECORDED
from workbench.ui.protocol import Answer, Reply
from workbench.views.schema import View
from workbench.views.strings.tables import say

if TYPE_CHECKING:
    from workbench.driver.session import Session

FORMAT: Final = "workbench-journal"
VERSION: Final = 1
LIMIT: Final = 5_000
"""Requests after which only those are kept that change the program."""
SAME: Final = ("pane", "lines", "graph", "place", "compare", "beside", "pipeline.lines", "schedule.reasons")
"""Commands whose answers are compared whole; of the others only whether they are refused, and why."""
_LEFT_OUT: Final = (
    "bundle", "share.journal", "share.page", "checks.save_test", "exercise.submit",
    "changes.restore", "changes.discard", "changes.another", "changes.read",
)  # fmt: skip
"""What concerns the page, or the files of one user; of what is restored, each command is kept."""


@dataclass(frozen=True)
class Entry:
    op: str
    args: dict[str, Any]
    outcome: str
    """A digest of the answer, "ok", or the code of the refusal."""


class Journal:
    """The requests to a screen on one session that it was given, in order: none that leads to another one or back."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.entries: list[Entry] = []
        self.cut: int | None = None
        """After how many requests questions were left out; None where it is whole."""

    def add(self, entry: Entry) -> None:
        if entry.args.get("layer") == "onnx":  # of the file, which the journal does not hold, but what was imported
            return
        if len(self.entries) < LIMIT or entry.op in RECORDED:
            self.entries.append(entry)
        elif self.cut is None:
            self.cut = len(self.entries)

    def moved_by_cell(self, kernel: str, code: str) -> None:
        """A cell has moved a schedule to where `code` leads, which the screen has followed."""
        self.add(Entry("schedule.replay", {"kernel": kernel, "code": code}, "ok"))

    def back_to(self, count: int) -> None:
        """Forget the requests after the first ones of that number: they come to nothing."""
        del self.entries[count:]
        if self.cut is not None and self.cut > count:
            self.cut = None

    def to_json(self, end: Session) -> str:
        """The journal with the program that it began with, as a file holds it; `end` is the session shown now."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "begin.json"
            self._session.save(str(path))
            begin = json.loads(path.read_text(encoding="utf-8"))
        requests = [[entry.op, entry.args, entry.outcome] for entry in self.entries]
        document = {"format": FORMAT, "version": VERSION, "begin": begin, "requests": requests, "end": _python(end)}
        document |= {"cut": self.cut} if self.cut is not None else {}
        return json.dumps(document, ensure_ascii=False)


def keeping(
    op: str, command: Callable[[dict[str, Any]], Answer], journal: Callable[[], Journal]
) -> Callable[[dict[str, Any]], Answer]:
    """The command, written down each time that it is asked, in the journal of the session shown."""
    if op in _LEFT_OUT:
        return command

    def run(args: dict[str, Any]) -> Answer:
        begun = journal()
        try:
            answer = command(args)
        except WorkbenchError as error:
            begun.add(Entry(op, args, error.code))
            raise
        outcome = "ok"
        if op in SAME:
            plain = answer.view.to_json() if isinstance(answer.view, View) else answer.view
            answer, outcome = replace(answer, view=plain), _digest(plain)
        if journal() is begun:
            begun.add(Entry(op, args, outcome))
        return answer

    return run


@dataclass(frozen=True)
class Replayed:
    """What came of doing it again."""

    requests: int
    different: tuple[str, ...]
    """What was answered otherwise, in words."""
    cut: int | None = None
    """After how many requests the journal holds only what changes the program; None where it is whole."""

    def __str__(self) -> str:
        cut = f"\n{say.session.journal_is_cut(self.cut)}" if self.cut is not None else ""
        if not self.different:
            return say.session.replayed_alike(self.requests) + cut
        return say.session.replayed_differently(self.requests, "\n".join(self.different)) + cut


def replay(text: str) -> Replayed:
    """Ask a new screen the same.  Raises `WorkbenchError` for what is no journal."""
    from workbench.driver.open import open_session
    from workbench.ui.workbench import Workbench

    document = _read(text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "begin.json"
        write_whole(path, json.dumps(document["begin"]))
        screen = Workbench(open_session(str(path)), unattended=True)
    different: list[str] = []
    for number, (op, args, outcome) in enumerate(document["requests"], 1):
        found = _outcome(op, screen.ask(op, **args))
        if found != outcome:
            different.append(say.session.answered_differently(number, op, found, outcome))
    # Of what was opened from a file the journal holds the program itself: the first lines say where from.
    if _changes(_python(screen.session)) != _changes(document["end"]):
        different.append(say.session.another_end)
    return Replayed(len(document["requests"]), tuple(different), document.get("cut"))


def _read(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
        good = document["format"] == FORMAT and document["version"] == VERSION and isinstance(document["begin"], dict)
        good = good and all(isinstance(op, str) and isinstance(args, dict) for op, args, _ in document["requests"])
        cut = document.get("cut")
        good = good and (cut is None or (type(cut) is int and cut >= 0))
    except (ValueError, KeyError, TypeError):
        good, document = False, {}
    if not good:
        raise WorkbenchError("E-UI-JOURNAL", "this is no journal of a screen", fix="Share, Save what was done")
    return document


def _outcome(op: str, reply: Reply) -> str:
    if not reply.content["ok"]:
        return str(reply.content["err"]["code"])
    return _digest(reply.view()) if op in SAME else "ok"


def _digest(plain: Mapping[str, Any] | None) -> str:
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _python(session: Session) -> str:
    """The Python of a session; of one in conflict, which has none, why not, in a line that is compared too."""
    try:
        return session.to_python()
    except WorkbenchError as error:
        return f"    # {error.code}: {error.message}, {error.found}"


def _changes(code: str) -> list[str]:
    """The lines that say what was done; of the one that opens, from the target on: not from where."""
    told: list[str] = []
    for line in code.split("\n"):
        opening = line.strip().startswith("s = wb.open(")
        if opening or line.startswith(("s = s.", "sch", "    ")):
            told.append(line.partition(", target=")[2] if opening else line)
    return told
