"""The generator of DCGAN, after Radford et al., "Unsupervised representation learning with deep convolutional ..."."""

from __future__ import annotations

from typing import Any

from ...core.errors import WorkbenchError
from ..ir import expr as e
from . import layers
from .init import create_workload


def _larger(data: e.Expr, channels: int, name: str) -> e.Expr:
    """Twice the height and width."""
    return layers.conv2d_transpose(
        data, channels=channels, kernel_size=(4, 4), strides=(2, 2), padding=(1, 1), name=name
    )


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: tuple[int, ...] = (3, 64, 64),
    ngf: int = 128,
    code: Any = None,
    dtype: str = "float32",
) -> e.Function:
    """The network from a random code "data" (or `code`) to a picture."""
    if tuple(oshape[-2:]) != (64, 64):
        raise WorkbenchError("E-TESTING-SHAPE", "pictures are 64 by 64", found=str(oshape))
    given: e.Expr = e.var("data", shape=(batch_size, random_len), dtype=dtype) if code is None else code
    dense = layers.dense_add_bias(given, units=4 * 4 * ngf * 8, name="dense")
    data: e.Expr = layers.relu(layers.call("reshape", dense, newshape=(-1, ngf * 8, 4, 4)))
    for number, factor in enumerate((4, 2, 1), 2):
        data = layers.relu(layers.batch_norm_infer(_larger(data, ngf * factor, f"g{number}"), name=f"g{number}_bn"))
    return layers.network(layers.call("tanh", _larger(data, oshape[0], "g5")))


def get_workload(
    batch_size: int,
    oshape: tuple[int, ...] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    dtype: str = "float32",
) -> Any:
    """(module, weights) of the generator."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, None, dtype))
