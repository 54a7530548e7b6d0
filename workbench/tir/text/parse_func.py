"""Reading functions and modules of functions.

The head of a function may use names in any order: scalars are made first, then abbreviated expressions and declared
buffers, then the buffers of the parameters, then attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.module import IRModule
from ...core.node import EMPTY, FrozenMap
from ...core.source import Source, dotted
from .. import nodes as t
from .captured import with_constants
from .constants import is_dtype_word
from .parse_calls import HANDLERS
from .parse_expr import Abbreviation, Scope
from .parse_parts import StmtParser, finished
from .parse_stmt import STATEMENTS
from .shapes import contains_block, is_root

CODE = "E-TIR-PARSE"


@dataclass
class Options:
    """What the decorator says."""

    private: bool = False
    root: bool = True
    ret_dtype: str = "void"


class FunctionParser(StmtParser):
    """Reads one function."""

    handlers = HANDLERS
    readers = STATEMENTS

    def __init__(self, source: Source, tree: ast.FunctionDef) -> None:
        super().__init__(source)
        self.tree = tree

    def function(self) -> t.PrimFunc:
        tree = self.tree
        options = self._options()
        scope = Scope()
        self._read_names()
        parameters = self._parameters(scope)
        declared = self._declarations(scope)
        buffers = self._parameter_buffers(parameters, scope)
        for name, call in declared:
            self.declared[name] = self.buffer(name, call, scope)
        attrs = self._attributes(scope, options)
        body = self.suite(tree.body, Scope(scope))
        root = self.blocks[0]
        if options.root and (root.alloc_buffers or (contains_block(body) and not is_root(body))):
            body = finished(root, body)
        return t.PrimFunc(buffers, body, attrs, DataType(options.ret_dtype))

    def _options(self) -> Options:
        options = Options()
        for decorator in self.tree.decorator_list:
            if not isinstance(decorator, ast.Call):
                continue
            for name, value in self.keywords(decorator, "private", "root", "ret_dtype").items():
                if name == "ret_dtype":
                    options.ret_dtype = self.dtype(value)
                else:
                    setattr(options, name, self.constant(value, bool, "True or False"))
        return options

    def _head_calls(self, word: str) -> list[ast.Call]:
        """The calls of ``T.<word>`` that stand as statements of the function itself."""
        found: list[ast.Call] = []
        for stmt in self.tree.body:
            if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and self.call_word(stmt.value) == word:
                self.handled.add(id(stmt))
                found.append(stmt.value)
        return found

    def _read_names(self) -> None:
        for call in self._head_calls("names"):
            items = self.mapping(call.args[0] if call.args else call, Scope())
            self.renamed |= {key: str(value) for key, value in items.items()}

    def _parameters(self, scope: Scope) -> list[tuple[ast.arg, Any]]:
        """Each parameter with its scalar, or None for a buffer that is made later."""
        listed = self.tree.args
        if listed.vararg or listed.kwarg or listed.kwonlyargs or listed.defaults:
            raise self.source.error(
                self.tree, "a function takes plain parameters", 'write A: T.Buffer((16,), "float32")'
            )
        parameters: list[tuple[ast.arg, Any]] = []
        for argument in [*listed.posonlyargs, *listed.args]:
            argument.annotation = self._annotation(argument)
            if any(argument.arg == other.arg for other, _ in parameters):
                raise self.source.error(argument, f"two parameters are named {argument.arg}")
            scalar = None
            if self.call_word(argument.annotation) != "Buffer":
                scalar = n.Var(self.renamed.get(argument.arg, argument.arg), self._scalar_dtype(argument))
                scope.names[argument.arg] = scalar
            parameters.append((argument, scalar))
        return parameters

    def _annotation(self, argument: ast.arg) -> ast.expr:
        note = argument.annotation
        if isinstance(note, ast.Constant) and isinstance(note.value, str):
            inner = Source(note.value, CODE).tree.body
            if len(inner) == 1 and isinstance(inner[0], ast.Expr):
                note = inner[0].value
                for part in ast.walk(note):
                    if hasattr(part, "lineno"):
                        ast.copy_location(part, argument)
        if note is None:
            raise self.source.error(
                argument, f"parameter {argument.arg} has no type", 'write A: T.Buffer((16,), "float32") or n: T.int64'
            )
        return note

    def _scalar_dtype(self, argument: ast.arg) -> DataType:
        note: Any = argument.annotation
        if isinstance(note, ast.Call) and not note.args:
            note = note.func
        if not is_dtype_word(self.word(note)):
            raise self.source.error(argument, f"{argument.arg} is neither a buffer nor a scalar", "write n: T.int64")
        return self.dtype(note)

    def _declarations(self, scope: Scope) -> list[tuple[str, ast.Call]]:
        """Declare scalars and abbreviations; answers the buffers still to be declared."""
        later: list[tuple[str, ast.Call]] = []
        for stmt in self.tree.body:
            if (
                isinstance(stmt, ast.AnnAssign)
                and self.word(stmt.annotation) == "expr"
                and isinstance(stmt.target, ast.Name)
            ):
                if stmt.value is not None:
                    self.handled.add(id(stmt))
                    scope.names[stmt.target.id] = Abbreviation(stmt.value, scope)
            if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
                continue
            word, value, name = self.call_word(stmt.value), stmt.value, stmt.targets[0].id
            if isinstance(value, ast.Call) and is_dtype_word(word) and not value.args and not value.keywords:
                self.handled.add(id(stmt))
                self.declared[name] = self.variable(name, word, scope)
            elif isinstance(value, ast.Call) and word == "Buffer":
                self.handled.add(id(stmt))
                later.append((name, value))
        return later

    def _parameter_buffers(self, parameters: list[tuple[ast.arg, Any]], scope: Scope) -> tuple[Any, ...]:
        matched = self._matched(scope)
        made: list[Any] = []
        for argument, scalar in parameters:
            if scalar is None:
                call: Any = argument.annotation
                made.append(self.buffer(argument.arg, call, scope))
            else:
                made.append(matched.get(id(scalar), scalar))
        return tuple(made)

    def _matched(self, scope: Scope) -> dict[int, t.Buffer]:
        """Buffers of ``A = T.match_buffer(a, shape, dtype)`` by the handle they stand for."""
        matched: dict[int, t.Buffer] = {}
        for stmt in self.tree.body:
            if not isinstance(stmt, ast.Assign) or self.call_word(stmt.value) != "match_buffer":
                continue
            call, target = stmt.value, stmt.targets[0]
            if not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or not call.args:
                raise self.source.error(
                    stmt, "T.match_buffer names a buffer", 'write A = T.match_buffer(a, (16,), "float32")'
                )
            handle = self.expr(call.args[0], scope)
            self.handled.add(id(stmt))
            inner = ast.copy_location(ast.Call(call.func, call.args[1:], call.keywords), call)
            matched[id(handle)] = self.buffer(target.id, inner, scope)
        return matched

    def _attributes(self, scope: Scope, options: Options) -> FrozenMap:
        attrs: FrozenMap = EMPTY
        for call in self._head_calls("func_attr"):
            items = self.mapping(call.args[0] if call.args else call, scope)
            attrs = FrozenMap({**attrs, **items})
        if options.private or "global_symbol" in attrs:
            return attrs
        return FrozenMap({"global_symbol": self.tree.name, **attrs})


def is_prim_func(tree: ast.AST) -> bool:
    """True for a function under ``@T.prim_func``."""
    if not isinstance(tree, ast.FunctionDef):
        return False
    heads = [item.func if isinstance(item, ast.Call) else item for item in tree.decorator_list]
    return any(dotted(head).split(".")[-1] == "prim_func" for head in heads)


def program(text: str | bytes, known: Mapping[str, Any] | None = None) -> t.PrimFunc | IRModule:
    """The function, or the module of functions, of a text.  Raises `ParseError`.

    `known`: values of names from around the text, of which numbers and texts count.
    """
    source = Source(text, CODE)
    if known:
        source.tree = cast("ast.Module", with_constants(source.tree, known))
    ignored = (ast.Import, ast.ImportFrom)
    body = [stmt for stmt in source.tree.body if not isinstance(stmt, ignored) and not _is_text(stmt)]
    if len(body) != 1:
        where: ast.AST = body[1] if body else source.tree
        raise source.error(
            where,
            f"one function or one class was expected, found {len(body)} statements",
            "write @T.prim_func def main(...):",
        )
    if isinstance(body[0], ast.ClassDef):
        return _module(source, body[0])
    return _function(source, body[0])


def _is_text(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _function(source: Source, tree: ast.stmt) -> t.PrimFunc:
    if not isinstance(tree, ast.FunctionDef) or not is_prim_func(tree):
        raise source.error(tree, "a function under @T.prim_func was expected here", "write @T.prim_func above def")
    return FunctionParser(source, tree).function()


def _module(source: Source, tree: ast.ClassDef) -> IRModule:
    functions: dict[str, t.PrimFunc] = {}
    for stmt in tree.body:
        if isinstance(stmt, ast.Pass) or _is_text(stmt):
            continue
        made = _function(source, stmt)
        name = stmt.name  # type: ignore[attr-defined]
        if name in functions:
            raise source.error(stmt, f"two functions are named {name}")
        functions[name] = made
    return IRModule(functions)
