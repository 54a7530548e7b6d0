"""DenseNet, after Huang et al., "Densely connected convolutional networks"."""

from __future__ import annotations

from typing import Any

from ...core.errors import WorkbenchError
from ..ir import expr as e
from . import layers
from .init import create_workload

SPECIFICATIONS: dict[int, tuple[int, int, tuple[int, ...]]] = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
"""First channels, growth, and layers of each block, by the number of layers."""


def _activated(data: e.Expr, name: str) -> e.Expr:
    return layers.relu(layers.batch_norm_infer(data, name=name))


def _dense_layer(data: e.Expr, growth_rate: int, bn_size: int, name: str) -> e.Expr:
    made = _activated(data, f"{name}_bn1")
    made = layers.conv2d(made, channels=bn_size * growth_rate, kernel_size=(1, 1), name=f"{name}_conv1")
    made = _activated(made, f"{name}_bn2")
    made = layers.conv2d(made, channels=growth_rate, kernel_size=(3, 3), padding=(1, 1), name=f"{name}_conv2")
    return layers.call("concatenate", e.Tuple((data, made)), axis=1)


def _transition(data: e.Expr, channels: int, name: str) -> e.Expr:
    made = layers.conv2d(_activated(data, f"{name}_bn"), channels=channels, kernel_size=(1, 1), name=f"{name}_conv")
    return layers.call("nn.avg_pool2d", made, pool_size=(2, 2), strides=(2, 2))


def get_net(
    densenet_size: int, classes: int, data_shape: tuple[int, ...], dtype: str = "float32", bn_size: int = 4
) -> e.Function:
    """The network; its input is "data"."""
    if densenet_size not in SPECIFICATIONS:
        expected = ", ".join(map(str, SPECIFICATIONS))
        raise WorkbenchError("E-TESTING-LAYERS", f"there is no DenseNet of {densenet_size} layers", expected=expected)
    channels, growth, blocks = SPECIFICATIONS[densenet_size]
    data: e.Expr = e.var("data", shape=data_shape, dtype=dtype)
    data = layers.conv2d(data, channels=channels, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3), name="conv1")
    data = _activated(data, "batch_norm_1")
    data = layers.call("nn.max_pool2d", data, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for number, count in enumerate(blocks, 1):
        for place in range(count):
            data = _dense_layer(data, growth, bn_size, f"block{number}_layer{place + 1}")
        channels += count * growth
        if number < len(blocks):
            channels //= 2
            data = _transition(data, channels, f"transition{number}")
    data = _activated(data, "batch_norm_2")
    pooled = layers.call("nn.batch_flatten", layers.call("nn.global_avg_pool2d", data))
    return layers.network(layers.dense_add_bias(pooled, units=classes, name="fc"))


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Any:
    """(module, weights) of the network; the size is 121, 161, 169 or 201."""
    return create_workload(get_net(densenet_size, classes, (batch_size, *image_shape), dtype))
