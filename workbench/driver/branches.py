"""The branches of a session: every plan tried on one import, as a tree of what they share and where they part.

s.branches            # prints the tree; the session asked is marked
s.branches[2]         # the second one, as a session
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ..core.errors import WorkbenchError
from ..schedule.moves import asks
from .history import Action, History, identities
from .pipeline import SCHEDULE
from .plan import IMPORT, CompilePlan, ScheduleRow
from .tails import steps_of

if TYPE_CHECKING:
    from .session import Session

T = TypeVar("T")
AGAIN: Final = " #"
"""Before the number of a branch that no word tells from an earlier one."""
_TOLD: Final = 3
"""Moves of a schedule that a branch's line names."""


class Branches(Sequence["Session"]):
    """The sessions on one history, oldest first; numbered from 0 like the lines that they print."""

    def __init__(self, current: Session) -> None:
        self._current = current
        self._plans = current.history.plans

    def __len__(self) -> int:
        return len(self._plans)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int) or not -len(self) <= index < len(self):
            raise WorkbenchError("E-BRANCH-UNKNOWN", f"there is no branch {index!r}", expected=f"0 to {len(self) - 1}")
        return replace(self._current, plan=self._plans[index])

    def __iter__(self) -> Iterator[Session]:
        return (self[index] for index in range(len(self)))

    def __str__(self) -> str:
        here = identities(self._current.actions)[-1]
        return "\n".join(self._line(index, here) for index in range(len(self)))

    __repr__ = __str__

    def parting(self, index: int) -> str:
        """Where a branch parts from an earlier one, and how; of the first one, what it begins with."""
        history = self._current.history
        return _parting(history, index) if index else history.branches[0][0].name

    def _line(self, index: int, here: str) -> str:
        history = self._current.history
        plan = history.branches[index]
        mark = "*" if identities(plan)[-1] == here else " "
        known = len(history.computed(plan))
        if index == 0:
            return f"{mark} {index}  {plan[0].name}, {len(plan)} steps ({known} computed)"
        return f"{mark} {index}  {_parting(history, index)} ({known} of {len(plan)} computed)"


def _parting(history: History, index: int) -> str:
    """Where a branch parts from an earlier one, and what it has that this one has not; kept, as it stays.

    Branches that this does not tell apart are numbered, like steps of one name.
    """
    with history.telling:
        for number in range(len(history.parted) + 1, index + 1):
            said = _parts(history, number)
            alike = sum(told.partition(AGAIN)[0] == said for told in history.parted.values())
            history.parted[number] = f"{said}{AGAIN}{alike + 1}" if alike else said
        return history.parted[index]


def _parts(history: History, index: int) -> str:
    *earlier, plan = history.branches[: index + 1]
    *before, made = history.plans[: index + 1]
    parent = max(range(index), key=lambda other: _nearness(made, plan, before[other], earlier[other]))
    shared, began = shared_steps(plan, earlier[parent]), before[parent]
    moves = _moves(made, began)
    if made.target == began.target:
        said = _changes(_labelled(made, plan), _labelled(began, earlier[parent]), moves)
    else:
        said = _under_target(made, began, moves)
    return f"from {parent} after {made.labels[shared - 1]}: {said}"


def shared_steps(one: tuple[Action, ...], other: tuple[Action, ...]) -> int:
    """How many first steps two plans have in common."""
    return _shared([action.key for action in one], [action.key for action in other])


def _shared(one: Sequence[object], other: Sequence[object]) -> int:
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _nearness(
    made: CompilePlan, plan: tuple[Action, ...], began: CompilePlan, other: tuple[Action, ...]
) -> tuple[int, int, bool]:
    """Plans that share more first steps are nearer, then those that differ in fewer, then those of one target.

    Under another target every step is another one: what is compared then are the rows, which name none.
    """
    alike = made.target == began.target
    one, two = [[action.key for action in steps] for steps in (plan, other)]
    if not alike and made.settings == began.settings:
        one, two = [[IMPORT, *which.rows] for which in (made, began)]
    return _shared(one, two), -len(set(one) ^ set(two)), alike


