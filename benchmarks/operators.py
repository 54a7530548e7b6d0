"""Single operators as ONNX models: matrix products, every distinct layer of two networks, what stands between.

Those of group `bytes` are quantised: layers of resnet50 as QLinearConv, products as QLinearMatMul.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .subjects import Subject

OPSET = 21


def all_operators() -> Iterator[Subject]:
    yield from matrix_products()
    for network, layers in (("resnet50", RESNET50), ("mobilenetv2", MOBILENETV2)):
        for layer in layers:
            yield layer.subject(network)
    yield from of_bytes()
    yield from between()


# --- matrix products ------------------------------------------------------------------------------------------------

MATRICES = (
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (1, 1024, 1024), (128, 768, 3072),
    (127, 129, 131), (333, 1000, 77), (16, 49, 512),
)  # fmt: skip
BATCHES = ((12, 128, 64, 128), (12, 128, 128, 64), (64, 16, 16, 16))


def matrix_products() -> Iterator[Subject]:
    """`matmul_MxKxN` with a constant second operand; `..._variable` and `batch_BxMxKxN` with two inputs."""
    for m, k, n in MATRICES:
        name = f"matmul_{m}" if m == k == n else f"matmul_{m}x{k}x{n}"
        work = 2.0 * m * k * n
        yield Subject(name, "matmul", lambda m=m, k=k, n=n: _product((m, k), (k, n), constant=True), work)
        yield Subject(f"{name}_variable", "matmul", lambda m=m, k=k, n=n: _product((m, k), (k, n), False), work)
    for b, m, k, n in BATCHES:
        name, work = f"batch_{b}x{m}x{k}x{n}", 2.0 * b * m * k * n
        yield Subject(name, "matmul", lambda b=b, m=m, k=k, n=n: _product((b, m, k), (b, k, n), False), work)


def _product(left: tuple[int, ...], right: tuple[int, ...], constant: bool) -> tuple[Any, dict[str, Any]]:
    arrays = {"x": _drawn(left, 1), "w": _drawn(right, 2)}
    return _model([("MatMul", ["x", "w"], {})], arrays, {"w"} if constant else set())


# --- layers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """A convolution with bias, and with a limit from below where `relu`; sizes are those of its input."""

    channels: int
    size: int
    filters: int
    kernel: int
    stride: int = 1
    groups: int = 1
    relu: bool = True

    def subject(self, network: str) -> Subject:
        kind = f"{self.kernel}x{self.kernel}s{self.stride}" + (f"x{self.groups}" if self.groups > 1 else "")
        name = f"{network}_{kind}_{self.channels}to{self.filters}at{self.size}"
        out = self.size // self.stride
        work = 2.0 * out * out * self.filters * self.channels // self.groups * self.kernel**2
        group = "depthwise" if self.groups > 1 else f"layers_{network}"
        return Subject(name, group, self.made, work)

    def made(self) -> tuple[Any, dict[str, Any]]:
        weight = (self.filters, self.channels // self.groups, self.kernel, self.kernel)
        arrays = {
            "x": _drawn((1, self.channels, self.size, self.size), 1),
            "w": _drawn(weight, 2) * np.float32((2 / prod(weight[1:])) ** 0.5),
            "b": _drawn((self.filters,), 3),
        }
        conv = {
            "strides": [self.stride] * 2, "pads": [self.kernel // 2] * 4, "group": self.groups,
            "kernel_shape": [self.kernel] * 2,
        }  # fmt: skip
        nodes = [("Conv", ["x", "w", "b"], conv), *([("Relu", [], {})] if self.relu else [])]
        return _model(nodes, arrays, {"w", "b"})


    def made_of_bytes(self) -> tuple[Any, dict[str, Any]]:
        """The same quantised; relu is in the least byte of the result."""
        weight = (self.filters, self.channels // self.groups, self.kernel, self.kernel)
        arrays = {
            "x": _bytes((1, self.channels, self.size, self.size), "uint8", 1), "w": _bytes(weight, "int8", 2),
            "b": _bytes((self.filters,), "int8", 3).astype(np.int32), **_scales(prod(weight[1:])),
        }  # fmt: skip
        conv = {"strides": [self.stride] * 2, "pads": [self.kernel // 2] * 4, "kernel_shape": [self.kernel] * 2}
        order = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"]
        return _model([("QLinearConv", order, conv)], arrays, set(arrays) - {"x"})


def _resnet50() -> list[Layer]:
    """Every distinct convolution of resnet50 at 224 (the stride in the 3x3, as in torchvision)."""
    found = [Layer(3, 224, 64, 7, 2)]
    before = 64
    for width, size, stride in ((64, 56, 1), (128, 56, 2), (256, 28, 2), (512, 14, 2)):
        wide, small = 4 * width, size // stride
        found += [
            Layer(before, size, width, 1), Layer(width, size, width, 3, stride),
            Layer(width, small, wide, 1, relu=False), Layer(before, size, wide, 1, stride, relu=False),
            Layer(wide, small, width, 1), Layer(width, small, width, 3),
        ]  # fmt: skip
        before = wide
    return list(dict.fromkeys(found))


def _mobilenetv2() -> list[Layer]:
    """Every distinct convolution of mobilenetv2 at 224 (Sandler et al. 2018, table 2)."""
    found = [Layer(3, 224, 32, 3, 2)]
    before, size = 32, 112
    for expand, filters, repeats, stride in MOBILENETV2_BLOCKS:
        for index in range(repeats):
            step = stride if index == 0 else 1
            middle = before * expand
            found += [Layer(before, size, middle, 1)] if expand > 1 else []
            found += [Layer(middle, size, middle, 3, step, middle)]
            size //= step
            found += [Layer(middle, size, filters, 1, relu=False)]
            before = filters
    return list(dict.fromkeys([*found, Layer(before, size, 1280, 1)]))


MOBILENETV2_BLOCKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Expansion, filters, repeats, stride of each stage."""
RESNET50, MOBILENETV2 = _resnet50(), _mobilenetv2()


