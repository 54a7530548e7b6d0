"""How weights are drawn, by the ending of a parameter's name as its role; and networks made whole with them.

>>> import numpy as np
>>> scale = np.zeros(3, "float32")
>>> Xavier()("bn_gamma", scale)
>>> scale.tolist()
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import substitute
from ...runtime.ndarray import NDArray
from ..ir import expr as e
from ..ir.infer import infer_type
from ..ir.types import TensorType


class Initializer:
    """Fills an array according to a parameter's name; override `_init_weight` and its like."""

    def __call__(self, desc: str, arr: np.ndarray, random: np.random.Generator | None = None) -> None:
        """Fill `arr` for the parameter named `desc`."""
        self.random = random if random is not None else np.random.default_rng(0)
        for ending, fill in self._by_ending().items():
            if desc.endswith(ending):
                fill(desc, arr)
                return
        self._init_default(desc, arr)

    def _by_ending(self) -> dict[str, Any]:
        return {
            "weight": self._init_weight,
            "bias": self._init_bias,
            "gamma": self._init_gamma,
            "beta": self._init_beta,
            "mean": self._init_mean,
            "var": self._init_var,
        }

    def _init_bias(self, name: str, arr: np.ndarray) -> None:
        arr[...] = 0

    def _init_gamma(self, name: str, arr: np.ndarray) -> None:
        arr[...] = 1

    def _init_beta(self, name: str, arr: np.ndarray) -> None:
        arr[...] = 0

    def _init_mean(self, name: str, arr: np.ndarray) -> None:
        arr[...] = 0

    def _init_var(self, name: str, arr: np.ndarray) -> None:
        arr[...] = 1

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        raise WorkbenchError("E-INIT-WEIGHT", f"{type(self).__name__} does not say how weights are drawn")

    def _init_default(self, name: str, arr: np.ndarray) -> None:
        raise WorkbenchError(
            "E-INIT-NAME",
            f"the role of parameter {name!r} cannot be told from its name",
            expected="a name that ends in weight, bias, gamma, beta, mean or var",
        )


class Xavier(Initializer):
    """Weights whose variance keeps that of the data (Glorot and Bengio, 2010)."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise WorkbenchError("E-INIT-SHAPE", f"weight {name!r} needs two axes", found=str(shape))
        taps = int(np.prod(shape[2:])) if len(shape) > 2 else 1
        fan_in, fan_out = shape[1] * taps, shape[0] * taps
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = float(np.sqrt(self.magnitude / factor))
        drawn = (
            self.random.uniform(-scale, scale, shape)
            if self.rnd_type == "uniform"
            else self.random.normal(0, scale, shape)
        )
        arr[...] = drawn.astype(arr.dtype)


class Constant(Initializer):
    """Every parameter filled with one value."""

    def __init__(self, value: float) -> None:
        self.value = value

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        arr[...] = self.value

    _init_default = _init_weight
    _init_bias = _init_gamma = _init_beta = _init_mean = _init_var = _init_weight


def annotated(func: e.Function) -> e.Function:
    """The function with the inferred types of its parameters written down."""
    infer_type(func)
    named = {
        param: e.Var(param.name_hint, param.checked_type) for param in func.params if param.type_annotation is None
    }
    params = tuple(named.get(param, param) for param in func.params)
    return func.replace(params=params, body=substitute(func.body, named))


def create_workload(
    net: e.Expr, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """(module, weights) of a network: every parameter except "data" is drawn by the initializer (Xavier), seeded."""
    mod = infer_type(IRModule.from_expr(annotated(e.as_function(net))))
    chosen = initializer or Xavier()
    random = np.random.default_rng(seed)
    params: dict[str, NDArray] = {}
    for param in mod["main"].params:
        if param.name_hint == "data":
            continue
        kind = param.checked_type
        assert isinstance(kind, TensorType)
        weights = np.zeros(kind.concrete_shape, kind.dtype.to_numpy())
        chosen(param.name_hint, weights, random)
        params[param.name_hint] = NDArray(weights)
    return mod, params
