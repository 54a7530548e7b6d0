"""Which expressions before a step those after it come from: by the origins that it recorded, else by likeness."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..core.node import traced_nodes
from ..relay.ir import expr as r
from ..relay.ir.plan import LEAVES
from .counterparts import counterparts, parts
from .origin_index import Resolver

if TYPE_CHECKING:
    from .history import Step

Sources = Callable[[Any], Iterable[Any]]
"""The nodes before the step that a node after it comes from; itself where the step did not touch it."""


def sources_in(step: Step) -> Callable[[r.Expr, r.Expr], Sources]:
    """For a function before a step and the one after it: what each expression of that comes from in this."""
    resolve = origins_before(step)
    return lambda one, other: _or_alike(resolve, one, other)


def origins_before(step: Step) -> Sources:
    """Which expressions before a step one after it (or made by it) comes from."""
    return Resolver(step.origins, {id(node): frozenset((node,)) for node in nodes_of(step.previous)})


def nodes_of(step: Step | None) -> Iterable[Any]:
    return traced_nodes(list(step.stage.module.functions.values())) if step is not None else ()


def _or_alike(resolve: Sources, before: r.Expr, after: r.Expr) -> Sources:
    """By the origins that a step recorded; what comes from nowhere is taken for what it is like.

    A pass may make the whole program again and record nothing.
    """
    old = {id(node) for node in traced_nodes(before)}
    like: list[Sources] = []

    def sources(expr: Any) -> Iterable[Any]:
        found = [node for node in resolve(expr) if id(node) in old]
        if found or isinstance(expr, LEAVES):
            return found
        if not like:
            like.append(by_likeness(before, after))
        return like[0](expr)

    return sources


def by_likeness(before: r.Expr, after: r.Expr) -> Sources:
    old, _ = parts(before)
    found = counterparts(after, before)
    return lambda expr: (old[found[id(expr)]],) if id(expr) in found else ()
