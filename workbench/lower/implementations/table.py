"""The implementations of each family, in the order in which they are listed where they cost the same."""

from __future__ import annotations

from typing import Final

from ..implementation import Implementation
from . import conv2d, pooling, product, products_of_bytes, softmax, winograd
from .plain import Plain

READ_OF: Final = {"conv2d": ("geometry", "flops"), "winograd": ("geometry", "flops"), "product": ("extents", "flops"),
    "pool": ("axes", "window", "flops"),
}
"""By family: methods of its operators that implementations read, beside type rule and computation."""

FAMILIES: Final[dict[str, tuple[Implementation, ...]]] = {
    "conv2d": (
        conv2d.Pixels(), conv2d.Blocks(), conv2d.Columns(), conv2d.Rows(), conv2d.Channels(),
        products_of_bytes.BytePixels(), products_of_bytes.ByteBlocks(), conv2d.Plain(),
    ),
    "winograd": (winograd.Tiles(), Plain("winograd")),
    "product": (product.Tiles(), products_of_bytes.ByteTiles(), Plain("product")),
    "pool": (pooling.Windows(), pooling.Apart(), Plain("pool", pooling.PLAIN)),
    "softmax": (softmax.Rows(), Plain("softmax")),
}