# --- of bytes ---------------------------------------------------------------------------------------------------------


def of_bytes() -> Iterator[Subject]:
    """`bytes_LAYER` of resnet50 and `bytes_matmul_MxKxN`: data uint8 with a zero point, weights int8 without."""
    for layer in RESNET50:
        whole = layer.subject("resnet50")
        yield Subject(f"bytes_{whole.name.removeprefix('resnet50_')}", "bytes", layer.made_of_bytes, whole.work)
    for m, k, n in ((128, 768, 768), (128, 768, 3072), (128, 3072, 768), (1024, 1024, 1024)):
        yield Subject(
            f"bytes_matmul_{m}x{k}x{n}", "bytes", lambda m=m, k=k, n=n: _product_of_bytes(m, k, n), 2.0 * m * k * n
        )


def _product_of_bytes(m: int, k: int, n: int) -> tuple[Any, dict[str, Any]]:
    arrays = {"x": _bytes((m, k), "uint8", 1), "w": _bytes((k, n), "int8", 2), **_scales(k)}
    order = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"]
    return _model([("QLinearMatMul", order, {})], arrays, set(arrays) - {"x"})


def _scales(products: int) -> dict[str, np.ndarray]:
    """Scales and zero points with which results of so many products fill a byte."""
    spread = 0.02 * 70 * 0.01 * 70 * products**0.5
    scales = {"x_scale": 0.02, "w_scale": 0.01, "y_scale": spread / 32}
    found = {name: np.array(value, np.float32) for name, value in scales.items()}
    middle = np.array(128, np.uint8)
    return found | {"x_zero": middle, "w_zero": np.array(0, np.int8), "y_zero": middle}


def _bytes(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


# --- what stands between ---------------------------------------------------------------------------------------------


def between() -> Iterator[Subject]:
    """Pooling, normalisation, activations, reductions, movements of data: bound by memory, or by vector maths."""
    picture, rows = {"x": _drawn((1, 64, 112, 112), 1)}, {"x": _drawn((512, 768), 1)}
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    scale = {"scale": _drawn((768,), 2), "bias": _drawn((768,), 3)}
    table: list[tuple[str, list[tuple[str, list[str], dict[str, Any]]], dict[str, np.ndarray], set[str]]] = [
        ("max_pool", [("MaxPool", ["x"], pool)], picture, set()),
        ("average_pool", [("AveragePool", ["x"], pool)], picture, set()),
        ("global_average_pool", [("GlobalAveragePool", ["x"], {})], picture, set()),
        ("softmax_128x3072", [("Softmax", ["x"], {"axis": -1})], {"x": _drawn((128, 3072), 1)}, set()),
        ("softmax_12x128x128", [("Softmax", ["x"], {"axis": -1})], {"x": _drawn((12, 128, 128), 1)}, set()),
        ("layernorm_512x768", [("LayerNormalization", ["x", "scale", "bias"], {"axis": -1})], rows | scale, set(scale)),
        ("gelu_512x768", [("Gelu", ["x"], {})], rows, set()),
        ("sigmoid_512x768", [("Sigmoid", ["x"], {})], rows, set()),
        ("tanh_512x768", [("Tanh", ["x"], {})], rows, set()),
        ("reduce_sum_rows", [("ReduceSum", ["x", "axis"], {})], rows | {"axis": np.array([1])}, {"axis"}),
        ("reduce_max_columns", [("ReduceMax", ["x", "axis"], {})], rows | {"axis": np.array([0])}, {"axis"}),
        ("transpose_512x768", [("Transpose", ["x"], {"perm": [1, 0]})], rows, set()),
        ("transpose_to_nhwc", [("Transpose", ["x"], {"perm": [0, 2, 3, 1]})], picture, set()),
        ("concat", [("Concat", ["x", "y"], {"axis": 1})], picture | {"y": _drawn((1, 32, 112, 112), 2)}, set()),
        ("resize_linear", [("Resize", ["x", "", "by"], {"mode": "linear"})], _resized(), {"by"}),
        ("resize_nearest", [("Resize", ["x", "", "by"], {"mode": "nearest"})], _resized(), {"by"}),
    ]
    for name, nodes, arrays, constants in table:
        yield Subject(name, "between", lambda n=nodes, a=arrays, c=constants: _model(n, a, c))


def _resized() -> dict[str, np.ndarray]:
    return {"x": _drawn((1, 64, 56, 56), 1), "by": np.array([1, 1, 2, 2], np.float32)}


def _drawn(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def _model(
    nodes: list[tuple[str, list[str], dict[str, Any]]], arrays: dict[str, np.ndarray], constants: set[str]
) -> tuple[Any, dict[str, np.ndarray]]:
    """A chain of nodes (one without names of inputs takes the value before it) and the arrays that are its inputs."""
    import onnx
    from onnx import helper, numpy_helper

    value, made = "", []
    for number, (operator, given, attributes) in enumerate(nodes):
        before, value = value, f"v{number}"
        made.append(helper.make_node(operator, given or [before], [value], **attributes))
    inputs = {name: array for name, array in arrays.items() if name not in constants}
    result = next(iter(inputs.values())).dtype
    graph = helper.make_graph(
        made, "operator",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in inputs.items()
        ],
        [helper.make_tensor_value_info(value, helper.np_dtype_to_tensor_dtype(result), None)],
        [numpy_helper.from_array(arrays[name], name) for name in arrays if name in constants],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model), inputs
