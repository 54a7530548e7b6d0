"""Rows 22 to 37 of the feature matrix on the screen of EfficientNet-lite0: stepping through passes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.shown import Shown
from tests.driver.bugs import broken
from workbench import relay
from workbench.core.module import IRModule
from workbench.core.node import map_children
from workbench.core.rewrite import RuleTable
from workbench.core.transform import PASSES
from workbench.relay.ir import expr as r
from workbench.relay.patterns import any_, op
from workbench.relay.transforms.rules import apply_rules


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
    every = len(shown.screen.session["FuseOps"].rewrites)
    assert every > 50
    expect(detail.locator(".wb-count")).to_have_text(f"rewrite 1 of {every}")
    first = detail.locator("ins.wb-line").all_text_contents()
    shown.page.keyboard.press("ArrowRight")
    expect(detail.locator(".wb-count")).to_have_text(f"rewrite 2 of {every}")
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
    told = times.all_text_contents()
    assert [text for text in told if not re.fullmatch(r"[\d.]+ (µs|ms|s)", text)] == [], told
    expect(shown.step("FuseOps").locator(".wb-time")).to_have_text(re.compile(r"^[\d.]+ (µs|ms|s)$"))
    bar, time = (shown.step("FuseOps").locator(part).bounding_box() for part in (".wb-bar", ".wb-time"))
    assert bar is not None and time is not None and bar["height"] <= 2 and bar["y"] > time["y"] + time["height"] / 2
    shown.page.keyboard.press("ArrowRight")
    expect(shown.pane("A").locator(".wb-rule")).to_contain_text(re.compile(r"[\d.]+ (µs|ms)"))
    shown.page.keyboard.press("ArrowLeft")


def test_ux_29_a_pass_is_left_out_and_another_put_in(shown: Shown) -> None:
    shown.changes("EliminateCommonSubexpr")
    shown.button("Leave out").click()
    expect(shown.step("EliminateCommonSubexpr")).to_contain_text("left out")
    expect(shown.step("EliminateCommonSubexpr")).to_have_attribute("aria-selected", "true")
    assert "EliminateCommonSubexpr" not in shown.screen.session.labels
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
    expect(shown.step("EliminateCommonSubexpr")).not_to_contain_text("left out")
    shown.harness.push()
    shown.back()


@pytest.mark.nightly
def test_ux_31_the_options_of_a_pass_are_a_form(shown: Shown) -> None:
    """Of a pass in the list, and of one that is put in; the Python does the same, undo takes it back."""
    shown.changes("FuseOps")
    kernels = len(shown.screen.session.kernels)
    shown.button("Options").click()
    form = shown.page.get_by_role("form", name="Arguments of FuseOps")
    expect(form.get_by_label("fuse_opt_level")).to_have_value("-1")
    form.get_by_label("fuse_opt_level").fill("0")
    form.get_by_role("button", name="Apply").click()
    told = "s = s.rerun(replace={'FuseOps': PASSES['FuseOps'](fuse_opt_level=0)})"
    expect(shown.page.locator(".wb-last-call")).to_have_text(told)
    assert len(shown.screen.session.kernels) > kernels, "nothing is fused any more"
    shown.harness.push()
    shown.button("Undo", exact=True).click()
    shown.harness.push()
    assert len(shown.screen.session.kernels) == kernels

    shown.changes("SimplifyExpr")
    shown.button("Add a pass").click()
    shown.page.get_by_role("combobox", name="Pass to add").select_option("SimplifyFCTranspose")
    form = shown.page.get_by_role("form", name="Arguments of SimplifyFCTranspose")
    form.get_by_role("button", name="Apply").click()
    expect(shown.pane("A").locator(".wb-problem")).to_contain_text("needs 'target_weight_name'")
    expect(form).to_be_visible()
    form.get_by_label("target_weight_name").fill("_fc.weight, other")
    form.get_by_role("button", name="Apply").click()
    expect(shown.step("SimplifyFCTranspose")).to_be_visible()
    assert "SimplifyFCTranspose'](target_weight_name=['_fc.weight', 'other'])" in shown.screen.session.to_python()
    shown.harness.push()
    shown.step("InferType").click()
    shown.button("Options").click()
    expect(shown.pane("A").locator(".wb-pass-form")).to_contain_text("InferType has no options.")
    shown.button("Add a pass").click()  # one form at a time
    expect(shown.page.get_by_role("combobox", name="Pass to add")).to_be_visible()
    expect(shown.pane("A").get_by_text("InferType has no options.")).to_have_count(0)
    shown.button("Options").click()
    expect(shown.page.get_by_role("combobox", name="Pass to add")).to_have_count(0)
    shown.back()


def test_ux_33_rules_that_undo_each_other_end_and_are_named(shown: Shown) -> None:
    """A user's pass that would rewrite for ever: its step fails and names the rules; the steps before can be read."""
    rules = RuleTable("circles")

    @rules.rule("to-relu6", op("clip", any_("x")))
    def to_relu6(m: Any) -> Any:
        return relay.nn.leaky_relu(m["x"], 0.5)

    @rules.rule("back-to-clip", op("nn.leaky_relu", any_("x")))
    def back_to_clip(m: Any) -> Any:
        return relay.clip(m["x"], 0.0, 6.0)

    @relay.transform.function_pass(opt_level=0, name="Circles")
    def Circles(function: Any, mod: Any, ctx: Any) -> Any:
        return apply_rules(function, rules)

    try:
        shown.screen.session = shown.session.rerun(insert={"FoldScaleAxis": Circles})
        shown.harness.push()
        shown.focus("A")
        shown.chip("Relay").click()
        shown.turn("Changes")
        shown.step("Circles").click()
        problem = shown.pane("A").locator(".wb-problem")
        expect(problem).to_contain_text("rules keep firing: ", timeout=30_000)
        expect(problem).to_contain_text("back-to-clip")
        expect(problem).to_contain_text("to-relu6")
        between = r"at last between (clip\(.*\) and nn\.leaky_relu|nn\.leaky_relu\(.*\) and clip)\("
        expect(problem).to_contain_text(re.compile(between))
        expect(problem).to_contain_text("must make its result smaller, or not match its own result")
        expect(shown.step("Circles")).to_contain_text("failed")
        shown.step("FoldScaleAxis").click()
        expect(shown.pane("A").locator(".wb-step-name")).to_have_text("FoldScaleAxis")
        expect(shown.pane("A").locator(".wb-problem")).to_have_count(0)
    finally:
        PASSES.remove("Circles")
        shown.back()


