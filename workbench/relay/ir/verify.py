"""Well-formedness of relay programs: a table of named checks.

>>> from .expr import Function, Tuple, Var
>>> x = Var("x")
>>> [violation.check for violation in verify(Function((x, x), Tuple((x, Var("y")))))]
['bound-once', 'in-scope']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import post_order
from . import expr as e
from . import types as t
from .brief import brief
from .infer import infer_type
from .operator import Operator
from .operator_type import asked_type
from .plan import LEAVES, Plan, Scope, bound_variables, common, pattern_variables, plain_operands


@dataclass(frozen=True)
class Violation:
    """One broken rule: the check's name, what is wrong, and the node concerned."""

    check: str
    message: str
    node: e.Expr
    function: str = ""

    def __str__(self) -> str:
        where = f" in @{self.function}" if self.function else ""
        return f"{self.check}{where}: {self.message}"


@dataclass(frozen=True)
class _Subject:
    """A function under examination."""

    root: e.Expr
    mod: IRModule
    plan: Plan


Found = Iterator[tuple[e.Expr, str]]


def _bound_once(subject: _Subject) -> Found:
    """A variable is bound at one place."""
    seen: set[int] = set()
    for expr in subject.plan.order:
        for variable in bound_variables(expr):
            if id(variable) in seen:
                yield variable, f"%{variable.name_hint} is bound more than once"
            seen.add(id(variable))


def _binders(plan: Plan) -> dict[int, tuple[Scope, Scope | None]]:
    """For each bound variable the scope in which it may stand, and for let-bound functions that of its own body."""
    found: dict[int, tuple[Scope, Scope | None]] = {}
    for expr in plan.order:
        if isinstance(expr, e.Function):
            for param in expr.params:
                found.setdefault(id(param), (plan.inner[id(expr)][0], None))
        elif isinstance(expr, e.Match):
            for clause, scope in zip(expr.clauses, plan.inner.get(id(expr), ()), strict=True):
                for variable in pattern_variables(clause.lhs):
                    found.setdefault(id(variable), (scope, None))
        elif isinstance(expr, e.Let):
            block = plan.place[id(expr)] if id(expr) in plan.tails else plan.inner[id(expr)][0]
            own = plan.inner[id(expr.value)][0] if isinstance(expr.value, e.Function) else None
            if block.rest is not None:
                found.setdefault(id(expr.var), (block.rest, own))
    return found


def _inside(scope: Scope, outer: Scope) -> bool:
    return common(scope, outer) is outer


def _in_scope(subject: _Subject) -> Found:
    """A variable stands only where its binder reaches; a function of the module has no free variables."""
    plan = subject.plan
    binders = _binders(plan)
    for user, used, scope in _uses(plan):
        if not isinstance(used, e.Var):
            continue
        reach = binders.get(id(used))
        if reach is None:
            yield used, f"%{used.name_hint} is not bound by anything, in {brief(user)}"
        elif not _inside(scope, reach[0]) and (reach[1] is None or not _inside(scope, reach[1])):
            yield used, f"%{used.name_hint} is used outside the reach of its binder, in {brief(user)}"


def _uses(plan: Plan) -> Iterator[tuple[e.Expr, e.Expr, Scope]]:
    """(user, operand, the scope of the use) for every leaf operand."""
    if isinstance(plan.root, LEAVES):
        yield plan.root, plan.root, plan.top
    for expr in plan.order:
        here = plan.place[id(expr)]
        if isinstance(expr, e.Let):
            block = here if id(expr) in plan.tails else plan.inner[id(expr)][0]
            yield expr, expr.value, block
            yield expr, expr.body, block.rest or block
            continue
        for scope in plan.inner.get(id(expr), ()):
            yield expr, scope.result, scope
        for operand in plain_operands(expr):
            yield expr, operand, here


