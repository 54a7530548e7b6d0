"""The states that a schedule has been in, as a tree: undo, redo, branches.

A step taken after an undo begins a branch; nothing is ever lost.

    sch.undo(2); sch.parallel(i)      # a second branch
    print(sch.branches)               # * 1  from 0 after step 3: parallel
    sch.switch(0)                     # back on the first

A schedule may begin anew, on another program: that is another tree of the same history.  Undo, redo and branches are
those of the tree looked at; numbers of states are the history's.

Invariant: states are immutable and shared; a history only says which came from which, and which one is looked at.
Whoever shows it is told when it moves, so that a screen and a cell that hold one schedule never disagree.  They may be
two threads (JupyterLab asks on one of its own while a cell runs): who moves it has it `alone` meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from .errors import refuse

if TYPE_CHECKING:
    from .moves import Move
    from .state import ScheduleState


@dataclass
class _Visited:
    state: ScheduleState
    parent: int | None
    following: int | None = None
    """The state that redo goes to: the child visited last."""


@dataclass(frozen=True)
class Mark:
    """A moment of a history: where it was, and for each state where redo led."""

    here: int
    following: tuple[int | None, ...]


class History:
    """A tree of states, and the one that the schedule points to."""

    def __init__(self, state: ScheduleState) -> None:
        self._visited = [_Visited(state, None)]
        self._here = 0
        self._watching: list[WeakMethod[Callable[[], None]]] = []
        self._lock = RLock()
        self._later, self._due = 0, False
        """How many of those that have it alone tell of its moves at their end; whether there is something to tell."""
        self._copied: tuple[History, int, int] | None = None
        """Of a copy: the history that it was made of, its length, and the state that it looked at."""
        self.moves: dict[int, tuple[Move, ...]] = {}
        """The moves that lead to a state, by its number, where somebody has asked for them (`schedule.moves`)."""

    @property
    def state(self) -> ScheduleState:
        return self._visited[self._here].state

    @property
    def here(self) -> int:
        """The number of the state looked at."""
        return self._here

    @property
    def root(self) -> int:
        """The number of the state that everything in the tree looked at came from."""
        return self.chain(self._here)[0]

    @property
    def first(self) -> ScheduleState:
        """The state that everything in the tree looked at came from."""
        return self._visited[self.root].state

    def copy(self) -> History:
        with self._lock:
            made = History(self.state)
            made._visited = [_Visited(item.state, item.parent, item.following) for item in self._visited]
            made._here, made.moves = self._here, dict(self.moves)
            made._copied = self, len(self._visited), self._here
        return made

    def __getstate__(self) -> dict[str, Any]:
        """For copies and files: who watches this history watches no other."""
        mine = {name: value for name, value in self.__dict__.items() if name != "_lock"}
        return {**mine, "_watching": [], "_copied": None, "moves": {}, "_later": 0, "_due": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())

    @contextmanager
    def alone(self, at_once: bool = False) -> Iterator[None]:
        """Nobody else moves it meanwhile.  Who watches is told at the end, or `at_once`."""
        due = False
        try:
            with self._lock:
                self._later += not at_once
                try:
                    yield
                finally:
                    self._later -= not at_once
                    due = self._due and not self._later
                    self._due = self._due and not due
        finally:
            if due:
                self._tell()

    def watch(self, method: Callable[[], None]) -> None:
        """Call a bound method whenever another state is looked at, as long as its object is alive."""
        self._watching.append(WeakMethod(method))

    def _move(self, number: int) -> None:
        self._here = number
        if self._later:
            self._due = True
        else:
            self._tell()

    def _tell(self) -> None:
        for reference in tuple(self._watching):
            method = reference()
            if method is None:
                with suppress(ValueError):  # another thread was first
                    self._watching.remove(reference)
            else:
                method()

    def commit(self, *states: ScheduleState, after: int | None = None) -> None:
        """The first of `states` comes from the one looked at (or that numbered `after`), each other from the one
        before; look at the last.
        """
        with self.alone():
            here = self._here if after is None else after
            for state in states:
                self._visited.append(_Visited(state, here))
                self._visited[here].following = here = len(self._visited) - 1
            self._move(here)

    def follow(self, other: History) -> None:
        """Take over what was done in `other`, a copy of this history as it is now, branches included.

        Raises `ScheduleError` for what is no copy, or one from which this history has moved away.
        """
        with self.alone():
            self._follow(other)

    def _follow(self, other: History) -> None:
        count = len(self._visited)
        if other._copied is None or other._copied[0] is not self or other._copied[1:] != (count, self._here):
            raise refuse(
                "E-SCHEDULE-FOLLOW", "this is no copy of the schedule as it is now",
                found="another schedule, or a copy of an earlier state", expected="sch.copy(), changed",
                fix="copy it again, or sch.rebase(other)",
            )  # fmt: skip
        for mine, theirs in zip(self._visited, other._visited, strict=False):
            mine.following = theirs.following
        self._visited += [_Visited(item.state, item.parent, item.following) for item in other._visited[count:]]
        self._move(other._here)

    def begin_anew(self, other: History) -> None:
        """Look at the tree of `other`, which begins with another program; what was done before stays a tree."""
        with self.alone(), other._lock:
            offset = len(self._visited)

            def moved(number: int | None) -> int | None:
                return None if number is None else number + offset

            theirs = [_Visited(item.state, moved(item.parent), moved(item.following)) for item in other._visited]
            self._visited += theirs
            self._move(other._here + offset)

    def amend(self, state: ScheduleState) -> None:
        """`state` stands in the place of the one looked at: its steps are the same, something beside them is not."""
        self._visited[self._here].state = state

    def undo(self, steps: int) -> bool:
        """Go back; False, and nowhere, if there are not so many steps."""
        return self._walk(steps, lambda item: item.parent)

    def redo(self, steps: int) -> bool:
        """Go forward where the schedule was last; False, and nowhere, if there are not so many steps."""
        return self._walk(steps, lambda item: item.following)

    def _walk(self, steps: int, towards: Any) -> bool:
        with self.alone():
            here: Any = self._here
            for _ in range(steps):
                here = towards(self._visited[here])
                if here is None:
                    return False
            self._move(here)
            return True

    def mark(self) -> Mark:
        """What `back_to` goes back to."""
        with self._lock:
            return Mark(self._here, tuple(item.following for item in self._visited))

    def back_to(self, mark: Mark) -> None:
        """Be as when `mark` was made: states that came since are forgotten, branches and redo are as they were."""
        with self.alone():
            del self._visited[len(mark.following) :]
            self.moves = {number: moves for number, moves in dict(self.moves).items() if number < len(self._visited)}
            for item, following in zip(self._visited, mark.following, strict=True):
                item.following = following
            self._move(mark.here)

    # --- branches ---

    def chain(self, number: int) -> list[int]:
        """The numbers of the states from the first to one, itself included."""
        found: list[int] = []
        at: int | None = number
        while at is not None:
            found.append(at)
            at = self._visited[at].parent
        return found[::-1]

    def ends(self) -> list[int]:
        """The states of the tree looked at that nothing came from, oldest first: one for each branch."""
        root = self.root
        return [end for end in self.all_ends() if self.chain(end)[0] == root]

    def all_ends(self) -> list[int]:
        """Those of all trees."""
        parents = {item.parent for item in self._visited}
        return [number for number in range(len(self._visited)) if number not in parents]

    def end_ahead(self) -> int:
        """The end of the branch that the schedule is on: where redo leads in the end."""
        at = self._here
        while (ahead := self._visited[at].following) is not None:
            at = ahead
        return at

    def go_to(self, number: int) -> None:
        """Look at a state of any branch, and let redo lead to it from everywhere before it."""
        with self.alone():
            for parent, child in zip(self.chain(number), self.chain(number)[1:], strict=False):
                self._visited[parent].following = child
            self._move(number)

    def step_to(self, number: int) -> None:
        """Look at a state of the branch looked at, before or ahead; redo leads where it led."""
        with self.alone():
            self._move(number)

    def __getitem__(self, number: int) -> ScheduleState:
        return self._visited[number].state


@dataclass(frozen=True)
class Branch:
    """One branch: its number, and the state at its end."""

    number: int
    state: ScheduleState
    current: bool
    parent: int | None
    """The branch that it left, None for the first."""
    shared: int
    """How many steps it has in common with that one."""

    def __str__(self) -> str:
        steps = [step.primitive for step in self.state.steps[self.shared :]]
        own = ", ".join(steps) or "nothing yet"
        place = "" if self.parent is None else f"from {self.parent} after step {self.shared}: "
        return f"{'*' if self.current else ' '} {self.number}  {place}{own}"


class Branches(Sequence[Branch]):
    """The branches of a schedule, oldest first; prints as a tree, the branch looked at marked."""

    def __init__(self, history: History) -> None:
        self._found = list(_branches(history))

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int) or not -len(self) <= index < len(self):
            raise refuse(
                "E-SCHEDULE-BRANCH-NUMBER",
                f"there is no branch {index!r}",
                found=repr(index)[:40],
                expected=f"0 to {len(self) - 1}",
                fix="print(sch.branches) lists them",
            )
        return self._found[index]

    def __iter__(self) -> Iterator[Branch]:
        return iter(self._found)

    def __str__(self) -> str:
        return "\n".join(map(str, self._found))

    __repr__ = __str__


def _branches(history: History) -> Iterator[Branch]:
    ahead = history.end_ahead()
    chains: list[list[int]] = []
    for number, end in enumerate(history.ends()):
        chain = history.chain(end)
        shared = [shared_length(chain, other) for other in chains]
        parent = max(range(number), key=lambda index: (shared[index], -index)) if number else None
        steps = 0 if parent is None else len(history[chain[shared[parent] - 1]].steps)
        yield Branch(number, history[end], end == ahead, parent, steps)
        chains.append(chain)


def shared_length(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many items two sequences have in common from the beginning."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
