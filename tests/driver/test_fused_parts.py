"""Edits of one of the like functions of a fused graph: carried to it over edits and passes above, or a conflict.

Every block is like the others but for its weights, the bound of its clip aside; what an edit should come to is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.nightly import some
from workbench import relay

BLOCKS = 4
WEIGHTS = [
    (generator.standard_normal((8, 8, 3, 3)).astype("float32"), generator.standard_normal(8).astype("float32"))
    for generator in map(np.random.default_rng, range(BLOCKS))
]
WAYS = ["InferType", "PackWeights", "SimplifyExpr", "FoldConstant", "EliminateCommonSubexpr"]


def network(bounds: Sequence[float], blocks: Sequence[int] = range(BLOCKS), residual: bool = True) -> Any:
    """Convolution, bias and clip for each of the blocks; every second one adds what came before it."""
    x = value = relay.var("x", shape=(1, 8, 6, 6))
    for place, (block, bound) in enumerate(zip(blocks, bounds, strict=True)):
        weight, bias = map(relay.const, WEIGHTS[block])
        made = relay.nn.bias_add(relay.nn.conv2d(value, weight, padding=(1, 1), channels=8, kernel_size=(3, 3)), bias)
        made = relay.clip(made, 0.0, bound)
        value = relay.add(made, value) if residual and place % 2 else made
    return wb.IRModule.from_expr(relay.Function([x], value))


def bounds(**changed: float) -> list[float]:
    return [changed.get(f"b{block}", 6.0) for block in range(BLOCKS)]


def with_bound(session: Any, step: str, block: int, bound: float) -> Any:
    """The session with the bound of one block's clip, changed in the text of a step."""
    pieces = session[step].script().split("a_max=6.0")
    assert len(pieces) == BLOCKS + 1
    before, after = ("a_max=6.0".join(part) for part in (pieces[: block + 1], pieces[block + 1 :]))
    return session[step].edit(f"{before}a_max={bound}{after}")


def last_relay(session: Any) -> Any:
    edits = [label for label in session.labels if label.startswith("Edit")]
    assert session.step(edits[-1]).error is None, f"{session.step(edits[-1]).error}"
    return session[edits[-1]].script()


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize(("fused", "above"), list(permutations(range(BLOCKS), 2)))
def test_an_edit_of_a_fused_function_and_one_above_both_apply(fused: int, above: int, residual: bool) -> None:
    session = with_bound(wb.open(network(bounds(), residual=residual)), "FuseOps", fused, 5.0)
    session = with_bound(session, "Import", above, 1.0)
    wanted = network(bounds(**{f"b{fused}": 5.0, f"b{above}": 1.0}), residual=residual)
    assert last_relay(session) == wb.open(wanted)["FuseOps"].script()


@pytest.mark.parametrize("left_out", WAYS)
@pytest.mark.parametrize("fused", range(BLOCKS))
def test_an_edit_of_a_fused_function_outlives_a_pass_left_out_above(fused: int, left_out: str) -> None:
    session = with_bound(wb.open(network(bounds())), "FuseOps", fused, 5.0).without(left_out)
    wanted = wb.open(network(bounds(**{f"b{fused}": 5.0}))).without(left_out)
    assert last_relay(session) == wanted["FuseOps"].script()


@pytest.mark.parametrize("gone", range(BLOCKS))
@pytest.mark.parametrize("fused", range(BLOCKS))
def test_an_edit_of_a_fused_function_follows_its_weights_or_is_a_conflict(fused: int, gone: int) -> None:
    """A whole block is taken out above: the others keep their weights, and the edit goes with them."""
    session = with_bound(wb.open(network(bounds(), residual=False)), "FuseOps", fused, 5.0)
    left = [block for block in range(BLOCKS) if block != gone]
    session = session.edit(relay=network([6.0] * len(left), left, residual=False), at="Import")
    step = session.step("Edit#2")
    if fused == gone:
        assert step.error is not None and "a_max=5.0" in step.error.found
        return
    assert step.error is None, f"{step.error}"
    wanted = network([5.0 if block == fused else 6.0 for block in left], left, residual=False)
    assert session["Edit#2"].script() == wb.open(wanted)["FuseOps"].script()


OTHER = {"multiply": "subtract", "add": "subtract", "tanh": "exp"}
OPERATORS = 18


def activations(*changed: int) -> Any:
    """Two approximations of gelu by tanh, of the same constants; the operators of these numbers are others."""
    x = value = relay.var("x", shape=(4,))
    half, one, cubic, root = (relay.const(np.float32(value)) for value in (0.5, 1.0, 0.044715, 0.7978846))
    numbers = iter(range(OPERATORS))

    def made(name: str, *operands: Any) -> Any:
        return getattr(relay, OTHER[name] if next(numbers) in changed else name)(*operands)

    for _ in range(2):
        cube = made("multiply", made("multiply", value, value), made("multiply", value, cubic))
        inner = made("multiply", root, made("add", value, cube))
        value = made("multiply", value, made("multiply", half, made("add", one, made("tanh", inner))))
    assert next(numbers, None) is None
    return wb.IRModule.from_expr(relay.Function([x], value))


def text_of(*changed: int) -> str:
    return wb.open(activations(*changed))["Import"].script()


@pytest.mark.parametrize("first", some(range(OPERATORS), 3))
def test_operators_that_read_one_constant_are_told_apart(first: int) -> None:
    """In the program a constant is one object; in a text that is read it is as many as there are readers."""
    once = wb.open(activations()).edit(relay=text_of(first), at="Import")
    for second in range(OPERATORS):
        if second != first:
            twice = once.edit(relay=text_of(second), at="Import")
            assert last_relay(twice) == text_of(first, second), f"and operator {second}"