def _globals_exist(subject: _Subject) -> Found:
    """Names of functions and data types are defined in the module."""
    for node in post_order(subject.root):
        if isinstance(node, e.GlobalVar) and node.name_hint not in subject.mod:
            yield node, f"the module has no function @{node.name_hint}"
        elif isinstance(node, e.Constructor):
            data = subject.mod.type_definitions.get(node.belong_to)
            names = [one.name_hint for one in data.constructors] if isinstance(data, t.TypeData) else []
            if node.name_hint not in names:
                yield node, f"{node.belong_to} has no constructor {node.name_hint}"


def _types_agree(subject: _Subject) -> Found:
    """What is remembered as an expression's type is what inference finds; everything can be typed."""
    for expr in subject.plan.order:
        if isinstance(expr, e.Call) and isinstance(expr.op, Operator) and expr.type_or_none is not None:
            types = [argument.type_or_none for argument in expr.args]
            if any(found is None for found in types):
                yield expr, f"{brief(expr)} has a type but an operand has none"
                continue
            found = asked_type(expr.op, [one for one in types if one is not None], expr.args)
            if found != expr.checked_type:
                yield expr, f"{brief(expr)} is {found!r}, remembered as {expr.checked_type!r}"
    try:
        infer_type(subject.root, subject.mod)
    except WorkbenchError as error:
        yield (error.nodes[0] if error.nodes else subject.root), f"{error.code} {error.message}"


def _kernels_are_closed(subject: _Subject) -> Found:
    """A function marked Primitive holds operators, tuples and constants only, of its own parameters."""
    for expr in subject.plan.order:
        if not isinstance(expr, e.Function) or not expr.is_primitive:
            continue
        own = {id(param) for param in expr.params}
        for node in post_order(expr.body):
            if isinstance(node, e.Var) and id(node) not in own:
                yield node, f"%{node.name_hint} enters a primitive function without being a parameter"
            elif isinstance(node, e.Expr) and not isinstance(node, _IN_KERNELS):
                yield node, f"{type(node).__name__} cannot stand in a primitive function"
            elif isinstance(node, e.Call) and not isinstance(node.op, Operator):
                yield node, "a primitive function calls operators only"


_IN_KERNELS = (e.Var, e.Constant, e.Call, e.Tuple, e.TupleGetItem)

CHECKS: dict[str, Callable[[_Subject], Found]] = {
    "bound-once": _bound_once,
    "in-scope": _in_scope,
    "globals-exist": _globals_exist,
    "types-agree": _types_agree,
    "kernels-closed": _kernels_are_closed,
}
"""Every check by name."""


def verify(program: IRModule | e.Expr, mod: IRModule | None = None) -> list[Violation]:
    """All violations of the checks, in order; empty for a well-formed program.

    A structural violation in a function ends the checks of that function: what follows would build on sand.
    """
    if isinstance(program, IRModule):
        functions = {name: func for name, func in program.items() if isinstance(func, e.Expr)}
        return [found for name, func in functions.items() for found in _examine(func, program, name)]
    return _examine(program, mod or IRModule({}), "")


def _examine(root: e.Expr, mod: IRModule, name: str) -> list[Violation]:
    subject = _Subject(root, mod, Plan(root))
    found: list[Violation] = []
    for check, function in CHECKS.items():
        if check == "types-agree" and found:
            break
        found += [Violation(check, message, node, name) for node, message in function(subject)]
    return found


def require_well_formed(program: IRModule | e.Expr, where: str = "") -> None:
    """Raise `WorkbenchError` E-RELAY-MALFORMED naming the first violations, if there are any."""
    found = verify(program)
    if found:
        raise WorkbenchError(
            "E-RELAY-MALFORMED",
            "; ".join(str(violation) for violation in found[:3]),
            where=where,
            expected="a well-formed program",
            nodes=[violation.node for violation in found],
        )


def well_formed(program: IRModule | e.Expr) -> bool:
    """True if every check passes (classic name)."""
    return not verify(program)
