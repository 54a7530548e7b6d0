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
