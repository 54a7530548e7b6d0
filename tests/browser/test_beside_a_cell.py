"""JupyterLab asks the kernel in a thread of its own while cells run in another: what a cell does stays done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.lab import LabServer
from tests.browser.test_lab import opened, run

SHOWN = """import threading, time
import workbench as wb
from workbench import te
a, b = (te.placeholder((64, 64), name=text) for text in "AB")
k = te.reduce_axis((0, 64), name="k")
c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
sch = wb.schedule.Schedule(te.create_prim_func([a, b, c]))
sch.split(sch.get_loops("C")[1], factors=[None, 8])
screen = sch.show()
asked, handle, lost = set(), screen._dispatcher.handle, []
screen._dispatcher.handle = lambda content: (asked.add(threading.current_thread().name), handle(content))[1]
screen"""
MOVED = """for pause in (0, 0.01, 0.03, 0.1):
    sch.restart()
    time.sleep(pause)
    i, j, k = sch.get_loops("C")
    sch.reorder(j, i)
    sch.parallel(j)
    time.sleep(pause)
    steps = [step.primitive for step in sch.trace.steps]
    lost += [steps] * (steps != ["get_block", "get_loops", "reorder", "parallel"])"""
TOLD = """print("#threads", sorted(asked))
print("#lost", lost)"""
TURNS = 8


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabServer]:
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    sources = [SHOWN, *[MOVED] * TURNS, TOLD]
    cells = [{**empty, "id": f"c{number}", "source": text} for number, text in enumerate(sources)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "tour.ipynb").write_text(json.dumps(book))
    with LabServer(tmp_path) as server:
        yield server


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_cells_do_stays_whatever_the_page_asks_meanwhile(lab: LabServer, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_default_timeout(30_000)
    opened(page, lab, [])
    run(page, 0)
    editor = page.locator(".wb-schedule")
    expect(editor.locator(".wb-last")).to_contain_text("sch.split(", timeout=90_000)
    editor.get_by_role("treeitem").first.click()  # the page has asked, and goes on to
    for cell in range(1, TURNS + 2):
        run(page, cell)
        page.wait_for_timeout(100)
    output = page.locator(".jp-OutputArea-output")
    told = output.filter(has_text="#lost")
    expect(told).to_be_visible(timeout=60_000)
    print(told.inner_text())
    expect(told).to_contain_text("#lost []")
    expect(editor.locator(".wb-last")).to_contain_text("sch.parallel(")
