"""Images and rearranged pixels: image.resize2d, nn.upsampling, nn.depth_to_space, nn.space_to_depth.

>>> Resize2D(size=(4, 6)).infer(TensorType((1, 3, 8, 8)))
Tensor[(1, 3, 4, 6), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import arrange
from . import attributes as convert
from .clip_cast import cast_numpy, cast_scalar
from .emit import elementwise, injective, stage_name
from .nn_conv import check_positive
from .samples import floats
from .shapes import Shape, floor_divide, multiply, refuse, some_elements, tensor

PLACES = {"NCHW": (2, 3, 1), "NHWC": (1, 2, 3)}
"""Places of height, width and channels by layout."""

_LAYOUT = attribute("NCHW", "layout of data", choices=tuple(PLACES))
COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
"""How a position becomes a pixel; "" rounds where corners are aligned, and goes down else."""


def region(value: Any) -> tuple[float, ...]:
    """A region of interest: four numbers.  None of the coordinate modes above looks at it."""
    found = tuple(convert.real(item) for item in value)
    if len(found) != 4:
        raise ValueError("four numbers")
    return found


def source_positions(count: int, extent: int, mode: str) -> np.ndarray:
    """Where each of `count` result pixels lies among `extent` source pixels (float64)."""
    at = np.arange(count, dtype=np.float64)
    if mode == "align_corners":
        return at * ((extent - 1) / (count - 1)) if count > 1 else np.zeros(count)
    scale = extent / count
    if mode == "asymmetric":
        return at * scale
    if mode == "pytorch_half_pixel" and count == 1:
        return np.zeros(count)
    return (at + 0.5) * scale - 0.5


def nearest_pixels(positions: np.ndarray, rounding: str) -> np.ndarray:
    """The source pixel of each position; `rounding` is none of "" here."""
    table = {
        "floor": lambda x: np.floor(x + 1e-5), "ceil": lambda x: np.ceil(x - 1e-5), "round": np.rint,
        "round_prefer_floor": lambda x: np.ceil(x - 0.5), "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }  # fmt: skip
    return table[rounding](positions).astype(np.int64)


def taps(op: Any, count: int, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """(source pixels, weights) of each result pixel along one axis: 1, 2 or 4 of them."""
    positions = source_positions(count, extent, op.coordinate_transformation_mode)
    if op.method == "nearest_neighbor":
        aligned = op.coordinate_transformation_mode == "align_corners"
        rounding = op.rounding_method or ("round" if aligned else "floor")
        pixels = nearest_pixels(positions, rounding)[:, None]
        return np.clip(pixels, 0, extent - 1), np.ones((count, 1))
    base = np.floor(positions)
    share = positions - base
    if op.method == "linear":
        offsets, weights = (0, 1), np.stack([1 - share, share], 1)
    else:
        offsets, weights = (-1, 0, 1, 2), cubic_weights(share, op.cubic_alpha)
    pixels = base.astype(np.int64)[:, None] + np.array(offsets)
    if op.method == "cubic" and op.cubic_exclude:
        weights = np.where((pixels >= 0) & (pixels < extent), weights, 0)
        weights = weights / weights.sum(1, keepdims=True)
    return np.clip(pixels, 0, extent - 1), weights


def cubic_weights(share: np.ndarray, alpha: float) -> np.ndarray:
    """Weights of the four neighbours (Keys, Cubic Convolution Interpolation, 1981)."""
    near = [share, 1 - share]
    far = [1 + share, 2 - share]
    inner = [((alpha + 2) * x - (alpha + 3)) * x * x + 1 for x in near]
    outer = [((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha for x in far]
    return np.stack([outer[0], inner[0], inner[1], outer[1]], 1)


@operator("image.resize2d")
class Resize2D(Operator):
    """Images in another size, by the nearest pixel, linear or cubic interpolation."""

    size: tuple[int, int] = attribute(doc="height and width of the result", convert=convert.pair)
    roi: tuple[float, ...] = attribute((0.0, 0.0, 0.0, 0.0), "a region; no mode here looks at it", convert=region)
    layout: str = _LAYOUT
    method: str = attribute("linear", "interpolation", choices=("nearest_neighbor", "linear", "cubic"))
    coordinate_transformation_mode: str = attribute("half_pixel", "where pixels lie", choices=COORDINATES)
    rounding_method: str = attribute("", "nearest pixel of a position", choices=ROUNDINGS)
    cubic_alpha: float = attribute(-0.5, "sharpness of cubic interpolation", convert=convert.real)
    cubic_exclude: bool = attribute(False, "leave pixels outside out of the weights", convert=convert.boolean)
    extrapolation_value: float = attribute(0.0, "beyond a region; no mode here has one", convert=convert.real)
    out_dtype: str = attribute("", "dtype of the result; data's if empty", convert=convert.dtype_or_same)
    fusion = Fusion.INJECTIVE
    precision = Precision.NEVER
    examples = (
        example(floats(1, 2, 4, 5), size=(8, 7)),
        example(floats(1, 2, 7, 6), size=(3, 4), coordinate_transformation_mode="align_corners"),
        example(floats(1, 4, 5, 2), size=(6, 6), layout="NHWC", method="nearest_neighbor", rounding_method="floor",
                coordinate_transformation_mode="asymmetric"),
        example(floats(1, 1, 5, 5), size=(7, 4), method="cubic", cubic_alpha=-0.75),
        example(floats(1, 1, 5, 5), size=(4, 9), method="cubic", cubic_exclude=True),
        example(floats(1, 1, 4, 4), size=(1, 3), coordinate_transformation_mode="pytorch_half_pixel"),
        example(floats(1, 1, 4, 3), size=(6, 4), method="nearest_neighbor",
                coordinate_transformation_mode="asymmetric"),
        example(floats(1, 1, 4, 3), size=(6, 4), method="nearest_neighbor",
                coordinate_transformation_mode="align_corners"),
        example(floats(1, 1, 4, 4), size=(3, 3), out_dtype="float64", tolerance=2e-5),
        bad(floats(1, 2, 3), size=(2, 2), error="4 axes"), bad(floats(1, 2, 3, 3), size=(0, 2), error="positive"),
        bad(floats(1, 2, 3, 3), size=2, method="best", error="one of"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "layout", operands, types, wish)

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data", 4)
        check_positive(self, size=self.size)
        some_elements(self, kind, PLACES[self.layout][:2], "an image without pixels cannot be resized")
        if not kind.dtype.is_float and self.method != "nearest_neighbor":
            refuse(self, "E-TYPE-DTYPE", "data must be of a float dtype", found=kind.dtype)
        return TensorType(self._shape(kind.shape), DataType(self.out_dtype or kind.dtype))

    def _shape(self, shape: Shape) -> Shape:
        height, width, _ = PLACES[self.layout]
        result = list(shape)
        result[height], result[width] = self.size
        return tuple(result)

    def reference(self, data: np.ndarray) -> np.ndarray:
        result = data
        for axis, count in zip(PLACES[self.layout][:2], self.size, strict=True):
            pixels, weights = taps(self, count, data.shape[axis])
            moved = np.moveaxis(result, axis, -1)
            if self.method == "nearest_neighbor":
                moved = moved[..., pixels[:, 0]]
            else:
                moved = (moved[..., pixels] * weights).sum(-1)
            result = np.moveaxis(moved, -1, axis)
        result = np.ascontiguousarray(result).astype(data.dtype)
        return cast_numpy(result, DataType(self.out_dtype)) if self.out_dtype else result

    def compute(self, data: Any) -> Any:
        height, width, _ = PLACES[self.layout]
        result = data
        for axis, count in ((height, self.size[0]), (width, self.size[1])):
            if not isinstance(data.shape[axis], int):
                refuse(self, "E-TYPE-DYNAMIC", "the size of the image must be known while compiling")
            pixels, weights = taps(self, count, data.shape[axis])
            result = _interpolated(result, axis, pixels, weights, f"{stage_name(self)}_{'hw'[axis == width]}")
        if self.out_dtype in ("", data.dtype):
            return result
        return elementwise(self, lambda value: cast_scalar(DataType(self.out_dtype), value), result)

    def flops(self, data: TensorType) -> int:
        many = {"nearest_neighbor": 0, "linear": 8, "cubic": 32}[self.method]
        return many * TensorType(self._shape(data.shape), data.dtype).size


def _interpolated(data: Any, axis: int, pixels: np.ndarray, weights: np.ndarray, name: str) -> Any:
    """The te stage that mixes source pixels along one axis, with pixels and weights from small tables."""
    shape = (*data.shape[:axis], len(pixels), *data.shape[axis + 1 :])
    exact = weights.shape[1] == 1

    def element(*i: Any) -> Any:
        total: Any = None
        for tap in range(pixels.shape[1]):
            where = _looked_up(i[axis], pixels[:, tap].tolist(), "int64")
            value = data(*i[:axis], where, *i[axis + 1 :])
            if not exact:
                value = value * _looked_up(i[axis], weights[:, tap].tolist(), data.dtype)
            total = value if total is None else total + value
        return total

    return te.compute(shape, element, name=name, tag="injective")


def _looked_up(index: Any, values: list[Any], dtype: str) -> Any:
    """values[index] as a balanced tree of choices (constants need no memory)."""
    first = values[0]
    if all(value == first for value in values):
        return build.const(first, dtype)
    half = len(values) // 2
    return build.select(
        index < half,
        _looked_up(index, values[:half], dtype),
        _looked_up(index - half, values[half:], dtype),
    )


@operator("nn.upsampling")
class Upsampling(Operator):
    """Images made larger by whole or fractional factors."""

    scale_h: float = attribute(1, "factor of the height", convert=convert.real)
    scale_w: float = attribute(1, "factor of the width", convert=convert.real)
    layout: str = _LAYOUT
    method: str = attribute("nearest_neighbor", "interpolation", choices=("nearest_neighbor", "bilinear", "bicubic"))
    align_corners: bool = attribute(False, "corners of both images coincide", convert=convert.boolean)
    fusion = Fusion.INJECTIVE
    precision = Precision.NEVER
    examples = (
        example(floats(1, 2, 3, 4), scale_h=2, scale_w=2),
        example(floats(1, 3, 4, 2), scale_h=2, scale_w=3, layout="NHWC"),
        example(floats(1, 2, 3, 4), scale_h=2, scale_w=1.5, method="bilinear"),
        example(floats(1, 1, 3, 4), scale_h=2, scale_w=2, method="bilinear", align_corners=True),
        bad(floats(1, 2, 3), scale_h=2, error="4 axes"), bad(floats(1, 2, 3, 3), scale_h=0, error="positive"),
    )  # fmt: skip

    def resize(self, shape: Shape) -> Resize2D:
        """The same as a resize to a given size."""
        height, width, _ = PLACES[self.layout]
        extents = (shape[height], shape[width])
        if not all(isinstance(extent, int) for extent in extents):
            refuse(self, "E-TYPE-DYNAMIC", "the size of the image must be known while compiling")
        check_positive(self, scales=(self.scale_h, self.scale_w))
        size = tuple(round(extent * scale) for extent, scale in zip(extents, (self.scale_h, self.scale_w), strict=True))  # type: ignore[operator]
        method = {"bilinear": "linear", "bicubic": "cubic"}.get(self.method, self.method)
        return Resize2D(
            size=size,  # type: ignore[arg-type]
            layout=self.layout,
            method=method,
            coordinate_transformation_mode="align_corners" if self.align_corners else "asymmetric",
        )

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "layout", operands, types, wish)

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data", 4)
        return self.resize(kind.shape).infer(kind)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return self.resize(data.shape).reference(data)

    def compute(self, data: Any) -> Any:
        return self.resize(data.shape).compute(data)

    def flops(self, data: TensorType) -> int:
        return self.resize(data.shape).flops(data)


@operator("nn.depth_to_space")
class DepthToSpace(Operator):
    """Groups of block_size² channels spread over the plane; mode "DCR" has the block outermost among the channels."""

    block_size: int = attribute(doc="side of a block", convert=convert.integer)
    layout: str = _LAYOUT
    mode: str = attribute("DCR", "order of channels", choices=("DCR", "CRD"))
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    examples = (
        example(floats(1, 8, 2, 3), block_size=2), example(floats(1, 8, 2, 3), block_size=2, mode="CRD"),
        example(floats(1, 2, 3, 8), block_size=2, layout="NHWC"),
        bad(floats(1, 6, 2, 2), block_size=2, error="multiple"),
        bad(floats(1, 4, 2, 2), block_size=0, error="positive"),
    )  # fmt: skip

    def _shape(self, shape: Shape) -> Shape:
        check_positive(self, block_size=self.block_size)
        height, width, channel = PLACES[self.layout]
        square = self.block_size**2
        if isinstance(shape[channel], int) and shape[channel] % square:  # type: ignore[operator]
            refuse(self, "E-TYPE-SHAPE", f"channels must be a multiple of {square}", found=shape[channel])
        result = list(shape)
        result[channel] = floor_divide(shape[channel], square)
        result[height], result[width] = (multiply(shape[axis], self.block_size) for axis in (height, width))
        return tuple(result)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "layout", operands, types, wish)

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data", 4)
        return TensorType(self._shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        block = self.block_size
        plain = data if self.layout == "NCHW" else data.transpose(0, 3, 1, 2)
        n, c, h, w = plain.shape
        if self.mode == "DCR":
            parts = plain.reshape(n, block, block, c // block**2, h, w).transpose(0, 3, 4, 1, 5, 2)
        else:
            parts = plain.reshape(n, c // block**2, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
        found = parts.reshape(n, c // block**2, h * block, w * block)
        return np.ascontiguousarray(found if self.layout == "NCHW" else found.transpose(0, 2, 3, 1))

    def compute(self, data: Any) -> Any:
        height, width, channel = PLACES[self.layout]
        shape, block = self._shape(data.shape), self.block_size

        def element(*i: Any) -> Any:
            where = list(i)
            row, column = i[height] % block, i[width] % block
            where[height], where[width] = i[height] // block, i[width] // block
            place = row * block + column
            where[channel] = (
                place * shape[channel] + i[channel] if self.mode == "DCR" else i[channel] * block**2 + place
            )
            return data(*where)

        return injective(self, shape, element)


@operator("nn.space_to_depth")
class SpaceToDepth(Operator):
    """Blocks of the plane gathered into channels: the inverse of depth_to_space (mode "DCR")."""

    block_size: int = attribute(doc="side of a block", convert=convert.integer)
    layout: str = _LAYOUT
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    examples = (
        example(floats(1, 2, 4, 6), block_size=2), example(floats(1, 4, 6, 2), block_size=2, layout="NHWC"),
        bad(floats(1, 2, 3, 4), block_size=2, error="multiple"), bad(floats(2, 4, 4), block_size=2, error="4 axes"),
    )  # fmt: skip

    def _shape(self, shape: Shape) -> Shape:
        check_positive(self, block_size=self.block_size)
        height, width, channel = PLACES[self.layout]
        result = list(shape)
        for axis in (height, width):
            extent = shape[axis]
            if isinstance(extent, int) and extent % self.block_size:
                refuse(self, "E-TYPE-SHAPE", f"height and width must be a multiple of {self.block_size}", found=extent)
            result[axis] = floor_divide(extent, self.block_size)
        result[channel] = multiply(shape[channel], self.block_size**2)
        return tuple(result)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "layout", operands, types, wish)

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data", 4)
        return TensorType(self._shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        block = self.block_size
        plain = data if self.layout == "NCHW" else data.transpose(0, 3, 1, 2)
        n, c, h, w = plain.shape
        parts = plain.reshape(n, c, h // block, block, w // block, block).transpose(0, 3, 5, 1, 2, 4)
        found = parts.reshape(n, c * block**2, h // block, w // block)
        return np.ascontiguousarray(found if self.layout == "NCHW" else found.transpose(0, 2, 3, 1))

    def compute(self, data: Any) -> Any:
        height, width, channel = PLACES[self.layout]
        block, channels = self.block_size, data.shape[channel]

        def element(*i: Any) -> Any:
            where = list(i)
            place = i[channel] // channels
            where[channel] = i[channel] % channels
            where[height], where[width] = i[height] * block + place // block, i[width] * block + place % block
            return data(*where)

        return injective(self, self._shape(data.shape), element)
