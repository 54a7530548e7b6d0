"""VGG, after Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition"."""

from __future__ import annotations

from typing import Any

from ...core.errors import WorkbenchError
from ..ir import expr as e
from . import layers
from .init import create_workload

SPECIFICATIONS: dict[int, tuple[int, ...]] = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
"""Convolutions of each of the five blocks, by the number of layers."""

_CHANNELS = (64, 128, 256, 512, 512)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...] = (3, 224, 224),
    num_classes: int = 1000,
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> e.Function:
    """The network; its input is "data"."""
    if num_layers not in SPECIFICATIONS:
        raise WorkbenchError(
            "E-TESTING-LAYERS", f"there is no VGG of {num_layers} layers", expected=", ".join(map(str, SPECIFICATIONS))
        )
    data: e.Expr = layers.image(batch_size, image_shape, dtype)
    for block, (count, channels) in enumerate(zip(SPECIFICATIONS[num_layers], _CHANNELS, strict=True), 1):
        for place in range(1, count + 1):
            data = _convolution(data, f"conv{block}_{place}", channels, batch_norm)
        data = layers.call("nn.max_pool2d", data, pool_size=(2, 2), strides=(2, 2))
    data = layers.call("nn.batch_flatten", data)
    for number in (6, 7):
        data = layers.relu(layers.dense_add_bias(data, units=4096, name=f"fc{number}"))
        data = layers.call("nn.dropout", data, rate=0.5)[0]
    return layers.network(layers.call("nn.softmax", layers.dense_add_bias(data, units=num_classes, name="fc8")))


def _convolution(data: e.Expr, name: str, channels: int, batch_norm: bool) -> e.Expr:
    made = layers.conv2d(data, kernel_size=(3, 3), padding=(1, 1), channels=channels, name=name)
    made = layers.call("nn.bias_add", made, e.Var(f"{name}_bias"))
    return layers.relu(layers.batch_norm_infer(made, name=f"bn_{name}") if batch_norm else made)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Any:
    """(module, weights) of the network; `num_layers` is 11, 13, 16 or 19."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
