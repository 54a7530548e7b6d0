"""A function's text statement by statement: what each line says, and what its values are called.

    before = listing(main)
    after = listing(rewritten, wishes={id(call): "v7"}, spared=set(before.names.values()))
    after.lines_of(call)        # ["    v7 = R.nn.relu(v6)"]

A text in which values are named after those of an earlier version can be compared with it line by line: an expression
put in or taken out renames nothing.  Any such text parses back to the same program; names of values are no part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ...core.node import Node, map_children
from ...core.text import Text, layout
from ...core.walks import parts_first
from . import expr as e
from .brief import brief
from .operator import Operator
from .plan import LEAVES, Plan, expressions, operands
from .script import Printer
from .script_values import Names


@dataclass(frozen=True)
class Listing:
    """The text of a function with its statements; what is in primitive functions belongs to these."""

    text: Text
    names: Mapping[int, str]
    """What the text calls a variable or a value, by identity."""
    statements: tuple[e.Expr, ...]
    """Expressions that are written on lines of their own, operands first."""
    parts: tuple[tuple[e.Expr, e.Expr], ...]
    """Every expression but variables and constants, with the statement that it is written in."""

    @cached_property
    def statement_of(self) -> Mapping[int, e.Expr]:
        """The statement that an expression is written in, by the expression's identity."""
        return {id(part): statement for part, statement in self.parts}

    @cached_property
    def lines(self) -> list[str]:
        return self.text.text.rstrip("\n").split("\n")

    @cached_property
    def owners(self) -> list[e.Expr | None]:
        """The statement of each line; None for what belongs to the function itself, like its head."""
        ranges: list[tuple[int, int, e.Expr]] = []
        wanted = {id(statement): statement for statement in self.statements}
        for node, span in self.text.spans:
            if id(node) in wanted:
                first, last = self.text.position(span.start)[0], self.text.position(span.end)[0]
                ranges.append((last - first, first, wanted.pop(id(node))))
        owners: list[e.Expr | None] = [None] * len(self.lines)
        for length, first, statement in sorted(ranges, key=lambda found: -found[0]):  # inner ones last
            owners[first - 1 : first + length] = [statement] * (length + 1)
        return owners

    @cached_property
    def _lines_by_statement(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, owner in enumerate(self.owners):
            found.setdefault(id(owner), []).append(number)
        return found

    def numbers_of(self, statement: e.Expr | None) -> list[int]:
        """The lines of a statement, from 0, without those of statements inside; of None: the function's own."""
        return self._lines_by_statement.get(id(statement), [])

    def lines_of(self, statement: e.Expr | None) -> list[str]:
        """The text of a statement."""
        return [self.lines[number] for number in self.numbers_of(statement)]


def listing(
    program: e.Expr, name: str = "main", wishes: Mapping[int, str] | None = None, spared: Collection[str] = ()
) -> Listing:
    """The listing of a function; `wishes` and `spared` as `Names` has them."""
    printer = Printer(program, name, Names(wishes, spared))
    plan = printer.plan
    kernels = _kernels(plan, program)
    bound = {id(expr.value) for expr in plan.order if isinstance(expr, e.Let)}
    statements: list[e.Expr] = []
    statement_of: dict[int, e.Expr] = {}
    for expr in reversed(plan.order):  # users first
        inside = id(expr) in plan.tails or (id(expr) in plan.inlined and id(expr) not in bound)
        if id(expr) in kernels:
            statement_of[id(expr)] = kernels[id(expr)]
        elif not inside and expr is not program:
            statement_of[id(expr)] = expr
            statements.append(expr)
        here = statement_of.get(id(expr))
        for operand in operands(expr):
            if here is not None and not isinstance(operand, LEAVES):
                statement_of.setdefault(id(operand), here)
    text = layout(program, printer.pieces, "top")
    parts = tuple((expr, statement_of[id(expr)]) for expr in plan.order if id(expr) in statement_of)
    return Listing(text, printer.names.known, tuple(reversed(statements)), parts)


def _kernels(plan: Plan, root: e.Expr) -> dict[int, e.Expr]:
    """The primitive function around each expression that is inside of one."""
    found: dict[int, e.Expr] = {}
    for expr in plan.order:
        if isinstance(expr, e.Function) and expr.is_primitive and expr is not root:
            found.update((id(inner), expr) for inner in expressions(expr) if inner is not expr)
    return found


def fragment(
    root: e.Expr, inside: Collection[int], called: Callable[[e.Expr], str | None], spared: Collection[str] = ()
) -> list[str]:
    """The lines of a piece of a graph: `root` and what of its operands is `inside` (by identity); others by name.

    `called` gives the names that expressions have in the program around, None where they have none; these are given
    others than the `spared`.  Kernels are written whole.  Not meant to be parsed.
    """
    if isinstance(root, LEAVES):
        return [_assigned(called(root), brief(root))]
    made: dict[int, Node] = {}
    wishes: dict[int, str] = {}
    for expr in _inside(root, inside, called):
        made[id(expr)] = _cut(expr, made, called)
        name = called(expr)
        if name is not None:
            wishes[id(made[id(expr)])] = name
    cut = made[id(root)]
    assert isinstance(cut, e.Expr)
    lines = listing(cut, wishes=wishes, spared=spared).lines
    if isinstance(cut, e.Function):
        return lines
    lines = [line[4:] for line in lines[2:] if " = R.free_var(" not in line]
    result = lines.pop().removeprefix("return ")
    return lines if lines and lines[-1].startswith(f"{result} = ") else [*lines, _assigned(called(root), result)]


def _assigned(name: str | None, value: str) -> str:
    return f"{name} = {value}" if name and name != value else value


def _inside(
    root: e.Expr, inside: Collection[int], called: Callable[[e.Expr], str | None]
) -> Iterator[e.Expr]:
    """`root` and the operands that are written in its place, operands first; what kernels hold is left to them."""

    def written(one: e.Expr) -> bool:
        """What is inside; and tuples and items without a name, which stand in the line of what reads them."""
        return id(one) in inside or (isinstance(one, (e.Tuple, e.TupleGetItem)) and called(one) is None)

    def below(current: e.Expr) -> list[e.Expr]:
        parts = operands(current) if not isinstance(current, e.Function) else ()
        return [one for one in parts if written(one) and not isinstance(one, LEAVES)]

    return parts_first([root], below)


def _cut(expr: e.Expr, made: dict[int, Node], called: Callable[[e.Expr], str | None]) -> Node:
    """An expression whose operands outside are variables of their names."""
    if isinstance(expr, e.Function):
        return expr

    def shown(child: Node) -> Node:
        if isinstance(child, e.Clause):
            return map_children(child, shown)
        if id(child) in made or not isinstance(child, e.Expr) or isinstance(child, (*LEAVES, e.Function)):
            return made.get(id(child), child)
        made[id(child)] = e.Var(called(child) or _stem(child))
        return made[id(child)]

    return map_children(expr, shown)


def _stem(expr: e.Expr) -> str:
    named = isinstance(expr, e.Call) and isinstance(expr.op, Operator)
    return expr.op.name.rsplit(".", 1)[-1] if named else "value"  # type: ignore[attr-defined, union-attr]
