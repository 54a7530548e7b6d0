"""The NumPy interpreter: what a relay program means, for every kind of expression.

Operators are evaluated by their `reference`.  The program runs as its plan in A-normal form (`ir.plan`): each block's
statements in order, strictly, each shared expression once; blocks, calls and recursion use no Python stack.

>>> from .ir.expr import Function, Tuple, Var
>>> x = Var("x")
>>> interpret(Function((x,), Tuple((x, x))), 1.5)
(array(1.5), array(1.5))

Values: a tensor is an `ndarray`, a tuple a `tuple`, a function a `Closure`, a reference a `Cell`, a value of a data
type an `AdtValue`.
"""

# Run-time values are NumPy's, and the table at the end names the class's rules.
# pyright: reportPrivateUsage=false
# pyright: reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arguments import unmasked
from ..core.dtype import DataType
from ..core.errors import WorkbenchError, nearest
from ..core.module import IRModule
from ..core.trampoline import Task, run
from .ir import expr as e
from .ir import types as t
from .ir.brief import brief
from .ir.infer import infer_type
from .ir.operator import Operator
from .ir.plan import Plan, Scope

Observer = Callable[[e.Expr, Any], None]
"""Called with each expression and its value, in order of evaluation."""


@dataclass
class Cell:
    """What a reference refers to."""

    value: Any


@dataclass(frozen=True)
class AdtValue:
    """A value of an algebraic data type."""

    constructor: str
    fields: tuple[Any, ...]


class Frame:
    """The values of one block's names during one run of it."""

    __slots__ = ("outer", "values")

    def __init__(self, outer: Frame | None = None) -> None:
        self.outer = outer
        self.values: dict[int, Any] = {}

    def find(self, expr: e.Expr) -> Any:
        frame: Frame | None = self
        key = id(expr)
        while frame is not None:
            if key in frame.values:
                return frame.values[key]
            frame = frame.outer
        raise WorkbenchError(
            "E-INTERPRET-UNBOUND",
            f"{brief(expr)} has no value here",
            fix="bind it: as a parameter or by let",
            nodes=(expr,),
        )


@dataclass(frozen=True)
class Closure:
    """A function with the values of the names around it."""

    function: e.Function
    plan: Plan
    frame: Frame


def interpret(
    program: IRModule | e.Expr,
    *args: Any,
    mod: IRModule | None = None,
    function: str = "main",
    float64: bool = False,
    observe: Observer | None = None,
) -> Any:
    """Run a module's function, a function, or a closed expression on NumPy values.

    `args` are the parameters in order, or one mapping by parameter name.  With `float64` every floating-point value
    is widened first and stays wide: the yardstick for rounding.  `observe(expr, value)` sees every intermediate.
    Raises `WorkbenchError` E-INTERPRET-... for arguments that do not fit and for what happens at run time.
    """
    module = program if isinstance(program, IRModule) else mod or IRModule({})
    root = module[function] if isinstance(program, IRModule) else program
    if not isinstance(root, e.Expr):
        raise WorkbenchError("E-INTERPRET-PROGRAM", "only relay programs run here", found=type(root).__name__)
    machine = Interpreter(module, float64=float64, observe=observe)
    if not isinstance(root, e.Function):
        return machine.evaluate(root)
    return machine.call(root, _bound(root, args))


def _bound(func: e.Function, args: tuple[Any, ...]) -> list[Any]:
    """The arguments in the order of the parameters, as NumPy values of the declared types."""
    names = [param.name_hint for param in func.params]
    if len(args) == 1 and isinstance(args[0], Mapping) and not (len(names) == 1 and names[0] in ("",)):
        given = args[0]
        unknown = next((name for name in given if names.count(name) != 1), None)
        missing = [name for name in names if name not in given]
        if unknown is not None or missing:
            raise WorkbenchError(
                "E-INTERPRET-ARGUMENT",
                f"there is no parameter {unknown!r}"
                if unknown is not None and unknown not in names
                else f"there are {names.count(unknown)} parameters named {unknown!r}"
                if unknown is not None
                else f"no value for {', '.join(missing)}",
                expected=", ".join(names),
                fix="" if unknown is None or unknown in names else nearest(str(unknown), names),
            )
        args = tuple(given[name] for name in names)
    if len(args) != len(names):
        raise WorkbenchError(
            "E-INTERPRET-ARGUMENT", f"{len(names)} arguments are needed, not {len(args)}", expected=", ".join(names)
        )
    return [_argument(param, value) for param, value in zip(func.params, args, strict=True)]


