"""Texts of the tile lens, of memory beside it, and of drawn iterations."""

from __future__ import annotations

from collections.abc import Sequence


class Lens:
    """See the module's header."""

    # what the drawing leaves out
    start_value_left_out = "the stores of the start value are not drawn"

    def blocks_left_out(self, blocks: str) -> str:
        return f"the same loops also run {blocks}, not drawn here"

    def inside_function(self, array: str) -> str:
        return f"{array} lies inside the function: the program may keep less of it than is drawn"

    def one_thread(self, loop: str) -> str:
        return f"{loop} is parallel: this is the order of one thread"

    # memory
    all_buffers = "all"
    first_touch = "first touch"

    def distances(self, low: int, high: int) -> str:
        return f"{low:,} to {high:,}"

    # iterations
    dependences = {
        "flow": "flow: write, then read", "anti": "anti: read, then write", "output": "output: write, then write",
    }  # fmt: skip
    in_conflict = "framed: the two iterations in conflict"
    more_iterations = "more iterations than are drawn"

    def iterations(self, block: str, axes: Sequence[str]) -> str:
        return f"iterations of {block} over {' and '.join(axes)}"

    def order_of_visits(self, block: str) -> str:
        return f"{block}: the order of visits"

    def tiles(self, count: int) -> str:
        return f"{count} tiles by colour"

    def still(self, values: str) -> str:
        return f"still: {values}"

    def more_arrows(self, count: int) -> str:
        return f"{count} more arrows"
