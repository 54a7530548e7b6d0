"""A multilayer perceptron: three dense layers (128, 64, classes)."""

from __future__ import annotations

from typing import Any

from ..ir import expr as e
from . import layers
from .init import create_workload


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> e.Function:
    """The network; its input is "data"."""
    data = layers.call("nn.batch_flatten", layers.image(batch_size, image_shape, dtype))
    for number, units in ((1, 128), (2, 64)):
        data = layers.relu(layers.dense_add_bias(data, units=units, name=f"fc{number}"))
    data = layers.dense_add_bias(data, units=num_classes, name="fc3")
    return layers.network(layers.call("nn.softmax", data))


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Any:
    """(module, weights) of the network."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
