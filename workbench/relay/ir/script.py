"""Relay as text: a subset of Python's syntax in A-normal form, which `parse` reads back to the same program.

    @R.function
    def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        v0 = R.nn.conv2d(x, w, padding=(1, 1))
        y: R.let = R.nn.relu(v0)
        return y

`v0 = ...` names an expression of the graph (all uses share it), ``y: R.let = ...`` is a let-binding, a nested `def`
is a function, ``@R.let`` above it binds it by let.  ``if``/``else``, ``match``/``case`` and ``with R.block():`` are
blocks whose last line assigns their result.  ``G.name`` is a function or data type of the module.  Attributes stand
after the operands, by keyword, where they differ from the default.  Large constants are named by fingerprint and
looked up in the table given to `parse` (`constants_of` collects it).  Nothing is executed.

Invariant: ``same(parse(script(p), constants=constants_of(p)), p)`` for every well-formed program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...arith.nodes import Var as DimensionVar
from ...core.equal import free_variables
from ...core.module import IRModule
from ...core.node import Node, post_order
from ...core.tensor import Tensor
from ...core.text import DEDENT, INDENT, NEWLINE, Child, Piece, Text, layout
from . import expr as e
from . import types as t
from .operator import Operator
from .plan import Plan, Scope, bound_variables, expressions, pattern_variables
from .script_parse import parse
from .script_values import (
    Names,
    constant_script,
    declarations,
    global_text,
    identifier,
    is_identifier,
    quoted,
    tuple_text,
    type_script,
    value_script,
)

__all__ = ["constants_of", "parse", "script", "text"]

_HEADER = "@I.ir_module\nclass Module:\n"


def script(program: Any) -> str:
    """The text of a module, a function, a data type or (as its result's function) a bare expression."""
    if not isinstance(program, IRModule):
        return text(program, _name_of(program)).text
    members = {**program.type_definitions, **program.functions}
    texts = [text(member, name).text for name, member in members.items()]
    indented = ["\n".join("    " + line if line else line for line in one.rstrip("\n").split("\n")) for one in texts]
    return _HEADER + ("\n\n".join(indented) or "    pass") + "\n"


def _name_of(program: Any) -> str:
    attrs = getattr(program, "attrs", None)
    return str(attrs.get("global_symbol", "main")) if isinstance(program, e.Function) and attrs else "main"


def text(program: Node, name: str = "main") -> Text:
    """One function, data type or expression with the spans of its nodes."""
    if isinstance(program, t.TypeData):
        return _type_data_text(program)
    assert isinstance(program, e.Expr)
    return layout(program, Printer(program, name).pieces, "top")


def constants_of(program: Any) -> dict[str, Tensor]:
    """The tensors that a program's text names, by fingerprint, as `parse` wants them."""
    nodes = program.nodes() if isinstance(program, IRModule) else post_order(program)
    found: dict[str, Tensor] = {}
    for node in nodes:
        if isinstance(node, e.Constant):
            found[node.data.fingerprint] = node.data
        elif isinstance(node, Operator):
            held = [value for value in node.attributes.values() if isinstance(value, Tensor)]
            found.update((data.fingerprint, data) for data in held)
    return found


def _type_data_text(data: t.TypeData) -> Text:
    names = Names()
    lines = declarations([node for node in post_order(data) if node.is_variable], names)
    params = [names[variable] for variable in data.type_vars]
    head = f"@R.type(type_vars={tuple_text(params)})" if params else "@R.type"
    body = list(lines)
    for constructor in data.constructors:
        held = "".join(f", {type_script(found, names)}" for found in constructor.inputs)
        body.append(f"R.constructor({quoted(constructor.name_hint)}{held})")
    extra = [] if is_identifier(data.header) else [f"R.header({quoted(data.header)})"]
    shown = [f"    {line}" for line in [*extra, *body] or ["pass"]]
    return Text("\n".join([head, f"class {identifier(data.header)}:", *shown]) + "\n", [])


class Printer:
    """Layout of one function: names for everything, then pieces on demand."""

    def __init__(self, root: e.Expr, name: str, names: Names | None = None) -> None:
        self.root = root
        self.name = name
        self.plan = Plan(root)
        self.names = Names() if names is None else names
        self.declared = self._declare()
        kernels = self._kernels()
        for expr in [root, *self.plan.order]:
            names = kernels.get(id(expr), self.names)
            for variable in bound_variables(expr):
                names.choose(variable, variable.name_hint)
        for expr in self.plan.order:
            self._name(expr, kernels)

    def _kernels(self) -> dict[int, Names]:
        """For what is inside primitive functions: names of their own, since these see nothing around them."""
        found: dict[int, Names] = {}
        for expr in self.plan.order:
            if isinstance(expr, e.Function) and expr.is_primitive and expr is not self.root:
                names = self.names.inside()
                found.update((id(inner), names) for inner in expressions(expr))
        return found

    def _name(self, expr: e.Expr, kernels: dict[int, Names]) -> None:
        if id(expr) in self.plan.inlined or id(expr) in self.plan.tails:
            return
        if expr is self.root and isinstance(expr, e.Function):
            return
        if isinstance(expr, e.Function) and expr.is_primitive:
            self.names.choose(expr, kernel_name(expr))
        else:
            kernels.get(id(expr), self.names).number(expr, "f" if isinstance(expr, e.Function) else "v")

    def _declare(self) -> list[str]:
        everything = list(post_order(self.root))
        dimensions: list[Node] = [
            node for node in everything if isinstance(node, (DimensionVar, t.TypeVar, t.IncompleteType))
        ]
        lines = declarations(dimensions, self.names)
        for variable in free_variables(self.root):
            if isinstance(variable, e.Var):
                chosen = self.names.choose(variable, variable.name_hint)
                own = [] if chosen == variable.name_hint else [f"name={quoted(variable.name_hint)}"]
                annotation = variable.type_annotation
                typed = [type_script(annotation, self.names)] if annotation is not None else []
                lines.append(f"{chosen} = R.free_var({', '.join([*typed, *own])})")
        return lines

    # --- layout ---

    def pieces(self, node: Any, context: Any) -> Sequence[Piece]:
        """The pieces of a node: as the whole text, as an operand, or as what a statement assigns."""
        if context == "top":
            return self._top(node)
        if context == "operand":
            return self._operand(node)
        if context == "block":
            return self._compound(node)
        if isinstance(context, str):
            return [context]
        return self._value(node)

    def _top(self, root: e.Expr) -> list[Piece]:
        if isinstance(root, e.Function):
            return [*self._definition(root, "R.function", self.name), "\n"]
        body = self._block(self.plan.top, "return ", self.declared)
        return ["@R.expression", NEWLINE, f"def {identifier(self.name)}():", INDENT, *body, DEDENT, "\n"]

    def _definition(self, function: e.Function, decorator: str, name: str, *arguments: str) -> list[Piece]:
        options = list(arguments)
        if function is self.root and identifier(name) != name:
            options.append(f"name={quoted(name)}")
        if function.type_params:
            options.append(f"type_params={tuple_text([self.names[param] for param in function.type_params])}")
        if function.attrs:
            options.append(f"attrs={value_script(function.attrs, self.names)}")
        pieces: list[Piece] = []
        if decorator != "" or options:
            pieces += [f"@{decorator or 'R.function'}{'(' + ', '.join(options) + ')' if options else ''}", NEWLINE]
        pieces.append(f"def {identifier(name)}(")
        for index, param in enumerate(function.params):
            pieces += [", " if index else "", Child(param, self._declaration(param))]
        result = f" -> {type_script(function.ret_type, self.names)}" if function.ret_type is not None else ""
        (scope,) = self.plan.inner[id(function)]
        lines = self.declared if function is self.root else []
        return [*pieces, f"){result}:", INDENT, *self._block(scope, "return ", lines), DEDENT]

    def _declaration(self, variable: e.Var) -> str:
        """A variable where it is bound: its name and, after a colon, its annotation."""
        note = self.annotation(variable)
        return f"{self.names[variable]}: {note}" if note else self.names[variable]

    def annotation(self, variable: e.Var) -> str:
        annotation = variable.type_annotation
        typed = type_script(annotation, self.names) if annotation is not None else ""
        if self.names[variable] == variable.name_hint:
            return typed
        return f"R.var({quoted(variable.name_hint)}{', ' + typed if typed else ''})"

    def _block(self, scope: Scope, last: str, lines: Sequence[str] = ()) -> list[Piece]:
        """The statements of a block; `last` begins the line that gives its result."""
        pieces: list[Piece] = []
        for line in lines:
            pieces += [NEWLINE, line]
        current: Scope | None = scope
        while current is not None:
            for expr in current.statements:
                pieces += [NEWLINE, *self._statement(expr)]
            if current.let is None:
                pieces += [NEWLINE, last, Child(current.result, "operand")]
            else:
                pieces += [NEWLINE, *self._let(current.let)]
            current = current.rest
        return pieces

    def _let(self, let: e.Let) -> list[Piece]:
        note = self.annotation(let.var)
        if isinstance(let.value, e.Function) and id(let.value) in self.plan.inlined:
            return self._definition(let.value, "R.let", self.names[let.var], *([note] if note else []))
        mark = f"R.let[{note}]" if note else "R.let"
        return [Child(let.var, self.names[let.var]), f": {mark} = ", Child(let.value, "operand")]

    def _statement(self, expr: e.Expr) -> list[Piece]:
        if isinstance(expr, (e.Function, e.If, e.Match, e.Let)):
            return [Child(expr, "block")]
        return [f"{self.names[expr]} = ", Child(expr, None)]

    def _compound(self, expr: e.Expr) -> list[Piece]:
        """A function, if, match or let as a nested block that ends by assigning the expression's name."""
        name = self.names[expr]
        last = f"{name} = "
        if isinstance(expr, e.Function):
            return self._definition(expr, "", name)
        blocks = [[INDENT, *self._block(scope, last), DEDENT] for scope in self.plan.inner.get(id(expr), ())]
        if isinstance(expr, e.If):
            condition: list[Piece] = ["if ", Child(expr.cond, "operand"), ":"]
            return [*condition, *blocks[0], NEWLINE, "else:", *blocks[1]]
        if isinstance(expr, e.Match):
            return self._match(expr, blocks, name)
        return ["with R.block():", *blocks[0]]

    def _match(self, expr: e.Match, blocks: list[list[Piece]], name: str) -> list[Piece]:
        kind = "complete" if expr.complete else "partial"
        if not expr.clauses:
            return [f"{name} = R.{kind}_match(", Child(expr.data, "operand"), ")"]
        pieces: list[Piece] = [f"match R.{kind}(", Child(expr.data, "operand"), "):", INDENT]
        for clause, block in zip(expr.clauses, blocks, strict=True):
            notes = [self._declaration(variable) for variable in _annotated(clause, self)]
            lines = [piece for note in notes for piece in (NEWLINE, note)]
            pieces += [NEWLINE, "case ", Child(clause.lhs, self._pattern(clause.lhs)), ":"]
            pieces += [INDENT, *lines, *block[1:]]
        return [*pieces, DEDENT]

    def _pattern(self, pattern: e.Pattern) -> str:
        if isinstance(pattern, e.PatternVar):
            return self.names[pattern.var]
        if isinstance(pattern, e.PatternTuple):
            return tuple_text([self._pattern(item) for item in pattern.patterns])
        if isinstance(pattern, e.PatternConstructor):
            constructor = pattern.constructor
            name = global_text(constructor.belong_to, constructor.name_hint)
            held = [self._pattern(item) for item in pattern.patterns]
            if name is None:
                held[:0] = [quoted(constructor.belong_to), quoted(constructor.name_hint)]
            return f"{name or 'R.constructor'}({', '.join(held)})"
        return "_"

    # --- expressions in a line ---

    def _operand(self, expr: e.Expr) -> list[Piece]:
        if id(expr) in self.plan.inlined:
            return self._value(expr)
        if isinstance(expr, e.Constant):
            return [constant_script(expr.data)]
        if isinstance(expr, e.GlobalVar):
            return [global_text(expr.name_hint) or f"R.GlobalVar({quoted(expr.name_hint)})"]
        if isinstance(expr, e.Constructor):
            name = global_text(expr.belong_to, expr.name_hint)
            return [name or f"R.constructor({quoted(expr.belong_to)}, {quoted(expr.name_hint)})"]
        return [self.names[expr]]

    def _value(self, expr: e.Expr) -> list[Piece]:
        if isinstance(expr, e.Call):
            return self._call(expr)
        if isinstance(expr, e.Tuple):
            return ["(", *_separated(expr.fields), ",)" if len(expr.fields) == 1 else ")"]
        if isinstance(expr, e.TupleGetItem):
            return [Child(expr.tuple_value, "operand"), f"[{expr.index}]"]
        if isinstance(expr, e.RefCreate):
            return ["R.ref_create(", Child(expr.value, "operand"), ")"]
        if isinstance(expr, e.RefRead):
            return ["R.ref_read(", Child(expr.ref, "operand"), ")"]
        if isinstance(expr, e.RefWrite):
            return ["R.ref_write(", *_separated((expr.ref, expr.value)), ")"]
        return self._operand(expr)

    def _call(self, call: e.Call) -> list[Piece]:
        types = [type_script(found, self.names) for found in call.type_args]
        given = f"[{', '.join(types)}]" if types else ""
        if isinstance(call.op, e.Expr):
            return [Child(call.op, "operand"), f"{given}(", *_separated(call.args), ")"]
        attributes = [
            f"{', ' if index or call.args else ''}{key}={value_script(value, self.names)}"
            for index, (key, value) in enumerate(call.op.changed_attributes.items())
        ]
        return [f"{operator_text(call.op)}{given}(", *_separated(call.args), *attributes, ")"]


def kernel_name(function: e.Function) -> str:
    """A primitive function by its operators: fused_conv2d_add_relu."""
    called = [expr.op for expr in expressions(function.body) if isinstance(expr, e.Call)]
    names = [op.name.rsplit(".", 1)[-1] for op in called if isinstance(op, Operator)]
    return "_".join(["fused", *names[:4], *(["more"] if len(names) > 4 else [])])


def operator_text(op: Operator) -> str:
    """How an operator is called in a script: ``R.nn.relu``."""
    if all(is_identifier(part) for part in op.name.split(".")):
        return f"R.{op.name}"
    return f"R.op[{quoted(op.name)}]"


def _annotated(clause: e.Clause, printer: Printer) -> list[e.Var]:
    return [variable for variable in pattern_variables(clause.lhs) if printer.annotation(variable)]


def _separated(items: Sequence[e.Expr]) -> list[Piece]:
    pieces: list[Piece] = []
    for index, item in enumerate(items):
        pieces += [", ", Child(item, "operand")] if index else [Child(item, "operand")]
    return pieces
