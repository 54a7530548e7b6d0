"""Names from a file are text in every view: parsed as HTML, the views hold known elements and attributes only."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.views.payloads import PAYLOADS
from workbench.core.errors import WorkbenchError
from workbench.views import html, show
from workbench.views.graph import graph_svg
from workbench.views.pipeline import SessionModel

ELEMENTS = {
    "html": {
        "div", "span", "pre", "code", "details", "summary", "table", "thead", "tbody", "tr", "td", "th", "ul", "ol",
        "li", "p", "b", "i", "em", "strong", "br", "h1", "h2", "h3", "h4", "small", "s", "del", "ins", "mark",
    },
    "svg": {"svg", "g", "path", "polygon", "polyline", "ellipse", "rect", "text", "tspan", "title", "line", "circle"},
}  # fmt: skip
ATTRIBUTES = {
    "class", "style", "title", "open", "colspan", "rowspan", "scope", "id", "width", "height", "viewbox", "xmlns",
    "xmlns:xlink", "transform", "fill", "stroke", "points", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "rx",
    "ry", "r", "text-anchor", "font-family", "font-size", "font-weight", "font-style", "stroke-width", "textlength",
    "stroke-dasharray", "xml:space", "fill-opacity", "stroke-opacity", "dy", "dx", "lengthadjust", "role", "aria-label",
}  # fmt: skip
CONTROLS = {chr(code) for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
TURNS = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
PARTS = [PAYLOADS[start : start + 11] for start in range(0, len(PAYLOADS), 11)]


class Judge(HTMLParser):
    """Collects elements and attributes that are not on the list."""

    def __init__(self, allowed: set[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.allowed = allowed
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.allowed:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            text = (value or "").lower()
            if name not in ATTRIBUTES or name.startswith("on"):
                self.faults.append(f"<{tag} {name}={value!r}>")
            if name == "style" and any(word in text for word in ("url(", "import", "expression", "javascript")):
                self.faults.append(f"style {value!r}")
            if name == "id" and not (text.startswith("wb-") or text.removeprefix("graph").isalnum() or "svg" in tag):
                self.faults.append(f"id {value!r}")

    def handle_decl(self, decl: str) -> None:
        self.faults.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"<?{data}>")


def require_harmless(bundle: dict[str, str]) -> None:
    for kind, text in bundle.items():
        assert not CONTROLS & set(text) and not TURNS & set(text), (kind, CONTROLS & set(text), TURNS & set(text))
        assert "\u2028" not in text and "\u2029" not in text
        if kind == "text/plain":
            continue
        judge = Judge(ELEMENTS["svg"] if kind == "image/svg+xml" else ELEMENTS["html"] | ELEMENTS["svg"])
        judge.feed(text)
        judge.close()
        assert judge.faults == [], (kind, judge.faults[:5])


def hostile_model(payloads: tuple[str, ...]) -> Any:
    """Every name of a model is one of the payloads."""
    from onnx import TensorProto, helper, numpy_helper

    def name(index: int, text: str) -> str:
        return f"{text}{index}"

    nodes, inputs, outputs, weights = [], [], [], []
    for index, text in enumerate(payloads):
        clean = text.replace("\x00", "")
        x, w, y = (name(index, f"{clean}{kind}") for kind in "xwy")
        inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, (2, 3)))
        weights.append(numpy_helper.from_array(np.full((2, 3), index, "f"), w))
        nodes.append(helper.make_node("Add", [x, w], [y], name=clean, doc_string=text))
        outputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, (2, 3)))
    graph = helper.make_graph(nodes, payloads[0].replace("\x00", ""), inputs, outputs, weights, doc_string=payloads[1])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name=payloads[2])
    made.ir_version = 10
    made.metadata_props.add(key=payloads[3], value=payloads[4])
    return made


@pytest.fixture(scope="module", params=range(len(PARTS)))
def session(request: pytest.FixtureRequest) -> Any:
    return wb.open(hostile_model(PARTS[request.param]))


def test_there_are_sixty() -> None:
    assert len(set(PAYLOADS)) >= 60


def test_every_view_shows_names_as_text(session: Any) -> None:
    step, kernel = session["FuseOps"], session.kernels[0]
    things = [session, session.relay, step, step.diff(), session.tir, session.tir[kernel], session.schedule(kernel)]
    for thing in things:
        require_harmless(thing._repr_mimebundle_())
    main = session.relay.module["main"]
    require_harmless(show.graph_bundle(main))
    drawn = graph_svg(main, PAYLOADS[0])
    if drawn is not None:
        require_harmless({"image/svg+xml": drawn})


def test_a_model_with_such_names_runs(session: Any) -> None:
    built = session.build()
    given = {spec.name: np.full((2, 3), 1, "f") for spec in built.inputs}
    for index, value in enumerate(built.run(given).values()):
        np.testing.assert_array_equal(value, np.full((2, 3), 1 + index, "f"))
    for form in ("tir", "ll", "asm"):
        text = built.get_source(form)
        assert not CONTROLS & set(text)


def test_screens_get_plain_data(session: Any) -> None:
    """What goes to a screen is JSON; it is set as text there, and holds no control characters of a terminal."""
    import dataclasses
    import json

    model = SessionModel(session)
    found = json.dumps([dataclasses.asdict(model.view()), dataclasses.asdict(model.step(session["FuseOps"].step.id))])
    assert not CONTROLS & set(found) and "\u2028" not in found


@pytest.mark.parametrize("text", PAYLOADS)
def test_errors_and_labels_show_them_as_text(text: str) -> None:
    error = WorkbenchError("E-TEST", text, where=text, found=text, expected=text, fix=text, kept=text)
    for line in [*error._render_traceback_(), str(error)]:
        assert not CONTROLS & set(line) and not TURNS & set(line)
    for made in (
        html.text_html(text, text),
        html.program_html({text: text}),
        html.changes_html(text, [(text, (("-", text), ("@", text)))]),
    ):
        require_harmless({"text/html": made})


@pytest.mark.parametrize("text", PAYLOADS)
def test_loop_programs_with_such_names(text: str) -> None:
    """Names of functions, buffers and variables: printed and read back, interpreted by generated code, compiled."""
    from workbench import te
    from workbench.core.equal import same
    from workbench.tir.interpret import interpret
    from workbench.tir.script import parse, script

    a = te.placeholder((4,), name=text)
    b = te.compute((4,), lambda i: a[i] + 1.0, name=text + "'")
    function = te.create_prim_func([a, b], name=text)
    assert same(parse(script(function)), function)
    out = np.zeros(4, "f")
    interpret(function, np.ones(4, "f"), out)
    assert np.array_equal(out, np.full(4, 2, "f"))
    require_harmless(wb.open(function)._repr_mimebundle_())
