"""The pipeline stepper in a real browser: mouse, keys, size, two-way selection."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.fakes import IMPORTED, FakePipeline, Pass, Rewrite
from tests.browser.harness import Harness
from workbench.ui.pipeline import PipelineStepper
from workbench.ui.protocol import JSON_LIMIT


def opened(harness: Harness, model: FakePipeline | None = None) -> PipelineStepper:
    stepper = PipelineStepper(model or FakePipeline())
    harness.show(stepper)
    expect(harness.page.get_by_role("option").first).to_be_visible()
    return stepper


def test_steps_are_listed_with_marks_and_times(harness: Harness) -> None:
    opened(harness)
    options = harness.page.get_by_role("option")
    expect(options).to_have_count(12)
    expect(harness.page.get_by_role("option", name="SimplifyExpr (changed the program)")).to_contain_text("2.4 ms")
    expect(harness.page.get_by_role("option", name="FoldConstant (changed nothing)")).to_be_visible()
    expect(harness.page.get_by_role("option", name="emit_llvm (failed)")).to_be_visible()


def test_a_click_shows_the_difference_and_tells_the_kernel(harness: Harness) -> None:
    stepper = opened(harness)
    harness.page.get_by_role("option", name="SimplifyExpr").click()
    expect(harness.page.locator("del.wb-line").first).to_contain_text("R.add(v5, R.const(0.0))")
    expect(harness.page.locator("ins.wb-line").first).to_contain_text("v6 = v5")
    harness.wait_until(lambda: stepper.selected_step == "s3", "the kernel knows the selected step")


def test_arrow_keys_walk_the_rewrites(harness: Harness) -> None:
    stepper = opened(harness)
    page = harness.page
    page.get_by_role("option", name="SimplifyInference").click()
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".wb-rule-name")).to_have_text("batch_norm_to_scale_and_shift")
    expect(page.locator(".wb-source")).to_have_text("simplify_inference.py:58")
    expect(page.locator(".wb-why")).to_contain_text("one scale and one shift")
    expect(page.locator("del.wb-line")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("del.wb-line")).to_contain_text("b0_g")
    harness.wait_until(lambda: stepper.selected_rewrite == 1, "the kernel knows the rewrite")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("del.wb-line")).to_have_count(3)
    expect(page.locator(".wb-count")).to_contain_text("whole step")


def test_keys_for_steps_filter_columns_and_help(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    page.get_by_role("listbox").focus()
    selected = page.locator("[role=option][aria-selected=true]")
    expect(selected).to_contain_text("from_onnx")
    page.keyboard.press("]")
    expect(selected).to_contain_text("InferType")
    page.keyboard.press("ArrowDown")
    expect(selected).to_contain_text("SimplifyInference")
    page.keyboard.press("[")
    expect(selected).to_contain_text("InferType")
    page.keyboard.press("]")
    page.keyboard.press("c")
    expect(page.get_by_role("option")).to_have_count(6)
    page.keyboard.press("]")
    page.keyboard.press("]")
    expect(selected).to_contain_text("DeadCodeElimination")
    page.keyboard.press("d")
    expect(page.locator(".wb-diff.wb-split")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_every_key_has_a_button(harness: Harness) -> None:
    stepper = opened(harness)
    page = harness.page
    page.get_by_role("button", name="Next step").click()
    page.get_by_role("button", name="Next step").click()
    page.get_by_role("button", name="Next rewrite").click()
    harness.wait_until(lambda: (stepper.selected_step, stepper.selected_rewrite) == ("s2", 0), "both chosen")
    page.get_by_role("button", name="Previous rewrite").click()
    page.get_by_role("button", name="Previous step").click()
    page.get_by_role("button", name="Only changed").click()
    page.get_by_role("button", name="Side by side").click()
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    harness.wait_until(lambda: (stepper.selected_step, stepper.selected_rewrite) == ("s1", None), "back")


def test_escape_gives_the_focus_back_and_keys_outside_do_nothing(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    page.get_by_role("listbox").focus()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "cell"
    before = page.locator("[role=option][aria-selected=true]").inner_text()
    page.locator("#outside").focus()
    for key in ("ArrowDown", "]", "c", "d", "?"):
        page.keyboard.press(key)
    assert page.locator("[role=option][aria-selected=true]").inner_text() == before
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_keys_do_not_leak_to_the_notebook(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    assert page.locator(".wb").get_attribute("data-lm-suppress-shortcuts") == "true"
    page.evaluate("void (window.leaked = [], document.addEventListener('keydown', e => window.leaked.push(e.key)))")
    page.get_by_role("listbox").focus()
    for key in ("c", "d", "]", "ArrowRight", "Escape"):
        page.keyboard.press(key)
    assert page.evaluate("window.leaked") == []


def test_stepping_among_neighbours_needs_no_round_trip(harness: Harness) -> None:
    model = FakePipeline()
    opened(harness, model)
    harness.wait_until(lambda: "steps" in harness.operations(), "neighbours came")
    harness.page.wait_for_timeout(100)
    harness.asked.clear()
    harness.page.get_by_role("listbox").focus()
    for _ in range(8):
        harness.page.keyboard.press("]")
    expect(harness.page.locator("[role=option][aria-selected=true]")).to_contain_text("lower")
    assert set(harness.operations()) <= {"select"}


def test_a_failed_step_shows_its_error(harness: Harness) -> None:
    opened(harness)
    harness.page.get_by_role("option", name="emit_llvm").click()
    alert = harness.page.get_by_role("alert")
    expect(alert).to_contain_text("E-CODEGEN-INTRINSIC")
    expect(alert).to_contain_text("disable FastMath")


def test_the_kernel_selects_and_changes_what_is_shown(harness: Harness) -> None:
    stepper = opened(harness)
    stepper.select("DeadCodeElimination", 1)
    harness.push()
    expect(harness.page.locator(".wb-rule-name")).to_have_text("inline_alias")
    stepper.model = FakePipeline([Pass("Only", "tir", 1.0)], title="another")
    harness.push()
    expect(harness.page.get_by_role("option")).to_have_count(1)
    expect(harness.page.locator(".wb-title")).to_have_text("another")


def test_a_long_program_is_windowed_and_folds_open(harness: Harness) -> None:
    lines = [f"    v{i} = R.nn.relu(v{i - 1})  # {i}" for i in range(100_000)]
    one = Rewrite("rename", "rename.py:1", "v50000", "v50000 = R.nn.relu", "w = R.nn.relu", "a test")
    model = FakePipeline([Pass("Rename", "relay", 4.0, (one,))], "\n".join(lines))
    opened(harness, model)
    page = harness.page
    fold = page.get_by_role("button", name="unchanged line").first
    expect(fold).to_be_visible()
    assert page.evaluate("Math.max(...window.traffic.received)") < 4 * JSON_LIMIT
    assert page.locator(".wb-row").count() < 100
    fold.click()
    expect(page.locator(".wb-row")).not_to_have_count(2)
    assert page.locator(".wb-row").count() < 400


def test_detaching_and_drawing_again_keeps_the_state(harness: Harness) -> None:
    opened(harness)
    page = harness.page
    page.get_by_role("option", name="FuseOps").click()
    page.evaluate("void window.cleanup()")
    expect(page.locator(".wb")).to_have_count(0)
    asked = harness.asked_so_far()
    page.evaluate("window.draw()")
    expect(page.locator("[role=option][aria-selected=true]")).to_contain_text("FuseOps")
    assert len(harness.asked) - asked <= 1


def test_junk_from_the_kernel_is_ignored(harness: Harness) -> None:
    opened(harness)
    for junk in (
        None,
        5,
        {},
        {"v": 2},
        {"v": 1, "id": "x"},
        {"v": 1, "id": 3, "ok": True},
        {"v": 1, "event": "?"},
    ):
        harness.page.evaluate("m => window.model.deliver({content: m, buffers: []})", junk)
    expect(harness.page.get_by_role("option")).to_have_count(12)


def test_markup_in_a_program_stays_text(harness: Harness) -> None:
    payload = "<img src=x onerror='window.hit=1'><script>window.hit=1</script>"
    rewrite = Rewrite(payload, payload, payload, "v14 = R", f"v14 = {payload} R", payload)
    model = FakePipeline([Pass(payload, "relay", 1.0, (rewrite,), group=payload)], IMPORTED, title=payload)
    opened(harness, model)
    harness.page.get_by_role("button", name="Next rewrite").click()
    expect(harness.page.locator(".wb-rule-name")).to_have_text(payload)
    assert harness.page.evaluate("window.hit") is None
    assert harness.page.locator(".wb img, .wb script").count() == 0
