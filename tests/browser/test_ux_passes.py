"""Rows 22 to 37 of the feature matrix on the screen of EfficientNet-lite0: stepping through passes."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.shown import Shown


def test_ux_22_the_steps_say_whether_they_changed_the_program(shown: Shown) -> None:
    shown.changes("FuseOps")
    expect(shown.step("FuseOps")).to_contain_text("changed the program")
    expect(shown.step("SimplifyExpr")).to_contain_text("changed nothing")
    steps = shown.page.get_by_role("listbox", name="Steps").get_by_role("option")
    every = steps.count()
    shown.page.keyboard.press("c")
    expect(shown.step("SimplifyExpr")).to_have_count(0)
    assert 0 < steps.count() < every
    shown.page.keyboard.press("c")
    expect(steps).to_have_count(every)


def test_ux_23_a_pass_shows_the_text_before_and_after(shown: Shown) -> None:
    shown.changes("FuseOps")
    diff = shown.pane("A").locator(".wb-diff")
    expect(diff.locator("del.wb-line", has_text="R.nn.conv2d").first).to_be_visible()
    shown.page.keyboard.press("s")
    expect(diff).to_have_class(re.compile("wb-split"))
    expect(diff.locator(".wb-half ins.wb-line", has_text="def fused_conv2d_bias_add_clip").first).to_be_visible()
    expect(diff.locator(".wb-half del.wb-line", has_text="R.nn.conv2d").first).to_be_visible()
    shown.page.keyboard.press("s")


def test_ux_24_single_rewrites_of_a_pass_are_walked_through(shown: Shown) -> None:
    shown.changes("FuseOps")
    detail = shown.pane("A").get_by_role("region", name="The selected step")
    detail.get_by_role("button", name="Next rewrite").click()
    expect(detail.locator(".wb-count")).to_have_text("rewrite 1 of 52")
    first = detail.locator("ins.wb-line").all_text_contents()
    shown.page.keyboard.press("ArrowRight")
    expect(detail.locator(".wb-count")).to_have_text("rewrite 2 of 52")
    expect(detail.locator("ins.wb-line", has_text="def fused_").first).to_be_visible()
    assert detail.locator("ins.wb-line").all_text_contents() != first
    shown.page.keyboard.press("ArrowLeft")
    shown.page.keyboard.press("ArrowLeft")
    expect(detail.locator(".wb-count")).to_contain_text("whole step")


def test_ux_25_a_rewrite_names_its_rule_with_file_and_line(shown: Shown) -> None:
    shown.changes("FuseOps")
    shown.page.keyboard.press("ArrowRight")
    rule = shown.pane("A").locator(".wb-rule")
    expect(rule.locator(".wb-rule-name")).to_have_text("fuse")
    expect(rule.locator(".wb-source")).to_have_text(re.compile(r"^fuse_ops\.py:\d+$"))
    expect(shown.pane("A").locator(".wb-why")).to_contain_text("one primitive function")
    shown.page.keyboard.press("ArrowLeft")


def test_ux_27_each_pass_and_each_rewrite_has_its_time(shown: Shown) -> None:
    shown.changes("FuseOps")
    times = shown.page.get_by_role("listbox", name="Steps").locator(".wb-is-changed .wb-time")
    assert times.count() > 3
    assert all(re.fullmatch(r"[\d.]+ (µs|ms|s)|", text) for text in times.all_text_contents())
    expect(shown.step("FuseOps").locator(".wb-time")).to_have_text(re.compile(r"^[\d.]+ (µs|ms|s)$"))
    shown.page.keyboard.press("ArrowRight")
    expect(shown.pane("A").locator(".wb-rule")).to_contain_text(re.compile(r"[\d.]+ (µs|ms)"))
    shown.page.keyboard.press("ArrowLeft")


def test_ux_29_a_pass_is_left_out_and_another_put_in(shown: Shown) -> None:
    shown.changes("EliminateCommonSubexpr")
    shown.button("Leave out").click()
    expect(shown.step("EliminateCommonSubexpr")).to_have_count(0)
    shown.harness.push()
    shown.step("SimplifyExpr").click()
    shown.button("Add a pass").click()
    shown.page.get_by_role("combobox", name="Pass to add").select_option("FastMath")
    expect(shown.step("FastMath")).to_be_visible()
    assert shown.screen.session.labels[5] == "FastMath"
    shown.harness.push()
    shown.button("Undo", exact=True).click()
    expect(shown.step("FastMath")).to_have_count(0)
    shown.harness.push()
    shown.button("Undo", exact=True).click()
    expect(shown.step("EliminateCommonSubexpr")).to_be_visible()
    shown.harness.push()
    shown.back()


def test_ux_34_steps_and_rewrites_are_walked_through_by_keys(shown: Shown) -> None:
    shown.changes("PackWeights")
    name = shown.pane("A").locator(".wb-step-name")
    shown.page.keyboard.press("]")
    expect(name).to_have_text("FoldConstant#3")
    shown.page.keyboard.press("]")
    expect(name).to_have_text("FuseOps")
    shown.page.keyboard.press("ArrowRight")
    expect(shown.pane("A").locator(".wb-count")).to_have_text("rewrite 1 of 52")
    shown.page.keyboard.press("[")
    expect(name).to_have_text("FoldConstant#3")
    shown.page.get_by_role("listbox", name="Steps").focus()
    shown.page.keyboard.press("ArrowUp")
    expect(name).to_have_text("PackWeights")


def test_ux_35_steps_are_found_by_the_name_of_a_pass_or_of_a_rule(shown: Shown) -> None:
    shown.changes("FuseOps")
    steps = shown.page.get_by_role("listbox", name="Steps").get_by_role("option")
    every = steps.count()
    field, found = shown.page.get_by_label("Find steps"), shown.page.get_by_role("search").get_by_role("status")
    field.fill("constant")
    expect(found).to_have_text(f"3 of {every} steps, 72 rewrites")
    assert [name.split(" ")[0] for name in steps.locator(".wb-name").all_text_contents()] == [
        "FoldConstant", "FoldConstant#2", "FoldConstant#3",
    ]  # fmt: skip
    rule = shown.screen.session["PackWeights"].rewrites[0].rule.name
    field.fill(rule.upper())
    expect(found).to_have_text(f"1 of {every} steps, 34 rewrites")
    expect(shown.step("PackWeights")).to_be_visible()
    field.press("Enter")
    expect(shown.pane("A").locator(".wb-step-name")).to_have_text("PackWeights")
    field.fill("no such pass")
    expect(found).to_have_text(f"0 of {every} steps")
    field.press("Escape")
    expect(field).to_have_value("")
    expect(steps).to_have_count(every)
    expect(shown.pane("A").locator(".wb-step-name")).to_have_text("PackWeights")


def test_ux_28_what_a_step_changed_is_outlined_in_the_graph(shown: Shown) -> None:
    shown.layers("Relay")
    shown.turn("Graph")
    after = shown.pane("A").get_by_role("combobox", name="The graph after")
    after.select_option("PackWeights")
    outlined = shown.pane("A").locator(".wb-box.wb-changed-box")
    expect(outlined.first).to_be_visible(timeout=30_000)
    expect(shown.pane("A").get_by_role("status").filter(has_text="changed call")).to_be_visible()
    after.select_option("")
    expect(outlined).to_have_count(0, timeout=30_000)


def test_ux_32_each_step_says_how_many_operations_it_left(shown: Shown) -> None:
    shown.changes("FuseOps")
    for label in ("FoldConstant", "FuseOps"):
        shown.step(label).click()
        summary = next(one for one in shown.screen._steps.view.steps if one.name == label)
        assert summary.ops_before != summary.ops_after
        head = shown.pane("A").get_by_role("region", name="The selected step")
        expect(head).to_contain_text(f"{summary.ops_before} → {summary.ops_after} ops")
        delta = summary.ops_after - summary.ops_before
        expect(shown.step(label)).to_contain_text(f"{'+' if delta > 0 else '−'}{abs(delta)}")
