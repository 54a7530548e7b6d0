"""Which loop of one state of a schedule is which of another: by its variable, and by what a step made of it.

    names = LoopNames()
    names.of(var)               # "j"; another variable of the same name is "j#2"
    names.made_of(state)        # {id(j_0): ("j",), id(j_1): ("j",)} after sch.split(j)

Invariant: a variable has one name for as long as the names are held, in whatever state and at whatever place it is.
"""

from __future__ import annotations

from collections.abc import Callable

from ..arith.nodes import Var
from ..schedule.state import ScheduleState


class LoopNames:
    """The names by which a screen keeps the loop that was chosen, where a cell moves the schedule."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[Var, str]] = {}
        """By identity of a variable; with the variable, so that no other one gets its identity."""
        self._counts: dict[str, int] = {}

    def of(self, var: Var) -> str:
        if id(var) not in self._names:
            count = self._counts[var.name] = self._counts.get(var.name, 0) + 1
            self._names[id(var)] = (var, var.name if count == 1 else f"{var.name}#{count}")
        return self._names[id(var)][1]

    def kept_in(self, state: ScheduleState) -> Callable[[Var], tuple[str, tuple[str, ...]]]:
        """For a loop's variable its name, and those of the loops that it was made of."""
        made_of = self.made_of(state)
        return lambda var: (self.of(var), made_of.get(id(var), ()))

    def made_of(self, state: ScheduleState) -> dict[int, tuple[str, ...]]:
        """By identity of a variable, the loops that are gone and that it was made of, the nearest first."""
        found: dict[int, tuple[str, ...]] = {}
        for number, step in enumerate(state.steps, 1):
            used = [given.name for given in step.inputs if state.consumed.get(given.name) == number]
            gone = [state.named[name] for name in used if not isinstance(state.named[name], str)]
            if not gone:
                continue
            names = [self.of(var) for var in gone]
            earlier = [name for var in gone for name in found.get(id(var), ())]
            for result in step.results:
                found[id(state.named[result])] = tuple(dict.fromkeys((*names, *earlier)))
        return found
