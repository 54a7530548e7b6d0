"""Constants are immutable: whatever is handed out of them, writing into it changes no program and no code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nd, relay
from workbench.core.tensor import Tensor

X = relay.var("x", shape=(4,))
ZEROS = {"x": np.zeros(4, "float32")}


def _write_by_dlpack(array: Any) -> None:
    np.from_dlpack(array)[...] = 42


def _write_by_item(array: Any) -> None:
    array[0:4] = 42


WRITES: dict[str, Callable[[Any], Any]] = {
    "dlpack": _write_by_dlpack,
    "copyfrom": lambda array: array.copyfrom(np.full(4, 42, "float32")),
    "copyto": lambda array: nd.array(np.full(4, 42, "float32")).copyto(array),
    "item": _write_by_item,
}


def _models(tmp_path: Path, value: Tensor) -> dict[str, Any]:
    module = wb.IRModule.from_expr(relay.Function([X], relay.add(X, relay.const(value))))
    session, built = wb.open(module, target="llvm"), relay.build(module, target="llvm")
    path = str(tmp_path / "model.so")
    built.export_library(path)
    return {"session": session.build(), "built": built, "loaded": wb.runtime.load_module(path), "opened": session}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("value", [Tensor.of(np.ones(4, "float32")), Tensor.full((4,), 1, "float32")], ids=str)
def test_parameters_of_a_model_are_copies(write: str, value: Tensor, tmp_path: Path) -> None:
    models = _models(tmp_path, value)
    text = models["opened"].relay.script()
    for name in ("session", "built", "loaded"):
        handed = models[name].get_params()
        assert len(handed) == 1
        for array in handed.values():
            WRITES[write](array)
            assert (array.numpy() == 42).all(), "the copy is the caller's to write into"
    for name, model in models.items():
        assert model.run(ZEROS)["output_0"].tolist() == [1, 1, 1, 1], f"a constant of the {name} model was written"
    assert models["opened"].relay.script() == text


def test_constants_of_a_model_cannot_be_written() -> None:
    for value in (Tensor.of(np.ones(4, "float32")), Tensor.full((4,), 1, "float32")):
        built = relay.build(wb.IRModule.from_expr(relay.Function([X], relay.add(X, relay.const(value)))), "llvm")
        assert [array.flags.writeable for _, array in built.constants] == [False]


def test_the_result_of_the_interpreter_is_no_way_into_a_constant() -> None:
    constant = relay.const(np.ones(4, "float32"))
    module = wb.IRModule.from_expr(relay.Function([], constant))
    answer = relay.create_executor("debug", module).evaluate()()
    _write_by_dlpack(answer)
    assert constant.data.numpy().tolist() == [1, 1, 1, 1]


def test_no_constant_is_a_view_of_what_can_be_written() -> None:
    memory = np.ones(4, "float32")
    view = memory.view()
    view.flags.writeable = False
    raw = bytearray(memory.tobytes())
    views = {
        "a read-only view": view,
        "a slice": view[:4],
        "a broadcast": np.broadcast_to(memory, (1, 4))[0],
        "of a read-only buffer": np.frombuffer(memoryview(raw).toreadonly(), "float32"),
    }
    made = {name: relay.const(array) for name, array in views.items()}
    bound = relay.build_module.bind_params_by_name(relay.Function([X], X), {"x": view})
    memory[...] = 42
    raw[:] = memory.tobytes()
    for name, constant in made.items():
        assert constant.data.numpy().tolist() == [1, 1, 1, 1], name
    assert bound.body.data.numpy().tolist() == [1, 1, 1, 1]


def test_what_nobody_can_write_is_not_copied() -> None:
    owned = np.ones(4, "float32")
    owned.flags.writeable = False
    for array in (owned, owned[:2], np.frombuffer(owned.tobytes(), "float32")):
        assert np.shares_memory(Tensor.of(array).numpy(), array)
