"""A screen saved as one file, opened from disk by a browser that can reach nothing: it plays what was recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import workbench as wb
from tests.driver.programs import small_session
from tests.views.payloads import PAYLOADS
from workbench import te
from workbench.ui.page import save_page
from workbench.ui.workbench import Workbench


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_page(small_session(), tmp_path_factory.mktemp("page") / "small.html")


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that may open one file and nothing else, and in which nothing goes wrong."""
    page = context.new_page()
    errors: list[str] = []
    foreign: list[str] = []

    def serve(route: Any) -> None:
        if route.request.url.startswith(("blob:", "data:", "file:")):
            return route.continue_()
        foreign.append(route.request.url)
        return route.abort()

    page.route("**/*", serve)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield page
    assert errors == [] and foreign == []


def opened(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=20_000)


def region(page: Page, which: str) -> Any:
    return page.get_by_role("region", name=f"pane {which}")


def chip(page: Page, name: str) -> Any:
    return page.get_by_role("navigation", name="Layers").get_by_role("button", name=name)


def test_a_click_on_a_box_lights_loops_and_assembly(saved: Path, page: Page) -> None:
    opened(page, saved)
    expect(page.locator("#saved")).to_be_hidden()
    page.locator(".wb-box[aria-label*=softmax]").click()
    chip(page, "TIR").click(modifiers=["Shift"])
    expect(region(page, "B").locator(".wb-text-row.wb-lit").first).to_be_visible()
    chip(page, "Assembly").click()
    lit = region(page, "A").locator(".wb-text-row.wb-lit")
    expect(lit.first).to_be_visible()
    lit.first.click()
    expect(page.get_by_role("complementary", name="The selection")).to_contain_text("Softmax#9")
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_candidates_are_read_and_none_can_be_chosen(saved: Path, page: Page) -> None:
    opened(page, saved)
    pane = region(page, "B")
    pane.get_by_role("button", name="Candidates", exact=True).click()
    table = pane.get_by_role("table", name="Candidates", exact=True)
    expect(table.get_by_role("row").nth(1)).to_contain_text("✓ by cost")
    choose = table.get_by_role("button", name="Choose").last
    expect(choose).to_have_attribute("aria-disabled", "true")
    expect(choose).to_have_attribute("title", re.compile("it is a recording without a kernel"))
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_steps_and_rewrites_are_stepped_through(saved: Path, page: Page) -> None:
    opened(page, saved)
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    expect(page.locator("ins.wb-line").first).to_be_visible()
    page.get_by_role("button", name="Next rewrite").click()
    expect(page.locator(".wb-count")).to_contain_text("rewrite 1 of")
    first = page.locator(".wb-pane ins").all_inner_texts()
    page.get_by_role("button", name="Next rewrite").click()
    expect(page.locator(".wb-count")).to_contain_text("rewrite 2 of")
    assert page.locator(".wb-pane ins").all_inner_texts() != first
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_what_the_verifier_said_is_recorded(saved: Path, page: Page) -> None:
    """Its button is alive beside others that are not: it answers."""
    opened(page, saved)
    page.get_by_role("button", name="Verify", exact=True).click()
    steps = page.get_by_role("listbox", name="Steps")
    expect(steps.get_by_role("option", name="FuseOps")).to_contain_text("well-formed")
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_what_asks_a_kernel_says_why_it_cannot_be_used_and_refuses_nothing(saved: Path, page: Page) -> None:
    opened(page, saved)
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    schedule = region(page, "B")
    steps, strip = page.locator(".wb-step-buttons"), page.locator(".wb-strip")
    inert = [
        page.locator(".wb-run"),
        page.get_by_role("button", name="Target llvm"),
        *(schedule.get_by_role("button", name=name, exact=True) for name in ("Lens", "Compare", "Copy")),
        *(steps.get_by_role("button", name=name) for name in ("Edit", "Leave out", "Add a pass")),
        *(strip.get_by_role("button", name=name) for name in ("Checks", "Values", "Views", "Share")),
    ]
    for button in inert:
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_attribute("title", re.compile("recording without a kernel. Open the model"))
        button.click(force=True)
    for key in "mvtlbxae":
        page.keyboard.press(key)
    expect(page.locator(".wb-problem")).to_have_count(0)
    expect(schedule.locator(".wb-text-row").first).to_be_visible()


def test_the_way_under_the_roofline_is_played(saved: Path, page: Page) -> None:
    opened(page, saved)
    chip(page, "Schedule").click()
    region(page, "A").get_by_role("button", name="Editor").click()
    region(page, "A").get_by_role("button", name="Roofline").click()
    expect(page.get_by_role("region", name="Roofline").locator("svg")).to_contain_text("as it began")


def test_where_the_way_under_the_roofline_was_not_recorded_its_button_says_why(saved: Path, page: Page) -> None:
    """It looked alive for every kernel, and gave an error; the editor of any but the first began with one."""
    opened(page, saved)
    chip(page, "Schedule").click()
    region(page, "A").get_by_role("combobox", name="Kernel").select_option(small_session().kernels[-1])
    region(page, "A").get_by_role("button", name="Editor").click()
    button = region(page, "A").get_by_role("button", name="Roofline")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("recording without a kernel"))
    button.click(force=True)
    expect(region(page, "A").locator(".wb-primitives")).to_contain_text("Not in this file")
    assert page.locator(".wb-problem").all_inner_texts() == []


