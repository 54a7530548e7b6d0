"""The schedule editor in a real browser: tree, reasons, forms, refusals, undo."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.schedule.programs import plain_matmul
from tests.ui.test_schedule import MINE, register_mine, tiled
from tests.views.test_static import small
from workbench._lazy import session_of
from workbench.schedule import Schedule
from workbench.tir.tensor_intrin import TENSOR_INTRINSICS
from workbench.ui.schedule import ScheduleEditor
from workbench.ui.workbench import Workbench


def opened(harness: Harness) -> ScheduleEditor:
    editor = ScheduleEditor(Schedule(plain_matmul(512, 512, 256)))
    harness.show(editor)
    expect(harness.page.get_by_role("treeitem").first).to_be_visible()
    return editor


def box(harness: Harness, name: str) -> Locator:
    """The head of the loop of this name."""
    named = harness.page.locator(".wb-iter", has_text=re.compile(f"^{name}$"))
    return harness.page.locator(".wb-tree .wb-box-head").filter(has=named)


def primitives(editor: ScheduleEditor) -> list[str]:
    """What was done to the schedule."""
    return [move.name for move in editor.schedule.moves.done]


def choose(harness: Harness, loop: str, primitive: str) -> None:
    box(harness, loop).click()
    harness.page.get_by_role("button", name=primitive, exact=True).click()


def test_the_tree_shows_names_extents_and_kinds(harness: Harness) -> None:
    opened(harness)
    expect(harness.page.get_by_role("treeitem")).to_have_count(4)
    expect(box(harness, "i")).to_contain_text("512")
    expect(harness.page.locator(".wb-k-block")).to_contain_text("reduction")
    expect(harness.page.locator(".wb-k-block")).to_contain_text("A, B → C")


def test_every_primitive_is_listed_and_the_refused_ones_say_why(harness: Harness) -> None:
    opened(harness)
    box(harness, "k").click()
    vectorize = harness.page.get_by_role("button", name="vectorize", exact=True)
    expect(vectorize).to_have_attribute("aria-disabled", "true")
    expect(harness.page.locator("[id$='-why-vectorize']")).to_contain_text("its iterations depend on each other")
    expect(harness.page.locator("[id$='-why-cache_write']")).to_have_text("not for a loop")
    names = harness.page.locator(".wb-primitive > button").all_inner_texts()
    assert len(names) == len(set(names)) and {"split", "vectorize", "cache_write", "rfactor"} <= set(names)


def test_a_refused_primitive_does_nothing_when_clicked(harness: Harness) -> None:
    editor = opened(harness)
    box(harness, "k").click()
    harness.page.get_by_role("button", name="vectorize", exact=True).click(force=True)
    harness.page.wait_for_timeout(100)
    assert primitives(editor) == [] and "apply" not in harness.operations()


def test_a_form_splits_a_loop_and_the_code_follows(harness: Harness) -> None:
    editor = opened(harness)
    choose(harness, "j", "split")
    field = harness.page.get_by_role("textbox", name="factors")
    expect(field).to_have_value("auto, 4")
    field.fill("auto, 32")
    harness.page.get_by_role("button", name="Apply").click()
    expect(box(harness, "j_1")).to_contain_text("32")
    expect(harness.page.locator(".wb-last")).to_contain_text("sch.split(l1, factors=[None, 32])")
    assert editor.code.rstrip().endswith("sch.split(l1, factors=[None, 32])")
    assert harness.operations().count("apply") == 1 and harness.operations().count("open") == 1


def test_factors_stay_as_they_are_typed_when_something_arrives(harness: Harness) -> None:
    """Whatever was drawn anew, another pane's answer too, put the old ones back under the typing fingers."""
    opened(harness)
    choose(harness, "j", "split")
    field = harness.page.get_by_role("textbox", name="factors")
    expect(field).to_have_value("auto, 4")
    field.fill("auto, 1")
    asked = len(harness.asked)
    harness.page.evaluate("m => window.model.deliver({content: m, buffers: []})", {"v": 1, "event": "changed"})
    harness.wait_until(lambda: "open" in harness.operations()[asked:], "the schedule is looked at again")
    expect(field).to_have_value("auto, 1")
    field.press("End")
    field.press_sequentially("6")
    expect(field).to_have_value("auto, 16")
    harness.page.get_by_role("button", name="2", exact=True).first.click()
    expect(field).to_have_value("auto, 2")


