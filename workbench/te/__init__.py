"""Tensor expressions: what is computed, before anything is said about how.

Classic names; `create_prim_func` makes loop IR of them.
"""

from ..arith.build import cast, const, floordiv, floormod, if_then_else, indexdiv, indexmod, select, truncdiv, truncmod
from .build import (
    all,
    any,
    comm_reducer,
    compute,
    max,
    max_value,
    min,
    min_value,
    placeholder,
    prod,
    reduce_axis,
    size_var,
    sum,
    var,
)
from .math import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    floor,
    fmod,
    isfinite,
    isinf,
    isnan,
    log,
    log2,
    log10,
    log1p,
    nearbyint,
    popcount,
    power,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from .nodes import CommReducer, ComputeOp, Operation, PlaceholderOp, ProducerLoad, Reduce, Tensor, TensorSlice
from .prim_func import create_prim_func

__all__ = [
    "CommReducer", "ComputeOp", "Operation", "PlaceholderOp", "ProducerLoad", "Reduce", "Tensor", "TensorSlice",
    "abs", "acos", "acosh", "all", "any", "asin", "asinh", "atan", "atan2", "atanh", "cast", "ceil", "comm_reducer",
    "compute", "const", "cos", "cosh", "create_prim_func", "erf", "exp", "exp2", "floor", "floordiv", "floormod",
    "fmod", "if_then_else", "indexdiv", "indexmod", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2",
    "max", "max_value", "min", "min_value", "nearbyint", "placeholder", "popcount", "power", "prod", "reduce_axis",
    "round", "rsqrt", "select", "sigmoid", "sin", "sinh", "size_var", "sqrt", "sum", "tan", "tanh", "trunc",
    "truncdiv", "truncmod", "var",
]  # fmt: skip
