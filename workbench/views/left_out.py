"""Passes and edits that were left out on a screen: each stays in the list of steps, at the place where it ran.

Invariant: a session knows nothing of what was left out of it; these rows stand beside its plan.  Of several behind one
step the order is that in which they ran.

    left_out = taken_out((), 3, plan.rows[2])          # of the session without its step 3
    outline(left_out, identities(session.actions))     # all steps, those left out among them, each with its id
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ..driver.plan import EditRow, PassRow
from .pass_forms import pass_code

if TYPE_CHECKING:
    from ..driver.plan import Row
    from ..driver.session import Session


@dataclass(frozen=True)
class LeftOut:
    """A row that is not in the plan."""

    row: PassRow | EditRow
    before: int
    """How many steps run before its place, the import among them."""


Rows = tuple[LeftOut, ...]


def outline(left_out: Rows, known: Sequence[str]) -> list[tuple[str, int | LeftOut]]:
    """Every step in order with its id: what runs, by its number, and what is left out.  `known`: ids of what runs."""
    found: list[tuple[str, int | LeftOut]] = []
    for number, identity in enumerate(known):
        found.append((identity, number))
        behind = (one for one in left_out if one.before == number + 1)
        found += [(f"{identity}-out{place}", one) for place, one in enumerate(behind)]
    return found


def taken_out(left_out: Rows, step: int, row: PassRow | EditRow) -> Rows:
    """With the row of a step, which runs no more."""
    behind = (replace(one, before=one.before - 1) for one in left_out if one.before > step)
    return (*(one for one in left_out if one.before <= step), LeftOut(row, step), *behind)


def moved_on(left_out: Rows, step: int) -> Rows:
    """After another step was put directly behind a step."""
    return tuple(replace(one, before=one.before + 1) if one.before > step else one for one in left_out)


def put_back(left_out: Rows, which: LeftOut) -> Rows:
    """Without one of them, which runs again."""
    place = next(number for number, one in enumerate(left_out) if one is which)
    behind = (replace(one, before=one.before + 1) for one in left_out[place + 1 :])
    return (*left_out[:place], *behind)


def running_again(session: Session, which: LeftOut) -> tuple[Session, str]:
    """The session with the very row that was left out, and the Python that does the same."""
    label, row = session.labels[which.before - 1], which.row
    made = replace(session, plan=session.plan.after(which.before - 1, row))
    if isinstance(row, EditRow):
        names = [delta.at.name for delta in row.deltas]
        one = f"s = s[{label!r}].edit({{{names[0]!r}: text}})"
        return made, one if len(names) == 1 else f"s = s[{label!r}].edit(texts)"
    return made, f"s = s.rerun(insert={{{label!r}: {pass_code(row.name, session.history.contents.options(row))}}})"


def carried(left_out: Rows, old: Sequence[Row], new: Sequence[Row]) -> Rows:
    """What is still left out where something else has changed the plan's rows from `old` to `new`: each near what it
    stood beside; one that is among the new rows at its place runs again."""
    if not left_out:
        return ()
    entries = outline(left_out, [""] * (len(old) + 1))[1:]
    lined_up: list[Row] = [old[entry - 1] if isinstance(entry, int) else entry.row for _, entry in entries]
    found: list[LeftOut] = []
    for kind, start, stop, first, end in SequenceMatcher(None, lined_up, new, autojunk=False).get_opcodes():
        ran = 0
        for _, entry in entries[start:stop] if kind != "equal" else ():
            if isinstance(entry, int):
                ran += 1
            else:
                found.append(replace(entry, before=min(first + ran, end) + 1))
    return tuple(found)
