"""The changes made on one screen: saved at each step, offered after the kernel was restarted, replayed on demand.

What is saved are the commands that moved the screen, not what they made: replaying goes through the same commands, so
that the Python, the undo history and the branches come back, and a refusal is the one that a person would get.

    changes = Changes(subject, ChangesStore.of_user())
    changes.recording("pipeline.without", command)      # the command, which now leaves a trace
    changes.facts()                                     # what the page needs: the offer, how many are kept
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import uuid4

from workbench.core.errors import WorkbenchError
from workbench.core.host import is_alive, this_process
from workbench.core.interrupts import hold_interrupts
from workbench.ui.changes_offers import answers, given_up, notebook, of_another_notebook, taken
from workbench.ui.changes_replay import OF_A_KERNEL, MissingBranch, Replay, still_to_come
from workbench.ui.changes_store import ChangesStore, Saved, file_key
from workbench.ui.pipeline_edits import Call
from workbench.ui.protocol import Answer
from workbench.views.strings.tables import say

Command = Callable[[dict[str, Any]], Answer]
PIPELINE: Final = ("pipeline.edit", "pipeline.without", "pipeline.switch_on", "pipeline.rebase", "pipeline.insert",
                   "pipeline.options", "pipeline.undo", "pipeline.redo")  # fmt: skip
RECORDED: Final = frozenset({*PIPELINE, *OF_A_KERNEL, "branch", "set_attribute", "target.set"})
_MOST: Final = 1_000
"""Commands of one screen that are kept."""
_SHOWN: Final = 12
"""Lines and refusals that are sent to a page."""


class Subject(Protocol):
    """What a screen tells of itself."""

    def place(self) -> dict[str, str]:
        """What is worked on: `source` (a name), `digest` (by content), `start` (a plan by content), `kernel`."""
        ...

    def state(self) -> str:
        """The state shown, by content."""
        ...

    def is_in(self, state: str) -> bool:
        """Whether the state shown is that one, which may be another process's."""
        ...

    def mark(self) -> object:
        """Another object, whenever a command has moved the screen."""
        ...

    def record(self) -> Record:
        """What is kept of what is done on the thing shown; undo may lead back to another one's."""
        ...

    def calls(self) -> Sequence[Call]:
        """What was done on the thing shown, oldest first, without what was taken back."""
        ...

    def standing(self) -> object:
        """The state shown, with what undo and redo lead to."""
        ...

    def back_to(self, standing: object) -> None:
        """Show that again, whatever was done since."""
        ...

    def turned(self) -> str:
        """Whether the last change was an "undo" of one, or a "redo"; else empty."""
        ...

    def lasting(self, op: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments in words that hold in another process; before the command is done."""
        ...

    def here(self) -> str:
        """The branch shown, by content."""
        ...

    def current(self, op: str, args: Mapping[str, Any], became: Mapping[str, str]) -> dict[str, Any]:
        """Lasting arguments as the command takes them now; `became`: ids of branches then, with those they have now.

        Raises `MissingBranch` where the branch meant is not there.
        """
        ...


@dataclass
class Record:
    """What was done on one thing that the screen was given, and what was offered for it."""

    place: dict[str, str] | None = None
    token: str = field(default_factory=lambda: uuid4().hex)
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    by_cells: list[Call] = field(default_factory=list[Call])
    """What cells alone come to: they do it again by themselves."""
    back: list[Call] = field(default_factory=list[Call])
    """What cells took back of that, the next one that they would do again last."""
    found: list[Saved] = field(default_factory=list[Saved])
    """What there is to be offered, newest first, one at a time."""
    offer: Saved | None = None
    halted: Replay | None = None
    """The replay of the offer, where something is left: it waits for a branch, was interrupted, or was refused some."""
    spare: Mapping[str, Any] | None = None
    """What the screen would save, where that is the beginning of what it is offered, which is on disk."""
    looked: bool = False
    """Whether it is known by now what there is to be offered."""
    withdrawn: Callable[[], None] = lambda: None
    """Called when it is offered no longer."""

    def withdraw(self) -> None:
        """Another screen is offered the changes now."""
        self.offer = self.halted = None
        self.withdrawn()

    def moved_by_cell(self, turned: str, call: Call | None) -> None:
        """A cell has made the last call (undone: None), or taken one back, perhaps a person's, or done it again."""
        source, sink = (self.by_cells, self.back) if turned == "undo" else (self.back, self.by_cells)
        if turned:
            sink.extend([source.pop()] if source else [])
        elif call is not None:
            self.by_cells.append(call)
            self.back.clear()


class Changes:
    """See the module's header."""

    def __init__(self, subject: Subject, store: ChangesStore, tell: Callable[[], None] = lambda: None) -> None:
        """`tell` is called when the page has to be drawn anew, since something is offered no longer."""
        self._subject, self._store, self._tell = subject, store, tell
        self._commands: dict[str, Command] = {}
        self._replaying = False
        self._trouble = ""
        self._told: dict[str, Any] = {}
        """What the last replay came to, until it was read or something else is changed."""

    def table(self) -> dict[str, Command]:
        """The commands by name."""
        return {
            "changes.restore": self._restore, "changes.discard": self._discard, "changes.another": self._another,
            "changes.read": self._read,
        }  # fmt: skip

    @property
    def _record(self) -> Record:
        return self._subject.record()

    @property
    def _place(self) -> dict[str, str]:
        """What is worked on, as it was before the first change."""
        if self._record.place is None:
            self._record.place = self._subject.place()
        return self._record.place

    def start(self) -> None:
        """Know where the screen began: before the first change."""
        assert self._place

    def recording(self, op: str, command: Command) -> Command:
        """The command, kept where it moves the screen."""
        if op not in RECORDED:
            return command
        self._commands[op] = command

        def run(args: dict[str, Any]) -> Answer:
            return self._run(op, args)[0]

        return run

    def moved_by_cell(self, kernel: str, code: str) -> None:
        """A cell has moved a schedule, which the screen follows: kept as the Python that leads to where it is.

        What a person does after it builds on it; until then there is nothing that the cell would not do again.
        """
        args = self._subject.lasting("schedule.replay", {"kernel": kernel, "code": code})
        self._add(self._record, "schedule.replay", args)
        self._record.moved_by_cell(self._subject.turned(), next(reversed(self._subject.calls()), None))
        if not self._replaying:
            self._save()

    def _run(self, op: str, args: dict[str, Any]) -> tuple[Answer, bool]:
        """The command's answer, and whether it moved the screen."""
        self.start()
        record, lasting, mark = self._record, self._subject.lasting(op, args), self._subject.mark()
        answer = self._commands[op](args)
        moved = self._subject.mark() is not mark
        if moved:
            self._add(record, op, lasting)
            if not self._replaying:
                self._save()
        return answer, moved

    def _add(self, record: Record, op: str, args: Mapping[str, Any]) -> None:
        """A command has moved the screen: within its record, or to another one's thing, which has all it needs."""
        if self._record is record:
            turned, here = self._subject.turned(), self._subject.here()
            record.entries.append({"op": op, "args": args, "turned": turned, "at": here})

    @property
    def _kept(self) -> list[str]:
        """The changes in force, those of cells among them; none where cells alone come to the same.

        Where nothing is in force because what cells did was taken back, that.
        """
        made, by_cells = list(self._subject.calls()), self._record.by_cells
        if made == by_cells:
            return []
        return [call.code for call in made] or [say.changes.taken_back(call.code) for call in by_cells]

    @property
    def count(self) -> int:
        """How many changes are kept."""
        return len(self._kept)

    def facts(self) -> dict[str, Any]:
        """What the page needs: what is offered, how many changes are kept, what is wrong, what a replay came to."""
        return {"changes": {
            "offer": self._offered(), "count": 0 if self._trouble or self._store.path is None else self.count,
            "trouble": self._trouble, "told": self._told, "key": self._key_of_drafts(),
        }}  # fmt: skip

    def _key_of_drafts(self) -> str:
        """What a browser keeps drafts by, which are of this notebook and this program; empty where nothing is kept."""
        if self._store.path is None:
            return ""
        place = self._place
        return file_key(json.dumps([notebook(), place["source"], place["digest"], place["kernel"]]))

    # --- saving ---

    def _save(self) -> None:
        self._told = {}  # something was changed since: what a replay before came to is no news any more
        kept, key, calls = self._record, _key(self._place), self._kept
        kept.spare, self._trouble = None, ""
        if not calls:
            self._store.forget(key, kept.token)
            return
        document = {
            **self._place, "process": this_process(), "notebook": notebook(), "entries": kept.entries, "calls": calls,
            "state": self._subject.state(),
        }  # fmt: skip
        if self._covered(kept):
            kept.spare = document
            self._store.forget(key, kept.token)
            return
        wrong = say.changes.too_many(_MOST) if len(kept.entries) > _MOST else ""
        self._trouble = wrong or self._store.save(key, kept.token, document)

    def _covered(self, kept: Record) -> bool:
        """Whether all that was done is what a halted replay did: it is the beginning of what is offered, on disk."""
        offer, halted = kept.offer, kept.halted
        alone = halted is not None and halted.begun == 0 and halted.entries == len(kept.entries)
        return alone and offer is not None and self._store.renew(offer.path)

    def _withdrawn(self, kept: Record) -> None:
        """Another screen answers for what was offered: what was done of it already is to be kept by itself."""
        if kept.spare is not None:
            self._trouble = self._store.save(_key(kept.spare), kept.token, kept.spare)
            kept.spare = None
        self._tell()

    # --- the offer ---

    def _offered(self) -> dict[str, Any] | None:
        self.start()
        record = self._record
        if not record.looked:
            record.looked, record.withdrawn, record.found = True, lambda: self._withdrawn(record), self._find()
            nearest = [one for one in record.found if self._apart(one) == self._apart(record.found[0])]
            record.offer = taken(self._store, nearest, record)
        if record.offer is None:
            return None
        document = record.offer.document
        calls = [str(call).encode(errors="replace").decode() for call in document["calls"]]
        halted = _how_far(record)
        if record.halted is not None and halted == "refused":
            calls = record.halted.refused
        elif record.halted is not None:  # the first are done
            calls = calls[-max(1, still_to_come(document["entries"], record.halted.at)) :]
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.offer.at))
        return {
            "count": len(calls), "calls": [call[:200] for call in calls[-_SHOWN:]], "when": when, "halted": halted,
            "note": self._note(record.offer), "number": 1 + _place_of(record, record.offer), "of": len(record.found),
        }  # fmt: skip

    def _apart(self, saved: Saved) -> int:
        """How far changes are from this plan: 0 of this very one, 1 of the program, 2 of another version of it."""
        document, place = saved.document, self._place
        return 2 if document["digest"] != place["digest"] else int(document["start"] != place["start"])

    def _note(self, saved: Saved) -> str:
        return ("", say.changes.other_passes, say.changes.other_version(self._place["source"]))[self._apart(saved)]

    def _find(self) -> list[Saved]:
        """The changes of ended processes, of this very plan, of the program, of the file's name; of each newest first.
        """
        place = self._place
        fit = [one for one in self._store.found(_key(place)) if _whole(one.document, place)]
        fit = [one for one in fit if not is_alive(one.document.get("process"))]  # else its screen has them still
        fit = [one for one in fit if not of_another_notebook(one.document.get("notebook"))]
        return sorted((one for one in fit if place["file"] or self._apart(one) < 2), key=self._apart)

    def _another(self, args: dict[str, Any]) -> Answer:
        """Offer the next older changes instead; after the oldest the newest."""
        record = self._record
        if record.halted is not None:
            raise WorkbenchError("E-UI-CHANGES", say.changes.in_part, fix=say.changes.rest, kept="the program as it is")
        if record.offer is None:
            raise WorkbenchError("E-UI-CHANGES", "there are no other changes to restore", kept="the program as it is")
        place = _place_of(record, record.offer)
        given_up(record.offer, record)
        others = [*record.found[place + 1 :], *record.found[: place + 1]]
        record.offer, self._told = taken(self._store, self._mine(others), record), {}
        return Answer("")

    def _mine(self, found: Sequence[Saved]) -> list[Saved]:
        """Those that this screen may answer for, as they are on disk now: another process may be offered one by now."""
        now = {one.path: one for one in self._store.found(_key(self._place))}
        return [now[one.path] for one in found if one.path in now and answers(now[one.path], self._record)]

    def _discard(self, args: dict[str, Any]) -> Answer:
        """Throw away what is offered, and what processes before that one left of its plan; other screens' stays.

        Restored in part, the rest of it alone: what was done is kept by itself before.  Raises `WorkbenchError` where
        that fails.
        """
        record = self._record
        offer, halted = record.offer, record.halted
        record.offer, record.halted, self._told = None, None, {}
        if halted is not None:
            self._save()
            if self._trouble:
                wrong, record.offer, record.halted = self._trouble, offer, halted
                self._save()  # it is covered again
                raise WorkbenchError(
                    "E-UI-CHANGES", say.changes.not_kept, found=wrong, fix=say.changes.make_room,
                    kept=say.changes.still_offered,
                )  # fmt: skip
        if offer is not None:
            self._store.drop(offer.path)
            left_by = offer.document.get("process")
            for one in self._mine(record.found[_place_of(record, offer) + 1 :]) if halted is None else ():
                if one.document.get("process") != left_by and one.document["start"] == offer.document["start"]:
                    self._store.drop(one.path)
            given_up(offer, record)
        return Answer("")

    def _read(self, args: dict[str, Any]) -> Answer:
        """The page has shown what the replay came to."""
        self._told = {}
        return Answer("")

    def _restore(self, args: dict[str, Any]) -> Answer:
        """Do the offered changes again; what is refused is named and stays offered, the rest is done."""
        record, offer = self._record, self._record.offer
        if offer is None:
            raise WorkbenchError("E-UI-CHANGES", "there are no changes to restore", kept="the program is unchanged")
        exact, self._replaying = False, True
        try:
            replay = record.halted = self._taken_up(record, offer)
            try:
                self._go_on(replay, offer.document["entries"])
                exact = self._subject.is_in(offer.document["state"])
                whole = not replay.refused or (exact and self.count >= len(offer.document["calls"]))
                if whole and _how_far(record) != "begun":
                    record.offer = record.halted = None
            finally:  # interrupted too: what was done stays, and the rest can be asked for again
                replay.entries, replay.calls = len(record.entries), tuple(self._subject.calls())
                record.halted = record.halted if replay.at else None  # nothing was done
        finally:
            self._replaying = False
            self._save()
        if record.offer is None:
            given_up(offer, record)
            if not self._trouble and len(record.entries) > replay.begun:
                self._store.drop(offer.path)  # it is this screen's now
        self._told = {
            "restored": max(0, self.count - replay.kept), "refused": replay.refused[:_SHOWN],
            "left": len(replay.refused), "exact": exact, **({"waits": replay.waits} if replay.waits else {}),
        }  # fmt: skip
        return Answer("", self._told)

    def _taken_up(self, record: Record, offer: Saved) -> Replay:
        """The replay of the offer: begun, gone on with, or begun anew where all was tried and some refused.

        Anew, so that each is done where it was: what was done before is taken back first.
        """
        halted = record.halted
        became = {offer.document["start"]: self._place["start"]}
        if halted is None:
            return Replay(became, begun=len(record.entries), kept=self.count, before=self._subject.standing())
        if halted.at < len(offer.document["entries"]):
            return halted
        if tuple(self._subject.calls()) != halted.calls:
            raise WorkbenchError("E-UI-CHANGES", say.changes.changed_since, fix=say.changes.go_back)
        self._subject.back_to(halted.before)
        del record.entries[halted.begun :]  # they come to nothing
        return Replay(became, begun=halted.begun, kept=halted.kept, before=halted.before)

    def _go_on(self, replay: Replay, entries: Sequence[Mapping[str, Any]]) -> None:
        """Do the commands again that were not looked at, up to one whose branch only a cell can make."""
        made = {entry.get("at") for entry in entries if entry["op"] != "branch" and not entry.get("turned")}
        replay.waits = ""
        try:
            for entry in entries[replay.at :]:
                self._again(entry, replay, made)
        except MissingBranch as error:
            replay.waits = error.title

    def _again(self, entry: Mapping[str, Any], replay: Replay, made: Collection[Any]) -> None:
        """Do a command again.  Raises `MissingBranch` for a branch that none of the commands has `made`.

        Interrupted, it was not done and is not noted; once it was, interrupts wait.
        """
        op, args = entry["op"], entry["args"]
        if replay.skips(op, args):
            hold_interrupts()
            replay.skip(op, args, str(entry.get("turned", "")))
            replay.at += 1
            return
        moved = missing = False
        try:
            if replay.lost and op not in ("branch", "pipeline.undo", "pipeline.redo"):
                raise WorkbenchError("E-UI-CHANGES", say.changes.branch_is_missing)
            answer, moved = self._run(op, self._subject.current(op, args, replay.became))
            view = answer.view if isinstance(answer.view, Mapping) else {}
            done = moved or (op == "schedule.replay" and "refused" not in view)  # the cell has run again before this
            wrong = "" if done else str(view.get("refused", {}).get("message", say.changes.no_change))
            if done and entry.get("at"):
                replay.became[str(entry["at"])] = self._subject.here()
        except MissingBranch as error:
            if error.branch not in made:
                raise
            missing, wrong = True, say.changes.branch_was_refused(error.title)
        except WorkbenchError as error:
            wrong = error.message
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"[:200]
        hold_interrupts()
        replay.note(op, args, not wrong, self._subject.turned() if moved else "", missing)
        replay.refused.extend([say.changes.refused(_said(op, args), wrong)] if wrong else [])
        replay.at += 1


