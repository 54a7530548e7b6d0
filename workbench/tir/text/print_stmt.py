"""Printing statements, blocks and functions.

Statements that open a scope (`LetStmt`, `AllocBuffer`) print flat when they are the last of their suite, since the
rest of the suite is then their body; otherwise they print as a ``with``.  Nests of plain serial loops print as one
``T.grid``, and consecutive iterators that are loops as one ``T.axis.remap``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.node import FieldValue, FrozenMap, Node, nodes_in, pre_order
from ...core.text import DEDENT, INDENT, NEWLINE, Child, Piece
from .. import nodes as t
from .constants import AXES, EXPLICIT, LOOPS, LOWEST, SUM, quoted
from .names import Names, is_plain, sanitized
from .print_expr import ExprPrinter, Pieces, separated
from .shapes import contains_block, has_end, has_plain_root, identical, is_integer, is_root


class Part(Enum):
    """Which part of a node a place shows, where it is not the whole."""

    WHOLE = "whole"
    LAST = "the last statement of its suite"
    NAME = "its name"
    EXTENT = "its extent, in a grid"
    BODY = "what follows its header"
    OTHERWISE = "a condition after an if"


WHOLE, LAST, NAME, EXTENT, BODY, OTHERWISE = Part


class Printer(ExprPrinter):
    """Pieces of any node; given to `core.text.layout` as a function of node and context."""

    def __init__(self, names: Names, name: str | None = None) -> None:
        super().__init__(names)
        self.name = name
        self.loops: dict[int, t.For] = {}

    def __call__(self, node: object, context: Any) -> Pieces:
        if isinstance(node, n.PrimExpr):
            return self.expression(node, context)
        if isinstance(node, t.Buffer):
            return [self.names.printed(node)]
        printer = _PRINTERS.get(type(node))
        if printer is None:
            raise WorkbenchError("E-TIR-PRINT", f"no text for a node of class {type(node).__name__}", nodes=(node,))
        return printer(self, node, context)


# --- simple statements --------------------------------------------------------------------------------------------


def _suite(body: Node, part: Any = LAST) -> list[Piece]:
    return [INDENT, NEWLINE, Child(body, part), DEDENT]


def _store(printer: Printer, node: t.BufferStore, context: Any) -> Pieces:
    lines = printer.definitions(node.value, *node.indices)
    indices = separated(node.indices) or ["()"]
    place = LOWEST if node.value.dtype.element_of == node.buffer.dtype.element_of else EXPLICIT
    return [*lines, Child(node.buffer), "[", *indices, "] = ", Child(node.value, place)]


def _evaluate(printer: Printer, node: t.Evaluate, context: Any) -> Pieces:
    return [*printer.definitions(node.value), "T.evaluate(", Child(node.value, LOWEST), ")"]


def _assert(printer: Printer, node: t.AssertStmt, context: Any) -> Pieces:
    return [*printer.definitions(node.condition), "assert ", Child(node.condition, LOWEST), f", {quoted(node.message)}"]


def _sequence(printer: Printer, node: t.SeqStmt, context: Any) -> Pieces:
    nested = context is not LAST or len(node.stmts) < 2 or isinstance(node.stmts[-1], t.SeqStmt)
    if nested and not node.stmts:
        return ["T.seq()"]
    pieces: list[Piece] = []
    for index, stmt in enumerate(node.stmts):
        last = index == len(node.stmts) - 1
        plain = last and not isinstance(stmt, t.SeqStmt)
        pieces += [NEWLINE] * bool(index) + [Child(stmt, LAST if plain else WHOLE)]
    return ["with T.seq():", INDENT, NEWLINE, *pieces, DEDENT] if nested else pieces


def _if(printer: Printer, node: t.IfThenElse, context: Any) -> Pieces:
    lines = printer.definitions(node.condition)
    word = "elif " if context is OTHERWISE else "if "
    pieces = [*lines, word, Child(node.condition, LOWEST), ":", *_suite(node.then_case)]
    other = node.else_case
    if isinstance(other, t.IfThenElse) and not printer.needs_definitions(other.condition):
        pieces += [NEWLINE, Child(other, OTHERWISE)]
    elif other is not None:
        pieces += [NEWLINE, "else:", *_suite(other)]
    return pieces


def _while(printer: Printer, node: t.While, context: Any) -> Pieces:
    lines = printer.definitions(node.condition)
    return [*lines, "while ", Child(node.condition, LOWEST), ":", *_suite(node.body)]


def _let(printer: Printer, node: t.LetStmt, context: Any) -> Pieces:
    lines = printer.definitions(node.value)
    if context is LAST:
        head = [Child(node.var), f": T.let[T.{node.var.dtype}] = ", Child(node.value, LOWEST)]
        return [*lines, *head, NEWLINE, Child(node.body, LAST)]
    kind = "" if node.var.dtype == node.value.dtype else f', dtype="{node.var.dtype}"'
    return [
        *lines,
        "with T.LetStmt(",
        Child(node.value, LOWEST),
        f"{kind}) as ",
        Child(node.var),
        ":",
        *_suite(node.body),
    ]


def _allocate(printer: Printer, node: t.AllocBuffer, context: Any) -> Pieces:
    lines = printer.definitions(*_buffer_expressions(node.buffer), *_expressions(node.annotations))
    if id(node.buffer) in printer.names.declared_ids:
        call: list[Piece] = ["T.allocate(", Child(node.buffer), *annotation_pieces(printer, node.annotations), ")"]
        if context is LAST:
            return [*lines, *call, NEWLINE, Child(node.body, LAST)]
        return [*lines, "with ", *call, ":", *_suite(node.body)]
    call = ["T.allocate(", *buffer_arguments(node.buffer), *annotation_pieces(printer, node.annotations), ")"]
    if context is LAST:
        return [*lines, Child(node.buffer), " = ", *call, NEWLINE, Child(node.body, LAST)]
    return [*lines, "with ", *call, " as ", Child(node.buffer), ":", *_suite(node.body)]


# --- buffers, regions, attributes ---------------------------------------------------------------------------------


def _buffer_expressions(buffer: t.Buffer) -> list[Node]:
    return list(nodes_in((buffer.shape, buffer.strides, buffer.elem_offset)))


def _expressions(value: Any) -> list[Node]:
    return [node for node in nodes_in(value) if isinstance(node, n.PrimExpr)]


def _tuple(items: Sequence[Piece]) -> list[Piece]:
    return ["(", *items, ",)" if len(items) == 1 else ")"]


def buffer_arguments(buffer: t.Buffer) -> list[Piece]:
    """``(16, n), "float32", scope="local"``: what declares a buffer."""
    pieces = [*_tuple(separated(buffer.shape)), f', "{buffer.dtype}"']
    if buffer.scope != "global":
        pieces += [f", scope={quoted(buffer.scope)}"]
    if buffer.strides:
        pieces += [", strides=", *_tuple(separated(buffer.strides))]
    if buffer.elem_offset is not None:
        pieces += [", elem_offset=", Child(buffer.elem_offset, LOWEST)]
    if buffer.axis_separators:
        pieces += [f", axis_separators={buffer.axis_separators!r}"]
    return pieces


def _range_items(domain: t.Range) -> list[Piece]:
    """A range as one index or slice of a region; see `parse_stmt.range_of_slice`."""
    start, extent = domain.min, domain.extent
    if is_integer(extent, 1):
        return [Child(start, LOWEST)]
    if is_integer(start, 0):
        return ["0:", Child(extent, LOWEST)]
    if has_end(start, extent):
        return [f"{start.value}:{start.value + extent.value}"]  # type: ignore[attr-defined]
    if start.dtype == extent.dtype:
        return [Child(start, LOWEST), ":", Child(start, SUM), " + ", Child(extent, SUM + 1)]
    return ["T.Range(", *separated((start, extent)), ")"]


def _region(printer: Printer, node: t.BufferRegion, context: Any) -> Pieces:
    pieces: list[Piece] = []
    for index, domain in enumerate(node.region):
        pieces += [", "] * bool(index) + [Child(domain)]
    return [Child(node.buffer), "[", *(pieces or ["()"]), "]"]


def _range(printer: Printer, node: t.Range, context: Any) -> Pieces:
    return _range_items(node)


def annotation_pieces(printer: Printer, items: FrozenMap) -> list[Piece]:
    return [", annotations=", *value_pieces(printer, items)] if len(items) else []


def value_pieces(printer: Printer, value: FieldValue) -> list[Piece]:
    """An attribute's value: Python data as it is, expressions as ``T.expr(...)``."""
    if isinstance(value, n.PrimExpr):
        return ["T.expr(", Child(value, LOWEST), ")"]
    if isinstance(value, t.Buffer):
        return ["T.buffer(", Child(value), ")"]
    if isinstance(value, DataType):
        return [f'T.dtype("{value}")']
    if type(value) is str:
        return [quoted(value)]
    if value is None or type(value) in (bool, int):
        return [repr(value)]
    if type(value) is float:
        return [repr(value) if abs(value) < float("inf") else f'float("{value!r}")']
    if type(value) is tuple:
        inner = [piece for item in value for piece in (", ", *value_pieces(printer, item))]
        return ["(", *inner[1:], ",)" if len(value) == 1 else ")"]
    if isinstance(value, FrozenMap):
        inner = [piece for key, item in value.items() for piece in (f", {quoted(key)}: ", *value_pieces(printer, item))]
        return ["{", *([str(inner[0])[2:], *inner[1:]] if inner else []), "}"]
    if type(value).__name__ == "Target":
        return [f"T.target({quoted(str(value))})"]
    return [f"T.opaque({quoted(repr(value))})"]


