"""Names that are markup, in every tab and panel of the screen, live and recorded: they are text, and run nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import workbench as wb
from tests.browser.screen_parts import OneScreen, one_screen
from workbench import relay, te
from workbench.core.rewrite import RuleTable
from workbench.core.transform import PASSES
from workbench.relay.patterns import any_, op
from workbench.relay.transforms.rules import apply_rules
from workbench.schedule import Schedule
from workbench.ui.page import save_page
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.timeout(120)
MARK = "\"'><img src=x onerror=window.hit=1><script>window.hit=1</script><svg onload=window.hit=1>"
RULES = RuleTable("hostile")


@RULES.rule(f"{MARK}rule", op("nn.relu", any_("x")))
def no_relu(m: Any) -> Any:
    """relu(x) is x, which is wrong."""
    return m["x"]


def hostile_loops() -> Schedule:
    """A product whose function, buffers, loops and block are all named like that."""
    a, b = (te.placeholder((8, 8), name=f"{MARK}{name}") for name in "AB")
    k = te.reduce_axis((0, 8), name=f"{MARK}k")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name=f"{MARK}C")
    schedule = Schedule(te.create_prim_func([a, b, c], name=f"{MARK}f"))
    schedule.split(schedule.get_loops(f"{MARK}C")[0], [2, 4])
    return schedule


@contextmanager
def hostile_graph() -> Iterator[Any]:
    """A graph with such an input, a wrong pass and a wrong rule of such names, and a source called that."""

    @relay.transform.function_pass(opt_level=0, name=f"{MARK}pass")
    def wrong(function: Any, mod: Any, ctx: Any) -> Any:
        return apply_rules(function, RULES)

    x = relay.var(f"{MARK}x", shape=(4, 8))
    module = wb.IRModule.from_expr(relay.Function([x], relay.tanh(relay.nn.relu(x))))
    try:
        yield wb.open(module, passes=["InferType", wrong, "FoldConstant", "FuseOps"])
    finally:
        PASSES.remove(f"{MARK}pass")


def require_text_only(page: Page) -> None:
    """Nothing of a name has become an element, and nothing has run."""
    assert page.evaluate("window.hit") is None
    assert page.locator(".wb img, .wb script, .wb iframe, .wb [onerror], .wb [onload]").count() == 0


def walk(page: Page) -> None:
    """Each layer, each step, each tab of the strip."""
    for chip in page.get_by_role("navigation", name="Layers").get_by_role("button").all():
        if chip.is_enabled():
            chip.click()
            page.wait_for_timeout(150)
            require_text_only(page)
    for tab in page.locator(".wb-strip-head .wb-link").all():
        if tab.is_enabled():
            tab.click()
            page.wait_for_timeout(150)
            require_text_only(page)


def test_names_of_loops_are_text_in_every_panel(browser: Browser) -> None:
    schedule = hostile_loops()
    with one_screen(browser, Workbench(wb.open(schedule), schedule=schedule)) as shown:
        page = shown.page
        expect(page.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
        expect(page.locator(".wb-tree")).to_contain_text("<script>window.hit=1</script>")
        page.get_by_role("treeitem").first.locator(".wb-box-head").first.click(position={"x": 12, "y": 8})
        require_text_only(page)
        page.get_by_role("region", name="Schedule, pane A").get_by_role("button", name="Lens", exact=True).click()
        more = page.get_by_role("region", name="More about memory")
        expect(more).to_be_visible(timeout=20_000)
        for button in more.get_by_role("button").all():
            button.click()
            page.wait_for_timeout(300)
            require_text_only(page)
        expect(page.locator(".wb-lens")).to_contain_text("<script>")
        walk(page)
        shown.chip("LLVM").click()
        page.get_by_role("button", name="Remarks").first.click()
        expect(page.get_by_role("region", name="LLVM's remarks")).to_contain_text("<script>", timeout=20_000)
        require_text_only(page)


def test_names_of_a_graph_its_passes_rules_views_and_branches_are_text(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with hostile_graph() as session, one_screen(browser, Workbench(session)) as shown:
        shown.ready()
        page = shown.page
        steps = page.get_by_role("listbox", name="Steps")
        expect(steps).to_contain_text("<script>window.hit=1</script>")
        steps.get_by_role("option").nth(2).click()
        expect(page.locator(".wb-diff .wb-row").first).to_be_visible()
        page.get_by_role("button", name="Next rewrite").click()
        expect(page.locator(".wb-rule-name")).to_contain_text("<script>")
        require_text_only(page)
        values_of_checks(shown)
        shown.open_tab("Views")
        page.get_by_role("textbox", name="Name").first.fill(MARK)
        page.keyboard.press("Enter")
        expect(page.get_by_role("list", name="Kept views")).to_contain_text("<script>")
        require_text_only(page)
        shown.open_tab("Share")
        page.get_by_label("Name of the journal").fill(MARK)
        page.keyboard.press("Enter")
        expect(page.locator(".wb")).to_contain_text("this is no plain name of a file")
        require_text_only(page)
        assert shown.screen.ask("pipeline.without", step=session_step(shown.screen, 3)).content["ok"]
        shown.harness.push()
        shown.open_tab("Branches")
        require_text_only(page)
        walk(page)
        assert "<script>window.hit=1</script>" in shown.screen.journal()
    assert {path.suffix for path in tmp_path.iterdir()} == {".py", ".npz"}


def session_step(screen: Workbench, number: int) -> str:
    return screen._steps.view.steps[number].id


def values_of_checks(shown: OneScreen) -> None:
    """The wrong pass found, its rewrite, its test saved under a plain name; the tensors."""
    page = shown.page
    shown.open_tab("Checks")
    red = page.get_by_role("group", name="Checks").get_by_role("option").nth(2)
    expect(red).to_contain_text("wrong", timeout=60_000)
    if red.get_attribute("aria-selected") != "true":
        red.click()
    page.get_by_role("button", name="Find the first wrong rewrite").click()
    expect(page.get_by_role("group", name="What is wrong")).to_contain_text("<script>", timeout=30_000)
    page.get_by_role("button", name="Save the test").click()
    expect(page.get_by_role("group", name="Checks")).to_contain_text("test_img_src_x", timeout=30_000)
    require_text_only(page)
    shown.open_tab("Values")
    page.wait_for_timeout(500)
    require_text_only(page)


@pytest.mark.parametrize("what", ["loops", "graph"])
def test_a_recorded_page_shows_the_same_names_as_text(browser: Browser, tmp_path: Path, what: str) -> None:
    path = tmp_path / "page.html"
    if what == "loops":
        save_page(wb.open(hostile_loops()), path)
    else:
        with hostile_graph() as session:
            save_page(session, path)
    context = browser.new_context(viewport={"width": 1500, "height": 900})
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=20_000)
    walk(page)
    assert page.evaluate("document.scripts.length") == 3 and errors == []
    context.close()
