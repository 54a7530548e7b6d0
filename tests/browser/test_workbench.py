"""The screen of layers in a real browser: one click lights the same part of a model in every layer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.pages import LIGHTS
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench import te
from workbench.ui.workbench import Workbench

NETWORK = Path(__file__).parents[2] / "notebooks" / "data" / "efficientnet_lite0.onnx"
ROWS = 200


def opened(harness: Harness, session: Any = None, dark: bool = False, wait: bool = True) -> Workbench:
    screen = Workbench(session or small_session())
    harness.show(screen, dark)
    if wait:
        expect(harness.page.locator(".wb-text-row").first).to_be_visible(timeout=60_000)
    return screen


def chip(harness: Harness, name: str) -> Locator:
    return harness.page.get_by_role("navigation", name="Layers").get_by_role("button", name=name)


def pane(harness: Harness, which: str) -> Locator:
    return harness.page.get_by_role("region", name=f"pane {which}")


def kernel_shown(harness: Harness) -> Locator:
    return harness.page.get_by_role("combobox", name="Kernel").first


def box(harness: Harness, name: str) -> Locator:
    return harness.page.get_by_role("button", name=name)


def test_the_spine_shows_every_layer_with_its_state(harness: Harness) -> None:
    opened(harness)
    chips = harness.page.get_by_role("navigation", name="Layers").get_by_role("button")
    expect(chips).to_have_count(8)
    expect(chip(harness, "ONNX")).to_contain_text("10")
    expect(chip(harness, "Fused")).to_have_attribute("aria-pressed", "true")
    expect(chip(harness, "Assembly")).to_have_attribute("aria-pressed", "false")


def test_a_click_on_a_box_lights_its_lines_in_the_other_pane_and_its_nodes_on_the_ladder(harness: Harness) -> None:
    screen = opened(harness)
    box(harness, "nn.softmax").click()
    lit = pane(harness, "B").locator(".wb-lit")
    expect(lit.first).to_be_visible()
    expect(kernel_shown(harness)).to_have_value("fused_nn_softmax")
    ladder = harness.page.get_by_role("complementary", name="The selection")
    expect(ladder).to_contain_text("nn.softmax")
    expect(chip(harness, "Assembly").locator(".wb-lit-count")).to_be_visible()
    harness.wait_until(lambda: bool(screen.selection), "the kernel knows the selection")
    (thing,) = small_session().provenance.links.things(screen.selection)
    assert thing.op.name == "nn.softmax"


def test_a_line_of_assembly_leads_up_to_its_node(harness: Harness) -> None:
    opened(harness)
    box(harness, "nn.softmax").click()
    page = harness.page
    chip(harness, "Assembly").click(modifiers=["Shift"])
    asm = pane(harness, "B")
    expect(asm.locator(".wb-text-row.wb-lit").first).to_be_visible()
    chip(harness, "ONNX").click()
    asm.locator(".wb-text-row.wb-lit").first.click()
    expect(pane(harness, "A").locator(".wb-text-row.wb-lit")).to_contain_text("Softmax#9 ('soft')")
    expect(page.locator(".wb-text-row.wb-lit .wb-line", has_text="Softmax#9")).to_have_count(1)


def test_hovering_asks_nobody(harness: Harness) -> None:
    opened(harness)
    harness.wait_until(lambda: {"links", "words", "calls"} <= {*harness.operations()}, "all tables are here")
    asked = harness.asked_so_far()
    row = pane(harness, "B").locator(".wb-text-row").nth(8)
    row.hover()
    expect(harness.page.locator(".wb-near").first).to_be_visible()
    assert len(harness.asked) == asked


def test_keys_choose_layers_panes_and_lines(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    pane(harness, "B").locator(".wb-window-body").focus()
    page.keyboard.press("8")
    expect(chip(harness, "Assembly")).to_contain_text("B")
    page.keyboard.press("w")
    page.keyboard.press("1")
    expect(chip(harness, "ONNX")).to_contain_text("A")
    page.keyboard.press("ArrowDown")
    expect(pane(harness, "A").locator(".wb-active .wb-no")).to_have_text("2")
    expect(chip(harness, "Relay").locator(".wb-lit-count")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_long_texts_are_windowed(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    chip(harness, "Assembly").click()
    rows = page.locator(".wb-text-row")
    expect(pane(harness, "A").locator(".wb-text-row").first).to_be_visible()
    total = page.evaluate("document.querySelector('.wb-window-body > div').style.height")
    assert int(total.removesuffix("px")) > ROWS * 19, "the text is longer than what is drawn"
    assert rows.count() <= ROWS
    page.evaluate("document.querySelector('.wb-window-body').scrollTop = 1e6")
    kernel = kernel_shown(harness).input_value()
    last = small_session().provenance.text(kernel, "asm").rstrip("\n").split("\n")[-1].strip()
    expect(pane(harness, "A").locator(".wb-text-row").last.locator(".wb-line")).to_contain_text(last)
    assert rows.count() <= ROWS


@pytest.mark.slow
def test_the_loop_program_of_a_network_is_windowed(harness: Harness) -> None:
    """The difference of a step with thousands of changed lines holds at most 200 rows; what is in sight is there."""
    opened(harness, wb.open(str(NETWORK)))
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="Lower (").click()
    page.get_by_role("button", name="By kind").click(timeout=30_000)  # the whole text
    rows = page.locator(".wb-diff .wb-row")
    expect(rows.first).to_be_visible(timeout=30_000)
    assert rows.count() <= ROWS
    body = page.locator(".wb-diff .wb-window-body")
    total = int(body.evaluate("box => box.firstElementChild.style.height").removesuffix("px")) // 19
    assert total > 1_000, "the step changes more than is drawn"
    for share in (0.3, 0.7, 1.0):
        body.evaluate("(box, share) => { box.scrollTop = share * box.scrollHeight; }", share)
        page.wait_for_timeout(50)
        expect(page.locator(".wb-diff .wb-line", has_text=re.compile("^…$"))).to_have_count(0)
        assert 0 < rows.count() <= ROWS


@pytest.mark.parametrize("width", [1400, 1000, 640])
def test_every_button_of_the_spine_is_in_sight(harness: Harness, width: int) -> None:
    harness.page.set_viewport_size({"width": width, "height": 800})
    opened(harness, wait=False)
    page = harness.page
    expect(page.locator(".wb-box").first).to_be_visible()
    buttons = page.locator(".wb-spine > button:visible, .wb-spine > .wb-group:visible").all()
    assert len(buttons) > 2
    for button in buttons:
        box = button.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width, button.text_content()
    panes = page.locator(".wb-pane:visible")
    expect(panes).to_have_count(2 if width > 1100 else 1)
    if width <= 1100:
        page.get_by_role("button", name="The other pane").click()
        expect(page.get_by_role("region", name="pane B")).to_be_visible()
    if width <= 700:
        expect(page.get_by_role("listbox", name="Steps")).to_have_count(0)
        page.get_by_role("button", name="The selection").click()
        expect(page.get_by_role("complementary", name="The selection")).to_be_visible()


def test_a_step_of_a_cell_and_a_move_of_its_schedule_are_seen(harness: Harness) -> None:
    """A schedule that a cell holds too: what either side does, both show, and the session has it."""
    sch = wb.schedule.Schedule(plain_matmul(64, 64, 64))
    screen = Workbench(wb.open(sch), schedule=sch)
    harness.show(screen)
    page = harness.page
    editor = page.get_by_role("group", name="Schedule editor")
    expect(editor.get_by_role("treeitem")).to_have_count(4)
    sch.split(sch.get_loops("C")[1], factors=[None, 16])
    harness.push()
    expect(editor.get_by_role("treeitem")).to_have_count(5)
    expect(pane(harness, "B").locator(".wb-text-row", has_text="T.grid(4, 16)").first).to_be_visible()
    assert (
        screen.session.schedule("main" if "main" in screen.session.kernels else screen.session.kernels[0]).code()
        == sch.code()
    )
    editor.get_by_role("button", name="Undo").click()
    expect(editor.get_by_role("treeitem")).to_have_count(4)
    assert not sch.moves.done and screen.schedule is sch
    screen.select("Simplify")
    harness.push()
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="Simplify")).to_have_attribute(
        "aria-selected", "true"
    )


def test_a_step_that_a_cell_selects_opens_where_its_layers_are(harness: Harness) -> None:
    """It opened in the pane that was clicked last: what a pass of the graph changed stood under "Schedule"."""
    screen = Workbench(small_session())
    harness.show(screen)
    shown = {which: pane(harness, which) for which in "AB"}
    for step, here, there in (("FuseOps", "A", "B"), ("Simplify", "B", "A")):
        shown[there].locator(".wb-text-row, .wb-box").first.click()
        screen.select(step)
        harness.push()
        expect(shown[here].locator(".wb-step-name")).to_have_text(step)
        expect(shown[there].locator(".wb-step-name")).to_have_count(0)
        shown[here].get_by_role("button", name="Text", exact=True).click()


def test_the_kernel_is_measured_and_the_python_is_there(harness: Harness) -> None:
    screen = opened(harness)
    page = harness.page
    page.get_by_role("button", name="Measure").click()
    expect(page.locator(".wb-run")).to_contain_text(re.compile("[µm]s"), timeout=20_000)
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    page.get_by_role("button", name="Leave out").click()
    harness.push()
    expect(page.locator(".wb-last-call")).to_have_text("s = s.without('FuseOps')")
    assert "FuseOps" not in screen.session.labels
    page.get_by_role("button", name="Undo", exact=True).click()
    harness.push()
    expect(page.locator(".wb-last-call")).to_have_text("nothing changed yet")
    assert "FuseOps" in screen.session.labels


def test_directives_of_assembly_are_hidden_until_asked_for(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    chip(harness, "Assembly").click()
    lines = pane(harness, "A").locator(".wb-line")
    expect(lines.filter(has_text=re.compile(r"^\s*mov|^\s*v")).first).to_be_visible()
    expect(lines.filter(has_text=re.compile(r"^\s*\.(text|file|cfi)"))).to_have_count(0)
    page.keyboard.press(".")
    pane(harness, "A").locator(".wb-window-body").evaluate("box => { box.scrollTop = 0; }")  # it begins at the loops
    expect(lines.filter(has_text=re.compile(r"^\s*\.(text|file|cfi)")).first).to_be_visible()


def test_tensor_expressions_have_the_layers_below_the_graph(harness: Harness) -> None:
    a = te.placeholder((16, 16), name="A")
    b = te.compute((16, 16), lambda i, j: a[i, j] * 2.0, name="B")
    opened(harness, wb.open([a, b]))
    expect(harness.page.get_by_role("navigation", name="Layers").get_by_role("button")).to_have_count(5)
    pane(harness, "A").locator(".wb-text-row", has_text="B[v").last.click()
    expect(pane(harness, "B").locator(".wb-text-row.wb-lit").first).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("dark", LIGHTS)
def test_a_network_opens_as_groups(harness: Harness, dark: bool) -> None:
    opened(harness, wb.open(str(NETWORK)), dark)
    page = harness.page
    group = page.get_by_role("button", name="group").first
    before = page.locator(".wb-box").count()
    group.dblclick()
    expect(page.locator(".wb-frame")).to_have_count(1)
    assert page.locator(".wb-box").count() > before
    page.locator(".wb-frame [role=button]").click()
    expect(page.locator(".wb-frame")).to_have_count(0)


def test_a_primitive_changes_every_layer_below(harness: Harness) -> None:
    """The editor of the kernel's schedule is in the pane; what it does, the other pane shows."""
    screen = opened(harness)
    page = harness.page
    box(harness, "nn.softmax").click()
    expect(kernel_shown(harness)).to_have_value("fused_nn_softmax")
    chip(harness, "TIR").click()
    before = screen.session
    pane(harness, "B").get_by_role("button", name="Editor").click()
    editor = page.get_by_role("group", name="Schedule editor")
    expect(editor).to_be_visible()
    undo = editor.get_by_role("button", name="Undo").first
    expect(undo).to_be_enabled()
    undo.click()
    harness.wait_until(lambda: screen.session is not before, "the session has the step taken back")
    kernel = "fused_nn_softmax"
    assert len(screen.session.schedule(kernel).moves.done) == len(before.schedule(kernel).moves.done) - 1
    harness.push()
    changed = screen.session.provenance.text(kernel, "tir").split("\n")
    other = next(line for line in changed if line not in before.provenance.text(kernel, "tir").split("\n"))
    expect(pane(harness, "A").locator(".wb-text-row", has_text=other.strip()[:40]).first).to_be_visible()
    expect(chip(harness, "Schedule")).to_contain_text("✎")


