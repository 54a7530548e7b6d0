"""Python constants in programs written in Python files: ``M`` in ``T.Buffer((M, 16))`` means its value there.

Invariant: only plain numbers, truth values and texts are taken over, and only for names that the program does not
bind itself; nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def with_constants(tree: ast.AST, known: Mapping[str, Any]) -> ast.AST:
    """`tree` with names of Python constants replaced by their values (in place)."""
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return _Constants({name: value for name, value in known.items() if name not in bound}).visit(tree)


class _Constants(ast.NodeTransformer):
    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self._known.get(node.id)
        if not isinstance(value, (bool, int, float, str)) or not isinstance(node.ctx, ast.Load):
            return node
        plain = str(value) if isinstance(value, str) else value
        if isinstance(plain, (int, float)) and not isinstance(plain, bool) and plain < 0:
            made: ast.expr = ast.UnaryOp(ast.USub(), ast.Constant(-plain))
            return ast.fix_missing_locations(ast.copy_location(made, node))
        return ast.copy_location(ast.Constant(plain), node)
