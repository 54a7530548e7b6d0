"""Found by random relay programs, each made small, with its cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.property.relay_checks import check_texts
from tests.topi.cases import computed
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type


def typed(*params: Any, body: Any) -> IRModule:
    return infer_type(IRModule({"main": e.Function(params, body)}))


def test_fusing_rebuilds_every_expression_of_a_group_without_operators() -> None:
    """Seed 1843: of (v, v)[1], which is a group without operators, only the item was rebuilt, so both ifs stayed."""
    x = relay.var("x", shape=(2,))
    branch = e.If(e.const(True), relay.divide(x, relay.abs(e.const(0.5))), x)
    value = relay.negative(branch)
    item = e.TupleGetItem(e.Tuple((value, value)), 1)
    made = transform.FuseOps(fuse_opt_level=2)(typed(x, body=e.Tuple((relay.add(item, value), item))))
    assert len([node for node in made.nodes() if isinstance(node, e.If)]) == 1
    assert check_texts(made) == []


def test_transpose_of_a_scalar_stays_a_scalar() -> None:
    """Seed 93: NumPy's ascontiguousarray gives scalars an axis."""
    x = relay.var("x", shape=())
    value = np.float32(2.5)
    assert interpret(typed(x, body=relay.transpose(x, axes=())), value).shape == ()
    assert interpret(typed(x, body=relay.slice_like(x, x)), value).shape == ()


def test_clip_to_limits_outside_of_the_dtype() -> None:
    """Seed 1515: both limits of clip may lie below (or above) what an unsigned type holds."""
    x = relay.var("x", shape=(3,), dtype="uint8")
    data = np.array([0, 7, 255], "uint8")
    for low, high, wanted in ((-3, -1, [0, 0, 0]), (300, 400, [255, 255, 255]), (-1, 9, [0, 7, 9])):
        clip = relay.clip(x, low, high)
        np.testing.assert_array_equal(interpret(typed(x, body=clip), data), wanted)
        np.testing.assert_array_equal(computed(clip.op, [data])[0][0], wanted)


def test_argmax_over_nothing_is_refused_when_typed() -> None:
    """Seed 1154: the position of the greatest of no values was asked for at run time only."""
    x = relay.var("x", shape=(0, 1))
    with pytest.raises(WorkbenchError, match="without elements"):
        relay.argmax(x, axis=-2)