def test_a_primitive_without_arguments_applies_at_once(harness: Harness) -> None:
    editor = opened(harness)
    choose(harness, "i", "parallel")
    expect(box(harness, "i")).to_contain_text("parallel")
    assert primitives(editor) == ["parallel"]


def test_a_refusal_is_shown_with_its_place_and_its_fix(harness: Harness) -> None:
    editor = opened(harness)
    choose(harness, "j", "split")
    harness.page.get_by_role("textbox", name="factors").fill("3, 7")
    harness.page.get_by_role("button", name="Apply").click()
    alert = harness.page.get_by_role("alert")
    for text in ("E-SCHEDULE-SPLIT-PRODUCT", "use auto, 7", "unchanged"):
        expect(alert).to_contain_text(text)
    assert primitives(editor) == []
    expect(harness.page.get_by_role("textbox", name="factors")).to_have_value("3, 7")


def test_undo_and_redo_by_button_and_key(harness: Harness) -> None:
    editor = opened(harness)
    page = harness.page
    undo, redo = page.get_by_role("button", name="Undo"), page.get_by_role("button", name="Redo")
    expect(undo).to_be_disabled()
    choose(harness, "i", "parallel")
    expect(undo).to_be_enabled()
    undo.click()
    expect(redo).to_be_enabled()
    expect(box(harness, "i")).not_to_contain_text("parallel")
    page.get_by_role("tree").focus()
    page.keyboard.press("Control+Shift+Z")
    expect(box(harness, "i")).to_contain_text("parallel")
    page.keyboard.press("Control+z")
    expect(redo).to_be_enabled()
    assert primitives(editor) == []


def test_default_steps_can_be_taken_back(harness: Harness) -> None:
    """A kernel's schedule is opened at its end; the rules' steps are its history."""
    session = wb.open(small())
    schedule = session.schedule(session.kernels[0])
    steps = len(schedule.moves.done)
    assert steps >= 3
    editor = ScheduleEditor(schedule)
    harness.show(editor)
    page = harness.page
    expect(page.locator(".wb-head")).to_contain_text(f"step {steps} of {steps}")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".wb-head")).to_contain_text(f"step {steps - 1} of {steps}")
    assert len(schedule.moves.done) == steps - 1
    page.get_by_role("button", name="Redo").click()
    expect(page.locator(".wb-head")).to_contain_text(f"step {steps} of {steps}")


