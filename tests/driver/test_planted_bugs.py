"""Bugs planted in passes of every level: `check_numerics` names the planted step as the first wrong one.

Each bug is what a person could write: the good pass's result, with one mistake.  The broken pass takes the good one's
place (`rerun(replace=...)`); the session before it is right throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.driver.programs import small_inputs, small_session
from workbench import relay
from workbench.arith import nodes as n
from workbench.arith.build import add, const, multiply
from workbench.core.module import IRModule
from workbench.core.node import pre_order, rewrite
from workbench.core.tensor import Tensor
from workbench.core.transform import PASSES, Pass, PassContext, PassInfo
from workbench.relay.ir import expr as r
from workbench.relay.ir.operator import Operator
from workbench.tir import nodes as t

Change = Callable[[IRModule, IRModule], IRModule]
"""(the module before the pass, what the good pass makes of it) -> what the broken pass makes."""


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


def is_call(node: Any, name: str) -> bool:
    return isinstance(node, r.Call) and isinstance(node.op, Operator) and node.op.name == name


def calls(module: IRModule, name: str) -> list[r.Call]:
    return [node for node in module.nodes() if is_call(node, name)]


# --- relay --------------------------------------------------------------------------------------------------------


def scale_is_dropped(before: IRModule, made: IRModule) -> IRModule:
    """FoldScaleAxis takes the multiplication away and forgets to scale the weights."""
    product = calls(before, "multiply")[0]
    return IRModule({"main": r.Function(before["main"].params, _without(before["main"].body, product))})


def _without(body: Any, call: r.Call) -> Any:
    return rewrite(body, lambda node: node.args[0] if node.args == call.args and is_call(node, call.op.name) else None)


def constant_off_by_one(function: Any) -> Any:
    """FoldConstant adds one to an element of what it computed."""
    largest = max((x for x in pre_order(function) if isinstance(x, r.Constant)), key=lambda x: x.data.numpy().size)
    values = largest.data.numpy().copy()
    values.reshape(-1)[:40] += 1
    wrong = r.Constant(Tensor.of(values))
    return rewrite(function, lambda _: None, lambda node: wrong if node is largest else None)


def relu_is_removed(function: Any) -> Any:
    """SimplifyExpr believes that its operand is not negative."""
    return rewrite(function, lambda node: node.args[0] if is_call(node, "nn.relu") else None)


def different_convolutions_are_merged(before: IRModule, made: IRModule) -> IRModule:
    """EliminateCommonSubexpr compares operators and data, and forgets the weights."""
    left, right = [call for call in calls(made, "nn.conv2d") if call.attrs.kernel_size == (1, 1)]
    return made.with_functions({"main": rewrite(made["main"], lambda x: left if x is right else None)})


def arguments_are_swapped(function: Any) -> Any:
    """FuseOps hands the operands of a subtraction over in the wrong order."""
    return once(
        lambda node: is_call(node, "subtract"),
        lambda node: relay.op.call("subtract", node.args[1], node.args[0]),
    )(function)


def mean_is_ignored(before: IRModule, made: IRModule) -> IRModule:
    """SimplifyInference forgets the mean and the shift of a batch norm."""
    shift = next(call for call in calls(made, "add") if len(call.checked_type.shape) == 4)
    return made.with_functions({"main": rewrite(made["main"], lambda x: x.args[0] if x is shift else None)})


RELAY: dict[str, Change] = {
    "SimplifyInference": mean_is_ignored,
    "FoldConstant#2": on_functions(constant_off_by_one, r.Function),
    "SimplifyExpr": on_functions(relu_is_removed, r.Function),
    "FoldScaleAxis": scale_is_dropped,
    "EliminateCommonSubexpr": different_convolutions_are_merged,
    "FuseOps": on_functions(arguments_are_swapped, r.Function),
}


# --- tir ----------------------------------------------------------------------------------------------------------


def shorter(loop: t.For) -> t.For:
    return loop.replace(extent=const(loop.extent.value - 1))


def wrong_bound(function: Any) -> Any:
    """Simplify proves a reduction's last iteration away."""

    def reduces(node: Any) -> bool:
        return isinstance(node, t.For) and node.var.name.startswith("rc") and node.extent.value > 1

    return once(reduces, shorter)(function)


