"""ResNet with normalisation first, after He et al., "Identity mappings in deep residual networks"."""

from __future__ import annotations

from typing import Any

from ...core.errors import WorkbenchError
from ..ir import expr as e
from . import layers
from .init import create_workload

_UNITS: dict[int, tuple[int, ...]] = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
"""Units of each of the four stages for large images, by the number of layers."""


class _Maker:
    """Layers in one layout."""

    def __init__(self, layout: str) -> None:
        self.layout = layout
        self.axis = layout.index("C")

    def convolution(self, data: e.Expr, name: str, channels: int, kernel: int, stride: int = 1) -> e.Expr:
        around = kernel // 2
        return layers.conv2d(
            data, channels=channels, kernel_size=(kernel, kernel), strides=(stride, stride), padding=(around, around),
            data_layout=self.layout, kernel_layout=layers.conv_kernel_layout(self.layout), name=name,
        )  # fmt: skip

    def norm(self, data: e.Expr, name: str, scale: bool = True) -> e.Expr:
        return layers.batch_norm_infer(data, epsilon=2e-5, axis=self.axis, scale=scale, name=name)

    def unit(self, data: e.Expr, channels: int, stride: int, same: bool, name: str, bottleneck: bool) -> e.Expr:
        """A residual unit; `same`: data has the result's shape, so that it is added as it is."""
        active = layers.relu(self.norm(data, f"{name}_bn1"))
        if bottleneck:
            narrow = channels // 4
            made = self.convolution(active, f"{name}_conv1", narrow, 1, stride)
            made = self.convolution(layers.relu(self.norm(made, f"{name}_bn2")), f"{name}_conv2", narrow, 3)
            made = self.convolution(layers.relu(self.norm(made, f"{name}_bn3")), f"{name}_conv3", channels, 1)
        else:
            made = self.convolution(active, f"{name}_conv1", channels, 3, stride)
            made = self.convolution(layers.relu(self.norm(made, f"{name}_bn2")), f"{name}_conv2", channels, 3)
        shortcut = data if same else self.convolution(active, f"{name}_sc", channels, 1, stride)
        return layers.call("add", made, shortcut)


def resnet(
    units: tuple[int, ...],
    num_stages: int,
    filter_list: tuple[int, ...],
    num_classes: int,
    data_shape: tuple[int, ...],
    bottle_neck: bool = True,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> e.Function:
    """The network from its units and channels of each stage."""
    make = _Maker(layout)
    data: e.Expr = e.var("data", shape=data_shape, dtype=dtype)
    data = make.norm(data, "bn_data", scale=False)
    height = data_shape[layout.index("H")]
    if height <= 32:
        data = make.convolution(data, "conv0", filter_list[0], 3)
    else:
        data = layers.relu(make.norm(make.convolution(data, "conv0", filter_list[0], 7, 2), "bn0"))
        data = layers.call("nn.max_pool2d", data, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for stage in range(num_stages):
        channels = filter_list[stage + 1]
        for place in range(units[stage]):
            stride = 2 if place == 0 and stage > 0 else 1
            name = f"stage{stage + 1}_unit{place + 1}"
            data = make.unit(data, channels, stride, place > 0, name, bottle_neck)
    data = layers.relu(make.norm(data, "bn1"))
    data = layers.call("nn.batch_flatten", layers.call("nn.global_avg_pool2d", data, layout=layout))
    return layers.network(layers.call("nn.softmax", layers.dense_add_bias(data, units=num_classes, name="fc1")))


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> e.Function:
    """The network; its input is "data" of shape (batch_size, *image_shape)."""
    height = image_shape[1] if layout == "NCHW" else image_shape[0]
    if height <= 32:
        deep = num_layers >= 164 and (num_layers - 2) % 9 == 0
        if not deep and (num_layers - 2) % 6 != 0:
            raise _no_network(num_layers, "6 n + 2 layers for small images, or 9 n + 2 from 164 on")
        units = ((num_layers - 2) // (9 if deep else 6),) * 3
        filters = (16, 64, 128, 256) if deep else (16, 16, 32, 64)
    else:
        if num_layers not in _UNITS:
            raise _no_network(num_layers, ", ".join(map(str, _UNITS)))
        deep, units = num_layers >= 50, _UNITS[num_layers]
        filters = (64, 256, 512, 1024, 2048) if deep else (64, 64, 128, 256, 512)
    shape = (batch_size, *image_shape)
    return resnet(units, len(units), filters, num_classes, shape, deep, layout, dtype)


def _no_network(num_layers: int, expected: str) -> WorkbenchError:
    return WorkbenchError("E-TESTING-LAYERS", f"there is no ResNet of {num_layers} layers", expected=expected)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Any:
    """(module, weights) of the network."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
