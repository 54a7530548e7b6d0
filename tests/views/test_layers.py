"""What the screen of layers is sent: the session's own texts, small, and one error for what is not there."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model, small_session
from workbench import relay, te
from workbench.core.errors import WorkbenchError
from workbench.driver.layers import TITLES
from workbench.ui.workbench import Workbench
from workbench.views.graph_calls import calls_of
from workbench.views.layers import LayersModel

KERNEL = "fused_nn_softmax"


@pytest.fixture(scope="module")
def model() -> LayersModel:
    return LayersModel(small_session())


def test_opening_runs_the_graph_passes_and_no_more() -> None:
    session = wb.open(small_model())
    view = LayersModel(session).view()
    assert [layer.name for layer in view.layers] == list(TITLES)
    assert [layer.glyph for layer in view.layers] == ["✓"] * 3 + ["◌"] * 5
    assert view.kernels == () and view.state


def test_kernels_come_with_their_parts_of_the_model_the_most_work_first(model: LayersModel) -> None:
    kernels = model.kernels()
    assert sorted(kernel.name for kernel in kernels) == sorted(model.session.kernels)
    work = [kernel.operations for kernel in kernels]
    assert work == sorted(work, reverse=True) and work[0] > 0
    links = model.session.provenance.links
    for kernel in kernels:
        assert set(kernel.classes) == set(links.layers(kernel.name)["te"].every)


def test_shares_of_kernels_are_those_of_the_boxes_of_the_graph() -> None:
    """Loops compute on channels that fill up a block too: the outline said 1.1 % where the graph said 2.2 %."""
    session = small_session()
    found = {kernel.name: kernel.share for kernel in LayersModel(session).kernels()}
    calls = list(calls_of(session["FuseOps"].after["main"]))
    total = sum(int(call.facts["flops"]) for call in calls)
    boxes: Counter[str] = Counter()
    for call in calls:
        boxes[call.place] += int(call.facts["flops"]) / total
    own = [share for share in boxes.values() if share]  # a reshape is a box, and no kernel
    assert sorted(own) == pytest.approx(sorted(found.values()))
    loops = {kernel.name: kernel.operations for kernel in LayersModel(session).kernels()}
    assert [count / sum(loops.values()) for count in loops.values()] != pytest.approx(list(found.values()))


def test_a_kernel_has_its_share_of_the_arithmetic_and_each_operator_its_part() -> None:
    """The arithmetic by hand: one kernel, called twice, of 2 * 4 * 8 * 8 for the product and twice 4 * 8 behind it."""
    x, w, b = (relay.var(name, shape=shape) for name, shape in (("x", (4, 8)), ("w", (8, 8)), ("b", (8,))))
    y = x
    for _ in range(2):
        y = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(y, w), b))
    session = wb.open(relay.Function([x, w, b], relay.nn.softmax(y)))
    dense, softmax = LayersModel(session).kernels()
    assert (dense.calls, dense.operations, softmax.operations) == (2, 512 + 32 + 32, 192)
    # Shares are those of the graph, where softmax counts 4 an element.
    assert dense.share == pytest.approx(2 * 576 / (2 * 576 + 128)) and dense.share + softmax.share == pytest.approx(1)
    parts = dict(zip(dense.classes, dense.parts, strict=True))
    names = {number: thing.op.name for number, thing in zip(parts, session.provenance.links.things(parts), strict=True)}
    assert sorted(names.values()) == ["nn.bias_add", "nn.bias_add", "nn.dense", "nn.dense", "nn.relu", "nn.relu"]
    for number, name in names.items():
        assert parts[number] == pytest.approx((512 if name == "nn.dense" else 32) / 576 / 2), name
    assert softmax.parts == (1.0,)


@pytest.mark.parametrize("layer", TITLES)
def test_a_pane_is_the_sessions_own_text(model: LayersModel, layer: str) -> None:
    view = model.pane(layer, KERNEL)
    sent = [line for chunk in view.text.chunks for line in chunk.lines]
    whole = {"llvm": "ll", "asm": "asm", "tir": "tir"}
    session = model.session
    if layer in whole:
        text = session.provenance.text(KERNEL, whole[layer])
    elif layer in ("te", "schedule"):
        text = session[{"te": "Lower", "schedule": "Schedule"}[layer]].program[KERNEL].script()
    else:
        text = {"onnx": session.provenance.links.onnx, "relay": session.provenance.links.graph("Import"),
                "fused": session.provenance.links.graph("FuseOps")}[layer].text  # fmt: skip
    expected = text.rstrip("\n").replace("\t", "    ").split("\n")
    assert view.text.total == len(expected) and sent == expected[: len(sent)]
    rest = model.lines(layer, KERNEL, len(sent), 10_000).lines
    assert [*sent, *rest] == expected
    assert (view.kernel == "") == (layer in ("onnx", "relay", "fused"))


def test_the_python_of_a_pane_gives_its_text(model: LayersModel) -> None:
    for layer in TITLES:
        view = model.pane(layer, KERNEL)
        text = eval(view.call, {"s": model.session})
        if layer not in ("relay", "fused"):  # those name the whole module's text
            assert text.rstrip("\n").replace("\t", "    ").split("\n")[0] == view.text.chunks[0].lines[0]
        assert isinstance(text, str)


def test_tensor_expressions_have_no_graph() -> None:
    a = te.placeholder((8,), name="A")
    model = LayersModel(wb.open([a, te.compute((8,), lambda i: a[i] * 2.0, name="B")]))
    assert [layer.name for layer in model.view().layers] == list(TITLES)[3:]
    assert [kernel.name for kernel in model.kernels()] == ["main"]
    for layer in model.view().layers:
        assert model.pane(layer.name, "main").text.total


def screen_reply(model: LayersModel, op: str, **args: Any) -> dict[str, Any]:
    reply = Workbench(model.session)._dispatcher.handle({"v": 1, "id": 1, "op": op, "args": args})
    assert reply is not None
    return reply.content


@pytest.mark.parametrize(
    ("op", "args", "code"),
    [
        ("pane", {"layer": "wasm", "kernel": KERNEL}, "E-UI-ARGUMENT"),
        ("pane", {"layer": "asm", "kernel": "nothing"}, "E-KERNEL-UNKNOWN"),
        ("pane", {"layer": "asm"}, "E-KERNEL-UNKNOWN"),
        ("pane", {}, "E-UI-ARGUMENT"),
        ("lines", {"layer": "asm", "kernel": KERNEL, "start": -1, "count": 10}, "E-UI-ARGUMENT"),
        ("lines", {"layer": "asm", "kernel": KERNEL, "start": 0, "count": 10**6}, "E-UI-ARGUMENT"),
        ("links", {"kernel": "nothing"}, "E-KERNEL-UNKNOWN"),
        ("graph", {"layer": "asm"}, "E-UI-ARGUMENT"),
        ("graph", {"layer": "fused", "opened": ["77"]}, "E-VIEW-GROUP"),
        ("select", {"classes": 5}, "E-UI-ARGUMENT"),
    ],
)
def test_what_is_not_there_is_one_error(model: LayersModel, op: str, args: dict[str, Any], code: str) -> None:
    content = screen_reply(model, op, **args)
    assert content["ok"] is False and content["err"]["code"] == code


def test_every_reply_fits_into_one_message(model: LayersModel) -> None:
    for op, args in (("open", {}), ("kernels", {}), ("links", {"kernel": KERNEL}), ("graph", {"layer": "fused"})):
        content = screen_reply(model, op, **args)
        assert content["ok"] and len(json.dumps(content)) < 100_000, op


def test_the_selection_is_heard() -> None:
    screen = Workbench(small_session())
    assert screen.ask("select", classes=[1, 2]).content["ok"] and screen.selection == (1, 2)
    assert not screen.ask("select", classes=[3, "x"]).content["ok"] and screen.selection == (1, 2)


def test_a_graph_of_a_loop_program_is_refused() -> None:
    a = te.placeholder((8,), name="A")
    model = LayersModel(wb.open([a, te.compute((8,), lambda i: a[i] * 2.0, name="B")]))
    with pytest.raises(WorkbenchError):
        model.graph("fused")


def test_an_edit_behind_the_loop_passes_leaves_the_schedules_as_they_were() -> None:
    """The edit of one kernel's flat code made every kernel's Schedule layer, and `s.tir`, the flat code."""
    session = small_session()
    one, other = list(session.kernels)[:2]
    scheduled, last = session["Schedule"].program[other].script(), session.labels[-2]
    text = session[last].program[one].script()
    edited = session[last].edit({one: text.replace("T.float32(0)", "T.float32(0) + T.float32(0)", 1)})
    assert edited.tir[other].script() == scheduled
    model = LayersModel(edited)
    assert [line for chunk in model.pane("schedule", other).text.chunks for line in chunk.lines] == scheduled.split(
        "\n"
    )
    assert "Edit" in edited.labels and model.pane("schedule", other).call.startswith("s['Schedule']")


def test_a_graph_is_drawn_whose_later_pass_fails() -> None:
    """A pass that fails leaves no kernels, and the links that would be asked for come from them."""

    @wb.transform.function_pass(name="Failing")
    def failing(function: Any, mod: Any, ctx: Any) -> Any:
        raise ValueError("no")

    model = LayersModel(wb.open(small_model()).rerun(insert={"FoldConstant": failing}))
    with pytest.raises(WorkbenchError):
        model.session.build()
    assert len(model.graph("relay", (), "").boxes) > 3 and not model.graph("relay", (), "").linked