def row_off_by_one(function: Any) -> Any:
    """CompactBuffers subtracts the wrong origin from an index of a load of an intermediate."""
    own = {id(node.buffer) for node in pre_order(function) if isinstance(node, t.AllocBuffer)}

    def reads(node: Any) -> bool:
        return isinstance(node, t.BufferLoad) and id(node.buffer) in own and isinstance(node.indices[-1], n.PrimExpr)

    def moved(node: Any) -> Any:
        last = n.Max(add(node.indices[-1], const(-1)), const(0))
        return node.replace(indices=(*node.indices[:-1], last))

    return once(reads, moved)(function) if function.attrs.get("role") == "kernel" else function


def strides_swapped(function: Any) -> Any:
    """FlattenBuffer multiplies an index of a load by a stride that is too small."""

    def strided(node: Any) -> bool:
        return isinstance(node, n.Mul) and isinstance(node.b, n.IntImm) and node.b.value > 2 and node.dtype == "int64"

    return once(strided, lambda node: multiply(node.a, const(node.b.value - 1)))(function)


def last_lanes_are_lost(function: Any) -> Any:
    """VectorizeLoop loses the store of a vector."""

    def store(node: Any) -> bool:
        return isinstance(node, t.BufferStore) and node.value.dtype.is_vector

    return once(store, lambda node: t.Evaluate(const(0)))(function)


def live_buffers_overlap(function: Any) -> Any:
    """StoragePlan gives all intermediates the same place."""

    def planned(node: Any) -> Any:
        if isinstance(node, t.AllocBuffer) and "arena_offset" in node.annotations:
            return node.replace(annotations=node.annotations.set("arena_offset", 0))
        return None

    return rewrite(function, planned)


def an_iteration_is_skipped(function: Any) -> Any:
    """UnrollLoop writes a loop out without its last iteration."""

    def short(node: Any) -> bool:
        return isinstance(node, t.For) and isinstance(node.extent, n.IntImm) and node.extent.value > 1

    return once(short, shorter)(function) if function.attrs.get("role") == "kernel" else function


def a_call_is_lost(function: Any) -> Any:
    """LowerIntrinsics turns one maximum into its first operand."""
    return rewrite(function, lambda node: node.a if isinstance(node, n.Max) else None)


TIR: dict[str, Callable[[Any], Any]] = {
    "CompactBuffers": row_off_by_one,
    "Simplify": wrong_bound,
    "FlattenBuffer": strides_swapped,
    "VectorizeLoop": last_lanes_are_lost,
    "UnrollLoop": an_iteration_is_skipped,
    "StoragePlan": live_buffers_overlap,
    "LowerIntrinsics": a_call_is_lost,
}


# --- the tests ----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def _the_good_session_is_right() -> Iterator[None]:
    report = small_session().check_numerics(small_inputs())
    assert report, f"no bug is planted yet, but:\n{report}"
    yield


def named(label: str, change: Change) -> str:
    """The report's first wrong step with a bug at `label`, and the whole report for the message."""
    session = small_session().rerun(replace={label: broken(label.partition("#")[0], change)})
    report = session.check_numerics(small_inputs())
    position = small_session().labels.index(label)
    assert report.first_wrong == session.labels[position], f"planted at {session.labels[position]}:\n{report}"
    assert [check.step for check in report.checks] == list(session.labels[: position + 1])
    return report.first_wrong


@pytest.mark.parametrize("label", RELAY)
def test_a_bug_of_a_graph_pass_is_named(label: str) -> None:
    assert named(label, RELAY[label]).startswith("Broken")


@pytest.mark.parametrize("label", TIR)
def test_a_bug_of_a_loop_pass_is_named(label: str) -> None:
    assert named(label, on_functions(TIR[label])).startswith("Broken")
