"""Changes that outlive their kernel, in a real browser: offered, restored, read without a kernel, seen by two views."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.harness import Harness
from tests.browser.lab import LabServer, notebook
from tests.browser.test_lab import opened, run
from tests.ui.asking import ask, restarted
from tests.ui.test_changes import fresh, of_matmul, split, step_id
from tests.ui.test_changes_branches import on_a_branch_of_a_cell
from workbench.ui.changes_store import packed, unpacked
from workbench.ui.workbench import Workbench


@pytest.fixture(autouse=True)
def _kept_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)


def python(page: Page) -> Any:
    return page.get_by_role("contentinfo", name="Python, checks and problems")


def test_changes_of_an_earlier_time_are_offered_and_restored_by_keyboard(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = of_matmul()
    split(first)
    split(first, "l:C:0", 4)
    restarted(monkeypatch)
    screen = of_matmul()
    harness.show(screen)
    page = harness.page
    banner = page.locator(".wb-banner")
    expect(banner).to_contain_text("2 changes of an earlier time are kept")
    banner.locator("summary").click()
    expect(banner).to_contain_text("sch.split")
    page.get_by_role("button", name="Restore").focus()
    page.keyboard.press("Enter")
    expect(banner).to_contain_text("2 changes restored.")
    expect(python(page)).to_contain_text("factors=[None, 4]")
    expect(page.get_by_role("button", name="Undo").first).to_be_enabled()
    assert screen.code == first.code
    banner.get_by_role("button", name="Close the message").click()
    expect(banner).to_have_count(0)
    assert harness.errors == [] and harness.foreign == []


def refused_restore(harness: Harness, monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[Workbench, Locator]:
    """A screen on which the one change that was kept is refused, and the message that says so."""
    split(of_matmul())
    (path,) = (folder / "cache" / "changes-1").iterdir()
    document = unpacked(path.read_bytes())
    assert document is not None
    document["entries"][0]["args"]["selection"] = "l:C:9"
    path.write_bytes(packed(document))
    restarted(monkeypatch)
    screen = of_matmul()
    harness.show(screen)
    harness.page.get_by_role("button", name="Restore").click()
    message = harness.page.locator(".wb-banner").filter(has_text="0 changes restored.")
    expect(message).to_contain_text("split of l:C:9 in main")
    return screen, message


def test_a_branch_of_a_cell_is_asked_for_before_the_rest_is_restored(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = on_a_branch_of_a_cell()
    restarted(monkeypatch)
    screen = Workbench(fresh())
    harness.show(screen)
    page = harness.page
    page.get_by_role("button", name="Restore").click()
    message = page.locator(".wb-banner").nth(1)
    expect(message).to_contain_text("from 0 after FoldConstant#3: -FuseOps”, which a cell (or another screen) had made")
    assert screen.session.rerun(disabled_pass=["FuseOps"])
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".wb-banner")).to_have_text(["2 changes restored.×"])
    assert screen.session.plan.rows == first.session.plan.rows


def test_in_the_middle_of_a_restore_no_other_changes_are_offered(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button came back when the message was closed, and was refused."""
    for _ in range(2):
        first = Workbench(fresh())
        assert first.session.rerun(disabled_pass=["FuseOps"])
        ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
        ask(first, "branch", number=1)
    restarted(monkeypatch)
    harness.show(Workbench(fresh()))
    page = harness.page
    another = page.get_by_role("button", name="Another")
    expect(page.locator(".wb-banner")).to_contain_text("(1 of 2)")
    expect(another).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("button", name="Close the message").click()
    expect(page.locator(".wb-banner")).to_have_count(1)
    expect(page.locator(".wb-banner")).to_contain_text("1 change of an earlier time is kept (1 of 2)")
    expect(another).to_have_count(0)


