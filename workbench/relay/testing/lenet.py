"""LeNet-5 with relu and max pooling, after LeCun et al., "Gradient-based learning applied to document recognition"."""

from __future__ import annotations

from typing import Any

from ..ir import expr as e
from . import layers
from .init import create_workload


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> e.Function:
    """The network; its input is "data"."""
    data: e.Expr = layers.image(batch_size, image_shape, dtype)
    for number, channels, around in ((1, 6, 2), (2, 16, 0)):
        data = layers.conv2d(
            data, channels=channels, kernel_size=(5, 5), padding=(around, around), name=f"conv{number}"
        )
        data = layers.relu(layers.call("nn.bias_add", data, e.Var(f"conv{number}_bias")))
        data = layers.call("nn.max_pool2d", data, pool_size=(2, 2), strides=(2, 2))
    data = layers.call("nn.batch_flatten", data)
    for number, units in ((1, 120), (2, 84)):
        data = layers.relu(layers.dense_add_bias(data, units=units, name=f"fc{number}"))
    return layers.network(layers.call("nn.softmax", layers.dense_add_bias(data, units=num_classes, name="fc3")))


def get_workload(
    batch_size: int = 1, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Any:
    """(module, weights) of the network."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
