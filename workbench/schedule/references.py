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


@dataclass(frozen=True, eq=False)
class ExprRV:
    """A whole number that a step of a schedule has drawn: stands for itself where primitives take numbers."""

    name: str
    target: int = field(repr=False)

    def __index__(self) -> int:
        return self.target

    def __int__(self) -> int:
        return self.target

    def __repr__(self) -> str:
        return f"ExprRV({self.name}: {self.target})"


ROOT = Var("root")
"""The target of a `LoopRV` that stands for "leave it where it is" (`sample_compute_location`)."""
INLINE = Var("inline")
"""The target of a `LoopRV` that stands for "put it into its users" (`sample_compute_location`)."""
Reference = LoopRV | BlockRV | ExprRV
Target = Var | str | int
"""What a reference stands for: a loop's variable, a block's name, or a drawn number."""


def make_reference(name: str, target: Target) -> Reference:
    if isinstance(target, str):
        return BlockRV(name, target)
    return LoopRV(name, target) if isinstance(target, Var) else ExprRV(name, target)
