"""What a replay of saved changes has done so far: an undo or a redo of what was refused here is left out too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SCHEDULE: Final = ("schedule.apply", "schedule.accept", "schedule.force", "schedule.undo", "schedule.redo",
                   "schedule.switch", "schedule.drop", "schedule.go", "schedule.replay", "lens.release",
                   "take_back")  # fmt: skip
"""Commands that move the schedule of a kernel."""


@dataclass
class _Commands:
    """Commands that undo would take back and redo would do again: whether each was done here, or refused."""

    done: list[bool] = field(default_factory=list[bool])
    undone: list[bool] = field(default_factory=list[bool])

    def push(self, done: bool) -> None:
        self.done.append(done)
        self.undone.clear()

    def skips(self, undo: bool) -> bool:
        """Whether an undo or redo speaks of a command that was refused here."""
        source, sink = (self.done, self.undone) if undo else (self.undone, self.done)
        if not source:
            return False
        sink.append(source.pop())
        return not sink[-1]


@dataclass
class Replay:
    """What a replay has done: the screen's own history, those of schedules by kernel, and what was refused."""

    session: _Commands = field(default_factory=_Commands)
    schedules: dict[str, _Commands] = field(default_factory=dict[str, _Commands])
    refused: list[str] = field(default_factory=list[str])

    def skips(self, op: str, args: Mapping[str, Any], turned: str) -> bool:
        """Whether the command speaks of one that was refused; `turned`: of the screen's own history too."""
        if op in ("pipeline.undo", "pipeline.redo"):
            return self.session.skips(op == "pipeline.undo")
        if op not in ("schedule.undo", "schedule.redo"):
            return False
        skipped = self._of(args).skips(op == "schedule.undo")
        if skipped:
            self._turned(turned, False)
        return skipped

    def note(self, op: str, args: Mapping[str, Any], done: bool, turned: str) -> None:
        """A command was done or refused."""
        if op not in ("pipeline.undo", "pipeline.redo"):
            self._turned(turned if done else "", done)
        if op in SCHEDULE and op not in ("schedule.undo", "schedule.redo"):
            self._of(args).push(done)

    def _turned(self, turned: str, done: bool) -> None:
        if turned:
            self.session.skips(turned == "undo")
        else:
            self.session.push(done)

    def _of(self, args: Mapping[str, Any]) -> _Commands:
        return self.schedules.setdefault(str(args.get("kernel")), _Commands())
