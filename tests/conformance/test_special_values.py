"""Zeros, infinities, NaN and denormal numbers through every elementwise operator, compiled, against NumPy.

Thirteen values, alone or in all pairs.  A result must be of the same class as NumPy's: NaN, infinite, zero, denormal or
normal, with the same sign (that of NaN means nothing, nor that of the greater or lesser of two zeros).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from workbench.core.module import IRModule
from workbench.driver.build import build_model
from workbench.relay.ir.expr import Expr, Function, Tuple, Var
from workbench.relay.ir.operator import OPERATORS
from workbench.relay.ir.types import TensorType
from workbench.relay.op import call

DTYPES = ("float32", "float64", "float16", "bfloat16")
UNARY = (
    "exp", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "floor", "ceil", "trunc", "round", "abs", "negative", "sign",
    "isnan", "isinf", "isfinite", "copy", "nn.relu", "nn.leaky_relu", "clip",
)  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "divide", "floor_divide", "floor_mod", "mod", "trunc_divide", "trunc_mod", "power",
    "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "nn.prelu",
)  # fmt: skip
ATTRIBUTES: dict[str, dict[str, Any]] = {"nn.leaky_relu": {"alpha": 0.01}, "clip": {"a_min": -1.0, "a_max": 2.0}}


def _rsqrt(x: np.ndarray) -> Any:
    return 1 / np.sqrt(x)


def _erf(x: np.ndarray) -> Any:
    import math

    return np.array([math.erf(float(item)) for item in x]).astype(x.dtype)


def _sigmoid(x: np.ndarray) -> Any:
    wide = x.astype(np.longdouble)
    return (1 / (1 + np.exp(-wide))).astype(x.dtype)


NUMPY: dict[str, Callable[..., Any]] = {
    "rsqrt": _rsqrt, "erf": _erf, "sigmoid": _sigmoid, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "round": np.rint, "copy": np.copy,
    "nn.relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "nn.leaky_relu": lambda x: np.where(x < 0, x * x.dtype.type(0.01), x), "trunc_mod": np.fmod,
    "floor_divide": lambda x, y: np.floor(x / y), "trunc_divide": lambda x, y: np.trunc(x / y),
    "clip": lambda x: np.minimum(np.maximum(x, x.dtype.type(-1)), x.dtype.type(2)), "mod": np.fmod,
    "floor_mod": np.mod, "nn.prelu": lambda x, y: np.where(x < 0, x * y, x),
}  # fmt: skip
"""NumPy's function where its name is another one."""
EITHER_ZERO = ("maximum", "minimum", "clip", "nn.relu")
"""IEEE 754 leaves the sign of the greater of 0 and -0 open."""
FAST = {"fast_exp", "fast_tanh", "fast_erf"}
"""What the pass FastMath puts in, when asked to."""


def thirteen(dtype: str) -> np.ndarray:
    info = ml_dtypes.finfo(dtype)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, float(info.max), -float(info.max)]
    found = np.array(values, info.dtype)
    least = [info.smallest_subnormal, -info.smallest_subnormal, info.tiny]
    return np.concatenate([found, np.array(least, info.dtype)])


def operands(name: str, dtype: str) -> list[np.ndarray]:
    values = thirteen(dtype)
    if name in UNARY:
        return [values]
    return [np.repeat(values, len(values)), np.tile(values, len(values))]


@cache
def compiled(dtype: str) -> dict[str, np.ndarray]:
    """What native code gives, by operator; all of them in one model."""
    x = Var("x", TensorType((13,), dtype))
    a, b = (Var(name, TensorType((169,), dtype)) for name in "ab")
    slope = Var("slope", TensorType((169,), dtype))
    parts: list[Expr] = [call(name, x, **ATTRIBUTES.get(name, {})) for name in UNARY]
    for name in BINARY:
        if name == "nn.prelu":
            parts.append(call(name, a, slope, axis=0))
        else:
            parts.append(call(name, a, b))
    library = build_model(IRModule.from_expr(Function((x, a, b, slope), Tuple(tuple(parts)))))
    first, second = operands("add", dtype)
    results = library.run_arrays([thirteen(dtype), first, second, second])
    return dict(zip((*UNARY, *BINARY), results, strict=True))


def kind(values: np.ndarray) -> list[str]:
    """NaN, or sign and class."""
    if values.dtype == bool:
        return [str(item) for item in values]
    tiny = float(ml_dtypes.finfo(values.dtype).tiny)
    wide = values.astype(np.float64)
    names: list[str] = []
    for item in wide:
        size = abs(item)
        name = "infinity" if np.isinf(item) else "zero" if size == 0 else "denormal" if size < tiny else "number"
        names.append("NaN" if np.isnan(item) else ("-" if np.signbit(item) else "+") + name)
    return names


def test_every_elementwise_operator_is_here() -> None:
    from workbench.topi.binary import Binary
    from workbench.topi.unary import Unary

    on_floats = {
        name for name, cls in OPERATORS.items()
        if issubclass(cls, (Unary, Binary)) and cls.__module__.startswith("workbench.")
        and cls.accepts in ("float", "number", "any")
    }  # fmt: skip
    assert on_floats <= {*UNARY, *BINARY} | FAST


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_classes(name: str, dtype: str) -> None:
    given = operands(name, dtype)
    wide = [item.astype(np.float32) if item.dtype == ml_dtypes.bfloat16 else item for item in given]
    with np.errstate(all="ignore"):
        wanted = np.asarray(NUMPY.get(name, getattr(np, name.rsplit(".", 1)[-1], None))(*wide))
        wanted = wanted if wanted.dtype == bool else wanted.astype(given[0].dtype)
    found = compiled(dtype)[name]
    if name in EITHER_ZERO:
        found, wanted = (np.where(item == 0, np.zeros_like(item), item) for item in (found, wanted))
    wrong = [
        f"{name}({', '.join(str(item[at]) for item in given)}) is {found[at]}, not {wanted[at]}"
        for at, (mine, theirs) in enumerate(zip(kind(found), kind(wanted), strict=True))
        if mine != theirs
    ]
    assert wrong == []
