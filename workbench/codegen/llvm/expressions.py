"""Emitting expressions.

Each class of node has one emitter, a generator that yields the child expressions it needs and receives their values;
a small driver runs them with its own stack, so that chains of any length are emitted without recursion.  Values are
memoised within one statement, and within one arm of an `if_then_else`.  Arithmetic inside an index is `nsw`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...arith import nodes as n
from ...arith.effects import is_effect
from ...arith.intrinsics import NAMED_CALLS
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...tir import nodes as t
from . import calls, conversions
from .addresses import Place, Terms, place_of, pointer_to, terms_of
from .arithmetic import COMPARE_CODES, divide, min_max
from .facts import Facts, has_explicit_vectors, needs_one_pass
from .memory import load
from .numbering import Numbering
from .registers import Registers
from .types import BOOL, HANDLE, INDEX, Value, constant, is_constant, llvm_type, splat
from .writer import FunctionWriter, Line

Emission = Generator[n.PrimExpr, Value, Value]


class ExpressionEmitter:
    """Emits expressions into a function; `values` holds variables, `pointers` buffers, by identity."""

    def __init__(self, writer: FunctionWriter, context: str, facts: Facts, body: t.Stmt) -> None:
        self.writer = writer
        self.context = context
        self.values: dict[int, Value] = {}
        self.pointers: dict[int, tuple[str, int]] = {}
        """Base address and its known alignment in bytes."""
        self.mask: Value | None = None
        """Lanes that loads may touch, inside the arm of a vector `if_then_else`."""
        self.index_depth = 0
        self.facts = facts
        self.lean = has_explicit_vectors(body)
        """Whether LLVM's loop passes are spared: vectors are explicit, and places are computed where they are bound."""
        self.one_pass = needs_one_pass(body)
        """Whether small loops are written out here; else LLVM does so, and splits loops before."""
        self.numbering = Numbering(writer, facts.written(body))
        self.registers = Registers(self)
        self.columns: Mapping[int, int] = {}
        """Numbers of expressions, where debug locations tell them apart."""
        self._memo: list[dict[int, Value]] = [{}]
        self._effects = 0
        """How many calls with effects have been emitted."""
        self._alive: list[Any] = []
        self._terms: dict[int, tuple[n.PrimExpr, Terms]] = {}
        self.counters: set[int] = set()
        """Variables, by identity, that may get another value in the same scope: counters of loops written out."""

    # --- the driver ---

    def value(self, expr: n.PrimExpr) -> Value:
        """The value of `expr` at the current position."""
        known = self._known(expr)
        if known is not None:
            return known
        stack: list[tuple[n.PrimExpr, Emission, int]] = [(expr, self._emission(expr), self._effects)]
        received: Any = None  # nothing is sent to a generator that begins
        while stack:
            current, emission, before = stack[-1]
            if self.columns:
                self.writer.at_column(self.columns.get(id(current), 1))
            try:
                wanted = emission.send(received)
            except StopIteration as finished:
                stack.pop()
                received = finished.value
                self._remember(current, received, before)
                continue
            known = self._known(wanted)
            if known is None:
                stack.append((wanted, self._emission(wanted), self._effects))
            received = known
        if self.columns:
            self.writer.at_column(1)
        return received

    def index(self, expr: n.PrimExpr) -> Value:
        """The value of an index: its arithmetic does not overflow."""
        self.index_depth += 1
        try:
            return self.value(expr)
        finally:
            self.index_depth -= 1

    def size(self, expr: n.PrimExpr) -> Value:
        """The value of an extent as int64, whatever its own dtype."""
        value = self.index(expr)
        if value.dtype == INDEX:
            return value
        return self.assign(INDEX, f"{'zext' if value.dtype.is_uint else 'sext'} {value.typed} to {llvm_type(INDEX)}")

    def place(self, index: n.PrimExpr) -> Place:
        """The place of an index, which is not a vector."""
        parts = place_of(self, index)
        received: Any = None
        while True:
            try:
                wanted = parts.send(received)
            except StopIteration as finished:
                return finished.value
            received = self.value(wanted)

    def terms_of(self, index: n.PrimExpr) -> Terms:
        """An index of the function as a sum."""
        found = self._terms.get(id(index))
        if found is None:
            found = self._terms[id(index)] = (index, terms_of(index))
        return found[1]

    def known_part(self, part: n.PrimExpr) -> Value | None:
        """The value of a part of an index, if it was computed in a scope around this."""
        if isinstance(part, n.Var):
            return self.values.get(id(part))
        for scope in self.numbering.scopes:
            found = scope.parts.get(id(part))
            if found is not None:
                return found
        return None

    def remember_part(self, part: n.PrimExpr, value: Value) -> None:
        """A part of an index has a value as long as its variables are what they are."""
        variables = self.facts.variables(part)
        if variables and not variables & self.counters:
            level = self.numbering.levels.get(value.text, 0)
            if all(self.numbering.levels.get(self.values[each].text, 0) <= level for each in variables):
                self.numbering.scopes[level].parts[id(part)] = value

    def begin_statement(self) -> None:
        """Forget memoised values: memory may have changed."""
        self._memo = [{}]
        self._alive.clear()

    def _known(self, expr: n.PrimExpr) -> Value | None:
        if isinstance(expr, (n.IntImm, n.FloatImm)):
            return Value(constant(expr.value, expr.dtype), expr.dtype)
        if isinstance(expr, n.Var):
            return self._variable(expr)
        key = id(expr)
        for memo in reversed(self._memo):
            if key in memo:
                return memo[key]
        return None

    def _variable(self, var: n.Var) -> Value:
        found = self.values.get(id(var))
        if found is None:
            raise WorkbenchError("E-CODEGEN-UNBOUND", f"variable {var.name} has no value here", nodes=(var,))
        return found

    def _remember(self, expr: n.PrimExpr, value: Value, before: int) -> None:
        """Know the value of an expression from now on; not of one that changes memory, which is done at each place.

        `before` tells the effects that there were when it was begun.
        """
        self._alive.append(expr)
        if is_effect(expr):
            self._effects += 1
            for memo in self._memo:
                memo.clear()
        elif before == self._effects:
            self._memo[-1][id(expr)] = value

    def _emission(self, expr: n.PrimExpr) -> Emission:
        emitter = _EMITTERS.get(type(expr))
        if emitter is None:
            raise WorkbenchError(
                "E-CODEGEN-EXPR", f"the llvm backend has no code for {type(expr).__name__}", nodes=(expr,)
            )
        return emitter(self, expr)

    @contextmanager
    def arm(self, before: list[Line]) -> Iterator[None]:
        """Values computed inside are not known outside; `before` is a segment in front of the branch to it."""
        self.registers.frozen += 1
        try:
            with self.under_mask(), self.numbering.scope(before, self.numbering.scopes[-1].written, arm=True):
                yield
        finally:
            self.registers.frozen -= 1

    @contextmanager
    def under_mask(self) -> Iterator[None]:
        """Expressions have other values inside than outside."""
        self._memo.append({})
        try:
            yield
        finally:
            self._memo.pop()

    # --- shared pieces ---

    def assign(self, dtype: DataType, text: str) -> Value:
        """The value of an instruction, which stands where its operands are bound if it has no effects."""
        return self.numbering.assign(dtype, text)

    def broadcast(self, scalar: Value, lanes: int) -> Value:
        """A scalar in every lane."""
        dtype = scalar.dtype.with_lanes(lanes)
        if is_constant(scalar.text):
            return Value(splat(scalar.text, dtype), dtype)
        kind = llvm_type(dtype)
        first = self.assign(dtype, f"insertelement {kind} poison, {scalar.typed}, i64 0")
        return self.assign(dtype, f"shufflevector {first.typed}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def ramp(self, base: Value, stride: Value, lanes: int) -> Value:
        """base, base + stride, ..."""
        dtype = base.dtype.with_lanes(lanes)
        element = llvm_type(base.dtype)
        if is_constant(stride.text):
            step = int(stride.text)
            steps = f"<{', '.join(f'{element} {step * lane}' for lane in range(lanes))}>"
        else:
            lanes_text = f"<{', '.join(f'{element} {lane}' for lane in range(lanes))}>"
            spread = self.broadcast(stride, lanes)
            steps = self.assign(dtype, f"mul{self.no_wrap} {spread.typed}, {lanes_text}").text
        if base.text == "0":
            return Value(steps, dtype)
        spread = self.broadcast(base, lanes)
        return self.assign(dtype, f"add{self.no_wrap} {spread.typed}, {steps}")

    @property
    def no_wrap(self) -> str:
        return " nsw" if self.index_depth else ""

    def base_pointer(self, buffer: t.Buffer) -> tuple[str, int]:
        found = self.pointers.get(id(buffer))
        if found is None:
            raise WorkbenchError("E-CODEGEN-UNBOUND", f"buffer {buffer.name} is not allocated here", nodes=(buffer,))
        return found


# --- leaves and vectors -------------------------------------------------------------------------------------------


def _ramp(self: ExpressionEmitter, node: n.Ramp) -> Emission:
    base = yield node.base
    stride = yield node.stride
    return self.ramp(base, stride, node.lanes)


def _broadcast(self: ExpressionEmitter, node: n.Broadcast) -> Emission:
    scalar = yield node.value
    return self.broadcast(scalar, node.lanes)


def _string(self: ExpressionEmitter, node: n.StringImm) -> Emission:
    return Value(self.writer.module.string(node.value), HANDLE)
    yield node


def _cast(self: ExpressionEmitter, node: n.Cast) -> Emission:
    value = yield node.value
    return conversions.cast(self, value, node.dtype)


def _let(self: ExpressionEmitter, node: n.Let) -> Emission:
    self.values[id(node.var)] = yield node.value
    self.counters.add(id(node.var))
    return (yield node.body)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def _arithmetic(op: str) -> Callable[[ExpressionEmitter, Any], Emission]:
    def emit(self: ExpressionEmitter, node: Any) -> Emission:
        a = yield node.a
        b = yield node.b
        if a.dtype == INDEX:
            known = _folded(op, a, b)
            if known is not None:
                return known
        return self.assign(a.dtype, f"{_opcode(self, op, a.dtype)} {a.typed}, {b.text}")

    return emit


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
}  # fmt: skip
_FOLD: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _folded(op: str, a: Value, b: Value) -> Value | None:
    """Arithmetic of constants (unrolled loops are full of it), done here to keep the text short."""
    if is_constant(b.text):
        if is_constant(a.text):
            return Value(str(_FOLD[op](int(a.text), int(b.text))), a.dtype)
        if b.text == ("1" if op == "mul" else "0"):
            return a
        if b.text == "0":
            return b
    elif a.text == "0":
        return a if op == "mul" else b if op == "add" else None
    return None


