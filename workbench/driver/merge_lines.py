"""Three versions of a text, merged by lines: a person's changes of `before`, made on `now`.

A change is of a line's words, or of what encloses it.  Lines are compared without their indentation: a loop put around
lines does not stand against a change within them.  A line that is moved into or out of a statement without that is a
change like any other, and conflicts like one.  (Khanna, Kunal, Pierce, "A formal investigation of diff3", 2007.)

Lines that read alike are not the same line for that: where a line at a change could be another one in the version
that did not change it (`line_identity`), the change is a conflict, never a guess.

>>> merge_lines("a\\nb\\nc", "a\\nB\\nc", "x\\na\\nb\\nc").text
'x\\na\\nB\\nc\\n'
>>> merge_lines("for:\\n    a\\n    b", "for:\\n    a\\nb", "for:\\n    A\\n    b").applied
('b out of for:',)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final

from .line_identity import Identity
from .line_nesting import Fault, Line, Nesting, Version, moved

_UNSURE: Final = "which of several like lines it is about cannot be told any more"


@dataclass(frozen=True)
class MergedLines:
    """The outcome: the text with all changes that apply."""

    text: str
    applied: tuple[str, ...]
    """The changes as text."""
    dropped: tuple[tuple[str, str], ...]
    """(the change, why it does not apply)"""
    made: int
    """How many changes there are; each is applied or dropped."""


@dataclass(frozen=True)
class _Change:
    """Lines `low` to `high` of the base become `lines`."""

    low: int
    high: int
    lines: tuple[str, ...]
    begin: int
    """Where these stand in the other version."""

    def meets(self, other: _Change | _Move) -> bool:
        """Whether two changes are about the same lines; two insertions at one place are."""
        if isinstance(other, _Move):
            return other.meets(self)
        return _meet(self.low, self.high, other.low, other.high)

    @property
    def near(self) -> range:
        """The lines that it replaces; for an insertion the lines before and behind it."""
        return range(self.low, self.high) if self.high > self.low else range(self.low - 1, self.low + 1)

    def shown(self, base: Sequence[str]) -> str:
        old, new = _text(base[self.low : self.high]), _text(self.lines)
        return f"{old} -> {new}" if old and new else f"+ {new}" if new else f"- {old}"

    def found(self, _base: Sequence[str]) -> str:
        return f"what comes before has {_text(self.lines) or 'no such lines'} there"


@dataclass(frozen=True)
class _Move:
    """Lines `low` to `high` of the base stand in other statements of the base than they did."""

    low: int
    high: int
    headers: frozenset[tuple[int, bool]]
    """The headers of these statements, and whether the lines stand in them now."""

    def meets(self, other: _Change | _Move) -> bool:
        """Whether another change is about the same lines, or makes other lines of the headers."""
        if _meet(self.low, self.high, other.low, other.high):
            return True
        return isinstance(other, _Change) and any(other.low <= header < other.high for header, _ in self.headers)

    @property
    def near(self) -> tuple[int, ...]:
        return (*range(self.low, self.high), *(header for header, _ in self.headers))

    def shown(self, base: Sequence[str]) -> str:
        places = (f"{'into' if inside else 'out of'} {base[header].strip()}" for header, inside in sorted(self.headers))
        return f"{_text(base[self.low : self.high])} {' and '.join(places)}"

    def found(self, base: Sequence[str]) -> str:
        return f"what comes before has moved {self.shown(base)}"


def merge_lines(before: str, after: str, now: str) -> MergedLines:
    """See the module's header."""
    return _Merge(*(text.rstrip("\n").split("\n") for text in (before, after, now))).merged()