# --- loops --------------------------------------------------------------------------------------------------------


def _grid(printer: Printer, first: t.For) -> list[t.For]:
    """The loops that ``T.grid`` can write together with `first`."""
    loops: list[t.For] = []
    node: Any = first
    while isinstance(node, t.For) and _is_plain(node) and id(node.var) not in printer.names.declared_ids:
        variables = {id(loop.var) for loop in loops}
        if any(id(part) in variables for part in pre_order((node.extent,))):
            break
        loops.append(node)
        node = node.body
    return loops


def _is_plain(node: t.For) -> bool:
    kind = node.var.dtype
    if node.kind is not t.ForKind.SERIAL or node.thread or len(node.annotations) or node.extent.dtype != kind:
        return False
    return type(node.min) is n.IntImm and node.min.value == 0 and node.min.dtype == kind


def _for(printer: Printer, node: t.For, context: Part | tuple[Part, tuple[t.For, ...]]) -> Pieces:
    if context is EXTENT:
        return [Child(node.extent, LOWEST)]
    if isinstance(context, tuple):  # (BODY, loops still to come)
        inner = context[1]
        return [Child(inner[0], (BODY, inner[1:])) if inner else Child(node.body, LAST)]
    loops = _grid(printer, node)
    for loop in loops or [node]:
        printer.loops[id(loop.var)] = loop
    if len(loops) > 1:
        lines = printer.definitions(*(loop.extent for loop in loops))
        variables = separated([loop.var for loop in loops])
        extents = separated([Child(loop, EXTENT) for loop in loops[1:]])
        head = [*variables, " in T.grid(", Child(node.extent, LOWEST), ", ", *extents, "):"]
        return [*lines, "for ", *head, INDENT, NEWLINE, Child(loops[1], (BODY, tuple(loops[2:]))), DEDENT]
    lines = printer.definitions(node.min, node.extent, *_expressions(node.annotations))
    head = [Child(node.var), f" in T.{LOOPS[node.kind]}(", *_loop_arguments(printer, node), "):"]
    return [*lines, "for ", *head, *_suite(node.body)]


