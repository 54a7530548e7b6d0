"""The network of deep Q-learning, after Mnih et al., "Human-level control through deep reinforcement learning"."""

from __future__ import annotations

from typing import Any

from ..ir import expr as e
from . import layers
from .init import create_workload


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> e.Function:
    """The network; its input is "data"."""
    data: e.Expr = layers.image(batch_size, image_shape, dtype)
    for number, (channels, kernel, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 1):
        data = layers.conv2d(
            data, channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride), padding=(0, 0),
            data_layout=layout, kernel_layout=layers.conv_kernel_layout(layout), name=f"conv{number}",
        )  # fmt: skip
        data = layers.relu(layers.call("nn.bias_add", data, e.Var(f"conv{number}_bias"), axis=layout.index("C")))
    data = layers.relu(layers.dense_add_bias(layers.call("nn.batch_flatten", data), units=512, name="dense1"))
    return layers.network(layers.dense_add_bias(data, units=num_actions, name="dense2"))


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """(module, weights) of the network."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
