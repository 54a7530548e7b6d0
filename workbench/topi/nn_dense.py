"""Matrix products: nn.dense, nn.contrib_dense_pack, nn.matmul, nn.batch_matmul, nn.bias_add.

>>> Dense().infer(TensorType((2, 8)), TensorType((4, 8)))
Tensor[(2, 4), float32]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import ChannelAxes, Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType, Type
from . import arrange, packing, packing_bytes
from . import attributes as convert
from . import layout as layouts
from .deduce import along_axis, dense_weight
from .emit import batch_indices, stage_name
from .nn_conv import accumulating, result_dtype
from .samples import floats, ints
from .shapes import broadcast, factor_dtype, known, normalized_axis, product, refuse, same_dtype, tensor, text, unify

_OUT_DTYPE = attribute("", "dtype of accumulation and result; data's if empty", convert=convert.dtype_or_same)
NC = layouts.parse("NC")


class ProductExtents(NamedTuple):
    """The extents of a matrix product, and how its columns lie in the second operand."""

    batch: Dimension
    """How many products."""
    rows: Dimension
    columns: Dimension
    inner: Dimension
    block: int = 0
    """Columns of a block that lie side by side; 0: in no blocks."""
    in_order: bool = True
    """Whether columns lie side by side, not a row apart."""


def product_numpy(op: Operator, a: np.ndarray, b: np.ndarray, out_dtype: str) -> np.ndarray:
    """a @ b, added up in the result's dtype."""
    dtype = result_dtype(out_dtype, DataType(a.dtype.name)).to_numpy()
    work = accumulating(dtype)
    return np.asarray(np.matmul(a.astype(work, copy=False), b.astype(work, copy=False))).astype(dtype, copy=False)


def product_stage(op: Operator, shape: Any, extent: Any, out_dtype: str, left: Any, right: Any, name: str = "") -> Any:
    """The te stage sum over k of left(i..., k) * right(i..., k); both answer expressions."""
    k = te.reduce_axis((0, extent), name="k")
    stage = name or stage_name(op)

    def element(*i: Any) -> Any:
        a, b = left(*i, k.var), right(*i, k.var)
        dtype = result_dtype(out_dtype, a.dtype)
        return te.sum(build.cast(dtype, a) * build.cast(dtype, b), axis=k)

    return te.compute(shape, element, name=stage, tag=stage)


@operator("nn.dense")
class Dense(Operator):
    """data (..., in) times the transpose of weight (units, in)."""

    units: int | None = attribute(
        None, "rows of weight; from the weight if None", convert=convert.optional(convert.integer)
    )
    out_dtype: str = _OUT_DTYPE
    family = "product"
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.ALWAYS
    accumulates = True
    multiplies_and_adds = True
    examples = (
        example(floats(2, 8), floats(4, 8)), example(floats(1, 5), floats(3, 5), units=3),
        example(floats(2, 3, 4), floats(5, 4)),
        example(ints(2, 8, dtype="int8"), ints(4, 8, dtype="int8"), out_dtype="int32"),
        example(ints(2, 8, dtype="uint8"), ints(4, 8, dtype="int8"), out_dtype="int32"),
        bad(floats(2, 8), floats(8, 4), error="do not agree"),
        bad(floats(2, 8), floats(4, 8), units=5, error="units"), bad(floats(2, 8), floats(8), error="2 axes"),
        bad(floats(), floats(4, 8), error="at least one axis"),
    )  # fmt: skip

    def deduce(self, data: Type | None, weight: Type | None) -> tuple[Type | None, ...]:
        return dense_weight(self, data, weight)

    def channel_axes(self) -> ChannelAxes | None:
        return ChannelAxes(-1, -1, 1, 0)

    def packed(self, lanes: int, *operands: Any) -> Any:
        return packing.dense(self, lanes, *operands)

    def packed_bytes(self, lanes: int, dot: tuple[str, str], *operands: Any) -> Any:
        return packing_bytes.dense(self, lanes, dot, *operands)

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        kind, matrix = tensor(self, data, "data"), tensor(self, weight, "weight", 2)
        if not kind.shape:
            refuse(self, "E-TYPE-RANK", "data must have at least one axis")
        dtype = factor_dtype(self, kind, matrix)
        unify(self, kind.shape[-1], matrix.shape[1], "the last axes of data and weight")
        rows = matrix.shape[0] if self.units is None else _units(self, matrix.shape[0], self.units)
        return TensorType((*kind.shape[:-1], rows), result_dtype(self.out_dtype, dtype))

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return product_numpy(self, data, weight.T, self.out_dtype)

    def compute(self, data: Any, weight: Any) -> Any:
        shape = (*data.shape[:-1], weight.shape[0])
        return product_stage(
            self, shape, weight.shape[1], self.out_dtype,
            lambda *i: data(*i[:-2], i[-1]), lambda *i: weight(i[-2], i[-1]),
        )  # fmt: skip

    def extents(self, data: TensorType, weight: TensorType) -> ProductExtents:
        batch, rows = _rows(data.shape[:-1])
        return ProductExtents(batch, rows, weight.shape[0], weight.shape[1], in_order=False)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        return 2 * data.size * known(self, weight.shape[0], "units")


