"""The operator inventory: one class an operator, grouped by family; and the operators as functions of te tensors.

    topi.nn.relu(x), topi.add(x, y), topi.sum(x, axis=1)

Functions are made from the classes: `topi.NAME(tensors..., attributes...)` checks types as relay does and answers
the operator's tensor expression.  Importing this package fills `relay.ir.operator.OPERATORS`.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from . import (
    algorithm,
    binary,
    clip_cast,
    compare,
    dynamic,
    fast_math,
    fill,
    layout,
    nn_conv,
    nn_conv_more,
    nn_deformable,
    nn_dense,
    nn_elementwise,
    nn_norm,
    nn_pool,
    nn_pool_indices,
    reduce,
    resize,
    sampling,
    scatter,
    space_batch,
    transform_index,
    transform_join,
    transform_like,
    transform_shape,
    unary,
)

MODULES = (
    unary, clip_cast, binary, compare, reduce, transform_shape, transform_join, fill, transform_index, layout,
    transform_like, algorithm, scatter, nn_conv, nn_conv_more, nn_dense, nn_norm, nn_pool, nn_elementwise, resize,
    nn_pool_indices, sampling, nn_deformable,
    fast_math, dynamic, space_batch,
)  # fmt: skip
"""The modules that declare operators."""


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name in ("nn", "image", "utils", "tag"):
        return importlib.import_module(f"workbench.topi.{name}")
    if name in ("generic", "x86", "arm_cpu", "cuda"):
        from .schedules import TABLES

        return SimpleNamespace(**TABLES[name])
    from .classic import NAMES, op
    from .classic_order import ROOT

    if name in ROOT:
        return ROOT[name]
    return getattr(importlib.import_module("workbench.topi.classic"), name) if name in NAMES else op(name)
