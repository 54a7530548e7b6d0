"""MobileNet v1, after Howard et al., "MobileNets: efficient convolutional neural networks for mobile vision"."""

from __future__ import annotations

from typing import Any

from ..ir import expr as e
from . import layers
from .init import create_workload

_BLOCKS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip
"""Output channels and stride of each depthwise separable block."""


def conv_block(
    data: e.Expr,
    name: str,
    channels: int,
    kernel_size: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    groups: int = 1,
) -> e.Expr:
    """Convolution, batch norm, relu."""
    made = layers.conv2d(
        data, channels=channels, kernel_size=kernel_size, strides=strides, padding=padding, groups=groups,
        data_layout=layout, kernel_layout=layers.conv_kernel_layout(layout, groups > 1), name=f"{name}_conv",
    )  # fmt: skip
    normal = layers.batch_norm_infer(made, epsilon=epsilon, name=f"{name}_bn", axis=layout.index("C"))
    return layers.relu(normal)


def mobile_net(
    num_classes: int = 1000,
    data_shape: tuple[int, ...] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> e.Function:
    """The network; `alpha` scales its width, `is_shallow` leaves out five blocks of 512 channels."""
    shape = data_shape if layout == "NCHW" else tuple(data_shape[place] for place in (0, 2, 3, 1))
    data: e.Expr = e.var("data", shape=shape, dtype=dtype)
    width = int(32 * alpha)
    data = conv_block(data, "conv_block_1", width, strides=(2, 2), layout=layout)
    blocks = [*_BLOCKS[:6], *_BLOCKS[11:]] if is_shallow else list(_BLOCKS)
    for number, (channels, stride) in enumerate(blocks, 1):
        name = f"separable_conv_block_{number}"
        data = conv_block(data, f"{name}_depthwise", width, strides=(stride, stride), layout=layout, groups=width)
        width = int(channels * alpha)
        data = conv_block(data, f"{name}_pointwise", width, (1, 1), padding=(0, 0), layout=layout)
    data = layers.call("nn.global_avg_pool2d", data, layout=layout)
    data = layers.dense_add_bias(layers.call("nn.batch_flatten", data), units=num_classes, name="fc")
    return layers.network(layers.call("nn.softmax", data))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """(module, weights) of the network."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout))