def _argument(param: e.Var, value: Any) -> Any:
    expected = param.type_annotation
    converted = as_value(value)
    if not isinstance(expected, t.TensorType):
        return converted
    if isinstance(value, (int, float, bool)):
        converted = np.asarray(value, expected.dtype.to_numpy())
    if (
        isinstance(converted, np.ndarray)
        and converted.dtype == expected.dtype.to_numpy()
        and _shape_fits(expected, converted)
    ):
        return converted
    found = f"{converted.dtype}{list(converted.shape)}" if isinstance(converted, np.ndarray) else type(value).__name__
    raise WorkbenchError(
        "E-INTERPRET-ARGUMENT", f"parameter {param.name_hint} does not fit", found=found, expected=repr(expected)
    )


def _shape_fits(expected: t.TensorType, value: np.ndarray) -> bool:
    if len(expected.shape) != value.ndim:
        return False
    return all(
        not isinstance(extent, int) or extent == size for extent, size in zip(expected.shape, value.shape, strict=True)
    )


def as_value(value: Any) -> Any:
    """An argument as the interpreter's value: arrays, numbers and anything with `.numpy()` become arrays."""
    if isinstance(value, (tuple, list)) and not isinstance(value, np.ndarray):
        return tuple(as_value(item) for item in value)
    if isinstance(value, (Closure, Cell, AdtValue)) or callable(value):
        return value
    numpy = getattr(value, "numpy", None)
    return np.asarray(numpy() if callable(numpy) else unmasked(value))


