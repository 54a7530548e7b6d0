"""Which call of an entry is which call of the entry as it was: calls are followed by what they compute and read.

    before, now = entry_calls(old_stage), entry_calls(new_stage)
    found = followed(before, now)
    found.same          # {number of a call before: its number now}
    found.replaced      # calls in whose place another kernel is called

A call has no name that outlives a change above it: names of kernels are counters, and two calls share a kernel when
they compute the same.  So the two sequences are aligned (Needleman and Wunsch, 1970): a call of the same operators
stands for itself, the more so where its kernel is the same and where it reads the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..arith.nodes import Call, StringImm
from ..core.node import pre_order
from ..lower.entry import Lowered
from ..tir.nodes import BufferLoad

_ENTRY: Final = "entry calls"
"""Where they stand in a lowered model's memo."""
SHORT: Final = 16
"""Characters of a fingerprint that tell the kernels of one program apart."""
_NUMBER = re.compile(r"(_\d+)+$")
_OTHER, _STEM, _CONTENT, _READS = 1, 4, 4, 3
"""What a pair of calls is worth: with other operators; with the same; where they compute the same; read the same."""


class EntryCall(NamedTuple):
    """One call in an entry, in terms that outlive a renumbering."""

    stem: str
    """Its kernel's name up to its number: the operators."""
    content: str
    """The beginning of its kernel's fingerprint."""
    reads: str
    """The inputs that it reads, and the operators that made what else it reads."""


@dataclass(frozen=True)
class Followed:
    """Where the calls of an entry are now, by number; calls that are gone are in neither."""

    same: Mapping[int, int]
    replaced: Mapping[int, int]


def stem(name: str) -> str:
    """A kernel's name up to its number."""
    return _NUMBER.sub("", name)


def entry_calls(lowered: Lowered) -> tuple[EntryCall, ...]:
    """The calls of the entry in order, those in branches included."""
    if _ENTRY not in lowered.memo:
        lowered.memo[_ENTRY] = _entry_calls(lowered)
    return lowered.memo[_ENTRY]


def _entry_calls(lowered: Lowered) -> tuple[EntryCall, ...]:
    content = {kernel.name: kernel.fingerprint[:SHORT] for kernel in lowered.kernels}
    inputs = {name for name, _ in lowered.inputs}
    constants = {name for name, _ in lowered.constants}
    main = lowered.module["main"]
    made_by = {id(buffer): buffer.name for buffer in main.params if buffer.name in inputs}
    made_by |= {id(buffer): "" for buffer in main.params if buffer.name in constants}
    found: list[EntryCall] = []
    for node in pre_order(main):
        if isinstance(node, Call) and node.op == "call_tir" and isinstance(node.args[0], StringImm):
            name = node.args[0].value
            buffers = list(_buffers(node))
            reads = [made_by[id(buffer)] for buffer in buffers if id(buffer) in made_by]
            for buffer in buffers:
                made_by.setdefault(id(buffer), f"<{stem(name)}>")  # the first call that names it has written it
            found.append(EntryCall(stem(name), content.get(name, ""), ", ".join(filter(None, reads))))
    return tuple(found)


def _buffers(call: Call) -> Iterator[Any]:
    """The buffers whose addresses a call hands over."""
    for argument in call.args[1:]:
        if isinstance(argument, Call) and argument.args and isinstance(argument.args[0], BufferLoad):
            yield argument.args[0].buffer


@lru_cache(maxsize=64)
def followed(before: tuple[EntryCall, ...], now: tuple[EntryCall, ...]) -> Followed:
    """Align two entries; what was moved is paired with the same call elsewhere, or the only one of its operators."""
    first, last = 0, 0
    shorter = min(len(before), len(now))
    while first < shorter and before[first] == now[first]:
        first += 1
    while last < shorter - first and before[-1 - last] == now[-1 - last]:
        last += 1
    pairs = {number: number for number in range(first)}
    pairs |= {len(before) - number: len(now) - number for number in range(1, last + 1)}
    middle = _aligned(before[first : len(before) - last], now[first : len(now) - last])
    pairs |= {one + first: other + first for one, other in middle}
    same = {one: other for one, other in pairs.items() if before[one].stem == now[other].stem}
    _pair_moved(before, now, same)
    taken = set(same.values())
    replaced = {one: other for one, other in pairs.items() if one not in same and other not in taken}
    return Followed(same, replaced)


def _aligned(before: tuple[EntryCall, ...], now: tuple[EntryCall, ...]) -> list[tuple[int, int]]:
    """The pairs of the alignment that is worth most."""
    worth = [[0] * (len(now) + 1)]
    for one in before:
        above, row = worth[-1], [0]
        for number, other in enumerate(now):
            row.append(max(above[number] + _worth(one, other), above[number + 1], row[number]))
        worth.append(row)
    pairs: list[tuple[int, int]] = []
    i, j = len(before), len(now)
    while i and j:
        if worth[i][j] == worth[i - 1][j - 1] + _worth(before[i - 1], now[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif worth[i][j] == worth[i - 1][j]:
            i -= 1
        else:
            j -= 1
    return pairs


def _worth(one: EntryCall, other: EntryCall) -> int:
    if one.stem != other.stem:
        return _OTHER
    return _STEM + _CONTENT * (one.content == other.content) + _READS * (one.reads == other.reads)


def _pair_moved(before: tuple[EntryCall, ...], now: tuple[EntryCall, ...], same: dict[int, int]) -> None:
    """Pair calls that the alignment left: equal ones where as many are left on both sides, then what stands alone."""
    taken = set(same.values())
    ours = [number for number in range(len(before)) if number not in same]
    theirs = [number for number in range(len(now)) if number not in taken]
    left, there = Counter(before[i] for i in ours), Counter(now[j] for j in theirs)
    for call in left:
        if left[call] == there[call]:
            same |= zip((i for i in ours if before[i] == call), (j for j in theirs if now[j] == call), strict=True)
    stems, stems_now = Counter(call.stem for call in before), Counter(call.stem for call in now)
    alone = {now[j].stem: j for j in theirs if stems_now[now[j].stem] == 1}
    for i in ours:
        if i not in same and stems[before[i].stem] == 1 and before[i].stem in alone:
            same[i] = alone[before[i].stem]
