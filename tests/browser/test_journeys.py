"""The journeys that the screen is judged by, in JupyterLab on real models; `-s` prints interactions and seconds."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.lab import LabServer, notebook
from tests.browser.test_lab import opened, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NETWORK = Path(__file__).parents[2] / "notebooks" / "data" / "efficientnet_lite0.onnx"
LONG = 60_000
"""Milliseconds that a kernel at work beside other tests may take."""
PRODUCT = """\
import workbench as wb
from workbench import te
a, b = te.placeholder((512, 512), name="A"), te.placeholder((512, 512), name="B")
k = te.reduce_axis((0, 512), name="k")
c = te.compute((512, 512), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
sch = wb.open([a, b, c]).schedule("main")
i, j, inner = sch.get_loops("C")
j_0, j_1 = sch.split(j, factors=[None, 64])
sch.reorder(i, j_0, inner, j_1)
screen = sch.show()
screen"""
OPEN = f"import workbench as wb\nscreen = wb.open({str(NETWORK)!r}).show()\nscreen"
EXERCISE = """\
from workbench import teach
task = teach.task("09_3", student="ada")
sch = task.start()
screen = task.show(sch)
screen"""
WRONG = f"""\
import workbench as wb
from benchmarks.pass_debugger import planted
session = wb.open({str(NETWORK)!r})
screen = session.rerun(replace={{"FoldConstant": planted("FoldConstant")}}).show()
screen"""
NOTEBOOKS = {
    "visitor": (OPEN, "the kernel that the page shows"),
    "product": (PRODUCT, "print('STATE', sch.code())"),
    "student": (EXERCISE, "print('STATE', task.check(sch).passed, sch.code(), open(task.submit(sch)).read())"),
    "engineer": (OPEN, "print('STATE', len(screen.session.branches))"),
    "debugger": (WRONG, "print('STATE', screen.selected, screen.selected_rewrite)"),
    "teacher": (OPEN, "print('STATE', screen.session.to_html('lecture.html'))"),
}


def lesson(name: str, *starts: str) -> tuple[str, ...]:
    """The code cells of a lesson that hold these texts."""
    cells = json.loads((NETWORK.parents[1] / name).read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return tuple(next(text for text in code if start in text) for start in starts)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("journeys")
    for name, cells in NOTEBOOKS.items():
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook(*cells)))
    asked = lesson("12_fusion_and_layout.ipynb", "get_workload(", "How many groups are there?", "groups.then(s.show)")
    (folder / "predicting.ipynb").write_text(json.dumps(notebook(*asked)))
    with LabServer(folder) as server:
        yield server


class Visitor:
    """A person at the screen that the first cell shows, whose interactions and seconds are counted."""

    def __init__(self, page: Page, lab: LabServer, name: str) -> None:
        self.page, self.lab, self.name = page, lab, name
        self.interactions = 0
        self.foreign: list[str] = []
        page.set_viewport_size({"width": 1700, "height": 1000})
        page.set_default_timeout(30_000)
        opened(page, lab, self.foreign, f"{name}.ipynb")
        run(page, 0)
        expect(page.get_by_role("group", name="Workbench")).to_be_visible(timeout=LONG)
        self.begun = time.perf_counter()

    def click(self, what: Locator, **options: Any) -> None:
        self.interactions += 1
        what.click(**options)

    def press(self, key: str) -> None:
        self.interactions += 1
        self.page.keyboard.press(key)

    def chip(self, name: str) -> Locator:
        return self.page.get_by_role("navigation", name="Layers").get_by_role("button", name=name)

    def pane(self, which: str) -> Locator:
        return self.page.get_by_role("region", name=f"pane {which}")

    def drag(self, edge: Locator, pixels: float) -> None:
        """Drag a tile's edge to the right, or down where it moves that way; nothing is released yet."""
        edge.scroll_into_view_if_needed()
        place = edge.bounding_box()
        assert place is not None
        x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        self.interactions += 1
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        down = edge.get_attribute("aria-orientation") == "vertical"
        self.page.mouse.move(x + (0 if down else pixels), y + (pixels if down else 0), steps=4)

    def state(self, code: str = "") -> str:
        """What the second cell, or this code in its place, prints now; not an interaction with the screen."""
        if code:
            cell = "window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel"
            self.page.evaluate(f"code => {cell}.setSource(code)", code)
        run(self.page, 1)
        said = self.page.locator(".jp-OutputArea-output", has_text=re.compile("STATE "))
        expect(said).to_be_visible(timeout=3 * LONG)  # one of them writes a file of all that can be looked at
        return str(said.inner_text())

    def end(self, at_most: int) -> None:
        seconds = time.perf_counter() - self.begun
        print(f"\njourney {self.name}: {self.interactions} interactions, {seconds:.1f} s")
        assert self.foreign == []
        assert self.interactions <= at_most


@pytest.fixture
def visit(context: BrowserContext, lab: LabServer) -> Callable[[str], Visitor]:
    return lambda name: Visitor(context.new_page(), lab, name)


def test_journey_1_a_visitor_goes_from_the_widest_box_to_a_new_time(visit: Callable[[str], Visitor]) -> None:
    """Box, assembly, schedule, lens, edge: of one fused convolution of the network, with its default schedule."""
    visitor = visit("visitor")
    page = visitor.page
    expect(page.locator(".wb-share").first).to_be_visible(timeout=LONG)
    shares = page.locator(".wb-share").evaluate_all("bars => bars.map((bar) => bar.getBoundingClientRect().width)")
    visitor.click(page.locator(".wb-box", has=page.locator(".wb-share")).nth(shares.index(max(shares))))
    expect(visitor.pane("B").locator(".wb-text-row.wb-lit").first).to_be_visible(timeout=LONG)
    expect(visitor.chip("LLVM").locator(".wb-lit-count")).to_be_visible(timeout=LONG)
    visitor.click(visitor.chip("Assembly"), modifiers=["Shift"])
    hot = visitor.pane("B").locator(".wb-text-row.wb-lit", has_text=re.compile(r"v\w+ps|fmla|fmul"))
    expect(hot.first).to_be_visible(timeout=LONG)
    visitor.click(visitor.chip("Schedule"))
    visitor.press("t")
    lens = page.get_by_role("group", name="Tile lens")
    edge = lens.get_by_role("slider", name=re.compile("Tile edge")).first
    expect(edge).to_be_visible(timeout=LONG)
    before = edge.get_attribute("aria-valuenow")
    table = lens.get_by_role("table").first.inner_text()
    visitor.drag(edge, 40)
    expect(edge).not_to_have_attribute("aria-valuenow", str(before))
    assert lens.get_by_role("table").first.inner_text() != table, "the footprints follow the edge"
    factor = edge.get_attribute("aria-valuenow")
    page.mouse.up()
    expect(lens.locator(".wb-lens-result")).to_contain_text(re.compile("[µm]s"), timeout=LONG)
    expect(page.locator(".wb-last-call")).to_contain_text("sch.change(")
    shown = page.get_by_role("combobox", name="Kernel").first  # empty while the changed program is lowered
    expect(shown, "the widest box is a convolution").to_have_value(re.compile("conv2d"), timeout=LONG)
    kernel = shown.input_value()
    code = visitor.state(f"print('STATE', screen.session.schedule({kernel!r}).code())")
    assert f"factors=[None, {factor}]" in code, "the session has what was dragged"
    visitor.end(6)


def test_journey_1_a_visitor_drags_a_tile_of_a_product_and_reads_the_new_time(visit: Callable[[str], Visitor]) -> None:
    visitor = visit("product")
    page = visitor.page
    expect(visitor.pane("B").locator(".wb-text-row").first).to_be_visible(timeout=LONG)
    visitor.click(visitor.pane("A").get_by_role("button", name="Lens"))
    edge = page.get_by_role("slider", name="Tile edge j_1").first
    expect(edge).to_have_attribute("aria-valuenow", "64", timeout=LONG)
    visitor.drag(edge, 12)
    expect(edge).not_to_have_attribute("aria-valuenow", "64")
    factor = edge.get_attribute("aria-valuenow")
    page.mouse.up()
    expect(page.locator(".wb-lens-result")).to_contain_text(re.compile("[µm]s"), timeout=LONG)
    expect(page.locator(".wb-last-call")).to_contain_text("sch.change(")
    assert f"factors=[None, {factor}]" in visitor.state(), "the cell's own schedule has it"
    visitor.end(6)


def test_journey_2_a_student_takes_the_best_way_and_the_exercise_turns_green(visit: Callable[[str], Visitor]) -> None:
    """A sum is to be vectorised: refused with two iterations, drawn; the way that is offered solves the exercise."""
    visitor = visit("student")
    page = visitor.page
    solved = page.get_by_role("group", name="Exercise 09_3").get_by_role("status").first
    expect(solved).to_contain_text("not solved yet", timeout=LONG)
    named = page.locator(".wb-tree .wb-box-head")
    visitor.click(named.filter(has=page.locator(".wb-iter", has_text=re.compile("^k$"))))
    visitor.click(page.get_by_role("button", name="split", exact=True))
    page.get_by_role("textbox", name="factors").fill("auto, 8")
    visitor.press("Tab")
    visitor.click(page.get_by_role("button", name="Apply", exact=True))
    visitor.click(named.filter(has=page.locator(".wb-iter", has_text=re.compile("^k_1$"))))
    visitor.click(page.get_by_role("button", name="What instead of vectorize?"))
    expect(page.locator(".wb-w-picture .wb-w-one")).to_be_visible(timeout=LONG)
    expect(page.locator(".wb-w-picture .wb-w-two")).to_be_visible()
    words = page.get_by_role("group", name="Two iterations that collide")
    expect(words).to_contain_text("writes B")
    expect(words.locator(".wb-lit").first).to_be_visible()
    visitor.click(page.locator(".wb-way").first.get_by_role("button", name="Use"))
    expect(solved).to_have_text("✓ solved: 3 of 3 points", timeout=LONG)
    said = visitor.state()
    assert "True" in said and said.count("sch.rfactor(") == 2, "the cell's schedule and the answer's file hold the same"
    visitor.end(8)


def test_journey_3_an_engineer_takes_a_step_back_and_keeps_the_better_branch(visit: Callable[[str], Visitor]) -> None:
    """From the hottest line of a fused convolution to the move behind it; both branches measured; back again."""
    visitor = visit("engineer")
    page = visitor.page
    expect(visitor.pane("B").locator(".wb-text-row").first).to_be_visible(timeout=LONG)
    visitor.click(visitor.chip("Assembly"), modifiers=["Shift"])
    visitor.click(visitor.pane("B").get_by_role("button", name="Hottest"))
    line = page.get_by_role("region", name="The line")
    expect(line.get_by_role("list", name="Moves").get_by_role("listitem").first).to_be_visible(timeout=LONG)
    expect(page.get_by_role("complementary", name="The selection")).to_contain_text(re.compile(r"Conv#\d"))
    visitor.click(line.get_by_role("button", name=re.compile("^Take (vectorize|parallel) ")).last)
    comparison = visitor.pane("B")
    expect(comparison.get_by_role("combobox", name="Branch to compare with")).to_be_visible(timeout=LONG)
    expect(comparison.locator("del.wb-line, ins.wb-line").first).to_be_visible(timeout=LONG)
    visitor.click(comparison.get_by_role("button", name="Measure both"))
    expect(comparison.get_by_role("status")).to_contain_text(re.compile(r"[µm]s → .*[µm]s"), timeout=LONG)
    branch = page.get_by_role("combobox", name="Branch", exact=True)
    expect(branch).to_have_value("1")
    visitor.click(page.get_by_role("button", name="Undo", exact=True))
    expect(branch).to_have_value("0")
    assert "STATE 2" in visitor.state(), "both branches are kept"
    visitor.end(6)


def test_journey_4_a_pass_debugger_goes_from_the_red_badge_to_a_test_that_fails(
    visit: Callable[[str], Visitor],
) -> None:
    visitor = visit("debugger")
    page = visitor.page
    expect(visitor.pane("A").locator(".wb-box").first).to_be_visible(timeout=LONG)
    visitor.click(page.get_by_role("button", name="Checks"))
    checks = page.get_by_role("group", name="Checks")
    red = checks.get_by_role("option", name="PlantedFoldConstant")
    expect(red).to_contain_text("wrong", timeout=LONG)
    expect(checks.get_by_role("region")).to_contain_text("First wrong tensor")
    visitor.click(checks.get_by_role("button", name="Find the first wrong rewrite"))
    found = checks.get_by_role("group", name="What is wrong")
    expect(found).to_contain_text("drop-bias", timeout=LONG)
    visitor.click(found.get_by_role("button", name="in the program"))
    step = page.get_by_role("region", name="The selected step")
    expect(step).to_contain_text("drop-bias")
    expect(step).to_contain_text("pass_debugger.py:")
    visitor.click(checks.get_by_role("button", name="Save the test"))
    expect(checks).to_contain_text("test_plantedfoldconstant.py", timeout=LONG)
    assert (visitor.lab.folder / "test_plantedfoldconstant.py").is_file()
    assert re.search(r"STATE PlantedFoldConstant \d+", visitor.state())
    visitor.end(5)


def test_journey_5_a_teacher_saves_one_file_that_a_student_steps_through(
    visit: Callable[[str], Visitor], context: BrowserContext
) -> None:
    visitor = visit("teacher")
    expect(visitor.pane("A").locator(".wb-box").first).to_be_visible(timeout=LONG)
    visitor.state()
    path = visitor.lab.folder / "lecture.html"
    visitor.page.evaluate("void window.jupyterapp.commands.execute('docmanager:save')")
    student = context.new_page()
    asked: list[str] = []
    student.on("request", lambda request: asked.append(request.url))
    student.goto(path.as_uri())
    visitor.page = student
    steps = student.get_by_role("listbox", name="Steps")
    expect(steps.get_by_role("option", name="FuseOps")).to_be_visible(timeout=LONG)
    visitor.click(steps.get_by_role("option", name="FuseOps"))
    expect(student.get_by_role("region", name="The selected step")).to_contain_text("rewrite")
    assert path.as_uri() in asked
    elsewhere = [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]
    assert elsewhere == [], "nothing is fetched from elsewhere"
    visitor.press("ArrowRight")
    expect(student.locator(".wb-count")).to_contain_text("rewrite 1 of")
    visitor.click(visitor.chip("Assembly"), modifiers=["Shift"])
    expect(visitor.pane("B").locator(".wb-text-row").first).to_be_visible(timeout=LONG)
    saved = visitor.lab.folder / "teacher.ipynb"
    for _ in range(200):
        if "<svg" in saved.read_text():
            break
        student.wait_for_timeout(100)
    assert "<svg" in saved.read_text(), "the saved notebook holds a picture"
    visitor.end(6)


def test_first_13_what_would_tell_the_answer_is_covered_until_there_is_a_guess(
    context: BrowserContext, lab: LabServer
) -> None:
    """The lesson on fusion: the screen after the pass stays covered; the guess is scored at once, then it shows."""
    page, foreign = context.new_page(), []
    page.set_default_timeout(30_000)
    opened(page, lab, foreign, "predicting.ipynb")
    for cell in range(3):
        run(page, cell)
    covered = page.locator(".jp-OutputArea-output", has_text="How many groups are there?")
    expect(covered).to_have_count(2, timeout=LONG)
    expect(page.get_by_role("group", name="Workbench")).to_have_count(0)
    page.evaluate(
        """() => {
            const model = window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel;
            model.setSource(model.getSource().replace("guess=...", "guess=400"));
        }"""
    )
    run(page, 1)
    expect(page.locator(".jp-OutputArea-output", has_text="predicted")).to_contain_text("400", timeout=LONG)
    expect(page.locator(".jp-OutputArea-output", has_text="less than predicted, by a factor of")).to_be_visible()
    run(page, 2)
    expect(page.get_by_role("group", name="Workbench")).to_be_visible(timeout=LONG)
    assert foreign == []