def _opcode(self: ExpressionEmitter, op: str, dtype: DataType) -> str:
    if dtype.is_float:
        return f"f{op} contract"
    if dtype.is_bool:
        return "and" if op == "mul" else "xor"
    return op + (self.no_wrap if dtype.element_of == INDEX else "")


def _division(self: ExpressionEmitter, node: Any) -> Emission:
    a = yield node.a
    b = yield node.b
    nonnegative = is_constant(b.text) and a.dtype.is_int and self.facts.signs.nonnegative(node.a)
    return divide(self, type(node).__name__, a, b, nonnegative)


def _min_max(self: ExpressionEmitter, node: Any) -> Emission:
    a = yield node.a
    b = yield node.b
    return min_max(self, isinstance(node, n.Min), a, b, _not_nan(node.a), _not_nan(node.b))


def _not_nan(expr: n.PrimExpr) -> bool:
    scalar = expr.value if isinstance(expr, n.Broadcast) else expr
    return isinstance(scalar, n.FloatImm) and not math.isnan(scalar.value)


def _compare(self: ExpressionEmitter, node: Any) -> Emission:
    a = yield node.a
    b = yield node.b
    if a.dtype == INDEX and a.text.lstrip("-").isdigit() and b.text.lstrip("-").isdigit():
        return Value(constant(_COMPARE[type(node).__name__](int(a.text), int(b.text)), BOOL), BOOL)
    floats, signed, unsigned = COMPARE_CODES[type(node).__name__]
    if a.dtype.is_float:
        return self.assign(node.dtype, f"fcmp {floats} {a.typed}, {b.text}")
    return self.assign(node.dtype, f"icmp {signed if a.dtype.is_int else unsigned} {a.typed}, {b.text}")