class _Named(NamedTuple):
    """A step as the list of steps names it."""

    name: str
    label: str
    key: object


def _labelled(plan: CompilePlan, actions: tuple[Action, ...]) -> list[_Named]:
    return [_Named(one.name, label, one.key) for one, label in zip(actions, plan.labels, strict=True)]


def _changes(plan: list[_Named], parent: list[_Named], moves: str) -> str:
    """What a plan has that its parent has not (+), what it lacks (-), and what is another one of that name (~); after
    a schedule its `moves`.  What is only at another place is neither."""
    more, less = _differing(plan, parent)
    lacking, told = {one.name: [other for other in less if other.name == one.name] for one in more}, list[str]()
    for one in more:
        sign = "~" if lacking[one.name] else "+"
        if sign == "~":
            less.remove(lacking[one.name].pop(0))
        told.append(f"{sign}{one.label}{moves if one.name == SCHEDULE else ''}")
    told.sort(key=lambda word: word[0] == "+")  # what is another one comes first
    return " ".join([*told, *(f"-{one.label}" for one in less)]) or "other order"


def _differing(plan: list[_Named], parent: list[_Named]) -> tuple[list[_Named], list[_Named]]:
    """What one has and the other has not, each in its order."""
    more, less = list[_Named](), list[_Named]()
    common = _shared([(one.name, one.key) for one in plan], [(one.name, one.key) for one in parent])
    plan, parent = plan[common:], parent[common:]  # of equal steps in a row the last is the further one
    keys = [[(one.name, one.key) for one in steps] for steps in (parent, plan)]
    for kind, start, stop, first, last in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind != "equal":
            less += parent[start:stop]
            more += plan[first:last]
    return without_common(more, less, lambda one: (one.name, one.key))


def without_common(more: list[T], less: list[T], key: Callable[[T], object]) -> tuple[list[T], list[T]]:
    """Without those of one key that both have, as often as both do: what is only at another place."""
    common = Counter(map(key, more)) & Counter(map(key, less))
    found: list[list[T]] = []
    for items in (more, less):
        left, kept = Counter(common), list[T]()
        for one in items:
            if left[key(one)]:
                left[key(one)] -= 1
            else:
                kept.append(one)
        found.append(kept)
    return found[0], found[1]


def _under_target(plan: CompilePlan, parent: CompilePlan, moves: str) -> str:
    """The target that a plan has and its parent has not, under which every step is another one; and the steps that
    one has and the other has not."""
    both = [
        [_Named(row.name, label, row.name) for row, label in zip(one.rows, one.labels[1:], strict=True)]
        for one in (plan, parent)
    ]
    more, less = _differing(*both)
    told = [f"+{one.label}" for one in more] + [f"-{one.label}" for one in less]
    return " ".join([f"target {plan.target}", *([f"~{SCHEDULE}{moves}"] if moves else []), *told])


def _moves(plan: CompilePlan, parent: CompilePlan) -> str:
    """The last moves of a schedule that a plan has and its parent has not: " (..., split, vectorize)"."""
    one, other = (
        {tail.at: tail for row in which.rows if isinstance(row, ScheduleRow) for tail in row.tails}
        for which in (plan, parent)
    )
    different = [tail for at, tail in one.items() if other.get(at) != tail]
    if len(different) != 1:
        return f" ({len(different)} kernels)" if different else ""
    (tail,) = different
    try:
        steps = steps_of(tail.trace)
        known = steps_of(other[tail.at].trace) if tail.at in other else steps[: tail.shared]
    except WorkbenchError:  # a damaged file: the step says so
        return ""
    common = next((at for at, pair in enumerate(zip(steps, known, strict=False)) if pair[0] != pair[1]), len(known))
    moves, lost = ([step.primitive for step in part[common:] if not asks(step)] for part in (steps, known))
    if not moves:
        return f" (-{', -'.join(lost[-_TOLD:])})" if lost else ""
    count = f"{len(moves)} moves: " if not common and len(moves) > _TOLD else ""
    return f" ({count}{', '.join([*(['...'] if len(moves) > _TOLD else []), *moves[-_TOLD:]])})"
