"""Judges of convolutions, pools, normalisations and images, mostly onnxruntime; see `judges`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import helper

Judge = Callable[..., Any]


def run(
    kind: str, inputs: list[np.ndarray | None], outputs: int = 1, opset: int = 18, **attributes: Any
) -> list[np.ndarray]:
    """One ONNX node in onnxruntime."""
    names = ["" if value is None else f"x{at}" for at, value in enumerate(inputs)]
    given = {name: value for name, value in zip(names, inputs, strict=True) if value is not None}
    results = [f"y{at}" for at in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(kind, names, results, **attributes)],
        "judge",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in given.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, given)


def conv2d(op: Any, data: np.ndarray, weight: np.ndarray) -> Any:
    if data.dtype != np.float32 or op.data_layout.endswith("c") or op.out_layout:
        return None
    if op.data_layout == "NHWC":
        data = data.transpose(0, 3, 1, 2)
    if op.kernel_layout == "HWIO":
        weight = weight.transpose(3, 2, 0, 1)
    elif op.kernel_layout != "OIHW":
        lanes = weight.shape[-1]
        weight = np.stack([weight[o // lanes, :, :, :, o % lanes] for o in range(op.channels or len(weight) * lanes)])
    found = run(
        "Conv", [data, np.ascontiguousarray(weight)], strides=op.strides, pads=op.padding, dilations=op.dilation,
        group=op.groups,
    )[0]  # fmt: skip
    return [found.transpose(0, 2, 3, 1) if op.data_layout == "NHWC" else found]


def conv1d(op: Any, data: np.ndarray, weight: np.ndarray) -> Any:
    return run("Conv", [data, weight], strides=op.strides, pads=op.padding, dilations=op.dilation, group=op.groups)


def conv2d_transpose(op: Any, data: np.ndarray, weight: np.ndarray) -> Any:
    last = op.data_layout == "NHWC"
    found = run(
        "ConvTranspose", [np.moveaxis(data, -1, 1) if last else data, weight], strides=op.strides, pads=op.padding,
        dilations=op.dilation, group=op.groups, output_padding=op.output_padding,
    )[0]  # fmt: skip
    return [np.moveaxis(found, 1, -1) if last else found]


def pool(kind: str) -> Judge:
    def judge(op: Any, data: np.ndarray) -> Any:
        if data.dtype != np.float32 or "4c" in op.layout:
            return None
        last = op.layout in ("NHWC", "NWC")
        if last:
            data = np.moveaxis(data, -1, 1)
        more = {"count_include_pad": int(op.count_include_pad)} if kind == "AveragePool" else {}
        found = run(
            kind, [np.ascontiguousarray(data)], opset=19, kernel_shape=op.pool_size, strides=op.strides,
            pads=op.padding, dilations=op.dilation, ceil_mode=int(op.ceil_mode), **more,
        )[0]  # fmt: skip
        return [np.moveaxis(found, 1, -1) if last else found]

    return judge


def global_pool(kind: str) -> Judge:
    def judge(op: Any, data: np.ndarray) -> Any:
        return run(kind, [data]) if op.layout == "NCHW" and data.dtype == np.float32 else None

    return judge


def adaptive(average: bool) -> Judge:
    def judge(op: Any, data: np.ndarray) -> Any:
        if op.layout[1] != "C" or op.output_size is None:
            return None
        outer, inner = data.shape[:2], data.shape[2:]
        found = np.zeros((*outer, *op.output_size))
        for where in itertools.product(*(range(size) for size in op.output_size)):
            cells = [
                range(math.floor(at * extent / size), math.ceil((at + 1) * extent / size))
                for at, extent, size in zip(where, inner, op.output_size, strict=True)
            ]
            picked = [data[(slice(None), slice(None), *cell)] for cell in itertools.product(*cells)]
            found[(slice(None), slice(None), *where)] = sum(picked) / len(picked) if average else np.max(picked, axis=0)
        return [found]

    return judge


def conv_nd(kind: str) -> Judge:
    def judge(op: Any, data: np.ndarray, weight: np.ndarray) -> Any:
        more = {"output_padding": op.output_padding} if kind == "ConvTranspose" else {}
        return run(
            kind, [data, weight], strides=op.strides, pads=op.padding, dilations=op.dilation, group=op.groups, **more
        )

    return judge


def resize2d(op: Any, data: np.ndarray) -> Any:
    plain = data if op.layout == "NCHW" else np.ascontiguousarray(data.transpose(0, 3, 1, 2))
    sizes = np.array([*plain.shape[:2], *op.size], np.int64)
    aligned = op.coordinate_transformation_mode == "align_corners"
    names = {"round": "round_prefer_floor", "": "round_prefer_floor" if aligned else "floor"}
    rounding = names.get(op.rounding_method, op.rounding_method)
    found = run(
        "Resize", [plain, None, None, sizes], nearest_mode=rounding,
        mode={"nearest_neighbor": "nearest"}.get(op.method, op.method),
        coordinate_transformation_mode=op.coordinate_transformation_mode, cubic_coeff_a=op.cubic_alpha,
        exclude_outside=int(op.cubic_exclude),
    )[0]  # fmt: skip
    found = found.astype(op.out_dtype or found.dtype)
    return [found if op.layout == "NCHW" else found.transpose(0, 2, 3, 1)]


def upsampling(op: Any, data: np.ndarray) -> Any:
    """Pixels repeated; onnxruntime for the rest."""
    height, width = (2, 3) if op.layout == "NCHW" else (1, 2)
    if op.method == "nearest_neighbor":
        return [data.repeat(int(op.scale_h), height).repeat(int(op.scale_w), width)]
    return resize2d(op.resize(data.shape), data)


def to_depth(kind: str) -> Judge:
    def judge(op: Any, data: np.ndarray) -> Any:
        if op.layout != "NCHW":
            return None
        more = {"mode": op.mode} if kind == "DepthToSpace" else {}
        return run(kind, [data], blocksize=op.block_size, **more)

    return judge


def batch_norm(op: Any, data: np.ndarray, *vectors: np.ndarray) -> Any:
    if not (op.scale and op.center):
        return None
    last = op.axis == -1
    turned = np.ascontiguousarray(np.moveaxis(data, -1, 1)) if last else data
    found = run("BatchNormalization", [turned, *vectors], opset=15, epsilon=op.epsilon)[0]
    return [np.moveaxis(found, 1, -1) if last else found, vectors[2], vectors[3]]


def layer_norm(op: Any, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> Any:
    if op.axis not in (-1, data.ndim - 1):
        return None
    return run("LayerNormalization", [data, gamma, beta if op.center else beta * 0], axis=-1, epsilon=op.epsilon)


def instance_norm(op: Any, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> Any:
    return run("InstanceNormalization", [data, gamma, beta], epsilon=op.epsilon) if op.axis == 1 else None


def lrn(op: Any, data: np.ndarray) -> Any:
    if data.ndim != 4:
        return None
    return run("LRN", [data], size=op.size, alpha=op.alpha, beta=op.beta, bias=op.bias)


def l2_normalize(op: Any, data: np.ndarray) -> Any:
    return run("LpNormalization", [data], axis=op.axis[0], p=2) if op.axis and len(op.axis) == 1 else None
