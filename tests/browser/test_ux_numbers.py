"""Rows 81 to 85 of the features, on EfficientNet-lite0 through the screen: running, comparing, looking into values."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

import workbench as wb
from tests.browser.screen_parts import NETWORK, OneScreen, one_screen
from workbench import relay
from workbench.core.rewrite import RuleTable
from workbench.core.transform import PASSES
from workbench.relay.patterns import any_, op
from workbench.relay.transforms.rules import apply_rules
from workbench.ui.workbench import Workbench

WRONG = RuleTable("wrong on purpose")


@WRONG.rule("drop-residual", op("add", any_("x"), any_("y")))
def drop_residual(m: Any) -> Any:
    """x + y is x, which is wrong."""
    return m["x"]


pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser, Workbench(wb.open(str(NETWORK)))) as shown:
        shown.ready()
        yield shown


@pytest.fixture(scope="module")
def broken(browser: Browser) -> Iterator[OneScreen]:
    """The same network with a pass that drops what blocks add to their input."""

    @relay.transform.function_pass(opt_level=0, name="DropResidual")
    def DropResidual(function: Any, mod: Any, ctx: Any) -> Any:
        return apply_rules(function, WRONG)

    session = wb.open(str(NETWORK)).rerun(insert={"SimplifyExpr": DropResidual})
    try:
        with one_screen(browser, Workbench(session)) as shown:
            shown.ready()
            shown.page.keyboard.press("v")
            shown.open_tab("Checks")
            expect(checked(shown, "DropResidual")).to_contain_text("wrong", timeout=60_000)
            yield shown
    finally:
        PASSES.remove("DropResidual")


def checked(shown: OneScreen, step: str) -> Locator:
    return shown.page.get_by_role("group", name="Checks").get_by_role("option", name=re.compile(f"^{step} "))


def choose(shown: OneScreen, step: str) -> None:
    if checked(shown, step).get_attribute("aria-selected") != "true":
        checked(shown, step).click()


@pytest.mark.nightly
def test_ux_81_the_outputs_after_two_steps_stand_beside_each_other(shown: OneScreen) -> None:
    shown.open_tab("Values")
    values = shown.page.get_by_role("group", name="Values")
    expect(values.get_by_role("combobox", name="Run up to")).to_have_value("Import")
    expect(values.get_by_role("combobox", name="and up to")).to_have_value("Codegen")
    values.get_by_role("button", name="Compare outputs").click()
    table = values.get_by_role("table", name="Outputs after Import and after Codegen")
    row = table.get_by_role("row", name=re.compile("linear"))
    expect(row).to_contain_text("right", timeout=30_000)
    expect(row).to_contain_text("1×1000")
    expect(row).to_contain_text(re.compile(r"\d\.\de-\d"))
    expect(row).to_contain_text("of 1,000")
    values.get_by_role("combobox", name="and up to").select_option("Import")
    values.get_by_role("button", name="Compare outputs").click()
    same = values.get_by_role("table", name="Outputs after Import and after Import")
    expect(same.get_by_role("row").last).to_contain_text("1,000 of 1,000")


def test_ux_84_the_error_of_each_tensor_stands_on_its_box_of_the_graph(shown: OneScreen) -> None:
    shown.open_tab("Values")
    boxes = shown.pane("A").locator(".wb-box:not(.wb-box-input)")
    expect(boxes.first).to_be_visible()
    expect(shown.pane("A").locator(".wb-error")).to_have_count(0)
    shown.button("Errors on the graph").click()
    errors = shown.pane("A").locator(".wb-error")
    moved = "layout_transform" in (boxes.first.text_content() or "")  # the input in another layout stands for no tensor
    expect(errors).to_have_count(boxes.count() - moved, timeout=30_000)
    assert all(re.fullmatch(r"0|\d\.\de[+-]\d+", text) for text in errors.all_text_contents()), "none is wrong"
    expect(boxes.nth(int(moved))).to_have_attribute("aria-label", re.compile(r"error \d"))
    expect(shown.pane("A").locator("[class*='wb-error-4']")).to_have_count(0)
    shown.button("Errors on the graph").click()
    expect(errors).to_have_count(0)


def test_ux_85_a_tensor_in_between_is_looked_into(shown: OneScreen) -> None:
    shown.open_tab("Values")
    shown.button("Tensors of").click()
    tensors = shown.page.get_by_role("listbox", name="Tensors of FuseOps")
    stem = tensors.get_by_role("option", name=re.compile("nn.conv2d · nn.bias_add · clip")).first
    expect(stem).to_be_visible(timeout=30_000)
    every = int(str(stem.get_attribute("aria-setsize")))
    assert every > 50 > tensors.get_by_role("option").count(), "in the page are those in sight"
    stem.click()
    number = int(str(stem.get_attribute("aria-posinset"))) - 1
    picture = shown.page.get_by_role("region", name=f"Tensor {number}")
    moved = "1×112×112×32" in stem.inner_text()  # which layout, the machine decides
    expect(picture).to_contain_text("1×112×112×32 float32" if moved else "1×32×112×112 float32")
    for fact in ("least", "greatest", "mean", "standard deviation", "zeros", "NaN"):
        expect(picture.locator("dt", has_text=re.compile(f"^{fact}$"))).to_have_count(1)
    expect(picture.get_by_role("img", name=re.compile("How the values are spread"))).to_be_visible()
    expect(picture.get_by_role("img", name=re.compile("How the absolute error are spread"))).to_be_visible()
    expect(picture.get_by_role("img", name=re.compile(r"Slice: rows 64, columns \d+"))).to_be_visible()
    before = picture.locator(".wb-numbers").text_content()
    index = picture.get_by_label(re.compile("^Index on axis 1, 0 to"))
    index.fill("7")
    index.press("Enter")
    expect(picture).to_contain_text("slice [0, 7, :, :]")
    assert picture.locator(".wb-numbers").text_content() != before
    expect(shown.pane("A").locator(".wb-box.wb-lit").first).to_be_visible()
    tensors.focus()
    shown.page.keyboard.press("ArrowDown")
    expect(shown.page.get_by_role("region", name=f"Tensor {number + 1}")).to_be_visible()


@pytest.mark.slow
def test_ux_82_the_first_wrong_layer_is_named_and_is_the_first_red_box(broken: OneScreen) -> None:
    broken.open_tab("Checks")
    choose(broken, "DropResidual")
    detail = broken.page.get_by_role("region", name="Check of DropResidual")
    expect(detail).to_contain_text("First wrong tensor")
    expect(detail).to_contain_text("relay call nn.conv2d")
    broken.open_tab("Values")
    broken.button("Errors on the graph").click()
    expect(broken.pane("A").locator(".wb-box.wb-error-4").first).to_have_attribute(
        "aria-label", re.compile("wrong"), timeout=30_000
    )
    broken.button("Tensors of").click()
    rows = broken.page.get_by_role("listbox", name="Tensors of FuseOps").get_by_role("option")
    expect(rows.first).to_be_visible(timeout=30_000)
    wrong = ["✗" in text for text in rows.all_text_contents()]
    first = wrong.index(True)
    assert 8 <= first <= 12, "the third block is the first that adds its input"
    rows.nth(first).click()
    lit = broken.pane("A").locator(".wb-box.wb-lit")
    expect(lit.first).to_have_attribute("aria-label", re.compile("wrong"))


@pytest.mark.slow
def test_ux_83_the_first_wrong_pass_and_its_first_wrong_rewrite(broken: OneScreen) -> None:
    broken.open_tab("Checks")
    for step in ("SimplifyInference", "FoldConstant"):
        expect(checked(broken, step)).not_to_contain_text("wrong")
    expect(checked(broken, "PackWeights")).to_contain_text("keeps an earlier error", timeout=60_000)
    choose(broken, "DropResidual")
    broken.button("Find the first wrong rewrite").click()
    found = broken.page.get_by_role("group", name="What is wrong")
    expect(found).to_contain_text("drop-residual", timeout=60_000)
    expect(found).to_contain_text("test_ux_numbers.py:")
    expect(found.locator(".wb-del").first).to_contain_text("add(")


@pytest.mark.slow
def test_first_8_every_step_has_a_badge_and_what_fails_is_saved_as_a_test(
    broken: OneScreen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    broken.open_tab("Checks")
    page = broken.page
    steps = page.get_by_role("group", name="Checks").get_by_role("option")
    assert steps.count() == len(broken.screen.session.labels)
    expect(page.get_by_role("group", name="Checks").get_by_role("status").first).to_contain_text(
        "checked", timeout=90_000
    )
    expect(broken.tab("Checks")).to_contain_text("1 wrong")
    choose(broken, "DropResidual")
    broken.button("Save the test").click()
    expect(page.get_by_role("region", name="Check of DropResidual")).to_contain_text("written: ", timeout=60_000)
    (path,) = tmp_path.glob("test_*.py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    failing = [value for name, value in vars(module).items() if name.startswith("test_")]
    assert failing
    for test in failing:
        with pytest.raises(AssertionError):
            test()
