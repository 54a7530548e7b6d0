"""Notebooks in JupyterLab whose kernel went away: what they kept, and how what was done comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import LabServer, notebook
from tests.browser.test_lab import opened, run

SCREEN = "from tests.driver.programs import small_session\nscreen = small_session().show()\nscreen"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabServer]:
    (tmp_path / "lesson.ipynb").write_text(json.dumps(notebook(SCREEN, "screen.session.show()")))
    with LabServer(tmp_path) as server:
        yield server


def saved_and_reopened(page: Page, lab: LabServer, foreign: list[str]) -> None:
    """Save, end the kernel, and open the notebook as somebody does who comes back next week."""
    page.evaluate(
        """async () => {
            const panel = window.jupyterapp.shell.currentWidget;
            await panel.context.save();
            await panel.context.sessionContext.shutdown();
        }"""
    )
    page.close()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_notebook_opened_again_shows_graph_difference_and_loops(lab: LabServer, context, tmp_path: Path) -> None:
    page = context.new_page()
    page.set_default_timeout(30_000)
    foreign: list[str] = []
    opened(page, lab, foreign, "lesson.ipynb")
    run(page, 0)
    expect(page.locator(".wb-box").first).to_be_visible(timeout=60_000)
    kept = page.locator(".jp-RenderedSVG")
    expect(kept).to_have_count(1)
    expect(kept).to_be_hidden()
    expect(page.locator("details.wb-saved")).to_be_hidden()
    saved_and_reopened(page, lab, foreign)

    again = context.new_page()
    again.set_default_timeout(30_000)
    again.goto(lab.url("lesson.ipynb"), timeout=60_000)
    picture = again.locator(".jp-RenderedSVG img, .jp-RenderedSVG svg")
    expect(picture).to_be_visible(timeout=60_000)
    again.screenshot(path=str(tmp_path / "again.png"))
    book = json.loads((tmp_path / "lesson.ipynb").read_text())
    outputs = book["cells"][0]["outputs"]
    assert [sorted(set(output["data"]) - {"text/plain"}) for output in outputs] == [
        ["application/vnd.jupyter.widget-view+json"], ["image/svg+xml"], ["text/html"]
    ]  # fmt: skip
    told = "".join(outputs[1]["data"]["text/plain"])
    assert "FuseOps: 7 changes" in told and "conv2d (sum)" in told and "graph, operands first" in told
    assert "Workbench()" not in json.dumps(book)
    assert foreign == []
