"""The operators named ``nn.*`` as functions of te tensors: `topi.nn.relu(x)`."""

from __future__ import annotations

from typing import Any

from . import classic_nn, classic_order
from .functions import function


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name in classic_order.NN:
        return classic_order.NN[name]
    return classic_nn.__dict__[name] if name in classic_nn.NAMES else function("nn", name)
