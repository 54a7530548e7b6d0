"""Schedules kept with their kernel: made once, told again, and copies of them are nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.work import calls
from workbench import WorkbenchError, relay
from workbench.core import origin, reliance
from workbench.lower.kept import kept
from workbench.lower.provider import default_provider
from workbench.schedule.running import replayed
from workbench.schedule.trace import Step


def some_kernel() -> Any:
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(16, 8))
    session = wb.open(wb.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))))
    return session.step("Lower").stage.lowered.kernels[0]


def told(work: Any) -> tuple[set[int], dict[Any, Any]]:
    with origin.recording() as table, reliance.recording() as recorded:
        work()
    return {id(node) for node, _ in table.items()}, dict(recorded.lookups)


def test_the_rules_are_carried_out_once_and_told_each_time() -> None:
    kernel = some_kernel()
    first = kept(kernel).default(default_provider)
    assert calls(lambda: kept(kernel).default(default_provider), default_provider) == 0
    again = kept(kernel).default(default_provider)
    assert again.state is first.state and again.fingerprint() == default_provider(kernel).fingerprint()
    nodes, lookups = told(lambda: kept(kernel).default(default_provider))
    assert id(first.func) in nodes and lookups
    fresh = some_kernel()
    assert len(told(lambda: kept(fresh).default(default_provider))[0]) == len(nodes)


def test_what_is_done_to_one_copy_is_not_done_to_others() -> None:
    kernel = some_kernel()
    first = kept(kernel).default(default_provider)
    state = first.state
    first.get_block("dense") if "dense" in first.state.tree.blocks else first.get_block(next(iter(state.tree.blocks)))
    assert first.state is not state and kept(kernel).default(default_provider).state is state
    kept(kernel).bare().get_block(next(iter(kept(kernel).bare().state.tree.blocks)))
    assert not kept(kernel).bare().trace.steps


def test_a_step_on_the_same_state_gives_the_same_state() -> None:
    kernel = some_kernel()
    start = kept(kernel).bare().state
    name = next(iter(start.tree.blocks))
    asked = Step("get_block", (("name", name),), ("b0",))
    state, results = kept(kernel).carry_out(start, asked, {})
    assert calls(lambda: kept(kernel).carry_out(start, asked, {}), replayed) == 0
    assert kept(kernel).carry_out(start, asked, {})[0] is state
    results.clear()  # the caller's list is the caller's own
    assert len(kept(kernel).carry_out(start, asked, {})[1]) == 1
    other = Step("get_block", (("name", name),), ("block",))  # the same under another name in the trace
    assert kept(kernel).carry_out(start, other, {})[0].fingerprint == state.fingerprint


def test_a_refused_step_is_refused_each_time() -> None:
    kernel = some_kernel()
    start = kept(kernel).bare().state
    wrong = Step("get_block", (("name", "nothing of that name"),), ("b0",))
    for _ in range(2):
        with pytest.raises(WorkbenchError, match="has no block"):
            kept(kernel).carry_out(start, wrong, {})


def test_a_state_of_elsewhere_is_carried_on_and_not_kept() -> None:
    kernel, start = some_kernel(), default_provider(some_kernel()).state
    asked = Step("get_block", (("name", next(iter(start.tree.blocks))),), ("b9",))
    work = lambda: kept(kernel).carry_out(start, asked, {})  # noqa: E731
    assert calls(work, replayed) == calls(work, replayed) == 1
