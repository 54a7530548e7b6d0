"""`If` in the native entry: both ways, nested, with values shared between branches and what follows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.driver.build import build_model
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Expr, Function, If, Tuple, Var
from workbench.relay.ir.types import TensorType
from workbench.relay.op import call
from workbench.runtime.executor import DebugExecutor

X, Y = (Var(name, TensorType((3,), "float32")) for name in "xy")
C, D = (Var(name, TensorType((), "bool")) for name in "cd")
SUM = call("add", X, Y)
PRODUCT = call("multiply", X, Y)


def check(body: Expr) -> None:
    """Native code and the interpreter agree for every choice."""
    module = relay.transform.InferType()(IRModule.from_expr(Function((X, Y, C, D), body)))
    library = build_model(module)
    x, y = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    for flags in itertools.product((False, True), repeat=2):
        arguments = [x, y, *map(np.array, flags)]
        wanted = interpret(module["main"], *arguments)
        for found, true in zip(library.run_arrays(arguments), wanted, strict=True):
            np.testing.assert_allclose(found, true, rtol=2e-6)


def test_nested_branches_share_values_with_what_follows() -> None:
    inner = If(D, call("multiply", SUM, SUM), call("exp", call("subtract", X, Y)))
    chosen = If(C, inner, PRODUCT)
    check(Tuple((call("add", chosen, SUM), PRODUCT, call("greater", chosen, X))))


def test_branches_that_are_inputs_constants_and_tuples() -> None:
    pair = If(C, Tuple((X, relay.const(np.arange(3, dtype=np.float32)))), Tuple((Y, SUM)))
    check(Tuple((relay.TupleGetItem(pair, 0), relay.TupleGetItem(pair, 1))))


def test_kernels_cannot_be_called_one_by_one_then() -> None:
    library = build_model(IRModule.from_expr(Function((X, Y, C), If(C, SUM, PRODUCT))))
    with pytest.raises(WorkbenchError, match="E-DEBUG-CALLS"):
        DebugExecutor(library)