def _logical(op: str) -> Callable[[ExpressionEmitter, Any], Emission]:
    def emit(self: ExpressionEmitter, node: Any) -> Emission:
        a = yield node.a
        b = yield node.b
        return self.assign(a.dtype, f"{op} {a.typed}, {b.text}")

    return emit


def _not(self: ExpressionEmitter, node: n.Not) -> Emission:
    a = yield node.a
    return self.assign(a.dtype, f"xor {a.typed}, {constant(True, a.dtype)}")


def decided(condition: Value) -> bool | None:
    """The answer of a condition that is a constant, in all lanes of it, as in loops that are written out."""
    return _DECIDED.get(condition.text)


_DECIDED: dict[str, bool] = {
    constant(value, dtype): value for value in (True, False) for dtype in (BOOL, BOOL.with_lanes(2))
}
"""By text; that of several lanes is the same for any number."""


def _select(self: ExpressionEmitter, node: n.Select) -> Emission:
    condition = yield node.condition
    known = decided(condition)
    if known is not None:
        return (yield node.true_value if known else node.false_value)
    yes = yield node.true_value
    no = yield node.false_value
    return choose(self, condition, yes, no)


def choose(self: ExpressionEmitter, condition: Value, yes: Value, no: Value) -> Value:
    return self.assign(yes.dtype, f"select {condition.typed}, {yes.typed}, {no.typed}")


