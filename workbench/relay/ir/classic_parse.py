"""Parsing relay's classic text.  Reads what `classic.astext` prints, nested calls and infix arithmetic besides.

Every refusal is a `WorkbenchError` E-RELAY-PARSE with line:column and the line found; nothing is executed.
"""

# The tables at the end name the class's own rules.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...arith.nodes import Var as DimensionVar
from ...core.dtype import DataType
from ...core.errors import DEFINE_FIRST, WorkbenchError, nearest
from ...core.limits import limits
from ...core.module import IRModule
from ...core.node import EMPTY, FrozenMap
from ...core.tensor import Tensor, stated_shape
from . import expr as e
from . import types as t
from .classic_tokens import Tokens
from .operator import OPERATORS, Operator
from .script_parse import parse
from .script_read import Environment

_MOST_NESTED = 150
_INFIX = {"+": ("add", 1), "-": ("subtract", 1), "*": ("multiply", 2), "/": ("divide", 2)}


def fromtext(text: str, constants: Sequence[Tensor] | None = None) -> IRModule:
    """The module of a classic text, or of a script (which begins with ``@I.`` or ``@R.``).

    `constants` are the tensors of ``meta[relay.Constant][i]``; without them the text's metadata section is used.  In a
    script they are found by fingerprint.  Raises `WorkbenchError` E-RELAY-PARSE.
    """
    given: Any = text
    if isinstance(given, str) and given.lstrip().startswith(("@I.", "@R.")):
        found = parse(text, {tensor.fingerprint: tensor for tensor in constants or ()})
        return found if isinstance(found, IRModule) else IRModule({"main": e.as_function(found)})
    return _guarded(text, constants, _Parser.module)


def parse_expr(text: str, constants: Sequence[Tensor] | None = None) -> e.Expr:
    """The expression (or function) of a classic text."""
    return _guarded(text, constants, _Parser.single)


def _guarded(text: str, constants: Sequence[Tensor] | None, rule: Callable[[_Parser], Any]) -> Any:
    parser = _Parser(text, constants)
    try:
        return rule(parser)
    except RecursionError:
        raise parser.error("the text is nested too deeply", fix="name inner parts: %0 = ...;") from None


