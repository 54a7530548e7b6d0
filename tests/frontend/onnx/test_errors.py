"""Broken and hostile models: each gives one located error (golden text), within a second and without allocation."""

from __future__ import annotations

import ast
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frontend.onnx import hostile
from tests.frontend.onnx.corpus import KINDS
from workbench.core.errors import InternalError, WorkbenchError
from workbench.frontend.onnx import from_onnx, import_model


def refusal(model: object, **options: object) -> WorkbenchError:
    """The error that importing gives.  It must not be a bug's."""
    with pytest.raises(WorkbenchError) as caught:
        import_model(model, **options)  # type: ignore[arg-type]
    assert not isinstance(caught.value, InternalError), str(caught.value)
    return caught.value


OTHERS = [name for name in hostile.REFUSED if not any(name in kind.files for kind in KINDS.values())]
"""Broken models beyond the corpus."""


@pytest.mark.parametrize("name", OTHERS)
def test_refused(name: str, golden) -> None:
    model = hostile.REFUSED[name]()
    started = time.process_time()
    error = refusal(model)
    assert time.process_time() - started < 5
    assert error.code and error.message and (error.found or error.where) and error.fix
    golden(str(error))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with data, links, a FIFO, and a secret beside it."""
    inside = tmp_path / "model"
    inside.mkdir()
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"\x01" * 24)
    (inside / "data.bin").write_bytes(np.arange(6, dtype="f").tobytes())
    (inside / "link.bin").symlink_to(secret)
    (inside / "linked").symlink_to(tmp_path)
    os.link(secret, inside / "hard.bin")
    os.mkfifo(inside / "fifo")
    (inside / "folder").mkdir()
    return inside


def test_external_data_is_read_from_the_folder(folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(hostile.external(location="data.bin", length="24").SerializeToString())
    constants = [part for part in import_model(path).module.nodes() if type(part).__name__ == "Constant"]
    assert np.array_equal(constants[0].data.numpy(), np.arange(6, dtype="f").reshape(2, 3))


def test_hard_links_may_be_allowed(folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(hostile.external(location="hard.bin").SerializeToString())
    assert import_model(path, config={"allow_hardlinks": True}).output_names == ("y",)


def test_external_data_needs_a_folder(golden) -> None:
    golden(str(refusal(hostile.external(location="data.bin"))))


def test_a_condition_of_the_run_is_kept() -> None:
    assert import_model(hostile.ACCEPTED["if_at_run_time"]()).output_names == ("y",)


def test_the_pickle_is_never_loaded(tmp_path: Path) -> None:
    class Planted:
        def __reduce__(self):
            return (Path(tmp_path / "ran").touch, ())

    import pickle

    refusal(pickle.dumps(Planted()))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("shape", "name"),
    [({"xx": (2, 3)}, "unknown"), ({"x": (2,)}, "rank"), ({"x": (2, -3)}, "negative"), ({"x": 5}, "number")],
)
def test_shape_argument(shape: dict, name: str, golden) -> None:
    golden(str(refusal(hostile.good(), shape=shape)), name)


@pytest.mark.parametrize(
    ("extents", "fix"),
    [
        ([2, 3], "for example shape={'x': (2, 3)}"),
        (["batch", 3], "for example shape={'x': (1, 3)}"),
        ([], "leave shape= out"),
    ],
)
def test_a_name_like_no_other_is_answered_with_an_example_that_works(extents: list[Any], fix: str) -> None:
    """No name is near: how the first input's shape is stated."""
    from onnx import TensorProto, helper

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, extents) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert refusal(model, shape={"quite_another": (2, 3)}).fix == fix
    stated = {"x": ast.literal_eval(fix.partition(": ")[2].rstrip("}"))} if extents else {}
    assert import_model(model, shape=stated).output_names == ("y",)


def test_other_arguments(tmp_path: Path, golden) -> None:
    golden(str(refusal(3)), "source")
    golden(str(refusal(tmp_path / "none.onnx")), "missing_file")
    golden(str(refusal(hostile.good(), config={"use_gpu": True})), "option")
    os.mkfifo(tmp_path / "fifo.onnx")
    golden(str(refusal(tmp_path / "fifo.onnx")), "fifo")


def test_a_failing_converter_is_named(golden) -> None:
    from workbench.frontend.onnx.table import CONVERTERS, onnx_op

    @onnx_op("Fails", domain="test")
    def fails(node, x):
        raise KeyError("lost")

    try:
        made = hostile.model([hostile.node("Fails", ["x"], ["y"], domain="test")])
        made.opset_import.add(domain="test", version=1)
        with pytest.raises(InternalError) as caught:
            from_onnx(made)
        golden(str(caught.value))
    finally:
        del CONVERTERS["test", "Fails"]


@pytest.mark.parametrize("op_type", ["Clip", "Relu"])
def test_a_converter_of_the_workbench_is_replaced_by_command_only(op_type: str) -> None:
    """Relu has none of its own: the operator of relay is it."""
    from workbench.frontend.onnx.table import CONVERTERS, converter_for, onnx_op

    before = list(CONVERTERS.get(("", op_type), ()))
    with pytest.raises(WorkbenchError, match="E-ONNX-CONVERTER"):
        onnx_op(op_type)(lambda node, x: x)
    try:
        mine = onnx_op(op_type, since=17, override=True)(lambda node, x: x)
        found = converter_for("", op_type, 17)
        assert found is not None and found.function is mine
    finally:
        CONVERTERS["", op_type] = before
        if not before:
            del CONVERTERS["", op_type]


def test_converters_name_a_wrong_operator_or_attribute() -> None:
    from workbench.frontend.onnx import emit

    x = emit.constant([1.0, -1.0], "float32")
    with pytest.raises(WorkbenchError, match="clip has no attribute 'a_mni'") as caught:
        emit.call("clip", x, a_mni=0.0, a_max=1.0)
    assert caught.value.code == "E-OPERATOR-ATTRIBUTE" and "a_min" in caught.value.expected
    with pytest.raises(WorkbenchError, match="there is no operator 'clipp'") as caught:
        emit.call("clipp", x)
    assert "clip" in caught.value.fix
    with pytest.raises(WorkbenchError, match="clip: missing"):
        emit.call("clip", x)
