"""What a notebook keeps of a screen: readable anywhere, small, and true whatever is in the program."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import workbench as wb
from tests.browser.fakes import FakePipeline
from tests.driver.programs import small_model, small_session
from tests.schedule.programs import plain_matmul
from tests.views.github import cleaned, words
from tests.views.payloads import PAYLOADS
from workbench import relay, te
from workbench.schedule import Schedule
from workbench.views import snapshot as module
from workbench.views.layers import LayersModel
from workbench.views.snapshot import BYTES, Snapshot, contents_of, schedule_snapshot, size_of, snapshot_of
from workbench.views.snapshot_steps import steps_snapshot

# What is left of HTML on a repository's page: no styles, scripts, pictures within the text, events or addresses.
TAGS = {"details", "summary", "div", "b", "h4", "p", "pre", "span", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"open", "scope", "colspan", "class", "style"}  # the last two are stripped, and nothing depends on them
SVG = {"svg", "title", "rect", "text", "path"}


class Strict(HTMLParser):
    """The text of a page as a repository's sanitiser leaves it; what it would not know is an error."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= ATTRIBUTES, attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def product() -> Any:
    a, b = te.placeholder((32, 16), name="A"), te.placeholder((16, 24), name="B")
    k = te.reduce_axis((0, 16), name="k")
    return wb.open([a, b, te.compute((32, 24), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])


def read(html: str) -> str:
    parser = Strict()
    parser.feed(html)
    return "".join(parser.text)


def texts_in(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    assert {element.tag.split("}")[1] for element in root.iter()} <= SVG
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name]
    return "\n".join("".join(element.itertext()) for element in root.iter() if element.tag.endswith("text"))


def test_a_models_snapshot_has_graph_difference_and_loops_in_every_form() -> None:
    session = small_session()
    kept = snapshot_of(session)
    for told in (kept.text, read(kept.html), texts_in(kept.svg)):
        assert "ONNX" in told and "10 nodes" in told
        assert "softmax" in told, "a box of the graph"
        assert "FuseOps: 7 changes of 7 kinds" in told
        assert "fused_nn_conv2d_nn_bias_add_add_nn_relu" in told and "conv2d (sum)" in told, "the slowest kernel"
    assert re.search(r"┌ ⇉ \w+ +\d+ +vectorized", kept.text), "a loop of vectors, as long as the machine's are"


def test_a_loop_programs_snapshot_has_its_stages_and_loops() -> None:
    kept = snapshot_of(product())
    drawn = texts_in(kept.svg)
    assert "16x24" in drawn and "C (sum)" in drawn and "16" in drawn
    assert "C (sum)" in kept.text and "C (sum)" in read(kept.html)


def test_the_selected_step_is_the_difference_and_the_named_kernel_the_loops() -> None:
    session = small_session()
    kept = snapshot_of(session, "SimplifyInference", "fused_nn_softmax")
    assert "SimplifyInference: " in kept.text and "FuseOps: " not in kept.text
    assert "loops of fused_nn_softmax" in kept.text and "fused_nn_softmax" in texts_in(kept.svg)


def test_a_kernel_scheduled_by_hand_shows_its_own_loops() -> None:
    session = small_session()
    kernel = "fused_nn_softmax"
    schedule = session.schedule(kernel)
    schedule.moves.back()
    changed = session.edit(schedule={kernel: schedule})
    assert snapshot_of(changed, kernel=kernel).text != snapshot_of(session, kernel=kernel).text


def test_what_has_run_already_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is scheduled but the one that is drawn, and of a large graph none is lowered."""
    fresh = wb.open(small_model())
    snapshot_of(fresh)
    assert fresh.history.peek(fresh.actions, fresh.plan.kernel_step()) is not None
    assert fresh.history.peek(fresh.actions, fresh.plan.kernel_step() + 1) is None
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    large = wb.open(small_model())
    kept = snapshot_of(large)
    assert large.history.peek(large.actions, large.plan.kernel_step()) is None
    assert "loops: drawn when the kernels have been lowered" in kept.text and "softmax" in kept.text
    large.step(large.plan.kernel_step())
    assert "conv2d (sum)" in snapshot_of(large).text


def test_a_session_that_stopped_tells_of_what_it_has() -> None:
    session = small_session().rerun(passes=["InferType"])
    assert contents_of(session).boxes
    kept = snapshot_of(session)
    assert "softmax" in kept.text and size_of(kept) <= BYTES


def test_without_graphviz_the_graph_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.views.graph._laid_out", lambda source, form: None)
    kept = snapshot_of(small_session())
    assert "graph, operands first" in kept.text and "FuseOps" in texts_in(kept.svg)


def test_outputs_are_what_each_reader_takes() -> None:
    """A picture where there is no HTML beside it, a fold of text, and always plain text that says more than a name."""
    picture, fold = snapshot_of(small_session()).outputs()
    assert set(picture) == {"image/svg+xml", "text/plain"} and set(fold) == {"text/html", "text/plain"}
    assert fold["text/html"].startswith('<details class="wb-saved">')
    image = r'<img alt="Saved view of [^"]*" src="data:image/svg\+xml;base64,([^"]+)">'
    (source,) = re.findall(image, fold["text/html"])
    assert base64.b64decode(source, validate=True).decode() == picture["image/svg+xml"], "also where no SVG is trusted"
    assert "as picture and text" in fold["text/plain"]
    (only,) = Snapshot.of_text("passes", "one\ntwo").outputs()
    assert "two" in only["text/plain"] and read(only["text/html"]).endswith("one\ntwo")


def test_the_fold_holds_the_picture_only_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = snapshot_of(small_session())
    monkeypatch.setattr(module, "BYTES", size_of(kept) - 1)
    _, fold = kept.outputs()
    assert "<img" not in fold["text/html"] and fold["text/plain"].endswith("as text")
    assert size_of(kept) <= module.BYTES and "FuseOps: " in read(fold["text/html"])


@pytest.mark.parametrize("session", [small_session, product])
def test_what_a_repositorys_page_leaves_of_the_fold_reads(session: Callable[[], Any]) -> None:
    """GitHub's list of elements and attributes: no styles, classes and embedded images."""
    _, fold = snapshot_of(session()).outputs()
    left, said = cleaned(fold["text/html"]), words(fold["text/html"])
    assert "style=" not in left and "src=" not in left and "<pre>" in left and "<details>" in left
    assert 'alt="Saved view of ' in left and "(sum)" in said and "✓" in said


def test_a_picture_is_dark_on_white_whatever_the_theme() -> None:
    drawn = snapshot_of(product()).svg
    assert 'fill="#ffffff"' in drawn and 'color="#1b1f24"' in drawn


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_names_are_text_in_every_form(payload: str) -> None:
    found = contents_of(small_session())
    session = small_session()
    program = replace(session.plan.program, source=payload)
    named = replace(session, plan=replace(session.plan, program=program))
    hostile = replace(
        found, title=payload, summary=(payload,), boxes=(payload,), later=payload,
        tree=replace(found.tree, name=payload) if found.tree is not None else None,
        difference=replace(found.difference, title=payload) if found.difference is not None else None,
    )  # fmt: skip
    assert module.text_of(hostile)
    read(module.html_of(hostile, named))
    texts_in(module.picture_of(hostile))
    for bundle in Snapshot(payload, payload, module.html_of(hostile, named)).outputs():
        read(bundle.get("text/html", ""))


def test_a_snapshot_stays_small() -> None:
    wide = [te.placeholder((8,), name="x" * 4_000)]
    for number in range(60):
        last = wide[-1]
        wide.append(te.compute((8,), lambda i, last=last: last[i] + 1.0, name=f"{'stage' * 40}{number}"))
    kept = snapshot_of(wb.open([wide[0], wide[-1]]))
    assert size_of(kept) <= BYTES and "stage" in kept.text


def test_a_schedules_snapshot_has_its_python_and_loops() -> None:
    schedule = Schedule(plain_matmul())
    schedule.parallel(schedule.get_loops("C")[0])
    kept = schedule_snapshot(schedule)
    for told in (kept.text, texts_in(kept.svg)):
        assert "sch.parallel(l0)" in told and "∥" in told
    for part in ("sch.parallel(l0)", "C (sum)", "@T.prim_func"):
        assert part in read(kept.html)
    assert size_of(kept) <= BYTES


def test_a_list_of_steps_is_kept_with_the_chosen_ones_difference() -> None:
    model = FakePipeline()
    kept = steps_snapshot(model.view())
    assert "SimplifyInference" in kept.text and "✗ emit_llvm" in kept.text
    chosen = steps_snapshot(model.view(), model.step("s2"))
    assert re.search(r"\+ .*scale", chosen.text) and "scale" in read(chosen.html)
    assert [bundle["text/plain"] for bundle in chosen.outputs()] == [chosen.text]


def test_the_picture_has_the_kernel_that_the_screen_begins_with() -> None:
    """That whose calls do most of the arithmetic, not that which does most in one call."""
    x = relay.var("x", shape=(1, 8))
    small, large = (relay.const(np.ones((8, 8), np.float32)), relay.const(np.ones((12, 8), np.float32)))
    value = x
    for _ in range(3):
        value = relay.nn.softmax(relay.nn.dense(value, small))
    session = wb.open(relay.Function([x], relay.nn.dense(value, large)))
    found = contents_of(session, "", "")
    (first, *_) = LayersModel(session).kernels()
    assert first.calls == 3 and found.tree is not None and found.tree.name == first.name
