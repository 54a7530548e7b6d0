"""Networks made by script, with seeded weights: mobilenetv2 at 224 and a BERT of twelve layers over 128 tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operators import MOBILENETV2_BLOCKS, OPSET

Made = tuple[Any, dict[str, np.ndarray]]


class _Writer:
    """Nodes and weights of a graph in order; weights are drawn from one seed."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, np.ndarray] = {}
        self._drawing = np.random.default_rng(0)

    def weight(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant(self._drawing.standard_normal(shape, dtype=np.float32) * np.float32(scale))

    def constant(self, value: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = value
        return name

    def node(self, operator: str, *given: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(given), [name], **attributes))
        return name

    def model(self, output: str, inputs: dict[str, np.ndarray]) -> Made:
        import onnx
        from onnx import helper, numpy_helper

        graph = helper.make_graph(
            self.nodes, "network",
            [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
             for name, array in inputs.items()],
            [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model), inputs


def mobilenetv2() -> Made:
    """Inverted residuals with linear bottlenecks (Sandler et al. 2018), batch norms folded, ReLU6 as Clip."""
    w = _Writer()
    six = w.constant(np.float32(6)), w.constant(np.float32(0))

    def conv(
        x: str, into: int, filters: int, kernel: int = 1, stride: int = 1, groups: int = 1, clip: bool = True
    ) -> str:
        taken = into // groups
        weight = w.weight(filters, taken, kernel, kernel, scale=(2 / (taken * kernel**2)) ** 0.5)
        bias = w.weight(filters, scale=0.1)
        shape: dict[str, Any] = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4}
        x = w.node("Conv", x, weight, bias, group=groups, **shape)
        return w.node("Clip", x, six[1], six[0]) if clip else x

    x, before = conv("x", 3, 32, 3, 2), 32
    for expand, filters, repeats, stride in MOBILENETV2_BLOCKS:
        for index in range(repeats):
            step, middle = (stride if index == 0 else 1), before * expand
            y = conv(x, before, middle) if expand > 1 else x
            y = conv(conv(y, middle, middle, 3, step, middle), middle, filters, clip=False)
            x = w.node("Add", x, y) if step == 1 and before == filters else y
            before = filters
    x = w.node("Flatten", w.node("GlobalAveragePool", conv(x, before, 1280)), axis=1)
    scores = w.node("Gemm", x, w.weight(1280, 1000, scale=0.05), w.weight(1000, scale=0.1))
    picture = np.random.default_rng(1).standard_normal((1, 3, 224, 224), dtype=np.float32)
    return w.model(scores, {"x": picture})


def bert_base(layers: int = 12, tokens: int = 128, width: int = 768, heads: int = 12) -> Made:
    """The encoder of BERT-base (Devlin et al. 2019) in ONNX nodes, as exporters write it: embeddings to last states."""
    w = _Writer()
    shapes = {name: w.constant(np.array(shape)) for name, shape in {
        "split": (1, tokens, heads, width // heads), "joined": (1, tokens, width),
    }.items()}  # fmt: skip
    root = w.constant(np.float32((width // heads) ** 0.5))

    def dense(x: str, into: int, out: int) -> str:
        return w.node("Add", w.node("MatMul", x, w.weight(into, out, scale=into**-0.5)), w.weight(out, scale=0.1))

    def norm(x: str) -> str:
        scale = w.constant(np.ones(width, np.float32))
        return w.node("LayerNormalization", x, scale, w.weight(width, scale=0.1), axis=-1, epsilon=1e-12)

    def heads_of(x: str, perm: list[int]) -> str:
        return w.node("Transpose", w.node("Reshape", dense(x, width, width), shapes["split"]), perm=perm)

    def attention(x: str) -> str:
        query, key, value = (heads_of(x, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        shares = w.node("Softmax", w.node("Div", w.node("MatMul", query, key), root), axis=-1)
        mixed = w.node("Transpose", w.node("MatMul", shares, value), perm=[0, 2, 1, 3])
        return dense(w.node("Reshape", mixed, shapes["joined"]), width, width)

    positions = w.weight(1, tokens, width, scale=0.1)
    x = norm(w.node("Add", w.node("Gather", w.weight(30522, width, scale=0.1), "ids", axis=0), positions))
    for _ in range(layers):
        x = norm(w.node("Add", attention(x), x))
        wide = w.node("Gelu", dense(x, width, 4 * width))
        x = norm(w.node("Add", dense(wide, 4 * width, width), x))
    ids = np.random.default_rng(1).integers(0, 30522, (1, tokens))
    return w.model(x, {"ids": ids})


BY_SCRIPT: dict[str, Callable[[], Made]] = {"mobilenetv2": mobilenetv2, "bert_base": bert_base}
