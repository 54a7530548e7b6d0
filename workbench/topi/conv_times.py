"""Times of two-dimensional convolutions by a model, in cycles of one core that starts two multiply-adds of vectors.

They decide about layouts (`AlterOpLayout`) and algorithms (`packing.by_tiles`).  A convolution takes its multiply-adds
at the share of the peak that its kernel reaches, and the weights on their way from beyond the caches; one by Winograd's
tiles takes its transforms as well.
"""

from __future__ import annotations

from typing import Any, Final

from ..core.rewrite import Failure
from . import layout as layouts

SHARES: Final = {False: 0.9, True: 0.85}
"""Of the peak of multiply-adds, by whether there is one tap a channel.  Measured on layers of resnet50 with vectors of
512 bits.  What goes `by_pixels` has a share of its own."""
APART: Final = 1.0
"""Cycles that a result takes where channels of one pixel, which a vector holds, are pictures apart (NCHW)."""
PIXELS: Final = 0.85
"""The same of a convolution `by_pixels`, measured with vectors of 256 bits."""
UNPACKED: Final = 0.03
"""Share of the peak of a convolution whose weights cannot lie in blocks."""
PRODUCTS: Final = 0.7
"""Share of the peak that the products between Winograd's transforms reach."""
INTO, BACK = 6.0, 4.0
"""Cycles that a vector of an element of a tile takes in the transform of the data, and in that of the sums."""
TILES_APART: Final = 1.0
"""Cycles more of a number of data or result of Winograd's tiles where channels are pictures apart (NCHW)."""
BYTES: Final = 0.7
"""Share of the peak of products of bytes that a convolution of them reaches."""
IN_WORDS, TURNED = 0.2, 2.0
"""Cycles of a byte that is brought into words of four, and of a sum that is brought back among its picture's."""
STREAM: Final = 4.0
"""Bytes of weights that come from beyond the caches in a cycle."""
IN_PHASES: Final = 1.4
"""Cycles of a number whose column is brought beside those that lie a stride away."""
COLUMNS: Final = 1.15
"""Time of a convolution whose vectors lie along rows, of that of its multiply-adds, by a tile that suits it."""
EACH: Final = 1.0
"""Multiply-adds of vectors that a depthwise convolution starts in a cycle: each loads data of its own."""
STRIDED: Final = 1.2
"""By how much longer that takes where columns that are read lie a stride apart."""
SEVERAL: Final = 3.0
"""By how much longer where a channel of the data makes several results."""
COPIED: Final = 12.0
"""Bytes of its data and result that a depthwise convolution moves in a cycle."""


