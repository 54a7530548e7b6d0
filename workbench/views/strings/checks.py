"""Texts of checked numbers: badges, reports, tensors, and what was computed on."""

from __future__ import annotations


class Checks:
    """See the module's header."""

    cell_inputs = "the inputs that the cell gave"
    random_inputs = "random inputs"

    # by the words of the checks themselves
    verdicts = {
        "waiting": "waiting", "running": "running", "right": "right", "same": "same", "carried": "carried",
        "covered": "covered", "wrong": "wrong", "failed": "failed", "crashed": "crashed", "hangs": "hangs",
        "unchanged": "unchanged", "not checked": "not checked", "not run": "not run",
    }  # fmt: skip
    states = {
        "none": "none", "running": "running", "done": "done", "cancelled": "cancelled", "failed": "failed",
    }  # fmt: skip

    # badges
    first_wrong_step_found = "the first wrong step, found by halving"
    wrong_edit_found = "this edit, made by hand: the kernel is right before it and wrong after it"

    def greatest_error(self, error: float) -> str:
        return f"max error {error:.2e}"

    def added_error(self, error: float) -> str:
        return f"adds at most {error:.2e}"

    def first_wrong_rewrite(self, number: int, count: int) -> str:
        return f"rewrite {number} of {count} is the first wrong one"

    def wrong_before_rewrites(self, count: int) -> str:
        return f"wrong before any of its {count} rewrites: the pass itself"

    def known(self, title: str, state: str, known: int, steps: int) -> str:
        return f"{title}: {state}, {known} of {steps} steps are known"

    def wrong_element(self, place: str, element: str, found: str, expected: str) -> str:
        return f"{place}: {element} is {found}, expected {expected}"

    # reports
    step = "step"
    verdict = "verdict"
    kernels = "kernels"
    greatest_absolute = "max abs"
    greatest_relative = "max rel"
    of_tolerance = "of tolerance"
    right_so_far = "right as far as it was run"
    all_the_same = "every step computes the same"
    test_writer = 'report.save_test("test_it.py") writes the smallest piece that fails'

    def no_test(self, why: str) -> str:
        return f"no test of it can be written: {why}"

    def first_wrong_step(self, step: str) -> str:
        return f"first wrong step: {step}"

    def first_wrong_tensor(self, tensor: object) -> str:
        return f"first wrong tensor: {tensor}"

    def note(self, note: str) -> str:
        return f"note: {note}"

    # statistics of a tensor
    elements = "elements"
    size = "bytes"
    least = "least"
    greatest = "greatest"
    mean = "mean"
    deviation = "standard deviation"
    zeros = "zeros"
    nans = "NaN"
    infinite = "infinite"
