"""One layer of two sessions side by side: what of a kernel's text differs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..core.line_diff import line_hunks
from .layers import LANGUAGES, LayersModel
from .schema import SCHEMA_VERSION, Hunk, TextView, View
from .step_parts import near


@dataclass(frozen=True, slots=True)
class ComparedView(View):
    """A layer in another session and in this one."""

    layer: str
    kernel: str
    beside: str
    """The kernel of the other session that does what this one does, by any name; empty if none does."""
    language: str
    before: TextView
    after: TextView
    hunks: tuple[Hunk, ...]
    removed: int
    """Lines that only the other one has."""
    added: int
    version: int = SCHEMA_VERSION


_NUMBERED: Final = {
    "asm": re.compile(r'("(?:[^"\\]|\\.)*")|(?<=\.Ltmp)\d+|(?<=\.loc)[ \t].*|(?<=\.size)[ \t].*|\s*(?:#|//) .*'),
    "llvm": re.compile(r'("[^"]*")|(?<=!dbg !)\d+|\[\d+ x i8\](?= c")'),
}
"""Debug information and remarks, which compilers number anew, and sizes of what is compared itself; where code jumps
to, what it loads and quoted texts (the group, which is kept) stay in."""


def _alike(lines: Sequence[str], layer: str, kernel: str = "") -> list[str]:
    """Lines that differ in such numbers only are equal, in machine code also in names made of their kernel's."""
    pattern = _NUMBERED.get(layer)
    if pattern is None:
        return list(lines)
    # a whole word or the beginning of one: a kernel may be called add or exp; a digest of it may follow
    named = re.compile(rf"(?<![A-Za-z0-9.]){re.escape(kernel)}(?:_[0-9a-f]{{12}}(?!\w))?(?![A-Za-z0-9])")
    return [pattern.sub(r"\1", named.sub("@", line) if kernel else line) for line in lines]


def compared(one: LayersModel, other: LayersModel, layer: str, kernel: str) -> ComparedView:
    """A layer of `one` beside the same of `other`; what no kernel of `one` does is empty there.

    Raises `WorkbenchError` for a layer or a kernel that `other` has not.
    """
    after = other.text(layer, kernel)
    beside = counterpart(one, other, kernel) if kernel else ""
    there = layer in one.names() and (not kernel or beside != "")
    before = one.text(layer, beside) if there else ()
    hunks = line_hunks(_alike(before, layer, beside), _alike(after, layer, kernel))
    return ComparedView(
        layer, kernel, beside, LANGUAGES.get(layer, "python"),
        near(before, [(hunk.before_start, hunk.before_count) for hunk in hunks]),
        near(after, [(hunk.after_start, hunk.after_count) for hunk in hunks]),
        hunks, sum(hunk.before_count for hunk in hunks), sum(hunk.after_count for hunk in hunks),
    )  # fmt: skip


def counterpart(one: LayersModel, other: LayersModel, kernel: str) -> str:
    """The kernel of `one` that does most of what `kernel` of `other` does.

    Of programs without links to an imported graph (loops, te) it is the one of that name.  Empty where there is none.
    """
    did, does = other.does.get(kernel, {}), one.does
    if not did or not any(does.values()):
        return kernel if kernel in one.session.kernels else ""
    return next(iter(likest(does, did, kernel)), "")


def likest(does: Mapping[str, Mapping[int, int]], did: Mapping[int, int], name: str) -> tuple[str, ...]:
    """Of kernels those that do some of what a kernel of another program `did`, both as `LayersModel.does` tells it.

    First come those that do most of its arithmetic, of equals those that do least else, then its namesake.
    """
    ranks: dict[str, tuple[int, int, bool]] = {}
    for kernel, own in does.items():
        shared = sum(min(own[call], work) for call, work in did.items() if call in own)
        if shared:
            ranks[kernel] = -shared, sum(own.values()), kernel != name
    return tuple(sorted(ranks, key=ranks.__getitem__))