def test_ux_34_steps_and_rewrites_are_walked_through_by_keys(shown: Shown) -> None:
    shown.changes("PackWeights")
    name = shown.pane("A").locator(".wb-step-name")
    shown.page.keyboard.press("]")
    expect(name).to_have_text("FoldConstant#3")
    shown.page.keyboard.press("]")
    expect(name).to_have_text("FuseOps")
    shown.page.keyboard.press("ArrowRight")
    every = len(shown.screen.session["FuseOps"].rewrites)
    expect(shown.pane("A").locator(".wb-count")).to_have_text(f"rewrite 1 of {every}")
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
    session, folding = shown.screen.session, ["FoldConstant", "FoldConstant#2", "AlterOpLayout", "FoldConstant#3"]
    fired = {label: [one for one in session[label].rewrites if "constant" in one.rule.name] for label in folding}
    folding = [label for label in folding if fired[label] or "Constant" in label]  # another pass may use the rule
    expect(found).to_have_text(f"{len(folding)} of {every} steps, {sum(map(len, fired.values()))} rewrites")
    assert [name.split(" ")[0] for name in steps.locator(".wb-name").all_text_contents()] == folding
    packing = shown.screen.session["PackWeights"].rewrites
    rule = packing[0].rule.name
    field.fill(rule.upper())
    expect(found).to_have_text(f"1 of {every} steps, {len(packing)} rewrites")
    expect(shown.step("PackWeights")).to_be_visible()
    field.press("Enter")
    expect(shown.pane("A").locator(".wb-step-name")).to_have_text("PackWeights")
    field.fill("no such pass")
    expect(found).to_have_text(f"0 of {every} steps")
    field.press("Escape")
    expect(field).to_have_value("")
    expect(steps).to_have_count(every)
    expect(shown.pane("A").locator(".wb-step-name")).to_have_text("PackWeights")


@pytest.mark.nightly
def test_ux_36_the_verifier_speaks_of_every_step(shown: Shown) -> None:
    """A pass that loses a binding: the step says so and shows what is wrong, the steps around it are well-formed."""
    shown.changes("FuseOps")
    expect(shown.pane("A").locator(".wb-step-head")).to_contain_text("✓ well-formed")

    def unbound(before: IRModule, after: IRModule) -> IRModule:
        def change(node: Any) -> Any:
            return r.Var("nowhere", node.type_annotation) if isinstance(node, r.Var) else map_children(node, change)

        main: Any = after["main"]
        return after.with_functions({"main": main.replace(body=change(main.body))})

    shown.screen.session = shown.session.rerun(insert={"PackWeights": broken("DeadCodeElimination", unbound)})
    try:
        shown.harness.push()
        shown.button("Verify", exact=True).click()
        bad = shown.step("BrokenDeadCodeElimination")
        expect(bad).to_contain_text("ill-formed", timeout=30_000)
        expect(shown.step("PackWeights")).to_contain_text("well-formed")
        expect(shown.step("PackWeights")).not_to_contain_text("ill-formed")
        bad.click()
        expect(shown.pane("A").locator(".wb-ill")).to_contain_text("%nowhere")
        expect(shown.pane("A").locator(".wb-ill")).to_contain_text("check 'in-scope'")
    finally:
        shown.back()


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
        head = shown.pane("A").get_by_role("region", name="The selected step")
        if label == "FuseOps":  # as many operators as before, in functions
            fused = next(layer for layer in shown.session.layers if layer.name == "fused")
            assert summary.ops_before == summary.ops_after and summary.functions == fused.count
            expect(head).to_contain_text(f"{summary.ops_after} ops in {summary.functions} functions")
            expect(shown.chip("Fused")).to_have_attribute("title", re.compile("functions.*\\nA function is what one"))
            continue
        assert summary.ops_before != summary.ops_after
        expect(head).to_contain_text(f"{summary.ops_before} → {summary.ops_after} ops")
        delta = summary.ops_after - summary.ops_before
        expect(shown.step(label)).to_contain_text(f"{'+' if delta > 0 else '−'}{abs(delta)}")
