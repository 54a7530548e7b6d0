"""Parsing relay's script into a program.  Uses Python's `ast` for syntax and executes nothing.

Every refusal is a `WorkbenchError` E-RELAY-PARSE with line:column, the line found and a hint.  Beyond what the
printer writes, calls may be nested (``R.nn.relu(R.add(x, y))``) and names assigned again.
"""

# The tables at the end name the class's own rules.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ...arith.nodes import Var as DimensionVar
from ...core.errors import DEFINE_FIRST, WorkbenchError, nearest
from ...core.module import IRModule
from ...core.node import EMPTY, FrozenMap
from ...core.tensor import Tensor
from . import expr as e
from . import types as t
from .operator import OPERATORS, Operator
from .script_read import Environment, Source, ValueReader, dotted, special

_NESTING = "Python's parser stops at about 100 nested blocks or 200 parentheses: name inner parts"


def parse(text: str, constants: Mapping[str, Tensor] | None = None) -> Any:
    """The function, data type, expression or module that a script denotes.

    `constants` are tensors by fingerprint, for ``R.constant``.  Raises `WorkbenchError` E-RELAY-PARSE.
    """
    source = Source(text)
    tree = _tree(text, source)
    parser = _Parser(source, constants or {})
    try:
        return parser.program(tree)
    except RecursionError:
        raise source.error_at(1, 1, "the text is nested too deeply", fix=_NESTING) from None


def _tree(text: str, source: Source) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        hint = _NESTING if "nested" in error.msg or "indentation" in error.msg else ""
        place = (error.lineno or 1, error.offset or 1)
        raise source.error_at(*place, f"this is not Python syntax: {error.msg}", fix=hint) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise source.error_at(1, 1, f"the text cannot be read: {error or type(error).__name__}", fix=_NESTING) from None


