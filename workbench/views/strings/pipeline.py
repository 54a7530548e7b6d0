"""Texts of lists of steps: passes, LLVM's passes, forms of options."""

from __future__ import annotations


class Pipeline:
    """See the module's header."""

    pipeline = "pipeline"
    screen = "Pipeline"
    not_run = "not run yet"
    in_part = "in part: kernels were compiled to be looked at or measured"
    left_out = "left out"
    list_of_names = "names, with commas between them"
    another_session = "# another session, from a cell"
    """In the Python of what was done."""

    def steps(self, title: str, steps: int, changed: int) -> str:
        return f"{title}: {steps} steps, {changed} changed the program"

    def milliseconds(self, time: float) -> str:
        return f"{time:8.2f} ms"

    def rewrites(self, count: int) -> str:
        return f"{count} rewrites"

    def more_steps(self, count: int) -> str:
        return f"... {count} more steps"

    # LLVM's passes
    llvm_groups = {"ir": "LLVM IR", "machine": "machine code"}

    def llvm_passes(self, kernel: str, label: str) -> str:
        return f"LLVM's passes on {kernel}: {label}"
