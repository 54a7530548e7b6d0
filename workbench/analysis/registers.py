"""Whether the innermost loops' values fit in vector registers.

Model: while an innermost loop runs (with what is unrolled and vectorised in it), sums that stay in place are held in
registers all the time; of the operands, those are held that are used again while the outermost unrolled loop goes on;
every other operand takes one register for the moment.  What exceeds the target's registers is spilled to the stack.

    for use in register_use(sch, "llvm -mcpu=znver3"):
        use.loop, use.accumulators, use.operands, use.spills
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..arith.nodes import literal
from ..target.target import Target
from ..tir import nodes as t
from .cycles import innermost, kept_in_registers
from .fact import Fact, table
from .instances import Instances, instances, variables_in
from .programs import plain, target_of
from .sites import GuardedAccess, ordered


@dataclass(frozen=True)
class RegisterUse(Fact):
    """One innermost loop."""

    loop: str
    accumulators: int
    """Vectors that are added to in every iteration."""
    operands: int
    available: int

    @property
    def total(self) -> int:
        return self.accumulators + self.operands

    @property
    def spills(self) -> bool:
        return self.total > self.available

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "total": self.total, "spills": self.spills}


@dataclass(frozen=True)
class RegisterUses(Fact):
    loops: tuple[RegisterUse, ...]

    def __iter__(self) -> Any:
        return iter(self.loops)

    def __len__(self) -> int:
        return len(self.loops)

    @property
    def spills(self) -> bool:
        """Whether any loop needs more registers than there are."""
        return any(use.spills for use in self.loops)

    def __str__(self) -> str:
        rows = [
            (u.loop, u.accumulators, u.operands, u.total, u.available, f"spills {u.total - u.available}"
             if u.spills else "fits")
            for u in self.loops
        ]  # fmt: skip
        return table(("innermost loop", "sums", "operands", "in all", "registers", ""), rows) if rows else "no loop"


def register_use(program: Any, target: Any = None, sizes: Mapping[str, int] | None = None) -> RegisterUses:
    """An estimate for each innermost loop of a schedule or function."""
    func, chosen = plain(program, sizes), target_of(program, target)
    groups: dict[int, tuple[t.For, list[Instances]]] = {}
    for item in instances(func):
        loop = innermost(item.loops)
        if loop is not None and ordered(item.stmt):
            groups.setdefault(id(loop), (loop, []))[1].append(item)
    return RegisterUses(tuple(_use(loop, items, chosen) for loop, items in groups.values()))


def _use(loop: t.For, items: Sequence[Instances], target: Target) -> RegisterUse:
    found = [(access, _inside(item.loops, loop)) for item in items for access in ordered(item.stmt)]
    held = kept_in_registers(loop, [access for access, _ in found])
    stored = {
        id(access.buffer) for (access, _), is_held in zip(found, held, strict=True) if access.is_store and is_held
    }
    accumulators: dict[int, int] = {}
    operands: dict[int, int] = {}
    for (access, inside), is_held in zip(found, held, strict=True):
        key = id(access.buffer)
        if is_held and key in stored:
            accumulators[key] = max(accumulators.get(key, 0), _vectors(access, inside, target))
        elif not access.is_store:
            operands[key] = max(operands.get(key, 0), _reused(access, inside, target))
    return RegisterUse(loop.var.name, sum(accumulators.values()), sum(operands.values()), target.vector_registers)


def _inside(path: tuple[t.For, ...], loop: t.For) -> tuple[t.For, ...]:
    return path[next(i for i, item in enumerate(path) if item is loop) + 1 :]


def _reused(access: GuardedAccess, inside: tuple[t.For, ...], target: Target) -> int:
    """Registers that an operand takes: all its vectors if the outermost unrolled loop uses them again, else one."""
    unrolled = [loop for loop in inside if loop.kind is not t.ForKind.VECTORIZED]
    used = {name for index in access.indices for name in variables_in(index)}
    if unrolled and id(unrolled[0].var) not in used:
        return _vectors(access, inside, target)
    return 1


def _vectors(access: GuardedAccess, inside: tuple[t.For, ...], target: Target) -> int:
    """Vector registers for all elements of an access in one iteration."""
    used = {name for index in access.indices for name in variables_in(index)}
    count = 1
    for loop in inside:
        extent = literal(loop.extent, 1)
        if id(loop.var) not in used:
            continue
        if loop.kind is t.ForKind.VECTORIZED:
            count *= -(-extent * access.buffer.dtype.bits // (target.lanes * 32))
        else:
            count = prod((count, extent))
    return count