def test_a_cell_that_assigns_another_session_redraws_the_screen(harness: Harness) -> None:
    screen = opened(harness)
    screen.session = screen.session.rerun(disabled_pass=["FuseOps"])
    harness.push()
    expect(chip(harness, "Fused")).to_have_count(0)
    expect(chip(harness, "Relay")).to_contain_text("✎")
    expect(harness.page.locator(".wb-text-row").first).to_be_visible()


def test_a_step_taken_back_is_compared_with_the_branch_before(harness: Harness) -> None:
    """Old and new assembly side by side, both measured; the better one is gone back to."""
    sch = wb.schedule.Schedule(plain_matmul(64, 64, 64))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(i, k, j)
    sch.vectorize(j)
    screen = Workbench(wb.open(sch))
    harness.show(screen)
    page = harness.page
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    before = screen.session
    pane(harness, "A").get_by_role("button", name="Editor").click()
    page.get_by_role("group", name="Schedule editor").get_by_role("button", name="Undo").click()
    harness.wait_until(lambda: screen.session is not before, "the step is taken back")
    harness.push()
    asm = pane(harness, "B")
    asm.get_by_role("button", name="Compare").click()
    expect(asm.locator("del.wb-line").first).to_be_visible()
    asm.get_by_role("button", name="Measure both").click()
    expect(asm.get_by_role("status")).to_contain_text(re.compile(r"[µm]s → .*[µm]s"), timeout=20_000)
    branch = page.get_by_role("combobox", name="Branch", exact=True).first
    branch.select_option(index=list(before.branches).index(before) if before in list(before.branches) else 1)
    harness.wait_until(lambda: len(screen.session.schedule("main").moves.done) == 2, "the branch before is shown")
    harness.push()
    assert screen.session.schedule("main").code() == before.schedule("main").code()
    expect(page.locator(".wb-last-call")).to_contain_text("s.branches[")


