"""SimplifyExpr: parts of a split tensor that are read element by element are slices, with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.module import IRModule
from workbench.driver.intermediates import intermediates
from workbench.relay import transform
from workbench.relay.analysis import list_op_freqs
from workbench.relay.interpret import interpret
from workbench.relay.ir.verify import verify


def simplified(body: Any, *params: Any) -> tuple[IRModule, IRModule]:
    before = transform.InferType()(IRModule.from_expr(relay.Function(list(params), body)))
    after = transform.SimplifyExpr()(before)
    verify(after)
    return before, after


def data(*shape: int) -> Any:
    return relay.var("x", shape=shape)


@pytest.mark.parametrize("sections", [4, (1, 3, 7), (2, 2, 5)], ids=["equal", "at indices", "an empty part"])
@pytest.mark.parametrize("axis", [1, -1, -2])
def test_each_part_reads_what_it_read(sections: Any, axis: int) -> None:
    x = data(8, 8, 8)
    parts = relay.split(x, sections, axis=axis)
    readers = (relay.sigmoid, relay.tanh, relay.negative, relay.exp)
    body = relay.Tuple([reader(parts[at]) for at, reader in enumerate(readers)])
    before, after = simplified(body, x)
    found = list_op_freqs(after)
    assert found["strided_slice"] == 4 and "split" not in found
    value = np.random.default_rng(0).standard_normal((8, 8, 8)).astype(np.float32)
    for one, other in zip(interpret(before, value), interpret(after, value), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_several_operands_make_takes_the_split() -> None:
    """An addition may belong to a product's kernel, which takes no slice in: the parts stay together."""
    x, y = data(4, 8), relay.var("y", shape=(4, 4))
    parts = relay.split(x, 2, axis=1)
    _, after = simplified(relay.add(relay.add(parts[0], y), parts[1]), x, y)
    assert "strided_slice" not in list_op_freqs(after)


def test_a_part_that_is_read_in_both_ways_stays() -> None:
    x = data(4, 8)
    part = relay.split(x, 2, axis=1)[0]
    before, after = simplified(relay.multiply(part, relay.sigmoid(part)), x)
    found = list_op_freqs(after)
    assert (found["strided_slice"], found["split"]) == (1, 1)
    value = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    np.testing.assert_array_equal(interpret(before, value), interpret(after, value))


def test_an_extent_that_only_a_run_knows_is_left_alone() -> None:
    x = relay.var("x", shape=(relay.Any(), 8))
    _, after = simplified(relay.tanh(relay.split(x, 2, axis=1)[1]), x)
    assert "strided_slice" not in list_op_freqs(after)


def test_gates_of_a_cell_are_computed_where_their_product_left_them() -> None:
    """A step of an LSTM: a kernel for the product, one for the state, one for the output; none copies gates."""
    random = np.random.default_rng(0)
    x, cell = data(2, 16), relay.var("c", shape=(2, 8))
    gates = relay.nn.dense(x, relay.const(random.standard_normal((32, 16)).astype(np.float32)))
    i, f, g, o = (relay.split(gates, 4, axis=1)[at] for at in range(4))
    state = relay.add(relay.multiply(relay.sigmoid(f), cell), relay.multiply(relay.sigmoid(i), relay.tanh(g)))
    output = relay.multiply(relay.sigmoid(o), relay.tanh(state))
    session = wb.open(relay.Function([x, cell], relay.Tuple([output, state])))
    assert len(session.kernels) == 3 and not any("split" in kernel for kernel in session.kernels)
    given = {name: random.standard_normal(shape).astype(np.float32) for name, shape in (("x", (2, 16)), ("c", (2, 8)))}
    assert session.check_numerics(given)
    found = intermediates(session, given, "SimplifyExpr").tensors
    assert [one.gap is None for one in found if one.call.op.name == "strided_slice"] == [True] * 4  # type: ignore[union-attr]
    assert all(one.gap.right for one in found if one.gap is not None), "a slice stands for no sigmoid"
