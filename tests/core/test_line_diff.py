"""Line differences: applying the hunks gives the other text, and size does no harm."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workbench.core.line_diff import Hunk, line_hunks

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "x = 1", ""]), max_size=30)


def patched(before: list[str], after: list[str]) -> list[str]:
    """`before` with each hunk's lines replaced."""
    result: list[str] = []
    at = 0
    for hunk in line_hunks(before, after):
        result += before[at : hunk.before_start]
        result += after[hunk.after_start : hunk.after_start + hunk.after_count]
        at = hunk.before_start + hunk.before_count
    return result + before[at:]


@given(LINES, LINES)
def test_hunks_turn_one_text_into_the_other(before: list[str], after: list[str]) -> None:
    assert patched(before, after) == after


@given(LINES, LINES)
def test_hunks_are_in_order_and_apart(before: list[str], after: list[str]) -> None:
    hunks = line_hunks(before, after)
    for one, other in pairwise(hunks):
        assert one.before_start + one.before_count < other.before_start
        assert one.after_start + one.after_count < other.after_start


def test_equal_texts_have_no_hunks() -> None:
    assert line_hunks(["a"] * 50, ["a"] * 50) == ()


def test_a_change_in_the_middle_is_one_hunk() -> None:
    assert line_hunks(["a", "b", "c"], ["a", "x", "y", "c"]) == (Hunk(1, 1, 1, 2),)


def test_moved_code_keeps_the_longer_part() -> None:
    before = ["m", *map(str, range(10))]
    assert line_hunks(before, [*before[1:], "m"]) == (Hunk(0, 1, 0, 0), Hunk(11, 0, 10, 1))


def test_a_hundred_thousand_lines() -> None:
    before = [f"line {i}" for i in range(100_000)]
    after = [*before[:50_000], "new", *before[50_001:]]
    start = time.perf_counter()
    assert line_hunks(before, after) == (Hunk(50_000, 1, 50_000, 1),)
    assert time.perf_counter() - start < 5


def test_long_repetition_is_not_quadratic() -> None:
    start = time.perf_counter()
    before, after = ["a", "b"] * 5_000, ["b", "b", "a"] * 4_000
    assert patched(before, after) == after
    assert time.perf_counter() - start < 5
