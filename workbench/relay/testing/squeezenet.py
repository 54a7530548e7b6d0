"""SqueezeNet 1.0 and 1.1, after Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters"."""

from __future__ import annotations

from typing import Any

from ...core.errors import WorkbenchError
from ..ir import expr as e
from . import layers
from .init import create_workload

_FIRST = {"1.0": (96, 7, 3), "1.1": (64, 3, 1)}
"""Channels, kernel and padding of the first convolution."""

_FIRES = {
    "1.0": ((16, 64), (16, 64), (32, 128), "pool", (32, 128), (48, 192), (48, 192), (64, 256), "pool", (64, 256)),
    "1.1": ((16, 64), (16, 64), "pool", (32, 128), (32, 128), "pool", (48, 192), (48, 192), (64, 256), (64, 256)),
}
"""Fire modules (squeezed, expanded channels) and poolings, in order."""


def get_net(
    batch_size: int, image_shape: tuple[int, ...], num_classes: int, version: str, dtype: str = "float32"
) -> e.Function:
    """The network; its input is "data"."""
    if version not in _FIRST:
        raise WorkbenchError("E-TESTING-VERSION", f"there is no SqueezeNet {version}", expected="'1.0' or '1.1'")
    channels, kernel, around = _FIRST[version]
    data = _convolution(layers.image(batch_size, image_shape, dtype), "first", channels, kernel, around, strides=(2, 2))
    data = _pool(data)
    for number, fire in enumerate(_FIRES[version]):
        data = _pool(data) if isinstance(fire, str) else _fire(data, f"fire{number}", *fire)
    data = layers.call("nn.dropout", data, rate=0.5)[0]
    data = _convolution(data, "final", num_classes, 1, 0)
    data = layers.call("nn.batch_flatten", layers.call("nn.global_avg_pool2d", data))
    return layers.network(layers.call("nn.softmax", data))


def _pool(data: e.Expr) -> e.Expr:
    return layers.call("nn.max_pool2d", data, pool_size=(3, 3), strides=(2, 2))


def _convolution(data: e.Expr, name: str, channels: int, kernel: int, around: int, **attributes: Any) -> e.Expr:
    made = layers.conv2d(
        data, channels=channels, kernel_size=(kernel, kernel), padding=(around, around), name=name, **attributes
    )
    return layers.relu(layers.call("nn.bias_add", made, e.Var(f"{name}_bias")))


def _fire(data: e.Expr, name: str, squeezed: int, expanded: int) -> e.Expr:
    data = _convolution(data, f"{name}_squeeze", squeezed, 1, 0)
    left = _convolution(data, f"{name}_expand1x1", expanded, 1, 0)
    right = _convolution(data, f"{name}_expand3x3", expanded, 3, 1)
    return layers.call("concatenate", e.Tuple((left, right)), axis=1)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Any:
    """(module, weights) of the network."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
