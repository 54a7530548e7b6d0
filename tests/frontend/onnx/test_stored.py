"""Weights that stay in a very large model's file: same program, read when needed, refused when overwritten."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.errors import WorkbenchError
from workbench.core.tensor import Tensor
from workbench.frontend.onnx import import_model, read, skeleton
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Constant

WEIGHTS = np.random.default_rng(0).standard_normal((512, 600)).astype(np.float32)


def model() -> Any:
    from onnx import TensorProto, helper, numpy_helper

    return helper.make_model(
        helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            "large",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 512))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 600))],
            [numpy_helper.from_array(WEIGHTS, "w")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small file that is taken for a very large one."""
    monkeypatch.setattr(skeleton, "WORTH_IT", 0)
    monkeypatch.setattr(read, "FROM_FILE_BYTES", 0)
    found = tmp_path / "large.onnx"
    found.write_bytes(model().SerializeToString())
    return found


def weights_of(module: Any) -> Tensor:
    (found,) = (node.data for node in module.nodes() if isinstance(node, Constant) and node.data.size == WEIGHTS.size)
    return found


def test_the_program_is_the_same_and_its_weights_are_not_kept(path: Path) -> None:
    module = import_model(path).module
    assert module.same(import_model(model()).module)
    data = weights_of(module)
    array = data.numpy()
    assert data.numpy() is array and not array.flags.writeable
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is None, "somebody keeps the array"
    x = np.ones((2, 512), np.float32)
    np.testing.assert_allclose(interpret(module["main"], x), x @ WEIGHTS, rtol=1e-4, atol=1e-4)


def test_a_file_that_is_replaced_does_no_harm(path: Path) -> None:
    data = weights_of(import_model(path).module)
    other = path.with_name("new.onnx")
    other.write_bytes(b"something else")
    os.replace(other, path)
    np.testing.assert_array_equal(data.numpy(), WEIGHTS)


def test_a_file_that_is_overwritten_is_refused(path: Path) -> None:
    data = weights_of(import_model(path).module)
    path.write_bytes(b"short")
    with pytest.raises(WorkbenchError, match=r"large\.onnx was overwritten") as caught:
        data.numpy()
    assert caught.value.code == "E-IMPORT-CHANGED" and "open the model again" in caught.value.fix


def test_the_file_is_closed_with_its_last_tensor(path: Path) -> None:
    module = import_model(path).module
    assert times_open(path) == 1
    del module
    gc.collect()
    assert times_open(path) == 0


def times_open(path: Path) -> int:
    """How many of this process's file descriptors are of a file: others come and go with what else is collected."""
    return sum(os.path.realpath(link) == str(path) for link in Path("/proc/self/fd").iterdir())


def test_a_copy_carries_the_data(path: Path) -> None:
    import pickle

    data = weights_of(import_model(path).module)
    assert pickle.loads(pickle.dumps(data)) == data
    assert pickle.loads(pickle.dumps(data)).fingerprint == data.fingerprint == Tensor.of(WEIGHTS).fingerprint