def test_keys_walk_the_tree_and_find_a_primitive(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    selected = page.locator("[role=treeitem][aria-selected=true] > .wb-box-head")
    page.get_by_role("tree").focus()
    expect(selected).to_contain_text("i")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(selected).to_contain_text("k")
    page.keyboard.press("ArrowLeft")
    expect(selected).to_contain_text("j")
    page.keyboard.press("/")
    page.keyboard.type("paralle")
    expect(page.locator(".wb-primitive")).to_have_count(1)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "cell"


def test_what_a_cell_does_is_drawn_and_a_click_goes_on_from_it(harness: Harness) -> None:
    """Both ways round: a click, then a cell, then a click; and a cell that overtakes a click."""
    editor = opened(harness)
    schedule = editor.schedule
    choose(harness, "i", "parallel")
    expect(box(harness, "i")).to_contain_text("parallel")
    _, j, k = schedule.get_loops("C")
    schedule.reorder(k, j)
    schedule.vectorize(j)
    assert len(harness.screen.__dict__["_pushed"]) <= 2, "a page is told once, however many steps a cell does"
    harness.push()
    expect(box(harness, "j")).to_contain_text("vectorized")
    schedule.undo()
    choose(harness, "k", "unroll")
    harness.push()
    expect(harness.page.get_by_role("alert")).to_contain_text("E-UI-STALE")
    expect(box(harness, "j")).not_to_contain_text("vectorized")
    assert primitives(editor) == ["parallel", "reorder"]
    choose(harness, "k", "unroll")
    expect(box(harness, "k")).to_contain_text("unrolled")
    expect(harness.page.get_by_role("alert")).to_have_count(0)
    assert primitives(editor) == ["parallel", "reorder", "unroll"]


def test_another_schedule_is_shown(harness: Harness) -> None:
    editor = opened(harness)
    other = Schedule(plain_matmul())
    other.unroll(other.get_loops("C")[1])
    editor.schedule = other
    harness.push()
    expect(box(harness, "j")).to_contain_text("unrolled")


def test_two_quick_clicks_are_one_command(harness: Harness) -> None:
    opened(harness)
    choose(harness, "j", "split")
    harness.page.get_by_role("button", name="Apply").dblclick()
    expect(box(harness, "j_1")).to_be_visible()
    harness.page.wait_for_timeout(150)
    assert harness.operations().count("apply") == 1


def test_branches_are_made_by_undo_and_chosen_from_a_list(harness: Harness) -> None:
    editor = opened(harness)
    page = harness.page
    choose(harness, "i", "parallel")
    expect(box(harness, "i")).to_contain_text("parallel")
    page.get_by_role("button", name="Undo").click()
    choose(harness, "k", "unroll")
    branches = page.get_by_role("combobox", name="Branch")
    expect(branches).to_have_value("1")
    assert branches.locator("option").all_inner_texts() == ["0: parallel", "1: unroll"]
    branches.select_option("0")
    expect(box(harness, "i")).to_contain_text("parallel")
    assert editor.schedule.moves.branch == 0 and "sch.parallel" in editor.code


def test_the_loops_of_a_nest_are_ordered_left_out_and_taken_in(harness: Harness) -> None:
    editor = opened(harness)
    page = harness.page
    choose(harness, "i", "reorder")
    page.get_by_role("button", name="Move k outwards").click()
    page.get_by_role("button", name="Move k outwards").click()
    page.get_by_role("button", name="Leave j out").click()
    page.get_by_role("button", name="Take j in").click()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".wb-tree .wb-iter").first).to_have_text("k")
    assert "sch.reorder(l2, l0, l1)" in editor.code


def test_primitives_stand_in_groups(harness: Harness) -> None:
    opened(harness)
    box(harness, "i").click()
    group = harness.page.get_by_role("group", name="loop", exact=True)
    expect(group.get_by_role("button", name="unroll")).to_be_visible()
    expect(group.get_by_role("button", name="annotate")).to_have_count(0)


def test_a_refused_primitive_shows_what_is_legal_instead_and_does_it(harness: Harness) -> None:
    editor = opened(harness)
    page = harness.page
    box(harness, "k").click()
    page.get_by_role("button", name="What instead of vectorize?").click()
    ways = page.get_by_role("group", name="Instead of vectorize")
    expect(ways).to_contain_text("writes C[0, 0]")
    expect(ways).to_contain_text("legal on loop j instead")
    way = page.locator(".wb-way", has_text="legal on loop j instead")
    way.get_by_role("button", name="Use").click()
    expect(box(harness, "j")).to_contain_text("vectorized")
    assert "sch.vectorize(l1)" in editor.code and "unsafe" not in editor.code


def test_a_refused_primitive_can_be_forced_and_stands_red(harness: Harness) -> None:
    editor = opened(harness)
    page = harness.page
    box(harness, "k").click()
    page.get_by_role("button", name="What instead of parallel?").click()
    page.get_by_role("button", name="Do it anyway").click()
    expect(box(harness, "k")).to_contain_text("parallel")
    expect(page.get_by_role("status").filter(has_text="unsafe")).to_be_visible()
    expect(page.locator(".wb-unsafe")).to_contain_text("unsafe=True")
    assert editor.schedule.func.attrs["unsafe"] and "unsafe=True" in editor.code
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").filter(has_text="unsafe")).to_have_count(0)


