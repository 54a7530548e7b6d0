"""The text of index maps: ``lambda i, j: (i // 4, j, i % 4)``, read with `ast`, never run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ...arith import build
from ...arith import nodes as n
from ...arith.nodes import Var
from ...core.errors import WorkbenchError
from ...core.node import children
from ...core.source import Source, dotted
from ...core.walks import folded
from ..index_map import AXIS_SEPARATOR, CODE, TEXT_LIMIT, IndexMap, index_map_of
from .parse_calls import HANDLERS
from .parse_expr import ExprParser, Scope

_SPOKEN = ("T", "IndexMap", "te", "AXIS_SEPARATOR", "min", "max")
"""Names with a meaning of their own in a map's text."""
_SEPARATORS = ("AXIS_SEPARATOR", "IndexMap.AXIS_SEPARATOR", "te.AXIS_SEPARATOR")


class _Parser(ExprParser):
    handlers = HANDLERS


def parsed(text: str, sizes: Mapping[str, Var] | None) -> IndexMap:
    """See `IndexMap.parse`."""
    source = Source(text[: TEXT_LIMIT + 1], CODE)
    if len(text) > TEXT_LIMIT:
        raise source.at(1, 1, "the map is too large", found=f"{len(text)} characters")
    body = source.tree.body
    first = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if not isinstance(first, ast.Lambda):
        raise source.at(1, 1, "an index map is a lambda", "lambda i, j: (j, i)")
    arguments = first.args
    others = [*arguments.defaults, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    if any(item is not None for item in others):
        raise source.error(first, "an index map takes plain indices", "lambda i, j: (j, i)")
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    scope = Scope()
    variables = [Var(name) for name in names]
    known: Mapping[str, Var] = sizes if sizes is not None else {name: Var(name) for name in _free(first.body)}
    scope.names.update((name, build.cast(build.INDEX, var)) for name, var in known.items())
    scope.names.update(zip(names, variables, strict=True))
    parser = _Parser(source)
    used = [var for name, var in known.items() if name not in names]
    return index_map_of(variables, [_output(parser, tree, scope) for tree in _trees(first.body)], used)


def _free(body: ast.expr) -> list[str]:
    """The names in a lambda's body, each once, but those that the language has."""
    names = dict.fromkeys(node.id for node in ast.walk(body) if isinstance(node, ast.Name))
    return [name for name in names if name not in _SPOKEN]


def _trees(body: ast.expr) -> list[ast.expr]:
    """The outputs' trees; tuples and lists in one another are opened."""
    found: list[ast.expr] = []
    stack = [body]
    while stack:
        tree = stack.pop()
        if isinstance(tree, (ast.Tuple, ast.List)):
            stack.extend(reversed(tree.elts))
        else:
            found.append(tree)
    return found


def _output(parser: ExprParser, tree: ast.expr, scope: Scope) -> Any:
    if isinstance(tree, (ast.Name, ast.Attribute)) and dotted(tree) in _SEPARATORS:
        return AXIS_SEPARATOR
    return parser.expr(tree, scope, "int64")


def written(index_map: IndexMap) -> str:
    """See `IndexMap.text`.  Raises `WorkbenchError` if the text would be too long."""
    known: dict[int, tuple[str, int]] = {id(var): (var.name, _ATOM) for var in index_map.initial_indices}
    pieces: list[str] = []
    for number, output in enumerate(index_map.final_indices):
        if number in index_map.separators:
            pieces.append("IndexMap.AXIS_SEPARATOR")
        pieces.append(_text(output, known))
    inner = ", ".join(pieces) + ("," if len(pieces) == 1 else "")
    names = ", ".join(var.name for var in index_map.initial_indices)
    return f"lambda {names}: ({inner})" if names else f"lambda: ({inner})"


_ATOM, _PRODUCT, _SUM = 3, 2, 1
_OPERATORS: dict[type, tuple[str, int]] = {
    n.Add: (" + ", _SUM),
    n.Sub: (" - ", _SUM),
    n.Mul: (" * ", _PRODUCT),
    n.FloorDiv: (" // ", _PRODUCT),
    n.FloorMod: (" % ", _PRODUCT),
}
_WORDS: dict[type, str] = {n.Min: "T.min", n.Max: "T.max"}


def _text(root: n.PrimExpr, known: dict[int, tuple[str, int]]) -> str:
    """An expression's text; each part is written once, and no text grows beyond the limit."""
    return folded(root, children, _combined, known)[0]


def _combined(node: Any, parts: list[tuple[str, int]]) -> tuple[str, int]:
    if isinstance(node, n.IntImm):
        return str(node.value), _ATOM if node.value >= 0 else _SUM
    if isinstance(node, Var):
        return node.name, _ATOM
    if isinstance(node, n.Cast):  # of a size
        return parts[0]
    a, b = parts
    if len(a[0]) + len(b[0]) > TEXT_LIMIT:
        raise WorkbenchError(CODE, "the map is too large to be written down", found=f"over {TEXT_LIMIT} characters")
    if type(node) in _WORDS:
        return f"{_WORDS[type(node)]}({a[0]}, {b[0]})", _ATOM
    sign, level = _OPERATORS[type(node)]
    left = a[0] if a[1] >= level else f"({a[0]})"
    right = b[0] if b[1] > level else f"({b[0]})"
    return f"{left}{sign}{right}", level
