"""Builders: signatures, numbers beside tensors, constants as attributes, and what is refused."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from workbench import relay, te, topi
from workbench.core.errors import WorkbenchError
from workbench.relay.ir.expr import Constant, Tuple
from workbench.relay.ir.types import Any, TensorType
from workbench.topi.nn_conv import Conv2D

X = relay.var("x", shape=(1, 3, 8, 8))
W = relay.var("w", shape=(4, 3, 3, 3))


def test_builders_have_the_classic_signatures() -> None:
    names = list(inspect.signature(relay.nn.conv2d).parameters)
    assert names == [
        "data", "weight", "strides", "padding", "dilation", "groups", "channels", "kernel_size", "data_layout",
        "kernel_layout", "out_layout", "out_dtype",
    ]  # fmt: skip
    assert "zeros around" in (relay.nn.conv2d.__doc__ or "")
    assert list(inspect.signature(relay.gather).parameters) == ["data", "axis", "indices"]


def test_attributes_are_canonical() -> None:
    call = relay.nn.conv2d(X, W, strides=[2, 2], padding=(1, 1), kernel_size=np.int64(3))
    assert call.attrs == call.op and call.attrs.strides == (2, 2)
    assert call.attrs.padding == (1, 1, 1, 1) and call.attrs.kernel_size == (3, 3)
    assert all(type(item) is int for item in call.attrs.kernel_size)
    assert call.checked_type == TensorType((1, 4, 4, 4))


def test_numbers_take_the_dtype_of_the_tensor() -> None:
    y = relay.var("y", shape=(3,), dtype="int64")
    assert (y + 1).checked_type == TensorType((3,), "int64")
    assert (2 - y).args[0].checked_type == TensorType((), "int64")
    assert (-y).op.name == "negative"
    assert relay.maximum(y, 0).checked_type == TensorType((3,), "int64")
    assert y.astype("float32").checked_type == TensorType((3,), "float32")


def test_constants_stand_for_attributes() -> None:
    made = relay.reshape(X, relay.const(np.array([3, 64], "int64")))
    assert made.attrs.newshape == (3, 64)
    assert relay.arange(relay.const(0), relay.const(10), relay.const(2)).checked_type == TensorType((5,))


def test_tuples() -> None:
    first, second = relay.split(X, 2, axis=2)
    assert relay.concatenate([first, second], axis=2).checked_type == TensorType((1, 3, 8, 8))
    assert relay.concatenate((X, X), 1).checked_type == TensorType((1, 6, 8, 8))
    assert relay.concatenate(relay.split(X, 2, axis=2), 2).checked_type == TensorType((1, 3, 8, 8))
    assert isinstance(relay.stack([X, X], axis=0).args[0], Tuple)
    vectors = [relay.var(name, shape=(3,)) for name in "gbmv"]
    assert relay.add(relay.nn.batch_norm(X, *vectors)[0], relay.nn.dropout(X, 0.3)).checked_type == TensorType(
        (1, 3, 8, 8)
    )


def test_unknown_types_wait_for_inference() -> None:
    assert (relay.var("unknown") + 1.0).type_or_none is None
    assert isinstance((relay.var("unknown") + 1.0).args[1], Constant)


def test_symbolic_dimensions_go_through() -> None:
    n = te.var("n")
    x = relay.var("x", TensorType((n, 3, 8, 8)))
    shape = relay.nn.batch_flatten(relay.nn.conv2d(x, W, padding=1)).checked_type.shape
    assert shape[0] is n and shape[1] == 256
    assert relay.reshape(x, (-1, 192)).checked_type.shape[1] == 192
    assert relay.add(x, X).checked_type.shape[0] is n
    grown = relay.concatenate([x, x], 0).checked_type.shape[0]
    assert not isinstance(grown, int)
    unknown = relay.var("u", TensorType((Any(), 4)))
    assert relay.add(unknown, relay.var("v", shape=(5, 1))).checked_type.shape == (5, 4)
    assert relay.nn.dense(unknown, relay.var("w", shape=(7, 4))).checked_type.shape[1] == 7


@pytest.mark.parametrize(
    ("code", "build", "words"),
    [
        ("E-OPERATOR-ATTRIBUTE", lambda: relay.nn.conv2d(X, W, paddings=1), "did you mean 'padding'"),
        ("E-OPERATOR-ATTRIBUTE", lambda: relay.nn.conv2d(X, W, padding="x"), "cannot be 'x'"),
        ("E-OPERATOR-CALL", lambda: relay.nn.conv2d(X), "missing a required argument"),
        ("E-OPERATOR-CALL", lambda: relay.nn.relu(X, X), "too many"),
        ("E-OPERATOR-OPERAND", lambda: relay.nn.relu(object()), "cannot be an operand"),
        ("E-OPERATOR-ATTRIBUTE", lambda: relay.transpose(X, axes=X), "known while compiling"),
        ("E-OPERATOR-UNKNOWN", lambda: relay.op.call("nn.conv2", X, W), "did you mean 'nn.conv2d'"),
        ("E-TYPE-SHAPE", lambda: relay.nn.conv2d(X, relay.var("w", shape=(4, 2, 3, 3))), "nn.conv2d(Tensor"),
        ("E-TYPE-BROADCAST", lambda: X + relay.var("y", shape=(5,)), "do not broadcast"),
        ("E-TYPE-TUPLE", lambda: list(relay.nn.relu(X)), "only tuples"),
    ],
)
def test_refusals(code: str, build, words: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        build()
    assert caught.value.code == code
    assert words in str(caught.value)


def test_unknown_names_are_attribute_errors() -> None:
    for namespace, name in ((relay.nn, "conv2"), (relay, "adddd"), (topi, "ad"), (topi.nn, "rellu")):
        with pytest.raises(AttributeError, match=r"did you mean|no operator"):
            getattr(namespace, name)


def test_topi_works_on_tensors() -> None:
    a, b = te.placeholder((2, 3), name="a"), te.placeholder((3,), name="b")
    assert topi.nn.relu(topi.add(a, b)).shape == (2, 3)
    assert topi.add(a, 1.0).shape == (2, 3)
    assert topi.concatenate([a, a], axis=1).shape == (2, 6)
    normal, mean, var = topi.nn.batch_norm(a, b, b, b, b)
    assert normal.shape == (2, 3) and mean is b and var is b
    assert Conv2D().name == "nn.conv2d"
