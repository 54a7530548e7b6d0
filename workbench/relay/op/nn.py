"""Builders of the operators named ``nn.*``: `relay.nn.conv2d(x, w, padding=(1, 1))`."""

from __future__ import annotations

from typing import Any

from ...topi.calls import call
from ..ir.expr import Expr
from .build import builder


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """The first result of `dropout_raw`: while inferring, the operand itself."""
    return call("nn.dropout", data, rate=rate)[0]


def dropout_raw(data: Expr, rate: float = 0.5) -> Expr:
    """The tuple (data, mask)."""
    return call("nn.dropout", data, rate=rate)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return builder("nn", name)
