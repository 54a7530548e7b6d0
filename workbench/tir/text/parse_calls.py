"""Reading calls of T inside expressions: constants with a dtype, intrinsics, vectors, lets."""

from __future__ import annotations

import ast
from typing import Any, Final

from ...arith import build
from ...arith import nodes as n
from ...arith.intrinsics import INTRINSICS, Intrinsic
from ...core.dtype import DataType
from ...core.errors import nearest
from ...core.source import dotted
from .constants import HELPERS, is_dtype_word, natural_dtype, takes_literals
from .parse_expr import (
    EXACT_BINARY,
    NAMED_BINARY,
    NUMBERS,
    ExprParser,
    Handler,
    Scope,
    Steps,
    combined,
    read_attribute,
    read_binop,
    read_boolop,
    read_compare,
    read_conditional,
    read_constant,
    read_name,
    read_subscript,
    read_unary,
)


def _call(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    word = parser.call_word(tree)
    if not word:
        raise parser.source.error(
            tree, f"{dotted(tree.func) or 'this'} cannot be called here", "call a function of T: T.exp(x)"
        )
    special = _CALLS.get(word)
    if special is not None:
        return (yield from special(parser, tree, scope))
    if word in NAMED_BINARY or word in EXACT_BINARY:
        return (yield from _binary_call(parser, tree, scope, word))
    if is_dtype_word(word):
        return (yield from _typed_constant(parser, tree, scope, DataType(word)))
    if "." in word or word in HELPERS or word not in INTRINSICS:
        hint = nearest(word, [*INTRINSICS, *NAMED_BINARY, *_CALLS])
        raise parser.source.error(tree, f"T.{word} is not an expression", hint)
    return (yield from _intrinsic(parser, tree, scope, INTRINSICS[word]))


def _arguments(parser: ExprParser, tree: ast.Call, scope: Scope, count: int | None) -> Steps:
    if count is not None and len(tree.args) != count:
        raise parser.source.error(
            tree, f"T.{parser.call_word(tree)} takes {count} arguments", found=f"{len(tree.args)} arguments"
        )
    values: list[Any] = []
    for part in tree.args:
        value = yield part, scope
        values.append(value)
    return values


def _binary_call(parser: ExprParser, tree: ast.Call, scope: Scope, word: str) -> Steps:
    parser.keywords(tree)
    a, b = yield from _arguments(parser, tree, scope, 2)
    if word in EXACT_BINARY:
        return EXACT_BINARY[word](parser.as_expr(a, tree.args[0]), parser.as_expr(b, tree.args[1]))
    return combined(parser, *NAMED_BINARY[word], a, b, (tree.args[0], tree.args[1]))


def _typed_constant(parser: ExprParser, tree: ast.Call, scope: Scope, dtype: DataType) -> Steps:
    parser.keywords(tree)
    (value,) = yield from _arguments(parser, tree, scope, 1)
    if isinstance(value, str) and dtype.is_float and value in ("inf", "-inf", "nan"):
        value = float(value)
    if isinstance(value, NUMBERS):
        if isinstance(value, float) and not dtype.is_float:
            raise parser.source.error(
                tree,
                f"{value!r} is not of {dtype}",
                f"write T.{dtype}({int(value) if value == value and abs(value) < 1e300 else 0})",
            )
        return build.const(value, dtype)
    return build.cast(dtype, parser.as_expr(value, tree.args[0]))


def _intrinsic(parser: ExprParser, tree: ast.Call, scope: Scope, entry: Intrinsic) -> Steps:
    keywords = parser.keywords(tree, "dtype")
    raw = yield from _arguments(parser, tree, scope, entry.arity)
    first = 1 if entry.name == "if_then_else" else 0
    partner = next((value.dtype for value in raw[first:] if isinstance(value, n.PrimExpr)), None)
    wished = partner if takes_literals(entry) else "float32" if entry.floats_only else None
    values = [
        parser.as_expr(value, part, wished if index >= first else None)
        for index, (value, part) in enumerate(zip(raw, tree.args, strict=True))
    ]
    if entry.floats_only:
        values = [value if value.dtype.is_float else build.cast("float32", value) for value in values]
    given = parser.dtype(keywords["dtype"]) if "dtype" in keywords else natural_dtype(entry, tuple(values))
    if given is None:
        raise parser.source.error(tree, f"T.{entry.name} needs dtype=", f'write T.{entry.name}(..., dtype="int32")')
    return n.Call(given, entry.name, tuple(values))


def _cast(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    _count(parser, tree, 2)
    value = yield tree.args[1], scope
    return n.Cast(parser.dtype(tree.args[0]), parser.as_expr(value, tree.args[1]))


def _count(parser: ExprParser, tree: ast.Call, count: int) -> None:
    if len(tree.args) != count:
        raise parser.source.error(
            tree, f"T.{parser.call_word(tree)} takes {count} arguments", found=f"{len(tree.args)} arguments"
        )


def _select(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    condition, a, b = yield from _arguments(parser, tree, scope, 3)
    partner = next((value.dtype for value in (a, b) if isinstance(value, n.PrimExpr)), None)
    arms = (parser.as_expr(a, tree.args[1], partner), parser.as_expr(b, tree.args[2], partner))
    return n.Select(parser.as_expr(condition, tree.args[0]), *arms)


def _ramp(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    _count(parser, tree, 3)
    base = yield tree.args[0], scope
    stride = yield tree.args[1], scope
    lanes = parser.constant(tree.args[2], int, "a number of lanes")
    first = parser.as_expr(base, tree.args[0])
    return n.Ramp(first, parser.as_expr(stride, tree.args[1]), _lanes(parser, tree, lanes))


def _lanes(parser: ExprParser, tree: ast.AST, lanes: int) -> int:
    if not 1 <= lanes <= 1 << 16:
        raise parser.source.error(tree, f"{lanes} is no number of lanes", "write a number from 2 to 65536")
    return lanes


def _broadcast(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    _count(parser, tree, 2)
    value = yield tree.args[0], scope
    lanes = parser.constant(tree.args[1], int, "a number of lanes")
    return n.Broadcast(parser.as_expr(value, tree.args[0]), _lanes(parser, tree, lanes))


def _let(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    keywords = parser.keywords(tree, "dtype")
    _count(parser, tree, 3)
    name = tree.args[0]
    if not isinstance(name, ast.Name):
        raise parser.source.error(name, "T.Let binds a name", "write T.Let(x, value, body)")
    value = yield tree.args[1], scope
    bound = parser.as_expr(value, tree.args[1])
    inner = Scope(scope)
    dtype = parser.dtype(keywords["dtype"]) if "dtype" in keywords else bound.dtype
    variable = parser.variable(name.id, dtype, inner)
    body = yield tree.args[2], inner
    return n.Let(variable, bound, parser.as_expr(body, tree.args[2]))


def _not_call(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    (value,) = yield from _arguments(parser, tree, scope, 1)
    return n.Not(parser.as_expr(value, tree.args[0]))


def _any_call(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    if len(tree.args) < 2:
        raise parser.source.error(
            tree, "T.Call takes a dtype, a name and arguments", 'write T.Call("float32", "exp", x)'
        )
    name = parser.constant(tree.args[1], str, "the name of an intrinsic")
    values: list[n.PrimExpr] = []
    for part in tree.args[2:]:
        value = yield part, scope
        values.append(parser.as_expr(value, part))
    return n.Call(parser.dtype(tree.args[0]), name, tuple(values))


def _immediate(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    _count(parser, tree, 2)
    word = parser.call_word(tree)
    dtype = parser.dtype(tree.args[1])
    if word == "StringImm":
        return n.StringImm(parser.constant(tree.args[0], str, "text"), dtype)
    value = parser.constant(tree.args[0], (int, float, str), "a number")
    if word == "IntImm":
        return n.IntImm(parser.constant(tree.args[0], (int,), "an integer"), dtype)
    try:
        return n.FloatImm(float(value), dtype)
    except ValueError:
        raise parser.source.error(tree, f"{value!r} is not a number") from None
    yield


def _given_expr(parser: ExprParser, tree: ast.Call, scope: Scope) -> Steps:
    parser.keywords(tree)
    (value,) = yield from _arguments(parser, tree, scope, 1)
    return parser.as_expr(value, tree.args[0])


_CALLS: Final[dict[str, Handler]] = {
    "Cast": _cast,
    "cast": _cast,
    "Select": _select,
    "ramp": _ramp,
    "Ramp": _ramp,
    "broadcast": _broadcast,
    "Broadcast": _broadcast,
    "Let": _let,
    "Not": _not_call,
    "Call": _any_call,
    "IntImm": _immediate,
    "FloatImm": _immediate,
    "StringImm": _immediate,
    "expr": _given_expr,
}

HANDLERS: Final[dict[type[ast.AST], Handler]] = {
    ast.Constant: read_constant,
    ast.Name: read_name,
    ast.UnaryOp: read_unary,
    ast.BinOp: read_binop,
    ast.BoolOp: read_boolop,
    ast.Compare: read_compare,
    ast.IfExp: read_conditional,
    ast.Subscript: read_subscript,
    ast.Attribute: read_attribute,
    ast.Call: _call,
}