def _loop_arguments(printer: Printer, node: t.For) -> list[Piece]:
    kind, start, extent = node.var.dtype, node.min, node.extent
    if type(start) is n.IntImm and start.value == 0 and start.dtype == kind:
        pieces: list[Piece] = [Child(extent, LOWEST)]
    elif has_end(start, extent):
        pieces = [f"{start.value}, {start.value + extent.value}"]  # type: ignore[attr-defined]
    else:
        pieces = [Child(start, LOWEST), ", extent=", Child(extent, LOWEST)]
    if kind != extent.dtype:
        pieces.append(f', dtype="{kind}"')
    if node.thread or node.kind is t.ForKind.THREAD_BINDING:
        pieces.append(f", thread={quoted(node.thread)}")
    return [*pieces, *annotation_pieces(printer, node.annotations)]


# --- blocks -------------------------------------------------------------------------------------------------------


def _realize(printer: Printer, node: t.BlockRealize, context: Any) -> Pieces:
    block = node.block
    if context is BODY:  # the root block of a function, left out of the text
        return [Child(block, BODY)]
    domains = [part for iterator in block.iter_vars for part in (iterator.dom.min, iterator.dom.extent)]
    lines = printer.definitions(*node.iter_values, *domains)
    pieces: list[Piece] = [*lines, "with T.block(", Child(block, NAME), "):", INDENT]
    pieces += _axes(printer, block, node.iter_values)
    true = type(node.predicate) is n.IntImm and node.predicate.value == 1 and node.predicate.dtype == "bool"
    return [*pieces, Child(block, (BODY, None if true else node.predicate)), DEDENT]