def test_what_a_restore_took_away_is_not_told_as_a_problem(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of a text were asked for when the changes had come and the screen had not: their kernel was gone."""
    first = Workbench(fresh())
    ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
    restarted(monkeypatch)
    with harness.held(since="pane"):  # a text comes, then the changes, then what is asked of the text
        harness.show(Workbench(fresh()))
        harness.wait_until(lambda: harness.busy, "a text is asked for")
        harness.page.get_by_role("button", name="Restore").click()
        harness.wait_until(lambda: any(one["op"] == "changes.restore" for one in harness._held), "it is asked for")
        harness.dropped = {"open"}  # the new program is not drawn, which would put the problem away
    harness.wait_until(lambda: bool(harness.refused), "a kernel of before is asked for")
    assert [told[:23] for told in harness.refused] == ["words: E-KERNEL-UNKNOWN"]
    harness.asked_so_far()
    expect(harness.page.locator(".wb-problem")).to_have_count(0)
    harness.dropped = set()
    harness.push()
    expect(harness.page.locator(".wb-banner")).to_contain_text("1 change restored.")


def test_a_branch_that_a_cell_makes_comes_up_in_the_picker(harness: Harness) -> None:
    """It came up with the next thing that the screen itself changed."""
    screen = Workbench(fresh())
    harness.show(screen)
    picker = harness.page.get_by_role("combobox", name="Branch", exact=True)
    expect(harness.page.get_by_role("navigation", name="Layers").get_by_role("button").first).to_be_visible()
    expect(picker).to_have_count(0)
    assert screen.session.rerun(disabled_pass=["FuseOps"])
    harness.push()
    expect(picker.locator("option")).to_have_count(2)
    picker.select_option("1")
    expect(picker).to_have_value("1")
    assert "FuseOps" not in screen.session.labels and harness.errors == []


def test_what_was_refused_is_put_away(harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, message = refused_restore(harness, monkeypatch, tmp_path)
    message.get_by_role("button", name="Close the message").click()
    expect(message).to_have_count(0)
    offer = harness.page.locator(".wb-banner")  # it is not lost: it may be what a cell makes that has not run
    expect(offer).to_contain_text("1 step of an earlier time could not be done again")
    offer.locator("summary").click()
    expect(offer).to_contain_text("split of l:C:9 in main: there")
    offer.get_by_role("button", name="Restore").click()
    expect(message).to_contain_text("split of l:C:9 in main")
    offer.get_by_role("button", name="Discard").click()
    expect(offer.filter(has_text="of an earlier time")).to_have_count(0)


def test_what_was_refused_is_put_away_by_the_next_change(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    screen, message = refused_restore(harness, monkeypatch, tmp_path)
    loop = harness.page.locator('[id$="-node-l:C:0"] > .wb-box-head')
    loop.click()
    harness.page.get_by_role("button", name="parallel", exact=True).click()
    expect(loop).to_contain_text("parallel")
    harness.push()
    expect(message).to_have_count(0)
    assert len(screen.schedule.moves.done) == 1


def test_without_a_kernel_the_screen_says_so_and_stays_readable(harness: Harness) -> None:
    screen = of_matmul()
    split(screen)
    harness.show(screen)
    page = harness.page
    line = page.get_by_role("listbox", name="TIR, pane B").get_by_text("T.serial(8)")
    expect(line).to_be_visible()
    page.evaluate("window.model.lose()")
    banner = page.locator(".wb-banner")
    expect(banner).to_have_text("No kernel: run the cell to go on; your 1 change is kept.")
    page.get_by_role("button", name="Undo").first.click()
    page.get_by_title("Measure main").click()
    page.get_by_role("button", name="Python").click()
    expect(python(page)).to_contain_text("sch.split")
    expect(line).to_be_visible()
    expect(page.locator(".wb-problem")).to_have_count(0)
    expect(page.locator(".wb-busy")).to_have_count(0)
    assert harness.errors == []


def test_a_page_loaded_again_shows_the_state_of_its_kernel(harness: Harness) -> None:
    screen = of_matmul()
    harness.show(screen)
    split(screen)
    harness.push()
    expect(python(harness.page)).to_contain_text("sch.split")
    harness.page.reload()
    harness.until_ready()
    traits = {"kind": screen.kind, "bundle_hash": screen.bundle_hash}
    harness.page.evaluate("traits => void window.show(traits)", traits)
    expect(python(harness.page)).to_contain_text("sch.split")
    expect(harness.page.locator(".wb-banner")).to_have_count(0)
    assert len(screen.schedule.moves.done) == 1


def test_two_views_follow_one_state_and_nothing_is_done_twice(harness: Harness, context: BrowserContext) -> None:
    screen = of_matmul()
    split(screen)
    other = Harness(context.new_page())
    harness.show(screen)
    other.show(screen)
    for view in (harness, other):
        expect(python(view.page)).to_contain_text("sch.split")
        view.page.wait_for_load_state("networkidle")
    undo = [view.page.get_by_role("button", name="Undo").first for view in (harness, other)]
    undo[0].click()
    expect(undo[0]).to_be_disabled()
    # What the kernel told has not come to the other view yet: it is behind, says so, and catches up.
    undo[1].click()
    other.page.get_by_role("button", name="Problems").click()
    expect(python(other.page)).to_contain_text("another view has changed the program")
    expect(undo[1]).to_be_disabled()
    assert screen.ask("open").content["view"]["redo"] == 1
    other.page.get_by_role("button", name="Redo").first.click()
    expect(undo[1]).to_be_enabled()
    harness.push()
    expect(undo[0]).to_be_enabled()
    other.page.close()


SCREEN = (
    "import os; os.environ.pop('WORKBENCH_CHANGES', None)\n"
    "from tests.ui.test_changes import of_matmul\n"
    "screen = of_matmul()\n"
    "screen"
)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_change_comes_back_after_the_kernel_was_restarted(tmp_path: Path, context: BrowserContext) -> None:
    (tmp_path / "lesson.ipynb").write_text(json.dumps(notebook(SCREEN, "print('CODE', screen.code)")))
    with LabServer(tmp_path) as lab:
        page = context.new_page()
        page.set_default_timeout(30_000)
        opened(page, lab, [], "lesson.ipynb")
        run(page, 0)
        loop = page.locator('[id$="-node-l:C:0"] > .wb-box-head')
        expect(loop).to_be_visible(timeout=60_000)
        loop.click()
        page.get_by_role("button", name="parallel", exact=True).click()
        expect(loop).to_contain_text("parallel")

        page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
        opened(page, lab, [], "lesson.ipynb")  # the page anew, the kernel as it was
        pane = page.get_by_role("region", name="pane A")
        expect(pane.locator("ins.wb-line", has_text="T.parallel(4)")).to_be_visible(timeout=60_000)
        pane.get_by_role("button", name="Editor").click()
        expect(loop).to_contain_text("parallel")

        page.evaluate("window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()")
        banner = page.locator(".wb-banner")
        expect(banner).to_contain_text("No kernel: run the cell to go on; your 1 change is kept.")
        loop.click()
        expect(page.locator(".wb-workbench")).not_to_contain_text("Cannot send")
        page.screenshot(path=str(tmp_path / "lost.png"))

        run(page, 0)
        expect(banner).to_contain_text("1 change of an earlier time is kept", timeout=60_000)
        page.screenshot(path=str(tmp_path / "offered.png"))
        page.get_by_role("button", name="Restore").click()
        expect(banner).to_contain_text("1 change restored.")
        expect(loop).to_contain_text("parallel")
        run(page, 1)
        expect(page.locator(".jp-OutputArea-output", has_text="CODE")).to_contain_text("sch.parallel")

        page.evaluate("window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")
        page.get_by_role("button", name="Undo").first.click()
        expect(banner).to_contain_text("No kernel: run the cell to go on; your 1 change is kept.")
