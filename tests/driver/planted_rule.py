"""A session whose pass has a wrong rule: x + 1 is x.  The other rule of the pass is right and fires before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import workbench as wb
from workbench import relay
from workbench.core.rewrite import RuleTable
from workbench.core.transform import PASSES
from workbench.relay.patterns import any_, constant, op
from workbench.relay.transforms.rules import apply_rules

WRONG = RuleTable("planted")
INPUTS = {"x": np.ones(3, np.float32)}


@WRONG.rule("relu-of-relu", op("nn.relu", op("nn.relu", any_("x"))))
def relu_of_relu(m: Any) -> Any:
    """relu(relu(x)) is relu(x)."""
    return relay.nn.relu(m["x"])


@WRONG.rule("drop-one", op("add", any_("x"), constant("one", value=1)))
def drop_one(m: Any) -> Any:
    """x + 1 is x, which is wrong."""
    return m["x"]


@contextmanager
def planted_rule() -> Iterator[Any]:
    """The session; the pass is forgotten afterwards."""

    @relay.transform.function_pass(opt_level=0, name="Planted")
    def Planted(function: Any, mod: Any, ctx: Any) -> Any:
        return apply_rules(function, WRONG)

    x = relay.var("x", shape=(3,), dtype="float32")
    body = x
    for _ in range(4):
        body = relay.nn.relu(relay.nn.relu(body))
    result = relay.add(relay.nn.relu(relay.add(body, relay.const(np.float32(1)))), body)
    try:
        yield wb.open(relay.Function([x], result), passes=["InferType", Planted, "FoldConstant", "FuseOps"])
    finally:
        PASSES.remove("Planted")