def filled(pixels: int, block: int) -> int:
    """Pixels of a picture filled up to whole tiles of two vectors."""
    return -(-pixels // (2 * block)) * 2 * block


def by_pixels(op: Any, geometry: Any, block: int) -> bool:
    """Whether vectors of nn.conv2d hold pixels, not channels: of pictures NCHW, one tap at every place, no groups.

    Rows do not matter then, a picture is one row of pixels; a quarter of those computed may be filled up.
    """
    plain = geometry.kernel == (1, 1) and op.strides == (1, 1) and not any(op.padding) and op.groups == 1
    high, wide = geometry.height, geometry.width
    if not plain or op.data_layout != "NCHW" or not (isinstance(high, int) and isinstance(wide, int)):
        return False
    return 4 * high * wide >= 3 * filled(high * wide, block) > 0


def direct(op: Any, geometry: Any, lanes: int, fits: bool) -> float:
    """nn.conv2d; `fits`: its weight can lie in blocks of `lanes` output channels."""
    g = geometry
    if fits and by_pixels(op, g, lanes):
        return pixels(op, g, lanes)
    usual = blocks(op, g, lanes) if fits else plain(op, g, lanes)
    by_columns = not not_by_columns(op, g)
    return min(usual, COLUMNS * columns(op, g, g.out_channels, g.out_width, lanes)) if by_columns else usual


def blocks(op: Any, geometry: Any, lanes: int) -> float:
    """nn.conv2d whose vectors hold output channels, in blocks of `lanes`."""
    g = geometry
    filled_up = -(-g.out_channels // lanes) * lanes / g.out_channels
    stored = APART * g.batch * g.out_channels * g.out_height * g.out_width if op.data_layout == "NCHW" else 0.0
    return _shared(op, g, lanes, SHARES[g.kernel == (1, 1)] / filled_up) + stored


def pixels(op: Any, geometry: Any, lanes: int) -> float:
    """nn.conv2d whose vectors hold pixels (`by_pixels`)."""
    one = geometry.height * geometry.width
    return _shared(op, geometry, lanes, PIXELS * one / filled(one, lanes))


def not_by_columns(op: Any, geometry: Any) -> Failure | None:
    """Why vectors of nn.conv2d cannot lie along the rows of pictures."""
    lies = {op.data_layout, op.out_layout or op.data_layout}
    if lies != {"NCHW"} or not {"O"} >= set(layouts.parse(op.kernel_layout).factors):
        found = f"{' and '.join(sorted(lies))}, {op.kernel_layout}"
        return Failure("data and result lie as NCHW, and the weight in blocks of output channels at most", found)
    if geometry.in_channels == op.groups > 1:
        return Failure("each group has several input channels", f"{op.groups} groups")
    if op.strides[1] > 1 and op.dilation[1] > 1:
        return Failure("columns are strided or dilated, not both", f"strides {op.strides}, dilation {op.dilation}")
    return None


def columns(op: Any, geometry: Any, channels: int, width: int, lanes: int) -> float:
    """nn.conv2d NCHW whose vectors lie along rows, of so many channels and columns, filled up."""
    g = geometry
    weights = channels * (g.in_channels // op.groups) * g.kernel[0] * g.kernel[1]
    starts = weights * g.batch * g.out_height * -(-width // lanes)
    copied = IN_PHASES * g.batch * g.in_channels * g.height * g.width if op.strides[1] > 1 else 0.0
    return starts / 2 + copied + 4 * weights / STREAM


def depthwise(op: Any, geometry: Any, lanes: int, again: float = 1.0) -> float:
    """nn.conv2d of each channel by itself; `again`: how often its data are moved."""
    g = geometry
    if op.data_layout == "NCHW":
        vectors = -(-g.out_width // lanes) * g.out_channels * (1.0 if op.strides[1] == 1 else STRIDED)
    else:
        vectors = -(-g.out_channels // lanes) * g.out_width * (1.0 if g.out_channels == op.groups else SEVERAL)
    starts = g.batch * g.out_height * vectors * g.kernel[0] * g.kernel[1]
    results = g.out_channels * g.out_height * g.out_width
    moved = 4 * g.batch * (again * g.in_channels * g.height * g.width + results)
    return starts / EACH + moved / COPIED


def plain(op: Any, geometry: Any, lanes: int) -> float:
    """nn.conv2d whose weight lies as it is written."""
    return _shared(op, geometry, lanes, UNPACKED)


def of_bytes(op: Any, geometry: Any, lanes: int) -> float:
    """nn.conv2d of bytes whose weight lies as OIHW16o4i, by an instruction that adds four products to each number.

    Data NCHW are brought into fours of channels, and the sums back into pictures.
    """
    g = geometry
    return _of_bytes(g, lanes) + (_in_words(g) + TURNED * g.batch * g.out_channels * g.out_height * g.out_width
                                  if op.data_layout == "NCHW" else 0.0)  # fmt: skip


def of_byte_pixels(geometry: Any, lanes: int) -> float:
    """nn.conv2d of bytes whose vectors hold pixels (`by_pixels`), brought into words: sums lie as the result does."""
    one = geometry.height * geometry.width
    return _of_bytes(geometry, lanes) * filled(one, lanes) / one + _in_words(geometry)


def _of_bytes(g: Any, lanes: int) -> float:
    weights = g.out_channels * g.in_channels * g.kernel[0] * g.kernel[1]
    return g.batch * g.out_height * g.out_width * weights / (8 * lanes) / BYTES + weights / STREAM


def _in_words(g: Any) -> float:
    return IN_WORDS * g.batch * g.in_channels * g.height * g.width


def _shared(op: Any, geometry: Any, lanes: int, share: float) -> float:
    """nn.conv2d at a share of the peak of multiply-adds."""
    weights = geometry.out_channels * (geometry.in_channels // op.groups) * geometry.kernel[0] * geometry.kernel[1]
    points = geometry.batch * geometry.out_height * geometry.out_width
    return weights * points / (2 * lanes) / share + 4 * weights / STREAM


def tiled(op: Any, geometry: Any, lanes: int, tile: int) -> float:
    """The same by Winograd's tiles of `tile` x `tile` outputs, its weight transformed before."""
    g = geometry
    numbers = g.batch * (g.in_channels * g.height * g.width + g.out_channels * g.out_height * g.out_width)
    turned = TILES_APART * numbers if op.data_layout == "NCHW" else 0.0
    elements = (tile + geometry.kernel[0] - 1) ** 2
    tiles = geometry.batch * -(-geometry.out_height // tile) * -(-geometry.out_width // tile)
    weights = elements * geometry.in_channels * geometry.out_channels
    transforms = tiles * elements * (INTO * geometry.in_channels + BACK * geometry.out_channels) / lanes
    return weights * tiles / (2 * lanes) / PRODUCTS + transforms + 4 * weights / STREAM + turned