class _Merge:
    """The three versions with the changes of both sides."""

    def __init__(self, base: list[str], wanted: list[str], found: list[str]) -> None:
        self._base, self._wanted, self._found = base, wanted, found
        self._mine, self._theirs = _changes(base, wanted), _changes(base, found)
        self._before = Version(base, [("base", index) for index in range(len(base))])
        self._now = Version(found, _names(base, found, self._theirs, "theirs"))
        moved_here = moved(self._before, Version(wanted, _names(base, wanted, self._mine, "mine")))
        self._moved_there = moved(self._before, self._now)
        self._moves = _moves(moved_here)
        self._all_theirs = (*self._theirs, *_moves(self._moved_there))
        self.dropped: list[tuple[str, str]] = []

    def merged(self) -> MergedLines:
        made = (*self._mine, *self._moves)
        kept = self._without_conflicts(made)
        lines, fault = self._made(kept)
        while fault is not None:
            blamed = [change for change in kept if self._concerns(change, fault)] or kept
            assert blamed, "the text without a change is the text as it was"
            self._drop(blamed, "how deep it stands cannot be told any more")
            kept = [change for change in kept if change not in blamed]
            lines, fault = self._made(kept)
        applied = tuple(change.shown(self._base) for change in kept)
        return MergedLines("\n".join(lines) + "\n", applied, tuple(self.dropped), len(made))

    def _drop(self, changes: Sequence[_Change | _Move], why: str) -> None:
        self.dropped += [(change.shown(self._base), why) for change in changes]

    def _without_conflicts(self, made: Sequence[_Change | _Move]) -> list[_Change | _Move]:
        """The changes that no other change stands against; the others are dropped."""
        same_found, same_wanted = Identity(self._base, self._found), Identity(self._base, self._wanted)
        in_found, in_wanted = (_aligned(len(self._base), changes) for changes in (self._theirs, self._mine))
        unsure = any(_unsure(change, in_wanted, same_wanted) for change in self._all_theirs)
        kept: list[_Change | _Move] = []
        for change in made:
            against = next((other for other in self._all_theirs if change.meets(other)), None)
            if against is None and (unsure or _unsure(change, in_found, same_found)):
                self._drop([change], _UNSURE)
            elif against is None or self._is_theirs(change):
                kept.append(change)
            else:
                self._drop([change], against.found(self._base))
        return kept

    def _is_theirs(self, change: _Change | _Move) -> bool:
        """Whether the other side makes the same change, and no other of the same lines."""
        met = [other for other in self._all_theirs if change.meets(other)]
        if isinstance(change, _Move):
            moves = (self._moved_there.get(index) for index in range(change.low, change.high))
            return all(headers == change.headers for headers in moves) and all(isinstance(at, _Move) for at in met)
        return bool(met) and all(isinstance(other, _Change) and _same(other, change) for other in met)

    def _made(self, kept: Sequence[_Change | _Move]) -> tuple[list[str], Fault | None]:
        """The text with these changes and the other side's."""
        changes = [change for change in kept if isinstance(change, _Change)]
        shared = {change.begin: other.begin for change in changes for other in self._theirs if _same(change, other)}
        mine = Version(self._wanted, _names(self._base, self._wanted, self._mine, "mine", shared))
        unmoved = frozenset(at for move in self._moves if move not in kept for at in range(move.low, move.high))
        chosen = [("theirs", change) for change in self._theirs]
        chosen += [("mine", change) for change in changes if change.begin not in shared or not change.lines]
        changed: dict[Line, tuple[int, int]] = {}
        order: list[Line] = []
        place = 0
        for side, change in sorted(chosen, key=lambda item: (item[1].low, item[1].high)):
            order += [("base", index) for index in range(place, change.low)]
            added: list[Line] = [(side, change.begin + index) for index in range(len(change.lines))]
            changed |= dict.fromkeys(added, (change.low, change.high))
            order += added
            place = max(place, change.high)
        order += [("base", index) for index in range(place, len(self._base))]
        return Nesting(self._before, mine, self._now, unmoved, changed).text(order)

    def _concerns(self, change: _Change | _Move, fault: Fault) -> bool:
        """Whether a change is of a line of the fault."""
        if isinstance(change, _Move):
            return any(side == "base" and change.low <= at < change.high for side, at in fault)
        shared = [other.begin for other in self._theirs if _same(change, other)]
        made = {("mine", change.begin + index) for index in range(len(change.lines))}
        made |= {("theirs", begin + index) for begin in shared for index in range(len(change.lines))}
        return not made.isdisjoint(fault)


def _changes(base: Sequence[str], other: Sequence[str]) -> list[_Change]:
    keys = [[line.strip() for line in lines] for lines in (base, other)]
    matcher = SequenceMatcher(None, *keys, autojunk=False)
    return [
        _Change(low, high, tuple(other[begin:end]), begin)
        for tag, low, high, begin, end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _moves(moved_lines: dict[int, frozenset[tuple[int, bool]]]) -> list[_Move]:
    """Neighbours that are moved in the same way are one change."""
    runs = groupby(enumerate(sorted(moved_lines)), key=lambda item: (item[1] - item[0], moved_lines[item[1]]))
    found: list[_Move] = []
    for (_, headers), run in runs:
        lines = [line for _, line in run]
        found.append(_Move(lines[0], lines[-1] + 1, headers))
    return found


def _names(
    base: Sequence[str],
    other: Sequence[str],
    changes: Sequence[_Change],
    side: str,
    shared: dict[int, int] | None = None,
) -> list[Line]:
    """Which line each line of a version is; `shared`: changes that the other side makes too, by where they begin."""
    names: list[Line] = [(side, number) for number in range(len(other))]
    for index, number in enumerate(_aligned(len(base), changes)):
        if number is not None:
            names[number] = ("base", index)
    for change in changes:
        if shared and change.begin in shared:
            for offset in range(len(change.lines)):
                names[change.begin + offset] = ("theirs", shared[change.begin] + offset)
    return names


def _aligned(count: int, changes: Sequence[_Change]) -> list[int | None]:
    """For each line of the base its number in the version that these changes make; None for those that they replace."""
    numbers: list[int | None] = []
    shift = 0
    for change in changes:
        numbers += [index + shift for index in range(len(numbers), change.low)]
        numbers += [None] * (change.high - change.low)
        shift += len(change.lines) - (change.high - change.low)
    return numbers + [index + shift for index in range(len(numbers), count)]


def _unsure(change: _Change | _Move, numbers: Sequence[int | None], same: Identity) -> bool:
    """Whether a line at a change may be another one in the other version than the one with which it is aligned."""
    return any(
        numbers[index] is not None and not same.sure(index, numbers[index])
        for index in change.near
        if 0 <= index < len(numbers)
    )


def _meet(low: int, high: int, other_low: int, other_high: int) -> bool:
    if low == high or other_low == other_high:
        return low <= other_high and other_low <= high
    return low < other_high and other_low < high


def _same(one: _Change, other: _Change) -> bool:
    words = [[line.strip() for line in change.lines] for change in (one, other)]
    return words[0] == words[1] and (one.low, one.high) == (other.low, other.high)


def _text(lines: Sequence[str]) -> str:
    shown = " / ".join(line.strip() for line in lines[:3])
    return shown + (" / ..." if len(lines) > 3 else "")