class _Parser(Tokens):
    """Recursive descent over the tokens; depth is limited, sequences are loops."""

    def __init__(self, text: str, constants: Sequence[Tensor] | None) -> None:
        body, mark, data = text.partition("#[metadata]")
        super().__init__(body)
        self.depth = 0
        self.constants = list(constants) if constants is not None else self._metadata(data) if mark else []
        self.dimensions: dict[str, DimensionVar] = {}
        self.constructors: dict[str, e.Constructor] = {}
        self.types: dict[str, t.TypeData] = {}

    def _metadata(self, text: str) -> list[Tensor]:
        try:
            rows = json.loads(text)["relay.Constant"]
            return [_tensor(row) for row in rows]
        except (ValueError, LookupError, TypeError, RecursionError, binascii.Error, WorkbenchError) as error:
            raise WorkbenchError(
                "E-RELAY-PARSE", f"the metadata cannot be read: {error}", where="#[metadata]"
            ) from None

    # --- programs ---

    def module(self) -> IRModule:
        functions: dict[str, Any] = {}
        while self.kind() != "end":
            if self.peek("type"):
                self._type_data()
            elif self.accept("def"):
                name = self.word("global", "the function's name, such as @main")[1:]
                if name in functions:
                    raise self.error(f"@{name} is defined twice")
                functions[name] = self.function(Environment())
            elif not functions:
                return IRModule({"main": e.as_function(self.single())}, self.types)
            else:
                raise self.error("a definition is expected here", expected="def @name(...) { ... }")
        return IRModule(functions, self.types)

    def single(self) -> e.Expr:
        env = Environment()
        if self.peek("def"):
            self.take()
            if self.kind() == "global":
                self.take()
            found: e.Expr = self.function(env)
        else:
            while self.accept("free_var"):
                self._free_variable(env)
            found = self.block(env, "")
        if self.kind() != "end":
            raise self.error("nothing more is expected here")
        return found

    def _free_variable(self, env: Environment) -> None:
        name = self.word("local", "a variable")
        self.expect(":")
        env.define(name, e.Var(name[1:], self.type(env)))
        self.expect(";")

    def _type_data(self) -> None:
        self.expect("type")
        header = self.word("word", "the type's name")
        env = Environment()
        params = self._type_params(env)
        self.expect("{")
        found: list[t.ConstructorSignature] = []

        def constructor() -> None:
            name = self.word("word", "a constructor")
            held = self.listed(")", lambda: self.type(env)) if self.accept("(") else []
            found.append(t.ConstructorSignature(name, tuple(held)))
            self.constructors[name] = e.Constructor(name, header)

        self.listed("}", constructor)
        self.types[header] = t.TypeData(header, params, tuple(found))

    def _type_params(self, env: Environment) -> tuple[t.TypeVar, ...]:
        if not self.accept("["):
            return ()
        made = tuple(t.TypeVar(name) for name in self.listed("]", lambda: self.word("word", "a type parameter")))
        for param in made:
            env.define(param.name, param)
        return made

    def function(self, outer: Environment) -> e.Function:
        """After `fn` or `def @name`."""
        env = Environment(outer)
        type_params = self._type_params(env)
        params: list[e.Var] = []
        attrs: dict[str, Any] = {}

        def item() -> None:
            if self.kind() == "local":
                params.append(self.variable(env))
                return
            name = self.word("word", "a parameter or an attribute")
            self.expect("=")
            attrs[name] = self.attribute(env)

        self.expect("(")
        self.listed(")", item)
        result = self.type(env) if self.accept("->") else None
        body = self.braces(env)
        return e.Function(tuple(params), body, result, type_params, FrozenMap(attrs) if attrs else EMPTY)

    def variable(self, env: Environment) -> e.Var:
        name = self.word("local", "a variable")
        made = e.Var(name[1:], self.type(env) if self.accept(":") else None)
        env.define(name, made)
        return made

    # --- blocks ---

    def braces(self, env: Environment) -> e.Expr:
        self.expect("{")
        found = self.block(Environment(env), "}")
        self.expect("}")
        return found

    def block(self, env: Environment, end: str) -> e.Expr:
        """Statements, then the result."""
        lets: list[tuple[e.Var, e.Expr]] = []
        while True:
            if self.accept("let"):
                variable = self.variable(env)
                self.expect("=")
                lets.append((variable, self.expr(env)))
                self.expect(";")
            elif self.kind() == "local" and self.tokens[self.place + 1].text == "=":
                name = self.take().text
                self.take()
                env.define(name, self.expr(env))
                self.expect(";")
            else:
                break
        result = self.expr(env)
        for variable, value in reversed(lets):
            result = e.Let(variable, value, result)
        return result

    # --- expressions ---

    def expr(self, env: Environment, strength: int = 0) -> e.Expr:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise self.error(f"more than {_MOST_NESTED} levels of nesting", fix="name inner parts: %0 = ...;")
        found = self.postfix(env)
        while self.kind() == "sign" and self.tokens[self.place].text in _INFIX:
            name, tight = _INFIX[self.tokens[self.place].text]
            if tight <= strength:
                break
            self.take()
            found = e.Call(OPERATORS[name](), (found, self.expr(env, tight)))
        self.depth -= 1
        return found

    def postfix(self, env: Environment) -> e.Expr:
        found = self.primary(env)
        while True:
            if isinstance(found, e.Expr) and self.accept("."):
                index = self.word("number", "the index of a tuple item")
                if not index.isdigit():
                    raise self.error("the index of a tuple item is a whole number")
                found = e.TupleGetItem(found, int(index))
            elif self.peek("(", "["):
                found = self.call(found, env)
            elif isinstance(found, e.Expr):
                return found
            else:
                raise self.error(f"operator {found} must be called")

    def call(self, callee: e.Expr | str, env: Environment) -> e.Expr:
        types = tuple(self.listed("]", lambda: self.type(env))) if self.accept("[") else ()
        arguments: list[e.Expr] = []
        values: dict[str, Any] = {}
        start = self.place

        def item() -> None:
            if self.kind() == "word" and self.tokens[self.place + 1].text == "=":
                name = self.take().text
                self.take()
                values[name] = self.attribute(env)
            else:
                arguments.append(self.expr(env))

        self.expect("(")
        self.listed(")", item)
        if isinstance(callee, str):
            return e.Call(self.operator(callee, values, start), tuple(arguments), types)
        if values:
            raise self.error("functions take no attributes")
        return e.Call(callee, tuple(arguments), types)

    def operator(self, name: str, values: Mapping[str, Any], start: int) -> Operator:
        offset = self.tokens[start].offset
        if name not in OPERATORS:
            raise self.error_at(offset, f"there is no operator {name}", fix=nearest(name, OPERATORS) or DEFINE_FIRST)
        cls = OPERATORS[name]
        unknown = [key for key in values if key not in cls.field_names]
        if unknown:
            raise self.error_at(
                offset, f"{name} has no attribute {unknown[0]}", expected=", ".join(cls.field_names) or "none"
            )
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise self.error_at(offset, f"{name}: {error}") from None
        except WorkbenchError as error:
            raise self.error_at(offset, error.message, expected=error.expected) from None

    def primary(self, env: Environment) -> Any:
        kind = self.kind()
        if kind == "local":
            return self._local(env)
        if kind == "global":
            return e.GlobalVar(self.take().text[1:])
        if kind == "number":
            return self._number(self.take().text)
        if kind == "word":
            return self._word(env)
        if self.accept("("):
            return self._tuple(env)
        if self.peek("{"):
            return self.braces(env)
        raise self.error(f"an expression is expected here, not {self.tokens[self.place].text or 'the end'!r}")

    def _local(self, env: Environment) -> e.Expr:
        name = self.tokens[self.place].text
        known = env.get(name)
        if not isinstance(known, e.Expr):
            raise self.error(f"{name} is not defined here", fix=nearest(name, env.names()))
        self.take()
        return known

    def _tuple(self, env: Environment) -> e.Expr:
        if self.accept(")"):
            return e.Tuple(())
        first = self.expr(env)
        if self.accept(")"):
            return first
        self.expect(",")
        return e.Tuple((first, *self.listed(")", lambda: self.expr(env))))

    def _word(self, env: Environment) -> Any:
        word = self.take().text
        reader = _KEYWORDS.get(word)
        if reader is not None:
            return reader(self, env)
        return self.constructors.get(word, word)

    def _if(self, env: Environment) -> e.Expr:
        self.expect("(")
        condition = self.expr(env)
        self.expect(")")
        first = self.braces(env)
        self.expect("else")
        return e.If(condition, first, self.braces(env))

    def _match(self, env: Environment, complete: bool) -> e.Expr:
        self.expect("(")
        data = self.expr(env)
        self.expect(")")
        self.expect("{")

        def clause() -> e.Clause:
            inner = Environment(env)
            pattern = self.pattern(inner)
            self.expect("=>")
            return e.Clause(pattern, self.braces(inner) if self.peek("{") else self.expr(inner))

        return e.Match(data, tuple(self.listed("}", clause)), complete)

    def pattern(self, env: Environment) -> e.Pattern:
        if self.kind() == "local":
            return e.PatternVar(self.variable(env))
        if self.accept("_"):
            return e.PatternWildcard()
        if self.accept("("):
            return e.PatternTuple(tuple(self.listed(")", lambda: self.pattern(env))))
        name = self.word("word", "a pattern")
        if name not in self.constructors:
            raise self.error(f"there is no constructor {name}", fix=nearest(name, self.constructors))
        held = self.listed(")", lambda: self.pattern(env)) if self.accept("(") else []
        return e.PatternConstructor(self.constructors[name], tuple(held))

    def _meta(self, env: Environment) -> e.Expr:
        self.expect("[")
        self.word("word", "relay.Constant")
        self.expect("]")
        self.expect("[")
        index = self.word("number", "an index")
        self.expect("]")
        if not index.isdigit() or int(index) >= len(self.constants):
            raise self.error(
                f"there is no data for meta[relay.Constant][{index}]",
                fix="print with show_meta_data=True, or pass constants=",
            )
        return e.Constant(self.constants[int(index)])

    def _number(self, text: str) -> e.Expr:
        for suffix, dtype in (("f64", "float64"), ("f16", "float16"), ("f", "float32"), ("i64", "int64")):
            if text.endswith(suffix) and text not in ("inf", "-inf"):
                return e.const(_value(text.removesuffix(suffix)), dtype)
        value = _value(text)
        return e.const(value, "int32" if isinstance(value, int) else "float32")

    def _reference(self, made: Callable[..., e.Expr], count: int, env: Environment) -> e.Expr:
        self.expect("(")
        operands = self.listed(")", lambda: self.expr(env))
        if len(operands) != count:
            raise self.error(f"{count} operands are expected, not {len(operands)}")
        return made(*operands)

    # --- types and attributes ---

    def type(self, env: Environment) -> t.Type:
        if self.accept("("):
            return t.TupleType(tuple(self.listed(")", lambda: self.type(env))))
        word = self.word("word", "a type")
        if word == "Tensor":
            return self._tensor_type()
        if word == "fn":
            inner = Environment(env)
            params = self._type_params(inner)
            self.expect("(")
            arguments = tuple(self.listed(")", lambda: self.type(inner)))
            self.expect("->")
            return t.FuncType(arguments, self.type(inner), params)
        if word == "ref":
            self.expect("(")
            found = t.RefType(self.type(env))
            self.expect(")")
            return found
        if word == "_":
            return t.IncompleteType()
        return self._named_type(word, env)

    def _named_type(self, word: str, env: Environment) -> t.Type:
        known = env.get(word)
        if isinstance(known, t.TypeVar):
            return known
        if word[0].isupper():
            head = t.GlobalTypeVar(word)
            return t.TypeCall(head, tuple(self.listed("]", lambda: self.type(env)))) if self.accept("[") else head
        try:
            return t.TensorType((), DataType(word))
        except WorkbenchError as error:
            self.place -= 1
            raise self.error(error.message, expected=error.expected) from None

    def _tensor_type(self) -> t.Type:
        self.expect("[")
        self.expect("(")
        shape = self.listed(")", self._dimension)
        self.expect(",")
        dtype = self.word("word", "a dtype")
        self.expect("]")
        try:
            return t.TensorType(tuple(shape), DataType(dtype))
        except WorkbenchError as error:
            raise self.error(error.message, expected=error.expected) from None

    def _dimension(self) -> t.Dimension:
        if self.accept("?"):
            return t.Any()
        if self.kind() == "word":
            name = self.take().text
            return self.dimensions.setdefault(name, DimensionVar(name))
        text = self.word("number", "an extent")
        if not text.isdigit():
            raise self.error(f"{text} is not an extent")
        return int(text)

    def attribute(self, env: Environment) -> Any:
        if self.accept("["):
            return tuple(self.listed("]", lambda: self.attribute(env)))
        if self.accept("{"):
            return FrozenMap(self.listed("}", lambda: self._entry(env)))
        kind = self.kind()
        if kind == "string":
            return json.loads(self.take().text)
        if kind == "number":
            text = self.take().text
            return float(text[:-1]) if text.endswith("f") and "inf" not in text[-3:] else _value(text)
        if kind == "word" and self.tokens[self.place].text in _LITERALS:
            return _LITERALS[self.take().text]
        return self.type(env)

    def _entry(self, env: Environment) -> tuple[str, Any]:
        key = json.loads(self.word("string", "a key"))
        self.expect(":")
        return key, self.attribute(env)


