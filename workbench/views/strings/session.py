"""Texts of sessions: the summary, displays of errors and trails, listings, the side panel, compared branches."""

from __future__ import annotations

from .plurals import plural


class Session:
    """See the module's header."""

    # the summary
    nothing_done = "nothing done yet"
    changed = "changed the program"
    unchanged = "changed nothing"

    def not_run(self, layers: str) -> str:
        return f"not run yet: {layers}"

    def counted(self, count: int, units: str) -> str:
        """So many of what a layer counts: "nodes", "passes", "functions", "kernels" or "steps"."""
        return f"{count} {plural(count, 'pass' if units == 'passes' else units[:-1], units)}"

    def failed_at(self, step: str) -> str:
        return f"failed at {step}"

    def failed(self, code: str) -> str:
        return f"failed: {code}"

    def milliseconds(self, time: float) -> str:
        return f"{time:.1f} ms"

    def outcome(self, changed: int | None, time: float, by_hand: bool) -> str:
        """What became of a layer; `changed` is None where its steps are no passes."""
        passes = "" if changed is None else f"{changed} changed the program, "
        return f"{passes}{self.milliseconds(time)}{', changed by hand' if by_hand else ''}"

    in_part = "compiled to be looked at or measured, not yet as a whole"

    no_onnx = "No ONNX layer: a saved session holds the imported program, not the model that it was imported from."

    # errors, traces, breakpoints
    error_fields = {"where": "where", "found": "found", "expected": "expected", "fix": "fix", "kept": "kept"}
    further_rows = "... further rows"

    def more_stops(self, count: int) -> str:
        return f"{count} more stops"

    # trails and comparisons
    kernels = "kernels"

    def time_of(self, runs: int) -> str:
        return f"milliseconds, the least of {runs} runs in turn"

    file = "file"
    step = "step"
    what_it_is = "what it is there"
    nothing = "nothing"
    nothing_of_file = "nothing of the file"
    no_line = "no line of its own"

    def lines(self, numbers: str, count: int) -> str:
        return f"{plural(count, 'line', 'lines')} {numbers}"

    # listings of native code
    listing_legend = "kept by LLVM; ~ from what the value is used for; o only the loop; f outside of all loops"

    def listing(self, kernel: str, form: str) -> str:
        return f"{kernel}.{form}, with lines of its tir"

    # the side panel
    on_a_screen = "on a screen"

    def steps_done(self, count: int) -> str:
        return f"{count} steps"

    def moves_done(self, count: int) -> str:
        return f"{count} moves"

    # two branches
    shown = "shown"
    steps = "steps"
    traffic = "bytes between kernels"
    not_known = "not known"
    same_up_to = "the same up to"
    steps_in_one = "steps in one only"
    kernels_of_other_code = "kernels with other code"
    greatest_difference = "greatest difference of an output"
    none = "none"

    def other_setting(self, name: str) -> str:
        """What all steps of two sessions run under and that is not the same: the target."""
        return f"other {name}"

    def branch(self, number: int) -> str:
        return f"branch {number}"

    def some(self, count: int, names: str, left_out: int) -> str:
        return f"{count}: {names} and {left_out} more" if left_out else f"{count}: {names}"

    # targets
    def this_machine(self, bits: int) -> str:
        return f"this machine, {bits}-bit vectors"

    def this_machine_without(self, extension: str) -> str:
        """The machine with an extension of its instructions switched off: "AVX2"."""
        return f"this machine without {extension}"

    def schedules_for_vectors(self, bits: int) -> str:
        return f"this machine, default schedules for {bits}-bit vectors"

    def vectors_of(self, name: str, bits: int) -> str:
        """A processor or a board."""
        return f"{name}, {bits}-bit vectors"

    # a journal done again
    another_end = "the program at the end is another one"

    def journal_is_cut(self, requests: int) -> str:
        return (
            f"the journal is cut: after request {requests:,} it holds only what changes the program, not what was"
            " asked; what differs after it may come of that"
        )

    def replayed_alike(self, requests: int) -> str:
        return f"{requests} requests replayed: all answered as before"

    def replayed_differently(self, requests: int, differences: str) -> str:
        return f"{requests} requests replayed: \n{differences}"

    def answered_differently(self, number: int, op: str, found: str, before: str) -> str:
        return f"{number}. {op}: {found}, was {before}"
