"""Pooling: max and average over windows, over the whole plane, and over windows chosen to give an output size.

>>> MaxPool2D(pool_size=(3, 3), strides=(2, 2)).infer(TensorType((1, 8, 7, 7)))
Tensor[(1, 8, 3, 3), float32]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType
from . import arrange
from . import attributes as convert
from . import layout as layouts
from .nn_conv import check_positive, window_extent
from .samples import floats, ints
from .shapes import Shape, known, refuse, some_elements, tensor, whole

_OUT_LAYOUTS = ("", "NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC")


def spatial_axes(layout: str) -> tuple[int, ...]:
    """Places of the pooled axes."""
    return tuple(at for at, (letter, _) in enumerate(layouts.parse(layout).axes) if letter in "DHW")


class Pool(Operator):
    """The base of pooling over windows.  Attributes come from the classes; `spatial` is the number of pooled axes."""

    __slots__ = ()
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    padding_value = 0.0
    average: ClassVar[bool]

    def window(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """(size, strides, dilation, pads: all before, then all after)."""
        own: Any = self
        check_positive(self, pool_size=own.pool_size, strides=own.strides, dilation=own.dilation)
        return own.pool_size, own.strides, own.dilation, own.padding

    def axes(self) -> tuple[int, ...]:
        own: Any = self
        return spatial_axes(own.layout)

    def out_extent(self, extent: Dimension, at: int) -> Dimension:
        """Number of windows along a pooled axis; ceil_mode counts a last one that begins inside data or front pad."""
        own: Any = self
        size, strides, dilation, pads = self.window()
        before, after = pads[at], pads[at + len(size)]
        reach = (size[at] - 1) * dilation[at] + 1
        if max(before, after) >= reach and reach > 1:
            refuse(
                self, "E-TYPE-WINDOW", "padding must be smaller than the window", found=pads, expected=f"below {reach}"
            )
        if not own.ceil_mode:
            return window_extent(self, extent, before + after, size[at], strides[at], dilation[at])
        count = window_extent(self, extent, before + after + strides[at] - 1, size[at], strides[at], dilation[at])
        if isinstance(count, int) and isinstance(extent, int) and (count - 1) * strides[at] >= extent + before:
            count -= 1
        return count

    def shape(self, shape: Shape) -> Shape:
        result = list(shape)
        for at, axis in enumerate(self.axes()):
            result[axis] = self.out_extent(shape[axis], at)
        return tuple(result)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "layout", operands, types, wish)

    def infer(self, data: TensorType) -> TensorType:
        own: Any = self
        kind = tensor(self, data, "data", len(layouts.parse(own.layout).axes))
        if self.average and not kind.dtype.is_float:
            refuse(self, "E-TYPE-DTYPE", "data must be of a float dtype", found=kind.dtype)
        some_elements(self, kind, self.axes(), "a plane without elements cannot be pooled")
        return TensorType(self.shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return pool_numpy(self, data)

    def compute(self, data: Any) -> Any:
        from .compute_pool import pool

        return pool(self, data)

    def flops(self, data: TensorType) -> int:
        size = int(np.prod(self.window()[0]))
        return size * TensorType(self.shape(data.shape), data.dtype).size


def least(dtype: np.dtype) -> Any:
    """The value that max never prefers."""
    return -np.inf if dtype.kind not in "iub" else np.iinfo(dtype).min


def pool_numpy(op: Any, data: np.ndarray) -> np.ndarray:
    """Pooling in NumPy: one pass for each tap of the window."""
    size, strides, dilation, pads = op.window()
    axes, rank = op.axes(), len(size)
    shape = op.shape(data.shape)
    wide = [(0, 0)] * data.ndim
    for at, axis in enumerate(axes):
        end = (int(shape[axis]) - 1) * strides[at] + (size[at] - 1) * dilation[at] + 1
        wide[axis] = (pads[at], max(pads[at + rank], end - data.shape[axis] - pads[at]))
    padded = np.pad(data, wide, constant_values=0 if op.average else least(data.dtype))
    total = np.full(shape, 0 if op.average else least(data.dtype), np.float64 if op.average else data.dtype)
    for tap in np.ndindex(*size):
        cut = [slice(None)] * data.ndim
        for at, axis in enumerate(axes):
            first = tap[at] * dilation[at]
            cut[axis] = slice(first, first + (int(shape[axis]) - 1) * strides[at] + 1, strides[at])
        part = padded[tuple(cut)]
        total = total + part if op.average else np.maximum(total, part)
    if not op.average:
        return total
    for at, axis in enumerate(axes):
        counts = window_counts(op, at, data.shape[axis], int(shape[axis]))
        total = total / counts.reshape([-1 if place == axis else 1 for place in range(data.ndim)])
    return total.astype(data.dtype)


def window_counts(op: Any, at: int, extent: int, outputs: int) -> np.ndarray:
    """By output position along one axis: how many taps count (inside data, or data and padding)."""
    size, strides, dilation, pads = op.window()
    taps = np.arange(outputs)[:, None] * strides[at] + np.arange(size[at])[None, :] * dilation[at]
    if op.count_include_pad:
        inside = taps < extent + pads[at] + pads[at + len(size)]
    else:
        inside = (taps >= pads[at]) & (taps < extent + pads[at])
    return np.maximum(inside.sum(1), 1)


_CEIL = attribute(False, "count a last, partial window", convert=convert.boolean)
_COUNT = attribute(False, "average over padding too", convert=convert.boolean)
_SIZE1 = attribute((1,), doc="extent of the window", convert=convert.single)
_SIZE2 = attribute((1, 1), doc="height and width of the window", convert=convert.pair)
_STEP1 = attribute((1,), "step of the window", convert=convert.single)
_STEP2 = attribute((1, 1), "steps of the window", convert=convert.pair)
_GAP1 = attribute((1,), "distance between taps", convert=convert.single)
_GAP2 = attribute((1, 1), "distances between taps", convert=convert.pair)
_PAD2 = attribute((0, 0), "before and after", convert=convert.padding2)
_PAD4 = attribute((0, 0, 0, 0), "top, left, bottom, right", convert=convert.padding4)


def _layout_of(letters: str) -> Callable[[Any], str]:
    """Accepts the layouts of data with these axes, channels in blocks included ("NCHW16c")."""

    def accept(value: Any) -> str:
        found = layouts.parse(str(value))
        if sorted(found.letters) != sorted(letters) or set(found.factors) - {"C"}:
            raise ValueError(f"an order of {letters}, perhaps with blocks of channels")
        return str(value)

    return accept


_LAYOUT1 = attribute("NCW", "layout of data", convert=_layout_of("NCW"))
_LAYOUT2 = attribute("NCHW", "layout of data", convert=_layout_of("NCHW"))
_OUT_LAYOUT = attribute("", "layout of the result: that of data", choices=_OUT_LAYOUTS)
_examples2 = (
    example(floats(1, 2, 6, 7), pool_size=2, strides=2),
    example(floats(1, 2, 6, 7), pool_size=(3, 2), strides=(2, 1), padding=(1, 0, 1, 1)),
    example(floats(1, 2, 6, 7), pool_size=3, strides=2, ceil_mode=True),
    example(floats(1, 1, 8, 8), pool_size=2, dilation=(2, 3)),
    example(floats(1, 6, 7, 2), pool_size=2, strides=2, padding=1, layout="NHWC"),
    example(floats(1, 2, 6, 7, 4), pool_size=2, strides=2, padding=1, layout="NCHW4c"),
    bad(floats(1, 2, 4, 4), pool_size=2, layout="NCHD", error="an order of NCHW"),
    example(floats(1, 1, 5, 5), pool_size=3, strides=3, padding=1, ceil_mode=True),
    bad(floats(2, 6, 7), pool_size=2, error="4 axes"), bad(floats(1, 2, 2, 2), pool_size=3, error="larger"),
    bad(floats(1, 2, 4, 4), pool_size=2, strides=0, error="positive"),
    bad(floats(1, 2, 4, 4), pool_size=2, padding=2, error="smaller"),
)  # fmt: skip
_examples1 = (
    example(floats(1, 2, 7), pool_size=2, strides=2),
    example(floats(1, 2, 7), pool_size=3, strides=2, padding=1, ceil_mode=True),
    bad(floats(2, 6), pool_size=2, error="3 axes"), bad(floats(1, 2, 2), pool_size=3, error="larger"),
)  # fmt: skip


@operator("nn.max_pool2d")
class MaxPool2D(Pool):
    """The greatest value of each window."""

    pool_size: tuple[int, int] = _SIZE2
    strides: tuple[int, int] = _STEP2
    dilation: tuple[int, int] = _GAP2
    padding: tuple[int, ...] = _PAD4
    layout: str = _LAYOUT2
    out_layout: str = _OUT_LAYOUT
    ceil_mode: bool = _CEIL
    precision = Precision.FOLLOW
    padding_value = -math.inf
    family = "pool"
    average = False
    examples = (*_examples2, example(ints(1, 2, 4, 4), pool_size=2, padding=1))


@operator("nn.avg_pool2d")
class AvgPool2D(Pool):
    """The mean of each window."""

    pool_size: tuple[int, int] = _SIZE2
    strides: tuple[int, int] = _STEP2
    dilation: tuple[int, int] = _GAP2
    padding: tuple[int, ...] = _PAD4
    layout: str = _LAYOUT2
    out_layout: str = _OUT_LAYOUT
    ceil_mode: bool = _CEIL
    count_include_pad: bool = _COUNT
    precision = Precision.NEVER
    family = "pool"
    average = True
    accumulates = True
    examples = (
        *_examples2, example(floats(1, 2, 5, 5), pool_size=3, padding=1, count_include_pad=True),
        example(floats(1, 1, 6, 6), pool_size=3, strides=2, padding=(0, 1, 1, 0), ceil_mode=True,
                count_include_pad=True),
        bad(ints(1, 2, 4, 4), pool_size=2, error="float dtype"),
    )  # fmt: skip


@operator("nn.max_pool1d")
class MaxPool1D(Pool):
    """The greatest value of each window."""

    pool_size: tuple[int] = _SIZE1
    strides: tuple[int] = _STEP1
    dilation: tuple[int] = _GAP1
    padding: tuple[int, int] = _PAD2
    layout: str = _LAYOUT1
    out_layout: str = _OUT_LAYOUT
    ceil_mode: bool = _CEIL
    precision = Precision.FOLLOW
    padding_value = -math.inf
    family = "pool"
    average = False
    examples = _examples1


@operator("nn.avg_pool1d")
class AvgPool1D(Pool):
    """The mean of each window."""

    pool_size: tuple[int] = _SIZE1
    strides: tuple[int] = _STEP1
    dilation: tuple[int] = _GAP1
    padding: tuple[int, int] = _PAD2
    layout: str = _LAYOUT1
    out_layout: str = _OUT_LAYOUT
    ceil_mode: bool = _CEIL
    count_include_pad: bool = _COUNT
    precision = Precision.NEVER
    family = "pool"
    average = True
    accumulates = True
    examples = (*_examples1, example(floats(1, 2, 5), pool_size=3, padding=1, count_include_pad=True))


_SIZE3 = attribute((1, 1, 1), doc="depth, height and width of the window", convert=convert.triple)
_STEP3 = attribute((1, 1, 1), "steps of the window", convert=convert.triple)
_GAP3 = attribute((1, 1, 1), "distances between taps", convert=convert.triple)
_PAD6 = attribute((0,) * 6, "three before, three after", convert=convert.padding6)
_LAYOUT3 = attribute("NCDHW", "layout of data", convert=_layout_of("NCDHW"))
_examples3 = (
    example(floats(1, 2, 4, 5, 4), pool_size=2, strides=(1, 2, 2)),
    example(floats(1, 1, 4, 4, 4), pool_size=(2, 3, 2), padding=(0, 1, 1, 1, 1, 0)),
    bad(floats(1, 2, 4, 4), pool_size=2, error="5 axes"),
)


@operator("nn.max_pool3d")
class MaxPool3D(Pool):
    """The greatest value of each window."""

    pool_size: tuple[int, ...] = _SIZE3
    strides: tuple[int, ...] = _STEP3
    dilation: tuple[int, ...] = _GAP3
    padding: tuple[int, ...] = _PAD6
    layout: str = _LAYOUT3
    out_layout: str = _OUT_LAYOUT
    ceil_mode: bool = _CEIL
    precision = Precision.FOLLOW
    padding_value = -math.inf
    family = "pool"
    average = False
    examples = _examples3


@operator("nn.avg_pool3d")
class AvgPool3D(Pool):
    """The mean of each window."""

    pool_size: tuple[int, ...] = _SIZE3
    strides: tuple[int, ...] = _STEP3
    dilation: tuple[int, ...] = _GAP3
    padding: tuple[int, ...] = _PAD6
    layout: str = _LAYOUT3
    out_layout: str = _OUT_LAYOUT
    ceil_mode: bool = _CEIL
    count_include_pad: bool = _COUNT
    precision = Precision.NEVER
    family = "pool"
    average = True
    accumulates = True
    examples = _examples3


class GlobalPool(Operator):
    """The base of pooling over the whole plane; the plane's axes stay with extent 1."""

    __slots__ = ()
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    average: ClassVar[bool]

    def axes(self) -> tuple[int, ...]:
        own: Any = self
        return spatial_axes(own.layout)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "layout", operands, types, wish)

    def infer(self, data: TensorType) -> TensorType:
        own: Any = self
        kind = tensor(self, data, "data", len(layouts.parse(own.layout).axes))
        if self.average and not kind.dtype.is_float:
            refuse(self, "E-TYPE-DTYPE", "data must be of a float dtype", found=kind.dtype)
        some_elements(self, kind, self.axes(), "a plane without elements cannot be pooled")
        return TensorType(tuple(1 if at in self.axes() else extent for at, extent in enumerate(kind.shape)), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        if self.average:
            return data.mean(self.axes(), keepdims=True, dtype=np.float64).astype(data.dtype)
        return data.max(self.axes(), keepdims=True)

    def compute(self, data: Any) -> Any:
        from .compute_pool import global_pool

        return global_pool(self, data)

    def flops(self, data: TensorType) -> int:
        return data.size


@operator("nn.global_avg_pool2d")
class GlobalAvgPool2D(GlobalPool):
    """The mean of each plane."""

    layout: str = _LAYOUT2
    out_layout: str = _OUT_LAYOUT
    precision = Precision.NEVER
    average = True
    aliases = {"onnx": "GlobalAveragePool"}
    accumulates = True
    examples = (
        example(floats(2, 3, 4, 5)), example(floats(1, 4, 5, 2), layout="NHWC"), bad(floats(2, 3), error="4 axes"),
        bad(ints(1, 2, 4, 4), error="float dtype"),
    )  # fmt: skip


@operator("nn.global_max_pool2d")
class GlobalMaxPool2D(GlobalPool):
    """The greatest value of each plane."""

    layout: str = _LAYOUT2
    out_layout: str = _OUT_LAYOUT
    precision = Precision.FOLLOW
    average = False
    aliases = {"onnx": "GlobalMaxPool"}
    examples = (
        example(floats(2, 3, 4, 5)),
        example(ints(1, 4, 5, 2), layout="NHWC"),
        bad(floats(2, 3), error="4 axes"),
    )


class AdaptivePool(Operator):
    """The base of pooling to a given output size: window i covers floor(i*in/out) ... ceil((i+1)*in/out) - 1."""

    __slots__ = ()
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    average: ClassVar[bool]

    def axes(self) -> tuple[int, ...]:
        own: Any = self
        return spatial_axes(own.layout)

    def sizes(self, shape: Shape) -> tuple[int, ...]:
        """Output extents of the pooled axes."""
        own: Any = self
        if own.output_size is None:
            return tuple(known(self, shape[axis], "the extent") for axis in self.axes())
        check_positive(self, output_size=own.output_size)
        return own.output_size

    def shape(self, shape: Shape) -> Shape:
        result = list(shape)
        for axis, size in zip(self.axes(), self.sizes(shape), strict=True):
            result[axis] = size
        return tuple(result)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "layout", operands, types, wish)

    def infer(self, data: TensorType) -> TensorType:
        own: Any = self
        kind = tensor(self, data, "data", len(layouts.parse(own.layout).axes))
        if not kind.dtype.is_float:
            refuse(self, "E-TYPE-DTYPE", "data must be of a float dtype", found=kind.dtype)
        some_elements(self, kind, self.axes(), "a plane without elements cannot be pooled")
        return TensorType(self.shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        result = np.empty(whole(self.shape(data.shape)), data.dtype)
        axes, sizes = self.axes(), self.sizes(data.shape)
        for where in np.ndindex(*sizes):
            cut: list[Any] = [slice(None)] * data.ndim
            put: list[Any] = [slice(None)] * data.ndim
            for axis, at, size in zip(axes, where, sizes, strict=True):
                cut[axis] = slice(*adaptive_window(at, data.shape[axis], size))
                put[axis] = at
            part = data[tuple(cut)]
            result[tuple(put)] = part.mean(axes, dtype=np.float64) if self.average else part.max(axes)
        return result

    def compute(self, data: Any) -> Any:
        from .compute_pool import adaptive_pool

        return adaptive_pool(self, data)

    def flops(self, data: TensorType) -> int:
        return data.size


def adaptive_window(at: Any, extent: Any, size: int) -> tuple[Any, Any]:
    """(begin, end) of output window `at`."""
    return at * extent // size, ((at + 1) * extent + size - 1) // size


_OUTPUT2 = attribute(None, "height and width of the result", convert=convert.optional(convert.pair))
_OUTPUT1 = attribute(None, "extent of the result", convert=convert.optional(convert.single))
_adaptive2 = (
    example(floats(1, 2, 7, 6), output_size=(3, 2)), example(floats(1, 2, 4, 4), output_size=1),
    example(floats(1, 2, 3, 3)), example(floats(1, 5, 6, 2), output_size=(2, 4), layout="NHWC"),
    bad(floats(1, 2, 4), output_size=1, error="4 axes"), bad(floats(1, 2, 4, 4), output_size=0, error="positive"),
)  # fmt: skip
_adaptive1 = (example(floats(1, 2, 7), output_size=3), bad(floats(1, 2), output_size=1, error="3 axes"))


@operator("nn.adaptive_avg_pool2d")
class AdaptiveAvgPool2D(AdaptivePool):
    """The mean of windows that give `output_size`."""

    output_size: tuple[int, int] | None = _OUTPUT2
    layout: str = _LAYOUT2
    out_layout: str = _OUT_LAYOUT
    precision = Precision.NEVER
    average = True
    accumulates = True
    examples = _adaptive2


@operator("nn.adaptive_max_pool2d")
class AdaptiveMaxPool2D(AdaptivePool):
    """The greatest value of windows that give `output_size`."""

    output_size: tuple[int, int] | None = _OUTPUT2
    layout: str = _LAYOUT2
    out_layout: str = _OUT_LAYOUT
    precision = Precision.FOLLOW
    average = False
    examples = _adaptive2


@operator("nn.adaptive_avg_pool1d")
class AdaptiveAvgPool1D(AdaptivePool):
    """The mean of windows that give `output_size`."""

    output_size: tuple[int] | None = _OUTPUT1
    layout: str = _LAYOUT1
    out_layout: str = _OUT_LAYOUT
    average = True
    accumulates = True
    examples = _adaptive1


@operator("nn.adaptive_max_pool1d")
class AdaptiveMaxPool1D(AdaptivePool):
    """The greatest value of windows that give `output_size`."""

    output_size: tuple[int] | None = _OUTPUT1
    layout: str = _LAYOUT1
    out_layout: str = _OUT_LAYOUT
    average = False
    examples = _adaptive1