# --- memory -------------------------------------------------------------------------------------------------------


def _load(self: ExpressionEmitter, node: t.BufferLoad) -> Emission:
    index = node.indices[0] if node.indices else n.IntImm(0, INDEX)
    plain = index.base if isinstance(index, n.Ramp) else index.value if isinstance(index, n.Broadcast) else index
    if not plain.dtype.is_vector:
        return load(self, node.buffer, index, (yield from place_of(self, plain)))
    self.index_depth += 1
    where = yield plain
    self.index_depth -= 1
    return load(self, node.buffer, index, where)


# --- calls --------------------------------------------------------------------------------------------------------


def _call(self: ExpressionEmitter, node: n.Call) -> Emission:
    if node.op == "if_then_else":
        return (yield from _if_then_else(self, node))
    if node.op in ("address_of", "access_ptr", "prefetch"):
        return (yield from _address_of(self, node))
    arguments: list[Value] = []
    for argument in node.args:
        if isinstance(argument, n.StringImm) and node.op in NAMED_CALLS:
            continue
        arguments.append((yield argument))
    return calls.emit_call(self, node, arguments)


def _address_of(self: ExpressionEmitter, node: n.Call) -> Emission:
    access = node.args[0]
    if not isinstance(access, t.BufferLoad):
        raise WorkbenchError("E-CODEGEN-ADDRESS", f"{node.op} takes an element of a buffer", nodes=(node,))
    index = access.indices[0] if access.indices else n.IntImm(0, INDEX)
    where = yield from place_of(self, index.base if isinstance(index, n.Ramp) else index)
    address = pointer_to(self, access.buffer, where)
    if node.op == "prefetch":
        self.writer.module.intrinsic("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        self.writer.emit(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")
    return Value(address, HANDLE)


def _if_then_else(self: ExpressionEmitter, node: n.Call) -> Emission:
    condition = yield node.args[0]
    known = decided(condition)
    if known is not None:
        return (yield node.args[1 if known else 2])
    if condition.dtype.is_vector:
        return (yield from _masked_choice(self, node, condition))
    self.registers.before_arms(node.args[1:])
    writer = self.writer
    then, otherwise, done = writer.fresh("then"), writer.fresh("else"), writer.fresh("done")
    before = writer.segment()
    writer.branch(condition.text, then, otherwise)
    writer.label(then)
    with self.arm(before):
        yes = yield node.args[1]
    yes_block = writer.block
    writer.jump(done)
    writer.label(otherwise)
    with self.arm(before):
        no = yield node.args[2]
    no_block = writer.block
    writer.label(done)
    kind = llvm_type(yes.dtype)
    return self.assign(yes.dtype, f"phi {kind} [ {yes.text}, %{yes_block} ], [ {no.text}, %{no_block} ]")


def _masked_choice(self: ExpressionEmitter, node: n.Call, condition: Value) -> Emission:
    """Both arms, with loads restricted to their lanes; then a select."""
    outer = self.mask
    self.mask = condition if outer is None else self.assign(condition.dtype, f"and {condition.typed}, {outer.text}")
    with self.under_mask():
        yes = yield node.args[1]
    inverse = self.assign(condition.dtype, f"xor {condition.typed}, {constant(True, condition.dtype)}")
    self.mask = inverse if outer is None else self.assign(inverse.dtype, f"and {inverse.typed}, {outer.text}")
    with self.under_mask():
        no = yield node.args[2]
    self.mask = outer
    return choose(self, condition, yes, no)


_EMITTERS: dict[type, Callable[[ExpressionEmitter, Any], Emission]] = {
    n.Ramp: _ramp,
    n.Broadcast: _broadcast,
    n.StringImm: _string,
    n.Cast: _cast,
    n.Let: _let,
    n.Add: _arithmetic("add"),
    n.Sub: _arithmetic("sub"),
    n.Mul: _arithmetic("mul"),
    **dict.fromkeys((n.Div, n.Mod, n.FloorDiv, n.FloorMod), _division),
    **dict.fromkeys((n.Min, n.Max), _min_max),
    **dict.fromkeys((n.EQ, n.NE, n.LT, n.LE, n.GT, n.GE), _compare),
    n.And: _logical("and"),
    n.Or: _logical("or"),
    n.Not: _not,
    n.Select: _select,
    t.BufferLoad: _load,
    n.Call: _call,
}

__all__ = ["BOOL", "ExpressionEmitter"]