def test_from_the_hottest_line_up_to_the_move_that_is_taken_back(harness: Harness) -> None:
    """Assembly, its loops, the moves that made them; without one of them, old and new assembly side by side."""
    sch = wb.schedule.Schedule(plain_matmul(64, 64, 64))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.vectorize(j)
    screen = Workbench(wb.open(sch))
    harness.show(screen)
    page = harness.page
    asm = pane(harness, "B")
    asm.get_by_role("button", name="Hottest").click()
    line = page.get_by_role("region", name="The line")
    expect(line).to_contain_text("runs 4,096 times a call")
    expect(line.get_by_role("list", name="Moves")).to_contain_text("reorder")
    expect(asm.locator(".wb-active")).to_have_count(1)
    line.get_by_role("button", name="Take vectorize 2 back").click()
    harness.push()
    expect(page.get_by_role("combobox", name="Branch to compare with")).to_be_visible()
    expect(page.locator("del.wb-line").first).to_be_visible()
    assert [move.name for move in screen.session.schedule("main").moves.done] == ["reorder"]
    expect(page.locator(".wb-last-call")).to_contain_text("sch.leave_out(")


def test_the_python_of_the_strip_makes_what_is_shown(harness: Harness) -> None:
    """After moves, undo, a move taken back and a branch: run elsewhere, it leads to the same program."""
    screen = Workbench(wb.open(wb.schedule.Schedule(plain_matmul(64, 64, 64))))
    harness.show(screen)

    def ask(op: str, **args: Any) -> None:
        assert screen.ask(op, kernel="main", **args).content["ok"]

    def move(primitive: str, selection: str, **arguments: Any) -> None:
        ask("schedule.apply", primitive=primitive, selection=selection, arguments=arguments)

    move("parallel", "l:C:0")
    move("unroll", "l:C:2")
    ask("schedule.undo")
    move("vectorize", "l:C:1")
    ask("take_back", number=1, code=screen.session.schedule("main").moves.done[0].code)
    harness.push()
    harness.page.get_by_role("button", name="Python", exact=True).click()
    shown = harness.page.get_by_label("The Python that does the same")
    expect(shown).to_contain_text("s = s.edit(schedule={'main': sch})")
    expect(shown).not_to_contain_text("parallel")
    names: dict[str, Any] = {"program": plain_matmul(64, 64, 64)}
    exec(shown.inner_text(), names)
    assert names["s"].tir["main"].script() == screen.session.tir["main"].script()
    ask("branch", number=0)
    harness.push()
    expect(shown).not_to_contain_text("vectorize")


