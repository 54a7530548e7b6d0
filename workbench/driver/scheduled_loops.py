"""The loops of a schedule around each statement of the code made from it.

Code has no vectorised and no unrolled loops any more.  Where a statement came from, step by step, tells which loops it
stood in when the schedule was made; names do not, since loops of two stages may have one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arith.nodes import literal
from ..core.node import post_order, traced_in
from ..tir import nodes as t
from .origin_index import Resolver, Sources
from .trips import SPREAD, Nest, with_loops

if TYPE_CHECKING:
    from .session import Session

Loops = tuple[t.For, ...]


@dataclass(frozen=True)
class ScheduledLoops:
    """Of one kernel: `of(nest)` are the loops around a statement of its code, outermost first."""

    came: Mapping[int, Sources]
    """By identity, the nodes of the schedule's program that a node of code stems from."""
    around: Mapping[int, Loops]
    """By identity, the loops around a statement of that program, with itself."""

    def of(self, nest: Nest) -> Loops:
        """The schedule's loops that the statement runs in; those of code where it cannot be told which they were.

        A loop is left out where code has moved the statement out of it.
        """
        sources = [node for node in self.came.get(id(nest.statement), ()) if id(node) in self.around]
        alike = [node for node in sources if isinstance(node, type(nest.statement))]
        own = [told(loop) for loop in nest.loops]
        found = _shared(self.around[id(node)] for node in alike or sources)
        kept = tuple(
            loop for loop in found if told(loop) in own or loop.kind in SPREAD or literal(loop.extent, 0) == 1
        )
        rest = iter(map(told, kept))
        return kept if all(loop in rest for loop in own) else nest.loops


def scheduled_loops(session: Session, kernel: str) -> ScheduledLoops:
    """The loops of a kernel as it was scheduled, by what became of them."""
    first, path = session.plan.loop_step(), session.provenance.compiled.path
    function = path[first].stage.module[kernel]
    came: dict[int, Sources] = {id(node): frozenset((node,)) for node in traced_in((function,))}
    for step in path[first + 1 :]:
        resolve = Resolver(step.origins, came)
        came = {id(node): resolve(node) for node in traced_in((step.stage.module[kernel],))}
    around = {
        id(node): (*loops, node) if isinstance(node, t.For) else loops for node, loops in with_loops(function)
    }
    return ScheduledLoops(came, around | dict(_of_inits(function, around)))


def told(loop: t.For) -> tuple[str, str]:
    """A loop's name and its extent, where that is a number."""
    return loop.var.name, str(literal(loop.extent, "…"))


def _of_inits(function: t.PrimFunc, around: Mapping[int, Loops]) -> Iterable[tuple[int, Loops]]:
    """What a reduction begins with is not in the loops that it goes over."""
    for realize in post_order(function):
        if not isinstance(realize, t.BlockRealize) or realize.block.init is None:
            continue
        pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
        over = {id(node) for one, at in pairs if one.kind == t.IterKind.REDUCE for node in post_order(at)}
        for node, _ in with_loops(realize.block.init):
            yield id(node), tuple(loop for loop in around[id(node)] if id(loop.var) not in over)


def _shared(nests: Iterable[Loops]) -> Loops:
    """The loops that all of some nests begin with."""
    first, *others = [*nests] or [()]
    for other in others:
        length = next((at for at, (one, two) in enumerate(zip(first, other, strict=False)) if one is not two), None)
        first = first[: min(len(first), len(other)) if length is None else length]
    return first
