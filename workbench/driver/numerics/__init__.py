"""Checking numbers step by step: the first step whose program computes something else is named, and its first tensor.

    report = session.check_numerics({"x": photo})        # a verdict on every step
    report = session.check_numerics(inputs, find="first")  # by bisection, when only the first wrong one matters
    report.first_wrong, report.tensor, report.save_test("test_it.py")

`check` goes through the steps; `graph` runs graph steps, `entry` the entry of a lowered model, `kernels` its kernels in
a child process, `whole` whole programs there; `compare` says what is equal, `report` what is answered.
"""

from __future__ import annotations

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".check": "check_numerics",
        ".compare": "WrongTensor",
        ".report": "KernelCheck NumericsReport StepCheck",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
