"""Printing expressions: minimal parentheses, and names for parts that are too deep or too often repeated.

A printing function takes the printer, the node and the precedence around it, and answers pieces for
`core.text.layout`.  The context `DEFINE` asks for the expression itself where it would else print as its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import const
from ...arith.intrinsics import INTRINSICS
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.node import Node
from ...core.text import NEWLINE, Child, Piece
from ..nodes import BufferLoad
from ..scopes import parts
from .constants import (
    ATOM,
    COMPARE,
    EXPLICIT,
    FUNCTIONS,
    HELPERS,
    INFIX,
    LOWEST,
    NOT,
    UNARY,
    float_literal,
    is_dtype_word,
    natural_dtype,
    quoted,
    takes_literals,
)
from .names import Names

DEFINE: Final = "define"
HEIGHT_LIMIT: Final = 80
"""Levels of nesting that a printed expression may have; `ast` reads about twice as many."""
REPEAT_LIMIT: Final = 64
"""A shared part with more nodes than this is written once and named."""

Pieces = Sequence[Piece]


class ExprPrinter:
    """What printing expressions needs to know: names of variables, and of abbreviated parts."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.abbreviated: dict[int, str] = {}

    def definitions(self, *expressions: Node | None) -> list[Piece]:
        """Lines ``e0: T.expr = ...`` that must stand before these expressions (usually none).

        To be called once by a statement's printer: it ends the use of earlier abbreviations, whose text is laid out
        by then.
        """
        self.abbreviated.clear()
        pieces: list[Piece] = []
        for node in _to_abbreviate(expressions):
            name = self.names.abbreviation()
            pieces += [f"{name}: T.expr = ", Child(node, DEFINE), NEWLINE]
            self.abbreviated[id(node)] = name
        return pieces

    def needs_definitions(self, expr: Node) -> bool:
        """Whether an expression cannot be written in one piece."""
        return bool(_to_abbreviate((expr,)))

    def expression(self, node: n.PrimExpr, context: Any) -> Pieces:
        if context != DEFINE:
            name = self.abbreviated.get(id(node))
            if name is not None:
                return [name]
        outer = context if isinstance(context, int) else LOWEST
        printer = _PRINTERS.get(type(node))
        if printer is None:
            raise WorkbenchError(
                "E-TIR-PRINT", f"no text for an expression of class {type(node).__name__}", nodes=(node,)
            )
        return printer(self, node, outer)


def _to_abbreviate(expressions: Sequence[Node | None]) -> list[Node]:
    """The parts of these expressions that need a name, inner ones first."""
    height: dict[int, int] = {}
    size: dict[int, int] = {}
    order = _post_order([node for node in expressions if node is not None])
    uses = Counter([id(part) for _, inner in order for part in inner])
    chosen: list[Node] = []
    for node, inner in order:
        height[id(node)] = 1 + max([height[id(part)] for part in inner], default=0)
        size[id(node)] = 1 + sum([size[id(part)] for part in inner])
        repeated = uses[id(node)] > 1 and size[id(node)] > REPEAT_LIMIT
        if height[id(node)] > HEIGHT_LIMIT or repeated:
            chosen.append(node)
            height[id(node)] = size[id(node)] = 1
    return chosen


def _post_order(roots: Sequence[Node]) -> list[tuple[Node, tuple[Node, ...]]]:
    """The expressions with their parts, parts first."""
    seen: set[int] = set()
    order: list[tuple[Node, tuple[Node, ...]]] = []
    entered: list[tuple[Node, tuple[Node, ...]]] = []
    stack: list[Node | None] = [*reversed(roots)]
    while stack:
        node = stack.pop()
        if node is None:  # the parts of the expression entered last are done
            order.append(entered.pop())
        elif id(node) not in seen:
            seen.add(id(node))
            inner = parts(node)
            if not inner:
                order.append((node, inner))
                continue
            entered.append((node, inner))
            stack.append(None)
            stack.extend(reversed(inner))
    return order


def wrapped(pieces: Pieces, own: int, outer: int) -> Pieces:
    """`pieces` in parentheses if their operator binds less tightly than the place demands."""
    return pieces if own >= outer else ["(", *pieces, ")"]


def separated(children: Sequence[Any], context: Any = LOWEST, before: bool = False) -> list[Piece]:
    """Nodes (or ready pieces) with commas between them; also before the first if `before`."""
    pieces: list[Piece] = []
    for index, child in enumerate(children):
        if index or before:
            pieces.append(", ")
        pieces.append(child if isinstance(child, (str, Child)) else Child(child, context))
    return pieces


# --- leaves -------------------------------------------------------------------------------------------------------


def _variable(printer: ExprPrinter, node: n.Var, outer: int) -> Pieces:
    return [printer.names.printed(node)]


def _integer(printer: ExprPrinter, node: n.IntImm, outer: int) -> Pieces:
    dtype = node.dtype
    if type(node.value) is int and dtype.is_bool and not dtype.is_vector and node.value in (0, 1):
        text = "True" if node.value else "False"
        return [f"T.bool({text})" if outer == EXPLICIT else text]
    if type(node.value) is not int or not dtype.is_integer or dtype.is_vector or not _fits(node.value, dtype):
        return [f'T.IntImm({node.value!r}, "{dtype}")']
    if dtype == "int64" and outer != EXPLICIT:
        return wrapped([str(node.value)], UNARY if node.value < 0 else ATOM, outer)
    return [f"T.{dtype}({node.value})"]


