"""Texts of what can compute a kernel."""

from __future__ import annotations


class Candidates:
    """See the module's header."""

    implementation = "implementation"
    cycles = "cycles, estimated"
    times = "times the cheapest"
    config = "configuration"
    state = "in use"
    taken = {"": "", "cost": "✓ by cost", "hand": "✓ by hand", "schedule": "✓ scheduled by hand"}
    refused = "does not fit: the condition that fails"
    none = "No operator of this kernel has implementations to choose from: its blocks are scheduled one by one."
    of_loops = "A program of loops has no operators whose implementation could be chosen."

    def heading(self, kernel: str) -> str:
        return f"Candidates for {kernel}"

    def figure(self, cycles: float) -> str:
        return f"{cycles:,.0f}"

    def in_cycles(self, figure: str) -> str:
        return f"{figure} cycles"

    def one_of(self, config: str, count: int) -> str:
        """A configuration, and of how many it is one."""
        return f"{config}, one of {count}" if count > 1 else config

    def not_fitting(self, refusal: str) -> str:
        return f"not: {refusal}"

    def times_the_cheapest(self, times: float) -> str:
        return f"{times:,.2f} ×"

    def refusal(self, clause: str, found: str) -> str:
        """The condition that does not hold, and what there is instead."""
        return f"{clause}; found {found}"