def _axes(printer: Printer, block: t.Block, values: Sequence[n.PrimExpr]) -> list[Piece]:
    pieces: list[Piece] = []
    run: list[tuple[t.IterVar, n.PrimExpr]] = []
    for iterator, value in zip(block.iter_vars, values, strict=False):
        if _remappable(printer, iterator, value):
            run.append((iterator, value))
            continue
        pieces += _remap(run)
        run = []
        pieces += [NEWLINE, *_axis(iterator, value)]
    return [*pieces, *_remap(run)]


def _remappable(printer: Printer, iterator: t.IterVar, value: n.PrimExpr) -> bool:
    loop = printer.loops.get(id(value)) if isinstance(value, n.Var) else None
    if (
        loop is None
        or id(value) in printer.names.declared_ids
        or id(iterator.var) in printer.names.declared_ids
        or loop.var.dtype != iterator.var.dtype
    ):
        return False
    return identical(loop.min, iterator.dom.min) and identical(loop.extent, iterator.dom.extent)


def _remap(run: Sequence[tuple[t.IterVar, n.PrimExpr]]) -> list[Piece]:
    if not run:
        return []
    if len(run) == 1:
        return [NEWLINE, *_axis(*run[0])]
    kinds = "".join(iterator.kind.value for iterator, _ in run)
    variables = separated([Child(iterator) for iterator, _ in run])
    return [NEWLINE, *variables, f' = T.axis.remap("{kinds}", [', *separated([value for _, value in run]), "])"]


def _axis(iterator: t.IterVar, value: n.PrimExpr | None) -> list[Piece]:
    domain = iterator.dom
    if is_integer(domain.min, 0):
        pieces: list[Piece] = [Child(domain.extent, LOWEST)]
    elif has_end(domain.min, domain.extent):
        start = domain.min.value  # type: ignore[attr-defined]
        pieces = [f"({start}, {start + domain.extent.value})"]  # type: ignore[attr-defined]
    else:
        pieces = ["T.Range(", *separated((domain.min, domain.extent)), ")"]
    if value is not None:
        pieces += [", ", Child(value, LOWEST)]
    if iterator.var.dtype != domain.extent.dtype:
        pieces.append(f', dtype="{iterator.var.dtype}"')
    return [Child(iterator), f" = T.axis.{AXES[iterator.kind]}(", *pieces, ")"]


def _iterator(printer: Printer, node: t.IterVar, context: Any) -> Pieces:
    return [Child(node.var)]


def _block(printer: Printer, node: t.Block, context: Part | tuple[Part, n.PrimExpr]) -> Pieces:
    if context is NAME:
        return [quoted(node.name)]
    if context is BODY:
        return _block_body(printer, node, None, shows_regions=False)
    if isinstance(context, tuple):
        return [NEWLINE, *_block_body(printer, node, context[1])]
    lines = printer.definitions(*(part for it in node.iter_vars for part in (it.dom.min, it.dom.extent)))
    axes = [piece for iterator in node.iter_vars for piece in (NEWLINE, *_axis(iterator, None))]
    head: list[Piece] = ["with T.block(", Child(node, NAME), ", realize=False):", INDENT]
    return [*lines, *head, *axes, Child(node, (BODY, None)), DEDENT]


