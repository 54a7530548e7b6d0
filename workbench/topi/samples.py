"""Inputs for the operators' examples: callables of a random generator, so that a case is data until it is run.

>>> import numpy as np
>>> floats(2, 3)(np.random.default_rng(0)).shape
(2, 3)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.dtype import DataType

Sample = Callable[[np.random.Generator], np.ndarray]


def floats(*shape: int, low: float = -1.0, high: float = 1.0, dtype: str = "float32") -> Sample:
    """Uniform random floats in [low, high)."""
    return lambda random: random.uniform(low, high, shape).astype(DataType(dtype).to_numpy())


def positive(*shape: int, dtype: str = "float32") -> Sample:
    """Floats that are safe to divide by and to take logarithms of."""
    return floats(*shape, low=0.25, high=2.0, dtype=dtype)


def ints(*shape: int, low: int = -8, high: int = 8, dtype: str = "int32") -> Sample:
    """Uniform random integers in [low, high)."""
    return lambda random: random.integers(low, high, shape).astype(dtype)


def bools(*shape: int) -> Sample:
    return lambda random: random.integers(0, 2, shape).astype(bool)
