"""The JupyterLab extension: a model opens as a document, the side panel lists what the kernel holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import onnx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.lab import ROOT, LabServer, notebook
from tests.browser.test_lab import opened, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
NETWORK = ROOT / "notebooks" / "data" / "efficientnet_lite0.onnx"
CELL = "import workbench as wb\n'''it''' ; its = wb.open('models/net.onnx')\nsch = its.schedule(list(its.kernels)[0])"
BUSY = "import os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.05)"
BROKEN = "import workbench.ui.named as asked\nasked.named = lambda variables: 1 / 0"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "models").mkdir()
    shutil.copy(NETWORK, folder / "models" / "net.onnx")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 4]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "open", [x], [y])
    onnx.save(onnx.helper.make_model(graph), folder / "models" / "open.onnx")
    (folder / "lesson.ipynb").write_text(json.dumps(notebook(CELL, BUSY)))
    (folder / "other.ipynb").write_text(json.dumps(notebook(CELL, BROKEN)))
    data = folder / ".share"
    (data / "labextensions").mkdir(parents=True)
    (data / "labextensions" / "compiler-workbench").symlink_to(ROOT / "workbench" / "labextension")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(data))
        with LabServer(folder) as server:
            yield server


def test_a_model_is_a_document_that_shows_the_screen(lab: LabServer, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(lab.url("models/net.onnx"))
    document = page.locator(".jp-compilerWorkbench-document")
    expect(document.get_by_role("group", name="Workbench")).to_be_visible(timeout=60_000)
    expect(document.locator(".wb-share").first).to_be_visible(timeout=60_000)
    prompt = document.locator(".jp-CodeConsole-input .cm-content")
    prompt.click()
    page.keyboard.type("print('STATE', screen.session.source, wb.__name__)")
    page.keyboard.press("Shift+Enter")
    expect(document.locator(".jp-OutputArea-output", has_text="STATE")).to_contain_text("net.onnx workbench")


def test_a_model_of_open_shapes_offers_the_call_that_gives_them(lab: LabServer, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(lab.url("models/open.onnx"))
    document = page.locator(".jp-compilerWorkbench-document")
    expect(document.locator(".jp-OutputArea-output", has_text="E-ONNX-DYNAMIC")).to_be_visible(timeout=60_000)
    prompt = document.locator(".jp-CodeConsole-input .cm-content")
    expect(prompt).to_contain_text("screen = wb.open('open.onnx', shape={'x': (1, 4)}).show()")
    page.evaluate("void window.jupyterapp.commands.execute('compiler-workbench:sessions')")
    panel = page.locator("#compiler-workbench-sessions")
    expect(panel).to_contain_text("No variable holds a session")
    prompt.click()
    page.keyboard.press("Shift+Enter")
    expect(document.get_by_role("group", name="Workbench")).to_be_visible(timeout=60_000)
    expect(panel.get_by_role("button", name="screen")).to_be_visible(timeout=60_000)


def test_the_side_panel_lists_the_kernels_sessions_and_shows_one(lab: LabServer, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_default_timeout(60_000)
    foreign: list[str] = []
    opened(page, lab, foreign, "lesson.ipynb")
    page.evaluate("void window.jupyterapp.commands.execute('compiler-workbench:sessions')")
    panel = page.locator("#compiler-workbench-sessions")
    expect(panel).to_contain_text("No variable holds a session")
    run(page, 0)
    entry = panel.get_by_role("button", name="its")
    expect(entry).to_contain_text("net.onnx", timeout=60_000)
    expect(panel.get_by_role("button", name="sch")).to_contain_text("moves")
    entry.click()
    expect(page.get_by_role("group", name="Workbench")).to_be_visible(timeout=60_000)
    expect(page.locator(".jp-CodeCell").last).to_contain_text("its.show()")
    assert foreign == []


def answered(page: Page, path: str) -> None:
    """The kernel of a notebook has answered all that was asked so far."""
    page.evaluate(
        """async path => {
            const all = [...window.jupyterapp.shell.widgets('main')];
            const panel = all.find((one) => one.context?.path === path);
            await panel.sessionContext.session.kernel.requestExecute({code: '', silent: true}).done;
        }""",
        path,
    )


def test_the_answer_of_a_busy_kernel_is_not_listed_under_another_notebook(
    lab: LabServer, context: BrowserContext
) -> None:
    """A click on it ran `its.show()` in a kernel that knows no `its`."""
    page = context.new_page()
    page.set_default_timeout(60_000)
    opened(page, lab, [], "lesson.ipynb")
    page.evaluate("void window.jupyterapp.commands.execute('compiler-workbench:sessions')")
    panel = page.locator("#compiler-workbench-sessions")
    run(page, 0)
    entry = panel.get_by_role("button", name="its")
    expect(entry).to_be_visible(timeout=60_000)
    run(page, 1)  # from now on the kernel is busy
    panel.get_by_role("button", name="Refresh").click()
    page.evaluate("void window.jupyterapp.commands.execute('docmanager:open', {path: 'other.ipynb'})")
    expect(page.locator(".lm-DockPanel-tabBar .lm-mod-current", has_text="other.ipynb")).to_be_visible()
    expect(panel).to_contain_text("No variable holds a session")
    expect(entry).to_have_count(0)
    (lab.folder / "go").touch()
    answered(page, "lesson.ipynb")
    expect(entry).to_have_count(0)
    expect(panel).to_contain_text("No variable holds a session")
    page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="lesson.ipynb").click()
    expect(entry).to_be_visible()


def test_a_kernel_that_is_restarted_holds_nothing_and_one_that_cannot_tell_says_why(
    lab: LabServer, context: BrowserContext
) -> None:
    page = context.new_page()
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    opened(page, lab, [], "other.ipynb")
    page.evaluate("void window.jupyterapp.commands.execute('compiler-workbench:sessions')")
    panel = page.locator("#compiler-workbench-sessions")
    run(page, 0)
    entry = panel.get_by_role("button", name="its")
    expect(entry).to_be_visible(timeout=60_000)
    run(page, 1)
    expect(panel).to_contain_text("could not tell its sessions: ZeroDivisionError: division by zero")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(panel).to_contain_text("No variable holds a session")
    run(page, 0)
    expect(entry).to_be_visible(timeout=60_000)
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(entry).to_have_count(0)
    expect(panel).to_contain_text("No variable holds a session")
    assert errors == []


@pytest.mark.nightly
def test_the_side_panel_follows_the_tab_that_is_looked_at(lab: LabServer, context: BrowserContext) -> None:
    """The notebook is its tracker's current one all the time, which tells nothing of a return to it."""
    page = context.new_page()
    page.set_default_timeout(60_000)
    opened(page, lab, [], "lesson.ipynb")
    page.evaluate("void window.jupyterapp.commands.execute('compiler-workbench:sessions')")
    panel = page.locator("#compiler-workbench-sessions")
    run(page, 0)
    entry = panel.get_by_role("button", name="its")
    expect(entry).to_be_visible(timeout=60_000)
    page.evaluate(
        "void window.jupyterapp.commands.execute('console:create',"
        " {kernelPreference: {name: 'python3', shouldStart: true, canStart: true}})"
    )
    expect(page.locator(".jp-ConsolePanel")).to_be_visible(timeout=60_000)
    expect(entry).to_have_count(0, timeout=60_000)
    page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="lesson.ipynb").click()
    expect(entry).to_be_visible()
