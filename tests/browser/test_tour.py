"""The tour in a real JupyterLab: its screens driven on the real session, seen by a cell that is run afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import ROOT, LabServer
from tests.browser.test_lab import opened, run

TOUR = json.loads((ROOT / "notebooks" / "00_tour.ipynb").read_text(encoding="utf-8"))
AFTERWARDS = (
    "steps = editor.schedule.trace.steps\n"
    "print('STATE', stepper.selected, [step.primitive for step in steps][-3:])\n"
    "edited = s.edit(schedule={kernel: editor.schedule})\n"
    "print('AGREES', bool(abs(edited.run({'inputs': photo})['linear'] - scores).max() < 1e-3))"
)
SCREENFULS = 8
"""How often one may have to scroll on by a screen of 640 pixels."""
SHOTS = os.environ.get("WORKBENCH_SHOTS")
"""A folder for pictures of the screens, to be looked at."""


def cell_with(text: str) -> int:
    return next(number for number, cell in enumerate(TOUR["cells"]) if text in "".join(cell["source"]))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabServer]:
    shutil.copytree(ROOT / "notebooks" / "data", tmp_path / "data")
    extra = {
        "cell_type": "code",
        "id": "afterwards",
        "metadata": {},
        "source": AFTERWARDS,
        "outputs": [],
        "execution_count": None,
    }
    (tmp_path / "tour.ipynb").write_text(json.dumps({**TOUR, "cells": [*TOUR["cells"], extra]}))
    with LabServer(tmp_path) as server:
        yield server


def shot(page: Page, what: Locator, name: str) -> None:
    if SHOTS:
        what.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        what.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


def run_up_to(page: Page, first: int, last: int) -> None:
    """Run the cells [first, last] in order; the kernel keeps them in a queue."""
    for number in range(first, last + 1):
        run(page, number)
        page.wait_for_timeout(60)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tour_is_driven_in_jupyterlab(lab: LabServer, context) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.set_default_timeout(30_000)
    foreign: list[str] = []
    opened(page, lab, foreign)

    editor_cell = cell_with("editor = mine.show()")
    run_up_to(page, 0, cell_with("stepper.select("))
    steps = page.get_by_role("listbox", name="Steps")
    expect(steps.get_by_role("option", name="FuseOps")).to_have_attribute("aria-selected", "true", timeout=60_000)
    expect(page.locator(".wb-workbench ins.wb-line").first).to_be_visible()
    drive_stepper(page, steps)

    run_up_to(page, cell_with("stepper.select(") + 1, editor_cell)
    drive_editor(page)

    run_up_to(page, editor_cell + 1, cell_with("mine.vectorize(oi)"))
    back_to(page, editor_cell)
    editor = page.locator(".wb-schedule")
    expect(editor.locator(".wb-last")).to_contain_text("sch.parallel(")
    expect(editor.get_by_role("combobox", name="Branch").locator("option")).to_have_count(2)
    shot(page, editor, "editor-after-the-cell")
    run_up_to(page, cell_with("mine.vectorize(oi)") + 1, len(TOUR["cells"]))
    state = page.locator(".jp-OutputArea-output", has_text="STATE")
    expect(state).to_contain_text("STATE Codegen ['reorder', 'vectorize', 'parallel']", timeout=180_000)
    expect(page.locator(".jp-OutputArea-output", has_text="AGREES")).to_contain_text("AGREES True", timeout=60_000)
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    heights = heights_of_the_tour(page)
    assert 3_000 < sum(heights.values()) <= SCREENFULS * 640, heights
    assert foreign == []


def back_to(page: Page, number: int) -> None:
    """Bring a cell into sight once the cells have run: JupyterLab takes a cell that is out of sight out of the page."""
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=60_000)
    page.evaluate("n => window.jupyterapp.shell.currentWidget.content.scrollToItem(n)", number)


def heights_of_the_tour(page: Page) -> dict[str, float]:
    """Pixels of each cell that one scrolls through, outputs included, as it was when it was last drawn."""
    return page.evaluate(
        """async () => {
            const content = window.jupyterapp.shell.currentWidget.content;
            const found = {};
            for (const [number, cell] of content.widgets.entries()) {
                if (cell.model.id === "afterwards") continue;
                await content.scrollToItem(number);
                const begins = cell.node.innerText.trim().slice(0, 40), ends = cell.node.innerText.trim().slice(-60);
                found[`${number} ${begins} ... ${ends}`] = cell.node.getBoundingClientRect().height;
            }
            return found;
        }"""
    )


def drive_stepper(page: Page, steps: Locator) -> None:
    """Look at a step and its rewrites; choose one that has not run, which runs it."""
    fuse = steps.get_by_role("option", name="FuseOps")
    fuse.click()
    expect(page.locator(".wb-count")).to_contain_text(re.compile(r"\b5\d rewrites"))
    shot(page, page.locator(".wb-workbench"), "screen-step")
    steps.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".wb-count")).to_have_text(re.compile(r"^rewrite 2 of 5\d$"))
    expect(page.locator(".wb-rule-name")).to_have_text("fuse")
    expect(page.locator(".wb-why")).to_contain_text("one loop nest")
    shot(page, page.locator(".wb-workbench"), "screen-rewrite")
    pending = steps.get_by_role("option", name="Codegen (run in part)")  # the kernel whose assembly was looked at
    expect(pending).to_be_visible()
    pending.click()
    expect(pending).to_have_count(0, timeout=90_000)
    code = page.locator('[aria-label="The selected step"] .wb-text-row')
    expect(code.first).to_be_visible()
    shot(page, page.locator(".wb-workbench"), "screen-codegen")


def drive_editor(page: Page) -> None:
    """Split and vectorise, be refused with the reason, undo."""
    editor = page.locator(".wb-schedule")
    loop = page.locator('[id$="-node-l:conv2d:3"] > .wb-box-head')
    expect(loop).to_be_visible(timeout=90_000)
    loop.click()
    panel = editor.get_by_role("region", name="Primitives")
    split = panel.get_by_role("button", name="split", exact=True)
    expect(split).to_have_attribute("aria-expanded", "false", timeout=20_000)
    shot(page, editor, "editor-open")
    split.click()
    form = editor.get_by_role("form", name="Arguments of split")
    form.get_by_role("textbox").first.fill("auto, 8")
    form.get_by_role("textbox").first.press("Tab")
    form.get_by_role("button", name="Apply").click()
    inner = page.locator('[id$="-node-l:conv2d:4"] > .wb-box-head')
    expect(inner).to_contain_text("x_1")
    summed = page.locator('[id$="-node-l:conv2d:6"] > .wb-box-head')
    summed.click()
    refused = panel.locator(".wb-off", has_text="parallel")
    expect(refused).to_contain_text("its iterations depend on each other")
    shot(page, editor, "editor-refusal")

    inner.click()
    panel.get_by_role("button", name="vectorize", exact=True).click()
    expect(inner).to_contain_text("vectorized")
    shot(page, editor, "editor-vectorized")

    page.locator('[id$="-node-l:conv2d:0"] > .wb-box-head').click()
    panel.get_by_role("button", name="parallel", exact=True).click()
    expect(page.locator('[id$="-node-l:conv2d:0"] > .wb-box-head')).to_contain_text("parallel")
    editor.get_by_role("button", name="Undo").click()
    expect(page.locator('[id$="-node-l:conv2d:0"] > .wb-box-head')).not_to_contain_text("parallel")