def test_boxes_say_their_part_of_the_arithmetic(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    shares = page.locator(".wb-box[aria-label*='of the arithmetic']")
    expect(shares.first).to_be_visible()
    expect(page.locator(".wb-share").first).to_have_count(1)


def test_llvms_passes_on_a_kernel_are_steps_of_a_pane(harness: Harness) -> None:
    """Before and after each pass, by mouse and keys; after a change they are those of the new program."""
    page = harness.page
    screen = opened(harness)
    chip(harness, "LLVM").click()
    page.get_by_role("button", name="Passes", exact=True).click()
    shown = page.get_by_role("region", name="LLVM, pane A")
    passes = shown.get_by_role("listbox", name="Steps").get_by_role("option")
    expect(passes.first).to_be_visible(timeout=20_000)
    kernel = page.get_by_role("combobox", name="Kernel").first.input_value()
    recorded = screen.session.llvm_passes(kernel).changed
    expect(passes).to_have_count(len(recorded))
    expect(shown.locator("ins.wb-line, del.wb-line").first).to_be_visible()
    shown.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("ArrowDown")
    expect(shown.get_by_role("region", name="The selected step")).to_contain_text(recorded[1].name)
    assert screen.selected_rewrite is None, "the pipeline's own step stays"
    asked = harness.operations().count("llvm.open")
    screen.session = screen.session.without("FuseOps")
    harness.push()
    harness.wait_until(lambda: harness.operations().count("llvm.open") > asked, "they are recorded anew")


def test_the_stages_of_a_kernel_are_cards_that_select(harness: Harness) -> None:
    page = harness.page
    opened(harness)
    chip(harness, "TE").click()
    cards = page.get_by_role("list", name="Stages").get_by_role("listitem").filter(has=page.get_by_role("button"))
    expect(cards.first).to_be_visible()
    expect(cards.first).to_contain_text("reads")
    cards.first.get_by_role("button").click()
    expect(cards.first.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    expect(pane(harness, "B").locator(".wb-lit").first).to_be_visible()
    page.keyboard.press("i")
    expect(pane(harness, "A").locator(".wb-text-row.wb-lit").first).to_be_visible()


def test_one_pane_has_the_whole_width_and_gives_it_back(harness: Harness) -> None:
    def width(which: str) -> float:
        found = pane(harness, which).bounding_box()
        assert found is not None
        return found["width"]

    opened(harness)
    screen = harness.page.locator(".wb-workbench").bounding_box()
    assert screen is not None
    half = width("B")
    assert half < screen["width"] / 2
    pane(harness, "B").get_by_role("button", name="Whole width").click()
    expect(pane(harness, "A")).to_be_hidden()
    assert width("B") > screen["width"] - 10
    harness.page.screenshot(path="/tmp/e_alone.png")
    harness.page.keyboard.press("w")
    expect(pane(harness, "A")).to_be_visible()
    assert width("A") > screen["width"] - 10
    harness.page.keyboard.press("o")
    expect(pane(harness, "B")).to_be_visible()
    assert width("B") == half


def test_escape_closes_the_sheet_of_keys_and_leaves_the_screen_only_then(harness: Harness) -> None:
    opened(harness)
    pane(harness, "B").locator(".wb-text-row").first.click()
    harness.page.keyboard.press("?")
    sheet = harness.page.get_by_role("dialog", name="Keys")
    expect(sheet).to_be_visible()
    harness.page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    inside = "() => document.activeElement.closest('.wb-workbench') !== null"
    assert harness.page.evaluate(inside)
    harness.page.keyboard.press("Escape")
    assert not harness.page.evaluate(inside)


def test_kernels_are_told_apart_by_the_shape_of_their_output(harness: Harness) -> None:
    opened(harness)
    pane(harness, "B").locator(".wb-text-row").first.click()
    kernels = harness.page.get_by_role("listbox", name="Kernels").get_by_role("option")
    expect(kernels.filter(has_text="conv2d").first).to_contain_text("1 × 6 × 7 × 7")
    expect(kernel_shown(harness).locator("option").first).to_have_text(re.compile(r"conv2d.* 1 × 6 × 7 × 7$"))
    harness.page.screenshot(path="/tmp/e_shape.png")


def test_shares_of_the_arithmetic_are_of_the_graph_that_is_drawn(harness: Harness) -> None:
    """A convolution, its bias and its batch norm become one operator: each was told to do all of that one's work."""
    opened(harness)
    chip(harness, "Relay").click()
    boxes = pane(harness, "A").locator(".wb-box:not(.wb-box-input)")
    expect(boxes.filter(has_text="batch_norm").first).to_be_visible()
    for group in range(pane(harness, "A").locator(".wb-box-group").count()):
        pane(harness, "A").locator(".wb-box-group").nth(group).dblclick()
    shares = boxes.locator(".wb-number")
    expect(shares.first).to_have_text(re.compile("%$"))
    numbers = [float(text.rstrip(" %")) for text in shares.all_text_contents()]
    assert sum(numbers) == pytest.approx(100, abs=2), numbers
    norm = boxes.filter(has_text="batch_norm").first.locator(".wb-number").text_content() or ""
    assert float(norm.rstrip(" %")) < 5, "a batch norm is a multiplication and an addition for each element"
