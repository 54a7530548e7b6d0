"""Which line of one version of an indented text is which of another, where that is certain.

    same = Identity(before, now)
    same.sure(3, 5)          # line 3 of before is line 5 of now for certain

A line is the same where no other reads like it, or where the statement that it begins is, as a whole, the only one
that reads so.  Within statements that are the same, the parts are compared in order: between parts that are the same,
the only one with its first line on both sides is the same, and a stretch that reads the same on both sides is.

Nothing is certain of a line like which there are more now but for the numbers of names (``vi_1`` for ``vi``): it was
copied, and what is said of it is said of the copies as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Final

from .counterparts import unique_positions

_TOP = -1
_NUMBERS: Final = re.compile(r"(?<=[A-Za-z0-9])(_\d+)+\b")
"""What tells the names of copies apart."""


class _Lines:
    """A version: its lines as a tree of statements, by number."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.keys = [line.strip() for line in lines]
        self.ends = [len(lines)] * len(lines)
        self.parts: dict[int, list[int]] = {_TOP: []}
        depths = [len(line) - len(line.lstrip(" ")) for line in lines]
        around: list[int] = []
        for number, depth in enumerate(depths):
            while around and depths[around[-1]] >= depth:
                self.ends[around.pop()] = number
            self.parts.setdefault(around[-1] if around else _TOP, []).append(number)
            around.append(number)
        self.whole: list[Hashable] = [
            hash(tuple((self.keys[at], depths[at] - depths[number]) for at in range(number, self.ends[number])))
            for number in range(len(lines))
        ]


class Identity:
    """See the module's header."""

    def __init__(self, before: Sequence[str], now: Sequence[str]) -> None:
        self._before, self._now = _Lines(before), _Lines(now)
        self._same: dict[int, int] = {}
        self._taken: set[int] = set()
        renamed, more = _renamed(self._before.keys), _renamed(self._now.keys)
        self._copied = {key for key in self._before.keys if more(key) > renamed(key)}
        self._only(self._before.keys, self._now.keys)
        self._only(self._before.whole, self._now.whole)
        self._compare(_TOP, _TOP)
        for number in range(len(before)):  # what holds a line comes before it
            if number in self._same:
                self._compare(number, self._same[number])

    def sure(self, before: int, now: int | None) -> bool:
        """Whether these are the same line for certain."""
        return self._same.get(before) == now and (now is None or self._before.keys[before] not in self._copied)

    def _only(self, ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> None:
        """Pair what only one on each side has."""
        other = unique_positions(theirs)
        for key, number in unique_positions(ours).items():
            if number >= 0 and other.get(key, -1) >= 0:
                self._pair(number, other[key])

    def _pair(self, before: int, now: int) -> None:
        if before not in self._same and now not in self._taken:
            self._same[before] = now
            self._taken.add(now)

    def _compare(self, before: int, now: int) -> None:
        """Pair the parts of two statements that are the same."""
        ours, theirs = self._before.parts.get(before, []), self._now.parts.get(now, [])
        places = {number: place for place, number in enumerate(theirs)}
        met = [(place, places[self._same[number]]) for place, number in enumerate(ours)
               if self._same.get(number) in places]  # fmt: skip
        if any(one[1] >= other[1] for one, other in pairwise(met)):
            return  # parts changed their order
        for (low, begin), (high, end) in pairwise([(-1, -1), *met, (len(ours), len(theirs))]):
            self._between(ours[low + 1 : high], theirs[begin + 1 : end])

    def _between(self, ours: Sequence[int], theirs: Sequence[int]) -> None:
        if [self._before.whole[number] for number in ours] == [self._now.whole[number] for number in theirs]:
            for number, other in zip(ours, theirs, strict=True):
                self._pair(number, other)
            return
        first = unique_positions([self._now.keys[at] for at in theirs])
        for key, place in unique_positions([self._before.keys[at] for at in ours]).items():
            if place >= 0 and first.get(key, -1) >= 0:
                self._pair(ours[place], theirs[first[key]])


def _renamed(keys: Sequence[str]) -> Callable[[str], int]:
    """How many lines differ from a line by the numbers of names only."""
    plain, own = Counter(_NUMBERS.sub("", key) for key in keys), Counter(keys)
    return lambda key: plain[_NUMBERS.sub("", key)] - own[key]
