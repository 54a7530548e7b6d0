"""Operators whose shape depends on values: ``dyn.reshape(data, newshape)`` and its like.

Each is the dynamic form of a static operator: some of that one's attributes are operands here, and the result has
extents `Any()` where they matter.  The interpreter runs them; to be compiled they must become static, which the pass
DynamicToStatic does where the values are known.  Builders choose the form by themselves: `relay.reshape(x, shape)`
with an expression for `shape` is ``dyn.reshape``.

>>> DynReshape().infer(TensorType((2, 3)), TensorType((1,), "int64"))
Tensor[(?), float32]
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..relay.ir.operator import OPERATORS, Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import Any as AnyDimension
from ..relay.ir.types import Dimension, TensorType, TupleType, Type
from . import attributes as convert
from .resize import COORDINATES, ROUNDINGS, region
from .samples import floats
from .shapes import Shape, known, normalized_axis, refuse, same_dtype, tensor


def unknown(count: int) -> Shape:
    """A shape of so many extents that nothing is known of."""
    return tuple(AnyDimension() for _ in range(count))


def listed(op: Operator, kind: TensorType, which: str) -> int:
    """The length of a vector of integers that is given as an operand."""
    found = tensor(op, kind, which, 1)
    if not found.dtype.is_integer:
        refuse(op, "E-TYPE-DTYPE", f"{which} must hold integers", found=found.dtype)
    return known(op, found.shape[0], f"the length of {which}")


def scalar(op: Operator, kind: TensorType, which: str, number: bool = False) -> None:
    """Refuse what is no single integer (`number`: no single number)."""
    found = tensor(op, kind, which)
    if found.shape not in ((), (1,)) or not (found.dtype.is_integer or (number and found.dtype.is_float)):
        refuse(op, "E-TYPE-SHAPE", f"{which} must be one {'number' if number else 'integer'}", found=found)


class DynamicForm(Operator):
    """The base: `static` names the operator, `values` the operands that are its attributes."""

    __slots__ = ()
    fusion = Fusion.OPAQUE
    values: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def static_class(cls) -> type[Operator]:
        """The static operator's class."""
        return OPERATORS[cls.name.removeprefix("dyn.")]

    @classmethod
    def value_places(cls) -> tuple[int, ...]:
        """The places of the operands that become attributes."""
        names = [operand.name for operand in cls.operands()]
        return tuple(names.index(name) for name in cls.values)

    def static(self, arrays: dict[str, np.ndarray]) -> Operator:
        """The static operator with the values of those operands."""
        given = {name: array.reshape(()).item() if array.size == 1 and name in _SINGLE else array.tolist()
                 for name, array in arrays.items()}  # fmt: skip
        return self.static_class()(**self.attributes, **given)

    def reference(self, *operands: Any) -> Any:
        places = self.value_places()
        arrays = {name: np.asarray(operands[at]) for name, at in zip(self.values, places, strict=True)}
        return self.static(arrays).reference(*(value for at, value in enumerate(operands) if at not in places))

    def compute(self, *tensors: Any) -> Any:
        raise WorkbenchError(
            "E-TYPE-DYNAMIC",
            f"{self.name}: the shape of the result is known at run time only",
            expected=f"constants for {', '.join(self.values)}",
            fix="run DynamicToStatic(), or use the interpreter",
        )


_SINGLE = ("axis", "k", "depth", "scale_h", "scale_w")
"""Attributes that are one number."""
_i64 = np.int64


@operator("dyn.reshape")
class DynReshape(DynamicForm):
    """data in the shape that `newshape` holds."""

    allowzero: bool = attribute(False, "0 means an extent of zero", convert=convert.boolean)
    values = ("newshape",)
    examples = (
        example(floats(2, 6), np.array([3, -1], _i64)), example(floats(4), np.array([2, 2], np.int32)),
        bad(floats(4), floats(2), error="integers"), bad(floats(4), np.array([[2]], _i64), error="1 axes"),
    )  # fmt: skip

    def infer(self, data: TensorType, newshape: TensorType) -> TensorType:
        return TensorType(unknown(listed(self, newshape, "newshape")), tensor(self, data, "data").dtype)


