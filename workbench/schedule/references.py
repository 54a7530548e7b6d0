"""What users and traces hold: names for the results of steps.

A reference names the result of one step of one schedule ("l3").  It keeps its target, a loop's variable or a block's
name, so that a reference from an undone step or from another schedule is told apart from one of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..arith.nodes import Var


@dataclass(frozen=True, eq=False)
class LoopRV:
    """A loop that a step of a schedule answered."""

    name: str
    target: Var = field(repr=False)

    def __repr__(self) -> str:
        return f"LoopRV({self.name}: {self.target.name})"


@dataclass(frozen=True, eq=False)
class BlockRV:
    """A block that a step of a schedule answered."""

    name: str
    target: str = field(repr=False)

    def __repr__(self) -> str:
        return f"BlockRV({self.name}: {self.target})"


Reference = LoopRV | BlockRV
Target = Var | str
"""What a reference stands for in the program: a loop's variable, or a block's name."""


def make_reference(name: str, target: Target) -> Reference:
    return BlockRV(name, target) if isinstance(target, str) else LoopRV(name, target)
