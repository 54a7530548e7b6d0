"""What was asked of the program shown before, or done to it, says nothing of another one that is shown by then."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_clicked_early import box, network, pane, squashed
from tests.browser.test_pipeline_edits import fresh, typed
from tests.browser.test_stopped_program import shown_then_stopped
from tests.schedule.programs import plain_matmul
from workbench import relay
from workbench.schedule import Schedule
from workbench.ui.pipeline import PipelineStepper
from workbench.ui.workbench import Workbench
from workbench.views.pipeline import SessionModel


def rooted() -> relay.Function:
    x = relay.var("x", shape=(4, 16), dtype="float32")
    return relay.Function([x], relay.sqrt(x))


def drawn(harness: Harness, program: relay.Function) -> Workbench:
    screen = Workbench(wb.open(program))
    harness.show(screen)
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    return screen


def tab(harness: Harness, name: str) -> Locator:
    return harness.page.locator(".wb-strip-head").get_by_role("button", name=name, exact=True)


def step(harness: Harness, name: str) -> Locator:
    return harness.page.get_by_role("listbox", name="Steps").get_by_role("option", name=name)


def editing(harness: Harness, operator: str) -> Page:
    """A page with a text in which an operator was replaced, and which is not applied."""
    harness.show(fresh())
    step(harness, "InferType").click()
    harness.page.get_by_role("button", name="Edit", exact=True).click()
    typed(harness, "nn.relu", operator)
    return harness.page


def test_a_graph_after_a_step_that_another_program_has_not(harness: Harness) -> None:
    screen = drawn(harness, network())
    pane(harness, "A").get_by_role("combobox", name="The graph after").select_option("SimplifyExpr")
    harness.asked_so_far()
    screen.session = wb.open(squashed()).rerun(disabled_pass=["SimplifyExpr"])
    harness.push()
    harness.asked_so_far()
    expect(box(harness, "sqrt")).to_be_visible()
    expect(harness.page.locator(".wb-problem")).to_have_count(0)


def test_what_is_typed_after_apply_is_not_lost(harness: Harness) -> None:
    page = editing(harness, "tanh")
    with harness.held(since="pipeline.edit"):
        page.get_by_role("button", name="Apply").click()
        harness.wait_until(lambda: harness.busy, "it is applied")
        typed(harness, "tanh", "sqrt")
    harness.asked_so_far()
    expect(step(harness, "InferType")).to_contain_text("draft")


def test_a_refusal_keeps_what_was_typed_since(harness: Harness) -> None:
    page = editing(harness, "nn.relux")
    with harness.held(since="pipeline.edit"):
        page.get_by_role("button", name="Apply").click()
        harness.wait_until(lambda: harness.busy, "it is applied")
        typed(harness, "nn.relux", "tanh")
    expect(page.get_by_role("alert")).to_contain_text("did you mean")
    page.get_by_role("button", name="Apply").click()
    harness.asked_so_far()
    edits = [one["args"]["text"] for one in harness.asked if one["op"] == "pipeline.edit"]
    assert "tanh" in edits[-1]


def test_a_refusal_opens_no_editor_that_was_closed(harness: Harness) -> None:
    page = editing(harness, "nn.relux")
    with harness.held(since="pipeline.edit"):
        page.get_by_role("button", name="Apply").click()
        harness.wait_until(lambda: harness.busy, "it is applied")
        page.get_by_role("button", name="Close", exact=True).click()
        step(harness, "FuseOps").click()
    harness.asked_so_far()
    expect(page.locator(".cm-content")).to_have_count(0)


@pytest.mark.parametrize("name", ["Edit", "Options", "Add a pass"])
def test_what_is_asked_of_a_step_that_goes_is_no_problem_of_the_next_program(harness: Harness, name: str) -> None:
    screen = fresh()
    harness.show(screen)
    page = harness.page
    step(harness, "InferType").click()
    harness.asked_so_far()
    with harness.held(since="open"):
        screen.session = wb.open(squashed())
        harness.push()
        harness.wait_until(lambda: any(one["op"] == "pipeline.open" for one in harness._held), "it is opened")
        page.get_by_role("button", name=re.compile(name)).first.click()
    harness.asked_so_far()
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_a_kernel_of_before_is_measured_no_more(harness: Harness) -> None:
    screen = drawn(harness, network())
    with harness.held(since="open"):
        screen.session = wb.open(rooted())
        harness.push()
        harness.wait_until(lambda: harness.busy, "it is opened")
        harness.page.locator(".wb-run").click()
    expect(box(harness, "sqrt")).to_be_visible()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-problem")).to_have_count(0)


BELOW = (("Run", "Run it"), ("Ablation", "What does each pass do?"), ("Values", "Errors"))
"""Tabs below the panes, and the button of each that runs the program."""


@pytest.mark.parametrize(("name", "button"), BELOW)
def test_an_error_below_goes_with_its_program(harness: Harness, refusing: str, name: str, button: str) -> None:
    shown_then_stopped(harness, refusing)
    harness.push()
    harness.asked_so_far()
    page = harness.page
    strip = page.locator(".wb-strip")
    tab(harness, name).click()
    harness.asked_so_far()
    strip.locator(".wb-values-head button").filter(has_text=re.compile(button)).first.click()
    expect(strip.get_by_role("alert")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^Undo")).first.click()
    harness.wait_until(lambda: "pipeline.undo" in harness.operations(), "the pass is taken out")
    harness.push()
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    harness.asked_so_far()
    expect(strip.get_by_role("alert")).to_have_count(0, timeout=2000)


def test_back_from_another_program_selects_nothing_else(harness: Harness) -> None:
    screen = drawn(harness, network())
    box(harness, "tanh").click()
    harness.asked_so_far()
    screen.session = wb.open(squashed())
    harness.push()
    expect(box(harness, "sqrt")).to_be_visible()
    harness.asked_so_far()
    harness.page.wait_for_timeout(300)
    selection = harness.page.get_by_role("complementary", name="The selection")
    expect(selection).to_contain_text("Click a box or a line")
    harness.page.get_by_role("button", name="Back", exact=True).click()
    harness.asked_so_far()
    expect(selection).to_contain_text("Click a box or a line", timeout=2000)


def test_back_goes_on_behind_a_place_that_is_not_whole_any_more(harness: Harness) -> None:
    """What was reached is another place than the one gone to: it was written down as a new one, and Back led there."""
    screen = drawn(harness, network())
    page = harness.page
    back = page.get_by_role("button", name="Back", exact=True)
    for at in range(2):  # two places, the second with a selection
        page.wait_for_timeout(300)
        if at == 0:
            pane(harness, "B").get_by_role("button", name="Editor", exact=True).click()
        else:
            box(harness, "tanh").click()
        harness.asked_so_far()
    page.wait_for_timeout(300)
    screen.session = wb.open(squashed())
    harness.push()
    expect(box(harness, "sqrt")).to_be_visible()
    harness.asked_so_far()
    page.wait_for_timeout(300)
    for _ in range(4):
        if back.is_enabled():
            back.click()
            harness.asked_so_far()
            page.wait_for_timeout(300)
    expect(back).to_be_disabled()
    expect(page.get_by_role("button", name="Forward", exact=True)).to_be_enabled()


def test_what_the_lens_measured_is_no_figure_of_the_next_program(harness: Harness) -> None:
    screen = Workbench(wb.open(Schedule(plain_matmul(16, 16, 16))))
    harness.show(screen)
    expect(pane(harness, "A").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    with harness.held(after="lens.exact"):
        pane(harness, "A").get_by_role("button", name="Lens").click()
        harness.wait_until(lambda: any(one["op"] == "open" for one in harness._held), "the page looks what it was of")
        screen.session = wb.open(Schedule(plain_matmul(24, 24, 24)))
        harness.push()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-run")).to_have_text("▶ Measure")


def test_tensors_of_a_step_that_goes_are_no_problem_of_the_next_program(harness: Harness) -> None:
    screen = drawn(harness, network())
    tab(harness, "Values").click()
    strip = harness.page.locator(".wb-strip")
    choice = strip.get_by_role("combobox").nth(2)
    choice.select_option("SimplifyExpr")
    harness.asked_so_far()
    with harness.held():
        strip.get_by_role("button", name="Tensors of").click()
        screen.session = wb.open(squashed()).rerun(disabled_pass=["SimplifyExpr"])
        harness.push()
    harness.asked_so_far()
    expect(strip.get_by_role("alert")).to_have_count(0, timeout=2000)


def test_an_attribute_is_changed_in_the_program_that_was_clicked_or_not_at_all(harness: Harness) -> None:
    """Its place and number named a call of the next program, whose attribute was changed and nobody told."""
    x = relay.var("x", shape=(4, 16), dtype="float32")
    screen = drawn(harness, relay.Function([x], relay.sqrt(relay.clip(x, 0.0, 6.0))))
    harness.page.get_by_role("navigation", name="Layers of the program").get_by_role("button", name="Relay").click()
    box(harness, "clip").click()
    operators = harness.page.get_by_role("region", name="Operators")
    operators.locator("summary").click()
    field = operators.get_by_role("textbox", name="a_max of clip")
    expect(field).to_have_value("6")
    with harness.held():
        field.fill("5")
        field.press("Enter")
        screen.session = wb.open(relay.Function([x], relay.sqrt(relay.clip(x, 0.0, 3.0))))
        harness.push()
    harness.asked_so_far()
    assert "a_max=3" in screen.session["FuseOps"].program["main"].script()
    expect(harness.page.locator(".wb-problem")).to_contain_text("E-UI-STALE")


def test_a_kept_view_selects_in_its_program_only(harness: Harness) -> None:
    """Its numbers are other parts of another program."""
    screen = drawn(harness, network())
    selection = harness.page.get_by_role("complementary", name="The selection")
    box(harness, "tanh").click()
    expect(selection).to_contain_text("tanh")
    tab(harness, "Views").click()
    harness.page.get_by_label("Name of this view").fill("here")
    harness.page.get_by_role("button", name="Keep this view").click()
    kept = harness.page.get_by_role("list", name="Kept views").get_by_role("button", name="here", exact=True)
    expect(kept).to_be_visible()
    first, place = screen.session, screen.views["here"]
    screen.session = wb.open(squashed())
    harness.push()
    expect(box(harness, "sqrt")).to_be_visible()
    harness.asked_so_far()
    kept.click()
    harness.asked_so_far()
    expect(selection).to_contain_text("Click a box or a line")
    screen.session = first
    harness.push()
    expect(box(harness, "tanh")).to_be_visible()
    harness.asked_so_far()
    kept.click()
    expect(selection).to_contain_text("tanh")
    assert "&of=" in place


def test_a_link_to_a_place_of_another_program_selects_nothing(harness: Harness) -> None:
    screen = drawn(harness, network())
    box(harness, "tanh").click()
    harness.asked_so_far()
    tab(harness, "Views").click()
    harness.page.get_by_label("Name of this view").fill("here")
    harness.page.get_by_role("button", name="Keep this view").click()
    harness.wait_until(lambda: "here" in screen.views, "it is kept")
    place = screen.views["here"]
    for program, told in ((network(), "tanh"), (squashed(), "Click a box or a line")):
        harness.screen = screen = Workbench(wb.open(program), at=place)
        object.__setattr__(screen, "send", lambda content, buffers=None: None)
        harness.page.reload()
        harness.until_ready()
        traits = {"kind": screen.kind, "bundle_hash": screen.bundle_hash}
        harness.page.evaluate("traits => void window.show(traits)", traits)
        expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
        harness.asked_so_far()
        expect(harness.page.get_by_role("complementary", name="The selection")).to_contain_text(told)


def test_a_link_to_a_place_that_a_program_has_not_opens_it_all_the_same(harness: Harness) -> None:
    """A place of a network: its panes waited for ever."""
    harness.show(Workbench(wb.open(Schedule(plain_matmul(16, 16, 16))), at="A=fused.graph&B=schedule.text"))
    for which in "AB":
        expect(pane(harness, which).locator(".wb-text-row").first).to_be_visible()


@pytest.mark.parametrize("name", ["DeadCodeElimination", "FoldConstant"])
def test_a_pass_is_put_behind_the_step_that_it_was_asked_for(harness: Harness, name: str) -> None:
    """Another step was selected until the kernel had told which options the pass has."""
    screen = fresh()
    harness.show(screen)
    page = harness.page
    step(harness, "InferType").click()
    harness.asked_so_far()
    page.get_by_role("button", name="Add a pass").click()
    steps = len(screen.session.labels)
    with harness.held():
        page.get_by_role("combobox", name="Pass to add").select_option(name)
        step(harness, "FuseOps").click()
    harness.asked_so_far()
    labels = [label.partition("#")[0] for label in screen.session.labels]
    assert labels[labels.index("FuseOps") + 1] != name
    assert labels[labels.index("InferType") + 1] == name or len(screen.session.labels) == steps, "dropped"
    expect(page.locator(".wb-pass-form")).to_have_count(0)


def test_a_branch_is_compared_with_that_is_chosen_while_another_is_on_its_way(harness: Harness) -> None:
    screen = drawn(harness, network())
    for name in ("SimplifyExpr", "FoldConstant"):
        screen.session = screen.session.rerun(disabled_pass=[name])
        harness.push()
        harness.asked_so_far()
    page = harness.page
    pane(harness, "B").locator(".wb-text-row").first.click()
    with harness.held():
        page.keyboard.press("b")
        page.get_by_role("combobox", name="Branch to compare with").select_option("0")
    harness.asked_so_far()
    expect(pane(harness, "B").locator(".wb-detail .wb-wait")).to_have_count(0)


@pytest.mark.parametrize("how", ["cards", "compare"])
def test_a_pane_without_text_tells_too_why_there_are_no_kernels(harness: Harness, refusing: str, how: str) -> None:
    shown_then_stopped(harness, refusing)
    if how == "cards":
        layers = harness.page.get_by_role("navigation", name="Layers")
        layers.get_by_role("button", name="TE").click(modifiers=["Shift"])
    else:
        pane(harness, "B").locator(".wb-text-row").first.click()
        harness.page.keyboard.press("b")
    harness.push()
    harness.asked_so_far()
    expect(pane(harness, "B").get_by_role("alert")).to_contain_text("this pass takes nothing", timeout=30_000)


def test_a_line_selected_in_one_loop_program_lights_none_of_the_next(harness: Harness) -> None:
    screen = Workbench(wb.open(Schedule(plain_matmul(16, 16, 16))))
    harness.show(screen)
    lines = pane(harness, "A").locator(".wb-text-row")
    lines.filter(has_text="+=").or_(lines.filter(has_text="C[")).first.click()
    expect(harness.page.locator(".wb-lit").first).to_be_visible()
    harness.asked_so_far()
    screen.session = wb.open(Schedule(plain_matmul(24, 24, 24)))
    harness.push()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-lit")).to_have_count(0)


def test_why_a_primitive_is_refused_at_a_loop_that_goes_is_no_problem_of_the_next_schedule(harness: Harness) -> None:
    schedule = Schedule(plain_matmul(16, 16, 16))
    harness.show(Workbench(wb.open(schedule), schedule=schedule))
    page = harness.page
    page.locator(".wb-tree .wb-box-head").filter(has=page.locator(".wb-iter", has_text=re.compile("^k$"))).click()
    why = page.get_by_role("button", name=re.compile("^What instead of")).first
    expect(why).to_be_visible()
    harness.asked_so_far()
    with harness.held():
        why.click()
        schedule.fuse(*schedule.get_loops("C")[:2])
        harness.push()
    harness.asked_so_far()
    assert any(told.startswith("schedule.ways") for told in harness.refused)
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_a_step_that_is_asked_for_twice_is_run_until_the_second_answer(harness: Harness) -> None:
    harness.show(PipelineStepper(SessionModel(wb.open(network()))))
    lower = harness.page.get_by_role("option", name=re.compile("^Lower "))
    expect(lower).to_contain_text("not run yet")
    harness.asked_so_far()
    harness.dropped.add("step")  # it runs on and on
    before = harness.operations().count("step")
    for number in (1, 2):
        lower.click()
        harness.wait_until(lambda: harness.operations().count("step") == before + number, "it is asked for")  # noqa: B023
        expect(harness.page.locator(".wb-wait")).to_contain_text("Running this step", timeout=5_000)