def _block_body(
    printer: Printer, node: t.Block, predicate: n.PrimExpr | None, shows_regions: bool = True
) -> list[Piece]:
    ranges = [
        part for region in (*node.reads, *node.writes) for item in region.region for part in (item.min, item.extent)
    ]
    shapes = [part for buffer in node.alloc_buffers for part in _buffer_expressions(buffer)]
    pieces = printer.definitions(predicate, *ranges, *_expressions(node.annotations), *shapes)
    if predicate is not None:
        pieces += ["T.where(", Child(predicate, LOWEST), ")", NEWLINE]
    if shows_regions:
        for word, regions in (("reads", node.reads), ("writes", node.writes)):
            pieces += [f"T.{word}(", *separated(regions), ")", NEWLINE]
    if len(node.annotations):
        pieces += ["T.block_attr(", *value_pieces(printer, node.annotations), ")", NEWLINE]
    for buffer in node.alloc_buffers:
        if id(buffer) in printer.names.declared_ids:
            pieces += ["T.alloc_buffer(", Child(buffer), ")", NEWLINE]
        else:
            pieces += [Child(buffer), " = T.alloc_buffer(", *buffer_arguments(buffer), ")", NEWLINE]
    if node.init is not None:
        pieces += ["with T.init():", *_suite(node.init), NEWLINE]
    return [*pieces, Child(node.body, LAST)]


# --- functions ----------------------------------------------------------------------------------------------------


def _function(printer: Printer, node: t.PrimFunc, context: Any) -> Pieces:
    symbol = node.attrs.get("global_symbol")
    wanted = printer.name if printer.name is not None else symbol if isinstance(symbol, str) else "main"
    shown = wanted if is_plain(wanted) else sanitized(wanted)
    implied = next(iter(node.attrs), None) == "global_symbol" and symbol == shown
    hidden_root = has_plain_root(node)
    options = [
        "private=True" if "global_symbol" not in node.attrs else "",
        "root=False" if not hidden_root and contains_block(node.body) and not is_root(node.body) else "",
        f'ret_dtype="{node.ret_dtype}"' if node.ret_dtype != "void" else "",
    ]
    arguments = ", ".join(option for option in options if option)
    buffers = [part for item in node.params if isinstance(item, t.Buffer) for part in _buffer_expressions(item)]
    declared = [variable for variable in printer.names.declared if isinstance(variable, t.Buffer)]
    shapes = [part for buffer in declared for part in _buffer_expressions(buffer)]
    lines = printer.definitions(*buffers, *shapes, *_expressions(node.attrs))
    pieces: list[Piece] = [f"@T.prim_func{f'({arguments})' if arguments else ''}", NEWLINE, f"def {shown}("]
    pieces += [*_parameters(node), "):", INDENT, NEWLINE, *_declarations(printer, lines, declared)]
    shown_attrs = node.attrs.without("global_symbol") if implied else node.attrs
    if len(shown_attrs):
        pieces += ["T.func_attr(", *value_pieces(printer, shown_attrs), ")", NEWLINE]
    return [*pieces, Child(node.body, BODY if hidden_root else LAST), DEDENT]


def _parameters(node: t.PrimFunc) -> list[Piece]:
    pieces: list[Piece] = []
    for index, parameter in enumerate(node.params):
        pieces += [", "] * bool(index) + [Child(parameter), ": "]
        if isinstance(parameter, t.Buffer):
            pieces += ["T.Buffer(", *buffer_arguments(parameter), ")"]
        else:
            pieces.append(f"T.{parameter.dtype}")
    return pieces


def _declarations(printer: Printer, definitions: list[Piece], buffers: list[t.Buffer]) -> list[Piece]:
    names = printer.names
    pieces: list[Piece] = []
    if names.renamed:
        shown = ", ".join(f"{quoted(new)}: {quoted(old)}" for new, old in names.renamed.items())
        pieces += [f"T.names({{{shown}}})", NEWLINE]
    for variable in names.declared:
        if isinstance(variable, n.Var):
            pieces += [Child(variable), f" = T.{variable.dtype}()", NEWLINE]
    pieces += definitions
    for buffer in buffers:
        pieces += [Child(buffer), " = T.Buffer(", *buffer_arguments(buffer), ")", NEWLINE]
    return pieces


_PRINTERS: Final[dict[type, Callable[[Printer, Any, Any], Pieces]]] = {
    t.BufferStore: _store,
    t.Evaluate: _evaluate,
    t.AssertStmt: _assert,
    t.SeqStmt: _sequence,
    t.IfThenElse: _if,
    t.While: _while,
    t.LetStmt: _let,
    t.AllocBuffer: _allocate,
    t.BufferRegion: _region,
    t.Range: _range,
    t.For: _for,
    t.BlockRealize: _realize,
    t.Block: _block,
    t.IterVar: _iterator,
    t.PrimFunc: _function,
}
