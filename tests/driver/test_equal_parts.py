"""Edits of one of several equal parts of a program: carried to that part, or a conflict, never made on another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import relay
from workbench.driver.merge_lines import merge_lines
from workbench.tir.script import parse

Build = Callable[[Any], Any]


def leaky(operand: Any, alpha: float = 0.125) -> Any:
    return relay.nn.leaky_relu(operand, alpha)


def program(build: Build) -> Any:
    x = relay.var("x", shape=(4,))
    return wb.IRModule.from_expr(relay.Function([x], build(x)))


def carried(before: Build, after: Build, now: Build) -> Any:
    """The session of an edit whose base is another program now."""
    return wb.open(program(before)).edit(relay=program(after), at="Import").edit(relay=program(now), at="Import")


def in_a_row(first: float = 0.125, second: float = 0.125) -> Build:
    return lambda x: leaky(leaky(x, first), second)


def side_by_side(alpha: float = 0.125) -> Build:
    return lambda x: relay.Tuple([leaky(relay.exp(x), alpha), leaky(relay.exp(relay.negative(x)))])


CONFLICTS: dict[str, tuple[Build, Build, Build]] = {
    "one of a row is gone": (in_a_row(), in_a_row(second=0.5), leaky),
    "the row is gone": (in_a_row(), in_a_row(second=0.5), relay.tanh),
    "one of a row is gone, two are put below": (
        in_a_row(),
        in_a_row(second=0.5),
        lambda x: leaky(relay.abs(relay.exp(x))),
    ),
    "both stand elsewhere": (
        side_by_side(),
        side_by_side(0.5),
        lambda x: relay.Tuple([leaky(relay.sqrt(relay.negative(x))), leaky(relay.sqrt(x))]),
    ),
    "the edited one is gone": (
        side_by_side(),
        side_by_side(0.5),
        lambda x: relay.Tuple([leaky(relay.exp(relay.negative(x)))]),
    ),
    "the other one is gone and one changed": (
        side_by_side(),
        side_by_side(0.5),
        lambda x: relay.Tuple([leaky(relay.exp(relay.abs(x)))]),
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_change_of_an_expression_that_cannot_be_told_is_a_conflict(name: str) -> None:
    session = carried(*CONFLICTS[name])
    error = session["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE" and "0.5" in error.found, f"{error}"
    assert "0.5" not in session.rebase()["InferType"].script()


CARRIED: dict[str, tuple[Build, Build, Build, Build]] = {
    "below both": (in_a_row(), in_a_row(first=0.5), lambda x: in_a_row()(relay.abs(x)), lambda x: leaky(leaky(
        relay.abs(x), 0.5))),
    "between them": (in_a_row(), in_a_row(second=0.5), lambda x: leaky(relay.abs(leaky(x))), lambda x: leaky(
        relay.abs(leaky(x)), 0.5)),
    "above both": (in_a_row(), in_a_row(first=0.5), lambda x: relay.abs(in_a_row()(x)), lambda x: relay.abs(leaky(
        leaky(x, 0.5)))),
    "what is left is the edited one with all that it holds": (in_a_row(), in_a_row(first=0.5), leaky, lambda x: leaky(
        x, 0.5)),
    "the one below is another": (in_a_row(), in_a_row(second=0.5), lambda x: leaky(relay.abs(x)), lambda x: leaky(
        relay.abs(x), 0.5)),
    "the one above is another": (in_a_row(), in_a_row(first=0.5), lambda x: relay.abs(leaky(x)), lambda x: relay.abs(
        leaky(x, 0.5))),
    "beside it": (
        side_by_side(),
        side_by_side(0.5),
        lambda x: relay.Tuple([leaky(relay.exp(x)), leaky(relay.exp(relay.abs(x)))]),
        lambda x: relay.Tuple([leaky(relay.exp(x), 0.5), leaky(relay.exp(relay.abs(x)))]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CARRIED)
def test_a_change_of_one_of_equal_expressions_is_carried_to_it(name: str) -> None:
    before, after, now, merged = CARRIED[name]
    session = carried(before, after, now)
    assert session["Edit#2"].error is None, f"{session['Edit#2'].error}"
    assert session["Edit#2"].script() == wb.open(program(merged))["Import"].script()


HEAD = """
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32"), C: T.Buffer((100,), "float32")):
"""


def loop(statement: str, extent: int = 100) -> str:
    return f"    for i in T.serial({extent}):\n        {statement}\n"


DOUBLE, COPY, MORE = "B[i] = A[i] * T.float32(2.0)", "C[i] = A[i]", "C[i] = A[i] + T.float32(1.0)"


def carried_loops(before: str, after: str, now: str) -> Any:
    def module(loops: str) -> Any:
        return wb.IRModule({"main": parse(HEAD + loops)})

    session = wb.open(module(before), target="llvm").edit(tir=module(after), at="Import")
    return session.edit(tir=module(now), at="Import")


LOOP_CONFLICTS: dict[str, tuple[str, str, str]] = {
    "the loop is gone, another changed": (
        loop(DOUBLE) + loop(COPY),
        loop(DOUBLE, 50) + loop(COPY),
        loop(MORE),
    ),
    "the edit deletes a loop that is halved now": (
        loop(DOUBLE) + loop(COPY),
        loop(MORE),
        loop(DOUBLE, 50) + loop(COPY),
    ),
    "both loops changed": (
        loop(DOUBLE) + loop(COPY),
        loop(DOUBLE, 50) + loop(COPY),
        loop("B[i] = A[i]") + loop(MORE),
    ),
    "one of three is gone, one changed": (
        loop(DOUBLE) + loop(COPY) + loop("B[i] = C[i]"),
        loop(DOUBLE, 50) + loop(COPY) + loop("B[i] = C[i]"),
        loop(MORE) + loop("B[i] = C[i]"),
    ),
}


@pytest.mark.parametrize("name", LOOP_CONFLICTS)
def test_a_change_of_a_line_that_cannot_be_told_is_a_conflict(name: str) -> None:
    before, after, now = LOOP_CONFLICTS[name]
    session = carried_loops(before, after, now)
    error = session["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE", f"{error}"
    assert session.rebase().labels.count("Edit#2") == 0
    assert "T.serial(50)" not in merge_lines(before, after, now).text or "T.serial(50)" in now


LOOPS_CARRIED: dict[str, tuple[str, str, str, str]] = {
    "the other loop changed": (
        loop(DOUBLE) + loop(COPY),
        loop(DOUBLE, 50) + loop(COPY),
        loop(DOUBLE) + loop(MORE),
        loop(DOUBLE, 50) + loop(MORE),
    ),
    "the loop's body changed": (
        loop(DOUBLE) + loop(COPY),
        loop(DOUBLE, 50) + loop(COPY),
        loop("B[i] = A[i]") + loop(COPY),
        loop("B[i] = A[i]", 50) + loop(COPY),
    ),
    "a loop like it was added": (
        loop(DOUBLE),
        loop(DOUBLE, 50),
        loop(DOUBLE) + loop(COPY),
        loop(DOUBLE, 50) + loop(COPY),
    ),
    "both bodies changed, each elsewhere": (
        loop(DOUBLE) + loop(COPY),
        loop(DOUBLE) + loop(MORE),
        loop("B[i] = A[i]") + loop(COPY),
        loop("B[i] = A[i]") + loop(MORE),
    ),
}


@pytest.mark.parametrize("name", LOOPS_CARRIED)
def test_a_change_of_one_of_like_lines_is_carried_to_it(name: str) -> None:
    before, after, now, merged = LOOPS_CARRIED[name]
    session = carried_loops(before, after, now)
    assert session["Edit#2"].error is None, f"{session['Edit#2'].error}"
    expected = wb.IRModule({"main": parse(HEAD + merged)})
    assert session["Edit#2"].script() == wb.open(expected, target="llvm")["Import"].script()


@pytest.mark.parametrize(
    ("before", "after", "now"),
    [
        ("a\nx\nb\nx", "a\nX\nb\nx", "b\nx\nc"),
        ("x\nx", "x\nX", "x"),
        ("for:\n    x\nfor:\n    y", "FOR:\n    x\nfor:\n    y", "for:\n    Y"),
        ("for:\n    x\nfor:\n    y", "for:\n    x\n    z\nfor:\n    y", "for:\n    Y"),
    ],
)
def test_like_lines_are_not_taken_for_one_another(before: str, after: str, now: str) -> None:
    found = merge_lines(before, after, now)
    assert found.dropped and not found.applied and found.text == now + "\n"
