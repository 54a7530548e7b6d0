"""The screen against the rules of axe-core (Deque): nothing serious or critical in any state, light and dark."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.lens_programs import matmul_tiled
from tests.browser.pages import LIGHTS
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench.ui.lens import TileLens
from workbench.ui.schedule import ScheduleEditor
from workbench.ui.workbench import Workbench

GRAVE = ("serious", "critical")


def grave(harness: Harness) -> list[str]:
    """What axe-core finds inside the screen."""
    found: Any = Axe().run(harness.page, context=".wb", options={"resultTypes": ["violations"]}).response
    assert found["passes"], "axe-core has looked at something"
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: {node['html'][:160]}: {node.get('failureSummary', '')[:300]}"
        for rule in found["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def shown(harness: Harness, dark: bool) -> None:
    harness.show(Workbench(small_session()), dark)
    expect(harness.page.locator(".wb-text-row").first).to_be_visible()
    harness.wait_until(lambda: "links" in harness.operations(), "the link table is here")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_graph_text_and_selection(harness: Harness, dark: bool) -> None:
    shown(harness, dark)
    harness.page.get_by_role("button", name="nn.softmax").click()
    expect(harness.page.locator(".wb-text-row.wb-lit").first).to_be_visible()
    assert grave(harness) == []


@pytest.mark.parametrize("dark", LIGHTS)
def test_changes_python_keys_and_comparison(harness: Harness, dark: bool) -> None:
    shown(harness, dark)
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    expect(page.locator(".wb-diff .wb-row").first).to_be_visible()
    page.get_by_role("button", name="Next rewrite").click()
    expect(page.locator(".wb-rule-name")).to_be_visible()
    page.get_by_role("button", name="Leave out").click()
    harness.push()
    page.get_by_role("region", name="pane B").get_by_role("button", name="Compare").click()
    expect(page.get_by_role("combobox", name="Branch to compare with")).to_be_visible()
    page.get_by_role("button", name="Python", exact=True).click()
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert grave(harness) == []


@pytest.mark.parametrize("dark", LIGHTS)
def test_the_graph_in_words_why_not_and_what_passes_do(harness: Harness, dark: bool) -> None:
    shown(harness, dark)
    page = harness.page
    page.get_by_role("region", name="pane A").get_by_role("button", name="Tree").click()
    page.get_by_role("treeitem", name="nn.softmax").first.click()
    page.locator(".wb-ladder summary").first.click()
    page.get_by_role("combobox", name="Why does a pass leave").first.select_option("SimplifyExpr")
    expect(page.locator(".wb-why-found")).to_be_visible()
    page.get_by_role("button", name="Ablation").click()
    page.get_by_role("button", name="What does each pass do?").click()
    expect(page.get_by_role("rowheader", name="FuseOps")).to_be_visible(timeout=30_000)
    assert grave(harness) == []
    page.get_by_role("region", name="pane A").get_by_role("button", name="Changes").click()
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    page.locator(".wb-spoken summary").click()
    assert grave(harness) == []


@pytest.mark.parametrize("dark", LIGHTS)
def test_candidates_with_their_configurations_and_a_choice(harness: Harness, dark: bool) -> None:
    shown(harness, dark)
    pane = harness.page.get_by_role("region", name="pane B")
    pane.get_by_role("combobox", name="Kernel").select_option("fused_nn_conv2d_nn_bias_add_add_nn_relu")
    pane.get_by_role("button", name="Candidates", exact=True).click()
    pane.get_by_role("button", name="configurations of").first.click()
    pane.get_by_role("button", name="Choose conv2d.plain").click()
    harness.push()
    expect(pane.get_by_role("button", name="The cheapest again")).to_be_visible()
    assert grave(harness) == []


@pytest.mark.parametrize("dark", LIGHTS)
def test_a_text_being_edited_and_its_refusal(harness: Harness, dark: bool) -> None:
    shown(harness, dark)
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.locator(".cm-content").click()
    page.keyboard.type("nonsense ")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    assert grave(harness) == []


@pytest.mark.parametrize("dark", LIGHTS)
def test_a_schedule_its_forms_and_a_refusal(harness: Harness, dark: bool) -> None:
    harness.show(ScheduleEditor(wb.schedule.Schedule(plain_matmul(64, 64, 64))), dark)
    page = harness.page
    expect(page.get_by_role("treeitem").first).to_be_visible()
    page.locator(".wb-box-head", has_text="k").last.click()
    page.get_by_role("button", name="What instead of vectorize?").click()
    expect(page.get_by_role("group", name="Instead of vectorize")).to_be_visible()
    page.get_by_role("button", name="split", exact=True).click()
    expect(page.get_by_role("form")).to_be_visible()
    assert grave(harness) == []


@pytest.mark.parametrize("width", [1500, 640])
@pytest.mark.parametrize("dark", LIGHTS)
def test_the_form_of_the_target_and_a_refusal(harness: Harness, dark: bool, width: int) -> None:
    harness.page.set_viewport_size({"width": width, "height": 800})
    harness.show(Workbench(small_session()), dark)
    harness.page.get_by_role("button", name="Target llvm").click()
    field = harness.page.get_by_role("textbox", name="What to make code for")
    field.fill("cuda")
    field.press("Enter")
    expect(harness.page.get_by_role("alert")).to_contain_text("no code is generated")
    assert grave(harness) == []


@pytest.mark.parametrize("width", [1000, 640])
def test_narrow_cells(harness: Harness, width: int) -> None:
    harness.page.set_viewport_size({"width": width, "height": 800})
    harness.show(Workbench(small_session()))
    expect(harness.page.locator(".wb-box").first).to_be_visible()
    assert grave(harness) == []


@pytest.mark.parametrize("dark", LIGHTS)
def test_the_tile_lens_with_a_tile_drafted(harness: Harness, dark: bool) -> None:
    harness.show(TileLens(matmul_tiled("IJKikj", 4, 4, 4)), dark)
    expect(harness.page.locator(".wb-lens-result strong")).to_be_visible(timeout=20_000)
    assert grave(harness) == []
    harness.page.get_by_role("slider", name="Tile edge j_1").first.press("ArrowRight")
    assert grave(harness) == []