def _rows(shape: tuple[Dimension, ...]) -> tuple[Dimension, Dimension]:
    """(products, rows of each): one product for all of the leading axes but the last."""
    return product(shape[:-1]), shape[-1] if shape else 1


def _units(op: Operator, rows: Dimension, units: int) -> Dimension:
    if isinstance(rows, int) and rows != units:
        refuse(op, "E-TYPE-SHAPE", "weight does not have that many units", found=rows, expected=units)
    return units


@operator("nn.contrib_dense_pack")
class DensePack(Operator):
    """`nn.dense` with the weight packed in blocks of rows: weight_layout "NC16n" is (units/16, in, 16).

    "NC16n4c" is (units/16, in/4, 16, 4).  "NC" leaves the size of a block to the weight's third axis.
    """

    weight_layout: str = attribute("NC", "layout of weight", convert=str)
    units: int | None = attribute(
        None, "rows of weight without what was filled up", convert=convert.optional(convert.integer)
    )
    out_dtype: str = _OUT_DTYPE
    family = "product"
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.ALWAYS
    accumulates = True
    multiplies_and_adds = True
    examples = (
        example(floats(2, 5), floats(3, 5, 4), weight_layout="NC4n"),
        example(floats(2, 5), floats(3, 5, 4), weight_layout="NC4n", units=10),
        example(floats(2, 5), floats(3, 5, 4)),
        example(ints(3, 8, dtype="uint8"), ints(2, 2, 4, 4, dtype="int8"), weight_layout="NC4n4c", out_dtype="int32"),
        example(ints(3, 8, dtype="uint8"), ints(2, 2, 16, 4, dtype="int8"), weight_layout="NC16n4c", units=20,
                out_dtype="int32"),
        example(ints(3, 8, dtype="int8"), ints(2, 2, 4, 4, dtype="int8"), weight_layout="NC4n4c", out_dtype="int32"),
        bad(ints(3, 8, dtype="uint8"), ints(2, 2, 4, 4, dtype="int8"), weight_layout="NC4c4n", out_dtype="int32",
            error="blocks"),
        bad(floats(2, 5), floats(3, 5, 4), weight_layout="NC4n", units=8, error="units"),
        bad(floats(2, 5), floats(3, 5, 4), weight_layout="NC8n", error="blocks"),
        bad(floats(2, 5), floats(3, 6, 4), weight_layout="NC4n", error="do not agree"),
        bad(floats(2, 5), floats(12, 5), weight_layout="NC", error="blocks"),
    )  # fmt: skip

    def layout(self, weight: Any) -> Any:
        """How a weight of that shape lies."""
        packed = self.weight_layout == "NC" and len(weight) == 3 and isinstance(weight[2], int)
        return layouts.parse(f"NC{weight[2]}n" if packed else self.weight_layout)

    def sizes(self, weight: Any) -> tuple[Dimension, int]:
        """(units, rows of a block)."""
        found = self.layout(weight)
        block = found.factors.get("N", 0)
        blocked = block > 0 and list(found.axes[:3]) == [("N", 0), ("C", 0), ("N", block)] and weight[2] == block
        if not blocked or any(letter != "C" for letter, _ in found.axes[3:]):
            refuse(
                self, "E-LAYOUT", "weight must be in blocks of rows", found=self.weight_layout,
                expected="NC16n, or NC16n4c",
            )  # fmt: skip
        filled = known(self, weight[0], "the number of units") * block
        units = filled if self.units is None else self.units
        if -(-units // block) * block != filled:
            refuse(self, "E-TYPE-SHAPE", "weight does not have that many units", found=filled, expected=units)
        return units, block

    def _inner(self, weight: Any) -> Dimension:
        """The extent that is summed over."""
        return self.layout(weight).extent(weight, "C")

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        kind, packed = tensor(self, data, "data"), tensor(self, weight, "weight", (2, 3, 4))
        dtype = factor_dtype(self, kind, packed)
        units, _ = self.sizes(packed.shape)
        unify(self, kind.shape[-1], self._inner(packed.shape), "the inner axes of data and weight")
        return TensorType((*kind.shape[:-1], units), result_dtype(self.out_dtype, dtype))

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        units, _ = self.sizes(weight.shape)
        plain = layouts.transform_numpy(weight, self.layout(weight.shape), NC, {"N": int(units)})  # type: ignore[arg-type]
        return product_numpy(self, data, plain.T, self.out_dtype)

    def compute(self, data: Any, weight: Any) -> Any:
        units, block = self.sizes(weight.shape)
        shape = (*data.shape[:-1], weight.shape[0], block)
        if "C" in self.layout(weight.shape).factors:
            packed = self._by_parts(shape, data, weight)
        else:
            packed = product_stage(
                self, shape, weight.shape[1], self.out_dtype,
                lambda *i: data(*i[:-3], i[-1]), lambda *i: weight(i[-3], i[-1], i[-2]), "dense",
            )  # fmt: skip
        return te.compute(
            (*data.shape[:-1], units), lambda *i: packed(*i[:-1], i[-1] // block, i[-1] % block),
            name="dense_unpack", tag="injective",
        )  # fmt: skip

    def _by_parts(self, shape: Any, data: Any, weight: Any) -> Any:
        """The sums over an inner axis in blocks: as many products of each as lie side by side."""
        part = weight.shape[3]
        outer, inner = te.reduce_axis((0, weight.shape[1]), name="k"), te.reduce_axis((0, part), name="ki")
        dtype = result_dtype(self.out_dtype, data.dtype)

        def element(*i: Any) -> Any:
            value = data(*i[:-2], outer.var * part + inner.var)
            product = build.cast(dtype, value) * build.cast(dtype, weight(i[-2], outer.var, i[-1], inner.var))
            return te.sum(product, axis=[outer, inner])

        return te.compute(shape, element, name="dense", tag="dense")

    def extents(self, data: TensorType, weight: TensorType) -> ProductExtents:
        units, block = self.sizes(weight.shape)
        in_order = "C" not in self.layout(weight.shape).factors
        return ProductExtents(*_rows(data.shape[:-1]), units, self._inner(weight.shape), block, in_order)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        return 2 * data.size * known(self, self.sizes(weight.shape)[0], "units")


@operator("nn.matmul")
class MatMul(Operator):
    """tensor_a (..., m, k) times tensor_b (k, n), each possibly stored transposed; a may have one axis."""

    units: int | None = attribute(None, "columns of the result", convert=convert.optional(convert.integer))
    out_dtype: str = _OUT_DTYPE
    transpose_a: bool = attribute(False, "tensor_a is (..., k, m)", convert=convert.boolean)
    transpose_b: bool = attribute(False, "tensor_b is (n, k)", convert=convert.boolean)
    family = "product"
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.ALWAYS
    accumulates = True
    multiplies_and_adds = True
    examples = (
        example(floats(2, 8), floats(8, 4)), example(floats(8, 2), floats(4, 8), transpose_a=True, transpose_b=True),
        example(floats(2, 3, 4), floats(4, 5)), example(floats(2, 3), floats(3, 4), units=4),
        example(floats(3), floats(3, 4)), bad(floats(2, 8), floats(4, 8), error="do not agree"),
        bad(floats(2, 8), floats(8), error="2 axes"),
        bad(floats(8), floats(8, 2), transpose_a=True, error="transpose_a"),
        bad(floats(2, 3), floats(3, 4), units=3, error="units"),
    )  # fmt: skip

    def channel_axes(self) -> ChannelAxes | None:
        data = -2 if self.transpose_a else -1
        return ChannelAxes(data, -1, 1, 0) if self.transpose_b else ChannelAxes(data, -1, 0, 1)

    def infer(self, tensor_a: TensorType, tensor_b: TensorType) -> TensorType:
        a, b = tensor(self, tensor_a, "tensor_a"), tensor(self, tensor_b, "tensor_b", 2)
        if len(a.shape) < 1 + self.transpose_a:
            refuse(self, "E-TYPE-RANK", "tensor_a has too few axes for transpose_a", found=a)
        dtype = factor_dtype(self, a, b)
        rows, k = self._split(a.shape)
        columns, inner = (b.shape[0], b.shape[1]) if self.transpose_b else (b.shape[1], b.shape[0])
        unify(self, k, inner, "the inner axes")
        if self.units is not None:
            _units(self, columns, self.units)
        return TensorType((*rows, columns), result_dtype(self.out_dtype, dtype))

    def _split(self, shape: Any) -> tuple[Any, Any]:
        """(rows, inner extent) of tensor_a."""
        return ((*shape[:-2], shape[-1]), shape[-2]) if self.transpose_a else (shape[:-1], shape[-1])

    def reference(self, tensor_a: np.ndarray, tensor_b: np.ndarray) -> np.ndarray:
        a = np.swapaxes(tensor_a, -1, -2) if self.transpose_a else tensor_a
        return product_numpy(self, a, tensor_b.T if self.transpose_b else tensor_b, self.out_dtype)

    def compute(self, tensor_a: Any, tensor_b: Any) -> Any:
        rows, _ = self._split(tensor_a.shape)
        _, k = self._split(tensor_a.shape)
        columns = tensor_b.shape[0 if self.transpose_b else 1]
        return product_stage(
            self, (*rows, columns), k, self.out_dtype,
            lambda *i: tensor_a(*i[:-3], i[-1], i[-3]) if self.transpose_a else tensor_a(*i[:-2], i[-1]),
            lambda *i: tensor_b(i[-2], i[-1]) if self.transpose_b else tensor_b(i[-1], i[-2]),
        )  # fmt: skip

    def extents(self, tensor_a: TensorType, tensor_b: TensorType) -> ProductExtents:
        rows, inner = self._split(tensor_a.shape)
        columns = tensor_b.shape[0 if self.transpose_b else 1]
        return ProductExtents(*_rows(rows), columns, inner, in_order=not self.transpose_b)

    def flops(self, tensor_a: TensorType, tensor_b: TensorType) -> int:
        return 2 * tensor_a.size * known(self, tensor_b.shape[0 if self.transpose_b else 1], "units")


@operator("nn.batch_matmul")
class BatchMatMul(Operator):
    """Matrix products of stacks: tensor_a (b, m, k) times tensor_b (b, k, n), each possibly stored transposed.

    Classic defaults: tensor_b is (b, n, k).  The batch axes broadcast, and there may be several.
    """

    out_dtype: str = _OUT_DTYPE
    transpose_a: bool = attribute(False, "tensor_a is (b, k, m)", convert=convert.boolean)
    transpose_b: bool = attribute(True, "tensor_b is (b, n, k)", convert=convert.boolean)
    family = "product"
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.ALWAYS
    accumulates = True
    multiplies_and_adds = True
    examples = (
        example(floats(2, 3, 4), floats(2, 5, 4)), example(floats(2, 3, 4), floats(2, 4, 5), transpose_b=False),
        example(floats(2, 4, 3), floats(1, 4, 5), transpose_a=True, transpose_b=False),
        example(floats(2, 3, 3, 4), floats(3, 4, 2), transpose_b=False),
        bad(floats(2, 3, 4), floats(2, 4, 5), error="do not agree"),
        bad(floats(2, 3, 4), floats(3, 5, 4), error="broadcast"),
        bad(floats(4), floats(2, 4), error="at least 2 axes"),
    )  # fmt: skip

    def channel_axes(self) -> ChannelAxes | None:
        data = -2 if self.transpose_a else -1
        return ChannelAxes(data, -1, -1, -2) if self.transpose_b else ChannelAxes(data, -1, -2, -1)

    def infer(self, tensor_a: TensorType, tensor_b: TensorType) -> TensorType:
        a, b = tensor(self, tensor_a, "tensor_a"), tensor(self, tensor_b, "tensor_b")
        if min(len(a.shape), len(b.shape)) < 2:
            refuse(
                self,
                "E-TYPE-RANK",
                "both operands must have at least 2 axes",
                found=f"{text(a.shape)} and {text(b.shape)}",
            )
        dtype = same_dtype(self, a, b)
        shape, k, inner = self._sizes(a.shape, b.shape)
        unify(self, k, inner, "the inner axes")
        return TensorType(shape, result_dtype(self.out_dtype, dtype))

    def _sizes(self, a: Any, b: Any) -> tuple[tuple[Any, ...], Any, Any]:
        """(shape of the result, inner extent of a, of b)."""
        k, m = (a[-2], a[-1]) if self.transpose_a else (a[-1], a[-2])
        inner, n = (b[-1], b[-2]) if self.transpose_b else (b[-2], b[-1])
        return (*broadcast(self, a[:-2], b[:-2]), m, n), k, inner

    def reference(self, tensor_a: np.ndarray, tensor_b: np.ndarray) -> np.ndarray:
        a = np.swapaxes(tensor_a, -1, -2) if self.transpose_a else tensor_a
        b = np.swapaxes(tensor_b, -1, -2) if self.transpose_b else tensor_b
        return product_numpy(self, a, b, self.out_dtype)

    def compute(self, tensor_a: Any, tensor_b: Any) -> Any:
        shape, _, _ = self._sizes(tensor_a.shape, tensor_b.shape)
        k = tensor_a.shape[-2 if self.transpose_a else -1]

        def left(*i: Any) -> Any:
            where = batch_indices(tensor_a, i[:-3], shape)
            return tensor_a(*where, i[-1], i[-3]) if self.transpose_a else tensor_a(*where, i[-3], i[-1])

        def right(*i: Any) -> Any:
            where = batch_indices(tensor_b, i[:-3], shape)
            return tensor_b(*where, i[-2], i[-1]) if self.transpose_b else tensor_b(*where, i[-1], i[-2])

        return product_stage(self, shape, k, self.out_dtype, left, right)

    def extents(self, tensor_a: TensorType, tensor_b: TensorType) -> ProductExtents:
        shape, inner, _ = self._sizes(tensor_a.shape, tensor_b.shape)
        return ProductExtents(product(shape[:-2]), shape[-2], shape[-1], inner, in_order=not self.transpose_b)

    def flops(self, tensor_a: TensorType, tensor_b: TensorType) -> int:
        shape, k, _ = self._sizes(tensor_a.shape, tensor_b.shape)
        return 2 * known(self, product((*shape, k)), "the product's size")


@operator("nn.bias_add")
class BiasAdd(Operator):
    """data plus a vector along `axis`."""

    axis: int = attribute(1, "axis of data that bias belongs to", convert=convert.integer)
    fusion = Fusion.BROADCAST
    precision = Precision.FOLLOW
    examples = (
        example(floats(2, 3, 4, 4), floats(3)), example(floats(2, 3), floats(3), axis=-1),
        example(floats(3), floats(3), axis=0), bad(floats(2, 3), floats(2), error="do not agree"),
        bad(floats(2, 3), floats(3, 1), error="1 axes"), bad(floats(2), floats(2), error="outside"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.along_axis(self, "axis", operands, types)

    def deduce(self, data: Type | None, bias: Type | None) -> tuple[Type | None, ...]:
        return along_axis(data, self.axis, (bias,))

    def infer(self, data: TensorType, bias: TensorType) -> TensorType:
        kind, vector = tensor(self, data, "data"), tensor(self, bias, "bias", 1)
        same_dtype(self, kind, vector)
        axis = normalized_axis(self, self.axis, len(kind.shape))
        unify(self, kind.shape[axis], vector.shape[0], f"bias and axis {axis} of data")
        return kind

    def reference(self, data: np.ndarray, bias: np.ndarray) -> np.ndarray:
        axis = normalized_axis(self, self.axis, data.ndim)
        return data + bias.reshape([-1 if at == axis else 1 for at in range(data.ndim)])

    def compute(self, data: Any, bias: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        return te.compute(data.shape, lambda *i: data(*i) + bias(i[axis]), name="bias_add", tag="broadcast")

    def flops(self, data: TensorType, bias: TensorType) -> int:
        return data.size
