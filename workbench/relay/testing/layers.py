"""Layers with weights named after them: `conv2d(data, name="conv1", channels=8, kernel_size=(3, 3))`.

A weight that is not given becomes a variable ``<name>_weight`` whose type inference finds.
"""

from __future__ import annotations

from typing import Any

from .. import op as relay
from ..ir import expr as e


def conv2d(data: e.Expr, weight: e.Expr | None = None, name: str = "conv", **attributes: Any) -> e.Expr:
    """A convolution."""
    return call("nn.conv2d", data, weight or e.Var(f"{name}_weight"), **attributes)


def conv2d_transpose(data: e.Expr, weight: e.Expr | None = None, name: str = "deconv", **attributes: Any) -> e.Expr:
    """A transposed convolution."""
    return call("nn.conv2d_transpose", data, weight or e.Var(f"{name}_weight"), **attributes)


def batch_norm_infer(
    data: e.Expr,
    gamma: e.Expr | None = None,
    beta: e.Expr | None = None,
    moving_mean: e.Expr | None = None,
    moving_var: e.Expr | None = None,
    name: str = "bn",
    **attributes: Any,
) -> e.Expr:
    """The normalised data of a batch norm."""
    given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    vectors = [value or e.Var(f"{name}_{role}") for role, value in given.items()]
    return call("nn.batch_norm", data, *vectors, **attributes)[0]


def dense_add_bias(
    data: e.Expr,
    weight: e.Expr | None = None,
    bias: e.Expr | None = None,
    units: int | None = None,
    name: str = "fc",
    **attributes: Any,
) -> e.Expr:
    """A dense layer with a bias."""
    made = call("nn.dense", data, weight or e.Var(f"{name}_weight"), units=units, **attributes)
    return call("nn.bias_add", made, bias or e.Var(f"{name}_bias"), axis=-1)


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The layout of weights that goes with a layout of data."""
    layouts = {"NCHW": "OIHW", "NHWC": "HWOI" if is_depthwise else "HWIO"}
    return layouts.get(data_layout, "OIHW")


def relu(data: e.Expr) -> e.Expr:
    return relay.call("nn.relu", data)


def call(name: str, *args: Any, **attributes: Any) -> e.Expr:
    """A call of an operator by name."""
    return relay.call(name, *args, **attributes)


def network(body: e.Expr) -> e.Function:
    """A function of the free variables of `body`: the data, then the weights in order of use."""
    return e.as_function(body)


def image(batch_size: int, image_shape: tuple[int, ...], dtype: str) -> e.Var:
    """The variable "data" for a batch of images."""
    return e.var("data", shape=(batch_size, *image_shape), dtype=dtype)
