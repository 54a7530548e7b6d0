"""Saved sessions and metadata that somebody made by hand: valid on the outside, hostile inside.  One error, in time."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_session
from workbench import relay, te
from workbench.core.errors import InternalError, WorkbenchError
from workbench.core.limits import limits
from workbench.core.tensor import Tensor
from workbench.core.transform import PassContext


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("saved") / "s.wb.json"
    small_session().save(str(path))
    return json.loads(path.read_text())


def packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def with_constant(**saved: Any) -> Callable[[dict[str, Any]], Any]:
    """One more constant, under the fingerprint that it would have."""

    def change(document: dict[str, Any]) -> None:
        key = hashlib.sha256(json.dumps(saved, default=str).encode()).hexdigest()
        document["constants"][key] = saved

    return change


def _delta(after: str) -> dict[str, Any]:
    return {"at": {"name": "main", "fingerprint": "", "alike": 1}, "before": "", "after": after}


ONE = base64.b64encode(np.float32(1).tobytes()).decode()
BOMB = packed(b"\0" * (64 << 20))
"""64 MiB in 64 KiB."""

CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bomb": with_constant(dtype="float32", shape=[4], data=BOMB),
    "bombs": lambda d: d["constants"].update(
        {Tensor.full((1 << 24, index), 0, "float32").fingerprint: {"dtype": "float32", "shape": [1 << 24, index],
         "data": packed(b"\0" * 8)} for index in range(1, 9)}
    ),
    "huge_shape": with_constant(dtype="float32", shape=[1 << 40], data=packed(b"\0")),
    "fill_of_huge_shape": with_constant(dtype="float32", shape=[1 << 62, 1 << 62], fill=ONE),
    "fill_of_negative_shape": with_constant(dtype="float32", shape=[-2, -3], fill=ONE),
    "rank": with_constant(dtype="float32", shape=[1] * 100_000, fill=ONE),
    "float_shape": with_constant(dtype="float32", shape=[2.5], fill=ONE),
    "infinite_shape": with_constant(dtype="float32", shape=[float("inf")], fill=ONE),
    "bool_shape": with_constant(dtype="float32", shape=[True], fill=ONE),
    "text_shape": with_constant(dtype="float32", shape="12", fill=ONE),
    "nested_shape": with_constant(dtype="float32", shape=[[2]], fill=ONE),
    "empty_fill": with_constant(dtype="float32", shape=[2], fill=""),
    "no_base64": with_constant(dtype="float32", shape=[2], data="é!"),
    "no_zlib": with_constant(dtype="float32", shape=[2], data=ONE),
    "object_dtype": with_constant(dtype="object", shape=[2], data=packed(b"\0" * 16)),
    "dtype_is_a_list": with_constant(dtype=["<f4"], shape=[2], data=packed(b"\0" * 8)),
    "wrong_hash": lambda d: d["constants"].update({"../../x": {"dtype": "float32", "shape": [1], "fill": ONE}}),
    "program_of_code": lambda d: d.update(program="__import__('os').abort()"),
    "program_of_parentheses": lambda d: d.update(program="(" * 100_000),
    "program_is_a_path": lambda d: d.update(program="/etc/passwd"),
    "target_with_code": lambda d: d.update(target="llvm -mcpu=$(id)"),
    "target_of_a_megabyte": lambda d: d.update(target="llvm -mcpu=" + "x" * (1 << 20)),
    "target_surrogate": lambda d: d.update(target="\ud800"),
    "version_text": lambda d: d.update(version="1"),
    "version_true": lambda d: d.update(version=True),
    "attrs_of_numbers": lambda d: d.update(attrs={"output_names": 7}),
    "plan_too_long": lambda d: d["plan"].extend([{"kind": "pass", "name": "../InferType"}] * 100_000),
    "pass_is_a_dunder": lambda d: d["plan"].insert(0, {"kind": "pass", "name": "__class__"}),
    "level_unknown": lambda d: d["plan"][0].update(level="kernel"),
    "options_of_dunder": lambda d: d["plan"][0].update(options={"__init__": 1}),
    "edit_of_code": lambda d: d["plan"].append(
        {"kind": "edit", "level": "relay", "deltas": [_delta("import os\nos.abort()")]}
    ),
    "edit_of_nothing": lambda d: d["plan"].append({"kind": "edit", "level": "relay", "deltas": [_delta("")]}),
    "trace_of_code": lambda d: next(a for a in d["plan"] if a["kind"] == "schedule").update(
        tails=[{"at": {"name": "k", "fingerprint": "", "alike": 1}, "trace": "__import__('os')", "shared": 0}]
    ),
    "edit_of_everything_from_nothing": lambda d: d["plan"].append(
        {"kind": "edit", "level": "tir", "deltas": [{**_delta(d["program"]), "at": {"name": "x" * 10**6}}]}
    ),
    "more_steps_shared_than_there_are": lambda d: next(a for a in d["plan"] if a["kind"] == "schedule").update(
        tails=[{"at": {"name": "k", "fingerprint": "f", "alike": 1}, "trace": {}, "shared": 10**12}]
    ),
    "level_is_a_word": lambda d: d["settings"].update(level="high"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_hostile_session_is_one_error(name: str, document: dict[str, Any], tmp_path: Path) -> None:
    changed = json.loads(json.dumps(document))
    CHANGES[name](changed)
    path = tmp_path / "hostile.wb.json"
    path.write_text(json.dumps(changed))
    started = time.process_time()
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path)).run(small_inputs())
    assert time.process_time() - started < 5
    assert not isinstance(caught.value, InternalError), str(caught.value)
    assert len(str(caught.value).split("\n")) <= 6 and len(str(caught.value)) < 2500


def moved(document: dict[str, Any], kind: str, place: int) -> None:
    row = next(row for row in document["plan"] if row["kind"] == kind)
    document["plan"].remove(row)
    document["plan"].insert(place, row)


AT_OPEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "rows in reverse": lambda d: d["plan"].reverse(),
    "code generated twice": lambda d: d["plan"].append({"kind": "codegen"}),
    "no code generated": lambda d: d["plan"].pop(),
    "nothing at all": lambda d: d["plan"].clear(),
    "a pass after code generation": lambda d: d["plan"].append({"kind": "pass", "name": "Simplify", "level": "tir"}),
    "lowered twice": lambda d: d["plan"].insert(-1, {"kind": "lower"}),
    "scheduled before it is lowered": lambda d: moved(d, "schedule", 0),
    "not lowered": lambda d: d["plan"].remove({"kind": "lower"}),
    "a graph pass among loop passes": lambda d: d["plan"].insert(-1, {"kind": "pass", "name": "FuseOps"}),
    "two names of one output": lambda d: d["attrs"].update(output_names=["a", "b"]),
    "names in a list": lambda d: d["attrs"].update(output_names=[["q"]]),
    "a number as a name": lambda d: d["attrs"].update(output_names=[5]),
    "a level of thirty digits": lambda d: d["settings"].update(level=10**30),
    "an unknown pass disabled": lambda d: d["settings"].update(disabled=["FuseOpps"]),
    "an unknown pass required": lambda d: d["settings"].update(required=["Nope"]),
}


@pytest.mark.parametrize("name", AT_OPEN)
def test_a_session_that_nobody_saved_is_refused_when_it_is_opened(
    name: str, document: dict[str, Any], tmp_path: Path
) -> None:
    changed = json.loads(json.dumps(document))
    AT_OPEN[name](changed)
    path = tmp_path / "hostile.wb.json"
    path.write_text(json.dumps(changed))
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path))
    assert not isinstance(caught.value, InternalError) and caught.value.code.startswith("E-"), f"{caught.value}"
    said = str(caught.value)
    assert any(word in said for word in ("plan", "attrs", "names of outputs", "settings")), said


def test_names_of_outputs_that_do_not_fit_are_one_error_of_the_step() -> None:
    x = relay.var("x", shape=(2,))
    module = wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    for names in (("a", "b"), (5,), "a"):
        error = wb.open(module.with_attr("output_names", names))["Lower"].error
        assert error is not None and error.code == "E-LOWER-OUTPUTS", f"{error}"


def added_one() -> Any:
    a = te.placeholder((8,), name="a")
    return wb.open([a, te.compute((8,), lambda i: a[i] + 1.0, name="b")])


@pytest.mark.parametrize(
    ("old", "new"),
    [("T.serial(8)", f"T.{kind}(-3)") for kind in ("serial", "vectorized", "parallel", "unroll")]
    + [("T.axis.spatial(8,", "T.axis.spatial(-8,"), ("(8,), \"float32\")):", "(-8,), \"float32\")):")],
)
def test_a_negative_extent_is_refused(old: str, new: str) -> None:
    session = added_one()
    text = session.tir["main"].script()
    assert old in text
    with pytest.raises(WorkbenchError) as caught:
        session.edit(tir={"main": text.replace(old, new)})
    assert caught.value.code == "E-TIR-VERIFY" and "negative extent" in caught.value.message, f"{caught.value}"


def test_what_no_loop_writes_is_zero() -> None:
    session = added_one()
    edited = session.edit(tir={"main": session.tir["main"].script().replace("T.serial(8)", "T.serial(0)")})
    assert not edited.run({"a": np.ones(8, np.float32)})["b"].any()
    x = relay.var("x", shape=(64, 64))
    graph = wb.open(relay.Function([x], relay.nn.relu(x)), target="llvm")
    (kernel,) = graph.kernels
    text = graph.tir[kernel].script()
    loop = next(line for line in text.splitlines() if " for " in line)
    nothing = graph.edit(tir={kernel: text.replace(loop, re.sub(r"\([0-9]+\)", "(0)", loop))})
    np.full((64, 64), 7, np.float32)  # what the memory may hold
    for _ in range(3):
        assert not nothing.run({"x": np.ones((64, 64), np.float32)})["output_0"].any()


ODD: tuple[Any, ...] = (math.inf, -math.inf, math.nan, -1, 0, 1e308, 2**70, 0.5, True, "7", None, [], [3], {}, {"a": 1})


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A saved session with something of everything: settings, a constant, edits of graph and loops, a schedule."""
    x = relay.var("x", shape=(4, 8))
    body = relay.nn.leaky_relu(relay.nn.dense(x, relay.const(np.ones((8, 8), np.float32))), 0.125)
    with PassContext(3, config={"tir.UnrollLoop": {"auto_max_step": 8}, "relay.FuseOps.max_depth": 16}):
        session = wb.open(relay.Function([x], body))
    session = session.edit(relay=session.relay.script().replace("alpha=0.125", "alpha=0.25"))
    (kernel,) = session.kernels
    schedule = session.schedule(kernel, default=False)
    _, inner = schedule.split(schedule.get_loops(schedule.get_block("leaky_relu"))[1], factors=[None, 4])
    schedule.annotate(inner, "note", 2)
    session = session.edit(schedule={kernel: schedule})
    session = session.edit(tir={kernel: session.tir[kernel].script().replace("0.25", "0.5")})
    path = tmp_path_factory.mktemp("saved") / "e.wb.json"
    session.save(str(path))
    return json.loads(path.read_text())


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(node, (dict, list)):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(value, (*path, key))
    else:
        yield path, node


