"""Reading the plain parts of relay's script: types, dimensions, constants and attribute values, from Python's `ast`.

Nothing is executed: only the forms that `script_values` writes are accepted, everything else is refused with line,
column and a hint.
"""

# The tables at the end name the class's own rules.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError, nearest
from ...core.node import FrozenMap
from ...core.tensor import Tensor
from . import types as t
from .operator import Fusion

_CODE = "E-RELAY-PARSE"


class Source:
    """The text being read: makes errors with line and column."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def error(self, place: Any, message: str, *, expected: str = "", fix: str = "") -> WorkbenchError:
        """An error at an `ast` node."""
        line, column = getattr(place, "lineno", 1), getattr(place, "col_offset", 0) + 1
        return self.error_at(line, column, message, expected=expected, fix=fix)

    def error_at(self, line: int, column: int, message: str, *, expected: str = "", fix: str = "") -> WorkbenchError:
        shown = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        return WorkbenchError(
            _CODE,
            message,
            where=f"line {line}:{column}",
            found=shown,
            expected=expected,
            fix=fix,
            kept="the program before",
        )


class Environment:
    """What names stand for; inner blocks see outer ones."""

    def __init__(self, outer: Environment | None = None) -> None:
        self.outer = outer
        self._names: dict[str, Any] = {}

    def define(self, name: str, thing: Any) -> None:
        self._names[name] = thing

    def get(self, name: str) -> Any:
        scope: Environment | None = self
        while scope is not None:
            if name in scope._names:
                return scope._names[name]
            scope = scope.outer
        return None

    def names(self) -> Iterator[str]:
        scope: Environment | None = self
        while scope is not None:
            yield from scope._names
            scope = scope.outer


def dotted(node: ast.AST) -> tuple[str, ...]:
    """``R.nn.relu`` as its parts; empty if it is something else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def special(node: ast.AST) -> str:
    """The name after ``R.`` of a call (``R.const(...)``), or the empty string."""
    path = dotted(node.func) if isinstance(node, ast.Call) else ()
    return path[1] if len(path) == 2 and path[0] == "R" else ""


