"""Steps tried on immutable states, and an error taken apart for the rules that look for alternatives.

trial = Trial(state)
outer, inner = trial.do("split", loop=loop, factors=[None, 4])      # raises ScheduleError
trial.state                                                         # `state` is as it was
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..tir import nodes as t
from .errors import Attempt, ScheduleError
from .references import BlockRV, LoopRV, Reference, make_reference
from .registry import PRIMITIVES
from .running import run
from .state import ScheduleState


class Trial:
    """Steps tried one after another on immutable states."""

    def __init__(self, state: ScheduleState) -> None:
        self.state = state

    def do(self, primitive: str, **arguments: Any) -> Any:
        """The results of a primitive.  Raises `ScheduleError`."""
        self.state, made = run(self.state, PRIMITIVES[primitive], arguments)
        return made

    def loop(self, loop: t.For) -> LoopRV:
        """A reference to a loop; asked for where the schedule has none."""
        known = live_reference(self.state, loop.var)
        if isinstance(known, LoopRV):
            return known
        blocks = self.state.tree.blocks.values()
        site = next(site for site in blocks if any(item.var is loop.var for item in site.loops))
        found = self.do("get_loops", block=self.block(site.name))
        return next(item for item in found if item.target is loop.var)

    def block(self, name: str) -> BlockRV:
        """A reference to a block."""
        known = live_reference(self.state, name)
        return known if isinstance(known, BlockRV) else self.do("get_block", name=name)


def live_reference(state: ScheduleState, target: Any) -> Reference | None:
    """A live reference to a block (by name) or loop (by variable), if there is one."""
    for name, held in state.named.items():
        same = held == target if isinstance(held, str) and isinstance(target, str) else held is target
        if same and name not in state.consumed:
            return make_reference(name, held)
    return None


@dataclass(frozen=True)
class Case:
    """An error taken apart for the rules."""

    error: ScheduleError
    attempt: Attempt
    state: ScheduleState

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.attempt.arguments)

    def given(self, kind: type) -> Any:
        """The first argument that is a reference of a kind."""
        return next((value for value in self.attempt.arguments.values() if isinstance(value, kind)), None)

    def chain(self, loop: LoopRV) -> list[t.For]:
        """The loops around the first block inside a loop, outermost first."""
        site = self.state.tree.loops.get(id(loop.target))
        under = self.state.tree.under(site.loop) if site is not None else ()
        return list(under[0].loops) if under else []


Plan = Callable[[Trial], None]
Proposal = tuple[str, Plan]
Rule = Callable[[Case], Iterator[Proposal]]