class Interpreter:
    """Runs functions of one module."""

    def __init__(self, mod: IRModule, *, float64: bool = False, observe: Observer | None = None) -> None:
        self.mod = mod
        self.float64 = float64
        self.observe = observe
        self._plans: dict[str, Plan] = {}
        infer_type(mod)

    def evaluate(self, expr: e.Expr) -> Any:
        """The value of a closed expression."""
        infer_type(expr, self.mod)
        plan = Plan(expr)
        with np.errstate(all="ignore"):
            return run(self._block(plan, plan.top, Frame()))

    def call(self, func: e.Function, arguments: Sequence[Any]) -> Any:
        """The result of a function of no free variables."""
        if func.type_or_none is None:
            self._try_to_infer(func)
        closure = Closure(func, Plan(func), Frame())
        with np.errstate(all="ignore"):
            return run(self._apply(closure, tuple(self._widened(value) for value in arguments)))

    def _try_to_infer(self, func: e.Function) -> None:
        """Types are welcome (results take their dtype from them) but a program without them runs as well."""
        try:
            infer_type(func, self.mod)
        except WorkbenchError as error:
            if error.code != "E-TYPE-INCOMPLETE":
                raise

    def _widened(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._widened(item) for item in value)
        if self.float64 and isinstance(value, np.ndarray) and not _is_exact(value.dtype):
            return value.astype(np.float64)
        return value

    # --- blocks ---

    def _apply(self, callee: Any, arguments: tuple[Any, ...]) -> Task:
        if not isinstance(callee, Closure):
            return callee(*arguments)
        frame = Frame(callee.frame)
        for param, value in zip(callee.function.params, arguments, strict=True):
            frame.values[id(param)] = value
            self._see(param, value)
        (scope,) = callee.plan.inner[id(callee.function)]
        return (yield self._block(callee.plan, scope, frame))

    def _block(self, plan: Plan, scope: Scope, frame: Frame) -> Task:
        current = scope
        while True:
            for statement, read in zip(current.statements, plan.last_uses(current), strict=True):
                frame.values[id(statement)] = yield self._value(plan, statement, frame)
                for key in read:  # for the last time: what a network holds at once is a tenth of what it computes
                    del frame.values[key]
            if current.let is None or current.rest is None:
                return (yield self._operand(plan, current.result, frame))
            let = current.let
            value = yield self._operand(plan, let.value, frame)
            frame.values[id(let.var)] = value
            self._see(let.var, value)
            current = current.rest

    def _see(self, expr: e.Expr, value: Any) -> None:
        if self.observe is not None:
            self.observe(expr, value)

    # --- expressions ---

    def _operand(self, plan: Plan, expr: e.Expr, frame: Frame) -> Task:
        if id(expr) in plan.inlined:
            return (yield self._value(plan, expr, frame))
        if isinstance(expr, e.Constant):
            return self._widened(expr.data.numpy())
        if isinstance(expr, e.GlobalVar):
            return self._global(expr.name_hint)
        if isinstance(expr, e.Constructor):
            name = expr.name_hint
            return lambda *fields: AdtValue(name, fields)
        return frame.find(expr)

    def _global(self, name: str) -> Closure:
        func = self.mod[name]
        if name not in self._plans:
            self._plans[name] = Plan(func)
        return Closure(func, self._plans[name], Frame())

    def _value(self, plan: Plan, expr: e.Expr, frame: Frame) -> Task:
        value = yield _EVALUATE[type(expr)](self, plan, expr, frame)
        self._see(expr, value)
        return value

    def _call(self, plan: Plan, call: e.Call, frame: Frame) -> Task:
        arguments: list[Any] = []
        for argument in call.args:
            arguments.append((yield self._operand(plan, argument, frame)))
        if isinstance(call.op, Operator):
            return self._operate(call, arguments)
        callee = yield self._operand(plan, call.op, frame)
        return (yield self._apply(callee, tuple(arguments)))

    def _operate(self, call: e.Call, arguments: list[Any]) -> Any:
        op = call.op
        assert isinstance(op, Operator)
        if self.float64:
            op = _wide(op)
        empty = _without_elements(call.type_or_none)
        if empty is not None:
            return self._typed(call, empty, call.type_or_none)
        try:
            result = op.reference(*arguments)
        except NotImplementedError:
            result = self._decomposed(op, call, arguments)
        except (ValueError, TypeError, IndexError, ZeroDivisionError, ArithmeticError) as error:
            shapes = ", ".join(_described(argument) for argument in arguments)
            raise WorkbenchError(
                "E-INTERPRET-OPERATOR",
                f"{op.name} failed: {error}",
                where=brief(call),
                found=shapes,
                nodes=(call,),
            ) from error
        return self._typed(call, result, call.type_or_none)

    def _decomposed(self, op: Operator, call: e.Call, arguments: list[Any]) -> Any:
        params = tuple(e.Var(f"p{index}", argument.checked_type) for index, argument in enumerate(call.args))
        body = op.decompose(*params)
        if body is None:
            raise WorkbenchError(
                "E-INTERPRET-OPERATOR",
                f"{op.name} has neither a reference nor a decomposition",
                where=brief(call),
                fix="give its class reference() or decompose()",
                nodes=(call,),
            )
        return Interpreter(IRModule({}), float64=self.float64).call(e.Function(params, body), arguments)

    def _typed(self, call: e.Call, value: Any, expected: t.Type | None) -> Any:
        """The result with the dtype that its type says (a reference may compute wider)."""
        if isinstance(value, (tuple, list)):
            parts = expected.fields if isinstance(expected, t.TupleType) else (None,) * len(value)
            return tuple(self._typed(call, item, part) for item, part in zip(value, parts, strict=True))
        array = np.asarray(value)
        if not isinstance(expected, t.TensorType):
            return self._widened(array)
        if not _shape_fits(expected, array):
            raise WorkbenchError(
                "E-INTERPRET-RESULT",
                "an operator's reference disagrees with its type",
                where=brief(call),
                found=_described(array),
                expected=repr(expected),
                nodes=(call,),
            )
        wanted = expected.dtype.to_numpy()
        if self.float64 and not _is_exact(wanted):
            wanted = np.dtype(np.float64)
        return array if array.dtype == wanted else array.astype(wanted)

    def _function(self, plan: Plan, expr: e.Function, frame: Frame) -> Task:
        return Closure(expr, plan, frame)
        yield

    def _let(self, plan: Plan, expr: e.Let, frame: Frame) -> Task:
        return (yield self._block(plan, plan.inner[id(expr)][0], Frame(frame)))

    def _if(self, plan: Plan, expr: e.If, frame: Frame) -> Task:
        condition = yield self._operand(plan, expr.cond, frame)
        first, second = plan.inner[id(expr)]
        return (yield self._block(plan, first if bool(condition) else second, Frame(frame)))

    def _tuple(self, plan: Plan, expr: e.Tuple, frame: Frame) -> Task:
        fields: list[Any] = []
        for item in expr.fields:
            fields.append((yield self._operand(plan, item, frame)))
        return tuple(fields)

    def _item(self, plan: Plan, expr: e.TupleGetItem, frame: Frame) -> Task:
        return (yield self._operand(plan, expr.tuple_value, frame))[expr.index]

    def _ref_create(self, plan: Plan, expr: e.RefCreate, frame: Frame) -> Task:
        return Cell((yield self._operand(plan, expr.value, frame)))

    def _ref_read(self, plan: Plan, expr: e.RefRead, frame: Frame) -> Task:
        return (yield self._operand(plan, expr.ref, frame)).value

    def _ref_write(self, plan: Plan, expr: e.RefWrite, frame: Frame) -> Task:
        cell = yield self._operand(plan, expr.ref, frame)
        cell.value = yield self._operand(plan, expr.value, frame)
        return ()

    def _match(self, plan: Plan, expr: e.Match, frame: Frame) -> Task:
        data = yield self._operand(plan, expr.data, frame)
        for clause, scope in zip(expr.clauses, plan.inner.get(id(expr), ()), strict=True):
            inner = Frame(frame)
            if _matches(clause.lhs, data, inner):
                return (yield self._block(plan, scope, inner))
        raise WorkbenchError(
            "E-INTERPRET-MATCH", "no clause of the match fits", where=brief(expr), found=_described(data), nodes=(expr,)
        )


