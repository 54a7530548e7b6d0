"""Edits first: of a program that is wrong, the kernels that a person changed are looked at before all others.

    checks = from_edits(checker)        # as `Checker.bisected` answers, but an edit that is wrong ends the search

Halving runs every kernel at every step that it looks at, thirty kernels at six steps; an edit is two runs of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .report import BAD, StepCheck

if TYPE_CHECKING:
    from .check import Checker


def from_edits(checker: Checker) -> list[StepCheck]:
    """The first edit of loops with which a kernel that was right becomes wrong; without one, what halving finds."""
    for index, action in enumerate(checker.session.actions):
        if action.kind != "edit" or index < checker.first_loop_step or not checker.knows_kernels():
            continue
        found = checker.verdict(index)
        wrong = [one.kernel for one in found.kernels if one.verdict in BAD]
        if found.bad and wrong and all(checker.is_right(index - 1, kernel) for kernel in wrong):
            checker.notes.append("edits were looked at first; the steps before this one were not run")
            return [*(StepCheck(label, "not run") for label in checker.labels[:index]), found]
    return checker.bisected()
