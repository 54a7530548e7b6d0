"""The loop of a schedule that each line of a kernel's texts stands in, against the program itself."""

from __future__ import annotations

import re
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench.driver.loop_links import innermost_loops
from workbench.schedule import Schedule

ALL = ("schedule", "tir", "ll", "asm")


def told(session: Any, kernel: str, layer: str) -> list[tuple[str, str]]:
    """By line, the loop or block that it stands in ("" for none), and its text."""
    inner = innermost_loops(session, kernel, ALL)[layer]
    lines = session.provenance.links.layers(kernel)[layer].text.rstrip("\n").split("\n")
    names = [str(getattr(getattr(node, "var", node), "name", "")) for node in inner]
    return [(name, line.strip()) for name, line in zip(names, lines, strict=True)]


def product() -> Any:
    schedule = Schedule(plain_matmul(8, 10, 6))
    *_, k = schedule.get_loops("C")
    outer, inner = schedule.split(k, factors=[None, 2])
    schedule.reorder(inner, outer)
    return wb.open(schedule)


def test_in_the_schedule_lines_stand_in_the_loops_and_blocks_that_they_are_printed_in() -> None:
    names = [name for name, _ in told(product(), "main", "schedule")]
    assert names == [""] * 3 + ["k_0"] + ["C"] * (len(names) - 4)


def test_in_code_statements_stand_in_the_loops_that_are_left_around_them() -> None:
    """What a reduction begins with is outside of the loops that it goes over."""
    assert [name for name, _ in told(product(), "main", "tir")] == ["", "", "", "j", "j", "k_0", "k_0"]


@pytest.mark.parametrize("layer", ["ll", "asm"])
def test_instructions_stand_in_the_loop_of_their_statement(layer: str) -> None:
    found = told(product(), "main", layer)
    assert {"j", "k_0"} <= {name for name, _ in found} <= {"", "j", "k_0"}
    products = [(name, text) for name, text in found if re.match(r"v?f?n?m(add|ul)\w*[sp]s\b|.* fmul ", text)]
    assert products and all(name == "k_0" for name, _ in products), products


def test_loops_that_code_has_no_more_are_the_schedules_all_the_same() -> None:
    found = told(small_session(), "fused_nn_conv2d_nn_bias_add_add_nn_relu", "tir")
    (store,) = [name for name, text in found if text.startswith("relu[")]
    assert store == "i3_2", "the vectorised loop, which code does not turn any more"


def test_only_what_is_asked_for_is_told() -> None:
    session = product()
    assert tuple(innermost_loops(session, "main", ("te", "schedule", "tir"))) == ("schedule", "tir")
    assert "ll" not in innermost_loops(session, "main", ("te", "schedule"))