@operator("dyn.broadcast_to")
class DynBroadcastTo(DynamicForm):
    """data repeated to the shape that `shape` holds."""

    values = ("shape",)
    examples = (example(floats(1, 3), np.array([2, 3], _i64)), bad(floats(3), floats(2), error="integers"))

    def infer(self, data: TensorType, shape: TensorType) -> TensorType:
        return TensorType(unknown(listed(self, shape, "shape")), tensor(self, data, "data").dtype)


@operator("dyn.tile")
class DynTile(DynamicForm):
    """data repeated `reps` times along each axis."""

    values = ("reps",)
    examples = (example(floats(2, 3), np.array([2, 1, 2], _i64)), bad(floats(3), floats(2), error="integers"))

    def infer(self, data: TensorType, reps: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        return TensorType(unknown(max(len(kind.shape), listed(self, reps, "reps"))), kind.dtype)


@operator("dyn.full")
class DynFull(DynamicForm):
    """`fill_value` everywhere, in the shape that `shape` holds."""

    dtype: str = attribute("", "dtype of the result; that of the value by default", convert=convert.dtype_or_same)
    values = ("shape",)
    examples = (example(floats(), np.array([2, 3], _i64)), bad(floats(), floats(2), error="integers"))

    def infer(self, fill_value: TensorType, shape: TensorType) -> TensorType:
        kind = tensor(self, fill_value, "fill_value", 0)
        return TensorType(unknown(listed(self, shape, "shape")), DataType(self.dtype or kind.dtype))


@operator("dyn.zeros")
class DynZeros(DynamicForm):
    """Zeros in the shape that `shape` holds."""

    dtype: DataType = attribute("float32", "dtype of the result", convert=convert.dtype)
    values = ("shape",)
    examples = (example(np.array([2, 3], _i64)), bad(floats(2), error="integers"))

    def infer(self, shape: TensorType) -> TensorType:
        return TensorType(unknown(listed(self, shape, "shape")), self.dtype)


@operator("dyn.ones")
class DynOnes(DynamicForm):
    """Ones in the shape that `shape` holds."""

    dtype: DataType = attribute("float32", "dtype of the result", convert=convert.dtype)
    values = ("shape",)
    examples = (example(np.array([2, 3], _i64), dtype="int32"), bad(floats(2), error="integers"))

    def infer(self, shape: TensorType) -> TensorType:
        return TensorType(unknown(listed(self, shape, "shape")), self.dtype)


@operator("dyn.expand_dims")
class DynExpandDims(DynamicForm):
    """`num_newaxis` new axes of extent 1 at `axis`."""

    num_newaxis: int = attribute(1, "how many", convert=convert.integer)
    values = ("axis",)
    examples = (example(floats(2, 3), np.array(1, _i64)), bad(floats(2), floats(), error="one integer"))

    def infer(self, data: TensorType, axis: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        scalar(self, axis, "axis")
        if self.num_newaxis < 0:
            refuse(self, "E-TYPE-AXIS", "num_newaxis cannot be negative", found=self.num_newaxis)
        return TensorType(unknown(len(kind.shape) + self.num_newaxis), kind.dtype)


@operator("dyn.squeeze")
class DynSqueeze(DynamicForm):
    """The axes that `axis` lists, all of extent 1, removed."""

    values = ("axis",)
    examples = (
        example(floats(1, 3, 1), np.array([0, 2], _i64)), bad(floats(1), np.array([0, 1], _i64), error="more axes"),
    )  # fmt: skip

    def infer(self, data: TensorType, axis: TensorType) -> TensorType:
        kind, gone = tensor(self, data, "data"), listed(self, axis, "axis")
        if gone > len(kind.shape):
            refuse(self, "E-TYPE-AXIS", "more axes are removed than there are", found=gone)
        return TensorType(unknown(len(kind.shape) - gone), kind.dtype)

    def static(self, arrays: dict[str, np.ndarray]) -> Operator:
        static: Any = self.static_class()
        return static(axis=arrays["axis"].reshape(-1).tolist())


@operator("dyn.strided_slice")
class DynStridedSlice(DynamicForm):
    """data[begin:end:strides] of the leading axes."""

    slice_mode: str = attribute("end", "what `end` holds", choices=("end", "size"))
    values = ("begin", "end", "strides")
    examples = (
        example(floats(5, 6), np.array([1, 2], _i64), np.array([4, 6], _i64), np.array([1, 2], _i64)),
        bad(floats(5), *(np.array([1, 1], _i64),) * 3, error="more axes"),
        bad(floats(5), np.array([1], _i64), np.array([1, 2], _i64), np.array([1], _i64), error="same length"),
    )  # fmt: skip

    def infer(self, data: TensorType, begin: TensorType, end: TensorType, strides: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        counts = [listed(self, one, name) for name, one in zip(self.values, (begin, end, strides), strict=True)]
        if len(set(counts)) != 1:
            refuse(self, "E-TYPE-SLICE", "begin, end and strides must have the same length", found=counts)
        if counts[0] > len(kind.shape):
            refuse(self, "E-TYPE-SLICE", "more axes are cut than there are", found=counts[0])
        return TensorType((*unknown(counts[0]), *kind.shape[counts[0] :]), kind.dtype)


@operator("dyn.topk")
class DynTopK(DynamicForm):
    """The `k` greatest elements along `axis`, and where they stand."""

    axis: int = attribute(-1, "along which axis", convert=convert.integer)
    ret_type: str = attribute("both", "what is answered", choices=("both", "values", "indices"))
    is_ascend: bool = attribute(False, "the least first", convert=convert.boolean)
    dtype: DataType = attribute("int32", "dtype of the positions", convert=convert.dtype)
    values = ("k",)
    examples = (
        example(floats(3, 5), np.array(2, _i64)), example(floats(3, 5), np.array([2], _i64), ret_type="values", axis=0),
        bad(floats(3), floats(), error="one integer"),
    )  # fmt: skip

    def infer(self, data: TensorType, k: TensorType) -> Type:
        kind = tensor(self, data, "data")
        scalar(self, k, "k")
        axis = normalized_axis(self, self.axis, len(kind.shape))
        shape: list[Dimension] = list(kind.shape)
        shape[axis] = AnyDimension()
        found = {"values": TensorType(tuple(shape), kind.dtype), "indices": TensorType(tuple(shape), self.dtype)}
        return TupleType(tuple(found.values())) if self.ret_type == "both" else found[self.ret_type]


@operator("dyn.one_hot")
class DynOneHot(DynamicForm):
    """on_value where the new axis equals the index, off_value elsewhere; the axis has extent `depth`."""

    axis: int = attribute(-1, "place of the new axis", convert=convert.integer)
    dtype: DataType = attribute("float32", "dtype of the result", convert=convert.dtype)
    values = ("depth",)
    parameters = ("indices", "on_value", "off_value", "depth", "axis", "dtype")
    examples = (
        example(np.array([0, 2]), np.float32(1), np.float32(0), np.array(3, _i64)),
        bad(np.array([0, 2]), np.float32(1), np.float32(0), floats(), error="one integer"),
    )  # fmt: skip

    def infer(self, indices: TensorType, on_value: TensorType, off_value: TensorType, depth: TensorType) -> TensorType:
        scalar(self, depth, "depth")
        kind = tensor(self, indices, "indices")
        tensor(self, on_value, "on_value", 0)
        tensor(self, off_value, "off_value", 0)
        return TensorType(unknown(len(kind.shape) + 1), self.dtype)


@operator("dyn.nn.pad")
class DynPad(DynamicForm):
    """Elements added before and after each axis, as the rows of `pad_width` say."""

    pad_mode: str = attribute("constant", "what is added", choices=("constant", "edge", "reflect"))
    values = ("pad_width",)
    parameters = ("data", "pad_width", "pad_value", "pad_mode")
    examples = (
        example(floats(2, 3), np.array([[1, 0], [2, 1]], _i64)),
        example(floats(3), np.array([[1, 1]], _i64), floats()),
        bad(floats(3), np.array([1, 1], _i64), error="2 axes"),
        bad(floats(3), np.array([[1, 1], [0, 0]], _i64), error="each axis"),
    )  # fmt: skip

    def infer(self, data: TensorType, pad_width: TensorType, pad_value: TensorType | None = None) -> TensorType:
        kind, widths = tensor(self, data, "data"), tensor(self, pad_width, "pad_width", 2)
        if pad_value is not None:
            same_dtype(self, kind, tensor(self, pad_value, "pad_value", 0))
        if not widths.dtype.is_integer or widths.shape != (len(kind.shape), 2):
            refuse(self, "E-TYPE-PAD", "pad_width must hold a pair of integers for each axis", found=widths)
        return TensorType(unknown(len(kind.shape)), kind.dtype)


_HEIGHT_AND_WIDTH = {"NCHW": (2, 3), "NHWC": (1, 2)}
_LAYOUT = attribute("NCHW", "layout of data", choices=tuple(_HEIGHT_AND_WIDTH))


def _resized(op: Any, data: TensorType, dtype: str = "") -> TensorType:
    kind = tensor(op, data, "data", 4)
    shape: list[Dimension] = list(kind.shape)
    for axis in _HEIGHT_AND_WIDTH[op.layout]:
        shape[axis] = AnyDimension()
    return TensorType(tuple(shape), DataType(dtype or kind.dtype))


@operator("dyn.image.resize2d")
class DynResize2D(DynamicForm):
    """Images in the height and width that `size` holds."""

    roi: tuple[float, ...] = attribute((0.0, 0.0, 0.0, 0.0), "a region; no mode here looks at it", convert=region)
    layout: str = _LAYOUT
    method: str = attribute("linear", "interpolation", choices=("nearest_neighbor", "linear", "cubic"))
    coordinate_transformation_mode: str = attribute("half_pixel", "where pixels lie", choices=COORDINATES)
    rounding_method: str = attribute("", "nearest pixel of a position", choices=ROUNDINGS)
    cubic_alpha: float = attribute(-0.5, "sharpness of cubic interpolation", convert=convert.real)
    cubic_exclude: bool = attribute(False, "leave pixels outside out of the weights", convert=convert.boolean)
    extrapolation_value: float = attribute(0.0, "beyond a region; no mode here has one", convert=convert.real)
    out_dtype: str = attribute("", "dtype of the result; data's if empty", convert=convert.dtype_or_same)
    values = ("size",)
    examples = (
        example(floats(1, 2, 3, 4), np.array([5, 6], _i64)),
        bad(floats(1, 2, 3), np.array([5, 6], _i64), error="4 axes"),
        bad(floats(1, 2, 3, 4), np.array([5], _i64), error="height and width"),
    )  # fmt: skip

    def infer(self, data: TensorType, size: TensorType) -> TensorType:
        if listed(self, size, "size") != 2:
            refuse(self, "E-TYPE-SHAPE", "size must hold height and width", found=size)
        return _resized(self, data, self.out_dtype)


@operator("dyn.nn.upsampling")
class DynUpsampling(DynamicForm):
    """Images grown by the factors `scale_h` and `scale_w`."""

    layout: str = _LAYOUT
    method: str = attribute("nearest_neighbor", "interpolation", choices=("nearest_neighbor", "bilinear", "bicubic"))
    align_corners: bool = attribute(False, "corners of both images coincide", convert=convert.boolean)
    values = ("scale_h", "scale_w")
    examples = (
        example(floats(1, 2, 3, 4), np.float32(2), np.float32(3)),
        bad(floats(1, 2, 3, 4), floats(2), np.float32(3), error="one number"),
    )  # fmt: skip

    def infer(self, data: TensorType, scale_h: TensorType, scale_w: TensorType) -> TensorType:
        scalar(self, scale_h, "scale_h", number=True)
        scalar(self, scale_w, "scale_w", number=True)
        return _resized(self, data)
