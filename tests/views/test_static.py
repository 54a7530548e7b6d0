"""Static displays: readable without a kernel, small, and safe whatever the names in a program are."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.views import html, show
from workbench.views.graph import graph_svg
from workbench.views.pipeline import SessionModel

HOSTILE = "<script>alert(1)</script>\x1b[31m\"'&"
LIMIT = 120_000
FORBIDDEN = re.compile(
    r"<script|javascript:|\son\w+=|<iframe|<link|<style|@import|https?://(?!www\.w3\.org/)", re.IGNORECASE
)


def small() -> Any:
    x = relay.var("x", shape=(1, 3, 8, 8), dtype="float32")
    weight = relay.const(np.ones((4, 3, 3, 3), np.float32))
    y = relay.nn.relu(relay.nn.conv2d(x, weight, channels=4, kernel_size=(3, 3), padding=(1, 1)))
    return wb.IRModule.from_expr(relay.Function([x], y))


@pytest.fixture(scope="module")
def session() -> Any:
    return wb.open(small())


def assert_safe(bundle: dict[str, str]) -> None:
    assert set(bundle) <= {"text/plain", "text/html", "image/svg+xml"} and "text/plain" in bundle
    assert sum(len(text.encode()) for text in bundle.values()) <= LIMIT
    for text in bundle.values():
        assert "\x1b" not in text
    for kind in ("text/html", "image/svg+xml"):
        assert not FORBIDDEN.search(bundle.get(kind, "")), FORBIDDEN.search(bundle[kind])


def test_every_thing_of_a_session_has_a_static_display(session: Any) -> None:
    step, schedule = session["FuseOps"], session.schedule(session.kernels[0])
    things = [session, session.relay, step, step.diff(), session.tir[session.kernels[0]], schedule]
    for thing in things:
        bundle = thing._repr_mimebundle_()
        assert_safe(bundle)
        assert bundle["text/html"] and bundle["text/plain"]
    assert_safe(show.graph_bundle(session.relay.module["main"]))


def test_programs_show_their_text(session: Any) -> None:
    """A module or a function as the last line of a cell: its text, highlighted, and not its name."""
    module, kernel = session.relay.module, session.tir.module[session.kernels[0]]
    for program, part in ((module, "class Module"), (module["main"], "R.nn.conv2d"), (kernel, "T.block")):
        bundle = program._repr_mimebundle_()
        assert_safe(bundle)
        assert part in bundle["text/plain"] and "conv2d" in bundle["text/html"]


def test_the_summary_of_a_session_runs_nothing() -> None:
    fresh = wb.open(small())
    bundle = fresh._repr_mimebundle_()
    assert bundle["text/plain"].count("not run yet") == 1 and len(fresh.history) == 0


def test_the_summary_of_a_session_is_ten_lines() -> None:
    """One for each layer that ran, whatever the number of steps, and one for all that did not."""
    session = wb.open(small())
    for step, lines in ((0, 2), ("FuseOps", 4), ("Codegen", 7)):
        session.step(step)
        text = session._repr_mimebundle_()["text/plain"]
        assert text.count("\n") + 1 == lines, text
    assert "✓ Fused      1 function" in text and "not run" not in text
    bundle = session.rerun(disabled_pass=["FoldConstant"])._repr_mimebundle_()
    assert "not run yet: Relay ✎, Fused, TE" in bundle["text/plain"]
    assert_safe(bundle)


def test_what_was_compiled_to_be_looked_at_is_told_once_and_the_same_everywhere() -> None:
    session = wb.open(small())
    session.provenance.text(session.kernels[0], "asm")
    bundle = session._repr_mimebundle_()
    assert "◐ LLVM       1 kernel       compiled to be looked at or measured" in bundle["text/plain"]
    assert "not run" not in bundle["text/plain"]
    (codegen,) = [step for step in SessionModel(session).view().steps if step.kind == "codegen"]
    assert codegen.pending and codegen.note.startswith("in part")


def test_a_graph_is_drawn_and_without_graphviz_written(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    main = session.relay.module["main"]
    drawn = show.graph_bundle(main)["image/svg+xml"]
    assert drawn.startswith("<svg") and "conv2d" in drawn
    monkeypatch.setattr("workbench.views.graph.render", lambda source: None)
    assert set(show.graph_bundle(main)) == {"text/plain", "text/html"}


def test_hostile_names_are_text() -> None:
    x = relay.var(HOSTILE, shape=(2,), dtype="float32")
    module = wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    assert_safe(show.program_bundle(module))
    assert_safe(show.graph_bundle(module["main"], HOSTILE))
    drawn = graph_svg(module["main"], HOSTILE)
    assert drawn is None or "&lt;script" in drawn
    for text in (html.text_html(HOSTILE, HOSTILE), html.program_html({HOSTILE: HOSTILE, "b": "c"})):
        assert "<script" not in text and "\x1b" not in text and "&lt;script" in text
    text = html.changes_html(HOSTILE, [(HOSTILE, (("+", HOSTILE),))])
    assert "<script" not in text and "\x1b" not in text


def test_a_hostile_source_is_text() -> None:
    from workbench.driver.session import Session

    opened = wb.open(small())
    program = replace(opened.plan.program, source=HOSTILE)
    named = Session(opened.history, replace(opened.plan, program=program))
    assert_safe(named._repr_mimebundle_())


@pytest.mark.parametrize("text", ["<" * 300_000, "<&>\n" * 100_000, "x = 1\n" * 100_000, "é" * 200_000])
def test_long_texts_are_cut_and_say_so(text: str) -> None:
    bundle = show.text_bundle(text, "script")
    assert_safe(bundle)
    rows = [("+", line) for line in text.split("\n")]
    assert_safe({"text/plain": html.plain(text), "text/html": html.changes_html("t", [("k", rows)])})
    assert "more lines" in bundle["text/plain"]


def test_many_functions_are_cut_and_counted() -> None:
    shown = html.program_html({f"f{number}": "x = 1\n" * 400 for number in range(500)})
    assert len(shown) < LIMIT and "more functions" in shown


def test_a_program_has_no_other_forms(session: Any) -> None:
    with pytest.raises(WorkbenchError) as caught:
        session.relay.show("movie")
    assert caught.value.code == "E-VIEW-FORM"


def test_constants_are_short_on_screens_only(session: Any) -> None:
    assert re.search(r'"[0-9a-f]{64}"', session.relay.script())
    bundle = session.relay._repr_mimebundle_()
    assert not re.search(r"[0-9a-f]{64}", bundle["text/plain"] + bundle["text/html"])
