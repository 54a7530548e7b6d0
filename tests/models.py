"""Real networks for tests: the committed small ones, the large ones where they are, the light ones with fair weights.

    path = model_path("dnsmos_model_v8")          # skips the test, with the reason, where a large file is absent
    inputs, outputs = recorded("dnsmos_model_v8") # what onnxruntime gave
    proto = light_model("squeezenet")             # weights seeded, so that the outputs mean something

Large models are looked for in the folder WORKBENCH_MODELS, else in ../shared/models beside the repository.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "tests" / "data" / "models"
LIGHT = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)

# Scores should spread by about 2, so that the final softmax neither saturates nor is flat.
LAST_LAYER = {"shufflenet": 0.007, "resnet50": 4.0}


def find_model(name: str) -> Path | None:
    """The file of a model, or None where this machine has not got it."""
    large = Path(os.environ.get("WORKBENCH_MODELS", ROOT.parent / "shared" / "models"))
    found = (folder / f"{name}.onnx" for folder in (COMMITTED, large, ROOT.parent.parent / "shared" / "models"))
    return next((path for path in found if path.is_file()), None)


def model_path(name: str) -> Path:
    """The file of a model; skips the test where it is absent."""
    found = find_model(name)
    if found is None:
        pytest.skip(f"the model {name}.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    return found


def recorded(name: str) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Inputs by name and onnxruntime's outputs in order, recorded with its optimisations off."""
    return recorded_in(model_path(name))


def recorded_in(path: Path) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """As `recorded`, of the model in a file."""
    with np.load(path.with_name(path.name + ".io.npz")) as stored:
        inputs = {key[4:]: stored[key] for key in stored.files if key.startswith("in__")}
        numbered = {int(key[3:].split("__")[0]): stored[key] for key in stored.files if key.startswith("out")}
    return inputs, [numbered[index] for index in sorted(numbered)]


# --- light models -------------------------------------------------------------------------------------------------


@cache
def _light_bytes(name: str) -> bytes:
    import onnx.backend.test

    folder = Path(onnx.backend.test.__file__).parent / "data" / "light"
    return (folder / f"light_{name}.onnx").read_bytes()


def light_model(name: str, seed: int = 0) -> Any:
    """A light model of the onnx package as a ModelProto, its weights drawn from a seed.

    The package stores all weights as ConstantOfShape nodes with the value 0.02, which prove nothing.  Here they are
    initializers: He-scaled for convolutions and matrices; batch-norm scales near 1 (0.3 where a residual branch
    ends), variances near 1, small biases and means; the last layer scaled such that the softmax is not saturated.
    """
    import onnx

    proto = onnx.ModelProto.FromString(_light_bytes(name))
    roles = _roles(proto.graph)
    shapes = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    kept = []
    for node in proto.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(extent) for extent in shapes[node.input[0]])
        role = roles.get(node.output[0], "")
        weights = _drawn(node.output[0], shape, role, seed)
        if role == "last":
            weights = weights * np.float32(LAST_LAYER.get(name, 1.0))
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, node.output[0]))
    del proto.graph.node[:]
    proto.graph.node.extend(kept)
    del proto.graph.value_info[:]
    _drop_unused_inputs(proto.graph)
    return proto


def light_input(name: str, seed: int = 1) -> dict[str, np.ndarray]:
    """A seeded picture for a light model."""
    import onnx

    graph = onnx.ModelProto.FromString(_light_bytes(name)).graph
    weights = {made for node in graph.node if node.op_type == "ConstantOfShape" for made in node.output}
    stored = {tensor.name for tensor in graph.initializer} | weights
    data = next(value for value in graph.input if value.name not in stored)
    shape = tuple(dim.dim_value for dim in data.type.tensor_type.shape.dim)
    return {data.name: np.random.default_rng(seed).standard_normal(shape).astype(np.float32)}


def _roles(graph: Any) -> dict[str, str]:
    """What each weight is for, by the operand position at its (possibly indirect) reader."""
    ends_branch = {name for node in graph.node if node.op_type == "Sum" for name in node.input}
    aliases = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Unsqueeze"}
    readers = [node for node in graph.node if any(name in node.output for name in [*_layer_outputs(graph)][-1:])]
    last = readers[0].input[1] if readers else ""
    roles: dict[str, str] = {}
    for node in graph.node:
        operands = [aliases.get(name, name) for name in node.input]
        if node.op_type in ("Conv", "Gemm", "MatMul"):
            roles[operands[1]] = "last" if operands[1] == last else "weights"
            roles.update({name: "bias" for name in operands[2:]})
        elif node.op_type == "BatchNormalization":
            scale = "small scale" if node.output[0] in ends_branch else "scale"
            roles.update(zip(operands[1:], (scale, "bias", "mean", "variance"), strict=True))
        elif node.op_type in ("Mul", "Add") and node.input[1] in aliases:
            roles[operands[1]] = "scale" if node.op_type == "Mul" else "bias"
    return roles


def _layer_outputs(graph: Any) -> list[str]:
    """Outputs of the layers with weights, in order."""
    return [node.output[0] for node in graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]


def _drawn(name: str, shape: tuple[int, ...], role: str, seed: int) -> np.ndarray:
    """Seeded weights of one tensor; the draw depends on its name alone, not on the order of nodes."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    noise = random.standard_normal(shape, dtype=np.float32)
    if role in ("weights", "last") and len(shape) > 1:
        inputs = int(np.prod(shape[1:]))
        return noise * np.float32(np.sqrt((2.0 if role == "weights" else 1.0) / inputs))
    if role == "variance":
        return np.abs(1 + 0.1 * noise).astype(np.float32)
    if role in ("scale", "small scale"):
        return ((1.0 if role == "scale" else 0.3) * (1 + 0.1 * noise)).astype(np.float32)
    return np.float32(0.05) * noise


def _drop_unused_inputs(graph: Any) -> None:
    """Weights that the file also lists as inputs, and the shapes they were made from, go."""
    read = {name for node in graph.node for name in node.input}
    made = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name in read and value.name not in made]
    tensors = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.input[:], graph.initializer[:]
    graph.input.extend(inputs)
    graph.initializer.extend(tensors)
