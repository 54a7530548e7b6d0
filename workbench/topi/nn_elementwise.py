"""Activations and other light nn operators: relu, leaky_relu, prelu, dropout, pad.

>>> Pad(pad_width=((0, 0), (1, 2))).infer(TensorType((2, 3)))
Tensor[(2, 6), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arith import build
from ..relay.ir.expr import Tuple
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType, TupleType, Type
from . import arrange
from . import attributes as convert
from . import calls as relay
from .deduce import along_axis
from .emit import elementwise, injective
from .functions import composed
from .samples import bools, floats, ints
from .shapes import add, float_dtype, normalized_axis, refuse, same_dtype, tensor, unify
from .unary import Unary


@operator("nn.relu")
class Relu(Unary):
    """max(x, 0)."""

    precision = Precision.FOLLOW
    accepts = "number"
    numpy = staticmethod(lambda x: np.maximum(x, np.zeros((), x.dtype)))
    scalar = staticmethod(lambda x: build.maximum(x, build.const(0, x.dtype)))
    aliases = {"onnx": "Relu"}
    examples = (example(floats(2, 3)), example(ints(5)), bad(bools(2), error="numbers"))


@operator("nn.leaky_relu")
class LeakyRelu(Operator):
    """x where positive, else alpha * x."""

    alpha: float = attribute(0.01, "slope below zero", convert=convert.real)
    fusion = Fusion.ELEMWISE
    precision = Precision.FOLLOW
    examples = (example(floats(2, 3)), example(floats(5), alpha=0.1), bad(ints(2), error="float dtype"))

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        float_dtype(self, kind, "data")
        return kind

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.where(data > 0, data, data * np.asarray(self.alpha, data.dtype))

    def compute(self, data: Any) -> Any:
        slope = build.const(self.alpha, data.dtype)
        return elementwise(self, lambda x: build.select(x > 0, x, x * slope), data)

    def flops(self, data: TensorType) -> int:
        return data.size


@operator("nn.prelu")
class PRelu(Operator):
    """x times alpha of its channel where negative, else x."""

    axis: int = attribute(1, "axis of channels", convert=convert.integer)
    fusion = Fusion.BROADCAST
    precision = Precision.FOLLOW
    examples = (
        example(floats(2, 3, 4), floats(3)), example(floats(2, 3), floats(3), axis=-1),
        bad(floats(2, 3), floats(2), error="do not agree"), bad(floats(2), floats(2), error="outside"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.along_axis(self, "axis", operands, types)

    def deduce(self, data: Type | None, alpha: Type | None) -> tuple[Type | None, ...]:
        return along_axis(data, self.axis, (alpha,))

    def infer(self, data: TensorType, alpha: TensorType) -> TensorType:
        kind, slopes = tensor(self, data, "data"), tensor(self, alpha, "alpha", 1)
        same_dtype(self, kind, slopes)
        axis = normalized_axis(self, self.axis, len(kind.shape))
        unify(self, kind.shape[axis], slopes.shape[0], f"alpha and axis {axis} of data")
        return kind

    def reference(self, data: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        axis = normalized_axis(self, self.axis, data.ndim)
        spread = alpha.reshape([-1 if at == axis else 1 for at in range(data.ndim)])
        with np.errstate(invalid="ignore"):
            return np.where(data < 0, data * spread, data)

    def compute(self, data: Any, alpha: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))

        def element(*i: Any) -> Any:
            value = data(*i)
            return build.select(value < 0, value * alpha(i[axis]), value)

        return injective(self, data.shape, element)

    def flops(self, data: TensorType, alpha: TensorType) -> int:
        return data.size


@operator("nn.dropout")
class Dropout(Operator):
    """While inferring: the operand itself.  The result is the tuple (data, mask of ones)."""

    rate: float = attribute(0.5, "fraction dropped while training", convert=convert.real)
    fusion = Fusion.OPAQUE
    examples = (example(floats(2, 3)), example(floats(4), rate=0.1), bad(ints(2), error="float dtype"))

    def infer(self, data: TensorType) -> TupleType:
        kind = tensor(self, data, "data")
        float_dtype(self, kind, "data")
        return TupleType((kind, kind))

    def reference(self, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return data, np.ones_like(data)

    def decompose(self, data: Any) -> Any:
        return Tuple((data, relay.call("ones_like", data)))

    def compute(self, data: Any) -> Any:
        return composed(self, data)


@operator("nn.pad")
class Pad(Operator):
    """Elements added before and after each axis: `pad_value`, the edge repeated, or the inside mirrored.

    Negative widths cut elements away.  `pad_value` is a scalar operand, 0 if left out.
    """

    pad_width: tuple[tuple[int, int], ...] = attribute(doc="(before, after) of each axis", convert=convert.pad_width)
    pad_mode: str = attribute("constant", "what is added", choices=("constant", "edge", "reflect"))
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    parameters = ("data", "pad_width", "pad_value", "pad_mode")
    examples = (
        example(floats(2, 3), pad_width=((1, 0), (2, 1))),
        example(floats(2, 3), floats(), pad_width=[[0, 0], [1, 1]]),
        example(floats(3, 4), pad_width=((1, 1), (2, 0)), pad_mode="edge"),
        example(floats(3, 4), pad_width=((1, 2), (3, 0)), pad_mode="reflect"),
        example(floats(4, 5), pad_width=((-1, 0), (1, -2))), example(ints(3), ints(), pad_width=((1, 1),)),
        bad(floats(3), ints(), pad_width=((1, 1),), error="different dtypes"),
        bad(floats(2, 3), pad_width=((1, 1),), error="each axis"),
        bad(floats(2), pad_width=((2, 0),), pad_mode="reflect", error="mirror"),
        bad(floats(2), pad_width=((-2, -1),), error="negative"),
        bad(floats(2), pad_width=((1, 1),), pad_mode="wrap", error="one of"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.padded(self, operands)

    def infer(self, data: TensorType, pad_value: TensorType | None = None) -> TensorType:
        kind = tensor(self, data, "data")
        if pad_value is not None:
            same_dtype(self, kind, tensor(self, pad_value, "pad_value", 0))
        if len(self.pad_width) != len(kind.shape):
            refuse(
                self,
                "E-TYPE-PAD",
                "pad_width must have a pair for each axis",
                found=self.pad_width,
                expected=f"{len(kind.shape)} pairs",
            )
        return TensorType(
            tuple(self._extent(extent, *pads) for extent, pads in zip(kind.shape, self.pad_width, strict=True)),
            kind.dtype,
        )

    def _extent(self, extent: Dimension, before: int, after: int) -> Dimension:
        if self.pad_mode == "edge" and isinstance(extent, int) and extent == 0 and max(before, after) > 0:
            refuse(self, "E-TYPE-PAD", "an axis without elements has no edge", found=f"{(before, after)} on 0")
        if self.pad_mode == "reflect" and isinstance(extent, int) and max(before, after) >= extent:
            refuse(
                self, "E-TYPE-PAD", "mirroring needs more elements than it adds", found=f"{(before, after)} on {extent}"
            )
        found = add(extent, before + after)
        if isinstance(found, int) and found < 0:
            refuse(self, "E-TYPE-PAD", "an extent would become negative", found=found)
        return found

    def reference(self, data: np.ndarray, pad_value: np.ndarray | None = None) -> np.ndarray:
        if not self.pad_width:
            return data  # NumPy takes no pads of no axes
        cut = data[tuple(slice(max(0, -before), extent - max(0, -after))
                         for (before, after), extent in zip(self.pad_width, data.shape, strict=True))]  # fmt: skip
        grow = [(max(0, before), max(0, after)) for before, after in self.pad_width]
        if self.pad_mode == "constant":
            return np.pad(cut, grow, constant_values=0 if pad_value is None else pad_value.item())
        return np.pad(cut, grow, mode="edge" if self.pad_mode == "edge" else "reflect")

    def compute(self, data: Any, pad_value: Any = None) -> Any:
        shape = [add(extent, sum(pads)) for extent, pads in zip(data.shape, self.pad_width, strict=True)]

        def element(*i: Any) -> Any:
            where = [index - before for index, (before, _) in zip(i, self.pad_width, strict=True)]
            if self.pad_mode != "constant":
                return data(*(self._mirrored(at, data.shape[axis]) for axis, at in enumerate(where)))
            fill = build.const(0, data.dtype) if pad_value is None else pad_value()
            tests: list[Any] = []
            for axis, (before, after) in enumerate(self.pad_width):
                tests += [where[axis] >= 0] if before > 0 else []
                tests += [where[axis] < data.shape[axis]] if after > 0 else []
            return build.if_then_else(build.all_of(*tests), data(*where), fill)

        return injective(self, shape, element)

    def _mirrored(self, at: Any, extent: Any) -> Any:
        if self.pad_mode == "edge":
            return build.minimum(build.maximum(at, 0), extent - 1)
        inner = build.call("abs", at)
        return extent - 1 - build.call("abs", extent - 1 - inner)
