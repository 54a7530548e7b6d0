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

from ..driver.branches import without_common
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
    """The session with the row that was left out, and the Python that does the same.

    A pass whose cell was run again meanwhile comes back as it is defined now: the Python names it.
    """
    label, row = session.labels[which.before - 1], which.row
    if isinstance(row, PassRow):
        row = session.history.contents.reloaded(row, (*session.plan.rows, row))
    made = replace(session, plan=session.plan.after(which.before - 1, row))
    if isinstance(row, EditRow):
        names = [delta.at.name for delta in row.deltas]
        one = f"s = s[{label!r}].edit({{{names[0]!r}: text}})"
        return made, one if len(names) == 1 else f"s = s[{label!r}].edit(texts)"
    return made, f"s = s.rerun(insert={{{label!r}: {pass_code(row.name, session.history.contents.options(row))}}})"


def carried(left_out: Rows, old: Sequence[Row], new: Sequence[Row]) -> Rows:
    """What is still left out where something else has changed the plan's rows from `old` to `new`.

    Each stays behind the step that it stood behind, or what stands there now; one of which an equal row was put in at
    its place runs again.
    """
    places, taken = _places(old, new), set[int]()
    found: list[LeftOut] = []
    for one in left_out:
        start, stop = places[one.before - 1]
        again = next((at for at in range(start, stop) if new[at] == one.row and at not in taken), None)
        if again is None:
            found.append(replace(one, before=start + 1))
        else:
            taken.add(again)
    return tuple(found)


def missing(began: Sequence[Row], rows: Sequence[Row]) -> Rows:
    """The passes that a plan lacks of those that another one began with, each where it would run.

    One at another place or of other options is there.
    """
    more: list[tuple[Row, int]] = []
    less: list[tuple[Row, int]] = []
    for kind, start, stop, first, last in SequenceMatcher(None, began, rows, autojunk=False).get_opcodes():
        if kind != "equal":
            more += [(row, first) for row in rows[first:last]]
            less += [(row, first) for row in began[start:stop]]
    more, less = without_common(more, less, lambda one: one[0])
    more, less = without_common(more, less, lambda one: one[0].name)
    return tuple(LeftOut(row, first + 1) for row, first in less if isinstance(row, PassRow))


def _places(old: Sequence[Row], new: Sequence[Row]) -> list[tuple[int, int]]:
    """For each place between rows of `old`, the first before all: from which row of `new` to which it is now."""
    pairs = [(-1, -1)]
    for kind, start, stop, first, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs += [(start + at, first + at) for at in range(stop - start)] if kind == "equal" else []
    pairs.append((len(old), len(new)))
    above = {mine: theirs for mine, theirs in pairs}
    places: list[tuple[int, int]] = []
    for place in range(len(old) + 1):
        last = max(mine for mine, _ in pairs if mine < place)
        following = min(mine for mine, _ in pairs if mine >= place)
        places.append((above[last] + 1, above[following]))
    return places