class _Parser(ValueReader):
    """Reads definitions, blocks and expressions."""

    def program(self, tree: ast.Module) -> Any:
        body = [statement for statement in tree.body if not _is_remark(statement)]
        if len(body) != 1:
            raise self.source.error(
                body[1] if body else tree,
                f"one definition is expected, not {len(body)}",
                expected="@R.function, @R.type or a module",
            )
        found = body[0]
        if isinstance(found, ast.ClassDef):
            return self.type_data(found) if _decorator(found) == ("R", "type") else self.module(found)
        if isinstance(found, ast.FunctionDef):
            return self.definition(found)
        raise self.source.error(found, "a definition is expected here", expected="@R.function above a def")

    def module(self, found: ast.ClassDef) -> IRModule:
        functions: dict[str, Any] = {}
        types: dict[str, Any] = {}
        for member in found.body:
            if _is_remark(member) or isinstance(member, ast.Pass):
                continue
            if isinstance(member, ast.ClassDef):
                types[member.name] = self.type_data(member)
            elif isinstance(member, ast.FunctionDef):
                functions[self._global_name(member)] = self.definition(member)
            else:
                raise self.source.error(member, "a module holds functions and data types only")
        return IRModule(functions, types)

    def _global_name(self, member: ast.FunctionDef) -> str:
        options = self._options(member, "name", "type_params", "attrs")
        return self.literal(options["name"], str, "a text") if "name" in options else member.name

    def definition(self, found: ast.FunctionDef) -> e.Expr:
        """A function of a module, or a bare expression."""
        env = Environment()
        body = self._declarations(found.body, env)
        kind = _decorator(found)
        if kind == ("R", "expression"):
            return self.block(body, env, None, found)[1]
        if kind != ("R", "function"):
            raise self.source.error(
                found, "@R.function is missing above this definition", fix="write @R.function above it"
            )
        return self.function(found, env, body)

    def _declarations(self, body: list[ast.stmt], env: Environment) -> list[ast.stmt]:
        """Read the leading lines that declare dimensions, type variables and free variables."""
        for index, statement in enumerate(body):
            if _is_remark(statement):
                continue
            call = statement.value if isinstance(statement, ast.Assign) else None
            reader = _DECLARATIONS.get(special(call)) if call is not None else None
            if reader is None or not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
                return body[index:]
            name = self._target(statement)
            env.define(name, reader(self, call, name, env))
        return []

    def _own_name(self, call: ast.Call, name: str) -> str:
        given = self.keywords(call, "name")
        return self.literal(given["name"], str, "a text") if "name" in given else name

    def _free(self, call: ast.Call, name: str, env: Environment) -> e.Var:
        annotation = self.type(call.args[0], env) if call.args else None
        return e.Var(self._own_name(call, name), annotation)

    def type_data(self, found: ast.ClassDef) -> t.TypeData:
        """``@R.type`` above a class: the definition of a data type."""
        env = Environment()
        header = found.name
        constructors: list[t.ConstructorSignature] = []
        for statement in found.body:
            if isinstance(statement, ast.Pass) or _is_remark(statement):
                continue
            if isinstance(statement, ast.Assign):
                self._declarations([statement], env)
                continue
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and special(call) == "constructor":
                constructors.append(t.ConstructorSignature(self.text(call, 0), self.types(call.args[1:], env)))
            elif isinstance(call, ast.Call) and special(call) == "header":
                header = self.text(call, 0)
            else:
                raise self.source.error(
                    statement, "a constructor is expected here", expected='R.constructor("Cons", A)'
                )
        options = self._options(found, "type_vars")
        params = self.types(self.elements(options["type_vars"]), env) if "type_vars" in options else ()
        return t.TypeData(header, params, tuple(constructors))  # type: ignore[arg-type]

    # --- functions ---

    def _options(self, found: ast.FunctionDef | ast.ClassDef, *allowed: str) -> dict[str, ast.expr]:
        for decorator in found.decorator_list:
            if isinstance(decorator, ast.Call):
                return self.keywords(decorator, *allowed)
        return {}

    def function(self, found: ast.FunctionDef, outer: Environment, body: list[ast.stmt] | None = None) -> e.Function:
        """A definition as a function."""
        options = self._options(found, "name", "type_params", "attrs")
        arguments = found.args
        if arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults:
            raise self.source.error(found, "parameters are plain names with types")
        env = Environment(outer)
        params: list[e.Var] = []
        for argument in arguments.args:
            params.append(self.variable(argument.arg, argument.annotation, env))
            env.define(argument.arg, params[-1])
        result = self.type(found.returns, env) if found.returns is not None else None
        type_params = self.types(self.elements(options["type_params"]), env) if "type_params" in options else ()
        attrs = self.value(options["attrs"], env) if "attrs" in options else EMPTY
        if not isinstance(attrs, FrozenMap):
            raise self.source.error(found, "attrs is a dict")
        inner = self.block(body if body is not None else found.body, env, None, found)[1]
        return e.Function(tuple(params), inner, result, type_params, attrs)  # type: ignore[arg-type]

    def variable(self, name: str, note: ast.expr | None, env: Environment) -> e.Var:
        """A variable from its name and annotation: a type, or ``R.var("own name", type)``."""
        if note is None:
            return e.Var(name)
        if special(note) == "var" and isinstance(note, ast.Call):
            own, *rest = self.arguments(note, 1, 2)
            return e.Var(self.literal(own, str, "a text"), self.type(rest[0], env) if rest else None)
        return e.Var(name, self.type(note, env))

    # --- blocks ---

    def block(self, body: list[ast.stmt], env: Environment, result: str | None, place: ast.AST) -> tuple[str, e.Expr]:
        """(name of the result, value) of a block; functions end with `return`, others by assigning their result."""
        lets: list[tuple[e.Var, e.Expr]] = []
        name, value = "", None
        for statement in body:
            if value is not None and name == "return":
                raise self.source.error(statement, "nothing may follow return")
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    raise self.source.error(statement, "return needs a value")
                name, value = "return", self.expr(statement.value, env)
                continue
            name, value = self.statement(statement, env, lets)
        if value is None and result is not None:
            raise self.source.error(body[-1], "a block ends by assigning its result", fix="end it with name = value")
        if value is None or (result is None and name != "return"):
            raise self.source.error(body[-1] if body else place, "a function ends with return", fix="return the result")
        if result is not None and name == "return":
            raise self.source.error(
                body[-1], "return stands at the end of a function only", fix="assign the block's result to a name"
            )
        for variable, bound in reversed(lets):
            value = e.Let(variable, bound, value)
        return name, value

    def statement(
        self, found: ast.stmt, env: Environment, lets: list[tuple[e.Var, e.Expr]]
    ) -> tuple[str, e.Expr | None]:
        """One statement: (the name it defines, its value); no value for what cannot end a block."""
        if isinstance(found, ast.Assign):
            name, value = self._target(found), self.expr(found.value, env)
        elif isinstance(found, ast.AnnAssign):
            self._let(found, env, lets)
            return "", None
        elif isinstance(found, ast.FunctionDef):
            if _decorator(found) == ("R", "let"):
                self._let_function(found, env, lets)
                return "", None
            name, value = found.name, self.function(found, env)
        elif isinstance(found, ast.If):
            name, value = self._if(found, env)
        elif isinstance(found, ast.Match):
            name, value = self._match(found, env)
        elif isinstance(found, ast.With) and special(found.items[0].context_expr) == "block":
            name, value = self.block(found.body, Environment(env), "", found)
        elif _is_remark(found):
            return "", None
        else:
            raise self.source.error(
                found,
                f"a {type(found).__name__} statement has no meaning here",
                expected="name = R.operator(...), def, if, match, return",
            )
        env.define(name, value)
        return name, value

    def _target(self, found: ast.Assign) -> str:
        if len(found.targets) == 1 and isinstance(found.targets[0], ast.Name):
            return found.targets[0].id
        raise self.source.error(found, "assign to one name", fix="take tuples apart with t[0], t[1]")

    def _let(self, found: ast.AnnAssign, env: Environment, lets: list[tuple[e.Var, e.Expr]]) -> None:
        note = found.annotation
        own = note.slice if isinstance(note, ast.Subscript) else None
        mark = note.value if isinstance(note, ast.Subscript) else note
        if dotted(mark) != ("R", "let") or not isinstance(found.target, ast.Name) or found.value is None:
            raise self.source.error(found, "a let-binding is written name: R.let = value")
        variable = self.variable(found.target.id, own, env)
        lets.append((variable, self.expr(found.value, env)))
        env.define(found.target.id, variable)

    def _let_function(self, found: ast.FunctionDef, env: Environment, lets: list[tuple[e.Var, e.Expr]]) -> None:
        decorator = found.decorator_list[0]
        note = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
        variable = self.variable(found.name, note, env)
        env.define(found.name, variable)
        lets.append((variable, self.function(found, env)))

    def _if(self, found: ast.If, env: Environment) -> tuple[str, e.Expr]:
        condition = self.expr(found.test, env)
        if not found.orelse:
            raise self.source.error(found, "an if needs an else: both branches give its value")
        name, first = self.block(found.body, Environment(env), "", found)
        other, second = self.block(found.orelse, Environment(env), "", found)
        if name != other:
            raise self.source.error(
                found, f"the branches assign different names: {name} and {other}", fix=f"end both with {name} = ..."
            )
        return name, e.If(condition, first, second)

    def _match(self, found: ast.Match, env: Environment) -> tuple[str, e.Expr]:
        kind = special(found.subject)
        if kind not in ("complete", "partial") or not isinstance(found.subject, ast.Call):
            raise self.source.error(found, "write match R.complete(x): or match R.partial(x):")
        data = self.expr(self.arguments(found.subject, 1, 1)[0], env)
        clauses: list[e.Clause] = []
        names: list[str] = []
        for case in found.cases:
            inner = Environment(env)
            body = self._notes(case.body, inner)
            pattern = self.pattern(case.pattern, inner)
            name, value = self.block(body, inner, "", found)
            names.append(name)
            clauses.append(e.Clause(pattern, value))
        if len(set(names)) != 1:
            raise self.source.error(found, f"the cases assign different names: {', '.join(sorted(set(names)))}")
        return names[0], e.Match(data, tuple(clauses), kind == "complete")

    def _notes(self, body: list[ast.stmt], env: Environment) -> list[ast.stmt]:
        """The leading ``h: type`` lines of a case: the variables of its pattern that have annotations."""
        for index, statement in enumerate(body):
            if not isinstance(statement, ast.AnnAssign) or statement.value is not None:
                return body[index:]
            if not isinstance(statement.target, ast.Name):
                raise self.source.error(statement, "a name is expected here")
            env.define(statement.target.id, self.variable(statement.target.id, statement.annotation, env))
        return []

    def pattern(self, found: ast.pattern, env: Environment) -> e.Pattern:
        """A match pattern; its variables are defined in `env`."""
        if isinstance(found, ast.MatchAs) and found.pattern is None:
            if found.name is None:
                return e.PatternWildcard()
            known = env._names.get(found.name)
            variable = known if isinstance(known, e.Var) else e.Var(found.name)
            env.define(found.name, variable)
            return e.PatternVar(variable)
        if isinstance(found, ast.MatchSequence):
            return e.PatternTuple(tuple(self.pattern(item, env) for item in found.patterns))
        if isinstance(found, ast.MatchClass) and not found.kwd_patterns:
            path = dotted(found.cls)
            held = list(found.patterns)
            if path == ("R", "constructor") and len(held) >= 2:
                belong, name = (self._pattern_text(item) for item in held[:2])
                return e.PatternConstructor(
                    e.Constructor(name, belong), tuple(self.pattern(item, env) for item in held[2:])
                )
            if len(path) == 3 and path[0] == "G":
                return e.PatternConstructor(
                    e.Constructor(path[2], path[1]), tuple(self.pattern(item, env) for item in held)
                )
        raise self.source.error(found, "a pattern is expected here", expected="G.List.Cons(h, t), (a, b), x or _")

    def _pattern_text(self, found: ast.pattern) -> str:
        if isinstance(found, ast.MatchValue):
            return self.literal(found.value, str, "a text")
        raise self.source.error(found, "a text is expected here")

    # --- expressions ---

    def expr(self, found: ast.expr, env: Environment) -> e.Expr:
        """An expression."""
        if isinstance(found, ast.Name):
            return self._named(found, env)
        if isinstance(found, ast.Tuple):
            return e.Tuple(tuple(self.expr(item, env) for item in found.elts))
        if isinstance(found, ast.Subscript):
            index = self.literal(found.slice, int, "the index of a tuple item")
            return e.TupleGetItem(self.expr(found.value, env), index)
        if isinstance(found, ast.Attribute):
            return self._global(found)
        if isinstance(found, ast.Call):
            reader = _SPECIAL.get(special(found))
            return reader(self, found, env) if reader is not None else self._call(found, env)
        raise self.source.error(
            found, "an expression of the program is expected here", expected="a name, R.operator(...), (a, b) or t[0]",
            fix='numbers are written R.const(1.0, "float32")' if isinstance(found, ast.Constant) else "",
        )  # fmt: skip

    def _named(self, found: ast.Name, env: Environment) -> e.Expr:
        known = env.get(found.id)
        if isinstance(known, e.Expr):
            return known
        names = [name for name in env.names() if isinstance(env.get(name), e.Expr)]
        raise self.source.error(found, f"{found.id} is not defined here", fix=nearest(found.id, names))

    def _global(self, found: ast.Attribute) -> e.Expr:
        path = dotted(found)
        if len(path) == 2 and path[0] == "G":
            return e.GlobalVar(path[1])
        if len(path) == 3 and path[0] == "G":
            return e.Constructor(path[2], path[1])
        raise self.source.error(
            found, f"{'.'.join(path) or 'this'} is not a value", expected="G.function, G.Type.Constructor"
        )

    def _call(self, found: ast.Call, env: Environment) -> e.Expr:
        callee: ast.expr = found.func
        if isinstance(callee, ast.Subscript) and not _is_operator_table(callee):
            items = callee.slice.elts if isinstance(callee.slice, ast.Tuple) else [callee.slice]
            type_args, callee = self.types(items, env), callee.value
        else:
            type_args = ()
        arguments = tuple(self.expr(argument, env) for argument in found.args)
        path = dotted(callee)
        if path[:1] == ("R",) or _is_operator_table(callee):
            name = ".".join(path[1:]) if path else self.literal(callee.slice, str, "an operator's name")  # type: ignore[attr-defined]
            return e.Call(self._operator(name, found, env), arguments, type_args)
        if found.keywords:
            raise self.source.error(found, "functions take no keyword arguments")
        return e.Call(self.expr(callee, env), arguments, type_args)

    def _operator(self, name: str, found: ast.Call, env: Environment) -> Operator:
        if name not in OPERATORS:
            raise self.source.error(found, f"there is no operator {name}", fix=nearest(name, OPERATORS) or DEFINE_FIRST)
        cls = OPERATORS[name]
        values: dict[str, Any] = {}
        for keyword in found.keywords:
            if keyword.arg not in cls.field_names:
                known = ", ".join(cls.field_names) or "none"
                raise self.source.error(
                    keyword,
                    f"{name} has no attribute {keyword.arg}",
                    expected=known,
                    fix=nearest(str(keyword.arg), cls.field_names),
                )
            values[keyword.arg] = self.value(keyword.value, env)
        missing = [field for field in required_attributes(cls) if field not in values]
        if missing:
            raise self.source.error(found, f"{name} needs the attribute {missing[0]}", fix=f"write {missing[0]}=...")
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise self.source.error(found, f"{name}: {error}") from None
        except WorkbenchError as error:
            raise self.source.error(found, error.message, expected=error.expected, fix=error.fix) from None