def walked_with(document: dict[str, Any], place: tuple[Any, ...], odd: Any, path: Path) -> None:
    """Open the file with another value at a place, and compute all steps but native code."""
    changed = json.loads(json.dumps(document))
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = odd
    path.write_text(json.dumps(changed))
    try:
        session = wb.open(str(path))
        errors = [session.step(index).error for index in range(len(session) - 1)]
    except WorkbenchError as error:
        errors = [error]
    told = f"{odd!r} at {place}: {errors[-1]}"
    assert not any(isinstance(error, InternalError) for error in errors), told


def test_odd_numbers_in_a_saved_session_are_one_error(edited: dict[str, Any], tmp_path: Path) -> None:
    numbers = [place for place, value in leaves(edited) if isinstance(value, (int, float))]
    assert len(numbers) > 15
    for number, place in enumerate(numbers):
        for odd in ODD if place[0] == "settings" else (ODD[number % len(ODD)],):
            walked_with(edited, place, odd, tmp_path / "odd.wb.json")


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_odd_values_everywhere_in_a_saved_session_are_one_error(edited: dict[str, Any], tmp_path: Path) -> None:
    for place, _ in leaves(edited):
        for odd in ODD:
            walked_with(edited, place, odd, tmp_path / "odd.wb.json")


def test_many_bombs_together_are_held_to_one_bound(document: dict[str, Any], tmp_path: Path) -> None:
    changed = json.loads(json.dumps(document))
    for index in range(1, 5):
        array = np.full((1 << 18, index), index, np.float32)
        changed["constants"][Tensor.of(array).fingerprint] = {
            "dtype": "float32", "shape": list(array.shape), "data": packed(array.tobytes())
        }  # fmt: skip
    path = tmp_path / "bombs.wb.json"
    path.write_text(json.dumps(changed))
    before = limits.tensor_bytes
    limits.tensor_bytes = 6 << 20
    try:
        with pytest.raises(WorkbenchError) as caught:
            wb.open(str(path))
    finally:
        limits.tensor_bytes = before
    assert caught.value.code == "E-LIMIT" and "together" in caught.value.message


