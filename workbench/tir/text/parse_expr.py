"""Reading expressions: syntax trees in, nodes out, exactly as written (nothing is folded).

A bare Python number is an int64, float32 or bool constant; beside an expression of another dtype it takes that dtype.
Operands of different dtypes meet as `arith.build` says.  Reading is iterative: each handler is a generator that
yields the trees whose values it needs, so that the depth of a text costs no Python stack.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ...arith import build
from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError, nearest
from ...core.source import ParseError, Source, dotted
from .. import nodes as t
from .constants import FUNCTIONS, INFIX

Request = tuple[ast.AST, "Scope"]
Steps = Generator[Request, Any, Any]
Handler = Callable[..., Steps]


class Scope:
    """Names visible at a place; `declared` are those whose binders reuse them."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.outer = outer

    def find(self, name: str) -> Any:
        """What `name` stands for, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def all_names(self) -> list[str]:
        inner = list(self.names)
        return inner if self.outer is None else inner + self.outer.all_names()


@dataclass
class Abbreviation:
    """``e0: T.expr = ...``: an expression written once, read where its name is first used."""

    tree: ast.AST
    scope: Scope
    value: Any = None
    reading: bool = False


NUMBERS: Final = (bool, int, float)
_BINARY: Final[dict[type[ast.AST], tuple[type[Any] | None, Callable[[Any, Any], Any]]]] = {
    ast.Add: (n.Add, build.add),
    ast.Sub: (n.Sub, build.subtract),
    ast.Mult: (n.Mul, build.multiply),
    ast.Div: (n.Div, build.true_divide),
    ast.FloorDiv: (n.FloorDiv, build.floordiv),
    ast.Mod: (n.FloorMod, build.floormod),
    ast.BitAnd: (None, build.bitwise_and),
    ast.BitOr: (None, build.bitwise_or),
    ast.BitXor: (None, build.bitwise_xor),
    ast.LShift: (None, build.shift_left),
    ast.RShift: (None, build.shift_right),
}
_COMPARE: Final[dict[type[ast.AST], tuple[type[Any], Callable[[Any, Any], Any]]]] = {
    ast.Lt: (n.LT, build.less),
    ast.LtE: (n.LE, build.less_equal),
    ast.Gt: (n.GT, build.greater),
    ast.GtE: (n.GE, build.greater_equal),
    ast.Eq: (n.EQ, build.equal),
    ast.NotEq: (n.NE, build.not_equal),
}
NAMED_BINARY: Final[dict[str, tuple[type[Any], Callable[[Any, Any], Any]]]] = {
    "truncdiv": (n.Div, build.truncdiv),
    "truncmod": (n.Mod, build.truncmod),
    "floordiv": (n.FloorDiv, build.floordiv),
    "floormod": (n.FloorMod, build.floormod),
    "min": (n.Min, build.minimum),
    "max": (n.Max, build.maximum),
}
EXACT_BINARY: Final[dict[str, type[Any]]] = {cls.__name__: cls for cls in (*INFIX, *FUNCTIONS)}


class ExprParser:
    """Reads expressions of one source."""

    handlers: ClassVar[Mapping[type[ast.AST], Handler]] = {}
    """What reads each class of syntax (`parse_calls.HANDLERS`)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.declared: dict[str, Any] = {}
        self.renamed: dict[str, str] = {}

    # --- the driver ---

    def value(self, tree: ast.AST, scope: Scope) -> Any:
        """The value of a tree: an expression, a buffer, or a Python constant."""
        stack: list[tuple[Steps, ast.AST]] = [(self._steps(tree, scope), tree)]
        result: Any = None
        while stack:
            steps, place = stack[-1]
            try:
                inner, inner_scope = steps.send(result)
                stack.append((self._steps(inner, inner_scope), inner))
                result = None
            except StopIteration as stop:
                stack.pop()
                result = stop.value
            except ParseError:
                raise
            except WorkbenchError as error:
                raise self.source.error(place, error.message, error.fix, error.found) from None
        return result

    def expr(self, tree: ast.AST, scope: Scope, dtype: str | None = None) -> n.PrimExpr:
        """The expression of a tree; a bare number becomes a constant of `dtype`, if given."""
        return self.as_expr(self.value(tree, scope), tree, dtype)

    def as_expr(self, value: Any, tree: ast.AST, dtype: str | None = None) -> n.PrimExpr:
        if isinstance(value, n.PrimExpr):
            return value
        if isinstance(value, (*NUMBERS, str)):
            try:
                return build.const(value, _dtype_of_literal(value, dtype))
            except WorkbenchError as error:
                raise self.source.error(tree, error.message, error.fix, error.found) from None
        if isinstance(value, t.Buffer):
            raise self.source.error(tree, f"buffer {value.name} needs indices here", f"write {value.name}[...]")
        raise self.source.error(tree, "an expression was expected here", found=type(value).__name__)

    def variable(self, name: str, dtype: str, scope: Scope) -> n.Var:
        """The variable that a binder introduces: a declared one of that name, or a new one."""
        known = self.declared.get(name)
        made = known if isinstance(known, n.Var) else n.Var(self.renamed.get(name, name), DataType(dtype))
        scope.names[name] = made
        return made

    def _steps(self, tree: ast.AST, scope: Scope) -> Steps:
        handler = self.handlers.get(type(tree))
        if handler is None:
            raise self.source.error(tree, f"{_kind(tree)} has no meaning here", "write an expression of T")
        return handler(self, tree, scope)

    # --- calls ---

    def word(self, tree: ast.AST) -> str:
        """``axis.remap`` of ``T.axis.remap``; empty if the tree is not of T."""
        name = dotted(tree)
        head, _, rest = name.partition(".")
        return rest if head in ("T", "tir") else ""

    def call_word(self, tree: ast.AST) -> str:
        return self.word(tree.func) if isinstance(tree, ast.Call) else ""

    def keywords(self, call: ast.Call, *allowed: str) -> dict[str, ast.AST]:
        """The keyword arguments of a call.  Raises `ParseError` for others than `allowed`."""
        found: dict[str, ast.AST] = {}
        for keyword in call.keywords:
            if keyword.arg not in allowed:
                word = keyword.arg or "**"
                raise self.source.error(
                    call, f"T.{self.call_word(call)} takes no argument {word!r}", nearest(word, allowed)
                )
            found[keyword.arg] = keyword.value
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                raise self.source.error(argument, "`*` has no meaning here", "write the arguments out")
        return found

    def constant(self, tree: ast.AST, kind: type | tuple[type, ...], what: str) -> Any:
        """A Python constant written in the text."""
        value = tree.value if isinstance(tree, ast.Constant) else None
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub) and isinstance(tree.operand, ast.Constant):
            number = tree.operand.value
            value = -number if isinstance(number, (int, float)) and not isinstance(number, bool) else None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise self.source.error(tree, f"{what} was expected here")
        return value

    def dtype(self, tree: ast.AST) -> DataType:
        """A dtype as text (``"float32"``) or word (``T.float32``)."""
        word = self.word(tree)
        text = word if word else self.constant(tree, str, "a dtype")
        try:
            return DataType(text)
        except WorkbenchError as error:
            raise self.source.error(tree, error.message, error.fix) from None


