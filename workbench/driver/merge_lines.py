"""Three versions of a text, merged by lines: a person's changes of `before`, made on `now`.

Lines are compared without their indentation, which follows whoever changed it, so a loop put around lines does not
stand against a change within them.  (Khanna, Kunal, Pierce, "A formal investigation of diff3", 2007.)

Lines that read alike are not the same line for that: where a line at a change could be another one in the version
that did not change it (`line_identity`), the change is a conflict, never a guess.

>>> merge_lines("a\\nb\\nc", "a\\nB\\nc", "x\\na\\nb\\nc").text
'x\\na\\nB\\nc\\n'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .line_identity import Identity


@dataclass(frozen=True)
class MergedLines:
    """The outcome: the text with all changes that apply."""

    text: str
    applied: tuple[str, ...]
    """The changes as text."""
    dropped: tuple[tuple[str, str], ...]
    """(the change, why it does not apply)"""


@dataclass(frozen=True)
class _Change:
    """Lines `low` to `high` of the base become `lines`."""

    low: int
    high: int
    lines: tuple[str, ...]

    def meets(self, other: _Change) -> bool:
        """Whether two changes are about the same lines; two insertions at one place are."""
        if self.low == self.high or other.low == other.high:
            return self.low <= other.high and other.low <= self.high
        return self.low < other.high and other.low < self.high


def merge_lines(before: str, after: str, now: str) -> MergedLines:
    """See the module's header."""
    base, wanted, found = (_lines(text) for text in (before, after, now))
    keys = [line.strip() for line in base]
    mine, theirs = _changes(keys, wanted), _changes(keys, found)
    same_found, same_wanted = Identity(base, found), Identity(base, wanted)
    in_found, in_wanted = _aligned(keys, theirs), _aligned(keys, mine)
    unsure = any(_unsure(change, in_wanted, same_wanted) for change in theirs)
    applied: list[str] = []
    dropped: list[tuple[str, str]] = []
    chosen = list(theirs)
    for change in mine:
        met = [other for other in theirs if change.meets(other)]
        shown = _shown(keys, change)
        if not met and (unsure or _unsure(change, in_found, same_found)):
            dropped.append((shown, "which of several like lines it is about cannot be told any more"))
        elif all(_same_lines(other, change) and (other.low, other.high) == (change.low, change.high) for other in met):
            applied.append(shown)
            if not met:
                chosen.append(change)
        else:
            dropped.append((shown, f"what comes before has {_text(met[0].lines) or 'no such lines'} there"))
    merged = _merged(base, wanted, found, mine, theirs, chosen)
    return MergedLines("\n".join(merged) + "\n", tuple(applied), tuple(dropped))


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def _changes(base: Sequence[str], other: Sequence[str]) -> list[_Change]:
    matcher = SequenceMatcher(None, base, [line.strip() for line in other], autojunk=False)
    return [
        _Change(low, high, tuple(other[begin:end]))
        for tag, low, high, begin, end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _aligned(base: Sequence[str], changes: Sequence[_Change]) -> list[int | None]:
    """For each line of the base its number in the version that these changes make; None for those that they replace."""
    numbers: list[int | None] = []
    shift = 0
    for change in changes:
        numbers += [index + shift for index in range(len(numbers), change.low)]
        numbers += [None] * (change.high - change.low)
        shift += len(change.lines) - (change.high - change.low)
    return numbers + [index + shift for index in range(len(numbers), len(base))]


def _unsure(change: _Change, numbers: Sequence[int | None], same: Identity) -> bool:
    """Whether a line at a change may be another one in the other version than the one with which it is aligned.

    These are the lines that it replaces; for an insertion the lines before and behind it.
    """
    near = range(change.low, change.high) if change.high > change.low else (change.low - 1, change.low)
    return any(
        numbers[index] is not None and not same.sure(index, numbers[index])
        for index in near
        if 0 <= index < len(numbers)
    )


def _same_lines(one: _Change, other: _Change) -> bool:
    return [line.strip() for line in one.lines] == [line.strip() for line in other.lines]


def _shown(base: Sequence[str], change: _Change) -> str:
    old, new = _text(base[change.low : change.high]), _text(change.lines)
    return f"{old} -> {new}" if old and new else f"+ {new}" if new else f"- {old}"


def _text(lines: Sequence[str]) -> str:
    shown = " / ".join(line.strip() for line in lines[:3])
    return shown + (" / ..." if len(lines) > 3 else "")


def _merged(
    base: list[str],
    wanted: list[str],
    found: list[str],
    mine: list[_Change],
    theirs: list[_Change],
    chosen: list[_Change],
) -> list[str]:
    """The lines with the chosen changes; indentation is the base's plus what either side added around a line."""
    ours, others = _indents(base, wanted, mine), _indents(base, found, theirs)
    merged: list[str] = []
    place = 0
    for change in sorted(chosen, key=lambda item: (item.low, item.high)):
        merged += [_indented(base[index], ours[index] + others[index]) for index in range(place, change.low)]
        around = others if change in mine and change not in theirs else ours
        shift = around[min(change.low, len(base) - 1)] if change.low < len(base) else 0
        merged += [_indented(line, shift) for line in change.lines]
        place = max(place, change.high)
    return merged + [_indented(base[index], ours[index] + others[index]) for index in range(place, len(base))]


def _indents(base: list[str], other: list[str], changes: list[_Change]) -> list[int]:
    """How much deeper each line of the base stands in the other version; for changed lines, as the line before."""
    shifts = [0] * len(base)
    position, place, last = 0, 0, 0
    for change in [*changes, _Change(len(base), len(base), ())]:
        for index in range(place, change.low):
            last = shifts[index] = _depth(other[position]) - _depth(base[index])
            position += 1
        for index in range(change.low, change.high):
            shifts[index] = last
        position += len(change.lines)
        place = change.high
    return shifts


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _indented(line: str, shift: int) -> str:
    return " " * max(0, _depth(line) + shift) + line.lstrip(" ")