def test_things_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.wb.json")
    (tmp_path / "folder.wb.json").mkdir()
    (tmp_path / "zero.wb.json").symlink_to("/dev/zero")
    (tmp_path / "gone.wb.json").symlink_to(tmp_path / "nowhere")
    for name in ("fifo", "folder", "zero", "gone", "a\0b"):
        with pytest.raises(WorkbenchError) as caught:
            wb.open(f"{tmp_path}/{name}.wb.json")
        assert caught.value.code == "E-SAVED-READ", str(caught.value)


def test_opening_a_session_opens_no_other_file(document: dict[str, Any], tmp_path: Path) -> None:
    """Its source is a name to show; nothing is read from there."""
    changed = {**document, "source": "../../secret.onnx"}
    path = tmp_path / "s.wb.json"
    path.write_text(json.dumps(changed))
    opened: list[str] = []
    listening = True

    def hook(event: str, details: tuple[Any, ...]) -> None:
        if listening and event == "open":
            opened.append(str(details[0]))

    sys.addaudithook(hook)
    session = wb.open(str(path))
    listening = False
    assert session.source == "../../secret.onnx"
    named = [name for name in opened if not name.endswith((".py", ".pyc")) and not name.isdigit()]  # digits: open pipes
    assert named == [str(path)]


METADATA: dict[str, Any] = {
    "no_json": "{",
    "deep": "[" * 100_000,
    "number": "1",
    "null": "null",
    "no_key": "{}",
    "shape": {"dtype": "float32", "shape": [1 << 62], "fill": ONE},
    "negative": {"dtype": "float32", "shape": [-1], "data": ""},
    "infinite": '{"relay.Constant": [{"dtype": "float32", "shape": [1e999], "fill": ""}]}',
    "fill": {"dtype": "float32", "shape": [1], "fill": ""},
    "data": {"dtype": "float32", "shape": [3], "data": "AAAA"},
    "dtype": {"dtype": "object", "shape": [1], "data": "AAAAAAAAAAA="},
}


@pytest.mark.parametrize("name", METADATA)
def test_hostile_metadata_of_classic_texts(name: str) -> None:
    found = METADATA[name]
    data = found if isinstance(found, str) else json.dumps({"relay.Constant": [found]})
    text = f"def @main() {{ meta[relay.Constant][0] }}\n#[metadata]\n{data}"
    with pytest.raises(WorkbenchError) as caught:
        relay.fromtext(text)
    assert caught.value.code == "E-RELAY-PARSE" and not isinstance(caught.value, InternalError)