def _key(place: Mapping[str, str]) -> str:
    return json.dumps([place["source"], place["kernel"]])


def _place_of(record: Record, offer: Saved) -> int:
    """Which of what there is to be offered is."""
    return [one.path for one in record.found].index(offer.path)


def _how_far(record: Record) -> str:
    """How far a restore of what is offered has come: "" (not begun), "begun", or "refused" (all but what was)."""
    if record.offer is None or record.halted is None:
        return ""
    return "begun" if record.halted.at < len(record.offer.document["entries"]) else "refused"


def _whole(document: Mapping[str, Any], place: Mapping[str, str]) -> bool:
    """Whether a file holds changes of this place, whatever else stands in it."""
    entries, calls = document.get("entries"), document.get("calls")
    return (
        all(isinstance(document.get(name), str) for name in (*place, "state"))
        and document["source"] == place["source"] and document["kernel"] == place["kernel"]
        and isinstance(calls, list) and bool(calls)
        and isinstance(entries, list) and 0 < len(entries) <= _MOST
        and all(map(_entry, entries))
    )  # fmt: skip


def _entry(one: Any) -> bool:
    """Whether something is a command and its arguments."""
    if not isinstance(one, dict) or not isinstance(one.get("args"), dict):
        return False
    return isinstance(one.get("op"), str) and one["op"] in RECORDED


def _said(op: str, args: Mapping[str, Any]) -> str:
    """A command for a person: "split of l:C:2 in main"."""
    what = str(args.get("primitive") or op.rpartition(".")[2].replace("_", " "))
    names = args.get("lasting")
    label = names.get("label") if isinstance(names, Mapping) else ""
    at = args.get("selection") or label or args.get("number")
    kernel = args.get("kernel") or args.get("function")
    return say.changes.command(what, at, kernel)[:120]
