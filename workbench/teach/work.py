"""A student's work as checks see it: the start, the program that the answer made of it, and facts about both.

Invariant: work is made from an answer's *outcome* (a trace, a program's text, a value), never from the student's
objects; so whatever the student's code did to its own process, the facts here are computed by untouched code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..analysis.tree import BlockSite, Tree, extent_of
from ..arith import build
from ..arith.nodes import IntImm
from ..arith.scope import variables_in
from ..core.errors import WorkbenchError
from ..schedule.registry import PRIMITIVES
from ..schedule.schedule import Schedule
from ..tir import nodes as t
from ..tir.interpret import interpret
from ..tir.transforms.lower_blocks import lower_blocks


class Unmet(Exception):
    """A check cannot even be asked: what it speaks of is not there.  The text is the reason."""


@dataclass(eq=False)
class Work:
    """See the module's header."""

    shapes: Mapping[str, int]
    start: Any
    """The program that the exercise begins with: a `PrimFunc`, or whatever `start` gave."""
    func: t.PrimFunc | None = None
    schedule: Schedule | None = None
    value: Any = None
    module: Any = None
    """For passes: the program after the pass."""

    @property
    def function(self) -> t.PrimFunc:
        if self.func is None:
            raise Unmet("the answer made no program")
        return self.func

    @cached_property
    def tree(self) -> Tree:
        return Tree.of(self.function)

    @property
    def steps(self) -> tuple[Any, ...]:
        """The steps of the schedule that do something (no getters)."""
        if self.schedule is None:
            return ()
        return tuple(step for step in self.schedule.trace if PRIMITIVES[step.primitive].category != "get")

    def site(self, block: str) -> BlockSite:
        """The block of a name, or the update that a decomposed reduction left of it."""
        for name in (block, f"{block}_update"):
            if name in self.tree.blocks:
                return self.tree.blocks[name]
        there = ", ".join(name for name in self.tree.blocks if name != "root")
        raise Unmet(f"there is no block {block}; the program has {there or 'none'}")

    # --- numbers ---

    @cached_property
    def written(self) -> tuple[t.Buffer, ...]:
        """The parameters that are written, in order."""
        return written_parameters(self.function)

    @cached_property
    def numbers(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(inputs, outputs) of one run in the checking interpreter on small integers; races are checked.

        Raises the `WorkbenchError` of the run.
        """
        return run(self.function)


def written_parameters(func: t.PrimFunc) -> tuple[t.Buffer, ...]:
    """The buffer parameters that some block writes."""
    leaves = Tree.of(func).leaves
    stored = {id(region.buffer) for site in leaves for region in site.block.writes}
    return tuple(item for item in func.params if isinstance(item, t.Buffer) and id(item) in stored)


def run(func: t.PrimFunc, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(inputs, outputs) of the checking interpreter on integers from -4 to 4, so that sums are exact in any order."""
    random = np.random.default_rng(seed)
    written = {id(item) for item in written_parameters(func)}
    arrays: list[np.ndarray] = []
    for item in func.params:
        if not isinstance(item, t.Buffer):
            raise WorkbenchError("E-TEACH-PARAMETER", f"{item.name} is a number; exercises have arrays only")
        shape = tuple(extent_value(extent) for extent in item.shape)
        kind = item.dtype.to_numpy()
        full = np.zeros(shape, kind) if id(item) in written else random.integers(-4, 5, shape).astype(kind)
        arrays.append(full)
    # After blocks are lowered: what a parallel iteration keeps to itself is its own there.
    interpret(lower_blocks(func), *arrays, check_races=True)
    pairs = list(zip(func.params, arrays, strict=True))
    inputs = [array for item, array in pairs if id(item) not in written]
    return inputs, [array for item, array in pairs if id(item) in written]


def extent_value(extent: Any) -> int:
    if not isinstance(extent, IntImm):
        raise WorkbenchError("E-TEACH-SHAPE", "the extents of an answer are numbers", found=str(extent))
    return extent.value


# --- loops --------------------------------------------------------------------------------------------------------


def stride(site: BlockSite, region: t.BufferRegion, loop: t.For) -> int | None:
    """By how many elements a region moves in memory from one iteration of `loop` to the next; None: not constant."""
    address = build.const(0)
    for extent, part in zip(region.buffer.shape, region.region, strict=True):
        address = address * extent + part.min
    form, scope = site.over_loops(address), site.forms
    moved = form.terms.get(scope.number_of(loop.var), 0)
    return None if scope.moves(form.plus(scope.variable(loop.var), -moved), {scope.number_of(loop.var)}) else moved


def moves(site: BlockSite, loop: t.For) -> dict[str, int | None]:
    """`stride` of everything that a block touches, by buffer; of two regions of one buffer the farther one."""
    found: dict[str, int | None] = {}
    for region in (*site.block.writes, *site.block.reads):
        own = stride(site, region, loop)
        known = found.get(region.buffer.name, 0)
        found[region.buffer.name] = None if own is None or known is None else max(own, known, key=abs)
    return found


def is_contiguous(site: BlockSite, loop: t.For) -> bool:
    """Whether neighbouring iterations write neighbouring elements, and read the same or neighbouring ones."""
    written = [stride(site, region, loop) for region in site.block.writes]
    read = [stride(site, region, loop) for region in site.block.reads]
    return all(step == 1 for step in written) and all(step in (0, 1) for step in read)


def names_of(loops: tuple[t.For, ...]) -> tuple[str, ...]:
    return tuple(loop.var.name for loop in loops)


def get_loops(site: BlockSite) -> str:
    """The line of Python that names the loops around a block."""
    left = ", ".join(names_of(site.loops))
    return f'{left}{"," if len(site.loops) == 1 else ""} = sch.get_loops("{site.name}")'


__all__ = [
    "Unmet",
    "Work",
    "extent_of",
    "get_loops",
    "is_contiguous",
    "moves",
    "names_of",
    "run",
    "stride",
    "variables_in",
    "written_parameters",
]
