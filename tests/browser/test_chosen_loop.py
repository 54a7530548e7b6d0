"""Which loop is chosen after a primitive, where another nest has loops of the same names."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Harness
from workbench import te
from workbench.schedule import Schedule
from workbench.ui.schedule import ScheduleEditor


def two_nests() -> Schedule:
    """C is a product and D reads it: loops i, j, k and, of others, i, j."""
    a, b = te.placeholder((12, 10), name="A"), te.placeholder((10, 8), name="B")
    k = te.reduce_axis((0, 10), name="k")
    c = te.compute((12, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((12, 8), lambda i, j: c[i, j] * 2 + 1, name="D")
    return Schedule(te.create_prim_func([a, b, d]))


@pytest.mark.parametrize(
    ("block", "depth", "primitive", "arguments", "name", "its_block"),
    [
        ("C", 1, "split", {"factors": [None, 4]}, "j_0", "C"),
        ("C", 0, "split", {"factors": [None, 4]}, "i_0", "C"),
        ("D", 1, "split", {"factors": [None, 4]}, "j_0", "D"),
        ("C", 0, "fuse", {"loops": ["l:C:0", "l:C:1"]}, "i_j_fused", "C"),
        ("D", 0, "fuse", {"loops": ["l:D:0", "l:D:1"]}, "i_j_fused", "D"),
        ("C", 1, "loop_partition", {"factors": [2]}, "j_0", "C"),
        ("C", 1, "reorder", {"ordered_loops": ["l:C:1", "l:C:0"]}, "j", "C"),
        ("C", 1, "parallel", {}, "j", "C"),
        ("C", 1, "unroll", {}, "j", "C"),
        ("C", 0, "merge", {"loops": ["l:C:0", "l:D:0"]}, "i", "C"),
        ("C", 1, "add_unit_loop", {}, "j", "C"),
        ("C", 2, "rfactor", {"factor_axis": 0}, "k", "C_rf"),
    ],
)
def test_the_chosen_loop_is_followed_in_its_own_nest(
    harness: Harness, block: str, depth: int, primitive: str, arguments: dict[str, Any], name: str, its_block: str
) -> None:
    """The loop of the same name in another nest was chosen, and the next primitive went there."""
    editor = ScheduleEditor(two_nests())
    harness.show(editor)
    page = harness.page
    page.locator(f"[id$='-node-l:{block}:{depth}'] > .wb-box-head").click()
    commands = editor._commands  # what a form asks for, with arguments that not every form shows
    commands._do({}, lambda: commands._model.apply(primitive, f"l:{block}:{depth}", arguments))
    harness.page.evaluate("model.deliver({content: {v: 1, event: 'changed', args: {}}, buffers: []})")
    chosen = page.locator("[role=treeitem][aria-selected=true]")
    expect(page.locator(".wb-last").first).to_contain_text(f"sch.{primitive}(")
    expect(chosen.locator("> .wb-box-head .wb-iter")).to_have_text(name)
    expect(chosen).to_have_attribute("id", re.compile(f"-node-l:{its_block}:"))


def test_what_is_done_after_a_split_is_done_to_its_outer_loop(harness: Harness) -> None:
    editor = ScheduleEditor(two_nests())
    harness.show(editor)
    page = harness.page
    page.locator("[id$='-node-l:C:1'] > .wb-box-head").click()
    page.get_by_role("button", name="split", exact=True).click()
    page.get_by_role("textbox", name="factors").fill("auto, 4")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("region", name="Primitives")).to_contain_text("For loop j_0")
    page.get_by_role("button", name="parallel", exact=True).click()
    expect(page.locator("[id$='-node-l:C:1'] > .wb-box-head")).to_contain_text("parallel")
    assert "get_block('D')" not in editor.code
