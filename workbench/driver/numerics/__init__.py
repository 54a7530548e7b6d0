"""Checking numbers step by step: the first step whose program computes something else is named, and its first tensor.

    report = session.check_numerics({"x": photo})        # a verdict on every step
    report = session.check_numerics(inputs, find="first")  # by bisection, when only the first wrong one matters
    report.first_wrong, report.tensor, report.save_test("test_it.py")

`check` goes through the steps; `graph` runs graph steps, `entry` the entry of a lowered model, `kernels` its kernels in
a child process, `whole` whole programs there; `compare` says what is equal, `report` what is answered.
"""

from .check import check_numerics
from .compare import WrongTensor
from .report import KernelCheck, NumericsReport, StepCheck

__all__ = ["KernelCheck", "NumericsReport", "StepCheck", "WrongTensor", "check_numerics"]
