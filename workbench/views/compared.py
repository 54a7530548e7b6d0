"""One layer of two sessions side by side: what of a kernel's text differs."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.line_diff import line_hunks
from .layers import LANGUAGES, LayersModel
from .schema import SCHEMA_VERSION, Hunk, TextView, View
from .step_parts import near


@dataclass(frozen=True, slots=True)
class ComparedView(View):
    """A layer in another session and in this one."""

    layer: str
    kernel: str
    language: str
    before: TextView
    after: TextView
    hunks: tuple[Hunk, ...]
    removed: int
    """Lines that only the other one has."""
    added: int
    version: int = SCHEMA_VERSION


def compared(one: LayersModel, other: LayersModel, layer: str, kernel: str) -> ComparedView:
    """A layer of `one` beside the same of `other`; a kernel that `one` has not is empty there.

    Raises `WorkbenchError` for a layer or a kernel that `other` has not.
    """
    after = other.text(layer, kernel)
    there = layer in one.names() and (not kernel or kernel in one.session.kernels)
    before = one.text(layer, kernel) if there else ()
    hunks = line_hunks(before, after)
    return ComparedView(
        layer, kernel, LANGUAGES.get(layer, "python"),
        near(before, [(hunk.before_start, hunk.before_count) for hunk in hunks]),
        near(after, [(hunk.after_start, hunk.after_count) for hunk in hunks]),
        hunks, sum(hunk.before_count for hunk in hunks), sum(hunk.after_count for hunk in hunks),
    )  # fmt: skip
