"""A kernel's schedules that have been made, kept with it: after a change of one kernel the others are not made again.

    kept(kernel).default(default_provider)       # the rules' schedule; asked again, the same states
    kept(kernel).carry_out(state, step, names)   # one step of a trace; on the same state, the same state again

A kernel is a value, and so is a state: what was made of them once holds.  What making it told about origins and
rewrites is told again, and what it read of tables that users add to (tensor intrinsics) is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..core import origin, reliance
from ..core.node import traced_nodes
from ..core.told import Told, hearing
from ..schedule.running import replayed
from ..schedule.schedule import Schedule

if TYPE_CHECKING:
    from ..schedule.references import Reference
    from ..schedule.state import ScheduleState
    from ..schedule.trace import Step
    from .kernel import Kernel

_NAME: Final = "schedules"
"""Where they stand in a kernel's memo."""


def kept(kernel: Kernel) -> KeptSchedules:
    """The schedules that have been made of a kernel."""
    return kernel.memo.setdefault(_NAME, KeptSchedules(kernel))


class KeptSchedules:
    """See the module's header."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._default: Schedule | None = None
        self._bare: Schedule | None = None
        self._told: dict[int, tuple[ScheduleState, Told]] = {}
        """What making a state told, from the bare kernel on: by the state's identity, with the state."""
        self._steps: dict[tuple[Any, ...], tuple[ScheduleState, list[Reference]]] = {}

    def bare(self) -> Schedule:
        """A schedule without a step."""
        if self._bare is None:
            made = Schedule(self._kernel.func)
            self._told[id(made.state)] = made.state, Told(self._existing())
            self._bare = made
        return self._bare.copy()

    def default(self, provider: Callable[[Kernel], Schedule]) -> Schedule:
        """The schedule that the rules make; `provider` carries them out the first time."""
        made = self._default
        if made is None or not self._told[id(made.state)][1].holds(reliance.Now()):
            with hearing(self._existing()) as heard:
                made = provider(self._kernel)
            self._told[id(made.state)] = made.state, heard.told()
            self._default = made
        self.tell(made.state)
        return made.copy()

    def carry_out(
        self, state: ScheduleState, step: Step, names: dict[str, Reference]
    ) -> tuple[ScheduleState, list[Reference]]:
        """The state after a step of a trace, as `schedule.running.replayed`; `tell` says what it has told."""
        before = self._told.get(id(state))
        if before is None or any(name not in names for name in step.needed()):
            return replayed(state, step, names)
        _, told = before
        asked = tuple(names[name].name for name in step.needed())
        key = (id(state), step.primitive, repr(step.arguments), repr(step.decision), len(step.results), asked)
        known = self._steps.get(key)
        if known is None or not self._told[id(known[0])][1].holds(reliance.Now()):
            with hearing(told.origins) as heard:
                known = replayed(state, step, names)
            self._told[id(known[0])] = known[0], heard.told().after(told)
            self._steps[key] = known
        return known[0], list(known[1])

    def tell(self, state: ScheduleState) -> None:
        """Say again what making a state has told, to who listens now."""
        found = self._told.get(id(state))
        if found is not None:
            found[1].again()

    def _existing(self) -> origin.OriginTable:
        """A table that knows the kernel's nodes, as they come."""
        return origin.OriginTable(traced_nodes(self._kernel.func))
