"""reorder_block_iter_var: a block's iterators in another order."""

from __future__ import annotations

from ..arguments import Index
from ..errors import require
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced


@primitive(category="other", suggest={"new_order": [[1, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2, 3]]})
def reorder_block_iter_var(state: ScheduleState, block: BlockRV, new_order: list[Index]) -> Change[None]:
    """List the iterators of a block in another order; which loop binds which does not change.

    before:  with block("C"): vi, vj, vk = T.axis.remap("SSR", [i, j, k])
    after:   with block("C"): vj, vk, vi = T.axis.remap("SRS", [j, k, i])        # new_order=[1, 2, 0]

    What is computed does not change.  Raises `ScheduleError`: not a permutation of the iterators' positions.
    """
    site = state.block(block)
    count = len(site.block.iter_vars)
    require(
        sorted(new_order) == list(range(count)),
        "E-SCHEDULE-PERMUTATION",
        f"new_order is no order of the {count} iterators of {site.name}",
        found=f"{list(new_order)}",
        expected=f"each of 0 to {count - 1} once" if count else "no positions: the block has no iterators",
        fix=f"for example {list(reversed(range(count)))}",
        nodes=(site.block,),
    )
    made = site.block.replace(iter_vars=tuple(site.block.iter_vars[at] for at in new_order))
    values = tuple(site.realize.iter_values[at] for at in new_order)
    return Change(replaced(state.func, {id(site.realize): site.realize.replace(iter_values=values, block=made)}))
