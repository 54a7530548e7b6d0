"""A numerics report as a table: every step, its verdict, the first wrong tensor; names are escaped."""

from __future__ import annotations

import numpy as np

from workbench.driver.numerics import NumericsReport, StepCheck, WrongTensor


def test_a_right_report() -> None:
    report = NumericsReport((StepCheck("Import", "right", 1e-6, 1e-5, 0.01), StepCheck("InferType", "unchanged")))
    bundle = report._repr_mimebundle_()
    assert all("every step computes the same" in bundle[form] for form in ("text/plain", "text/html"))
    assert bundle["text/html"].count("<tr>") == 3


def test_a_wrong_report_is_escaped() -> None:
    tensor = WrongTensor("kernel <b>", "out", (1, 2), np.float32(3), np.float32(4), 7.0, 1, 9)
    report = NumericsReport((StepCheck("<img src=x>", "wrong", 1.0, 1.0, 5.0, "<script>", tensor),), ("a note",))
    shown = report._repr_mimebundle_()["text/html"]
    assert "<img" not in shown and "<script" not in shown and "<b>" not in shown
    assert "out[1, 2] is 3, expected 4, 7 ulp away" in shown and "a note" in shown


def test_how_far_away_it_is_is_told_in_a_unit_that_says_something() -> None:
    """Zero is 3e45 units in the last place away from four."""
    far = WrongTensor("conv2d", "out", (0,), np.float32(4.2125134), np.float32(0), 3.01e45, 1, 9)
    assert str(far).startswith("conv2d: out[0] is 4.2125134, expected 0, off by 4.21; ")
    lost = WrongTensor("conv2d", "out", (0,), np.float32("nan"), np.float32(0), float("nan"), 1, 9)
    assert str(lost).startswith("conv2d: out[0] is nan, expected 0; ")
    swapped = WrongTensor("call 1, of relu", "kernel", (), "relu", "exp", float("nan"), 1, 1)
    assert str(swapped) == "call 1, of relu: kernel[] is relu, expected exp; 1 of 1 elements are wrong"
