"""Reading ``with`` statements, and the calls of T that stand as statements: blocks and what they declare."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, Final

from ...core.errors import nearest
from .. import nodes as t
from .parse_expr import Scope
from .parse_parts import BlockParts, Opening, Result, StmtParser, annotations_of, finished


def read_with(parser: StmtParser, tree: ast.With, scope: Scope) -> Result:
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
    items = annotations_of(parser, call, scope)
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


def read_expression(parser: StmtParser, tree: ast.Expr, scope: Scope) -> Result:
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
    items = annotations_of(parser, call, scope)
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
