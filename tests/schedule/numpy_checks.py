"""Machine code of schedules of small programs against float64 NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import workbench as wb
from tests.schedule import programs as p
from workbench.schedule import Schedule
from workbench.tir.verify import verify


def check_matmul(steps: Callable[[Schedule], Any], n: int = 5, m: int = 7, k: int = 9, plain: bool = False) -> None:
    """`steps` on D = A @ B + 1 (or C = A @ B): verified, compiled, run."""
    sch = Schedule(p.plain_matmul(n, m, k) if plain else p.matmul(n, m, k))
    steps(sch)
    verify(sch.func)
    random = np.random.default_rng(0)
    a, b = random.standard_normal((n, k)).astype("float32"), random.standard_normal((k, m)).astype("float32")
    out = np.zeros((n, m), "float32")
    wb.build(sch.func)["main"](a, b, out)
    np.testing.assert_allclose(out, a.astype("float64") @ b + (0 if plain else 1), rtol=2e-5, atol=1e-6)


def check_convolution(steps: Callable[[Schedule], Any], h: int = 5, w: int = 6) -> None:
    """`steps` on a padded 3 x 3 convolution with bias and relu: verified, compiled, run."""
    sch = Schedule(p.convolution(h, w))
    steps(sch)
    verify(sch.func)
    random = np.random.default_rng(1)
    x, weight = random.standard_normal((2, h, w)), random.standard_normal((3, 2, 3, 3))
    bias = random.standard_normal(3)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    expected = np.zeros((3, h, w))
    for ky in range(3):
        for kx in range(3):
            window = padded[:, ky : ky + h, kx : kx + w]
            expected += np.einsum("chw,oc->ohw", window, weight[:, :, ky, kx])
    expected = np.maximum(expected + bias[:, None, None], 0)
    out = np.zeros((3, h, w), "float32")
    wb.build(sch.func)["main"](*(part.astype("float32") for part in (x, weight, bias)), out)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