def test_what_is_wrong_with_a_move_stays_when_the_refused_move_was_tried_on_a_cells_schedule(harness: Harness) -> None:
    """Trying it tells the page that the schedule has moved: it looked again, and took the error and the form away."""
    sch = Schedule(plain_matmul())
    harness.show(Workbench(session_of(sch), sch))
    page = harness.page
    page.locator('[id$="-node-l:C:1"] > .wb-box-head').click()
    page.get_by_label("Find a primitive").fill("spl")
    page.get_by_label("Find a primitive").press("Enter")  # one is left
    field = page.locator(".wb-form input").first
    field.fill("auto, 0")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".wb-problem")).to_contain_text("E-SCHEDULE-ARGUMENT")
    harness.asked_so_far()
    expect(page.locator(".wb-problem")).to_contain_text("E-SCHEDULE-ARGUMENT")
    expect(field).to_have_value("auto, 0")


def test_undo_pressed_twice_at_once_takes_two_moves_back(harness: Harness) -> None:
    editor = ScheduleEditor(Schedule(plain_matmul()))
    first, second, _ = editor.schedule.get_loops("C")
    editor.schedule.parallel(first)
    editor.schedule.unroll(second)
    harness.show(editor)
    harness.page.get_by_role("tree").focus()
    harness.page.evaluate(
        """() => { for (let time = 0; time < 2; time++) document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", { key: "z", ctrlKey: true, bubbles: true, cancelable: true })); }"""
    )
    harness.wait_until(lambda: not editor.schedule.moves.done, "both are taken back")


def test_tensorize_is_chosen_from_the_registered_intrinsics_and_the_tile_is_its_block(harness: Harness) -> None:
    """A product of 8 x 8 in tiles of 4 x 4 x 4, computed by an intrinsic of the user's own."""
    register_mine()
    try:
        editor = tiled()
        harness.show(editor)
        page = harness.page
        choose(harness, "i_1", "tensorize")
        form = page.get_by_role("form", name="Arguments of tensorize")
        choice = form.get_by_role("combobox")
        expect(choice).to_have_value(MINE)
        offered = choice.locator("option").all_inner_texts()  # other tests may have registered some
        assert offered.index(MINE) < offered.index("dot_16x4_plain") < offered.index("dot_16x4_vnni")
        expect(form.get_by_role("checkbox")).to_be_checked()
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".wb-block-name")).to_have_text(["C_o", "update"])
        expect(page.locator(".wb-last")).to_contain_text(f"sch.tensorize(l4, tensor_intrin='{MINE}')")
        assert primitives(editor)[-1] == "tensorize"
        box(harness, "k_0").click()
        expect(page.locator("[id$='-why-tensorize']")).to_contain_text("is not what tensor intrinsic")
    finally:
        TENSOR_INTRINSICS.remove(MINE)