def required_attributes(cls: type[Operator]) -> list[str]:
    """The attributes of an operator class that have no default."""
    fields: Any = dataclasses.fields(cls)  # type: ignore[arg-type]
    return [field.name for field in fields if field.default is dataclasses.MISSING]


def _is_operator_table(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and dotted(node.value) == ("R", "op")


def _is_remark(statement: ast.stmt) -> bool:
    """A text standing alone: a docstring."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _decorator(found: ast.FunctionDef | ast.ClassDef) -> tuple[str, ...]:
    if not found.decorator_list:
        return ()
    first = found.decorator_list[0]
    return dotted(first.func if isinstance(first, ast.Call) else first)


_DECLARATIONS: dict[str, Callable[[_Parser, ast.Call, str, Environment], Any]] = {
    "dim_var": lambda parser, call, name, env: DimensionVar(
        parser._own_name(call, name), parser.dtype(parser.arguments(call, 1, 1)[0])
    ),
    "type_var": lambda parser, call, name, env: t.TypeVar(
        parser._own_name(call, name), parser.kind(call, parser.text(call, 0) if call.args else "TYPE")
    ),
    "incomplete": lambda parser, call, name, env: t.IncompleteType(parser.kind(call, parser.text(call, 0))),
    "free_var": _Parser._free,
}

_SPECIAL: dict[str, Callable[[_Parser, ast.Call, Environment], e.Expr]] = {
    "const": lambda parser, call, env: e.Constant(parser.tensor(call)),
    "constant": lambda parser, call, env: e.Constant(parser.tensor(call)),
    "filled": lambda parser, call, env: e.Constant(parser.tensor(call)),
    "ref_create": lambda parser, call, env: e.RefCreate(parser.expr(parser.arguments(call, 1, 1)[0], env)),
    "ref_read": lambda parser, call, env: e.RefRead(parser.expr(parser.arguments(call, 1, 1)[0], env)),
    "ref_write": lambda parser, call, env: e.RefWrite(
        *(parser.expr(item, env) for item in parser.arguments(call, 2, 2))
    ),
    "GlobalVar": lambda parser, call, env: e.GlobalVar(parser.text(call, 0)),
    "constructor": lambda parser, call, env: e.Constructor(parser.text(call, 1), parser.text(call, 0)),
    "complete_match": lambda parser, call, env: e.Match(parser.expr(parser.arguments(call, 1, 1)[0], env), (), True),
    "partial_match": lambda parser, call, env: e.Match(parser.expr(parser.arguments(call, 1, 1)[0], env), (), False),
}
