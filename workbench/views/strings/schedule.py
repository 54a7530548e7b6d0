"""Texts of schedules: the loop tree, stages, the editor, witnesses, relations of loops."""

from __future__ import annotations

from collections.abc import Sequence


class Schedule:
    """See the module's header."""

    # loop trees and stages
    nothing = "nothing"
    scalar = "scalar"

    def loop_tree(self, function: str, boxes: int) -> str:
        return f"loop tree of {function}: {boxes} loops and blocks"

    def summing(self, block: str) -> str:
        return f"{block} (sum)"

    def block_of_name(self, name: str) -> str:
        """A block that is called like a buffer."""
        return f"{name} (block)"

    def stages(self, count: int, names: str) -> str:
        return f"{count} stages: {names}"

    # the editor
    legal_after_all = "legal after all, as a longer look at the values shows"
    needs_threads = "needs the threads of a device"
    not_nested = "the two loops do not stand directly in one another"
    as_it_began = "as it began"
    nested_deeply = "a text that is nested too deeply"

    def edited_after(self, steps: Sequence[str]) -> str:
        told = f"step {steps[0]}" if len(steps) == 1 else f"steps {', '.join(steps)}"
        return (
            f"The loop text was edited after this schedule ({told}): a move here goes under the edit, and where lines "
            "of the edit do not fit any more, the program stops there."
        )

    def guarded(self, touched: str, condition: str) -> str:
        return f"{touched}, only where {condition}"

    auto = "auto"
    """What the field of factors says for the one that is worked out; `form.ts` reads it."""
    mend_the_field = "change what the field says"

    def refusal(self, message: str, fix: str) -> str:
        return f"{message}. Fix: {fix}." if fix else f"{message}."

    # witnesses
    colliding = "two iterations that collide"
    at_the_same_time = "both would run at the same time"
    other_way_round = "2 runs after 1 now; it would run before 1"
    unknown_extent = "unknown"

    def writes(self, element: str) -> str:
        return f"writes {element}"

    def reads(self, element: str) -> str:
        return f"reads {element}"

    def iteration(self, sign: str, does: str, at: str, line: int) -> str:
        """`line` is 0 where it is not printed."""
        return f"{sign}  {does} at {at} (line {line})" if line else f"{sign}  {does} at {at}"

    def axis_extent(self, axis: str, extent: str) -> str:
        return f"{axis} has {extent}"

    def partly_drawn(self, axes: str) -> str:
        return f"only part of the iterations is drawn: {axes}"

    # relations
    where_loops_come_from = "where loops come from, and what they move"
    relations = "relations of loops and iterators"
