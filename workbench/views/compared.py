"""One layer of two sessions side by side: what of a kernel's text differs."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    "asm": re.compile(r'("(?:[^"\\]|\\.)*")|(?<=\.Ltmp)\d+|(?<=\.loc)[ \t].*|\s*(?:#|//) .*'),
    "llvm": re.compile(r'("[^"]*")|(?<=!dbg !)\d+'),
}
"""Debug information and remarks, which compilers number anew; where code jumps to, what it loads and quoted texts (the
group, which is kept) stay in."""


def _alike(lines: Sequence[str], layer: str) -> list[str]:
    """Lines that differ in such numbers only are equal."""
    pattern = _NUMBERED.get(layer)
    return [pattern.sub(r"\1", line) for line in lines] if pattern is not None else list(lines)


def compared(one: LayersModel, other: LayersModel, layer: str, kernel: str) -> ComparedView:
    """A layer of `one` beside the same of `other`; what no kernel of `one` does is empty there.

    Raises `WorkbenchError` for a layer or a kernel that `other` has not.
    """
    after = other.text(layer, kernel)
    beside = counterpart(one, other, kernel) if kernel else ""
    there = layer in one.names() and (not kernel or beside != "")
    before = one.text(layer, beside) if there else ()
    hunks = line_hunks(_alike(before, layer), _alike(after, layer))
    return ComparedView(
        layer, kernel, beside, LANGUAGES.get(layer, "python"),
        near(before, [(hunk.before_start, hunk.before_count) for hunk in hunks]),
        near(after, [(hunk.after_start, hunk.after_count) for hunk in hunks]),
        hunks, sum(hunk.before_count for hunk in hunks), sum(hunk.after_count for hunk in hunks),
    )  # fmt: skip


def counterpart(one: LayersModel, other: LayersModel, kernel: str) -> str:
    """The kernel of `one` that does most of what `kernel` of `other` does, by imported calls; of equals, its namesake.

    Of programs without such links (loops, te) it is the one of that name.  Empty where there is none.
    """
    names = tuple(one.session.kernels)
    wanted = _calls(other).get(kernel)
    if not wanted or not any(_calls(one).values()):
        return kernel if kernel in names else ""
    shared = {name: len(calls & wanted) / len(calls | wanted) for name, calls in _calls(one).items()}
    best = max(shared, key=lambda name: (shared[name], name == kernel))
    return best if shared[best] else ""


def _calls(model: LayersModel) -> dict[str, set[int]]:
    """By kernel, the calls of the imported graph that it carries out."""
    origins = model.origins()
    if not origins:
        return {}
    return {kernel.name: {call for number in kernel.classes for call in origins[number]} for kernel in model.kernels()}
