"""compute_inline: a producer disappears into its consumers."""

from __future__ import annotations

from ...core.limits import limits
from ...tir import nodes as t
from ..blocks import require_intermediate, require_regular, require_whole_domain
from ..errors import require
from ..exact import doubting, settle_inline
from ..inlining import (
    inlined_size,
    plain_variables,
    require_not_accessed,
    single_store,
    stored_size,
    with_loads_replaced,
    without_block,
)
from ..kinds import require_still_independent
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="inline")
def compute_inline(state: ScheduleState, block: BlockRV) -> Change[None]:
    """Compute a block's values where they are read, predicates included; the block and its buffer are gone.

    before:  B[i, j] = A[i, j] * 2          after:   C[i, j] = A[i, j] * 2 + 1
             C[i, j] = B[i, j] + 1

    A block whose values nobody reads is gone as well.
    Raises `ScheduleError`: a reduction, an output of the function, indices that are not plain iterators.
    """
    site = state.block(block)
    working = doubting(state)
    require_regular(working, site, "inline")
    require_intermediate(state, site, "inline")
    store = single_store(site, "inline")
    require_whole_domain(working, site, "inline")
    variables = plain_variables(site, store.indices, "inline")
    readers = list(state.tree.readers(store.buffer))
    if working.doubts and len(state.tree.writers(store.buffer)) > 1:
        raise working.doubts[0]  # the other writers would be left without their buffer
    changed: dict[str, t.BlockRealize] = {}
    size = stored_size(store)
    for reader in readers:
        grown = inlined_size(reader.realize, store.buffer, size)
        require(
            grown <= limits.inlined_nodes,
            "E-SCHEDULE-INLINE-SIZE",
            f"{reader.name} would become too large with {site.name} inlined",
            found=f"{grown:,} nodes: what is read several times is computed several times",
            expected=f"at most {limits.inlined_nodes:,} (wb.limits.inlined_nodes)",
            fix="leave this stage in a buffer, or move it with compute_at",
            nodes=(site.block, reader.block),
        )
        changed[reader.name] = with_loads_replaced(reader.realize, store.buffer, store.value, variables, site)
    settle_inline(state, working, site)
    func = without_block(state, site, changed, store.buffer)
    require_not_accessed(func, store.buffer)
    require_still_independent(state, func, [region.buffer for region in site.block.reads])
    return Change(func)
