"""Beside the profile of a run: the same by a peer, as Python tells it, in a real browser."""

from __future__ import annotations

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
    expect(pane.locator(".wb-peer table")).to_have_count(1)
    expect(pane.locator(".wb-roof")).to_have_count(0)
    pane.get_by_role("button", name="Run it").click()
    expect(pane.get_by_role("listbox", name="Kernel calls")).to_be_visible(timeout=20_000)
    expect(table).to_be_visible()


def test_without_the_peer_it_is_said_how_to_get_it(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: Session, inputs: Mapping[str, Any]) -> Against:
        raise WorkbenchError("E-AGAINST-PEER", "onnxruntime is not installed", fix="pip install onnxruntime")

    monkeypatch.setattr(Session, "against", absent)
    pane = opened(harness)
    pane.get_by_role("button", name="Against onnxruntime").click()
    expect(pane.get_by_role("alert")).to_contain_text("pip install onnxruntime")
