"""A saved session on the screen: what its file does not hold is said."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.driver.programs import small_model
from workbench.ui.workbench import Workbench


def test_a_saved_session_says_why_it_has_no_layer_of_the_model(harness: Harness, tmp_path: Path) -> None:
    path = str(tmp_path / "session.wb")
    wb.open(small_model()).save(path)
    harness.show(Workbench(wb.open(path)))
    page = harness.page
    expect(page.get_by_role("navigation", name="Layers").get_by_role("button").first).to_contain_text("Relay")
    why = "No ONNX layer: a saved session holds the imported program, not the model that it was imported from."
    expect(page.get_by_role("complementary", name="The selection").get_by_text(why)).to_be_visible()