def _matches(pattern: e.Pattern, value: Any, frame: Frame) -> bool:
    todo: list[tuple[e.Pattern, Any]] = [(pattern, value)]
    while todo:
        current, found = todo.pop()
        if isinstance(current, e.PatternVar):
            frame.values[id(current.var)] = found
        elif isinstance(current, e.PatternTuple):
            todo.extend(zip(current.patterns, found, strict=True))
        elif isinstance(current, e.PatternConstructor):
            if not isinstance(found, AdtValue) or found.constructor != current.constructor.name_hint:
                return False
            todo.extend(zip(current.patterns, found.fields, strict=True))
    return True


def _without_elements(kind: t.Type | None) -> Any:
    """The value of a type whose tensors have no elements; None for others."""
    if isinstance(kind, t.TupleType):
        parts = tuple(_without_elements(field) for field in kind.fields)
        return parts if parts and all(part is not None for part in parts) else None
    if isinstance(kind, t.TensorType) and kind.is_static and kind.size == 0:
        return np.zeros(kind.concrete_shape, kind.dtype.to_numpy())
    return None


def _wide(op: Operator) -> Operator:
    """The operator with attributes that name a floating-point dtype set to float64."""
    named = {key: value for key, value in op.attributes.items() if key in ("dtype", "out_dtype") and value}
    changes = {key: "float64" for key, value in named.items() if not _is_exact(DataType(value).to_numpy())}
    return op.replace(**changes) if changes else op


def _is_exact(dtype: np.dtype) -> bool:
    """True for integers and bools, which `float64` leaves alone."""
    return dtype.kind in "biu" or dtype.name.startswith(("int", "uint"))


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, tuple):
        return f"({', '.join(_described(item) for item in value)})"
    return value.constructor if isinstance(value, AdtValue) else type(value).__name__


_EVALUATE: dict[type[e.Expr], Callable[..., Task]] = {
    e.Call: Interpreter._call,
    e.Function: Interpreter._function,
    e.Let: Interpreter._let,
    e.If: Interpreter._if,
    e.Tuple: Interpreter._tuple,
    e.TupleGetItem: Interpreter._item,
    e.RefCreate: Interpreter._ref_create,
    e.RefRead: Interpreter._ref_read,
    e.RefWrite: Interpreter._ref_write,
    e.Match: Interpreter._match,
}
