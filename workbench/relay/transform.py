"""The classic namespace `relay.transform`: graph passes by name, sequences, contexts, decorators.

>>> from workbench.relay import transform
>>> transform.Sequential([transform.InferType(), transform.FoldConstant()])
sequential()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.transform import Pass, PassContext, PassInfo, Sequential, function_pass, module_pass
from .ir import expr as e
from .ir.infer import infer_type as _infer_type
from .transforms.canonical_form import ToANormalForm, ToGraphNormalForm
from .transforms.common_subexpr import EliminateCommonSubexpr
from .transforms.dead_code import DeadCodeElimination
from .transforms.fold_constant import FoldConstant
from .transforms.fold_scale_axis import BackwardFoldScaleAxis, FoldScaleAxis, ForwardFoldScaleAxis
from .transforms.fuse_ops import DefuseOps, FuseOps
from .transforms.infer_type import InferType
from .transforms.pack_weights import PackWeights
from .transforms.simplify_expr import SimplifyExpr
from .transforms.simplify_inference import SimplifyInference

__all__ = [
    "BackwardFoldScaleAxis",
    "DeadCodeElimination",
    "DefuseOps",
    "EliminateCommonSubexpr",
    "FoldConstant",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "PackWeights",
    "Pass",
    "PassContext",
    "PassInfo",
    "Sequential",
    "SimplifyExpr",
    "SimplifyInference",
    "ToANormalForm",
    "ToGraphNormalForm",
    "build_config",
    "function_pass",
    "module_pass",
]


def InferTypeLocal(expr: e.Expr) -> Any:
    """The type of one expression, found from what is below it."""
    return _infer_type(expr)


def build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: Any = None,
) -> PassContext:
    """A pass context (the classic name)."""
    return PassContext(opt_level, required_pass, disabled_pass, trace=trace)
