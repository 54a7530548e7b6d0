"""The classic namespace `relay.transform`: graph passes by name, sequences, contexts, decorators.

>>> from workbench.relay import transform
>>> transform.Sequential([transform.InferType(), transform.FoldConstant()])
sequential()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
    module_pass,
)
from .ir import expr as e
from .ir.infer import infer_type as _infer_type
from .transforms.alter_op_layout import AlterOpLayout
from .transforms.basic_blocks import ToBasicBlockNormalForm
from .transforms.canonical_form import ToANormalForm, ToGraphNormalForm
from .transforms.canonicalize_cast import CanonicalizeCast
from .transforms.canonicalize_ops import CanonicalizeOps
from .transforms.combine_batch_matmul import CombineParallelBatchMatmul
from .transforms.combine_conv2d import CombineParallelConv2D
from .transforms.combine_dense import BatchingOps, CombineParallelDense
from .transforms.common_subexpr import EliminateCommonSubexpr
from .transforms.convert_layout import ConvertLayout
from .transforms.dead_code import DeadCodeElimination
from .transforms.div_to_mul import DivToMul
from .transforms.dynamic_to_static import DynamicToStatic
from .transforms.eta_expand import EtaExpand
from .transforms.fast_math import FastMath
from .transforms.fc_transpose import SimplifyFCTranspose
from .transforms.flatten_atrous import FlattenAtrousConv
from .transforms.fold_constant import FoldConstant
from .transforms.fold_explicit_padding import FoldExplicitPadding
from .transforms.fold_scale_axis import BackwardFoldScaleAxis, FoldScaleAxis, ForwardFoldScaleAxis
from .transforms.fuse_ops import DefuseOps, FuseOps
from .transforms.infer_type import InferType
from .transforms.inline import Inline
from .transforms.lambda_lift import LambdaLift
from .transforms.mixed_precision import ToMixedPrecision
from .transforms.pack_weights import PackWeights
from .transforms.remove_unused_functions import RemoveUnusedFunctions
from .transforms.simplify_expr import SimplifyExpr
from .transforms.simplify_inference import SimplifyInference
from .transforms.simplify_layout import SimplifyExprPostAlterOp

__all__ = [
    "AlterOpLayout",
    "BackwardFoldScaleAxis",
    "BatchingOps",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "ConvertLayout",
    "DeadCodeElimination",
    "DefuseOps",
    "DivToMul",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "FastMath",
    "FlattenAtrousConv",
    "FoldConstant",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "Inline",
    "LambdaLift",
    "ModulePass",
    "PackWeights",
    "Pass",
    "PassContext",
    "PassInfo",
    "RemoveUnusedFunctions",
    "Sequential",
    "SimplifyExpr",
    "SimplifyExprPostAlterOp",
    "SimplifyFCTranspose",
    "SimplifyInference",
    "ToANormalForm",
    "ToBasicBlockNormalForm",
    "ToGraphNormalForm",
    "ToMixedPrecision",
    "build_config",
    "function_pass",
    "module_pass",
]


def InferTypeLocal(expr: e.Expr) -> Any:
    """The type of one expression, found from what is below it."""
    return _infer_type(expr)


def build_config(
    opt_level: int | None = None,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: Any = None,
) -> PassContext:
    """A pass context (the classic name)."""
    return PassContext(opt_level, required_pass, disabled_pass, trace=trace)