def _fits(value: int, dtype: DataType) -> bool:
    low, high = dtype.limits()
    return low <= value <= high


def _float(printer: ExprPrinter, node: n.FloatImm, outer: int) -> Pieces:
    text = float_literal(node.value, node.dtype)
    exact = node.dtype.is_float and not node.dtype.is_vector and type(node.value) is float
    if exact:
        made = const(float(text.strip('"')), node.dtype)
        exact = isinstance(made, n.FloatImm) and made.value.hex() == node.value.hex()
    return (
        [f"T.{node.dtype}({text})"]
        if exact
        else [f'T.FloatImm({float_literal(node.value, DataType("float64"))}, "{node.dtype}")']
    )


def _string(printer: ExprPrinter, node: n.StringImm, outer: int) -> Pieces:
    return [quoted(node.value)] if node.dtype == "handle" else [f'T.StringImm({quoted(node.value)}, "{node.dtype}")']


# --- operators ----------------------------------------------------------------------------------------------------


def _binary(printer: ExprPrinter, node: n.BinaryExpr, outer: int) -> Pieces:
    cls = type(node)
    odd = node.a.dtype != node.b.dtype or node.a.dtype.is_handle or (cls in (n.And, n.Or) and not node.a.dtype.is_bool)
    if odd:
        return [f"T.{cls.__name__}(", *separated((node.a, node.b)), ")"]
    if cls in FUNCTIONS and not (cls in INFIX and _operator_means(cls, node.dtype)):
        return [f"T.{FUNCTIONS[cls]}(", *separated((node.a, node.b)), ")"]
    symbol, own = INFIX[cls]
    left = own + 1 if own == COMPARE else own
    return wrapped([Child(node.a, left), f" {symbol} ", Child(node.b, own + 1)], own, outer)


def _operator_means(cls: type, dtype: DataType) -> bool:
    """Whether the operator of `cls` says it for this dtype: ``/`` divides floats, ``//`` and ``%`` integers."""
    return dtype.is_float if cls is n.Div else dtype.is_integer


def _not(printer: ExprPrinter, node: n.Not, outer: int) -> Pieces:
    if not node.a.dtype.is_bool:
        return ["T.Not(", Child(node.a, LOWEST), ")"]
    return wrapped(["not ", Child(node.a, NOT)], NOT, outer)


def _cast(printer: ExprPrinter, node: n.Cast, outer: int) -> Pieces:
    return [f'T.Cast("{node.dtype}", ', Child(node.value, LOWEST), ")"]


def _select(printer: ExprPrinter, node: n.Select, outer: int) -> Pieces:
    context = LOWEST if node.true_value.dtype == node.false_value.dtype else EXPLICIT
    arms = separated((node.true_value, node.false_value), context, before=True)
    return ["T.Select(", Child(node.condition, LOWEST), *arms, ")"]


def _ramp(printer: ExprPrinter, node: n.Ramp, outer: int) -> Pieces:
    return ["T.ramp(", *separated((node.base, node.stride)), f", {node.lanes})"]


def _broadcast(printer: ExprPrinter, node: n.Broadcast, outer: int) -> Pieces:
    return ["T.broadcast(", Child(node.value, LOWEST), f", {node.lanes})"]


def _let(printer: ExprPrinter, node: n.Let, outer: int) -> Pieces:
    kind = "" if node.var.dtype == node.value.dtype else f', dtype="{node.var.dtype}"'
    return ["T.Let(", *separated((node.var, node.value, node.body)), kind, ")"]


def _load(printer: ExprPrinter, node: BufferLoad, outer: int) -> Pieces:
    return [Child(node.buffer, LOWEST), "[", *(separated(node.indices) or ["()"]), "]"]


def _call(printer: ExprPrinter, node: n.Call, outer: int) -> Pieces:
    if not _call_is_plain(node):
        return [f'T.Call("{node.dtype}", {quoted(node.op)}', *separated(node.args, before=True), ")"]
    natural = natural_dtype(INTRINSICS[node.op], node.args)
    arguments = separated(node.args)
    if natural != node.dtype:
        arguments += [f'{", " if arguments else ""}dtype="{node.dtype}"']
    return [f"T.{node.op}(", *arguments, ")"]


def _call_is_plain(node: n.Call) -> bool:
    entry = INTRINSICS.get(node.op)
    if entry is None or not node.op.isidentifier() or node.op in HELPERS or is_dtype_word(node.op):
        return False
    if entry.arity is not None and entry.arity != len(node.args):
        return False
    if takes_literals(entry):
        first = 1 if node.op == "if_then_else" else 0
        if len({argument.dtype for argument in node.args[first:]}) != 1:
            return False
    return not entry.floats_only or all(argument.dtype.is_float for argument in node.args)


_PRINTERS: Final[dict[type, Callable[[ExprPrinter, Any, int], Pieces]]] = {
    n.Var: _variable,
    n.IntImm: _integer,
    n.FloatImm: _float,
    n.StringImm: _string,
    n.Cast: _cast,
    n.Not: _not,
    n.Select: _select,
    n.Ramp: _ramp,
    n.Broadcast: _broadcast,
    n.Let: _let,
    n.Call: _call,
    BufferLoad: _load,
    **dict.fromkeys((*INFIX, *FUNCTIONS), _binary),
}
