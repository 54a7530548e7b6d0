"""Fast variants of exp, tanh, erf and softmax: what they mean is exact, what is compiled has a stated error.

`error_bound` is the greatest relative error of the compiled kernel for float32 (`arith.intrinsics.ERROR_BOUND`).
They come in by the pass FastMath, or by name: `relay.fast_exp(x)`.

>>> FastExp.error_bound
1e-05
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..arith.intrinsics import ERROR_BOUND
from ..relay.ir.operator import Fusion, Operator, Precision, bad, example, operator
from ..relay.ir.types import TensorType
from . import arrange
from .nn_norm import AXIS, infer_along, softmax_compute
from .samples import floats, ints
from .unary import Unary, erf_numpy, intrinsic

_examples = (
    example(floats(2, 3), tolerance=2e-5), example(floats(64, low=-9, high=9), tolerance=2e-5),
    example(floats(4, dtype="float64")), example(floats()), bad(ints(2), error="float dtype"),
)  # fmt: skip


@operator("fast_exp")
class FastExp(Unary):
    """e to the power x, approximated."""

    precision = Precision.NEVER
    numpy = staticmethod(np.exp)
    scalar = intrinsic("fast_exp")
    error_bound: ClassVar[float] = ERROR_BOUND["fast_exp"]
    examples = _examples


@operator("fast_tanh")
class FastTanh(Unary):
    """The hyperbolic tangent, approximated."""

    precision = Precision.FOLLOW
    numpy = staticmethod(np.tanh)
    scalar = intrinsic("fast_tanh")
    error_bound: ClassVar[float] = ERROR_BOUND["fast_tanh"]
    examples = _examples


@operator("fast_erf")
class FastErf(Unary):
    """The Gauss error function, approximated."""

    precision = Precision.NEVER
    numpy = staticmethod(erf_numpy)
    scalar = intrinsic("fast_erf")
    error_bound: ClassVar[float] = ERROR_BOUND["fast_erf"]
    examples = _examples


@operator("nn.fast_softmax")
class FastSoftmax(Operator):
    """exp(x) / sum(exp(x)) along `axis`, with the fast exponential."""

    axis: int = AXIS
    family = "softmax"
    fusion = Fusion.OPAQUE
    precision = Precision.NEVER
    accumulates = True
    error_bound: ClassVar[float] = 3 * ERROR_BOUND["fast_exp"]
    examples = (
        example(floats(2, 5), tolerance=3e-5), example(floats(2, 5, 3), axis=1, tolerance=3e-5),
        example(floats(3, 7, low=80, high=120), tolerance=3e-5),
        bad(floats(2), axis=1, error="outside"), bad(ints(2), error="float dtype"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.along_axis(self, "axis", operands, types)

    def infer(self, data: TensorType) -> TensorType:
        return infer_along(self, data)

    def reference(self, data: np.ndarray) -> np.ndarray:
        raised = np.exp(data - np.max(data, self.axis, keepdims=True))
        return raised / np.sum(raised, self.axis, keepdims=True)

    def compute(self, data: Any) -> Any:
        return softmax_compute(self, data, "fast_exp")

    def flops(self, data: TensorType) -> int:
        return 4 * data.size
