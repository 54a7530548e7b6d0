"""What the branches of an `If` read from around it: computed once, before it, not again in each branch.

    v = tanh(x);  if flag: v + 1  else: v - 1        # v stands before the if

A chain of n ifs that read each other would else be lowered 2**n times.
"""

from __future__ import annotations

from ..relay.ir import expr as r
from ..relay.ir.plan import Plan, Scope, plain_operands


def shared_by_branches(main: r.Function) -> dict[int, tuple[r.Expr, ...]]:
    """By the identity of each `If`: the expressions of the block around it that its branches read."""
    plan = Plan(main)
    choices = [expr for expr in plan.order if isinstance(expr, r.If)]
    owners: dict[int, r.If] = {id(scope): choice for choice in choices for scope in plan.inner[id(choice)]}
    found: dict[int, dict[int, r.Expr]] = {}

    def note(operand: r.Expr, scope: Scope) -> None:
        """An operand read in a block: it belongs before the choice, among those around, that its own block holds."""
        home = plan.place.get(id(operand))
        while home is not None and scope is not home and not isinstance(operand, r.Function):
            choice = owners.get(id(scope))
            if choice is None:
                return
            scope = plan.place[id(choice)]
            if scope is home:
                found.setdefault(id(choice), {})[id(operand)] = operand

    for expr in plan.order if choices else ():
        for operand in plain_operands(expr):
            note(operand, plan.place[id(expr)])
        for scope in plan.inner.get(id(expr), ()) if isinstance(expr, r.If) else ():
            note(scope.result, scope)
    return {choice: tuple(operands.values()) for choice, operands in found.items()}