def _value(text: str) -> int | float:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _tensor(row: Mapping[str, Any]) -> Tensor:
    dtype, shape = DataType(row["dtype"]), stated_shape(row["shape"])
    limits.check("tensor_bytes", math.prod(shape) * dtype.bytes, "a constant of the metadata")
    if "fill" in row:
        return Tensor.full(shape, np.frombuffer(base64.b64decode(row["fill"]), dtype.to_numpy())[0], dtype)
    return Tensor.of(np.frombuffer(base64.b64decode(row["data"], validate=True), dtype.to_numpy()).reshape(shape))


_LITERALS: dict[str, Any] = {"True": True, "False": False, "None": None}
_KEYWORDS: dict[str, Callable[[_Parser, Environment], Any]] = {
    "True": lambda parser, env: e.const(True, "bool"),
    "False": lambda parser, env: e.const(False, "bool"),
    "if": _Parser._if,
    "fn": lambda parser, env: parser.function(env),
    "match": lambda parser, env: parser._match(env, True),
    "match?": lambda parser, env: parser._match(env, False),
    "meta": _Parser._meta,
    "ref": lambda parser, env: parser._reference(e.RefCreate, 1, env),
    "ref_read": lambda parser, env: parser._reference(e.RefRead, 1, env),
    "ref_write": lambda parser, env: parser._reference(e.RefWrite, 2, env),
}
