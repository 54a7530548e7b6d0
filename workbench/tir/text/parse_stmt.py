"""Reading statements: stores, lets, axes, loops, conditions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from ...arith import build
from ...arith import nodes as n
from ...core.errors import nearest
from ...core.node import EMPTY
from .. import nodes as t
from .constants import is_dtype_word
from .parse_blocks import read_expression, read_with
from .parse_expr import Abbreviation, Scope, check_rank, index_trees
from .parse_parts import KIND_OF_AXIS, KIND_OF_LOOP, Opening, Result, StmtParser, annotations_of
from .shapes import is_index_constant, is_integer


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
        items = annotations_of(parser, call, scope)
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


STATEMENTS: Final[dict[type[ast.stmt], Callable[[StmtParser, Any, Scope], Result]]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.While: _while,
    ast.Assert: _assert,
    ast.Pass: _pass,
    ast.For: _for,
    ast.With: read_with,
    ast.Expr: read_expression,
}
