"""A group of stages: placed together under one loop, each member that has no place of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...tir.nodes import IterVar
from .calls import Call, called
from .relations import Attach
from .stage import Stage

if TYPE_CHECKING:
    from .schedule import Schedule


class Group:
    """The stages `members` of a schedule, as `Schedule.create_group` answers them."""

    def __init__(self, schedule: Schedule, number: int, members: tuple[int, ...], call: Call) -> None:
        self._schedule = schedule
        self._number = number
        self.members = members
        self.call = call
        self.attach: Attach | None = None

    @property
    def stages(self) -> list[Stage]:
        return [Stage(self._schedule, key) for key in self.members]

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the members inside loop `scope` of stage `parent`, except those that have a place of their own."""
        call = called(f"group{self._number}", "compute_at", [parent.op, scope])
        parent.record.position(scope, call, self._schedule.owner_of)
        self._become(Attach("scope", self._schedule.key_of(parent.op), scope, call))

    def compute_root(self) -> None:
        """Take the group's place back."""
        self._become(None)

    def _become(self, attach: Attach | None) -> None:
        made = Group(self._schedule, self._number, self.members, self.call)
        made.attach = attach
        recorded = self._schedule.recorded
        groups = tuple(made if group._number == self._number else group for group in recorded.groups)
        self._schedule.restore(replace(recorded, groups=groups))

    def __repr__(self) -> str:
        return f"group({', '.join(stage.op.name for stage in self.stages)})"


def place_of(groups: tuple[Any, ...], key: int) -> Attach | None:
    """The place that the groups give a stage without one: of the last group that has it."""
    for group in reversed(groups):
        if group.attach is not None and key in group.members and group.attach.stage not in group.members:
            return group.attach
    return None
