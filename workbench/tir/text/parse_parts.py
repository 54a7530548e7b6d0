"""Reading what statements are made of: suites, buffers, regions, domains, attributes.

A suite is read in order.  A statement that opens a scope over the rest of its suite (a let, an allocation) answers an
`Opening`, which is closed with everything after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from ...arith import build
from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.node import EMPTY, FrozenMap
from ...core.source import Source
from ...target.target import Target
from .. import nodes as t
from .constants import AXES, LOOPS
from .parse_expr import ExprParser, Scope, check_rank, index_trees
from .shapes import identical, is_index_constant, is_integer
from .touched import touched


@dataclass
class Opening:
    """A statement whose body is the rest of its suite."""

    close: Callable[[t.Stmt], t.Stmt]


@dataclass
class BlockParts:
    """What has been read of a block."""

    name: str
    realize: bool = True
    iter_vars: list[t.IterVar] = field(default_factory=list[t.IterVar])
    values: list[n.PrimExpr] = field(default_factory=list[n.PrimExpr])
    reads: list[t.BufferRegion] | None = None
    writes: list[t.BufferRegion] | None = None
    predicate: n.PrimExpr = field(default_factory=lambda: build.const(True))
    annotations: FrozenMap = EMPTY
    alloc_buffers: list[t.Buffer] = field(default_factory=list[t.Buffer])
    init: t.Stmt | None = None


def joined(stmts: list[t.Stmt]) -> t.Stmt:
    """A suite's statements as one."""
    if not stmts:
        return t.Evaluate(build.const(0))
    return stmts[0] if len(stmts) == 1 else t.SeqStmt(tuple(stmts))


KIND_OF_LOOP: Final = {word: kind for kind, word in LOOPS.items()}
KIND_OF_AXIS: Final = {word: kind for kind, word in AXES.items()}
Result = t.Stmt | Opening | None