class ValueReader:
    """Reads types, dimensions, constants and attribute values."""

    def __init__(self, source: Source, constants: Mapping[str, Tensor]) -> None:
        self.source = source
        self.constants = constants

    # --- literals ---

    def literal(self, node: ast.AST, kind: type | tuple[type, ...], what: str) -> Any:
        """A Python literal of a class."""
        value = self.number(node)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise self.source.error(node, f"{what} is expected here")
        return value

    def number(self, node: ast.AST) -> Any:
        """A literal: number, text, bool or None; with a sign; or ``R.float("inf")``."""
        if isinstance(node, ast.Constant) and not isinstance(node.value, (complex, type(...))):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self.number(node.operand)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return -value if isinstance(node.op, ast.USub) else value
        if special(node) == "float" and isinstance(node, ast.Call):
            text = self.text(node, 0)
            if text in ("inf", "-inf", "nan"):
                return float(text)
        raise self.source.error(node, "a number, a text, True, False or None is expected here")

    def arguments(self, call: ast.Call, least: int, most: int) -> list[ast.expr]:
        if not least <= len(call.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.source.error(call, f"R.{special(call)} takes {wanted} arguments, not {len(call.args)}")
        return call.args

    def keywords(self, call: ast.Call, *allowed: str) -> dict[str, ast.expr]:
        """Keyword arguments by name; others than `allowed` are refused."""
        found: dict[str, ast.expr] = {}
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg not in allowed:
                raise self.source.error(
                    call, f"unexpected argument {keyword.arg or '**'}", fix=nearest(str(keyword.arg), allowed)
                )
            found[keyword.arg] = keyword.value
        return found

    def text(self, call: ast.Call, index: int) -> str:
        if index >= len(call.args):
            raise self.source.error(call, f"R.{special(call)} needs a text as argument {index + 1}")
        return self.literal(call.args[index], str, "a text in quotes")

    def dtype(self, node: ast.AST) -> DataType:
        text = self.literal(node, str, 'a dtype such as "float32"')
        try:
            return DataType(text)
        except WorkbenchError as error:
            raise self.source.error(node, error.message, expected=error.expected) from None

    # --- dimensions ---

    def dimension(self, node: ast.AST, env: Environment) -> t.Dimension:
        """An extent: a number, a symbolic expression, or ``R.Any()``."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if special(node) == "Any":
            return t.Any()
        return self.expression(node, env)

    def expression(self, node: ast.AST, env: Environment) -> n.PrimExpr:
        """A symbolic dimension."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return n.IntImm(node.value)
        if isinstance(node, ast.Name):
            found = env.get(node.id)
            if isinstance(found, n.PrimExpr):
                return found
            fix = nearest(node.id, env.names()) or f'declare it: {node.id} = R.dim_var("int64")'
            raise self.source.error(node, f"{node.id} is not a dimension", fix=fix)
        if isinstance(node, ast.BinOp) and type(node.op) in _INFIX:
            return self._binary(_INFIX[type(node.op)], node, node.left, node.right, env)
        name = special(node)
        if isinstance(node, ast.Call) and name in _FUNCTIONS:
            left, right = self.arguments(node, 2, 2)
            return self._binary(_FUNCTIONS[name], node, left, right, env)
        if isinstance(node, ast.Call) and name == "int":
            value, dtype = self.arguments(node, 2, 2)
            return n.IntImm(self.literal(value, int, "a whole number"), self.dtype(dtype))
        if isinstance(node, ast.Call) and name == "cast":
            value, dtype = self.arguments(node, 2, 2)
            return n.Cast(self.dtype(dtype), self.expression(value, env))
        raise self.source.error(
            node, "a dimension is expected here", expected="a whole number, a declared name, R.Any()"
        )

    def _binary(self, kind: Any, node: ast.AST, left: ast.AST, right: ast.AST, env: Environment) -> n.PrimExpr:
        a, b = self.expression(left, env), self.expression(right, env)
        if a.dtype != b.dtype:
            raise self.source.error(node, f"dimensions of dtypes {a.dtype} and {b.dtype} meet")
        return kind(a, b)

    # --- types ---

    def type(self, node: ast.AST, env: Environment) -> t.Type:
        """A type."""
        if isinstance(node, ast.Name):
            found = env.get(node.id)
            if isinstance(found, t.Type):
                return found
            fix = nearest(node.id, env.names()) or f'declare it: {node.id} = R.type_var("TYPE")'
            raise self.source.error(node, f"{node.id} is not a type", fix=fix)
        if isinstance(node, ast.Subscript):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return t.TypeCall(self.type(node.value, env), tuple(self.type(item, env) for item in items))
        path = dotted(node)
        if len(path) == 2 and path[0] == "G":
            return t.GlobalTypeVar(path[1])
        reader = _TYPES.get(special(node))
        if reader is not None and isinstance(node, ast.Call):
            try:
                return reader(self, node, env)
            except WorkbenchError as error:
                raise error if error.code == _CODE else self.source.error(node, error.message) from None
        raise self.source.error(
            node,
            "a type is expected here",
            expected='R.Tensor((2, 3), "float32"), R.Tuple(...), R.Func(...), R.Ref(...)',
        )

    def types(self, nodes: list[ast.expr], env: Environment) -> tuple[t.Type, ...]:
        return tuple(self.type(node, env) for node in nodes)

    def elements(self, node: ast.AST) -> list[ast.expr]:
        if isinstance(node, (ast.Tuple, ast.List)):
            return node.elts
        raise self.source.error(node, "a tuple is expected here", expected="(a, b), (a,) or ()")

    def _tensor(self, call: ast.Call, env: Environment) -> t.Type:
        arguments = self.arguments(call, 1, 2)
        shape = tuple(self.dimension(item, env) for item in self.elements(arguments[0]))
        return t.TensorType(shape, self.dtype(arguments[1]) if len(arguments) == 2 else DataType("float32"))

    def _function(self, call: ast.Call, env: Environment) -> t.Type:
        arguments = self.arguments(call, 2, 2)
        given = self.keywords(call, "type_params")
        params = self.types(self.elements(given["type_params"]), env) if "type_params" in given else ()
        return t.FuncType(self.types(self.elements(arguments[0]), env), self.type(arguments[1], env), params)  # type: ignore[arg-type]

    def _adt(self, call: ast.Call, env: Environment) -> t.Type:
        kind = self.text(call, 1) if len(call.args) > 1 else "ADT_HANDLE"
        return t.GlobalTypeVar(self.text(call, 0), self.kind(call, kind))

    def kind(self, place: ast.AST, name: str) -> t.Kind:
        if name not in t.Kind.__members__:
            raise self.source.error(place, f"{name!r} is not a kind of type", fix=nearest(name, t.Kind.__members__))
        return t.Kind[name]

    # --- constants ---

    def tensor(self, call: ast.Call) -> Tensor:
        """``R.const``, ``R.filled`` or ``R.constant``."""
        name = special(call)
        if name == "const":
            value, *rest = self.arguments(call, 1, 2)
            return self._array(value, self.dtype(rest[0]) if rest else None)
        if name == "filled":
            shape, value, dtype = self.arguments(call, 3, 3)
            return Tensor.full(self.shape(shape), self.number(value), self.dtype(dtype))
        shape, dtype = self.arguments(call, 1, 3)[1:] if len(call.args) == 3 else (None, None)
        key = self.text(call, 0)
        data = self.constants.get(key)
        if data is None:
            raise self.source.error(
                call,
                f"the data of constant {key[:12]}… is not in the table",
                fix="pass constants=constants_of(the module that was printed)",
            )
        if (
            shape is not None
            and dtype is not None
            and (data.shape, data.dtype) != (self.shape(shape), self.dtype(dtype))
        ):
            raise self.source.error(call, f"constant {key[:12]}… has shape {data.shape} and dtype {data.dtype}")
        return data

    def shape(self, node: ast.AST) -> tuple[int, ...]:
        found = tuple(self.literal(item, int, "a whole number") for item in self.elements(node))
        if any(extent < 0 for extent in found):
            raise self.source.error(node, "an extent cannot be negative")
        return found

    def _array(self, node: ast.AST, dtype: DataType | None) -> Tensor:
        nested = self._nested(node)
        if dtype is None:
            kind = np.asarray(nested).dtype.kind
            dtype = DataType({"f": "float32", "i": "int32"}.get(kind, "bool"))
        try:
            return Tensor.of(np.asarray(nested, dtype.to_numpy()))
        except (ValueError, TypeError, OverflowError) as error:
            raise self.source.error(node, f"these values make no {dtype} tensor: {error}") from None

    def _nested(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._nested(item) for item in node.elts]
        return self.number(node)

    # --- attribute values ---

    def value(self, node: ast.AST, env: Environment) -> Any:
        """An attribute's value."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.value(item, env) for item in node.elts)
        if isinstance(node, ast.Dict):
            keys = [self.literal(key or node, str, "a text in quotes") for key in node.keys]
            return FrozenMap(zip(keys, (self.value(item, env) for item in node.values), strict=True))
        name = special(node)
        reader = _VALUES.get(name)
        if reader is not None and isinstance(node, ast.Call):
            return reader(self, node, env)
        if name in _TYPES or isinstance(node, (ast.Name, ast.Subscript, ast.Attribute)):
            return self.type(node, env)
        return self.number(node)

    def _enum(self, call: ast.Call, env: Environment) -> Any:
        name, member = self.text(call, 0), self.text(call, 1)
        kinds = {kind.__name__: kind for kind in _enums()}
        if name not in kinds or member not in kinds[name].__members__:
            raise self.source.error(call, f"there is no {name}.{member}", fix=nearest(name, kinds))
        return kinds[name][member]


def _enums() -> list[type[enum.Enum]]:
    return [t.Kind, Fusion]


def _scalar(reader: ValueReader, call: ast.Call, env: Environment) -> Any:
    value, dtype = reader.arguments(call, 2, 2)
    return reader.dtype(dtype).to_numpy().type(reader.number(value))


_INFIX: dict[type[ast.operator], Any] = {
    ast.Add: n.Add,
    ast.Sub: n.Sub,
    ast.Mult: n.Mul,
    ast.FloorDiv: n.FloorDiv,
    ast.Mod: n.FloorMod,
}
_FUNCTIONS: dict[str, Any] = {"min": n.Min, "max": n.Max, "truncdiv": n.Div, "truncmod": n.Mod}
Reader = Callable[[ValueReader, ast.Call, Environment], Any]
_TYPES: dict[str, Reader] = {
    "Tensor": ValueReader._tensor,
    "Tuple": lambda reader, call, env: t.TupleType(reader.types(call.args, env)),
    "Ref": lambda reader, call, env: t.RefType(reader.type(reader.arguments(call, 1, 1)[0], env)),
    "Func": ValueReader._function,
    "adt": ValueReader._adt,
}
_VALUES: dict[str, Reader] = {
    "float": lambda reader, call, env: reader.number(call),
    "dtype": lambda reader, call, env: reader.dtype(reader.arguments(call, 1, 1)[0]),
    "Any": lambda reader, call, env: t.Any(),
    "dim": lambda reader, call, env: reader.expression(reader.arguments(call, 1, 1)[0], env),
    "tensor": lambda reader, call, env: reader.tensor(_call(reader, reader.arguments(call, 1, 1)[0])),
    "scalar": _scalar,
    "enum": ValueReader._enum,
}


def _call(reader: ValueReader, node: ast.AST) -> ast.Call:
    if special(node) in ("const", "filled", "constant") and isinstance(node, ast.Call):
        return node
    raise reader.source.error(node, "a constant is expected here")
