"""Notebooks in JupyterLab whose kernel went away: what they kept, and how what was done comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Page, expect

from tests.browser.lab import ROOT, LabServer, notebook
from tests.browser.test_lab import opened, run

SCREEN = "from tests.driver.programs import small_session\nscreen = small_session().show()\nscreen"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabServer]:
    (tmp_path / "lesson.ipynb").write_text(json.dumps(notebook(SCREEN, "screen.session.show()")))
    extensions = tmp_path / ".share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "compiler-workbench").symlink_to(ROOT / "workbench" / "labextension")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / ".share"))
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
    lost = again.locator(".jp-OutputArea-output", has_text="model not found")
    expect(lost).to_have_count(1, timeout=60_000)
    expect(lost).to_be_hidden()
    expect(picture).to_have_css("filter", "none")
    again.evaluate("void window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    expect(picture).to_have_css("filter", "invert(0.9) hue-rotate(180deg)")
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


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_notebook_that_was_run_elsewhere_shows_its_picture(tmp_path: Path, context) -> None:
    """JupyterLab trusts no notebook that it has not run: it draws no SVG, and cleans HTML; the fold has an image."""
    book = nbformat.from_dict(notebook(SCREEN))
    NotebookClient(book, timeout=60, resources={"metadata": {"path": str(ROOT)}}).execute()
    nbformat.write(book, tmp_path / "sent.ipynb")
    with LabServer(tmp_path) as server:
        page = context.new_page()
        page.set_default_timeout(30_000)
        opened(page, server, [], "sent.ipynb")
        page.evaluate("window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")
        assert page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCell.model.trusted") is False
        expect(page.locator(".jp-RenderedSVG")).to_have_count(0)
        for line in ("FuseOps: 7 changes", "conv2d (sum)", "graph, operands first"):
            expect(page.locator(".jp-RenderedText", has_text=line)).to_be_visible()
        page.get_by_text("as picture and text").click()
        picture = page.get_by_role("img", name="Saved view of ")
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.complete && image.naturalWidth > 500")
        page.screenshot(path=str(tmp_path / "sent.png"))
