"""Saved sessions: they come back the same, and a damaged file is one clear error."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model, small_session
from workbench import WorkbenchError, te
from workbench.core.equal import same
from workbench.driver.layers import lacks_onnx


@pytest.fixture(scope="module")
def edited() -> Any:
    """A session with a pass left out, graph and loop edits and a changed schedule."""
    session = small_session().rerun(disabled_pass=["EliminateCommonSubexpr"])
    session = session.edit(relay=session.relay.script().replace("R.nn.relu", "R.tanh"))
    kernel = next(name for name in session.kernels if "tanh" in name)
    schedule = session.schedule(session.kernels[-1])
    session = session.edit(schedule={session.kernels[-1]: schedule})
    return session.edit(tir={kernel: session.tir[kernel].script()})


@pytest.fixture(scope="module")
def saved(edited: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "lesson.wb.json"
    edited.save(str(path))
    return path


def test_a_session_comes_back_the_same(edited: Any, saved: Path) -> None:
    back = wb.open(str(saved))
    assert back.labels == edited.labels and str(back.target) == str(edited.target)
    for label in edited.labels:
        one, other = edited[label].after, back[label].after
        assert one.names() == other.names(), label
        for name in one.names():
            assert same(one[name], other[name]), f"{name} differs after {label}"
    np.testing.assert_array_equal(back.run(small_inputs())["y"], edited.run(small_inputs())["y"])


def test_saving_again_gives_the_same_file(saved: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.wb.json"
    wb.open(str(saved)).save(str(again))
    assert json.loads(again.read_text()) == json.loads(saved.read_text())


def test_loop_programs_are_saved(tmp_path: Path) -> None:
    a = te.placeholder((8,), name="A")
    session = wb.open([a, te.compute((8,), lambda i: a[i] * 2.0, name="B")])
    session.save(str(tmp_path / "twice.wb.json"))
    back = wb.open(str(tmp_path / "twice.wb.json"))
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(back.run({"A": x})["B"], 2 * x)


def test_options_of_passes_are_kept(tmp_path: Path) -> None:
    from workbench.core.transform import PASSES, module_pass

    @module_pass(opt_level=0, name="Marked")
    def Marked(mod: Any, ctx: Any, *, mark: int = 1) -> Any:
        return mod.with_attr("mark", mark)

    try:
        session = small_session().rerun(passes=[Marked(mark=7), "FuseOps"])
        session.save(str(tmp_path / "marked.wb.json"))
        assert wb.open(str(tmp_path / "marked.wb.json"))["Marked"].after.attrs["mark"] == 7
    finally:
        PASSES.remove("Marked")


Damage = Callable[[dict[str, Any]], Any]


def _first_constant(document: dict[str, Any]) -> dict[str, Any]:
    return next(saved for saved in document["constants"].values() if "data" in saved and saved["shape"] != [])


def _flip_a_bit(document: dict[str, Any]) -> None:
    held = _first_constant(document)
    raw = bytearray(base64.b64decode(held["data"]))
    raw[len(raw) // 2] ^= 1
    held["data"] = base64.b64encode(bytes(raw)).decode()


def _set(*path: Any, value: Any) -> Damage:
    def damage(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return damage


def _remove(key: str) -> Damage:
    return lambda document: document.pop(key) and None


DAMAGES: dict[str, tuple[Damage, str]] = {
    "bit flipped in a constant": (_flip_a_bit, "E-SAVED-DAMAGED"),
    "shape of a constant": (lambda d: _first_constant(d).update(shape=[10**9, 10**9]), "E-LIMIT"),
    "negative shape": (lambda d: _first_constant(d).update(shape=[-1]), "E-SAVED-DAMAGED"),
    "dtype of a constant": (lambda d: _first_constant(d).update(dtype="float99"), "E-"),
    "constant is text": (lambda d: d["constants"].update(x="y"), "E-SAVED-DAMAGED"),
    "constant left out": (lambda d: d["constants"].clear(), "E-"),
    "another version": (_set("version", value=99), "E-SAVED-VERSION"),
    "another format": (_set("format", value="zip"), "E-SAVED-DAMAGED"),
    "no program": (_remove("program"), "E-SAVED-DAMAGED"),
    "no plan": (_remove("plan"), "E-SAVED-DAMAGED"),
    "program of another kind": (_set("program", value=[]), "E-SAVED-DAMAGED"),
    "program cut": (lambda d: d.update(program=d["program"][: len(d["program"]) // 2]), "E-"),
    "unknown operator": (lambda d: d.update(program=d["program"].replace("R.nn.softmax", "R.nn.softmix")), "E-"),
    "code in the program": (lambda d: d.update(program="import os\nos.abort()"), "E-"),
    "unknown target": (_set("target", value="quantum"), "E-TARGET"),
    "unknown pass": (_set("plan", 0, "name", value="InferTypes"), "E-PASS-UNKNOWN"),
    "unknown kind": (_set("plan", 0, "kind", value="miracle"), "E-SAVED-DAMAGED"),
    "action is a number": (_set("plan", 0, value=7), "E-SAVED-DAMAGED"),
    "unknown options": (_set("plan", 0, "options", value={"depth": 3}), "E-"),
    "options are a list": (_set("plan", 0, "options", value=[1]), "E-SAVED-DAMAGED"),
    "edit without text": (lambda d: _edit(d).update(deltas=[{**_edit(d)["deltas"][0], "after": "def"}]), "E-"),
    "a change without its base": (lambda d: _edit(d)["deltas"][0].pop("before"), "E-SAVED-DAMAGED"),
    "a change of nothing": (lambda d: _edit(d)["deltas"][0].pop("at"), "E-SAVED-DAMAGED"),
    "settings without a level": (lambda d: d["settings"].pop("level"), "E-SAVED-DAMAGED"),
    "settings are a list": (_set("settings", value=[3]), "E-SAVED-DAMAGED"),
    "an option of no pass": (lambda d: d["settings"].update(config={"relay.no": 1}), "E-"),
    "changes are a list of numbers": (lambda d: _edit(d).update(deltas=[1]), "E-SAVED-DAMAGED"),
    "traces are a number": (lambda d: _schedule(d).update(tails=4), "E-SAVED-DAMAGED"),
}


def _edit(document: dict[str, Any]) -> dict[str, Any]:
    return next(saved for saved in document["plan"] if saved["kind"] == "edit")


def _schedule(document: dict[str, Any]) -> dict[str, Any]:
    return next(saved for saved in document["plan"] if saved["kind"] == "schedule")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_one_error(name: str, saved: Path, tmp_path: Path) -> None:
    damage, code = DAMAGES[name]
    document = json.loads(saved.read_text())
    damage(document)
    path = tmp_path / "damaged.wb.json"
    path.write_text(json.dumps(document))
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path)).run(small_inputs())
    assert caught.value.code.startswith(code), f"{caught.value}"
    assert len(str(caught.value).split("\n")) <= 6


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99])
def test_a_cut_file_is_one_error(part: float, saved: Path, tmp_path: Path) -> None:
    text = saved.read_text()
    path = tmp_path / "cut.wb.json"
    path.write_text(text[: int(len(text) * part)])
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path))
    assert caught.value.code == "E-SAVED-DAMAGED"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 100_000, b'"x"', b"null", b"{}"])
def test_other_files_are_one_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.wb.json"
    path.write_bytes(content)
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path))
    assert caught.value.code == "E-SAVED-DAMAGED"


def test_a_missing_file_and_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(tmp_path / "none.wb.json"))
    assert caught.value.code == "E-SAVED-READ"
    with pytest.raises(WorkbenchError) as caught:
        small_session().save(str(tmp_path / "none" / "x.wb.json"))
    assert caught.value.code == "E-SAVE-WRITE"


# --- as Python ---


def test_its_python_makes_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx

    onnx.save(small_model(), tmp_path / "small.onnx")
    monkeypatch.chdir(tmp_path)
    session = wb.open("small.onnx").rerun(disabled_pass=["EliminateCommonSubexpr", "UnrollLoop"])
    session = session.edit(relay=session.relay.script().replace("R.nn.relu", "R.tanh"))
    kernel = next(name for name in session.kernels if "dense" in name)
    schedule = session.schedule(kernel)
    schedule.annotate(schedule.get_loops(schedule.get_block("dense"))[-1], "remark", 1)
    session = session.edit(schedule={kernel: schedule})
    text = session.to_python()
    made: dict[str, Any] = {}
    exec(compile(text, "session.py", "exec"), made)
    assert made["s"].labels == session.labels, text
    np.testing.assert_array_equal(made["s"].run(small_inputs())["y"], session.run(small_inputs())["y"])


def test_python_of_a_dynamic_model_names_the_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx

    model = small_model()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, tmp_path / "dynamic.onnx")
    monkeypatch.chdir(tmp_path)
    session = wb.open("dynamic.onnx", shape={"x": (2, 3, 7, 7)})
    assert "shape={'x': (2, 3, 7, 7)}" in session.to_python()


def test_python_of_a_program_says_what_to_give_it() -> None:
    assert "wb.open(program" in small_session().to_python()
    compile(small_session().to_python(), "session.py", "exec")


def test_python_of_a_session_with_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx

    onnx.save(small_model(), tmp_path / "small.onnx")
    monkeypatch.chdir(tmp_path)
    with wb.transform.PassContext(disabled_pass=["EliminateCommonSubexpr"], config={"relay.FuseOps.max_depth": 3}):
        session = wb.open("small.onnx", target="llvm -mcpu=x86-64-v3")
    kernel = next(name for name in session.kernels if "dense" in name)
    session = session.edit(tir={kernel: session.tir[kernel].script().replace("T.serial(", "T.unroll(", 1)})
    schedule = session.schedule(kernel)
    schedule.annotate(schedule.get_loops(schedule.get_block("bias_add"))[-1], "note", 1)
    session = session.edit(schedule={kernel: schedule})
    session = session.edit(relay=session["InferType"].script().replace("R.nn.relu", "R.tanh"), at="InferType")
    session = session.rerun(insert={"InferType": "FastMath", "LowerBlocks": "Simplify"}).without("UnrollLoop")
    assert session["Codegen"].error is None, f"{session['Codegen'].error}"
    text = session.to_python()
    made: dict[str, Any] = {}
    exec(compile(text, "session.py", "exec"), made)
    assert made["s"].labels == session.labels and made["s"].plan.settings == session.plan.settings, text
    for name in (*session.kernels, "main"):
        assert same(made["s"].codegen[name].function, session.codegen[name].function), f"{name}:\n{text}"


@pytest.mark.parametrize("name", ["plain.json", "model.onnx", "no_suffix"])
def test_a_session_is_known_by_what_its_file_holds(name: str, edited: Any, tmp_path: Path) -> None:
    path = tmp_path / name
    edited.save(str(path))
    assert wb.open(path).labels == edited.labels
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path), target="llvm")
    assert caught.value.code == "E-OPEN-SAVED"


def test_other_json_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"name": "workbench-session"}')
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path))
    assert caught.value.code == "E-IMPORT-NOT-ONNX"


@pytest.mark.parametrize("as_file", [True, False])
def test_a_saved_session_of_a_model_has_no_onnx_layer_and_knows_it(as_file: bool, tmp_path: Path) -> None:
    """One of a model in memory had the layer, with no node in it."""
    model = small_model()
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    session = wb.open(str(path) if as_file else model)
    assert session.layers[0].name == "onnx" and not lacks_onnx(session.plan.program)
    session.save(str(tmp_path / "session.wb"))
    again = wb.open(str(tmp_path / "session.wb"))
    assert again.layers[0].name == "relay" and lacks_onnx(again.plan.program)
