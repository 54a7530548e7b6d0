"""How each access moves with each loop: unit steps, strides, the same element again, or somewhere by data.

for pattern in access_patterns(matmul):
    print(pattern.name, pattern.steps)        # load B  {'i': 'broadcast', 'j': 'unit', 'k': 'strided 64'}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..arith.nodes import literal
from ..arith.scope import Scope
from ..target.target import Target
from ..tir import nodes as t
from ..tir.script import script
from .element_sets import row_major
from .fact import Fact, table
from .footprint import loops_of
from .instances import instances, variables_in
from .programs import plain, target_of
from .regions import accesses
from .sites import GuardedAccess, ordered

UNIT, BROADCAST, GATHER, IRREGULAR = "unit", "broadcast", "gather", "irregular"


@dataclass(frozen=True)
class Pattern(Fact):
    """One load or store: its index as it stands in the lowered program, and its step with each loop around it."""

    name: str
    buffer: str
    is_store: bool
    index: str
    steps: Mapping[str, str]
    """By loop, outermost first: "unit" (next element), "strided n", "broadcast" (the same element), "irregular"
    (through // or %), "gather" (an index that is loaded)."""
    strides: Mapping[str, int | None]
    """The same in elements; None where there is no one number."""


@dataclass(frozen=True)
class Patterns(Fact):
    """See the module's header."""

    patterns: tuple[Pattern, ...]

    def __iter__(self) -> Any:
        return iter(self.patterns)

    def __len__(self) -> int:
        return len(self.patterns)

    def __str__(self) -> str:
        rows = [
            (p.name, p.index, ", ".join(f"{loop}: {step}" for loop, step in p.steps.items())) for p in self.patterns
        ]
        return table(("access", "element", "when a loop goes on"), rows)


def access_patterns(program: Any, sizes: Mapping[str, int] | None = None) -> Patterns:
    """The steps of all loads and stores of a schedule or function, buffers compact and row-major."""
    found: list[Pattern] = []
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    for item in instances(plain(program, sizes)):
        for access in ordered(item.stmt):
            pattern = _pattern(access, item.loops)
            key = (pattern.name, pattern.index, tuple(pattern.steps))
            if key not in seen:
                seen.add(key)
                found.append(pattern)
    return Patterns(tuple(found))


def _pattern(access: GuardedAccess, loops: tuple[t.For, ...]) -> Pattern:
    strides = {loop.var.name: stride_of(access, loop) for loop in loops}
    steps = {loop.var.name: _step(access, loop, strides[loop.var.name]) for loop in loops}
    indices = ", ".join(script(index) for index in access.indices)
    name = f"{'store' if access.is_store else 'load'} {access.buffer.name}"
    return Pattern(name, access.buffer.name, access.is_store, f"{access.buffer.name}[{indices}]", steps, strides)


def stride_of(access: GuardedAccess, loop: t.For) -> int | None:
    """By how many elements an access moves when `loop` goes on by one; None if that is not one number."""
    total = 0
    for index, stride in zip(access.indices, row_major(access.buffer), strict=True):
        scope = Scope()
        variable = scope.atoms.variable_number(loop.var)
        for atom, factor in scope.linear(index).terms.items():
            if variable in scope.variables(atom):
                if atom != variable:
                    return None
                total += factor * stride
        if any(id(loop.var) in variables_in(part) for load in accesses(index) for part in load.indices):
            return None
    return total


def _step(access: GuardedAccess, loop: t.For, stride: int | None) -> str:
    if stride is None:
        gathers = any(
            id(loop.var) in variables_in(part)
            for index in access.indices
            for load in accesses(index)
            for part in load.indices
        )
        return GATHER if gathers else IRREGULAR
    return BROADCAST if stride == 0 else UNIT if abs(stride) == 1 else f"strided {stride}"


# --- vectorised loops ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorUse(Fact):
    """One vectorised loop: how many lanes it has, how many registers one of its vectors takes, and what spoils it."""

    loop: str
    extent: int
    dtype: str
    """The widest type stored in it."""
    lanes: int
    """Elements of that type in one register of the target."""
    registers: int
    remarks: tuple[str, ...]

    @property
    def full(self) -> bool:
        """Whether the loop fills its registers."""
        return self.extent % self.lanes == 0


@dataclass(frozen=True)
class VectorUses(Fact):
    loops: tuple[VectorUse, ...]

    def __iter__(self) -> Any:
        return iter(self.loops)

    def __len__(self) -> int:
        return len(self.loops)

    def __str__(self) -> str:
        rows = [
            (v.loop, v.extent, f"{v.dtype} x {v.lanes}", v.registers, "; ".join(v.remarks) or "good")
            for v in self.loops
        ]
        return table(("loop", "extent", "register", "registers", "remarks"), rows) if rows else "no vectorised loop"


def vector_widths(program: Any, target: Any = None, sizes: Mapping[str, int] | None = None) -> VectorUses:
    """The vectorised loops of a schedule or function against the registers of `target`."""
    func, chosen = plain(program, sizes), target_of(program, target)
    found = instances(func)
    made: list[VectorUse] = []
    for loop, _ in loops_of(func):
        if loop.kind is t.ForKind.VECTORIZED:
            under = [item for item in found if any(other is loop for other in item.loops)]
            inside = [access for item in under for access in ordered(item.stmt)]
            made.append(_vector_use(loop, inside, chosen))
    return VectorUses(tuple(made))


def _vector_use(loop: t.For, inside: list[GuardedAccess], target: Target) -> VectorUse:
    stored = [access.buffer.dtype for access in inside if access.is_store]
    widest = max(stored, key=lambda dtype: dtype.bits) if stored else None
    bits = widest.bits if widest is not None else 32
    lanes = max(1, target.lanes * 32 // bits)
    extent = literal(loop.extent, 0)
    remarks: list[str] = []
    if extent % lanes:
        remarks.append(f"fills {extent} of {-(-extent // lanes) * lanes} lanes")
    for access in inside:
        step = _step(access, loop, stride_of(access, loop))
        if step not in (UNIT, BROADCAST):
            remarks.append(f"{'store' if access.is_store else 'load'} {access.buffer.name} is {step}")
    return VectorUse(
        loop.var.name,
        extent,
        str(widest or "float32"),
        lanes,
        -(-extent // lanes),
        tuple(dict.fromkeys(remarks)),
    )
