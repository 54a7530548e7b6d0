"""One kernel for every batch: tensor expressions over a symbolic extent, run on several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.cases import agree, flat
from workbench import te
from workbench.relay.ir.operator import OPERATORS
from workbench.tir.interpret import interpret

CASES: list[tuple[str, dict[str, Any], list[tuple[Any, ...]]]] = [
    ("nn.relu", {}, [("n", 3)]),
    ("add", {}, [("n", 3), (3,)]),
    ("add", {}, [("n", 3), ("n", 1)]),
    ("nn.dense", {}, [("n", 4), (5, 4)]),
    ("nn.contrib_dense_pack", {"weight_layout": "NC4n", "units": 6}, [("n", 4), (2, 4, 4)]),
    ("nn.batch_matmul", {"transpose_b": False}, [("n", 2, 3), ("n", 3, 2)]),
    ("nn.conv2d", {"padding": 1}, [("n", 2, 4, 4), (3, 2, 3, 3)]),
    ("nn.conv2d", {"padding": 1, "kernel_layout": "OIHW4o"}, [("n", 2, 4, 4), (1, 2, 3, 3, 4)]),
    ("nn.conv2d", {"strides": 2}, [(1, 2, "n", "n"), (3, 2, 2, 2)]),
    ("nn.max_pool2d", {"pool_size": 2, "padding": 1}, [(1, 2, "n", "n")]),
    ("nn.avg_pool2d", {"pool_size": 2, "padding": 1, "strides": 2}, [(1, 2, "n", 4)]),
    ("nn.global_avg_pool2d", {}, [("n", 2, "n", 3)]),
    ("nn.softmax", {}, [(2, "n")]),
    ("nn.layer_norm", {}, [("n", 4), (4,), (4,)]),
    ("nn.batch_flatten", {}, [("n", 2, 3)]),
    ("nn.pad", {"pad_width": ((1, 0), (0, 2))}, [("n", 3)]),
    ("mean", {"axis": 0}, [("n", 3)]),
    ("argmax", {"axis": 0}, [("n", 3)]),
    ("reshape", {"newshape": (-1, 6)}, [("n", 2, 3)]),
    ("reshape", {"newshape": (0, -1)}, [("n", 2, 3)]),
    ("transpose", {}, [("n", 2, 3)]),
    ("concatenate", {"axis": 0}, [[("n", 2), (3, 2)]]),  # type: ignore[list-item]
    ("strided_slice", {"begin": (0,), "end": (2,), "axes": (1,)}, [("n", 3)]),
    ("reverse", {"axis": 0}, [("n", 3)]),
    ("layout_transform", {"src_layout": "NCHW", "dst_layout": "NHWC"}, [("n", 2, 3, 3)]),
    ("shape_of", {"dtype": "int64"}, [("n", 2)]),
]


@pytest.mark.parametrize(
    ("name", "attributes", "shapes"), CASES, ids=[f"{row[0]}-{at}" for at, row in enumerate(CASES)]
)
def test_symbolic_extents(name: str, attributes: dict[str, Any], shapes: list[Any]) -> None:
    n = te.var("n")
    op = OPERATORS[name](**attributes)

    def place(shape: Any, at: str) -> Any:
        if isinstance(shape, list):
            return [place(item, f"{at}_{number}") for number, item in enumerate(shape)]
        return te.placeholder([n if extent == "n" else extent for extent in shape], name=at)

    inputs = [place(shape, f"x{at}") for at, shape in enumerate(shapes)]
    outputs = flat(op.compute(*inputs))
    given = [tensor for item in inputs for tensor in flat(item)]
    func = te.create_prim_func([*given, *outputs])
    for size in (2, 5):
        random = np.random.default_rng(size)

        def values(shape: Any, size: int = size, random: Any = random) -> Any:
            if isinstance(shape, list):
                return tuple(values(item) for item in shape)
            return random.uniform(-1, 1, [size if extent == "n" else extent for extent in shape]).astype("float32")

        arrays = [values(shape) for shape in shapes]
        wanted = flat(op.reference(*arrays))
        results = [np.zeros_like(value) for value in wanted]
        interpret(func, *(array for item in arrays for array in flat(item)), *results, check_regions=True)
        for value, true in zip(results, wanted, strict=True):
            agree(value, true)
