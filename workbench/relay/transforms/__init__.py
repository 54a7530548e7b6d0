"""Graph passes, one file each.  Importing this package fills the table of passes."""

from . import (
    canonical_form,
    common_subexpr,
    dead_code,
    fold_constant,
    fold_scale_axis,
    fuse_ops,
    infer_type,
    pack_weights,
    simplify_expr,
    simplify_inference,
)

__all__ = [
    "canonical_form",
    "common_subexpr",
    "dead_code",
    "fold_constant",
    "fold_scale_axis",
    "fuse_ops",
    "infer_type",
    "pack_weights",
    "simplify_expr",
    "simplify_inference",
]