def test_a_search_that_finds_no_primitive_says_so(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    search = page.get_by_label("Find a primitive")
    search.fill("tesor")
    expect(page.locator(".wb-primitive")).to_have_count(0)
    expect(page.locator(".wb-primitives").get_by_role("status")).to_contain_text("No primitive named “tesor”")
    search.fill("tens")
    expect(page.locator(".wb-primitive")).to_have_count(1)
    expect(page.locator(".wb-primitives").get_by_role("status")).to_have_count(0)


def chosen(harness: Harness) -> Locator:
    """The head of the chosen box."""
    return harness.page.locator("[role=treeitem][aria-selected=true] > .wb-box-head")


def test_the_chosen_loop_stays_the_same_variable_when_a_cell_moves_the_schedule(harness: Harness) -> None:
    """It was kept by its place, so that a loop that came in outside of it was chosen in its stead."""
    editor = opened(harness)
    sch = editor.schedule
    i, _, k = sch.get_loops("C")
    box(harness, "j").click()
    i_0, _ = sch.split(i, factors=[None, 4])
    harness.push()
    expect(box(harness, "i_1")).to_be_visible()
    expect(chosen(harness).locator(".wb-iter")).to_have_text("j")
    sch.reorder(k, i_0)
    harness.push()
    expect(harness.page.locator(".wb-tree .wb-iter").first).to_have_text("k")
    expect(chosen(harness).locator(".wb-iter")).to_have_text("j")
    expect(harness.page.get_by_role("region", name="Primitives")).to_contain_text("For loop j")


def test_a_chosen_loop_that_is_gone_is_followed_to_what_it_became_and_back(harness: Harness) -> None:
    editor = opened(harness)
    sch = editor.schedule
    j = sch.get_loops("C")[1]
    box(harness, "j").click()
    sch.split(j, factors=[None, 32])
    harness.push()
    expect(chosen(harness).locator(".wb-iter")).to_have_text("j_0")
    sch.undo()
    harness.push()
    expect(chosen(harness).locator(".wb-iter")).to_have_text("j")
    sch.cache_write("C", 0, "global")
    harness.push()
    harness.page.locator(".wb-tree .wb-box-head", has_text="C_global → C").click()
    expect(chosen(harness)).to_have_count(1)
    sch.undo()
    harness.push()
    expect(harness.page.locator(".wb-block-name")).to_have_count(1)
    expect(chosen(harness)).to_have_count(0)
    expect(harness.page.get_by_role("region", name="Primitives")).to_contain_text("Select a loop or a block")


def test_a_click_moves_the_point_under_the_roofline(harness: Harness) -> None:
    """The picture is of elements, not of markup; the segment has the name of the primitive that was clicked."""
    opened(harness)
    harness.page.get_by_role("button", name="Roofline").click()
    way = harness.page.get_by_role("region", name="Roofline").locator("svg")
    expect(way).to_contain_text("as it began")
    expect(way).not_to_contain_text("parallel")
    box(harness, "j").click()  # another box meanwhile: the picture is of the whole
    choose(harness, "i", "parallel")
    expect(way).to_contain_text("1  parallel:")
    assert way.locator("rect > title").all_text_contents()[-1].startswith("parallel")
    harness.page.get_by_role("button", name="Undo").click()
    expect(way).not_to_contain_text("parallel")
    harness.page.get_by_role("button", name="Roofline").click()
    expect(way).to_have_count(0)
    assert harness.operations().count("roofline") == 3


def test_the_picture_of_the_roofline_is_not_cut(harness: Harness) -> None:
    """Its lowest points and its list stood below the edge of a frame of 230 pixels."""
    opened(harness)
    choose(harness, "i", "parallel")
    harness.page.get_by_role("button", name="Roofline").click()
    region = harness.page.get_by_role("region", name="Roofline")
    expect(region.locator("svg")).to_contain_text("1  parallel:")
    seen, drawn = region.bounding_box(), region.locator("svg").bounding_box()
    assert seen is not None and drawn is not None
    assert drawn["height"] > 250 and drawn["y"] + drawn["height"] <= seen["y"] + seen["height"] + 1, (drawn, seen)
    assert region.evaluate("node => node.scrollHeight <= node.clientHeight + 1")


def test_what_is_told_of_the_whole_comes_though_another_box_is_chosen_meanwhile(harness: Harness) -> None:
    """The tree of schedules was asked for, and its answer thrown away: the button had done nothing."""
    opened(harness)
    for button, label, asked in (("Tree", "Tree of schedules", "tree"), ("Roofline", "Roofline", "roofline")):
        with harness.held(since=asked):
            harness.page.get_by_role("button", name=button, exact=True).click()
            harness.wait_until(lambda: harness.busy, f"{asked} is asked")
            box(harness, "j" if asked == "tree" else "k").click()
        expect(harness.page.get_by_role("region", name=label).filter(has_text="as it began")).to_be_visible()
