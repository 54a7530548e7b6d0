"""cache_inplace: a block that updates a buffer works on a copy."""

from __future__ import annotations

from ...arith import build
from ...core import origin
from ...core.node import substitute
from ..arguments import BufferIndex
from ..blocks import read_buffer, require_leaf, require_not_addressed
from ..caching import allocating, cache_buffer, copy_block, placed_after, placed_before, top_statement
from ..errors import require
from ..legality import require_legal
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced


@primitive(category="cache", suggest={"read_buffer_index": [0, 1], "storage_scope": ["local", "global"]})
def cache_inplace(
    state: ScheduleState, block: BlockRV, read_buffer_index: BufferIndex, storage_scope: str
) -> Change[list[BlockRV]]:
    """Let a block that reads and writes one buffer do so on a copy, made before its loops and put back after them.

    before:  for i: X[i + 1] = X[i] + X[i + 2]
    after:   for ax0: X_local[ax0] = X[ax0]                  # both copies are answered
             for i: X_local[i + 1] = X_local[i] + X_local[i + 2]
             for ax0: X[ax0] = X_local[ax0]

    Raises `ScheduleError`: a buffer that the block does not both read and write, other users in the same loops, an
    allocated buffer (of which elements may be undefined before).
    """
    site = state.block(block)
    require_leaf(state, site, "cache what is updated by")
    old = read_buffer(state, block, read_buffer_index)
    require_not_addressed(state, old)
    require(
        any(region.buffer is old for region in site.block.writes),
        "E-SCHEDULE-INPLACE",
        f"{site.name} does not write {old.name}",
        found="a buffer that is only read",
        expected="a buffer that the block reads and writes",
        fix=f'cache_read("{site.name}", {read_buffer_index}, "{storage_scope}")',
        nodes=(site.block,),
    )
    require(
        any(old is item for item in state.func.params) and (state.full is None or id(old) in state.full),
        "E-SCHEDULE-INPLACE",
        f"elements of {old.name} may be undefined before {site.name}",
        found="a buffer that the function allocates",
        expected="a parameter of the function, whose elements all have values",
        fix="cache_write the block that initialises it, before decompose_reduction",
        nodes=(site.block,),
    )
    require_legal(
        state,
        id(old) not in state.tree.loose,
        "E-SCHEDULE-CACHE-SHARED",
        f"statements outside of blocks use {old.name}",
        found="another user, which may see older values, or whose values may be lost",
        expected="a buffer that blocks alone use",
        fix="put the other statements into blocks",
        nodes=(site.block,),
    )
    top = top_statement(state, site)
    for other in state.tree.accessing(old):
        require_legal(
            state,
            other is site or all(part is not top for part in (*other.path, other.realize)),
            "E-SCHEDULE-CACHE-SHARED",
            f"{other.name} uses {old.name} inside the same loops as {site.name}",
            found="another user, which would see older values",
            expected="this block alone in its loops",
            fix="cache before moving blocks together",
            nodes=(other.block, site.block),
        )
    names = Names(state.tree.names())
    new = cache_buffer(old, storage_scope, names)
    box = [(build.const(0), extent) for extent in old.shape]
    before, first = copy_block(names.fresh(f"{new.name}_copy"), old, new, box)
    after, second = copy_block(names.fresh(f"{new.name}_back"), new, old, box)
    for placed in (before, after):
        origin.derived(placed, site.block)
    func = replaced(state.func, {id(site.block): substitute(site.block, {old: new})})
    func = placed_before(placed_after(func, site.name, after), site.name, before)
    return Change(allocating(func, new), (first, second))
