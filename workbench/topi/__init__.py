"""The operator inventory: one class an operator, grouped by family; and the operators as functions of te tensors.

    topi.nn.relu(x), topi.add(x, y), topi.sum(x, axis=1)

Functions are made from the classes: `topi.NAME(tensors..., attributes...)` checks types as relay does and answers
the operator's tensor expression.  Importing this package fills `relay.ir.operator.OPERATORS`.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import (
    binary,
    clip_cast,
    compare,
    layout,
    nn_conv,
    nn_dense,
    nn_elementwise,
    nn_norm,
    nn_pool,
    reduce,
    transform_index,
    transform_join,
    transform_shape,
    unary,
)

MODULES = (
    unary, clip_cast, binary, compare, reduce, transform_shape, transform_join, transform_index, layout,
    nn_conv, nn_dense, nn_norm, nn_pool, nn_elementwise,
)  # fmt: skip
"""The modules that declare operators."""


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name == "nn":
        return importlib.import_module("workbench.topi.nn")
    from .functions import function

    return function("", name)
