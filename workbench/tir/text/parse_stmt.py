"""Reading statements and blocks.

A suite is read in order.  A statement that opens a scope over the rest of its suite (a let, an allocation) answers an
`Opening`, which is closed with everything after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ...arith import build
from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError, nearest
from ...core.node import EMPTY, FrozenMap
from ...core.source import Source
from .. import nodes as t
from .constants import AXES, LOOPS, is_dtype_word
from .parse_expr import Abbreviation, ExprParser, Scope, check_rank, index_trees
from .print_stmt import identical, is_index_constant, is_integer


@dataclass
class Opening:
    """A statement whose body is the rest of its suite."""

    close: Callable[[t.Stmt], t.Stmt]


@dataclass
class BlockParts:
    """What has been read of a block."""

    name: str
    realize: bool = True
    iter_vars: list[t.IterVar] = field(default_factory=list)
    values: list[n.PrimExpr] = field(default_factory=list)
    reads: list[t.BufferRegion] | None = None
    writes: list[t.BufferRegion] | None = None
    predicate: n.PrimExpr = field(default_factory=lambda: build.const(True))
    annotations: FrozenMap = EMPTY
    alloc_buffers: list[t.Buffer] = field(default_factory=list)
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
        reader = _STATEMENTS.get(type(tree))
        if reader is None:
            raise self.source.error(
                tree, f"{type(tree).__name__!r} statements have no meaning here", "use for, if, while, with T.block"
            )
        return reader(self, tree, scope)

    # --- pieces ---

    def buffer(self, name: str, call: ast.Call, scope: Scope, *more: str) -> t.Buffer:
        """The buffer that ``T.Buffer(...)``, ``T.alloc_buffer(...)`` or ``T.allocate(...)`` declares."""
        keywords = self.keywords(call, "shape", "dtype", "scope", "strides", "elem_offset", *more)
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
        )
        scope.names[name] = made
        return made

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
        from ...target import Target

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


# --- statements ---------------------------------------------------------------------------------------------------


def _assign(parser: StmtParser, tree: ast.Assign, scope: Scope) -> Result:
    if len(tree.targets) != 1:
        raise parser.source.error(tree, "one target at a time", "write two statements")
    target = tree.targets[0]
    if isinstance(target, ast.Subscript):
        return _store(parser, target, tree.value, scope)
    word = parser.call_word(tree.value)
    if word.startswith("axis."):
        return _axis(parser, target, tree.value, word[5:], scope)
    if not isinstance(target, ast.Name):
        raise parser.source.error(target, "a value is given to a name or to an element of a buffer")
    return _define(parser, target.id, tree.value, word, scope)


def _define(parser: StmtParser, name: str, value: ast.expr, word: str, scope: Scope) -> Result:
    call: Any = value
    if word == "alloc_buffer":
        parser.blocks[-1].alloc_buffers.append(parser.buffer(name, call, scope))
        return None
    if word == "allocate":
        buffer = parser.buffer(name, call, scope, "annotations")
        items = _annotations(parser, call, scope)
        return Opening(lambda body: t.AllocBuffer(buffer, body, items))
    if word == "Buffer":
        parser.buffer(name, call, scope)
        return None
    if is_dtype_word(word) and not call.args:
        parser.declared[name] = parser.variable(name, word, scope)
        return None
    bound = parser.expr(value, scope)
    variable = parser.variable(name, bound.dtype, scope)
    return Opening(lambda body: t.LetStmt(variable, bound, body))


def _annotations(parser: StmtParser, call: ast.Call, scope: Scope) -> FrozenMap:
    found = next((keyword.value for keyword in call.keywords if keyword.arg == "annotations"), None)
    return parser.mapping(found, scope) if found is not None else EMPTY


def _store(parser: StmtParser, target: ast.Subscript, value: ast.expr, scope: Scope) -> Result:
    buffer = parser.known_buffer(target.value, scope)
    trees = index_trees(target)
    check_rank(parser, target, buffer, len(trees))
    for tree in trees:
        if isinstance(tree, ast.Slice):
            raise parser.source.error(
                target, "a slice has no meaning here", "write T.ramp(base, 1, lanes) for a vector"
            )
    indices = tuple(parser.expr(tree, scope) for tree in trees)
    return t.BufferStore(buffer, parser.expr(value, scope, buffer.dtype), indices)


def _axis(parser: StmtParser, target: ast.expr, value: Any, word: str, scope: Scope) -> Result:
    call: ast.Call = value
    if len(parser.blocks) < 2:
        raise parser.source.error(call, "an axis belongs to a block", 'write with T.block("name"): around it')
    targets = list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if any(not isinstance(item, ast.Name) for item in targets):
        raise parser.source.error(target, "an axis has a name here")
    names = [item.id for item in targets if isinstance(item, ast.Name)]
    if word == "remap":
        _remap(parser, names, call, scope)
    elif word in KIND_OF_AXIS and len(names) == 1:
        _one_axis(parser, names[0], call, KIND_OF_AXIS[word], scope)
    else:
        raise parser.source.error(
            call, f"there is no T.axis.{word} for {len(names)} names", nearest(word, [*KIND_OF_AXIS, "remap"])
        )
    return None


def _one_axis(parser: StmtParser, name: str, call: ast.Call, kind: t.IterKind, scope: Scope) -> None:
    keywords = parser.keywords(call, "dtype")
    block = parser.blocks[-1]
    if len(call.args) != (2 if block.realize else 1):
        raise parser.source.error(call, "an axis takes its extent and its value", "write vi = T.axis.spatial(16, i)")
    domain = parser.range_of(call.args[0], scope)
    value = parser.expr(call.args[1], scope) if block.realize else None
    dtype = parser.dtype(keywords["dtype"]) if "dtype" in keywords else domain.extent.dtype
    block.iter_vars.append(t.IterVar(parser.variable(name, dtype, scope), domain, kind))
    if value is not None:
        block.values.append(value)


def _remap(parser: StmtParser, names: list[str], call: ast.Call, scope: Scope) -> None:
    parser.keywords(call)
    values = call.args[1].elts if len(call.args) == 2 and isinstance(call.args[1], (ast.List, ast.Tuple)) else None
    kinds = parser.constant(call.args[0], str, 'kinds such as "SR"') if call.args else ""
    if values is None or not len(names) == len(values) == len(kinds) or set(kinds) - set("SRCO"):
        raise parser.source.error(
            call, "T.axis.remap takes kinds and loops", 'write vi, vk = T.axis.remap("SR", [i, k])'
        )
    block = parser.blocks[-1]
    for name, kind, tree in zip(names, kinds, values, strict=True):
        value = parser.expr(tree, scope)
        loop = parser.loops.get(id(value))
        if loop is None:
            raise parser.source.error(tree, "T.axis.remap takes loop variables", "write vi = T.axis.spatial(16, value)")
        variable = parser.variable(name, value.dtype, scope)
        block.iter_vars.append(t.IterVar(variable, t.Range(*loop), t.IterKind(kind)))
        block.values.append(value)


def _annotated(parser: StmtParser, tree: ast.AnnAssign, scope: Scope) -> Result:
    if not isinstance(tree.target, ast.Name) or tree.value is None:
        raise parser.source.error(tree, "a let gives a name a value", "write x: T.let[T.int64] = i * 4")
    name = tree.target.id
    note = tree.annotation
    if parser.word(note) == "expr":
        scope.names[name] = Abbreviation(tree.value, scope)
        return None
    if isinstance(note, ast.Subscript) and parser.word(note.value) == "let":
        note = note.slice
    dtype = parser.dtype(note)
    bound = parser.expr(tree.value, scope, dtype if isinstance(tree.value, ast.Constant) else None)
    variable = parser.variable(name, dtype, scope)
    return Opening(lambda body: t.LetStmt(variable, bound, body))


def _augmented(parser: StmtParser, tree: ast.AugAssign, scope: Scope) -> Result:
    if not isinstance(tree.target, ast.Subscript):
        raise parser.source.error(tree, "only an element of a buffer can be updated", "write C[i] += x")
    loaded = ast.copy_location(ast.Subscript(tree.target.value, tree.target.slice, ast.Load()), tree.target)
    value = ast.copy_location(ast.BinOp(loaded, tree.op, tree.value), tree)
    return _store(parser, tree.target, value, scope)


def _if(parser: StmtParser, tree: ast.If, scope: Scope) -> Result:
    arms: list[tuple[n.PrimExpr, t.Stmt]] = []
    current = tree
    while True:
        condition = parser.expr(current.test, scope)
        arms.append((condition, parser.suite(current.body, Scope(scope))))
        if len(current.orelse) == 1 and isinstance(current.orelse[0], ast.If):
            current = current.orelse[0]
            continue
        result = parser.suite(current.orelse, Scope(scope)) if current.orelse else None
        break
    for condition, body in reversed(arms):
        result = t.IfThenElse(condition, body, result)
    return result


def _while(parser: StmtParser, tree: ast.While, scope: Scope) -> Result:
    if tree.orelse:
        raise parser.source.error(tree, "a while has no else here")
    return t.While(parser.expr(tree.test, scope), parser.suite(tree.body, Scope(scope)))


def _assert(parser: StmtParser, tree: ast.Assert, scope: Scope) -> Result:
    message = parser.constant(tree.msg, str, "a message in quotes") if tree.msg is not None else "assertion failed"
    return t.AssertStmt(parser.expr(tree.test, scope), message)


def _pass(parser: StmtParser, tree: ast.Pass, scope: Scope) -> Result:
    return t.Evaluate(build.const(0))


def _for(parser: StmtParser, tree: ast.For, scope: Scope) -> Result:
    call = tree.iter
    plain_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
    word = "serial" if plain_range else parser.call_word(call)
    if not isinstance(call, ast.Call) or (word != "grid" and word not in KIND_OF_LOOP) or tree.orelse:
        hint = (
            nearest(word, [*KIND_OF_LOOP, "grid"]) or "write for i in T.serial(8), or T.grid, T.parallel, T.vectorized"
        )
        raise parser.source.error(tree.iter, "this is not a loop of T", hint)
    inner = Scope(scope)
    if word == "grid":
        return _grid(parser, tree, call, scope, inner)
    allowed = ("extent", "dtype", "thread", "annotations")
    keywords = {} if plain_range else parser.keywords(call, *allowed)
    start, extent = _loop_domain(parser, call, keywords, scope)
    thread = parser.constant(keywords["thread"], str, "a thread axis in quotes") if "thread" in keywords else ""
    dtype = parser.dtype(keywords["dtype"]) if "dtype" in keywords else extent.dtype
    items = parser.mapping(keywords["annotations"], scope) if "annotations" in keywords else EMPTY
    variable, begin = parser.new_loop(tree.target, start, extent, dtype, inner)
    return t.For(variable, begin, extent, KIND_OF_LOOP[word], parser.suite(tree.body, inner), thread, items)


def _loop_domain(
    parser: StmtParser, call: ast.Call, keywords: dict[str, ast.AST], scope: Scope
) -> tuple[n.PrimExpr | None, n.PrimExpr]:
    count = len(call.args)
    if "extent" in keywords and count == 1:
        return parser.expr(call.args[0], scope), parser.expr(keywords["extent"], scope)
    if count == 1:
        return None, parser.expr(call.args[0], scope)
    if count == 2 and "extent" not in keywords:
        start, end = (parser.expr(part, scope) for part in call.args)
        constant = is_index_constant(start) and is_index_constant(end)
        return start, build.subtract(end, start) if constant or not is_integer(start, 0) else end
    raise parser.source.error(
        call, "a loop takes its extent, or a begin and an end", "write T.serial(8) or T.serial(1, 8)"
    )


def _grid(parser: StmtParser, tree: ast.For, call: ast.Call, scope: Scope, inner: Scope) -> Result:
    parser.keywords(call)
    targets = list(tree.target.elts) if isinstance(tree.target, (ast.Tuple, ast.List)) else [tree.target]
    if len(targets) != len(call.args) or not targets:
        raise parser.source.error(
            tree.target, f"{len(targets)} names for {len(call.args)} extents", "write for i, j in T.grid(4, 5)"
        )
    extents = [parser.expr(part, scope) for part in call.args]
    loops = [
        (*parser.new_loop(target, None, extent, extent.dtype, inner), extent)
        for target, extent in zip(targets, extents, strict=True)
    ]
    body = parser.suite(tree.body, inner)
    for variable, begin, extent in reversed(loops):
        body = t.For(variable, begin, extent, t.ForKind.SERIAL, body)
    return body


# --- with ---------------------------------------------------------------------------------------------------------


def _with(parser: StmtParser, tree: ast.With, scope: Scope) -> Result:
    item = tree.items[0]
    word = parser.call_word(item.context_expr)
    reader = _WITHS.get(word)
    if len(tree.items) != 1 or reader is None:
        raise parser.source.error(
            tree, "`with` opens a block here", nearest(word, _WITHS) or 'write with T.block("name"):'
        )
    return reader(parser, tree, item.context_expr, scope)


def _with_name(parser: StmtParser, tree: ast.With) -> str:
    target = tree.items[0].optional_vars
    if not isinstance(target, ast.Name):
        raise parser.source.error(tree, "a name is missing", "write with ... as name:")
    return target.id


def _block(parser: StmtParser, tree: ast.With, call: ast.Call, scope: Scope) -> Result:
    keywords = parser.keywords(call, "realize")
    name = parser.constant(call.args[0], str, "the block's name") if call.args else "block"
    realize = parser.constant(keywords["realize"], bool, "True or False") if "realize" in keywords else True
    parts = BlockParts(name, realize)
    parser.blocks.append(parts)
    body = parser.suite(tree.body, Scope(scope))
    parser.blocks.pop()
    return finished(parts, body)


def finished(parts: BlockParts, body: t.Stmt) -> t.Stmt:
    """The block of the parts read, realized unless it said not to."""
    block = t.Block(
        parts.name,
        tuple(parts.iter_vars),
        tuple(parts.reads or ()),
        tuple(parts.writes or ()),
        tuple(parts.alloc_buffers),
        parts.init,
        body,
        parts.annotations,
    )
    return t.BlockRealize(tuple(parts.values), parts.predicate, block) if parts.realize else block


def _init(parser: StmtParser, tree: ast.With, call: ast.Call, scope: Scope) -> Result:
    block = parser.blocks[-1]
    if len(parser.blocks) < 2 or block.init is not None:
        raise parser.source.error(tree, "T.init() stands once in a block")
    block.init = parser.suite(tree.body, Scope(scope))
    return None


def _with_seq(parser: StmtParser, tree: ast.With, call: ast.Call, scope: Scope) -> Result:
    body = parser.suite(tree.body, Scope(scope))
    counted = sum(1 for _ in _counting(parser, tree))
    return t.SeqStmt(body.stmts) if isinstance(body, t.SeqStmt) and counted > 1 else t.SeqStmt((body,))


def _counting(parser: StmtParser, tree: ast.With) -> Iterator[ast.stmt]:
    """The statements of a ``with T.seq()`` that make nodes of their own."""
    for stmt in tree.body:
        if isinstance(stmt, ast.AnnAssign) and parser.word(stmt.annotation) == "expr":
            continue
        yield stmt
        opens = isinstance(stmt, ast.AnnAssign) or (
            isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name)
        )
        if opens:
            return


def _with_let(parser: StmtParser, tree: ast.With, call: ast.Call, scope: Scope) -> Result:
    keywords = parser.keywords(call, "dtype")
    if len(call.args) != 1:
        raise parser.source.error(call, "T.LetStmt takes one value")
    bound = parser.expr(call.args[0], scope)
    dtype = parser.dtype(keywords["dtype"]) if "dtype" in keywords else bound.dtype
    inner = Scope(scope)
    variable = parser.variable(_with_name(parser, tree), dtype, inner)
    return t.LetStmt(variable, bound, parser.suite(tree.body, inner))


def _with_allocate(parser: StmtParser, tree: ast.With, call: ast.Call, scope: Scope) -> Result:
    inner = Scope(scope)
    items = _annotations(parser, call, scope)
    if tree.items[0].optional_vars is None:
        return t.AllocBuffer(
            parser.known_buffer(_only(parser, call, "annotations"), scope), parser.suite(tree.body, inner), items
        )
    buffer = parser.buffer(_with_name(parser, tree), call, inner, "annotations")
    return t.AllocBuffer(buffer, parser.suite(tree.body, inner), items)


def _only(parser: StmtParser, call: ast.Call, *keywords: str) -> ast.expr:
    parser.keywords(call, *keywords)
    if len(call.args) != 1:
        raise parser.source.error(
            call, f"T.{parser.call_word(call)} takes one argument here", found=f"{len(call.args)}"
        )
    return call.args[0]


# --- statements that are calls ------------------------------------------------------------------------------------


def _expression(parser: StmtParser, tree: ast.Expr, scope: Scope) -> Result:
    if isinstance(tree.value, ast.Constant) and isinstance(tree.value.value, str):
        return None
    call = tree.value
    word = parser.call_word(call)
    reader = _CALL_STATEMENTS.get(word)
    if reader is not None and isinstance(call, ast.Call):
        return reader(parser, call, scope)
    if not isinstance(call, ast.Call):
        raise parser.source.error(tree, "an expression alone does nothing", "write T.evaluate(...) or a store")
    return t.Evaluate(parser.expr(call, scope))


def _evaluate(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    return t.Evaluate(parser.expr(_only(parser, call), scope))


def _empty(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    return t.SeqStmt(())


def _in_block(parser: StmtParser, call: ast.Call) -> BlockParts:
    if len(parser.blocks) < 2:
        word = parser.call_word(call)
        raise parser.source.error(call, f"T.{word} belongs to a block", 'write with T.block("name"): around it')
    return parser.blocks[-1]


def _where(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    block = _in_block(parser, call)
    block.predicate = parser.expr(_only(parser, call), scope)
    return None


def _regions(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    block = _in_block(parser, call)
    parser.keywords(call)
    listed = call.args[0] if len(call.args) == 1 else None
    trees = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else call.args
    regions = [parser.region(tree, scope) for tree in trees]
    if parser.call_word(call) == "reads":
        block.reads = (block.reads or []) + regions
    else:
        block.writes = (block.writes or []) + regions
    return None


def _block_attr(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    _in_block(parser, call).annotations = parser.mapping(_only(parser, call), scope)
    return None


def _alloc_declared(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    parser.blocks[-1].alloc_buffers.append(parser.known_buffer(_only(parser, call), scope))
    return None


def _allocate_declared(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    buffer = parser.known_buffer(_only(parser, call, "annotations"), scope)
    items = _annotations(parser, call, scope)
    return Opening(lambda body: t.AllocBuffer(buffer, body, items))


def _misplaced(parser: StmtParser, call: ast.Call, scope: Scope) -> Result:
    raise parser.source.error(call, f"T.{parser.call_word(call)} stands at the head of a function")


_CALL_STATEMENTS: Final[dict[str, Callable[[StmtParser, ast.Call, Scope], Result]]] = {
    "evaluate": _evaluate,
    "seq": _empty,
    "where": _where,
    "reads": _regions,
    "writes": _regions,
    "block_attr": _block_attr,
    "alloc_buffer": _alloc_declared,
    "allocate": _allocate_declared,
    "func_attr": _misplaced,
    "names": _misplaced,
}

_WITHS: Final[dict[str, Callable[[StmtParser, ast.With, Any, Scope], Result]]] = {
    "block": _block,
    "init": _init,
    "seq": _with_seq,
    "LetStmt": _with_let,
    "allocate": _with_allocate,
}

_STATEMENTS: Final[dict[type[ast.stmt], Callable[[StmtParser, Any, Scope], Result]]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.While: _while,
    ast.Assert: _assert,
    ast.Pass: _pass,
    ast.For: _for,
    ast.With: _with,
    ast.Expr: _expression,
}
