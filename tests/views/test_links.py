"""The link table says line by line what the layers say, and is small."""

import json
from functools import partial

import pytest

from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench import relay, te
from workbench.schedule import Schedule
from workbench.views.link_boxes import LinkedBoxes, linked_boxes
from workbench.views.links import LinkView, link_table, parts_key
from workbench.views.schedule import EditorModel

LIMIT = 60_000


def opened(view: LinkView, layer: str) -> list[frozenset[int]]:
    """The classes by line, from the JSON alone."""
    table = json.loads(json.dumps(view.to_json()))
    runs = table["layers"][layer]
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return [frozenset(table["sets"][number]) for count, number in pairs for _ in range(count)]


def told(view: LinkView, layer: str, what: tuple[int, ...]) -> list[int]:
    """By line, what is told of its set."""
    runs = view.layers[layer]
    return [what[number] for count, number in zip(runs[::2], runs[1::2], strict=True) for _ in range(count)]


@pytest.mark.parametrize("kernel", ["fused_nn_conv2d_nn_bias_add_add_nn_relu", "fused_nn_softmax", "main"])
def test_it_says_what_the_layers_say(kernel: str) -> None:
    links = small_session().provenance.links
    view = link_table(links, kernel)
    for name, layer in links.layers(kernel).items():
        assert opened(view, name) == list(layer.lines)
    assert view.sets[0] == () and len(json.dumps(view.to_json())) < LIMIT


def test_lines_are_told_apart_by_what_they_do_and_by_the_loop_they_stand_in() -> None:
    session = small_session()
    kernel = "fused_nn_conv2d_nn_bias_add_add_nn_relu"
    links = session.provenance.links
    view = link_table(links, kernel, True, partial(linked_boxes, session))
    for name, layer in links.layers(kernel).items():
        assert opened(view, name) == list(layer.lines), name
        graded = [grade if layer.lines[at] else 0 for at, grade in enumerate(layer.grades or [0] * len(layer.lines))]
        assert told(view, name, view.grades) == graded, name
    names = [(box, name) for box, name, _ in view.boxes]
    assert ("l:data_pad:0", "i0") in names and ("b:conv2d", "conv2d") in names
    assert all(around < number for number, (_, _, around) in enumerate(view.boxes, 1)), "outer ones come first"
    boxes = ["", *(box for box, _, _ in view.boxes)]
    store = next(at for at, text in enumerate(links.layers(kernel)["tir"].text.split("\n")) if " relu[" in text)
    assert boxes[told(view, "tir", view.within)[store]] == "l:relu:4"
    assert view.schedule == session.schedule(kernel).moves.fingerprint
    assert len(json.dumps(view.to_json())) < LIMIT


def test_boxes_are_those_of_the_editor() -> None:
    session = small_session()
    kernel = session.kernels[0]
    pending = list(EditorModel(session.schedule(kernel)).view().tree)
    shown = set()
    while pending:
        node = pending.pop()
        shown.add((node.id, node.name))
        pending.extend(node.children)
    assert {(box, name) for box, name, _ in linked_boxes(session, kernel, ("schedule", "tir")).boxes} == shown


def test_loops_that_were_edited_as_text_are_no_schedules() -> None:
    session = small_session()
    kernel = "fused_nn_softmax"
    text = session.provenance.links.loops("Schedule", kernel).text.replace("T.exp(", "T.float32(1.0) * T.exp(")
    edited = session["Schedule"].edit({kernel: text})
    assert linked_boxes(edited, kernel, ("schedule", "tir")) == LinkedBoxes()


def test_a_statement_is_called_by_what_it_writes() -> None:
    import workbench as wb

    view = link_table(wb.open(Schedule(plain_matmul(4, 4, 4))).provenance.links, "main", False)
    assert list(view.names.values()) == ["C", "C"]


def test_classes_have_the_names_of_their_operators() -> None:
    session = small_session()
    kernel = next(name for name in session.kernels if name.endswith("nn_bias_add"))
    view = link_table(session.provenance.links, kernel)
    product = "nn.contrib_dense_pack" if "pack" in kernel else "nn.dense"
    assert list(view.names.values()) == [product, "nn.bias_add"]
    assert view.calls == (tuple(view.names),)


def test_the_key_of_parts_is_anothers_where_an_operator_is_gone() -> None:
    import workbench as wb

    def key(alpha: float, axes: tuple[int, ...]) -> str:
        x = relay.var("x", shape=(1, 2, 3))
        leaky = relay.nn.leaky_relu(x, alpha=alpha)
        return parts_key(wb.open(relay.Function([x], relay.exp(relay.transpose(leaky, axes)))).provenance.links)

    assert key(0.5, (0, 2, 1)) == key(0.25, (0, 2, 1)) != key(0.5, (0, 1, 2))


def test_stages_have_their_own_names() -> None:
    import workbench as wb

    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="twice")
    view = link_table(wb.open([a, b]).provenance.links, "main")
    assert list(view.names.values()) == ["twice"] and view.calls == ()


def test_without_machine_code_it_says_the_same_of_the_rest_and_compiles_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import workbench as wb
    from workbench.codegen.llvm import machine

    compiled: list[machine.Job] = []
    really = machine.compile_job
    monkeypatch.setattr(machine, "compile_job", lambda job: (compiled.append(job), really(job))[1])
    a = te.placeholder((8,), name="A")
    links = wb.open([a, te.compute((8,), lambda i: a[i] * 3.0, name="thrice")]).provenance.links
    view = link_table(links, "main", native=False)
    assert compiled == [] and "asm" not in view.layers and "ll" not in view.layers
    whole = link_table(links, "main")
    assert [opened(view, name) for name in view.layers] == [opened(whole, name) for name in view.layers]
    assert compiled != [] and "asm" in whole.layers
