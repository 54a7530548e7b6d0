"""What a replay of saved changes has done so far: an undo or a redo of what was refused here is left out too.

Branches are told by content: their numbers say in which order they were made, by cells too, which may not run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from workbench.core.errors import WorkbenchError
from workbench.ui.pipeline_edits import Call
from workbench.views.strings.tables import say

SCHEDULE: Final = ("schedule.apply", "schedule.accept", "schedule.force", "schedule.undo", "schedule.redo",
                   "schedule.switch", "schedule.drop", "schedule.go", "schedule.replay", "lens.release",
                   "take_back")  # fmt: skip
"""Commands that move the schedule of a kernel."""
OF_A_KERNEL: Final = (*SCHEDULE, "candidates.choose")
"""Commands that change a kernel."""


class MissingBranch(WorkbenchError):
    """A branch was gone to that is not there; `branch` is its id in the process that saved it."""

    def __init__(self, branch: str, title: str) -> None:
        super().__init__("E-UI-CHANGES", say.changes.no_branch(title), kept=say.changes.not_followed)
        self.branch, self.title = branch, title


class _Is(Enum):
    """What became of a command."""

    DONE = auto()
    REFUSED = auto()
    WENT = auto()
    """It went to a branch."""
    STAYED = auto()
    """It would have gone to the branch that was shown already: there is nothing to undo."""
    LOST = auto()
    """It would have gone to a branch that is not there."""


@dataclass
class _Commands:
    """Commands that undo would take back and redo would do again, with what became of each here."""

    done: list[_Is] = field(default_factory=list[_Is])
    undone: list[_Is] = field(default_factory=list[_Is])

    def push(self, what: _Is) -> None:
        self.done.append(what)
        self.undone.clear()

    def skips(self, undo: bool) -> bool:
        """Whether an undo or redo speaks of a command that was refused here."""
        source = self.done if undo else self.undone
        return bool(source) and source[-1] not in (_Is.DONE, _Is.WENT)

    def turn(self, undo: bool) -> None:
        """A command was undone or redone, perhaps one that was refused here."""
        source, sink = (self.done, self.undone) if undo else (self.undone, self.done)
        sink.extend([source.pop()] if source else [])


@dataclass
class Replay:
    """What a replay has done: the screen's own history, those of schedules by kernel, and what was refused."""

    became: dict[str, str] = field(default_factory=dict[str, str])
    """Ids of branches in the process that saved the changes, with the ids that the same branches have here."""
    session: _Commands = field(default_factory=_Commands)
    schedules: dict[str, _Commands] = field(default_factory=dict[str, _Commands])
    refused: list[str] = field(default_factory=list[str])
    begun: int = 0
    """How many commands the screen's record held before."""
    kept: int = 0
    """How many changes were kept before."""
    before: object = None
    """Where the screen stood before (`Subject.standing`)."""
    at: int = 0
    """How many of the saved commands were looked at."""
    entries: int = 0
    """Where it has halted: how many commands the screen's record held then; further ones are nothing of the replay."""
    calls: Sequence[Call] = ()
    """Where it has halted: what was done on the screen by then."""
    waits: str = ""
    """The branch that it waits for, in words."""

    @property
    def lost(self) -> bool:
        """Whether the branch is missing that the next command is meant for."""
        last = (what for what in reversed(self.session.done) if what not in (_Is.DONE, _Is.REFUSED))
        return next(last, _Is.WENT) is _Is.LOST

    def skips(self, op: str, args: Mapping[str, Any]) -> bool:
        """Whether the command speaks of one that was refused."""
        commands = self._commands(op, args)
        return commands is not None and commands.skips(_undoes(op))

    def skip(self, op: str, args: Mapping[str, Any], turned: str) -> None:
        """A command was left out, since it speaks of one that was refused; `turned`: of the screen's history too."""
        self._turn(op, args)
        if op in SCHEDULE:
            self._turned(turned, _Is.REFUSED)

    def note(self, op: str, args: Mapping[str, Any], done: bool, turned: str, missing: bool = False) -> None:
        """A command was done or refused, perhaps since its branch is missing."""
        self._turn(op, args)
        if op not in ("pipeline.undo", "pipeline.redo"):
            became = (_Is.REFUSED, _Is.DONE) if op != "branch" else (_Is.LOST if missing else _Is.STAYED, _Is.WENT)
            self._turned(turned if done else "", became[done])
        if op in SCHEDULE and op not in ("schedule.undo", "schedule.redo"):
            self._of(args).push(_Is.DONE if done else _Is.REFUSED)

    def _commands(self, op: str, args: Mapping[str, Any]) -> _Commands | None:
        """What an undo or redo takes its command from; None for other commands."""
        if op in ("pipeline.undo", "pipeline.redo"):
            return self.session
        return self._of(args) if op in ("schedule.undo", "schedule.redo") else None

    def _turn(self, op: str, args: Mapping[str, Any]) -> None:
        commands = self._commands(op, args)
        if commands is not None:
            commands.turn(_undoes(op))

    def _turned(self, turned: str, became: _Is) -> None:
        if turned:
            self.session.turn(turned == "undo")
        else:
            self.session.push(became)

    def _of(self, args: Mapping[str, Any]) -> _Commands:
        return self.schedules.setdefault(str(args.get("kernel")), _Commands())


def _undoes(op: str) -> bool:
    return op.endswith(".undo")


def still_to_come(entries: Sequence[Mapping[str, Any]], at: int) -> int:
    """How many of the changes that are in force after all the commands are made by those from `at` on."""
    done, undone = list[int](), list[int]()
    for number, entry in enumerate(entries):
        turned = entry.get("turned")
        if turned == "undo":
            undone.extend([done.pop()] if done else [])
        elif turned == "redo":
            done.extend([number] if undone else [])
            del undone[-1:]
        else:
            done.append(number)
            undone.clear()
    return sum(number >= at for number in done)
