"""The history of a schedule as a person reads it: moves, each a primitive that changed the program.

The questions (`get_block`, `get_loops`) and draws before a primitive belong to its move.  Taking a move back keeps
them, so that references that a cell holds stay good.

    moves = sch.moves
    [move.name for move in moves.done]        # ["split", "reorder", "vectorize"]
    moves.back()                              # before vectorize
    moves.forward()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from .errors import require
from .history import History, Mark, shared_length
from .registry import PRIMITIVES

if TYPE_CHECKING:
    from .state import ScheduleState
    from .trace import Step


@dataclass(frozen=True)
class Move:
    """One primitive that changed the program, with what was asked for it."""

    steps: tuple[Step, ...]
    """The questions, then the primitive."""
    before: int
    """The number of the state that the primitive was applied to."""
    after: int

    @property
    def name(self) -> str:
        """The primitive."""
        return self.steps[-1].primitive

    @property
    def code(self) -> str:
        """The lines of Python that do the same."""
        return "\n".join(step.line() for step in self.steps)


def asks(step: Step) -> bool:
    """Whether a step only gives names or draws numbers."""
    return PRIMITIVES[step.primitive].category in ("get", "sample")


class Moves:
    """The moves of one history, as it is now; `back`, `forward` and `switch` move the schedule."""

    def __init__(self, history: History) -> None:
        self._history = history

    @property
    def done(self) -> tuple[Move, ...]:
        """What led to the state looked at."""
        return _moves(self._history, self._history.here)

    @property
    def ahead(self) -> tuple[Move, ...]:
        """What was taken back and `forward` does again, the next one first."""
        return _moves(self._history, self._history.end_ahead())[len(self.done) :]

    def back(self) -> bool:
        """Take the last move back; False if there is none."""
        done = self.done
        if done:
            self._history.step_to(done[-1].before)
        return bool(done)

    def forward(self) -> bool:
        """Do again what was taken back last; False if there is nothing."""
        ahead = self.ahead
        if ahead:
            self._history.step_to(ahead[0].after)
        return bool(ahead)

    # --- branches: what taking back and moving another way has made ---

    @property
    def _ends(self) -> tuple[int, ...]:
        """The ends of the branches that hold a move which no other has, oldest first, and of the one looked at.

        An end where questions alone were asked is none of its own.
        """
        current, ends = self._history.end_ahead(), self._history.ends()
        paths = {end: [move.after for move in _moves(self._history, end)] for end in ends}
        ranks = {end: (len(paths[end]), end == current, end) for end in ends}

        def hidden(end: int) -> bool:
            """Whether another end holds all its moves; of ends with the same moves the highest rank is shown."""
            here = paths[end]
            return not here or any(paths[one][: len(here)] == here and ranks[one] > ranks[end] for one in ends)

        return tuple(end for end in ends if end == current or not hidden(end))

    @property
    def branch(self) -> int:
        """The number of the branch looked at, among `stories`."""
        return self._ends.index(self._history.end_ahead())

    @property
    def stories(self) -> tuple[str, ...]:
        """For each branch its moves after it left the others: "vectorize, parallel"."""
        moves = [_moves(self._history, end) for end in self._ends]
        paths = [[move.after for move in one] for one in moves]
        return tuple(
            ", ".join(move.name for move in one[_shared(number, paths) :]) or "as it was"
            for number, one in enumerate(moves)
        )

    @property
    def here(self) -> int:
        """The number, in `tree`, of the state looked at: that after the last move."""
        return self._after(self._history.here)

    @property
    def fingerprint(self) -> str:
        """That of the state after the last move: what was asked since is no part of it."""
        return self._history[self.here].fingerprint

    @property
    def tree(self) -> tuple[tuple[int, int, Move | None], ...]:
        """The states of all branches: number, that of the one before, the move between; the first one leads."""
        root = self._history.root
        found: dict[int, tuple[int, int, Move | None]] = {root: (root, -1, None)}
        for end in self._ends:
            last = root
            for move in _moves(self._history, end):
                found.setdefault(move.after, (move.after, last, move))
                last = move.after
        return tuple(found.values())

    def state(self, number: int) -> ScheduleState:
        """A state of `tree`."""
        return self._history[number]

    def go(self, number: int) -> None:
        """Look at a state that `tree` or `find` gives.  Raises `ScheduleError` for another number."""
        require(
            number in self._everywhere(), "E-SCHEDULE-BRANCH-NUMBER", "there is no such state",
            found=str(number)[:40], expected="a number of moves.tree",
        )  # fmt: skip
        self._history.step_to(number)

    def find(self, fingerprint: str, everywhere: bool = False) -> int | None:
        """The number, in `tree`, of a state with this fingerprint (of program and trace), best the one looked at.

        `everywhere`: else one that was left when the schedule began anew.
        """
        known = [self.here, *(number for number, _, _ in self.tree), *(self._everywhere() if everywhere else ())]
        return next((number for number in known if self._history[number].fingerprint == fingerprint), None)

    def _everywhere(self) -> set[int]:
        """The numbers of the states of `tree`, and of those of other programs that the schedule began with."""
        ends = self._history.all_ends()
        after = {move.after for end in ends for move in _moves(self._history, end)}
        return after | {self._history.chain(end)[0] for end in ends}

    def begin_anew(self, other: Moves) -> None:
        """Be where `other` is, which began with another program, with all its branches; `find` knows the way back."""
        self._history.begin_anew(other._history)

    def last(self, branch: int) -> int:
        """The number, in `tree`, of the state after a branch's last move.  Raises `ScheduleError` without such one."""
        return self._after(self._end(branch))

    def _after(self, number: int) -> int:
        """The state after the last move that leads to one; without a move the first."""
        moves = _moves(self._history, number)
        return moves[-1].after if moves else self._history.chain(number)[0]

    def mark(self) -> Mark:
        """What `back_to` goes back to, should what is done now be refused elsewhere."""
        return self._history.mark()

    def back_to(self, mark: Mark) -> None:
        """Be as when `mark` was made, with nothing of what came since."""
        self._history.back_to(mark)

    def switch(self, number: int) -> None:
        """Go to the end of a branch.  Raises `ScheduleError` if there is none of that number."""
        self._history.go_to(self._end(number))

    def _end(self, branch: int) -> int:
        require(
            0 <= branch < len(self._ends), "E-SCHEDULE-BRANCH-NUMBER", "there is no such branch",
            found=str(branch)[:40], expected=f"0 to {len(self._ends) - 1}",
        )  # fmt: skip
        return self._ends[branch]


def _shared(number: int, paths: Sequence[Sequence[int]]) -> int:
    """How many moves one path has in common with the one that it left last."""
    return max((shared_length(paths[number], other) for at, other in enumerate(paths) if at != number), default=0)


def _moves(history: History, number: int) -> tuple[Move, ...]:
    """The moves that lead from the first state to one."""
    if number not in history.moves:
        history.moves[number] = tuple(_found(history, number))
    return history.moves[number]


def _found(history: History, number: int) -> list[Move]:
    found: list[Move] = []
    asked: list[Step] = []
    for before, after in pairwise(history.chain(number)):
        for step in history[after].steps[len(history[before].steps) :]:
            asked.append(step)
            if not asks(step):
                found.append(Move(tuple(asked), before, after))
                asked = []
    return found
