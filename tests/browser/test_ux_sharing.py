"""Rows 90 to 94 of the features and the firsts 16 and 18: what leads back to a view, with and without a kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from typer.testing import CliRunner

import workbench as wb
from tests.browser.screen_parts import NETWORK, OneScreen, one_screen
from workbench.driver.cli import app
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def session(efficientnet: Any) -> Any:
    return efficientnet


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def shown(browser: Browser, session: Any, folder: Path) -> Iterator[OneScreen]:
    """The screen, with a box selected and the loops of its kernel in pane B."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with one_screen(browser, Workbench(session)) as shown:
            shown.ready()
            shown.pane("A").locator(".wb-box:not(.wb-box-input)").nth(2).click()
            shown.chip("TIR").click(modifiers=["Shift"])
            expect(shown.pane("B").locator(".wb-text-row.wb-lit").first).to_be_visible(timeout=30_000)
            yield shown


@pytest.fixture(scope="module")
def saved(shown: OneScreen, folder: Path) -> Path:
    """The HTML file that the screen's own button writes."""
    shown.open_tab("Share")
    shown.page.get_by_label("Name of the HTML file").fill("network")
    shown.button("Save as one HTML file").click()
    status = shown.page.get_by_role("group", name="Share").get_by_role("status")
    expect(status).to_contain_text("written: network.html", timeout=150_000)
    return folder / "network.html"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that can open files and nothing else, and in which nothing goes wrong."""
    context = browser.new_context(viewport={"width": 1500, "height": 900})
    page = context.new_page()
    wrong: list[str] = []

    def serve(route: Any) -> None:
        if route.request.url.startswith(("blob:", "data:", "file:")):
            return route.continue_()
        wrong.append(route.request.url)
        return route.abort()

    page.route("**/*", serve)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert wrong == []


def part(page: Any, which: str) -> Any:
    return page.get_by_role("region", name=f"pane {which}")


def test_ux_90_the_python_of_a_view_opens_the_same_view(
    shown: OneScreen, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(NETWORK.parent)
    shown.open_tab("Share")
    shown.button("Python to here").click()
    code = shown.page.get_by_label("Python to here")
    expect(code).to_contain_text("wb.open(")
    text = code.inner_text()
    at = re.search(r"s\.show\(at='(.*)'\)", text)
    assert at is not None, text
    names: dict[str, Any] = {}
    exec(compile(text.replace("s.show(", "shown = dict("), "share", "exec"), names)
    kernel = shown.page.get_by_role("combobox", name="Kernel").first.input_value()
    lit = shown.pane("B").locator(".wb-text-row.wb-lit").count()
    with one_screen(browser, Workbench(names["s"], at=names["shown"]["at"])) as again:
        expect(again.pane("B")).to_have_attribute("aria-label", "TIR, pane B", timeout=30_000)
        expect(again.page.get_by_role("combobox", name="Kernel").first).to_have_value(kernel, timeout=30_000)
        expect(again.pane("A").locator(".wb-box.wb-lit")).to_have_count(1)
        expect(again.pane("B").locator(".wb-text-row.wb-lit")).to_have_count(lit, timeout=30_000)


@pytest.mark.slow
@pytest.mark.nightly
def test_ux_91_a_button_saves_one_html_file_that_opens_at_the_view(saved: Path, page: Page) -> None:
    assert 100_000 < saved.stat().st_size < 3_100_000
    page.goto(saved.as_uri())
    expect(part(page, "B")).to_have_attribute("aria-label", "TIR, pane B", timeout=20_000)
    expect(part(page, "B").locator(".wb-text-row.wb-lit").first).to_be_visible()
    expect(part(page, "A").locator(".wb-box.wb-lit")).to_have_count(1)
    page.get_by_role("option", name=re.compile("^FuseOps")).click()
    expect(page.locator("del.wb-line").first).to_be_visible()


def test_ux_92_what_a_notebook_keeps_is_read_without_a_kernel(shown: OneScreen, browser: Browser) -> None:
    bundles = shown.screen._kept.snapshot().outputs()  # type: ignore[union-attr]
    size = sum(len(json.dumps(bundle)) for bundle in bundles)
    assert size < 120_000
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    held = {mime: text for bundle in bundles for mime, text in bundle.items()}
    page.set_content(f"<body>{held['image/svg+xml']}{held['text/html']}</body>")
    expect(page.locator("svg").first).to_be_visible()
    expect(page.locator("svg").first).to_contain_text("conv2d")
    assert any("conv2d" in bundle["text/plain"] for bundle in bundles) and "Workbench()" not in json.dumps(bundles)
    context.close()


@pytest.mark.slow
@pytest.mark.nightly
def test_ux_93_the_file_is_a_part_of_another_page_at_any_view(saved: Path, page: Page, folder: Path) -> None:
    at = "A=onnx.text&B=relay.graph&in=A"
    (folder / "lecture.html").write_text(
        f'<h1>Lecture</h1><iframe src="network.html#{at}" width="1400" height="720" title="network"></iframe>'
    )
    page.goto((folder / "lecture.html").as_uri())
    frame = page.frame_locator("iframe")
    expect(part(frame, "A")).to_have_attribute("aria-label", "ONNX, pane A", timeout=20_000)
    expect(part(frame, "B")).to_have_attribute("aria-label", "Relay, pane B")
    part(frame, "A").locator(".wb-text-row").nth(20).click()
    expect(part(frame, "B").locator(".wb-box.wb-lit").first).to_be_visible()


@pytest.mark.nightly
def test_ux_94_the_command_line_answers_what_the_screen_shows(shown: OneScreen) -> None:
    kernel = shown.page.get_by_role("combobox", name="Kernel").first.input_value()
    shown.chip("TIR").click(modifiers=["Shift"])
    first = shown.pane("B").locator(".wb-text-row .wb-line")
    expect(first.nth(1)).to_contain_text("def ", timeout=30_000)
    answered = CliRunner().invoke(app, ["ask", str(NETWORK), "pane", "layer=tir", f"kernel={kernel}"])
    assert answered.exit_code == 0, answered.output
    view = json.loads(answered.output)
    lines = view["text"]["chunks"][0]["lines"]
    assert lines[1] == first.nth(1).inner_text()
    boxes = json.loads(CliRunner().invoke(app, ["ask", str(NETWORK), "graph", "layer=fused", "opened=[]"]).output)
    assert len(boxes["boxes"]) == shown.pane("A").locator(".wb-box").count()


@pytest.mark.slow
@pytest.mark.nightly
def test_first_16_live_with_a_kernel_played_without_and_static_without_script(
    shown: OneScreen, saved: Path, page: Page, browser: Browser
) -> None:
    """The same program: live (above), as a recording in which one steps, and as a picture and text."""
    page.goto(saved.as_uri())
    expect(page.locator(".wb-box").first).to_be_visible(timeout=20_000)
    played, live = (one.locator(".wb-chip").all_inner_texts() for one in (page, shown.page))
    assert [re.findall("[A-Za-z]+", title)[0] for title in played] == [
        re.findall("[A-Za-z]+", title)[0] for title in live
    ]
    page.get_by_role("option", name=re.compile("^FuseOps")).click()
    page.get_by_role("button", name="Next rewrite").click()
    expect(page.locator(".wb-count")).to_contain_text("rewrite 1 of")
    expect(page.locator(".wb-run")).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".wb-run")).to_have_attribute("title", re.compile("a recording without a kernel"))
    context = browser.new_context(java_script_enabled=False)
    static = context.new_page()
    static.goto(saved.as_uri())
    expect(static.locator("#saved svg").first).to_be_visible()
    context.close()


@pytest.mark.nightly
@pytest.mark.slow
def test_first_18_what_was_done_is_saved_and_replayed(browser: Browser, folder: Path) -> None:
    with one_screen(browser, Workbench(wb.open(str(NETWORK)))) as shown, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        shown.ready()
        steps = shown.page.get_by_role("listbox", name="Steps").first
        steps.get_by_role("option", name=re.compile("^SimplifyExpr")).click()
        before = shown.screen.session
        shown.button("Leave out").click()
        shown.harness.wait_until(lambda: shown.screen.session is not before, "the step is left out")
        shown.harness.push()
        shown.open_tab("Share")
        shown.page.get_by_label("Name of the journal").fill("done")
        shown.button("Save what was done").click()
        expect(shown.page.get_by_role("group", name="Share").get_by_role("status")).to_contain_text(
            "written: done.json", timeout=30_000
        )
    replayed = CliRunner().invoke(app, ["replay", str(folder / "done.json")])
    assert replayed.exit_code == 0, replayed.output
    assert "all answered as before" in replayed.output
    told = json.loads((folder / "done.json").read_text())
    assert any(op == "pipeline.without" for op, _, _ in told["requests"])
    told["requests"].append(["graph", {"layer": "fused", "opened": ["99"]}, "ok"])
    (folder / "other.json").write_text(json.dumps(told))
    other = CliRunner().invoke(app, ["replay", str(folder / "other.json")])
    assert other.exit_code == 1 and "E-VIEW-GROUP, was ok" in other.output
