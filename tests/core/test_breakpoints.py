"""Breakpoints on rewrites, and budgets of rewrites."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from workbench import relay
from workbench.core import breakpoints
from workbench.core.breakpoints import Breakpoint, Stop, budget, watching
from workbench.core.errors import WorkbenchError
from workbench.core.node import post_order
from workbench.core.rewrite import RuleTable
from workbench.relay.ir import expr as e
from workbench.relay.patterns import any_, constant, op
from workbench.relay.transforms.rules import apply_rules

TABLE = RuleTable("breakpoints-test")


@TABLE.rule("add-zero", op("add", any_("x"), constant("zero", value=0)))
def add_zero(m: Any) -> Any:
    """x + 0 is x."""
    return m["x"]


@TABLE.rule("relu-twice", op("nn.relu", op("nn.relu", any_("x"))))
def relu_twice(m: Any) -> Any:
    """relu of relu is relu."""
    return relay.nn.relu(m["x"])


def chain(length: int) -> e.Function:
    """`length` times relu(x) + 0."""
    x = relay.var("x", shape=(2,), dtype="float32")
    made = x
    for _ in range(length):
        made = relay.add(relay.nn.relu(made), relay.const(np.float32(0)))
    return relay.Function([x], made)


def calls(function: e.Function) -> list[str]:
    return [node.op.name for node in post_order(function) if isinstance(node, e.Call)]


def test_stops_say_what_matched_and_which_rewrite_it_was() -> None:
    with watching(Breakpoint(rule="relu-*")) as stops:
        apply_rules(chain(3), TABLE)
    assert [stop.rule.name for stop in stops] == ["relu-twice", "relu-twice"]
    assert [stop.number for stop in stops] == [1, 3]
    assert {"x"} == set(stops[0].bound) and stops[0].before is not stops[0].after


@pytest.mark.parametrize(
    ("node", "count"), [("add", 3), ("Call", 5), (lambda node: False, 0), ("no.such", 0), (None, 5)]
)
def test_nodes_by_operator_class_and_function(node: Any, count: int) -> None:
    with watching(Breakpoint(node=node)) as stops:
        apply_rules(chain(3), TABLE)
    assert len(stops) == count


def test_a_node_itself() -> None:
    function = chain(1)
    with watching(Breakpoint(node=function.body)) as stops:
        apply_rules(function, TABLE)
    assert [stop.before for stop in stops] == [function.body]


def test_a_function_is_called_at_the_stop() -> None:
    seen: list[Stop] = []
    with watching(Breakpoint(rule="add-zero", action=seen.append)) as stops:
        apply_rules(chain(2), TABLE)
    assert seen == stops and len(seen) == 2


def test_the_debugger_opens_inside_the_rule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["p type(m['x']).__name__", "c"])
    monkeypatch.setattr(builtins, "input", lambda prompt="": next(typed, "c"))
    with watching(Breakpoint(rule="add-zero", action="debug")) as stops:
        made = apply_rules(chain(1), TABLE)
    out = capsys.readouterr().out
    assert "add_zero" in out and "'Call'" in out
    assert len(stops) == 1 and calls(made) == ["nn.relu"]


def test_stops_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakpoints, "STOPS", 2)
    point = Breakpoint(rule="add-zero")
    with watching(point) as stops:
        apply_rules(chain(5), TABLE)
    assert (len(stops), point.hits) == (2, 5)


@pytest.mark.parametrize("count", range(6))
def test_a_budget_stops_after_so_many_rewrites(count: int) -> None:
    with budget(count), watching(Breakpoint()) as stops:
        made = apply_rules(chain(3), TABLE)
    assert len(stops) == min(count, 5)
    assert len(calls(made)) == 6 - min(count, 5)


def test_outside_of_the_blocks_nothing_is_watched_or_limited() -> None:
    with watching(Breakpoint()) as stops, budget(1):
        pass
    assert calls(apply_rules(chain(3), TABLE)) == ["nn.relu"]
    assert stops == []


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(WorkbenchError) as caught:
        Breakpoint(rule="add-zero", action="explode")
    assert caught.value.code == "E-BREAK-ACTION" and "debug" in caught.value.expected
