"""Reading images between pixels, at places that are data: grid sampling, regions of interest.

Bilinear interpolation weighs the four pixels around a place; outside of the image they are what the operator says.

>>> GridSample().infer(TensorType((1, 3, 8, 8)), TensorType((1, 2, 4, 5)))
Tensor[(1, 3, 4, 5), float32]
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .. import te
from ..arith import build
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from .nn_conv import check_positive
from .resize import cubic_weights
from .samples import floats
from .shapes import float_dtype, known_shape, refuse, same_dtype, some_elements, tensor, unify

_OFFSETS = {"nearest": (0,), "bilinear": (0, 1), "bicubic": (-1, 0, 1, 2)}
_ALPHA = -0.75


NO_PIXELS = "an image without pixels cannot be read"


@operator("image.grid_sample")
class GridSample(Operator):
    """data (n, c, rows, columns) at the places of grid (n, 2, h, w): grid[:, 0] is x, grid[:, 1] y, from -1 to 1.

    Three spatial axes (layout "NCDHW") go the same way, with x, y, z in the grid.
    """

    method: str = attribute("bilinear", "interpolation", choices=tuple(_OFFSETS))
    layout: str = attribute("NCHW", "layout of data", choices=("NCHW", "NCDHW"))
    padding_mode: str = attribute("zeros", "what lies outside", choices=("zeros", "border", "reflection"))
    align_corners: bool = attribute(True, "-1 and 1 are centres of the outer pixels", convert=convert.boolean)
    fusion = Fusion.OPAQUE
    accumulates = True
    examples = (
        example(floats(2, 2, 4, 5), floats(2, 2, 3, 3, low=-1.3, high=1.3)),
        example(floats(1, 2, 4, 5), floats(1, 2, 3, 3, low=-1.9, high=1.9), align_corners=False, padding_mode="border"),
        example(floats(1, 1, 4, 5), floats(1, 2, 3, 3, low=-3, high=3), padding_mode="reflection"),
        example(floats(1, 1, 4, 5), floats(1, 2, 3, 3, low=-1.3, high=1.3), method="bicubic"),
        example(floats(1, 1, 4, 5), floats(1, 2, 3, 3, low=-2, high=2), method="bicubic", padding_mode="border"),
        example(floats(1, 1, 5, 5), floats(1, 2, 3, 3), method="nearest", align_corners=False),
        example(floats(1, 1, 3, 4, 5), floats(1, 3, 2, 3, 2, low=-1.3, high=1.3), layout="NCDHW"),
        bad(floats(1, 1, 4, 4), floats(1, 3, 2, 2), error="one coordinate for each"),
        bad(floats(1, 4, 4), floats(1, 1, 2), error="axes"), bad(floats(1, 1, 4, 4), floats(2, 2, 2, 2), error="agree"),
        bad(floats(1, 1, 4, 4), floats(1, 2, 2, 2), layout="NCDHW", error="5 axes"),
    )  # fmt: skip

    def infer(self, data: TensorType, grid: TensorType) -> TensorType:
        kind, places = tensor(self, data, "data", len(self.layout)), tensor(self, grid, "grid", len(self.layout))
        float_dtype(self, kind, "data")
        float_dtype(self, places, "grid")
        if places.shape[1] != len(kind.shape) - 2:
            refuse(self, "E-TYPE-SHAPE", "grid needs one coordinate for each spatial axis", found=places.shape)
        some_elements(self, kind, range(2, len(kind.shape)), NO_PIXELS)
        batch = unify(self, kind.shape[0], places.shape[0], "the batches of data and grid")
        return TensorType((batch, kind.shape[1], *places.shape[2:]), kind.dtype)

    def reference(self, data: np.ndarray, grid: np.ndarray) -> np.ndarray:
        extents, rank = data.shape[2:], data.ndim - 2
        pixels, weights, valid = [], [], []
        for axis, extent in enumerate(extents):
            place = self._place_numpy(grid[:, rank - 1 - axis].astype(np.float64), extent)
            share = place - np.floor(place)
            near = np.floor(place).astype(np.int64)[..., None] + np.array(_OFFSETS[self.method])
            weights.append(self._weights_numpy(share))
            valid.append((near >= 0) & (near < extent) | (self.padding_mode != "zeros"))
            pixels.append(self._pixel_numpy(near, extent))
        total = np.zeros((*data.shape[:2], *grid.shape[2:]))
        batch = np.arange(len(data)).reshape(-1, *(1,) * rank)
        for taps in itertools.product(range(len(_OFFSETS[self.method])), repeat=rank):
            where = tuple(pixel[..., tap] for pixel, tap in zip(pixels, taps, strict=True))
            weight = np.prod([item[..., tap] for item, tap in zip(weights, taps, strict=True)], axis=0)
            inside = np.all([item[..., tap] for item, tap in zip(valid, taps, strict=True)], axis=0)
            read = np.moveaxis(data[(batch, slice(None), *where)], -1, 1).astype(np.float64)
            total += np.where(inside[:, None], read, 0) * weight[:, None]
        return total.astype(data.dtype)

    def _place_numpy(self, at: np.ndarray, extent: int) -> np.ndarray:
        place = (at + 1) / 2 * (extent - 1) if self.align_corners else ((at + 1) * extent - 1) / 2
        place = np.rint(place) if self.method == "nearest" else place
        if self._clips_places:
            return np.clip(place, 0, extent - 1)
        return _reflected_numpy(place, *self._border(extent)) if self.padding_mode == "reflection" else place

    @property
    def _clips_places(self) -> bool:
        """Whether places outside go to the border; of a cubic only its pixels do, and weigh as the place says."""
        return self.padding_mode == "border" and self.method != "bicubic"

    def _border(self, extent: int) -> tuple[float, float]:
        return (0.0, extent - 1.0) if self.align_corners else (-0.5, extent - 0.5)

    def _pixel_numpy(self, near: np.ndarray, extent: int) -> np.ndarray:
        if self.padding_mode == "reflection":
            near = np.trunc(_reflected_numpy(near.astype(np.float64), *self._border(extent))).astype(np.int64)
        return np.clip(near, 0, extent - 1)

    def _weights_numpy(self, share: np.ndarray) -> np.ndarray:
        if self.method == "nearest":
            return np.ones((*share.shape, 1))
        if self.method == "bilinear":
            return np.stack([1 - share, share], -1)
        return np.moveaxis(cubic_weights(share.reshape(-1), _ALPHA).reshape(*share.shape, 4), -1, -1)

    def compute(self, data: Any, grid: Any) -> Any:
        rank, extents = len(data.shape) - 2, data.shape[2:]
        offsets = _OFFSETS[self.method]
        out = grid.shape[2:]

        def placed(n: Any, axis: Any, *o: Any) -> Any:
            cases = [self._place(grid(n, rank - 1 - at, *o), extents[at]) for at in range(rank)]
            return _by_axis(axis, cases)

        place = te.compute((data.shape[0], rank, *out), placed, name="grid_place", tag="injective")

        def pixel(n: Any, axis: Any, tap: Any, *o: Any) -> Any:
            cases = [_whole(te.floor(place(n, axis, *o)), extents[at]) for at in range(rank)]
            return _by_axis(axis, [self._pixel(cases[at] + tap + offsets[0], extents[at]) for at in range(rank)])

        shape = (data.shape[0], rank, len(offsets), *out)
        pixels = te.compute(shape, pixel, name="grid_pixel", tag="injective")

        def weight(n: Any, axis: Any, tap: Any, *o: Any) -> Any:
            share = place(n, axis, *o) - te.floor(place(n, axis, *o))
            return _weight(self.method, share, tap, data.dtype)

        weights = te.compute(shape, weight, name="grid_weight", tag="injective")
        taps = [te.reduce_axis((0, len(offsets)), name=f"t{at}") for at in range(rank)]

        def element(n: Any, c: Any, *o: Any) -> Any:
            where = [pixels(n, at, taps[at].var, *o) for at in range(rank)]
            value = data(n, c, *(build.maximum(index, 0) for index in where))
            for at in range(rank):
                value = value * weights(n, at, taps[at].var, *o)
            inside = te.all(*(index >= 0 for index in where))
            return te.sum(build.select(inside, value, build.const(0.0, data.dtype)), axis=taps)

        return te.compute((*data.shape[:2], *out), element, name="grid_sample", tag="comm_reduce")

    def _place(self, at: Any, extent: int) -> Any:
        one = build.const(1.0, at.dtype)
        if self.align_corners:
            place = (at + one) * build.const((extent - 1) / 2, at.dtype)
        else:
            place = ((at + one) * build.const(float(extent), at.dtype) - one) * build.const(0.5, at.dtype)
        place = te.round(place) if self.method == "nearest" else place
        if self._clips_places:
            return build.minimum(build.maximum(place, 0.0), build.const(extent - 1.0, at.dtype))
        return _reflected(place, *self._border(extent)) if self.padding_mode == "reflection" else place

    def _pixel(self, near: Any, extent: int) -> Any:
        """The pixel to read; -1 for none."""
        if self.padding_mode == "zeros":
            inside = build.logical_and(near >= 0, near < extent)
            return build.select(inside, near, build.const(-1))
        if self.padding_mode == "reflection":
            near = build.cast("int64", _reflected(build.cast("float32", near), *self._border(extent)))
        return build.minimum(build.maximum(near, 0), build.const(extent - 1))


def _whole(place: Any, extent: int) -> Any:
    """A rounded place as an integer; those far outside stay outside, but near, so that no sum overflows."""
    low, high = build.const(-8.0, place.dtype), build.const(extent + 8.0, place.dtype)
    return build.cast("int64", build.minimum(build.maximum(place, low), high))


def _by_axis(axis: Any, cases: list[Any]) -> Any:
    found = cases[-1]
    for at in range(len(cases) - 2, -1, -1):
        found = build.select(axis.equal(at), cases[at], found)
    return found


def _weight(method: str, share: Any, tap: Any, dtype: str) -> Any:
    one = build.const(1.0, share.dtype)
    if method == "nearest":
        return build.const(1.0, dtype)
    if method == "bilinear":
        return build.cast(dtype, build.select(tap.equal(0), one - share, share))

    def number(value: float) -> Any:
        return build.const(value, share.dtype)

    def inner(x: Any) -> Any:
        return (number(_ALPHA + 2) * x - number(_ALPHA + 3)) * x * x + one

    def outer(x: Any) -> Any:
        return ((number(_ALPHA) * x - number(5 * _ALPHA)) * x + number(8 * _ALPHA)) * x - number(4 * _ALPHA)

    cases = [outer(one + share), inner(share), inner(one - share), outer(number(2.0) - share)]
    return build.cast(dtype, _by_axis(tap, cases))


def _reflected_numpy(x: np.ndarray, low: float, high: float) -> np.ndarray:
    span = high - low
    if span <= 0:
        return np.full_like(x, low)
    away = np.where(x < low, low - x, np.maximum(x - high, 0))
    turns = np.floor(away / span)
    rest = away - turns * span
    near_first = turns % 2 == 0
    below = np.where(near_first, low + rest, high - rest)
    above = np.where(near_first, high - rest, low + rest)
    return np.where(x < low, below, np.where(x > high, above, x))


def _reflected(x: Any, low: float, high: float) -> Any:
    """`x` mirrored at `low` and `high` until it lies between them."""
    def number(value: float) -> Any:
        return build.const(value, x.dtype)

    span = high - low
    if span <= 0:
        return number(low)
    away = build.select(x < low, number(low) - x, build.maximum(x - number(high), 0.0))
    turns = te.floor(away / number(span))
    rest = away - turns * number(span)
    even = (turns - number(2.0) * te.floor(turns * number(0.5))).equal(number(0.0))
    near, far = number(low) + rest, number(high) - rest
    outside = build.select(x < low, build.select(even, near, far), build.select(even, far, near))
    return build.select(build.logical_or(x < low, x > high), outside, x)


def bilinear(read: Any, y: Any, x: Any, extents: tuple[Any, Any], edge: str) -> list[tuple[Any, Any]]:
    """(weight, value) of the four pixels around (y, x).

    `edge` "zero": pixels outside are 0; "region": places up to one pixel outside count as on the edge (He et al., Mask
    R-CNN, 2017).
    """
    dtype = y.dtype
    height, width = extents

    def number(value: float) -> Any:
        return build.const(value, dtype)

    if edge == "region":
        beyond = te.any(y < number(-1.0), y > number(float(height)), x < number(-1.0), x > number(float(width)))
        y = build.minimum(build.maximum(y, 0.0), number(height - 1.0))
        x = build.minimum(build.maximum(x, 0.0), number(width - 1.0))
    rows, columns = te.floor(y), te.floor(x)
    down, right = y - rows, x - columns
    row, column = _whole(rows, height), _whole(columns, width)
    found: list[tuple[Any, Any]] = []
    for step_y, step_x in itertools.product((0, 1), repeat=2):
        at_y, at_x = row + step_y, column + step_x
        weight = (down if step_y else number(1.0) - down) * (right if step_x else number(1.0) - right)
        inside = te.all(at_y >= 0, at_y < height, at_x >= 0, at_x < width)
        if edge == "region":
            weight = build.select(beyond, number(0.0), weight)
        held_y = build.minimum(build.maximum(at_y, 0), build.const(height - 1))
        held_x = build.minimum(build.maximum(at_x, 0), build.const(width - 1))
        found.append((weight, build.select(inside, read(held_y, held_x), number(0.0))))
    return found


def bilinear_numpy(image: np.ndarray, y: float, x: float, edge: str) -> list[tuple[float, float]]:
    """`bilinear` in NumPy."""
    height, width = image.shape
    if edge == "region":
        if y < -1 or y > height or x < -1 or x > width:
            return [(0.0, 0.0)]
        y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    row, column = int(np.floor(y)), int(np.floor(x))
    found = []
    for step_y, step_x in itertools.product((0, 1), repeat=2):
        weight = (y - row if step_y else 1 - (y - row)) * (x - column if step_x else 1 - (x - column))
        inside = 0 <= row + step_y < height and 0 <= column + step_x < width
        found.append((weight, float(image[row + step_y, column + step_x]) if inside else 0.0))
    return found


@operator("vision.roi_align")
class RoiAlign(Operator):
    """Each region (batch, x1, y1, x2, y2) of data (n, c, h, w) in `pooled_size` bins of bilinear samples.

    A bin is the mean of its samples, or the greatest weighted pixel; `aligned` shifts regions by half a pixel.
    """

    pooled_size: tuple[int, int] = attribute(doc="rows and columns of bins", convert=convert.pair)
    spatial_scale: float = attribute(1.0, "pixels of data for a unit of the regions", convert=convert.real)
    sample_ratio: int = attribute(-1, "samples along each side of a bin; -1 (by its size) is not here yet",
                                  convert=convert.integer)  # fmt: skip
    layout: str = attribute("NCHW", "layout of data", choices=("NCHW",))
    mode: str = attribute("avg", "how samples join", choices=("avg", "max"))
    aligned: bool = attribute(False, "pixel centres lie at halves", convert=convert.boolean)
    fusion = Fusion.OPAQUE
    accumulates = True
    examples = (
        example(floats(2, 2, 6, 7), np.array([[0, 0, 0, 5, 5], [1, 1.5, 2, 6, 3]], "float32"), pooled_size=(2, 3),
                sample_ratio=2),
        example(floats(1, 1, 6, 6), np.array([[0, 0.5, 0, 4, 5]], "float32"), pooled_size=2, sample_ratio=2,
                aligned=True),
        example(floats(1, 1, 6, 6), np.array([[0, -2, 0, 9, 5]], "float32"), pooled_size=2, mode="max",
                spatial_scale=0.5, sample_ratio=3),
        bad(floats(1, 6, 6), floats(1, 5), pooled_size=2, error="4 axes"),
        bad(floats(1, 1, 6, 6), floats(1, 4), pooled_size=2, sample_ratio=2, error="five numbers"),
        bad(floats(1, 1, 6, 6), floats(1, 5), pooled_size=2, sample_ratio=0, error="sample_ratio"),
        bad(floats(1, 1, 6, 6), floats(1, 5), pooled_size=2, error="follow the size"),
    )  # fmt: skip

    def infer(self, data: TensorType, rois: TensorType) -> TensorType:
        kind, regions = tensor(self, data, "data", 4), tensor(self, rois, "rois", 2)
        float_dtype(self, kind, "data")
        same_dtype(self, kind, regions)
        check_positive(self, pooled_size=self.pooled_size)
        if self.sample_ratio < 1:
            refuse(self, "E-TYPE-RANGE", "the number of samples cannot follow the size of each region yet",
                   found=f"sample_ratio={self.sample_ratio}", fix="give sample_ratio, at least 1")  # fmt: skip
        if regions.shape[1] != 5:
            refuse(self, "E-TYPE-SHAPE", "a region is five numbers", found=regions.shape, expected="(regions, 5)")
        known_shape(self, kind, "data")
        some_elements(self, kind, (0, 2, 3), NO_PIXELS)
        return TensorType((regions.shape[0], kind.shape[1], *self.pooled_size), kind.dtype)

    def _starts(self, low: Any, high: Any, bins: int, number: Any, greatest: Any) -> tuple[Any, Any]:
        """(where the region begins, the size of a bin)."""
        shift = number(0.5 if self.aligned else 0.0)
        first, last = low * number(self.spatial_scale) - shift, high * number(self.spatial_scale) - shift
        size = last - first
        size = size if self.aligned else greatest(size, number(1.0))
        return first, size / number(float(bins))

    def reference(self, data: np.ndarray, rois: np.ndarray) -> np.ndarray:
        rows, columns = self.pooled_size
        result = np.zeros((len(rois), data.shape[1], rows, columns))
        per = self.sample_ratio
        for r, (batch, x1, y1, x2, y2) in enumerate(rois.astype(np.float64)):
            top, step_y = self._starts(y1, y2, rows, float, max)
            left, step_x = self._starts(x1, x2, columns, float, max)
            for c, i, j in np.ndindex(*result.shape[1:]):
                found = [
                    bilinear_numpy(data[int(batch), c], top + (i + (a + 0.5) / per) * step_y,
                                    left + (j + (b + 0.5) / per) * step_x, "region")
                    for a, b in np.ndindex(per, per)
                ]  # fmt: skip
                if self.mode == "avg":
                    result[r, c, i, j] = sum(w * v for item in found for w, v in item) / per**2
                else:
                    result[r, c, i, j] = max(w * v for item in found for w, v in item)
        return result.astype(data.dtype)

    def compute(self, data: Any, rois: Any) -> Any:
        rows, columns = self.pooled_size
        per = self.sample_ratio
        a, b = te.reduce_axis((0, per), name="a"), te.reduce_axis((0, per), name="b")
        reducer = te.sum if self.mode == "avg" else te.max

        def number(value: float) -> Any:
            return build.const(value, data.dtype)

        def sample(bin_: Any, tap: Any) -> Any:
            step = (build.cast(data.dtype, tap) + number(0.5)) * number(1.0 / per)
            return build.cast(data.dtype, bin_) + step

        def element(r: Any, c: Any, i: Any, j: Any) -> Any:
            top, step_y = self._starts(rois(r, 2), rois(r, 4), rows, number, build.maximum)
            left, step_x = self._starts(rois(r, 1), rois(r, 3), columns, number, build.maximum)
            batch = build.cast("int64", rois(r, 0))
            batch = build.minimum(build.maximum(batch, 0), build.const(data.shape[0] - 1))
            y, x = top + sample(i, a.var) * step_y, left + sample(j, b.var) * step_x
            found = bilinear(lambda *p: data(batch, c, *p), y, x, (data.shape[2], data.shape[3]), "region")
            products = [weight * value for weight, value in found]
            joined = products[0]
            for item in products[1:]:
                joined = joined + item if self.mode == "avg" else build.maximum(joined, item)
            return reducer(joined, axis=[a, b])

        shape = (rois.shape[0], data.shape[1], rows, columns)
        total = te.compute(shape, element, name="roi_align", tag="comm_reduce")
        if self.mode == "max":
            return total
        share = number(1.0 / per**2)
        return te.compute(shape, lambda *at: total(*at) * share, name="roi_mean", tag="elemwise")
