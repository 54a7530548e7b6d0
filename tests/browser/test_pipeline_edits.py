"""Changing a real session from the stepper: texts with refusals in place, passes, undo and redo."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.ui.test_rebase import in_conflict
from workbench import relay
from workbench.driver.dropping import applicable_plan
from workbench.ui.workbench import Workbench

INPUTS = {"x": np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)}


def fresh() -> Workbench:
    x = relay.var("x", shape=(3, 4), dtype="float32")
    return Workbench(wb.open(relay.Function([x], relay.nn.relu(relay.add(x, relay.const(np.float32(0)))))))


@pytest.fixture
def stepper(harness: Harness) -> Workbench:
    screen = fresh()
    harness.show(screen)
    expect(harness.page.get_by_role("option").first).to_be_visible()
    return screen


def result(screen: Workbench) -> np.ndarray:
    return next(iter(screen.session.run(INPUTS).values()))


def typed(harness: Harness, old: str, new: str) -> None:
    """Replace a piece of the text that is being edited, as a person does: by keys."""
    page = harness.page
    content = page.locator(".cm-content")
    expect(content).to_contain_text("def main")
    text = "\n".join(page.locator(".cm-line").all_inner_texts())
    assert old in text
    content.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text.replace(old, new, 1))


def test_a_text_is_edited_and_the_session_goes_on_from_it(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.locator(".cm-line").first).to_contain_text("@R.function")
    apply = page.get_by_role("button", name="Apply")
    expect(apply).to_be_disabled()
    typed(harness, "nn.relu", "tanh")
    apply.click()
    expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("Edit")
    harness.push()
    expect(page.locator("ins.wb-line")).to_contain_text("R.tanh")
    expect(page.locator(".wb-last-call")).to_contain_text("s = s['InferType'].edit({'main': text})")
    np.testing.assert_allclose(result(stepper), np.tanh(INPUTS["x"]), rtol=1e-6)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="Edit")).to_have_count(0)
    np.testing.assert_allclose(result(stepper), np.maximum(INPUTS["x"], 0))
    page.get_by_role("button", name="Redo").click()
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="Edit")).to_have_count(1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("nn.relu", "nn.relux", "did you mean"),
        ("nn.relu(", "nn.dense(", "E-"),
        ("def main(", "def main", "E-RELAY-PARSE"),
    ],
)
def test_a_refused_text_stays_with_the_reason_at_its_line(
    harness: Harness, stepper: Workbench, old: str, new: str, says: str
) -> None:
    page = harness.page
    before = stepper.session
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("e")
    expect(page.locator(".cm-content")).to_be_visible()
    typed(harness, old, new)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text(says)
    expect(page.locator(".wb-refused-line").first).to_be_visible()
    assert new in "\n".join(page.locator(".cm-line").all_inner_texts()), "what was typed is kept"
    assert stepper.session is before
    page.keyboard.press("Escape")
    expect(page.locator(".cm-content")).to_have_count(0)
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType")).to_contain_text("draft")


def test_leaving_the_editor_keeps_what_was_typed(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.keyboard.press("e")
    typed(harness, "nn.relu", "tanh")
    page.keyboard.press("Escape")
    expect(page.locator(".cm-content")).to_have_count(0)
    expect(page.get_by_role("listbox", name="Steps")).to_be_focused()
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.get_by_role("button", name="Edit the draft").click()
    expect(page.locator(".cm-content")).to_contain_text("R.tanh")
    expect(page.get_by_role("button", name="Apply")).to_be_enabled()
    page.get_by_role("button", name="Discard").click()
    expect(page.locator(".wb-draft")).to_have_count(0)
    page.keyboard.press("e")
    expect(page.locator(".cm-content")).to_contain_text("R.nn.relu")
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()


@pytest.fixture
def kept(harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Harness:
    """A screen that knows what drafts are kept by."""
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
    harness.show(fresh())
    return harness


def begun(harness: Harness, new: str) -> None:
    """Another operator is typed after InferType, and not applied."""
    harness.page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    harness.page.keyboard.press("e")
    typed(harness, "nn.relu", new)


def restarted(harness: Harness) -> None:
    """Page and kernel begin anew."""
    page = harness.page
    page.reload()
    harness.until_ready()
    harness.screen = screen = fresh()
    object.__setattr__(screen, "send", lambda content, buffers=None: None)
    page.evaluate("t => void window.show(t)", {"kind": screen.kind, "bundle_hash": screen.bundle_hash})
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType")).to_be_visible()


def without_pauses(harness: Harness) -> None:
    """The page goes before anybody has paused."""
    harness.page.evaluate("() => { const real = setTimeout; window.setTimeout = (f, t) => t === 300 ? 0 : real(f, t) }")


def test_a_draft_outlives_kernel_and_page_and_is_told_of(kept: Harness) -> None:
    """Nobody had said that it would be lost."""
    page = kept.page
    begun(kept, "tanh")
    page.keyboard.press("Escape")
    restarted(kept)
    banner = page.locator(".wb-banner")
    expect(banner).to_contain_text("Texts that were changed and not applied are kept as drafts: InferType.")
    banner.get_by_role("button", name="Close the message").click()
    expect(banner).to_have_count(0)
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.get_by_role("button", name="Edit the draft").click()
    expect(page.locator(".cm-content")).to_contain_text("R.tanh")
    page.get_by_role("button", name="Discard").click()
    restarted(kept)
    expect(page.locator(".wb-draft")).to_have_count(0)
    expect(banner).to_have_count(0)


def test_what_was_typed_last_outlives_a_page_that_goes_at_once(kept: Harness) -> None:
    without_pauses(kept)
    begun(kept, "tanh")
    expect(kept.page.get_by_role("button", name="Apply")).to_be_enabled()
    restarted(kept)
    kept.page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    kept.page.get_by_role("button", name="Edit the draft").click()
    expect(kept.page.locator(".cm-content")).to_contain_text("R.tanh")


def test_an_applied_text_is_no_draft_after_a_reload_at_once(kept: Harness) -> None:
    page = kept.page
    begun(kept, "tanh")
    page.keyboard.press("Escape")  # it is written down
    expect(page.locator(".wb-draft").first).to_be_visible()
    page.keyboard.press("e")
    without_pauses(kept)
    page.evaluate("window.addEventListener('pagehide', (event) => event.stopImmediatePropagation(), true)")  # a crash
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("Edit")
    restarted(kept)
    expect(page.locator(".wb-draft")).to_have_count(0)


def test_drafts_live_as_long_as_a_page_that_may_store_nothing(kept: Harness) -> None:
    page = kept.page
    page.evaluate("() => { Storage.prototype.setItem = Storage.prototype.getItem = () => { throw new Error() } }")
    begun(kept, "tanh")
    page.keyboard.press("Escape")
    assert isinstance(kept.screen, Workbench)
    first, x = kept.screen.session, relay.var("x", shape=(3, 4))
    kept.screen.session = wb.open(relay.Function([x], relay.exp(x)))
    kept.push()
    expect(page.locator(".wb-draft")).to_have_count(0)
    kept.screen.session = first
    kept.push()
    expect(page.locator(".wb-draft").first).to_be_visible()  # this program's steps are shown again
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.get_by_role("button", name="Edit the draft").click()
    expect(page.locator(".cm-content")).to_contain_text("R.tanh")


def test_a_draft_outlives_a_change_of_the_program_and_says_so(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="SimplifyInference").click()
    page.keyboard.press("e")
    typed(harness, "nn.relu", "tanh")
    page.keyboard.press("Escape")
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.keyboard.press("e")
    typed(harness, "nn.relu", "sigmoid")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("Edit")
    harness.push()
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="SimplifyInference").click()
    page.get_by_role("button", name="Edit the draft").click()
    outdated = page.get_by_role("status").filter(has_text="earlier program")
    expect(outdated).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("R.tanh")
    typed(harness, "R.tanh", "R.exp")
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.locator(".cm-content")).to_contain_text("R.exp")
    expect(outdated).to_be_visible()


def test_a_cell_that_changes_the_session_closes_no_editor(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.keyboard.press("e")
    typed(harness, "nn.relu", "tanh")
    stepper.session = stepper.session.rerun(disabled_pass=["FuseOps"])
    harness.push()
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps")).to_have_count(0)
    expect(page.locator(".cm-content")).to_contain_text("R.tanh")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("Edit")


def test_after_each_change_the_keys_work_on(harness: Harness, stepper: Workbench) -> None:
    """The focus is on the list again: undo, arrows and edit need no click."""
    page = harness.page
    steps = page.get_by_role("listbox", name="Steps")
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.keyboard.press("e")
    typed(harness, "nn.relu", "tanh")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="Edit")).to_have_count(1)
    harness.push()
    expect(steps).to_be_focused()
    page.keyboard.press("Control+z")
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="Edit")).to_have_count(0)
    harness.push()
    expect(steps).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("SimplifyInference")
    page.get_by_role("button", name="Leave out").click()
    expect(steps.get_by_role("option", name="SimplifyInference")).to_contain_text("left out")
    harness.push()
    expect(steps).to_be_focused()
    page.keyboard.press("x")
    expect(steps.get_by_role("option", name="SimplifyInference")).not_to_contain_text("left out")
    harness.push()
    expect(steps).to_be_focused()


def test_keys_typed_into_the_text_are_no_commands(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    page.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("e")
    page.locator(".cm-content").click()
    page.keyboard.type("c d x ? ]")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".cm-content")).to_contain_text("c d x ? ]")
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option")).to_have_count(len(stepper.session))


def test_passes_are_left_out_and_added(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    count = len(stepper.session)
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    page.get_by_role("button", name="Leave out").click()
    fuse = page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps")
    expect(fuse).to_contain_text("left out")
    assert len(stepper.session) == count - 1
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.get_by_role("button", name="Add a pass").click()
    page.get_by_role("combobox", name="Pass to add").select_option("FuseOps")
    page.get_by_role("form", name="Arguments of FuseOps").get_by_role("button", name="Apply").click()
    expect(fuse).to_have_count(2)
    assert stepper.session.labels[:3] == ("Import", "InferType", "FuseOps")
    expect(page.locator(".wb-last-call")).to_have_text("s = s.rerun(insert={'InferType': 'FuseOps'})")
    page.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("Control+z")
    expect(fuse).to_have_count(1)
    expect(fuse).to_contain_text("left out")
    page.keyboard.press("Control+z")
    expect(fuse).not_to_contain_text("left out")
    assert len(stepper.session) == count


def listed(harness: Harness) -> list[str]:
    """The names in the list of steps, those left out with a minus; the selected one in brackets."""
    options = harness.page.get_by_role("listbox", name="Steps").get_by_role("option")
    return options.evaluate_all("""all => all.map((one) => {
      const [name, out] = [one.querySelector(".wb-name").textContent, one.textContent.includes("left out")];
      const told = (out ? "-" : "") + name;
      return one.getAttribute("aria-selected") === "true" ? `[${told}]` : told;
    })""")


def test_what_is_left_out_stays_where_it_was_and_is_switched_on_again(harness: Harness, stepper: Workbench) -> None:
    """The selection stays on it, and a word says it, not only a line through its name."""
    page = harness.page
    steps = page.get_by_role("listbox", name="Steps")
    names = [name.strip("[]") for name in listed(harness)]
    place = names.index("FoldConstant")
    steps.get_by_role("option", name="FoldConstant").first.click()
    page.get_by_role("button", name="Leave out").click()
    out = steps.get_by_role("option").nth(place)
    expect(out).to_have_accessible_name(re.compile(r"FoldConstant \(left out\)"))
    expect(out).to_have_attribute("aria-selected", "true")
    expect(out.locator("s")).to_have_text("FoldConstant")
    harness.push()
    assert len(listed(harness)) == len(names) and listed(harness)[place] == "[-FoldConstant]"
    detail = page.get_by_role("region", name="The selected step")
    expect(detail).to_contain_text("left out: the program goes past it")
    expect(detail.get_by_role("button", name="Edit")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(out).to_have_attribute("aria-selected", "true")
    for key in ("e", "a"):
        page.keyboard.press(key)  # there is nothing of it to be edited
    expect(page.get_by_role("alert")).to_have_count(0)
    detail.get_by_role("button", name="Switch on").click()
    expect(out).not_to_contain_text("left out")
    harness.push()
    expect(out).to_have_attribute("aria-selected", "true")
    expect(steps).to_be_focused()
    assert [name.strip("[]") for name in listed(harness)] == names
    expect(page.locator(".wb-last-call")).to_have_text("s = s.rerun(insert={'SimplifyInference': 'FoldConstant'})")
    expect(page.locator(".wb-diff")).to_be_visible()


def test_several_left_out_ones_keep_their_places_through_undo_and_passes_put_in(
    harness: Harness, stepper: Workbench
) -> None:
    page = harness.page
    steps = page.get_by_role("listbox", name="Steps")
    begin = [name.strip("[]") for name in listed(harness)]
    first = begin.index("SimplifyInference")

    def after(names: list[str]) -> None:
        expect(steps.get_by_role("option", selected=True)).to_have_count(1)
        harness.push()
        harness.wait_until(lambda: listed(harness)[first - 1 : first - 1 + len(names)] == names, str(names))

    steps.get_by_role("option", name="SimplifyInference").click()
    page.keyboard.press("x")
    after(["InferType", "[-SimplifyInference]", "FoldConstant"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    after(["InferType", "-SimplifyInference", "[-FoldConstant]"])
    steps.get_by_role("option", name="InferType").click()
    page.get_by_role("button", name="Add a pass").click()
    page.get_by_role("combobox", name="Pass to add").select_option("FastMath")
    after(["InferType", "[FastMath]", "-SimplifyInference", "-FoldConstant"])
    page.keyboard.press("x")
    after(["InferType", "[-FastMath]", "-SimplifyInference", "-FoldConstant"])
    assert stepper.session.labels[:2] == ("Import", "InferType") and "FastMath" not in stepper.session.labels
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    after(["InferType", "-FastMath", "[SimplifyInference]", "-FoldConstant"])
    page.keyboard.press("Control+z")
    after(["InferType", "-FastMath", "[-SimplifyInference]", "-FoldConstant"])
    page.keyboard.press("Control+z")
    after(["InferType", "[FastMath]", "-SimplifyInference", "-FoldConstant"])
    page.keyboard.press("Control+Shift+z")
    after(["InferType", "[-FastMath]", "-SimplifyInference", "-FoldConstant"])
    page.keyboard.press("Control+z")
    after(["InferType", "[FastMath]", "-SimplifyInference", "-FoldConstant"])
    page.keyboard.press("Control+z")
    after(["[InferType]", "-SimplifyInference", "-FoldConstant"])
    page.keyboard.press("Control+z")
    after(["InferType", "-SimplifyInference", "[FoldConstant]"])
    page.keyboard.press("Control+z")
    after(["InferType", "[SimplifyInference]", "FoldConstant"])


def test_the_changes_of_a_pass_come_after_its_options_were_changed(harness: Harness) -> None:
    """The list of steps was asked for twice at once, and what waited for the first answer stayed undone."""
    values: relay.Expr = relay.var("x", shape=(3, 4), dtype="float32")
    x = values
    for _ in range(15):
        values = relay.nn.relu(relay.add(values, relay.const(np.float32(1))))
    screen = Workbench(wb.open(relay.Function([x], values)))
    harness.show(screen)
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    detail = page.get_by_role("region", name="The selected step")
    expect(detail.locator(".wb-chip", has_text="well-formed")).to_be_visible()
    page.get_by_role("button", name="Options").click()
    form = page.get_by_role("form", name="Arguments of FuseOps")
    form.get_by_label("fuse_opt_level").fill("0")
    form.get_by_role("button", name="Apply").click()
    harness.push()
    expect(page.locator(".wb-last-call")).to_contain_text("fuse_opt_level")
    expect(detail.locator(".wb-diff")).to_be_visible()
    expect(detail.locator(".wb-chip", has_text="well-formed")).to_be_visible()


def test_a_step_that_cannot_be_left_out_says_why(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="Import").click()
    expect(page.get_by_role("button", name="Leave out")).to_have_count(0)
    page.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("x")
    expect(page.get_by_role("alert")).to_contain_text("cannot be left out")


def test_markup_in_an_edited_text_stays_text(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    page.get_by_role("listbox", name="Steps").focus()
    page.keyboard.press("e")
    typed(harness, "nn.relu", "<img src=x onerror='window.hit=1'>")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.evaluate("window.hit") is None
    assert page.locator(".wb img").count() == 0


def test_two_changes_are_undone_however_fast_it_is_asked_for(harness: Harness, stepper: Workbench) -> None:
    page = harness.page
    before = list(stepper.session.labels)
    for _ in range(2):
        page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
        page.get_by_role("button", name="Add a pass").click()
        page.get_by_role("combobox", name="Pass to add").select_option("FastMath")
        expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("FastMath")
    assert len(stepper.session.labels) == len(before) + 2
    for key in ("Control+z", "Control+z", "Control+Shift+z", "Control+z"):
        page.keyboard.press(key)
    harness.wait_until(lambda: list(stepper.session.labels) == before, "both are undone")
    assert page.locator(".wb-problem").all_inner_texts() == []


def test_what_does_not_apply_any_more_is_a_problem_and_is_dropped_with_a_button(harness: Harness) -> None:
    screen = in_conflict()
    _, told = applicable_plan(screen.session)
    assert told
    harness.show(screen)
    page = harness.page
    page.get_by_role("button", name="Branches").click()
    page.get_by_role("button", name="Problems (1)").click()
    strip = page.get_by_role("contentinfo", name="Python, checks and problems")
    expect(strip).to_contain_text("E-EDIT-REBASE")
    losses = strip.get_by_role("list", name="What does not apply").get_by_role("listitem")
    expect(losses).to_have_text([f"{one.step}, {one.function}: {one.where}: {one.why}" for one in told])
    strip.get_by_role("button", name="Drop what does not apply").click()
    harness.push()
    expect(page.get_by_role("button", name="Problems")).to_be_disabled()
    expect(page.get_by_role("button", name="Branches")).to_have_attribute("aria-expanded", "true")
    assert all(step.error is None for step in screen.session.steps)