def _dtype_of_literal(value: Any, dtype: str | None) -> str | None:
    """The wished dtype, unless the literal cannot take it: text, a fraction for an integer, a number for a bool."""
    if dtype is None or isinstance(value, str):
        return None
    wished = DataType(dtype)
    if wished.is_handle or wished == "void":
        return None
    if isinstance(value, float) and not wished.is_float:
        return "float32"
    if wished.is_bool and not isinstance(value, bool):
        return "int64"
    return wished


def _kind(tree: ast.AST) -> str:
    name = type(tree).__name__
    return {"Lambda": "a lambda", "JoinedStr": "an f-string", "ListComp": "a comprehension"}.get(
        name, f"{name!r} syntax"
    )


# --- handlers -----------------------------------------------------------------------------------------------------


def read_constant(parser: ExprParser, tree: ast.Constant, scope: Scope) -> Steps:
    if isinstance(tree.value, (*NUMBERS, str)):
        return tree.value
    raise parser.source.error(tree, f"{tree.value!r} has no meaning here")
    yield


def read_name(parser: ExprParser, tree: ast.Name, scope: Scope) -> Steps:
    found = scope.find(tree.id)
    if found is None:
        hint = nearest(tree.id, scope.all_names()) or f"declare it first: {tree.id} = T.int64()"
        raise parser.source.error(tree, f"{tree.id} is not defined here", hint)
    if not isinstance(found, Abbreviation):
        return found
    if found.value is None:
        if found.reading:
            raise parser.source.error(tree, f"{tree.id} is defined by itself")
        found.reading = True
        value = yield found.tree, found.scope
        found.value = parser.as_expr(value, found.tree)
    return found.value


def read_unary(parser: ExprParser, tree: ast.UnaryOp, scope: Scope) -> Steps:
    value = yield tree.operand, scope
    if isinstance(tree.op, ast.USub):
        return -value if isinstance(value, (int, float)) and not isinstance(value, bool) else build.negative(value)
    if isinstance(tree.op, ast.UAdd):
        return value
    operand = parser.as_expr(value, tree.operand)
    if isinstance(tree.op, ast.Invert):
        return n.Call(operand.dtype, "bitwise_not", (operand,))
    return n.Not(_condition(parser, operand, tree.operand))


