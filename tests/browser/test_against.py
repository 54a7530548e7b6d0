"""Beside the profile of a run: the same by a peer, as Python tells it, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Harness
from tests.driver.programs import small_session
from workbench.core.errors import WorkbenchError
from workbench.driver.against import Against, OwnCall, PeerCall, grouped
from workbench.driver.session import Session
from workbench.ui.workbench import Workbench


def planted(name: str) -> Against:
    """Where a node of this name loses a millisecond."""
    ours, theirs = [OwnCall("fused_conv2d", frozenset((0,)), 2e-3)], [PeerCall("Conv", frozenset((0,)), 1e-3)]
    rows, *_ = grouped(ours, theirs, [name])
    return Against(rows, 2e-3, 1e-3, 1, 3, "onnxruntime 1.2.3", (), (), 0.0, 0.0)


def long() -> Against:
    """Of many groups, one of which is too short to tell."""
    times = [(1e-3 + number * 1e-4, 1e-3) for number in range(1, 20)] + [(1e-7, 1e-6)]
    ours = [OwnCall("fused_conv2d", frozenset((number,)), one) for number, (one, _) in enumerate(times)]
    theirs = [PeerCall("Conv", frozenset((number,)), one) for number, (_, one) in enumerate(times)]
    rows, *_ = grouped(ours, theirs, [f"Conv#{number}" for number in range(20)], (1e-6, 1e-5))
    return Against(rows, 4e-2, 2e-2, 1, 3, "onnxruntime 1.2.3", (), (), 0.0, 0.0)


def opened(harness: Harness) -> Any:
    harness.show(Workbench(small_session()))
    harness.page.get_by_role("button", name="Run", exact=True).click()
    return harness.page.get_by_role("group", name="Run")


def test_the_table_is_drawn_as_text_beside_the_profile(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "Conv#0 ('<img src=x onerror=alert(1)>')"
    monkeypatch.setattr(Session, "against", lambda self, inputs: planted(hostile))
    pane = opened(harness)
    pane.get_by_role("button", name="Against onnxruntime").click()
    table = pane.get_by_role("table")
    expect(table).to_contain_text("<img src=x onerror=")
    expect(table.get_by_role("row")).to_have_count(2)
    expect(table.get_by_role("cell").last).to_have_text("+100 %")
    expect(pane).to_contain_text("ratio 2.00 (1 thread")
    expect(pane.locator("img")).to_have_count(0)
    expect(pane.locator(".wb-beside table")).to_have_count(1)
    expect(pane.locator(".wb-roof")).to_have_count(0)
    pane.get_by_role("button", name="Run it").click()
    expect(pane.get_by_role("listbox", name="Kernel calls")).to_be_visible(timeout=20_000)
    expect(table).to_be_visible()


@pytest.mark.parametrize("width", [1500, 1000])
def test_the_table_and_the_calls_have_the_room_there_is(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """The table had 45 % of the pane above the calls, four rows of it."""
    harness.page.set_viewport_size({"width": width, "height": 1000})
    monkeypatch.setattr(Session, "against", lambda self, inputs: long())
    pane = opened(harness)
    pane.get_by_role("button", name="Against onnxruntime").click()
    table = pane.get_by_role("region", name="Against onnxruntime")
    expect(table.get_by_role("row")).to_have_count(21)
    expect(table).to_contain_text("too short to tell: 1 group")
    pane.get_by_role("button", name="Run it").click()
    calls = pane.get_by_role("listbox", name="Kernel calls")
    expect(calls).to_be_visible(timeout=20_000)
    expect(pane.get_by_role("status")).to_contain_text("that an empty call takes; a whole run:")
    strip, one, other = (part.bounding_box() for part in (pane, table, calls))
    assert one["x"] + one["width"] <= other["x"], f"they stand beside each other: {one}, {other}"
    for name, box in (("table", one), ("calls", other)):
        assert box["height"] >= 0.75 * strip["height"], f"the {name} has {box} of {strip}"
    assert one["height"] >= 200, f"ten rows of the table at least: {one}"


def test_each_call_has_its_share_and_its_rates_where_there_is_room(harness: Harness) -> None:
    harness.page.set_viewport_size({"width": 1500, "height": 1000})
    pane = opened(harness)
    pane.get_by_role("button", name="Run it").click()
    call = pane.get_by_role("option").filter(has_text="fused_nn_conv2d").first
    expect(call).to_contain_text(re.compile(r"\d %.*\d GFLOP/s.*\d GB/s"), timeout=20_000)
    expect(call.locator(".wb-rate").nth(1)).to_be_visible()
    harness.page.set_viewport_size({"width": 600, "height": 1000})
    expect(call.locator(".wb-rate").nth(1)).to_be_hidden()


def test_without_the_peer_it_is_said_how_to_get_it(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: Session, inputs: Mapping[str, Any]) -> Against:
        raise WorkbenchError("E-AGAINST-PEER", "onnxruntime is not installed", fix="pip install onnxruntime")

    monkeypatch.setattr(Session, "against", absent)
    pane = opened(harness)
    pane.get_by_role("button", name="Against onnxruntime").click()
    expect(pane.get_by_role("alert")).to_contain_text("pip install onnxruntime")
