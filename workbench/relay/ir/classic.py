"""Relay's classic text, as printed by `astext()` and read by `fromtext` / `relay.parse`.

    #[version = "0.0.5"]
    def @main(%x: Tensor[(1, 3), float32]) -> Tensor[(1, 3), float32] {
      %0 = nn.relu(%x) /* ty=Tensor[(1, 3), float32] */;
      add(%0, %0) /* ty=Tensor[(1, 3), float32] */
    }

`%0 = ...` names a shared expression of the graph, `let` binds.  Constants that are no scalars stand as
``meta[relay.Constant][i]``; their data follows the program with ``show_meta_data=True``.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtype import DataType
from ...core.equal import free_variables
from ...core.module import IRModule
from ...core.node import FrozenMap
from ...core.tensor import Tensor
from ...core.text import DEDENT, INDENT, NEWLINE, Child, Piece, fresh_name, layout
from ...relay.ir.type_text import separated
from . import expr as e
from . import types as t
from .classic_parse import fromtext, parse_expr
from .plan import LEAVES, Plan, Scope, bound_variables, plain_operands
from .type_text import type_text

__all__ = ["astext", "fromtext", "parse_expr", "type_text"]

VERSION = '#[version = "0.0.5"]'
_SUFFIX = {"float32": "f", "float64": "f64", "float16": "f16", "int32": "", "int64": "i64"}


def astext(program: Any, show_meta_data: bool = False) -> str:
    """The classic text of a module, function, expression or type."""
    if isinstance(program, t.Type):
        return type_text(program)
    constants: dict[str, tuple[int, Tensor]] = {}
    if isinstance(program, IRModule):
        parts = [type_text(data) for data in program.type_definitions.values()]
        parts += [_text(func, f"@{name}", constants) for name, func in program.items() if isinstance(func, e.Expr)]
    else:
        parts = [_text(program, "", constants)]
    text = VERSION + "\n" + "\n\n".join(parts) + "\n"
    return text + _metadata([data for _, data in constants.values()]) if show_meta_data and constants else text


def _text(root: e.Expr, name: str, constants: dict[str, tuple[int, Tensor]]) -> str:
    text = layout(root, _Printer(root, name, constants).pieces, "top").text
    return re.sub(r"^( {4})+", lambda found: " " * (len(found.group(0)) // 2), text, flags=re.MULTILINE)


def _metadata(constants: Sequence[Tensor]) -> str:
    rows: list[dict[str, Any]] = []
    for data in constants:
        row: dict[str, Any] = {"dtype": str(data.dtype), "shape": list(data.shape)}
        if data.fill_value is not None:
            row["fill"] = base64.b64encode(np.ascontiguousarray(data.fill_value).tobytes()).decode()
        else:
            row["data"] = base64.b64encode(np.ascontiguousarray(data.numpy()).tobytes()).decode()
        rows.append(row)
    return "\n#[metadata]\n" + json.dumps({"relay.Constant": rows}) + "\n"


class _Printer:
    """Layout of one function."""

    def __init__(self, root: e.Expr, name: str, constants: dict[str, tuple[int, Tensor]]) -> None:
        self.root = root
        self.name = name
        self.constants = constants
        self.plan = Plan(root)
        self.names: dict[int, str] = {}
        self._taken: set[str] = set()
        self._numbers = 0
        for variable in free_variables(root):
            if isinstance(variable, e.Var):
                self._choose(variable)
        self._ask_types()
        for expr in [root, *self.plan.order]:
            for variable in bound_variables(expr):
                self._choose(variable)

    def _ask_types(self) -> None:
        """Tell what can be told, lets before their bodies: the text does not depend on who asked for types before."""
        for expr in reversed(self.plan.order):
            if isinstance(expr, e.Let):
                expr.type_or_none  # noqa: B018  (asked so that the variable has a type)

    def _choose(self, variable: e.Var) -> None:
        if id(variable) in self.names:
            return
        base = re.sub(r"\W", "_", variable.name_hint, flags=re.ASCII) or "v"
        base = f"v{base}" if base[0].isdigit() else base
        self.names[id(variable)] = f"%{fresh_name(base, self._taken)}"

    # --- blocks ---

    def pieces(self, node: Any, context: Any) -> Sequence[Piece]:
        if context == "top":
            return self._top(node)
        return self._value(node) if context == "value" else self._operand(node)

    def _top(self, root: e.Expr) -> list[Piece]:
        if isinstance(root, e.Function):
            return self._function(root, f"def {self.name}" if self.name else "fn ")
        lines: list[Piece] = []
        for variable in free_variables(root):
            if isinstance(variable, e.Var) and variable.type_or_none is not None:
                lines += [f"free_var {self.names[id(variable)]}: {type_text(variable.checked_type)};", NEWLINE]
        return [*lines, *self._block(self.plan.top)[1:]]

    def _function(self, function: e.Function, head: str) -> list[Piece]:
        params = f"[{', '.join(variable.name for variable in function.type_params)}]" if function.type_params else ""
        items = [self._declared(param) for param in function.params]
        items += [f"{key}={_attribute(value)}" for key, value in function.attrs.items()]
        result = f" -> {type_text(function.ret_type)}" if function.ret_type is not None else ""
        (scope,) = self.plan.inner[id(function)]
        return [f"{head}{params}({', '.join(items)}){result} ", *self._braces(scope)]

    def _declared(self, variable: e.Var) -> str:
        known = variable.type_annotation
        return f"{self.names[id(variable)]}: {type_text(known)}" if known is not None else self.names[id(variable)]

    def _braces(self, scope: Scope) -> list[Piece]:
        return ["{", INDENT, *self._block(scope), DEDENT, NEWLINE, "}"]

    def _block(self, scope: Scope) -> list[Piece]:
        pieces: list[Piece] = []
        current: Scope | None = scope
        while current is not None:
            last = current.result if current.let is None else None
            for expr in current.statements:
                if expr is not last or self.plan.uses[id(expr)] > 1:
                    self.names[id(expr)] = f"%{self._numbers}"
                    self._numbers += 1
                    pieces += [NEWLINE, f"{self.names[id(expr)]} = ", Child(expr, "value"), *self._typed(expr), ";"]
            if current.let is not None:
                let = current.let
                value = [Child(let.value), *self._typed(let.value)]
                pieces += [NEWLINE, f"let {self._declared(let.var)} = ", *value, ";"]
            elif id(current.result) in self.names or isinstance(current.result, LEAVES):
                pieces += [NEWLINE, Child(current.result)]
            else:
                pieces += [NEWLINE, Child(current.result, "value"), *self._typed(current.result)]
            current = current.rest
        return pieces

    def _typed(self, expr: e.Expr) -> list[Piece]:
        known = expr.type_or_none
        if known is None or not isinstance(expr, e.Call):
            return []
        return [f" /* ty={type_text(known)} */"]

    # --- expressions ---

    def _operand(self, expr: e.Expr) -> list[Piece]:
        if id(expr) in self.names:
            return [self.names[id(expr)]]
        if isinstance(expr, e.GlobalVar):
            return [f"@{expr.name_hint}"]
        if isinstance(expr, e.Constructor):
            return [expr.name_hint]
        if isinstance(expr, e.Constant):
            return [self._constant(expr)]
        return self._value(expr)

    def _constant(self, expr: e.Constant) -> str:
        data = expr.data
        if data.shape == () and data.dtype.is_bool:
            return str(bool(data.numpy()))
        if data.shape == () and str(data.dtype) in _SUFFIX:
            value = data.numpy().item()
            text = str(value) if data.dtype.is_integer else _float(data.numpy())
            if text and not text.startswith("-0"):
                return text + _SUFFIX[str(data.dtype)]
        index = self.constants.setdefault(data.fingerprint, (len(self.constants), data))[0]
        return f"meta[relay.Constant][{index}] /* ty={type_text(t.TensorType(data.shape, data.dtype))} */"

    def _value(self, expr: e.Expr) -> list[Piece]:
        inner = self.plan.inner.get(id(expr), ())
        if isinstance(expr, e.Call):
            return self._call(expr)
        if isinstance(expr, e.Function):
            return self._function(expr, "fn ")
        if isinstance(expr, e.Tuple):
            return ["(", *separated(expr.fields), ",)" if len(expr.fields) == 1 else ")"]
        if isinstance(expr, e.TupleGetItem):
            return [Child(expr.tuple_value), f".{expr.index}"]
        if isinstance(expr, e.If):
            return ["if (", Child(expr.cond), ") ", *self._braces(inner[0]), " else ", *self._braces(inner[1])]
        if isinstance(expr, e.Let):
            return self._braces(inner[0])
        if isinstance(expr, e.Match):
            return self._match(expr, inner)
        for kind, name in _REFERENCES.items():
            if isinstance(expr, kind):
                return [f"{name}(", *separated(plain_operands(expr)), ")"]
        return self._operand(expr)

    def _call(self, call: e.Call) -> list[Piece]:
        types = f"[{', '.join(type_text(one) for one in call.type_args)}]" if call.type_args else ""
        if isinstance(call.op, e.Expr):
            return [Child(call.op), f"{types}(", *separated(call.args), ")"]
        values = [f"{key}={_attribute(value)}" for key, value in call.op.changed_attributes.items()]
        joined = (", " if call.args and values else "") + ", ".join(values)
        return [f"{call.op.name}{types}(", *separated(call.args), joined, ")"]

    def _match(self, expr: e.Match, scopes: tuple[Scope, ...]) -> list[Piece]:
        pieces: list[Piece] = [f"match{'' if expr.complete else '?'} (", Child(expr.data), ") {", INDENT]
        for clause, scope in zip(expr.clauses, scopes, strict=True):
            pieces += [NEWLINE, self._pattern(clause.lhs), " => ", *self._braces(scope), ","]
        return [*pieces, DEDENT, NEWLINE, "}"]

    def _pattern(self, pattern: e.Pattern) -> str:
        if isinstance(pattern, e.PatternVar):
            return self._declared(pattern.var)
        if isinstance(pattern, e.PatternTuple):
            inner = ", ".join(self._pattern(item) for item in pattern.patterns)
            return f"({inner},)" if len(pattern.patterns) == 1 else f"({inner})"
        if isinstance(pattern, e.PatternConstructor):
            inner = ", ".join(self._pattern(item) for item in pattern.patterns)
            return f"{pattern.constructor.name_hint}({inner})" if inner else pattern.constructor.name_hint
        return "_"


_REFERENCES: dict[type[e.Expr], str] = {e.RefCreate: "ref", e.RefRead: "ref_read", e.RefWrite: "ref_write"}


def _float(value: np.ndarray) -> str:
    """A float's shortest text without sign of kind; empty for infinities and NaN."""
    number = value.item()
    if number != number or number in (float("inf"), float("-inf")):
        return ""
    text = str(value[()])
    return text.removesuffix(".0")


def _attribute(value: Any) -> str:
    """An attribute's value; tuples in brackets, as the classic printer has them."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_attribute, value))}]"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, FrozenMap):
        return f"{{{', '.join(f'{json.dumps(key)}: {_attribute(item)}' for key, item in value.items())}}}"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value!r}f"
    if isinstance(value, (str, DataType)):
        return json.dumps(str(value))
    return type_text(value) if isinstance(value, t.Type) else str(value)
