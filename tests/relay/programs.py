"""Fixed programs that several tests use."""

from __future__ import annotations

import numpy as np

from workbench import relay
from workbench.core.module import IRModule
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t


def weights(*shape: int, seed: int = 0, scale: float = 0.3) -> e.Constant:
    return e.const((np.random.default_rng(seed).normal(size=shape) * scale).astype("float32"))


def _block(data: e.Expr, inputs: int, outputs: int, seed: int) -> e.Expr:
    conv = relay.nn.conv2d(data, weights(outputs, inputs, 3, 3, seed=seed), padding=(1, 1))
    variance = e.const(np.abs(weights(outputs, seed=seed + 1).data.numpy()) + 0.5)
    vectors = [weights(outputs, seed=seed + place) for place in (2, 3, 4)]
    return relay.nn.relu(relay.nn.batch_norm(conv, *vectors, variance)[0])


def network() -> IRModule:
    """A small convolutional network with a skip connection, a joint and a classifier."""
    x = relay.var("x", shape=(1, 3, 8, 8))
    first = _block(x, 3, 8, seed=1)
    second = relay.nn.relu(relay.add(_block(first, 8, 8, seed=11), first))
    pooled = relay.nn.max_pool2d(second, pool_size=(3, 3), padding=(1, 1))
    joined = relay.concatenate([second, pooled], axis=1)
    flat = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(joined))
    scores = relay.nn.dense(relay.nn.dropout(flat), weights(10, 16, seed=21))
    return IRModule.from_expr(relay.nn.softmax(scores))


def network_input() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(1, 3, 8, 8)).astype("float32")


LIST = t.GlobalTypeVar("List")


def list_module() -> IRModule:
    """Lists: the length of [x, x] by recursion over a polymorphic data type."""
    a, b = t.TypeVar("A"), t.TypeVar("B")
    signatures = (t.ConstructorSignature("Nil", ()), t.ConstructorSignature("Cons", (a, t.TypeCall(LIST, (a,)))))
    nil, cons = e.Constructor("Nil", "List"), e.Constructor("Cons", "List")
    items, head, tail = e.Var("items", t.TypeCall(LIST, (b,))), e.Var("head"), e.Var("tail")
    rest = e.Call(e.GlobalVar("length"), (tail,))
    clauses = (
        e.Clause(e.PatternConstructor(cons, (e.PatternVar(head), e.PatternVar(tail))), relay.add(e.const(1), rest)),
        e.Clause(e.PatternConstructor(nil, ()), e.const(0)),
    )
    length = e.Function((items,), e.Match(items, clauses), t.scalar_type("int32"), (b,))
    x = relay.var("x", shape=(2, 3))
    made = e.Call(cons, (x, e.Call(cons, (x, e.Call(nil, ())))))
    main = e.Function((x,), e.Call(e.GlobalVar("length"), (made,)))
    data = t.TypeData("List", (a,), signatures)
    return IRModule({"length": length, "main": main}, {"List": data})


def sum_module() -> IRModule:
    """sum(n) = n + sum(n - 1), by recursion."""
    n = e.Var("n", t.scalar_type("int32"))
    smaller = e.Call(e.GlobalVar("sum"), (relay.subtract(n, e.const(1)),))
    body = e.If(relay.less(n, e.const(1)), e.const(0), relay.add(n, smaller))
    total = e.Function((n,), body, t.scalar_type("int32"))
    m = e.Var("m", t.scalar_type("int32"))
    return IRModule({"sum": total, "main": e.Function((m,), e.Call(e.GlobalVar("sum"), (m,)))})


def mixed_function() -> e.Function:
    """Every kind of expression but data types: lets, sharing, if, closures, references, odd names, constants."""
    x = relay.var("x", shape=(2, 3))
    shared = relay.add(x, x)
    inner, odd = e.Var("x"), e.Var("conv 1/w:0", t.TensorType((2, 3)))
    bound = e.Let(inner, relay.exp(shared), relay.multiply(inner, shared))
    other = e.Let(odd, weights(2, 3), e.Tuple((odd,)))
    branch = e.If(e.const(True), e.Tuple((relay.add(bound, shared),)), other)
    again, n = e.Var("again"), e.Var("n", t.scalar_type("float32"))
    recursive = e.Let(again, e.Function((n,), e.Call(again, (n,)), n.type_annotation), again)
    cell = e.RefCreate(shared)
    special = e.const([1.0, float("inf"), float("nan"), -0.0])
    written = e.Tuple((e.RefWrite(cell, shared), e.RefRead(cell)))
    return e.Function((x,), e.Tuple((branch, recursive, written, special, e.const(np.zeros((0, 3), "float32")))))


def chain(length: int) -> e.Function:
    """add(add(...), x) of so many calls."""
    x = relay.var("x", shape=(2,))
    op = relay.op.get("add")()
    value: e.Expr = x
    for _ in range(length):
        value = e.Call(op, (value, x))
    return e.Function((x,), value)


def let_chain(length: int) -> e.Function:
    """let v0 = x + x; let v1 = v0 + x; ... of so many lets."""
    x = relay.var("x", shape=(2,))
    op = relay.op.get("add")()
    names = [e.Var(f"v{index}") for index in range(length)]
    value: e.Expr = names[-1]
    for index in reversed(range(length)):
        value = e.Let(names[index], e.Call(op, (names[index - 1] if index else x, x)), value)
    return e.Function((x,), value)
