"""Tensor intrinsics: what a piece of hardware computes at once, described and implemented as small loop functions."""

from __future__ import annotations

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".registry": "TENSOR_INTRINSICS TensorIntrin registered_name",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
