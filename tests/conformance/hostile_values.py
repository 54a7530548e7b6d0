"""A child process: one compiled operator on values that trap, overflow or point outside; prints what it gives.

    python -m tests.conformance.hostile_values        # every row of CASES, one line each

In a process of its own, because the failure that it guards against ends the process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from workbench.core.module import IRModule
from workbench.driver.build import build_model
from workbench.relay.ir.expr import Function, Var
from workbench.relay.ir.operator import OPERATORS
from workbench.relay.ir.types import TensorType
from workbench.relay.op import call

LEAST = {"int8": -(2**7), "int16": -(2**15), "int32": -(2**31), "int64": -(2**63)}
FAR = [0, 2**40, -(2**40), 5, -6, 2**63 - 1, -(2**63), 2]


def _division() -> dict[str, Any]:
    cases: dict[str, Any] = {}
    for operator in ("divide", "floor_divide", "trunc_divide", "mod", "floor_mod", "trunc_mod"):
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint64"):
            least = LEAST.get(dtype, 200)
            top = [7, 0, least, least, 5, least] * 7
            below = [0, 0, -1 if dtype in LEAST else 0, 0, 2, 1] * 7
            cases[f"{operator}-{dtype}"] = (operator, {}, [np.array(top).astype(dtype), np.array(below).astype(dtype)])
    return cases


def _outside() -> dict[str, Any]:
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    far = np.array(FAR, np.int64)
    grid = np.full((1, 2, 2, 4), 1e30, np.float32)
    grid[0, 0, 0] = [np.nan, np.inf, -np.inf, -1e30]
    image = np.ones((1, 1, 4, 4), np.float32)
    return {
        "take": ("take", {"axis": 0}, [data, far]),
        "take-wrap": ("take", {"axis": 0, "mode": "wrap"}, [data, far]),
        "take-fast": ("take", {"axis": 0, "mode": "fast"}, [data, far]),
        "gather": ("gather", {"axis": 0}, [data, np.tile(far[:, None], (1, 4))]),
        "gather_nd": ("gather_nd", {}, [data, np.stack([far, far])]),
        "one_hot": ("one_hot", {"depth": 3}, [far, np.float32(1), np.float32(0)]),
        "scatter_elements": ("scatter_elements", {"axis": 0}, [data, np.tile(far[:3, None], (1, 4)), data]),
        "scatter_nd": ("scatter_nd", {}, [data, far[None, :3], data]),
        "reverse_sequence": ("reverse_sequence", {"seq_axis": 1, "batch_axis": 0}, [data, far[:3]]),
        "grid_sample": ("image.grid_sample", {}, [image, grid]),
        "grid_reflect": ("image.grid_sample", {"padding_mode": "reflection"}, [image, grid]),
        "roi_align": ("vision.roi_align", {"pooled_size": 2, "sample_ratio": 2},
                      [image, np.array([[1e30, -1e30, 1e30, np.inf, np.nan]], np.float32)]),
        "deform": ("nn.deformable_conv2d", {}, [image, np.full((1, 2, 4, 4), 1e30, np.float32),
                                                np.ones((1, 1, 1, 1), np.float32), image]),
        "cast": ("cast", {"dtype": "int32"}, [np.array([1e30, -1e30, np.inf, -np.inf, np.nan, 2.5], np.float32)]),
    }  # fmt: skip


CASES = {**_division(), **_outside()}
"""By name: operator, attributes, inputs."""


def run(name: str) -> np.ndarray:
    """The operator of a row, compiled, on its inputs (which only the run knows)."""
    operator, attributes, inputs = CASES[name]
    variables = [Var(f"x{at}", TensorType(item.shape, item.dtype.name)) for at, item in enumerate(inputs)]
    operands = dict(zip((item.name for item in OPERATORS[operator].operands()), variables, strict=True))
    library = build_model(IRModule.from_expr(Function(tuple(variables), call(operator, **operands, **attributes))))
    return library.run_arrays(inputs)[0]


def main(names: list[str]) -> None:
    """Run rows, all if none is named; one line of JSON each."""
    for name in names or CASES:
        print(json.dumps([name, np.asarray(run(name)).astype(object).tolist()]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
