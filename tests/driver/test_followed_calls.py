"""Edits of kernels follow the calls that they were made of, whatever kernels these and others have now."""

from __future__ import annotations

import re
from typing import Any

import pytest

import workbench as wb
from workbench import relay
from workbench.driver.call_alignment import EntryCall, followed


def opened(*alphas: float) -> Any:
    """b = leaky(x) + z; b * leaky(z), every operator a kernel of its own."""
    x, z = relay.var("x", shape=(4, 8)), relay.var("z", shape=(4, 8))
    b = relay.add(relay.nn.leaky_relu(x, alphas[0]), z)
    body = relay.multiply(b, relay.nn.leaky_relu(z, alphas[1]))
    return wb.open(relay.Function([x, z], body)).rerun(disabled_pass=["FuseOps"])


def with_alphas(session: Any, *alphas: float) -> Any:
    parts = re.split(r"alpha=[0-9.]+", session["Import"].script())
    assert len(parts) == len(alphas) + 1
    made = "".join(f"{part}alpha={alpha}" for part, alpha in zip(parts, alphas, strict=False)) + parts[-1]
    return session.edit(relay=made, at="Import")


def by_text(session: Any, kernel: str) -> Any:
    return session.edit(tir={kernel: session.tir[kernel].script().replace("T.serial(", "T.unroll(", 1)})


def by_schedule(session: Any, kernel: str) -> Any:
    schedule = session.schedule(kernel)
    schedule.annotate(schedule.get_loops(schedule.get_block("leaky_relu"))[0], "note", 1)
    return session.edit(schedule={kernel: schedule})


KINDS = [(by_text, "Edit", "T.unroll("), (by_schedule, "Schedule", '"note"')]


def step_of(session: Any, name: str) -> Any:
    """The last step of a name: the edit below the one of the graph."""
    return session[[label for label in session.labels if label.split("#")[0] == name][-1]]


def marked(session: Any, step: Any, sign: str) -> list[bool]:
    """For either call of a leaky_relu whether its kernel has the sign."""
    entry = session["Lower"].program["main"].script()
    return [sign in step.program[name].script() for name in re.findall(r'call_tir\("(fused_nn_leaky_relu\w*)"', entry)]


@pytest.mark.parametrize(("make", "name", "sign"), KINDS)
@pytest.mark.parametrize("alphas", [(0.75, 0.375), (0.375, 0.75), (0.5, 0.75)])
def test_an_edit_of_a_shared_kernel_is_of_both_calls(make: Any, name: str, sign: str, alphas: Any) -> None:
    session = make(opened(0.375, 0.375), "fused_nn_leaky_relu")
    changed = with_alphas(session, *alphas)
    step = step_of(changed, name)
    assert step.error is None, f"{step.error}"
    assert marked(changed, step, sign) == [True, True]


@pytest.mark.parametrize(("make", "name", "sign"), KINDS)
@pytest.mark.parametrize("call", [0, 1])
def test_an_edit_of_one_call_follows_it_to_another_slope(make: Any, name: str, sign: str, call: int) -> None:
    session = make(opened(0.375, 0.75), ("fused_nn_leaky_relu", "fused_nn_leaky_relu_1")[call])
    for alphas in ((0.5, 0.75), (0.375, 0.5), (0.125, 0.5)):
        changed = with_alphas(session, *alphas)
        step = step_of(changed, name)
        assert step.error is None, f"{step.error}"
        assert marked(changed, step, sign) == [call == 0, call == 1]


@pytest.mark.parametrize(("make", "name", "sign"), KINDS)
@pytest.mark.parametrize(
    ("call", "alphas", "reason"),
    [
        (0, (0.5, 0.375), "computed by another call only: fused_nn_leaky_relu_1 (call 3)"),
        (1, (0.75, 0.5), "computed by another call only: fused_nn_leaky_relu (call 1)"),
        (0, (0.375, 0.375), "shared by further calls now: fused_nn_leaky_relu (call 3)"),
        (1, (0.75, 0.75), "shared by further calls now: fused_nn_leaky_relu (call 1)"),
        (0, (0.5, 0.5), "shared by further calls now: fused_nn_leaky_relu (call 3)"),
        (0, (0.75, 0.375), "computed by another call only: fused_nn_leaky_relu_1 (call 3)"),
    ],
)
def test_an_edit_of_one_call_neither_moves_nor_spreads(
    make: Any, name: str, sign: str, call: int, alphas: Any, reason: str
) -> None:
    session = make(opened(0.375, 0.75), ("fused_nn_leaky_relu", "fused_nn_leaky_relu_1")[call])
    changed = with_alphas(session, *alphas)
    error = step_of(changed, name).error
    assert error is not None and error.code == "E-EDIT-REBASE" and reason in error.found, f"{error}"
    kept = changed.rebase()
    assert kept["Codegen"].error is None and marked(kept, kept["Schedule"], sign) == [False, False]


def test_a_conflict_names_its_step_and_its_reason_is_printed_whole() -> None:
    session = opened(0.375, 0.375)
    text = session.tir["fused_nn_leaky_relu"].script()
    edited = session.edit(tir={"fused_nn_leaky_relu": text.replace("0.375", "0.875")})
    changed = with_alphas(edited, 0.5, 0.625)
    error = changed["Edit#2"].error
    assert error is not None and error.where == "step Edit#2, fused_nn_leaky_relu, fused_nn_leaky_relu_1", error.where
    printed = next(line for line in str(error).splitlines() if line.startswith("  found"))
    assert printed == f"  found     {error.found}", "it is not cut"
    for part in ("0.375", "0.875", "what comes before has", "T.float32(0.5)", "T.float32(0.625)"):
        assert part in printed, printed
    assert changed["Codegen"].error.where == error.where


def call(text: str) -> EntryCall:
    return EntryCall(*text.split(":"))


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("l:1:x a:0:<l> l:2:z", "l:2:z l:1:x a:0:<l>", {0: 1, 1: 2, 2: 0}),  # another order of the same calls
        ("l:1:x l:2:z", "l:2:z l:1:x", {0: 1, 1: 0}),
        ("l:1:x l:2:x", "l:3:x l:1:x", {0: 0, 1: 1}),
        ("l:1:x l:2:<l>", "l:3:x l:1:<l> l:2:<l>", {0: 1, 1: 2}),  # a call more, in front
        ("l:1:x t:0:<l> l:1:<t>", "l:1:x", {0: 0}),
        ("l:1:x t:0:<l>", "t:0:x l:2:<t>", {0: 1, 1: 0}),
    ],
)
def test_calls_are_followed(before: str, now: str, same: dict[int, int]) -> None:
    found = followed(tuple(map(call, before.split())), tuple(map(call, now.split())))
    assert found.same == same


def test_a_call_in_whose_place_another_is_called_is_replaced() -> None:
    found = followed(tuple(map(call, ("l:1:x", "s:0:<l>"))), tuple(map(call, ("t:0:x", "s:0:<t>"))))
    assert found.same == {1: 1} and found.replaced == {0: 0}
