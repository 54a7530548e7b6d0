"""Comparisons and logical operators: elementwise with broadcasting, the result is bool.

>>> Less().infer(TensorType((2, 3)), TensorType((3,)))
Tensor[(2, 3), bool]
"""

from __future__ import annotations

import numpy as np

from ..arith import build
from ..relay.ir.operator import bad, example, operator
from .binary import Binary, mismatched
from .samples import bools, floats, ints

_logic = (example(bools(7), bools(7)), example(bools(2, 3), bools(3)), bad(floats(2), floats(2), error="must be bool"))
_compare = (example(floats(2, 3), floats(2, 3)), example(ints(9, low=0, high=3), ints(9, low=0, high=3)), *mismatched)


@operator("logical_and")
class LogicalAnd(Binary):
    """True where both are."""

    commutative = True
    accepts = "bool"
    gives_bool = True
    numpy = staticmethod(np.logical_and)
    scalar = staticmethod(build.logical_and)
    aliases = {"onnx": "And"}
    examples = _logic


@operator("logical_or")
class LogicalOr(Binary):
    """True where either is."""

    commutative = True
    accepts = "bool"
    gives_bool = True
    numpy = staticmethod(np.logical_or)
    scalar = staticmethod(build.logical_or)
    aliases = {"onnx": "Or"}
    examples = _logic


@operator("logical_xor")
class LogicalXor(Binary):
    """True where exactly one is."""

    commutative = True
    accepts = "bool"
    gives_bool = True
    numpy = staticmethod(np.logical_xor)
    scalar = staticmethod(build.not_equal)
    aliases = {"onnx": "Xor"}
    examples = _logic


@operator("equal")
class Equal(Binary):
    """lhs == rhs."""

    commutative = True
    accepts = "any"
    gives_bool = True
    numpy = staticmethod(np.equal)
    scalar = staticmethod(build.equal)
    aliases = {"onnx": "Equal"}
    examples = (*_compare, example(bools(6), bools(6)))


@operator("not_equal")
class NotEqual(Binary):
    """lhs != rhs."""

    commutative = True
    accepts = "any"
    gives_bool = True
    numpy = staticmethod(np.not_equal)
    scalar = staticmethod(build.not_equal)
    examples = (*_compare, example(bools(6), bools(6)))


@operator("less")
class Less(Binary):
    """lhs < rhs."""

    accepts = "any"
    gives_bool = True
    numpy = staticmethod(np.less)
    scalar = staticmethod(build.less)
    aliases = {"onnx": "Less"}
    examples = _compare


@operator("less_equal")
class LessEqual(Binary):
    """lhs <= rhs."""

    accepts = "any"
    gives_bool = True
    numpy = staticmethod(np.less_equal)
    scalar = staticmethod(build.less_equal)
    aliases = {"onnx": "LessOrEqual"}
    examples = _compare


@operator("greater")
class Greater(Binary):
    """lhs > rhs."""

    accepts = "any"
    gives_bool = True
    numpy = staticmethod(np.greater)
    scalar = staticmethod(build.greater)
    aliases = {"onnx": "Greater"}
    examples = _compare


@operator("greater_equal")
class GreaterEqual(Binary):
    """lhs >= rhs."""

    accepts = "any"
    gives_bool = True
    numpy = staticmethod(np.greater_equal)
    scalar = staticmethod(build.greater_equal)
    aliases = {"onnx": "GreaterOrEqual"}
    examples = _compare
