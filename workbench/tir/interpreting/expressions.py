"""Each class of expression as Python code; see `interpreting.code`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ...arith import nodes as n
from ...arith.intrinsics import INTRINSICS
from ...arith.nodes import literal
from ...core.errors import WorkbenchError
from ...core.trampoline import Task
from .. import nodes as t
from . import external, numbers
from .code import ExprCompiler, Lines, Value
from .llvm_meanings import llvm_meaning
from .machine import Pointer

# --- leaves -------------------------------------------------------------------------------------------------------


def _task(function: Callable[[ExprCompiler, Any], Value]) -> Callable[[ExprCompiler, Any], Task]:
    """A compiler of leaves as a task."""

    def made(compiler: ExprCompiler, node: Any) -> Task:
        return function(compiler, node)
        yield

    return made


@_task
def _variable(c: ExprCompiler, node: n.Var) -> Value:
    known = c.names.get(id(node))
    if known is None:
        raise WorkbenchError("E-TIR-UNDEFINED", f"variable {node.name} has no value here", nodes=(node,))
    return known


@_task
def _integer_constant(c: ExprCompiler, node: n.IntImm) -> Value:
    if node.dtype.is_bool:
        return Value("True" if node.value else "False", 0, 1)
    return Value(str(node.value) if node.value >= 0 else f"({node.value})", node.value, node.value)


@_task
def _float_constant(c: ExprCompiler, node: n.FloatImm) -> Value:
    made = node.dtype.to_numpy().type(node.value)
    return Value(c.bind("c", made, ("float", node.dtype, float(node.value).hex())))


@_task
def _text_constant(c: ExprCompiler, node: n.StringImm) -> Value:
    return Value(repr(node.value))


# --- operators ----------------------------------------------------------------------------------------------------

_Interval = Callable[[Value, Value], tuple[int, int]]


def _corners(function: Callable[[int, int], int]) -> _Interval:
    def interval(a: Value, b: Value) -> tuple[int, int]:
        results = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return min(results), max(results)

    return interval


_ARITHMETIC: Final[dict[type, tuple[str, _Interval]]] = {
    n.Add: ("+", lambda a, b: (a.low + b.low, a.high + b.high)),
    n.Sub: ("-", lambda a, b: (a.low - b.high, a.high - b.low)),
    n.Mul: ("*", _corners(lambda x, y: x * y)),
}


def _arithmetic(c: ExprCompiler, node: Any) -> Task:
    a: Value = yield c.expr(node.a)
    b: Value = yield c.expr(node.b)
    _same_dtype(node)
    symbol, interval = _ARITHMETIC[type(node)]
    code, height = f"({a.code} {symbol} {b.code})", max(a.height, b.height) + 1
    if node.dtype.is_float:
        return Value(code, height=height)
    return c.integer(code, *interval(a, b), node.dtype, height)


def _same_dtype(node: Any) -> None:
    if node.a.dtype != node.b.dtype:
        raise WorkbenchError(
            "E-TIR-DTYPE",
            f"{type(node).__name__} of two dtypes",
            found=f"{node.a.dtype} and {node.b.dtype}",
            fix="cast one of them",
            nodes=(node,),
        )


_DIVISIONS: Final[dict[type, tuple[str, Callable[..., Any], str]]] = {
    n.FloorDiv: ("//", numbers.floor_divide, "np.floor({a} / {b})"),
    n.FloorMod: ("%", numbers.floor_modulo, "({a} - np.floor({a} / {b}) * {b})"),
    n.Div: ("", numbers.truncated_divide, "({a} / {b})"),
    n.Mod: ("", numbers.truncated_modulo, "np.fmod({a}, {b})"),
}


def _division(c: ExprCompiler, node: n.BinaryExpr) -> Task:
    a: Value = yield c.expr(node.a)
    b: Value = yield c.expr(node.b)
    _same_dtype(node)
    symbol, function, of_floats = _DIVISIONS[type(node)]
    height = max(a.height, b.height) + 2
    if node.dtype.is_float:
        if type(node) is n.FloorMod:
            a, b = c.hoisted(a), c.hoisted(b)
        return Value(of_floats.format(a=a.code, b=b.code), height=height)
    if symbol and b.low == b.high != 0:
        code = f"({a.code} {symbol} {b.code})"
    else:
        name = c.bind("divide", function, ("divide", type(node)))
        code = f"m.divide({c.site()}, {name}, {a.code}, {b.code}, {c.loop_values()})"
    return c.integer(code, *_quotient_interval(type(node), a, b), node.dtype, height)


def _quotient_interval(cls: type, a: Value, b: Value) -> tuple[int, int]:
    if cls in (n.FloorDiv, n.Div) and (b.low > 0 or b.high < 0):
        function: Callable[[Any, Any], Any] = numbers.truncated_divide if cls is n.Div else lambda x, y: x // y
        return _corners(function)(a, b)
    if cls is n.FloorMod and b.low > 0:
        return (a.low, a.high) if 0 <= a.low and a.high < b.low else (0, b.high - 1)
    bound = max(abs(b.low), abs(b.high)) if cls in (n.FloorMod, n.Mod) else max(abs(a.low), abs(a.high))
    return -bound, bound


def _minmax(c: ExprCompiler, node: Any) -> Task:
    a: Value = yield c.expr(node.a)
    b: Value = yield c.expr(node.b)
    _same_dtype(node)
    least = type(node) is n.Min
    low, high = (min(a.low, b.low), min(a.high, b.high)) if least else (max(a.low, b.low), max(a.high, b.high))
    height = max(a.height, b.height) + 2
    if node.dtype.is_vector:
        return Value(f"np.{'minimum' if least else 'maximum'}({a.code}, {b.code})", low, high, height)
    x, y, sign = c.fresh("t"), c.fresh("t"), "<" if least else ">"
    nan = f" or {x} != {x}" if node.dtype.is_float else ""
    return Value(f"({x} if ({x} := {a.code}) {sign} ({y} := {b.code}){nan} else {y})", low, high, height)


_COMPARISONS: Final = {n.EQ: "==", n.NE: "!=", n.LT: "<", n.LE: "<=", n.GT: ">", n.GE: ">="}


def _comparison(c: ExprCompiler, node: Any) -> Task:
    a: Value = yield c.expr(node.a)
    b: Value = yield c.expr(node.b)
    _same_dtype(node)
    return Value(f"({a.code} {_COMPARISONS[type(node)]} {b.code})", 0, 1, max(a.height, b.height) + 1)


def _logic(c: ExprCompiler, node: Any) -> Task:
    a: Value = yield c.expr(node.a)
    b: Value = yield c.expr(node.b)
    symbol = "&" if type(node) is n.And else "|"
    return Value(f"({a.code} {symbol} {b.code})", 0, 1, max(a.height, b.height) + 1)


def _not(c: ExprCompiler, node: n.Not) -> Task:
    a: Value = yield c.expr(node.a)
    return Value(f"(~{a.code})" if node.dtype.is_vector else f"(not {a.code})", 0, 1, a.height + 1)


def _select(c: ExprCompiler, node: n.Select) -> Task:
    condition: Value = yield c.expr(node.condition)
    a: Value = yield c.expr(node.true_value)
    b: Value = yield c.expr(node.false_value)
    height = max(condition.height, a.height, b.height) + 1
    return Value(f"select({condition.code}, {a.code}, {b.code})", min(a.low, b.low), max(a.high, b.high), height)


def _ramp(c: ExprCompiler, node: n.Ramp) -> Task:
    base: Value = yield c.expr(node.base)
    stride: Value = yield c.expr(node.stride)
    steps = c.bind(
        "ramp", np.arange(node.lanes, dtype=node.base.dtype.to_numpy()), ("ramp", node.lanes, node.base.dtype)
    )
    low = base.low + min(0, stride.low * (node.lanes - 1))
    high = base.high + max(0, stride.high * (node.lanes - 1))
    return c.integer(
        f"({base.code} + {steps} * {stride.code})", low, high, node.dtype, max(base.height, stride.height) + 1
    )


def _broadcast(c: ExprCompiler, node: n.Broadcast) -> Task:
    value: Value = yield c.expr(node.value)
    kind = c.bind("kind", node.value.dtype.to_numpy(), ("kind", node.value.dtype))
    return Value(f"np.full({node.lanes}, {value.code}, {kind})", value.low, value.high, value.height + 1)


def _let(c: ExprCompiler, node: n.Let) -> Task:
    value: Value = yield c.expr(node.value)
    c.names[id(node.var)] = c.hoisted(value)
    return (yield c.expr(node.body))


def _cast(c: ExprCompiler, node: n.Cast) -> Task:
    value: Value = yield c.expr(node.value)
    source, target = node.value.dtype, node.dtype
    if source.is_vector != target.is_vector or source.lanes != target.lanes:
        raise WorkbenchError("E-TIR-DTYPE", f"a cast from {source} to {target} changes the lanes", nodes=(node,))
    low, high = (0, 0) if target.is_float else target.limits()
    if (source.is_integer or source.is_bool) and target.is_integer:
        fits = low <= value.low and value.high <= high
        low, high = (value.low, value.high) if fits else (low, high)
        if fits and source.is_integer and not source.is_vector:
            return value
    name = c.bind("cast", numbers.caster(source, target), ("cast", source, target))
    return Value(f"{name}({value.code})", low, high, value.height + 1)


def _load(c: ExprCompiler, node: t.BufferLoad) -> Task:
    indices: list[Value] = []
    for index in node.indices:
        indices.append((yield c.expr(index)))
    vector = bool(node.indices) and node.indices[-1].dtype.is_vector
    position, height = c.position(node.buffer, indices, vector, "reads")
    place, site, loops = c.places[id(node.buffer)], c.site(node.buffer), c.loop_values()
    low, high = (0, 0) if node.dtype.is_float or node.dtype.is_handle else node.dtype.element_of.limits()
    if vector:
        kind = c.bind("kind", node.buffer.dtype.to_numpy(), ("kind", node.buffer.dtype))
        return Value(
            f"m.gather({site}, {place.cells}, {position}, {kind}, {place.shape}, {loops})", low, high, height + 1
        )
    if not place.may_be_unwritten:
        return Value(f"{place.cells}[{position}]", low, high, height)
    value, where = c.fresh("t"), c.fresh("t")
    found = f"({value} := {place.cells}[({where} := {position})])"
    return Value(
        f"({value} if {found} is not None else m.unwritten({site}, {where}, {place.shape}, {loops}))",
        low,
        high,
        height + 2,
    )


# --- calls --------------------------------------------------------------------------------------------------------


def _arm(c: ExprCompiler, expr: n.PrimExpr) -> Task:
    """An arm that may not run: its lines stay inside a function of its own."""
    context = Lines()
    c.contexts.append(context)
    value: Value = yield c.expr(expr)
    c.contexts.pop()
    if not context.lines:
        return value
    name = c.fresh("arm")
    lines = [f"def {name}():", *(f"    {line}" for line in context.lines), f"    return {value.code}"]
    c.contexts[-1].lines.extend(lines)
    return Value(f"{name}()", value.low, value.high)


def _if_then_else(c: ExprCompiler, node: n.Call) -> Task:
    condition: Value = yield c.expr(node.args[0])
    if node.args[0].dtype.is_vector:
        a: Value = yield c.expr(node.args[1])
        b: Value = yield c.expr(node.args[2])
        code = f"select({condition.code}, {a.code}, {b.code})"
    else:
        a = yield _arm(c, node.args[1])
        b = yield _arm(c, node.args[2])
        code = f"({a.code} if {condition.code} else {b.code})"
    height = max(condition.height, a.height, b.height) + 1
    return Value(code, min(a.low, b.low), max(a.high, b.high), height)


def _address_of(c: ExprCompiler, node: n.Call) -> Task:
    load = node.args[0]
    if not isinstance(load, t.BufferLoad):
        raise WorkbenchError("E-TIR-INTERPRET", "T.address_of takes an element of a buffer", nodes=(node,))
    indices: list[Value] = []
    for index in load.indices:
        indices.append((yield c.expr(index)))
    races, regions = c.check_races, c.check_regions
    c.check_races = c.check_regions = False
    empty = (
        any(extent.constant == 0 for extent in c.places[id(load.buffer)].extents)
        if id(load.buffer) in c.places
        else False
    )
    position, height = ("0", 0) if empty else c.position(load.buffer, indices, False, "reads")
    c.check_races, c.check_regions = races, regions
    c.namespace["Pointer"] = Pointer
    return Value(f"Pointer({c.places[id(load.buffer)].storage}, {position})", height=height + 1)


def _call(c: ExprCompiler, node: n.Call) -> Task:
    special = _SPECIAL_CALLS.get(node.op)
    if special is not None:
        return (yield special(c, node))
    arguments: list[Value] = []
    for argument in node.args:
        arguments.append((yield c.expr(argument)))
    height = max((argument.height for argument in arguments), default=0) + 1
    codes = ", ".join(argument.code for argument in arguments)
    low, high = (
        (0, 0) if node.dtype.is_float or node.dtype.code in ("handle", "void") else node.dtype.element_of.limits()
    )
    if node.op == "call_tir":
        return Value(f"m.call(m, {codes})", height=height)
    if node.op in ("poll_cancel", "prefetch"):
        return Value("None")
    function = _meaning(node)
    name = c.bind("call", function, ("call", node.op, node.dtype, tuple(argument.dtype for argument in node.args)))
    return Value(f"{name}({codes})", low, high, height)


def _meaning(node: n.Call) -> Callable[..., Any]:
    """The Python function of an intrinsic for the dtypes at hand."""
    dtype, op = node.dtype, node.op
    first = node.args[0].dtype if node.args else dtype
    if op == "fma":
        return numbers.fused_multiply_add
    if op == "reinterpret":
        return partial(numbers.reinterpreted, source=first, target=dtype)
    if op in numbers.REDUCTIONS:
        return partial(numbers.reduced, function=numbers.REDUCTIONS[op], dtype=dtype)
    if op == "shuffle":
        return lambda *lanes: numbers.plain(lanes[0][list(lanes[1:])] if dtype.is_vector else lanes[0][lanes[1]], dtype)
    if op in numbers.INTEGER_INTRINSICS and not dtype.is_vector and not first.is_float:
        function = numbers.INTEGER_INTRINSICS[op]
        return lambda *values: function(dtype, *values)
    entry = INTRINSICS.get(op)
    if entry is None or entry.evaluate is None:
        raise WorkbenchError(
            "E-TIR-INTERPRET", f"the interpreter cannot run T.{op}", fix="compile and run the program", nodes=(node,)
        )
    evaluate = entry.evaluate
    return lambda *values: numbers.plain(evaluate(*values), dtype)


def _return(c: ExprCompiler, node: n.Call) -> Task:
    value: Value = yield c.expr(node.args[0])
    return Value(f"m.finish({value.code})", height=value.height + 1)


def _external(c: ExprCompiler, node: n.Call) -> Task:
    """A packed function, a C function, or a tensor made for one."""
    arguments: list[Value] = []
    for argument in node.args:
        arguments.append((yield c.expr(argument)))
    codes = [argument.code for argument in arguments]
    height = max((argument.height for argument in arguments), default=0) + 1
    kinds = tuple(argument.dtype for argument in node.args)
    bound: Callable[..., Any]
    if node.op == "call_packed":
        bound = external.call_packed
    elif node.op == "tvm_stack_make_shape":
        bound = external.make_shape
    elif node.op == "tvm_stack_make_array":
        bound = partial(external.make_array, node.args[4].dtype)
        codes = [codes[0], codes[1], codes[2], codes[5]]
    else:
        bound = partial(external.call_extern, node.dtype, kinds[1:])
    name = c.bind("outside", bound, ("outside", node.op, node.dtype, kinds))
    plain = node.dtype.is_float or node.dtype.code in ("handle", "void")
    low, high = (0, 0) if plain else node.dtype.element_of.limits()
    return Value(f"{name}({', '.join(codes)})", low, high, height)


def _vector_load(c: ExprCompiler, node: n.Call) -> Task:
    address: Value = yield c.expr(node.args[0])
    name = c.bind("vload", partial(external.vector_load, node.dtype), ("vload", node.dtype))
    low, high = (0, 0) if node.dtype.is_float else node.dtype.element_of.limits()
    return Value(f"{name}({address.code})", low, high, address.height + 1)


def _llvm_call(c: ExprCompiler, node: n.Call) -> Task:
    arguments: list[Value] = []
    for argument in node.args[1:]:
        arguments.append((yield c.expr(argument)))
    name = literal(node.args[0], "")
    kinds = tuple(argument.dtype for argument in node.args[1:])
    bound = c.bind("llvm", llvm_meaning(name, node), ("llvm", name, node.dtype, kinds))
    low, high = (0, 0) if node.dtype.is_float else node.dtype.element_of.limits()
    height = max((argument.height for argument in arguments), default=0) + 1
    return Value(f"{bound}({', '.join(argument.code for argument in arguments)})", low, high, height)


_SPECIAL_CALLS: Final[dict[str, Callable[[ExprCompiler, Any], Task]]] = {
    "if_then_else": _if_then_else,
    "address_of": _address_of,
    "access_ptr": _address_of,
    "call_packed": _external,
    "call_llvm_pure_intrin": _llvm_call,
    "vload": _vector_load,
    "call_extern": _external,
    "call_pure_extern": _external,
    "tvm_stack_make_shape": _external,
    "tvm_stack_make_array": _external,
    "ret": _return,
}

COMPILERS: Final[dict[type, Callable[[ExprCompiler, Any], Task]]] = {
    n.Var: _variable,
    n.IntImm: _integer_constant,
    n.FloatImm: _float_constant,
    n.StringImm: _text_constant,
    n.Not: _not,
    n.Select: _select,
    n.Ramp: _ramp,
    n.Broadcast: _broadcast,
    n.Let: _let,
    n.Cast: _cast,
    n.Call: _call,
    n.And: _logic,
    n.Or: _logic,
    n.Min: _minmax,
    n.Max: _minmax,
    t.BufferLoad: _load,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_DIVISIONS, _division),
    **dict.fromkeys(_COMPARISONS, _comparison),
}
