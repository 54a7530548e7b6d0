"""How `DominatorPattern` matches: upwards from the child, every path through `path` to one parent.

conv2d -> relu -> add        parent conv2d, path relu, child add: all of conv2d's values arrive in add
    \\----------> /
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.rewrite import Failure, Match
from ...core.trampoline import Task
from ..ir import expr as e
from ..ir.brief import brief
from ..ir.plan import plain_operands
from .patterns import meet

if TYPE_CHECKING:
    from .patterns import DominatorPattern


def visit_dominator(pattern: DominatorPattern, node: Any, match: Match) -> Task:
    """The failure of a dominator pattern at a node, or None."""
    failure = yield meet(pattern.child, node, match)
    if failure is not None:
        return failure
    region: dict[int, e.Expr] = {id(node): node}
    parents: dict[int, e.Expr] = {}
    stack: list[e.Expr] = [node]
    while stack:
        current = stack.pop()
        above = _inputs(current)
        if not above:
            return Failure("every way up leads to the parent", lambda: f"{brief(current)} has no operands")  # noqa: B023
        for operand in above:
            if id(operand) in region or id(operand) in parents:
                continue
            failure = yield _step(pattern, operand, match, region, parents)
            if failure is not None:
                return failure
            if id(operand) in region:
                stack.append(operand)
    return _escape(region, parents, node, match)


def _step(
    pattern: DominatorPattern, operand: e.Expr, match: Match, region: dict[int, e.Expr], parents: dict[int, e.Expr]
) -> Task:
    """Put an operand with the parents or into the region; the failure if it is neither."""
    mark = match.mark()
    failure = yield meet(pattern.parent, operand, match)
    if failure is None:
        parents[id(operand)] = operand
        return None
    match.back_to(mark)
    apart = Match(match.root, match.uses)  # a path's own names are met anew at each step
    refused = yield meet(pattern.path, operand, apart)
    if refused is not None:
        return Failure(
            lambda: f"{brief(operand)} is the parent or on the path: {refused.clause}", lambda: refused.found
        )
    match.bound[pattern.path] = (*match.bound.get(pattern.path, ()), operand)
    match.matched.append(operand)
    region[id(operand)] = operand
    return None


def _inputs(node: Any) -> tuple[e.Expr, ...]:
    """What an expression computes from (a called function is none of it)."""
    if isinstance(node, e.Call):
        return node.args
    return plain_operands(node) if isinstance(node, e.Expr) else ()


def _escape(region: dict[int, e.Expr], parents: dict[int, e.Expr], child: e.Expr, match: Match) -> Failure | None:
    """Whether a value from inside is used elsewhere: then the child does not dominate the parent."""
    edges: dict[int, int] = {}
    for node in region.values():
        for operand in _inputs(node):
            edges[id(operand)] = edges.get(id(operand), 0) + 1
    for node in [*region.values(), *parents.values()]:
        uses = match.uses(node)
        if node is not child and uses > edges.get(id(node), 0):
            return Failure(lambda node=node: f"{brief(node)} flows into {brief(child)} only", f"{uses} uses")
    return None