class StmtParser(ExprParser):
    """Reads statements of one function."""

    readers: ClassVar[Mapping[type[ast.stmt], Callable[..., Result]]] = {}
    """What reads each class of statement (`parse_stmt.STATEMENTS`)."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.blocks: list[BlockParts] = [BlockParts("root")]
        self.loops: dict[int, tuple[n.PrimExpr, n.PrimExpr]] = {}
        self.handled: set[int] = set()

    def suite(self, trees: list[ast.stmt], scope: Scope) -> t.Stmt:
        """The statements of a suite, as one."""
        items: list[t.Stmt] = []
        open_suites: list[tuple[Opening, list[t.Stmt]]] = []
        for tree in trees:
            if id(tree) in self.handled:
                continue
            made = self.statement(tree, scope)
            if isinstance(made, Opening):
                open_suites.append((made, items))
                items = []
            elif made is not None:
                items.append(made)
        body = joined(items)
        while open_suites:
            opening, items = open_suites.pop()
            items.append(opening.close(body))
            body = joined(items)
        return body

    def statement(self, tree: ast.stmt, scope: Scope) -> Result:
        reader = self.readers.get(type(tree))
        if reader is None:
            raise self.source.error(
                tree, f"{type(tree).__name__!r} statements have no meaning here", "use for, if, while, with T.block"
            )
        return reader(self, tree, scope)

    # --- pieces ---

    def buffer(self, name: str, call: ast.Call, scope: Scope, *more: str) -> t.Buffer:
        """The buffer that ``T.Buffer(...)``, ``T.alloc_buffer(...)`` or ``T.allocate(...)`` declares."""
        keywords = self.keywords(call, "shape", "dtype", "scope", "strides", "elem_offset", "axis_separators", *more)
        shape = call.args[0] if call.args else keywords.get("shape")
        dtype = call.args[1] if len(call.args) > 1 else keywords.get("dtype")
        if shape is None or len(call.args) > 2:
            raise self.source.error(call, "a buffer has a shape and a dtype", 'write T.Buffer((16, 16), "float32")')
        offset = keywords.get("elem_offset")
        made = t.Buffer(
            self.renamed.get(name, name),
            self.expressions(shape, scope),
            self.dtype(dtype) if dtype is not None else DataType("float32"),
            self.constant(keywords["scope"], str, "a scope") if "scope" in keywords else "global",
            self.expressions(keywords["strides"], scope) if "strides" in keywords else (),
            self.expr(offset, scope) if offset is not None else None,
            self._separators(keywords["axis_separators"]) if "axis_separators" in keywords else (),
        )
        scope.names[name] = made
        return made

    def _separators(self, tree: ast.AST) -> tuple[int, ...]:
        items = tree.elts if isinstance(tree, (ast.Tuple, ast.List)) else [tree]
        return tuple(self.constant(item, int, "the number of an axis") for item in items)

    def expressions(self, tree: ast.AST, scope: Scope) -> tuple[n.PrimExpr, ...]:
        """A tuple or list of expressions; a text among them is the name of a variable."""
        items = tree.elts if isinstance(tree, (ast.Tuple, ast.List)) else [tree]
        return tuple(self.expr(_unquoted(item), scope) for item in items)

    def data(self, tree: ast.AST, scope: Scope) -> Any:
        """An attribute's value; see `print_stmt.value_pieces`."""
        if isinstance(tree, ast.Constant) and (tree.value is None or isinstance(tree.value, (bool, int, float, str))):
            return tree.value
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.operand, ast.Constant):
            return self.constant(tree, (int, float), "a number")
        if isinstance(tree, (ast.Tuple, ast.List)):
            return tuple(self.data(item, scope) for item in tree.elts)
        if isinstance(tree, ast.Dict):
            return self.mapping(tree, scope)
        if isinstance(tree, ast.Call):
            return self._data_call(tree, scope)
        return self.expr(tree, scope)

    def mapping(self, tree: ast.AST, scope: Scope) -> FrozenMap:
        if not isinstance(tree, ast.Dict):
            raise self.source.error(tree, "a mapping was expected here", 'write {"name": value}')
        items: dict[str, Any] = {}
        for key, value in zip(tree.keys, tree.values, strict=True):
            if key is None:
                raise self.source.error(tree, "`**` has no meaning here")
            items[self.constant(key, str, "a name in quotes")] = self.data(value, scope)
        return FrozenMap(items)

    def _data_call(self, tree: ast.Call, scope: Scope) -> Any:
        word = self.call_word(tree)
        if isinstance(tree.func, ast.Name) and tree.func.id == "float" and len(tree.args) == 1:
            text = self.constant(tree.args[0], str, "a number in quotes")
            if text in ("inf", "-inf", "nan"):
                return float(text)
        if word == "opaque":
            raise self.source.error(tree, "this value has no text", "leave it out, or set it in Python")
        if len(tree.args) == 1 and word == "target":
            return self._target(tree)
        if len(tree.args) == 1 and word == "dtype":
            return self.dtype(tree.args[0])
        if len(tree.args) == 1 and word == "buffer":
            return self.known_buffer(tree.args[0], scope)
        return self.expr(tree, scope)

    def _target(self, tree: ast.Call) -> Any:
        try:
            return Target(self.constant(tree.args[0], str, "a target in quotes"))
        except WorkbenchError as error:
            raise self.source.error(tree, error.message, error.fix, error.found) from None

    def known_buffer(self, tree: ast.AST, scope: Scope) -> t.Buffer:
        made = self.value(tree, scope)
        if not isinstance(made, t.Buffer):
            raise self.source.error(tree, "a buffer was expected here", "write its name")
        return made

    def range_of(self, tree: ast.AST, scope: Scope) -> t.Range:
        """A domain: an extent, ``(begin, end)`` or ``T.Range(begin, extent)``."""
        if self.call_word(tree) == "Range" and isinstance(tree, ast.Call):
            return self._range_call(tree, scope)
        if isinstance(tree, ast.Tuple) and len(tree.elts) == 2:
            start, end = (self.expr(item, scope) for item in tree.elts)
            return t.Range(start, _length(start, end))
        extent = self.expr(tree, scope)
        return t.Range(build.const(0), extent)

    def _range_call(self, tree: ast.Call, scope: Scope) -> t.Range:
        self.keywords(tree)
        if len(tree.args) != 2:
            raise self.source.error(tree, "T.Range takes a begin and an extent")
        return t.Range(self.expr(tree.args[0], scope), self.expr(tree.args[1], scope))

    def region(self, tree: ast.AST, scope: Scope) -> t.BufferRegion:
        """``A[i, 0:4]``, or a whole buffer by its name."""
        if not isinstance(tree, ast.Subscript):
            buffer = self.known_buffer(tree, scope)
            return t.BufferRegion(buffer, tuple(t.Range(build.const(0), extent) for extent in buffer.shape))
        buffer = self.known_buffer(tree.value, scope)
        items = index_trees(tree)
        check_rank(self, tree, buffer, len(items))
        return t.BufferRegion(buffer, tuple(self._axis_range(item, scope) for item in items))

    def _axis_range(self, tree: ast.AST, scope: Scope) -> t.Range:
        if self.call_word(tree) == "Range" and isinstance(tree, ast.Call):
            return self._range_call(tree, scope)
        if not isinstance(tree, ast.Slice):
            return t.Range(self.expr(tree, scope), build.const(1))
        if tree.upper is None or tree.step is not None:
            raise self.source.error(tree, "a region's slice is begin:end", "write A[0:16]")
        start = self.expr(tree.lower, scope) if tree.lower is not None else build.const(0)
        return t.Range(start, _length(start, self.expr(tree.upper, scope)))

    def new_loop(
        self, name: ast.AST, start: n.PrimExpr | None, extent: n.PrimExpr, dtype: str, scope: Scope
    ) -> tuple[n.Var, n.PrimExpr]:
        """The variable of a loop and its begin (zero unless given)."""
        if not isinstance(name, ast.Name):
            raise self.source.error(name, "a loop has a name here", "write for i in T.serial(8)")
        begin = start if start is not None else build.const(0, dtype)
        variable = self.variable(name.id, dtype, scope)
        self.loops[id(variable)] = (begin, extent)
        return variable, begin


