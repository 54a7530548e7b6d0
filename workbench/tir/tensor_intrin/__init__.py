"""Tensor intrinsics: what a piece of hardware computes at once, described and implemented as small loop functions."""

from .registry import TENSOR_INTRINSICS, TensorIntrin, registered_name

__all__ = ["TENSOR_INTRINSICS", "TensorIntrin", "registered_name"]
