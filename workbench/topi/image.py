"""The operators named ``image.*`` as functions of te tensors: `topi.image.resize2d(x, None, (8, 8))`."""

from __future__ import annotations

from typing import Any

from .classic_order import IMAGE
from .functions import function


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return IMAGE[name] if name in IMAGE else function("image", name)