def _unquoted(tree: ast.AST) -> ast.AST:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str) and tree.value.isidentifier():
        return ast.copy_location(ast.Name(tree.value), tree)
    return tree


def _length(start: n.PrimExpr, end: n.PrimExpr) -> n.PrimExpr:
    """The extent that ``start:end`` was printed for."""
    if is_integer(start, 0):
        return end
    if is_index_constant(start) and is_index_constant(end):
        return build.subtract(end, start)
    if isinstance(end, n.Add) and identical(end.a, start):
        return end.b
    return build.subtract(end, start)


def annotations_of(parser: StmtParser, call: ast.Call, scope: Scope) -> FrozenMap:
    found = next((keyword.value for keyword in call.keywords if keyword.arg == "annotations"), None)
    return parser.mapping(found, scope) if found is not None else EMPTY


def finished(parts: BlockParts, body: t.Stmt) -> t.Stmt:
    """The block of the parts read, realized unless it said not to."""
    reads, writes = _regions(parts, body)
    block = t.Block(
        parts.name,
        tuple(parts.iter_vars),
        reads,
        writes,
        tuple(parts.alloc_buffers),
        parts.init,
        body,
        parts.annotations,
    )
    return t.BlockRealize(tuple(parts.values), parts.predicate, block) if parts.realize else block


def _regions(parts: BlockParts, body: t.Stmt) -> tuple[tuple[t.BufferRegion, ...], tuple[t.BufferRegion, ...]]:
    """The regions that the text says; those that it leaves out as the body shows them (a root block has none)."""
    reads, writes = parts.reads, parts.writes
    if (reads is None or writes is None) and (parts.name != "root" or parts.iter_vars):
        found = touched(body, parts.init, tuple(parts.alloc_buffers))
        reads = list(found[0]) if reads is None else reads
        writes = list(found[1]) if writes is None else writes
    return tuple(reads or ()), tuple(writes or ())
