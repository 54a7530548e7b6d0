"""Mistakes as a person could make them, in graph passes, loop passes and code generation: a table of planted bugs.

A bug of a pass is the good pass's result with one thing wrong; a bug of lowering or code generation replaces a
function or a table entry of it for the time of a test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.driver.programs import EIGHT_LANES
from workbench import relay
from workbench.arith import nodes as n
from workbench.arith.build import add, const, multiply
from workbench.codegen.llvm import arithmetic, calls, conversions, expressions, memory, parallel, statements
from workbench.codegen.llvm.types import Value
from workbench.core.module import IRModule
from workbench.core.node import pre_order, rewrite, substitute
from workbench.core.tensor import Tensor
from workbench.core.transform import PASSES, Pass, PassContext, PassInfo
from workbench.driver import actions, history
from workbench.relay.ir import expr as r
from workbench.relay.ir.operator import Operator
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tir import nodes as t

Change = Callable[[IRModule, IRModule], IRModule]
"""(the module before the pass, what the good pass makes of it) -> what the broken pass makes."""


@dataclass(frozen=True)
class Bug:
    """One planted bug: where, and what must be said of it."""

    what: str
    model: str
    """small, wide or parallel: a program of tests/driver/programs.py"""
    step: str
    """The label of the step that must be named."""
    place: str
    """Part of the place of the first wrong tensor, or of the note where there is none."""
    change: Change | None = None
    patch: Callable[[pytest.MonkeyPatch], None] | None = None
    verdicts: tuple[str, ...] = ("wrong",)


def broken(name: str, change: Change) -> Pass:
    """The pass `name` with a bug put into its result."""
    good = PASSES[name]()

    def run(module: IRModule, context: PassContext) -> IRModule:
        return change(module, good(module))

    return Pass(PassInfo(f"Broken{name}"), run, {})


def on_functions(change: Callable[[Any], Any], kind: type = t.PrimFunc) -> Change:
    """A bug that changes each function of the good result."""

    def run(_: IRModule, made: IRModule) -> IRModule:
        return made.with_functions({name: change(f) if isinstance(f, kind) else f for name, f in made.items()})

    return run


def once(matches: Callable[[Any], bool], replaced: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A change of the first node that matches, in every function."""

    def run(function: Any) -> Any:
        found = next((node for node in pre_order(function) if matches(node)), None)
        return (
            function
            if found is None
            else rewrite(function, lambda _: None, lambda x: replaced(x) if x is found else None)
        )

    return run


