"""Line differences: which lines of one text became which lines of another.

Invariant: hunks are in order, apart, and minimal at their edges; replacing each hunk's lines turns `before`
into `after`.  Lines that occur once in both texts are anchors (patience difference, B. Cohen); what lies
between two anchors goes to `difflib`, so that a text of 100,000 lines takes well under a second.

    >>> line_hunks(["a", "b"], ["a", "c", "b"])
    (Hunk(before_start=1, before_count=0, after_start=1, after_count=1),)
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

# Above this many pairs of lines between two anchors, the whole stretch counts as replaced.
_PAIR_LIMIT: Final = 1_000_000

_Region = tuple[int, int, int, int]


class Hunk(NamedTuple):
    """Lines of one text that stand for lines of another; counts may be 0, lines are counted from 0."""

    before_start: int
    before_count: int
    after_start: int
    after_count: int


def line_hunks(before: Sequence[str], after: Sequence[str]) -> tuple[Hunk, ...]:
    """The changed stretches between two lists of lines."""
    hunks: list[Hunk] = []
    for before_start, before_stop, after_start, after_stop in _changed(before, after):
        last = hunks[-1] if hunks else None
        if last is not None and last.before_start + last.before_count == before_start:
            before_start, after_start = last.before_start, last.after_start
            hunks.pop()
        hunks.append(Hunk(before_start, before_stop - before_start, after_start, after_stop - after_start))
    return tuple(hunks)


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[_Region]:
    stack: list[_Region] = [(0, len(before), 0, len(after))]
    while stack:
        low, high, other_low, other_high = _trim(before, after, stack.pop())
        if low == high or other_low == other_high:
            if low != high or other_low != other_high:
                yield low, high, other_low, other_high
            continue
        anchors = _anchors(before, after, (low, high, other_low, other_high))
        if not anchors:
            yield from _small(before, after, (low, high, other_low, other_high))
            continue
        regions: list[_Region] = []
        for index, other_index in anchors:
            regions.append((low, index, other_low, other_index))
            low, other_low = index + 1, other_index + 1
        regions.append((low, high, other_low, other_high))
        stack.extend(reversed(regions))


def _trim(before: Sequence[str], after: Sequence[str], region: _Region) -> _Region:
    low, high, other_low, other_high = region
    while low < high and other_low < other_high and before[low] == after[other_low]:
        low, other_low = low + 1, other_low + 1
    while low < high and other_low < other_high and before[high - 1] == after[other_high - 1]:
        high, other_high = high - 1, other_high - 1
    return low, high, other_low, other_high


def _anchors(before: Sequence[str], after: Sequence[str], region: _Region) -> list[tuple[int, int]]:
    """The longest common subsequence of the lines that occur once on either side."""
    low, high, other_low, other_high = region
    counts = Counter(before[low:high])
    other_counts = Counter(after[other_low:other_high])
    place = {after[j]: j for j in range(other_low, other_high) if other_counts[after[j]] == 1}
    pairs = [(i, place[before[i]]) for i in range(low, high) if counts[before[i]] == 1 and before[i] in place]
    return longest_rising(pairs)


def longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest row of the pairs whose second numbers rise; the first ones rise in `pairs` (patience sorting)."""
    tails: list[int] = []
    tail_pairs: list[int] = []
    previous: list[int] = []
    for number, (_, j) in enumerate(pairs):
        rank = bisect_left(tails, j)
        previous.append(tail_pairs[rank - 1] if rank else -1)
        tails[rank : rank + 1] = [j]
        tail_pairs[rank : rank + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = tail_pairs[-1] if tail_pairs else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _small(before: Sequence[str], after: Sequence[str], region: _Region) -> Iterator[_Region]:
    low, high, other_low, other_high = region
    if (high - low) * (other_high - other_low) > _PAIR_LIMIT:
        yield region
        return
    matcher = difflib.SequenceMatcher(None, before[low:high], after[other_low:other_high], autojunk=False)
    for tag, i, k, j, m in matcher.get_opcodes():
        if tag != "equal":
            yield low + i, low + k, other_low + j, other_low + m
