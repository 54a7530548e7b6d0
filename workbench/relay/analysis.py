"""Questions about relay programs, under their classic names (`relay.analysis`).

>>> from workbench.relay.ir.expr import Tuple, Var
>>> x = Var("x")
>>> [variable.name_hint for variable in free_vars(Tuple((x, x)))]
['x']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..core.equal import free_variables
from ..core.module import IRModule
from ..core.node import Node, post_order
from .ir import expr as e
from .ir import types as t
from .ir.operator import Operator
from .ir.plan import bound_variables, expressions
from .ir.verify import verify, well_formed

__all__ = [
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "bound_vars",
    "free_type_vars",
    "free_vars",
    "list_op_freqs",
    "post_order_visit",
    "verify",
    "well_formed",
]


def post_order_visit(expr: e.Expr, fvisit: Callable[[e.Expr], None]) -> None:
    """Call `fvisit` on each expression once, operands first."""
    for node in expressions(expr):
        fvisit(node)


def free_vars(expr: e.Expr) -> list[e.Var]:
    """Variables that nothing in the expression binds, in order of first use."""
    return [variable for variable in free_variables(expr) if isinstance(variable, e.Var)]


def bound_vars(expr: e.Expr) -> list[e.Var]:
    """Variables that the expression binds: parameters, lets, patterns."""
    return [variable for node in expressions(expr) for variable in bound_variables(node)]


def all_vars(expr: e.Expr) -> list[e.Var]:
    """Every variable of the expression, bound or free."""
    return [node for node in post_order(expr) if isinstance(node, e.Var)]


def free_type_vars(expr: Node) -> list[t.TypeVar]:
    """Type variables that nothing in the expression (or type) binds."""
    return [variable for variable in free_variables(expr) if isinstance(variable, t.TypeVar)]


def all_type_vars(expr: Node) -> list[t.TypeVar]:
    """Every type variable of the expression (or type)."""
    return [node for node in post_order(expr) if isinstance(node, t.TypeVar)]


def all_dtypes(expr: e.Expr) -> set[str]:
    """The dtypes of all tensors of an expression whose types are known."""
    found = [node.type_or_none for node in expressions(expr)]
    parts = post_order([one for one in found if one is not None])
    return {str(part.dtype) for part in parts if isinstance(part, t.TensorType)}


def list_op_freqs(mod: IRModule | e.Expr) -> dict[str, int]:
    """How often each operator is called."""
    nodes = mod.nodes() if isinstance(mod, IRModule) else post_order(mod)
    calls = (node.op.name for node in nodes if isinstance(node, e.Call) and isinstance(node.op, Operator))
    return dict(Counter(calls))