def in_kernels(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A change of the kernels alone."""
    return lambda function: change(function) if function.attrs.get("role") == "kernel" else function


def is_call(node: Any, name: str) -> bool:
    return isinstance(node, r.Call) and isinstance(node.op, Operator) and node.op.name == name


def relay_calls(module: IRModule, name: str) -> list[r.Call]:
    return [node for node in module.nodes() if is_call(node, name)]


# --- graph passes ---------------------------------------------------------------------------------------------------


def scale_is_dropped(before: IRModule, made: IRModule) -> IRModule:
    product = relay_calls(before, "multiply")[0]

    def post(node: Any) -> Any:
        return node.args[0] if is_call(node, "multiply") and node.args == product.args else None

    return before.with_functions({"main": rewrite(before["main"], post)})


def constant_off_by_one(function: Any) -> Any:
    largest = max((x for x in pre_order(function) if isinstance(x, r.Constant)), key=lambda x: x.data.numpy().size)
    values = largest.data.numpy().copy()
    values.reshape(-1)[:40] += 1
    wrong = r.Constant(Tensor.of(values))
    return rewrite(function, lambda _: None, lambda node: wrong if node is largest else None)


def lanes_are_rotated(function: Any) -> Any:
    lanes = Target(EIGHT_LANES).lanes
    packed = next(x for x in pre_order(function) if isinstance(x, r.Constant) and x.data.shape[-1:] == (lanes,)
                  and len(x.data.shape) > 2)  # fmt: skip
    wrong = r.Constant(Tensor.of(np.roll(packed.data.numpy(), 1, -1)))
    return rewrite(function, lambda _: None, lambda node: wrong if node is packed else None)


def different_convolutions_are_merged(before: IRModule, made: IRModule) -> IRModule:
    left, right = [call for call in relay_calls(made, "nn.conv2d") if call.attrs.kernel_size == (1, 1)]
    return made.with_functions({"main": rewrite(made["main"], lambda x: left if x is right else None)})


def mean_is_ignored(before: IRModule, made: IRModule) -> IRModule:
    shift = next(call for call in relay_calls(made, "add") if len(call.checked_type.shape) == 4)
    return made.with_functions({"main": rewrite(made["main"], lambda x: x.args[0] if x is shift else None)})


def epsilon_is_larger(before: IRModule, made: IRModule) -> IRModule:
    def post(node: Any) -> Any:
        return r.Call(node.op.replace(epsilon=0.3), node.args) if is_call(node, "nn.batch_norm") else None

    main = rewrite(before["main"], post)
    return PASSES["SimplifyInference"]()(PASSES["InferType"]()(IRModule({"main": main})))


def replaced_call(name: str, make: Callable[[r.Call], Any]) -> Change:
    """The first call of an operator in each function becomes something else."""
    change = once(lambda node: is_call(node, name), make)
    return on_functions(change, r.Function)


def _rounded_first(call: r.Call) -> Any:
    return relay.op.call("cast", relay.op.call("round", call.args[0]), dtype="int32")


_integer_casts_round = on_functions(
    once(lambda node: is_call(node, "cast") and node.op.dtype == "int32", _rounded_first), r.Function
)


GRAPH = (
    Bug("the mean and shift of a batch norm are forgotten", "small", "SimplifyInference", "multiply",
        mean_is_ignored),
    Bug("another epsilon", "small", "SimplifyInference", "batch_norm|add", epsilon_is_larger),
    Bug("a constant is off by one", "small", "FoldConstant#2", "nn.conv2d",
        on_functions(constant_off_by_one, r.Function)),
    Bug("relu is taken for the identity", "small", "SimplifyExpr", "nn.conv2d",
        on_functions(lambda f: rewrite(f, lambda x: x.args[0] if is_call(x, "nn.relu") else None), r.Function)),
    Bug("a scale is taken away, the weights not scaled", "small", "FoldScaleAxis", "add", scale_is_dropped),
    Bug("convolutions of other weights are merged", "small", "EliminateCommonSubexpr", "subtract",
        different_convolutions_are_merged),
    Bug("operands of a subtraction change places", "small", "FuseOps", "subtract",
        replaced_call("subtract", lambda c: relay.op.call("subtract", c.args[1], c.args[0]))),
    Bug("the bias is dropped", "wide", "FuseOps", "divide",
        replaced_call("nn.bias_add", lambda c: c.args[0])),
    Bug("softmax along the wrong axis", "small", "FuseOps", "nn.softmax",
        replaced_call("nn.softmax", lambda c: relay.op.call("nn.softmax", c.args[0], axis=0))),
    Bug("the lanes of packed weights are rotated", "wide", "FoldConstant#3", "nn.conv2d",
        on_functions(lanes_are_rotated, r.Function)),
    Bug("a cast to integers rounds", "wide", "FuseOps", "round|cast", _integer_casts_round),
    Bug("a product becomes a sum", "wide", "PackWeights", "add",
        replaced_call("multiply", lambda c: relay.op.call("add", *c.args))),
)  # fmt: skip


# --- loop passes ----------------------------------------------------------------------------------------------------


def is_loop(node: Any, kind: t.ForKind | None = None, least: int = 2) -> bool:
    return (
        isinstance(node, t.For)
        and isinstance(node.extent, n.IntImm)
        and node.extent.value >= least
        and (kind is None or node.kind is kind)
    )


def reduces(node: Any) -> bool:
    """A loop in whose every turn the same elements are added to."""
    return is_loop(node) and any(
        isinstance(x, t.BufferStore)
        and isinstance(x.value, n.Add)
        and any(isinstance(y, t.BufferLoad) and y.buffer is x.buffer for y in pre_order(x.value))
        and not any(y is node.var for index in x.indices for y in pre_order(index))
        for x in pre_order(node.body)
    )


def shorter(loop: t.For) -> t.For:
    return loop.replace(extent=const(loop.extent.value - 1))


def stores_zero(node: Any) -> bool:
    value = node.value if isinstance(node, t.BufferStore) else None
    value = value.value if isinstance(value, n.Broadcast) else value
    return isinstance(value, n.FloatImm) and value.value == 0.0


def row_off_by_one(function: Any) -> Any:
    own = {id(node.buffer) for node in pre_order(function) if isinstance(node, t.AllocBuffer)}

    def reads(node: Any) -> bool:
        return isinstance(node, t.BufferLoad) and id(node.buffer) in own and isinstance(node.indices[-1], n.PrimExpr)

    def moved(node: Any) -> Any:
        last = n.Max(add(node.indices[-1], const(-1)), const(0))
        return node.replace(indices=(*node.indices[:-1], last))

    return once(reads, moved)(function)


def buffer_too_small(function: Any) -> Any:
    """A compacted buffer lacks its last element along some axis."""
    old = next((x.buffer for x in pre_order(function) if isinstance(x, t.AllocBuffer)
                and any(extent.value > 1 for extent in x.buffer.shape)), None)  # fmt: skip
    if old is None:
        return function
    axis = max(range(len(old.shape)), key=lambda place: old.shape[place].value)
    shape = (*old.shape[:axis], const(old.shape[axis].value - 1), *old.shape[axis + 1 :])
    new = old.replace(shape=shape)
    return rewrite(function, lambda _: None, lambda node: new if node is old else None)


def strides_swapped(function: Any) -> Any:
    def strided(node: Any) -> bool:
        return isinstance(node, n.Mul) and isinstance(node.b, n.IntImm) and node.b.value > 2 and node.dtype == "int64"

    return once(strided, lambda node: multiply(node.a, const(node.b.value - 1)))(function)


def arena(change: Callable[[int, int], int]) -> Callable[[Any], Any]:
    """Offsets in the arena become change(offset, size of the arena)."""

    def run(function: Any) -> Any:
        def planned(node: Any) -> Any:
            if isinstance(node, t.AllocBuffer) and "arena_offset" in node.annotations:
                moved = change(node.annotations["arena_offset"], function.attrs["arena_bytes"])
                return node.replace(annotations=node.annotations.set("arena_offset", moved))
            return None

        return rewrite(function, planned)

    return run


def one_iteration_everywhere(loop: t.For) -> t.For:
    """Every copy of an unrolled loop is that of its first iteration."""
    return loop.replace(body=substitute(loop.body, {loop.var: const(0)}))


def lost(_: Any) -> t.Stmt:
    return t.Evaluate(const(0))


def wider_stride(node: n.Ramp) -> n.Ramp:
    return node.replace(stride=const(2))


LOOPS = (
    Bug("the start of a reduction is lost", "wide", "LowerBlocks", "nn_conv2d|mean|dense",
        on_functions(in_kernels(once(stores_zero, lost)))),
    Bug("a predicate is lost", "wide", "LowerBlocks", "nn_conv2d_multiply|dense",
        on_functions(in_kernels(once(lambda x: isinstance(x, t.IfThenElse), lambda x: x.then_case))),
        verdicts=("failed",)),
    Bug("a row off by one", "small", "CompactBuffers", "nn_conv2d|softmax|mean",
        on_functions(in_kernels(row_off_by_one))),
    Bug("a buffer is one element too small", "wide", "CompactBuffers", "data_pad|conv2d",
        on_functions(in_kernels(buffer_too_small)), verdicts=("failed",)),
    Bug("a reduction's last iteration is proved away", "small", "Simplify", "nn_conv2d",
        on_functions(once(reduces, shorter))),
    Bug("a comparison becomes strict", "wide", "Simplify", "nn_conv2d|max_pool",
        on_functions(in_kernels(once(lambda x: isinstance(x, n.GE), lambda x: n.GT(x.a, x.b))))),
    Bug("a stride is too small", "small", "FlattenBuffer", "nn_conv2d|softmax|mean|dense",
        on_functions(strides_swapped)),
    Bug("the store of a vector is lost", "small", "VectorizeLoop", "nn_conv2d|softmax|dense|mean",
        on_functions(once(lambda x: isinstance(x, t.BufferStore) and x.value.dtype.is_vector, lost))),
    Bug("the mask of a store is lost", "wide", "VectorizeLoop", "dense|conv2d",
        on_functions(once(lambda x: isinstance(x, t.IfThenElse) and x.condition.dtype.is_vector,
                          lambda x: x.then_case)), verdicts=("failed",)),
    Bug("lanes two apart instead of one", "wide", "VectorizeLoop", "nn_conv2d|softmax|mean|dense",
        on_functions(in_kernels(once(lambda x: isinstance(x, n.Ramp) and x.stride.value == 1, wider_stride))),
        verdicts=("wrong", "failed")),
    Bug("a loop is written out without its last iteration", "small", "UnrollLoop", "nn_conv2d|softmax|dense|mean",
        on_functions(in_kernels(once(is_loop, shorter)))),
    Bug("all copies are the first iteration's", "wide", "UnrollLoop", "nn_conv2d|max_pool",
        on_functions(in_kernels(once(lambda x: is_loop(x, t.ForKind.UNROLLED), one_iteration_everywhere)))),
    Bug("all intermediates get the same place", "small", "StoragePlan", "call|over",
        on_functions(arena(lambda o, s: 0)), verdicts=("wrong", "failed")),
    Bug("intermediates overlap in part", "wide", "StoragePlan", "E-NUMERICS-OVERLAP",
        on_functions(arena(lambda o, s: o // 128 * 64)), verdicts=("failed",)),
    Bug("an intermediate lies outside of the arena", "wide", "StoragePlan", "E-NUMERICS-ARENA",
        on_functions(arena(lambda o, s: o + s - 64)), verdicts=("failed",)),
    Bug("an intermediate lies off its alignment", "wide", "StoragePlan", "alignment",
        on_functions(arena(lambda o, s: max(o - 2, 0))), verdicts=("failed",)),
    Bug("a maximum is taken for its first operand", "small", "LowerIntrinsics", "relu|softmax",
        on_functions(lambda f: rewrite(f, lambda x: x.a if isinstance(x, n.Max) else None))),
    Bug("a coefficient of exp is wrong", "wide", "LowerIntrinsics", "sigmoid|exp|softmax",
        on_functions(lambda f: rewrite(f, lambda x: n.FloatImm(0.4, x.dtype)
                                       if isinstance(x, n.FloatImm) and x.value == 0.5 else None))),
    Bug("a loop that polls loses its first iteration", "wide", "InsertPolls", "nn_conv2d|max_pool|mean|softmax",
        on_functions(in_kernels(once(lambda x: is_loop(x, t.ForKind.SERIAL),
                                     lambda x: shorter(x).replace(min=const(1)))))),
)  # fmt: skip


# --- lowering and schedules -----------------------------------------------------------------------------------------


def lowering(change: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Lowering makes another entry."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        from dataclasses import replace

        good = actions.lower_module

        def lower(*arguments: Any) -> Any:
            made = good(*arguments)
            return replace(made, module=made.module.with_functions({"main": change(made.module["main"])}))

        monkeypatch.setattr(actions, "lower_module", lower)

    return patch


def _kernel_calls(function: Any) -> list[n.Call]:
    return [node for node in pre_order(function) if isinstance(node, n.Call) and node.op == "call_tir"]


def anothers_bias(main: Any) -> Any:
    """The second convolution gets the first one's bias."""
    first, second = _kernel_calls(main)[:2]
    wrong = second.replace(args=(*second.args[:3], first.args[3], *second.args[4:]))
    return rewrite(main, lambda _: None, lambda node: wrong if node is second else None)


def an_argument_is_left_out(main: Any) -> Any:
    call = _kernel_calls(main)[1]
    short = call.replace(args=(*call.args[:3], *call.args[4:]))
    return rewrite(main, lambda _: None, lambda node: short if node is call else None)


def calls_change_places(main: Any) -> Any:
    first, second = _kernel_calls(main)[1:3]
    return rewrite(main, lambda _: None, lambda x: second if x is first else first if x is second else None)


def scheduling(change: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """The default schedule of every kernel is wrong."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        good = history.default_provider
        monkeypatch.setattr(history, "default_provider", lambda kernel: Schedule(change(good(kernel).func)))

    return patch


LOWERING = (
    Bug("a kernel gets another's bias", "wide", "Lower", "call 1", patch=lowering(anothers_bias)),
    Bug("an argument is left out", "wide", "Lower", "E-NUMERICS-ENTRY", patch=lowering(an_argument_is_left_out),
        verdicts=("failed",)),
    Bug("two calls change places", "wide", "Lower", "call|entry", patch=lowering(calls_change_places),
        verdicts=("wrong", "failed")),
    Bug("a schedule drops an iteration", "wide", "Schedule", "nn_conv2d|max_pool|mean",
        patch=scheduling(once(lambda x: is_loop(x, t.ForKind.SERIAL, 3), shorter))),
)  # fmt: skip


# --- code generation ------------------------------------------------------------------------------------------------


def entry(table: dict[Any, Any], key: Any, wrap: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """An entry of a table becomes another."""
    return lambda monkeypatch: monkeypatch.setitem(table, key, wrap(table[key]))


def function_of(module: Any, name: str, wrap: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """A function of a module or class becomes another."""
    return lambda monkeypatch: monkeypatch.setattr(module, name, wrap(getattr(module, name)))


def on_loops(kind: t.ForKind, change: Callable[[t.For], t.For]) -> Callable[[Any], Any]:
    def wrap(good: Any) -> Any:
        return lambda self, stmt: good(self, change(stmt) if is_loop(stmt, kind) else stmt)

    return wrap


def _fewer(value: Value) -> Value:
    return Value(str(int(value.text) - 1), value.dtype) if value.text.isdigit() and int(value.text) > 2 else value


def _rounding(good: Any) -> Any:
    def cast(self: Any, value: Value, target: Any) -> Value:
        return good(self, arithmetic.self_intrinsic(self, "llvm.roundeven", value), target)

    return cast


def _ordered(good: Any) -> Any:
    """Numbers are assumed: a NaN loses against anything."""

    def min_max(self: Any, least: bool, a: Value, b: Value, *_: bool) -> Value:
        if not a.dtype.is_float:
            return good(self, least, a, b, False, False)
        chosen = self.assign(arithmetic._bool(a), f"fcmp {'olt' if least else 'ogt'} {a.typed}, {b.text}")
        return self.assign(a.dtype, f"select {chosen.typed}, {a.typed}, {b.typed}")

    return min_max


def _scaled_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Powers of two are shifted the wrong way; where an instruction scales by them (AVX-512), nothing is scaled."""

    def scaled(good: Any) -> Any:
        return lambda s, node, arguments: arguments[0] if "ldexp" in str(node.args[0]) else good(s, node, arguments)

    def shifted(good: Any) -> Any:
        return lambda s, node, arguments: good(s, node.replace(op="shift_right"), arguments)

    entry(calls._TABLE, "shift_left", shifted)(monkeypatch)
    entry(calls._TABLE, "call_llvm_pure_intrin", scaled)(monkeypatch)


def _one_lane(good: Any) -> Any:
    def broadcast(self: Any, scalar: Value, lanes: int) -> Value:
        from workbench.codegen.llvm.types import is_constant, llvm_type

        dtype = scalar.dtype.with_lanes(lanes)
        if is_constant(scalar.text) or not dtype.is_float:
            return good(self, scalar, lanes)
        return self.assign(dtype, f"insertelement {llvm_type(dtype)} zeroinitializer, {scalar.typed}, i64 0")

    return broadcast


def _far_away(good: Any) -> Any:
    def address(self: Any, buffer: t.Buffer, place: Any) -> str:
        found = good(self, buffer, place)
        if buffer.name != "pool_max":
            return found
        from workbench.codegen.llvm.types import HANDLE

        return self.assign(HANDLE, f"getelementptr i8, ptr {found}, i64 1099511627776").text

    return address


def _in_float32_only(opcode: str) -> Callable[[Any], Any]:
    """Another opcode for a float operation."""
    return lambda good: lambda self, op, dtype: opcode if dtype.is_float and op == "sub" else good(self, op, dtype)


CODEGEN = (
    Bug("the wrong predicate: < becomes <=", "wide", "Codegen", "kernel",
        patch=entry(arithmetic.COMPARE_CODES, "LT", lambda _: ("ole", "sle", "ule")), verdicts=("wrong", "failed")),
    Bug("maximum and minimum mixed up", "wide", "Codegen", "kernel",
        patch=function_of(expressions, "min_max", lambda good: lambda s, least, *rest: good(s, not least, *rest))),
    Bug("operands of a subtraction change places", "wide", "Codegen", "nn_conv2d|softmax",
        patch=entry(expressions._EMITTERS, n.Sub, lambda good: lambda s, node: good(
            s, n.Sub(node.b, node.a) if node.dtype.is_float else node))),
    Bug("the mask of a store is missing", "wide", "Codegen", "dense|conv2d|max_pool", verdicts=("failed",),
        patch=function_of(statements, "store", lambda good: lambda s, b, i, v, mask: good(s, b, i, v, None))),
    Bug("the wrong offset in the arena", "wide", "Codegen", "whole",
        patch=entry(statements._EMITTERS, t.AllocBuffer, lambda good: lambda s, stmt: good(
            s, arena(lambda o, _: o // 128 * 64)(t.PrimFunc((), stmt, _arena_attrs())).body
            if "arena_offset" in stmt.annotations else stmt))),
    Bug("a cast to integers rounds", "wide", "Codegen", "cast",
        patch=function_of(conversions, "_float_to_integer", _rounding)),
    Bug("the last copy of an unrolled loop is missing", "wide", "Codegen", "nn_conv2d|max_pool",
        patch=entry(statements._EMITTERS, t.For, on_loops(t.ForKind.UNROLLED, shorter))),
    Bug("the last chunk of a parallel loop is missing", "parallel", "Codegen", "kernel",
        patch=entry(statements._EMITTERS, t.For, on_loops(t.ForKind.PARALLEL, shorter))),
    Bug("a parallel body starts one iteration late", "parallel", "Codegen", "kernel",
        patch=lambda monkeypatch: monkeypatch.setattr(parallel, "_launcher", _late(parallel._launcher))),
    Bug("a loop's bound is one too small", "wide", "Codegen", "kernel",
        patch=function_of(statements, "counted_loop", lambda good: lambda s, var, begin, end, *rest: good(
            s, var, begin, _fewer(end), *rest))),
    Bug("too much alignment is promised", "wide", "Codegen", "kernel", verdicts=("crashed", "wrong"),
        patch=function_of(memory, "_alignment", lambda good: lambda *_: 64)),
    Bug("operands of a division change places", "wide", "Codegen", "kernel",
        patch=function_of(expressions, "divide", lambda good: lambda s, kind, a, b, *rest: good(
            s, kind, *((b, a) if a.dtype.is_float else (a, b)), *rest))),
    Bug("the arms of a select change places", "wide", "Codegen", "sigmoid",
        patch=function_of(expressions, "choose", lambda good: lambda s, c, yes, no: good(s, c, no, yes))),
    Bug("a broadcast fills one lane", "wide", "Codegen", "kernel",
        patch=function_of(expressions.ExpressionEmitter, "broadcast", _one_lane)),
    Bug("a quotient by a power of two loses its last bit", "wide", "Codegen", "kernel",
        patch=function_of(arithmetic, "_by_constant", lambda good: lambda s, kind, a, b, divisor, *rest: (
            s.assign(a.dtype, f"and {good(s, kind, a, b, divisor, *rest).typed}, -2")
            if kind == "FloorDiv" and divisor >= 4 and divisor & (divisor - 1) == 0 and not a.dtype.is_vector
            else good(s, kind, a, b, divisor, *rest)))),
    Bug("an intrinsic is left out: abs", "wide", "Codegen", "sigmoid",
        patch=entry(calls._TABLE, "abs", lambda _: lambda s, node, arguments: arguments[0])),
    Bug("a shift the wrong way", "wide", "Codegen", "sigmoid|exp|softmax", patch=_scaled_wrongly),
    Bug("numbers are assumed where a NaN is", "parallel", "Codegen", "kernel",
        patch=function_of(expressions, "min_max", _ordered)),
    Bug("an address far away", "wide", "Codegen", "max_pool", verdicts=("crashed",),
        patch=function_of(memory, "pointer_to", _far_away)),
    Bug("text that LLVM refuses", "wide", "Codegen", "LLVM", verdicts=("failed",),
        patch=function_of(expressions, "_opcode", _in_float32_only("fsbu"))),
)  # fmt: skip


def _arena_attrs() -> Any:
    from workbench.core.node import FrozenMap

    return FrozenMap({"arena_bytes": 0})


def _late(good: Any) -> Any:
    def launcher(self: Any, *arguments: Any) -> None:
        good(self, *arguments)
        lines = self.writer.module.functions[-1]
        lines[:] = [line.replace("i64 %first, i64 %last)", "i64 %late, i64 %last)") if "call void" in line
                    else line for line in lines]  # fmt: skip
        lines.insert(2, "  %late = add i64 %first, 1")

    return launcher


BUGS = (*GRAPH, *LOOPS, *LOWERING, *CODEGEN)