def test_the_schedule_editor_of_a_recording_offers_nothing_that_asks_a_kernel(saved: Path, page: Page) -> None:
    """Its Undo, Rank, Time and Tree looked alive and did nothing."""
    opened(page, saved)
    chip(page, "Schedule").click()
    region(page, "A").get_by_role("button", name="Editor").click()
    editor = region(page, "A").locator(".wb-schedule")
    expect(editor.get_by_role("button", name="Undo")).to_be_disabled()
    for name in ("Rank", "Time each", "Tree", "Edit"):
        button = editor.get_by_role("button", name=re.compile(f"^{name}")).first
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_attribute("title", re.compile("recording without a kernel"))
    editor.locator("[role=treeitem]").first.click()
    page.keyboard.press("Control+z")
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_what_is_left_out_is_there_and_cannot_be_switched_on(tmp_path: Path, page: Page) -> None:
    screen = Workbench(small_session())
    for name in ("FuseOps", "FoldScaleAxis"):
        step = next(one.id for one in screen._steps.view.steps if one.name == name)
        assert screen.ask("pipeline.without", step=step).content["ok"]
    opened(page, save_page(screen.session, tmp_path / "without.html", left_out=screen.left_out))
    steps = page.get_by_role("listbox", name="Steps").get_by_role("option")
    for name in ("FoldScaleAxis", "FuseOps"):
        out = steps.filter(has_text=f"{name} (left out)")
        out.click()
        expect(out).to_have_attribute("aria-selected", "true")
        detail = page.get_by_role("region", name="The selected step")
        expect(detail).to_contain_text("left out: the program goes past it")
        expect(detail.get_by_role("button", name="Switch on")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("x")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".wb-diff .wb-row").first).to_be_visible()
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_what_was_not_recorded_is_said_in_one_sentence(saved: Path, page: Page) -> None:
    opened(page, saved)
    region(page, "B").get_by_role("button", name="Editor", exact=True).click()
    page.locator(".wb-tree .wb-box-head").first.click()
    page.get_by_role("button", name="unroll", exact=True).click()
    problem = page.locator(".wb-problem").first
    expect(problem).to_contain_text("this file is a recording: it has no kernel to ask")
    expect(problem).to_contain_text("open the model in a notebook")


def test_long_texts_are_whole(saved: Path, page: Page) -> None:
    opened(page, saved)
    chip(page, "Assembly").click(modifiers=["Shift"])
    body = region(page, "B").locator(".wb-window-body")
    kernel = page.get_by_role("combobox", name="Kernel").first.input_value()
    lines = small_session().provenance.text(kernel, "asm").rstrip("\n").split("\n")
    assert len(lines) > 400, "more than one request brings"
    page.keyboard.press(".")
    body.evaluate("element => { element.scrollTop = 1e6 }")
    expect(region(page, "B").locator(".wb-text-row").last.locator(".wb-line")).to_contain_text(lines[-1].strip())


def test_a_loop_program_is_recorded_too(page: Page, tmp_path: Path) -> None:
    a = te.placeholder((16, 16), name="A")
    session = wb.open([a, te.compute((16, 16), lambda i, j: a[i, j] * 2.0, name="B")])
    path = save_page(session, tmp_path / "twice.html")
    assert path.stat().st_size < 400_000
    opened(page, path)
    region(page, "A").locator(".wb-text-row", has_text="B[v").last.click()
    expect(region(page, "B").locator(".wb-text-row.wb-lit").first).to_be_visible()


def test_hostile_names_run_nothing(page: Page, tmp_path: Path) -> None:
    session = small_session()
    hostile = "".join(PAYLOADS) + "\u2028</script><script>window.__pwned = 1</script><!--"
    named = replace(session, plan=replace(session.plan, program=replace(session.plan.program, source=hostile)))
    path = save_page(named, tmp_path / "hostile.html")
    text = path.read_text(encoding="utf-8")
    assert text.count("<script") == 3 and text.count("</script>") == 3 and "<!--" not in text
    opened(page, path)
    assert page.evaluate("window.__pwned") is None
    assert page.evaluate("document.scripts.length") == 3


def test_without_script_the_snapshot_is_there(saved: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(saved.as_uri())
    expect(page.locator("#saved svg").first).to_be_visible()
    expect(page.locator("#told")).to_contain_text("looking, selecting, stepping")
    context.close()


@pytest.mark.nightly  # journey 5 makes such a file in every run
@pytest.mark.timeout(200)
def test_a_network_is_one_file_in_which_groups_open(page: Page, efficientnet: Any, tmp_path: Path) -> None:
    path = efficientnet.to_html(tmp_path / "network.html")
    assert path.stat().st_size < 3_000_000
    opened(page, path)
    assert "Left out" not in page.locator("#told").inner_text()
    shares = page.locator(".wb-box-group")
    before = page.locator(".wb-box").count()
    shares.first.dblclick()
    expect(page.locator(".wb-frame")).to_have_count(1)
    assert page.locator(".wb-box").count() > before
    page.locator(".wb-box-group").nth(1).dblclick()
    expect(page.locator(".wb-frame")).to_have_count(2)
    page.locator(".wb-box").nth(2).click()
    expect(region(page, "B").locator(".wb-text-row.wb-lit").first).to_be_visible()
    chip(page, "Assembly").click(modifiers=["Shift"])
    expect(region(page, "B").locator(".wb-text-row.wb-lit").first).to_be_visible()
    page.screenshot(path=str(tmp_path / "network.png"))
    expect(page.locator(".wb-problem")).to_have_count(0)