def _condition(parser: ExprParser, value: Any, tree: ast.AST) -> n.PrimExpr:
    made = parser.as_expr(value, tree)
    if not made.dtype.is_bool:
        raise parser.source.error(tree, f"a condition must be a bool, not {made.dtype}", "write x != 0")
    return made


def combined(
    parser: ExprParser, cls: type[Any] | None, builder: Any, a: Any, b: Any, trees: tuple[ast.AST, ast.AST]
) -> Any:
    """`cls(a, b)` of two values: as they are if the dtypes agree, else as `builder` converts them."""
    plain_a, plain_b = not isinstance(a, n.PrimExpr), not isinstance(b, n.PrimExpr)
    left = parser.as_expr(a, trees[0], b.dtype if plain_a and not plain_b else None)
    right = parser.as_expr(b, trees[1], a.dtype if plain_b and not plain_a else None)
    if plain_a and plain_b and left.dtype != right.dtype:
        dtype = "float32" if left.dtype.is_float or right.dtype.is_float else "int64"
        left, right = parser.as_expr(a, trees[0], dtype), parser.as_expr(b, trees[1], dtype)
    if cls is None or left.dtype != right.dtype or left.dtype.is_handle:
        return builder(left, right)
    divides = cls in (n.Div, n.FloorDiv, n.FloorMod) and builder is not build.truncdiv
    return builder(left, right) if divides and left.dtype.is_float != (cls is n.Div) else cls(left, right)


def read_binop(parser: ExprParser, tree: ast.BinOp, scope: Scope) -> Steps:
    entry = _BINARY.get(type(tree.op))
    if entry is None:
        raise parser.source.error(tree, f"{type(tree.op).__name__!r} is not an operator of T", "write T.pow(a, b)")
    a = yield tree.left, scope
    b = yield tree.right, scope
    return combined(parser, *entry, a, b, (tree.left, tree.right))


def read_boolop(parser: ExprParser, tree: ast.BoolOp, scope: Scope) -> Steps:
    cls = n.And if isinstance(tree.op, ast.And) else n.Or
    result: Any = None
    for part in tree.values:
        value = yield part, scope
        value = _condition(parser, value, part)
        result = value if result is None else cls(result, value)
    return result


def read_compare(parser: ExprParser, tree: ast.Compare, scope: Scope) -> Steps:
    result: Any = None
    left_tree = tree.left
    left = yield left_tree, scope
    for operator, right_tree in zip(tree.ops, tree.comparators, strict=True):
        entry = _COMPARE.get(type(operator))
        if entry is None:
            raise parser.source.error(tree, f"{type(operator).__name__!r} is not a comparison of T", "write a == b")
        right = yield right_tree, scope
        one = combined(parser, *entry, left, right, (left_tree, right_tree))
        result = one if result is None else n.And(result, one)
        left, left_tree = right, right_tree
    return result


def read_conditional(parser: ExprParser, tree: ast.IfExp, scope: Scope) -> Steps:
    condition = yield tree.test, scope
    a = yield tree.body, scope
    b = yield tree.orelse, scope
    return build.if_then_else(condition, a, b)


def read_subscript(parser: ExprParser, tree: ast.Subscript, scope: Scope) -> Steps:
    buffer = yield tree.value, scope
    if not isinstance(buffer, t.Buffer):
        raise parser.source.error(tree, "only a buffer can be indexed")
    trees = index_trees(tree)
    indices: list[n.PrimExpr] = []
    for part in trees:
        if isinstance(part, ast.Slice):
            raise parser.source.error(tree, "a slice has no meaning here", "write T.ramp(base, 1, lanes) for a vector")
        value = yield part, scope
        indices.append(parser.as_expr(value, part))
    check_rank(parser, tree, buffer, len(indices))
    return t.BufferLoad(buffer, tuple(indices))


def index_trees(tree: ast.Subscript) -> list[ast.expr]:
    """The indices of ``A[i, j]``."""
    return list(tree.slice.elts) if isinstance(tree.slice, ast.Tuple) else [tree.slice]


def check_rank(parser: ExprParser, tree: ast.AST, buffer: t.Buffer, found: int) -> None:
    axes = len(buffer.shape)
    if axes != found:
        raise parser.source.error(
            tree,
            f"{buffer.name} has {axes} {'axis' if axes == 1 else 'axes'}, "
            f"found {found} {'index' if found == 1 else 'indices'}",
            f"write {buffer.name}[{', '.join('ijklmnop'[:axes]) or '()'}]",
        )


def read_attribute(parser: ExprParser, tree: ast.Attribute, scope: Scope) -> Steps:
    word = parser.word(tree)
    if word == "inf":
        return float("inf")
    raise parser.source.error(
        tree, f"{dotted(tree) or 'an attribute'} has no value", "call it: T.exp(x)" if word else ""
    )
    yield
