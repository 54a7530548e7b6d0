"""The screens in a real JupyterLab with a real kernel: driven by mouse and keys, seen by a later cell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import LabServer, notebook

STEPPER = (
    "from tests.browser.fakes import FakePipeline\n"
    "from tests.schedule.programs import plain_matmul\n"
    "from workbench.schedule import Schedule\n"
    "from workbench.ui.pipeline import PipelineStepper\n"
    "from workbench.ui.schedule import ScheduleEditor\n"
    "stepper = PipelineStepper(FakePipeline())\n"
    "stepper"
)
EDITOR = "editor = ScheduleEditor(Schedule(plain_matmul()))\neditor"
STATE = "print('STATE', stepper.selected_step, stepper.selected_rewrite, editor.code.splitlines()[-1])"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabServer]:
    (tmp_path / "tour.ipynb").write_text(json.dumps(notebook(STEPPER, EDITOR, STATE)))
    with LabServer(tmp_path) as server:
        yield server


def opened(page: Page, lab: LabServer, foreign: list[str], path: str = "tour.ipynb") -> None:
    """The notebook, shown and its kernel ready: before that, running a cell asks for a kernel."""

    def watch(url: str) -> None:
        if not url.startswith((lab.origin, lab.origin.replace("http", "ws"), "blob:", "data:")):
            foreign.append(url)

    page.on("request", lambda request: watch(request.url))
    page.on("websocket", lambda socket: watch(socket.url))
    page.goto(lab.url(path), timeout=60_000)
    page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.context?.sessionContext", timeout=60_000)
    page.evaluate(
        """async () => {
            const session = window.jupyterapp.shell.currentWidget.context.sessionContext;
            await session.ready;
            await session.session.kernel.info;
        }"""
    )


def run(page: Page, cell: int) -> None:
    """Run a cell, without waiting for the command's promise, which a dialog would hold for ever."""
    page.evaluate(
        """n => {
            const panel = window.jupyterapp.shell.currentWidget;
            panel.content.activeCellIndex = n;
            void window.jupyterapp.commands.execute('notebook:run-cell');
        }""",
        cell,
    )


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_ux_107_screens_work_in_jupyterlab(lab: LabServer, context) -> None:
    page = context.new_page()
    page.set_default_timeout(30_000)
    foreign: list[str] = []
    opened(page, lab, foreign)

    run(page, 0)
    simplify = page.get_by_role("option", name="SimplifyInference")
    expect(simplify).to_be_visible(timeout=40_000)
    run(page, 1)
    loop = page.locator('[id$="-node-l:C:1"] > .wb-box-head')
    expect(loop).to_be_visible(timeout=20_000)

    simplify.click()
    expect(page.locator("ins.wb-line")).to_have_count(3)
    page.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".wb-count")).to_have_text("rewrite 2 of 3")

    # In Lab's command mode "d d" deletes a cell; inside a screen it must not.
    page.keyboard.press("d")
    page.keyboard.press("d")
    expect(page.locator(".jp-CodeCell")).to_have_count(3)

    # Shift and a click is the screen's own gesture, and saving is the notebook's.
    run(page, 2)
    page.locator(".wb-count").click(modifiers=["Shift"])
    content = "window.jupyterapp.shell.currentWidget.content"
    assert page.evaluate(f"{content}.selectedCells.length") == 1
    page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty = true")
    page.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("Control+s")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.keyboard.press("d")
    page.keyboard.press("d")
    expect(page.locator(".jp-CodeCell")).to_have_count(3)

    page.keyboard.press("Escape")
    assert page.evaluate("!document.activeElement.closest('.wb')")
    assert page.evaluate("!!document.activeElement.closest('.jp-Notebook')")

    # In a cell JupyterLab takes Enter away from fields, and with it the sending of their form.
    loop.click()
    page.get_by_role("button", name="split", exact=True).click()
    factors = page.locator(".wb-form input[type=text], .wb-form input:not([type])").first
    factors.fill("auto, 8")
    factors.press("Enter")
    expect(page.locator('[id$="-node-l:C:2"] > .wb-box-head')).to_contain_text("8")
    page.get_by_role("button", name="Undo", exact=True).click()
    loop.click()
    page.get_by_role("button", name="parallel", exact=True).click()
    expect(loop).to_contain_text("parallel")

    run(page, 2)
    expect(page.locator(".jp-OutputArea-output", has_text="STATE")).to_contain_text("STATE s2 1 sch.parallel(l1)")
    assert page.evaluate("window.__workbench_bundles.size") == 1
    assert foreign == []
