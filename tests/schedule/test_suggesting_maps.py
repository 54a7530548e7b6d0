"""suggest_index_map: the layout in the order of the loops, None where there is none."""

from __future__ import annotations

from tests.schedule import programs as p
from tests.schedule.harness import check_numbers
from workbench.schedule import Schedule, suggest_index_map
from workbench.tir import nodes as t
from workbench.tir.index_map import IndexMap


def suggested(sch: Schedule, block: str, index: int) -> IndexMap | None:
    """For read number `index` of a block, in the order of its loops; indices in terms of the loops."""
    from workbench.core.node import substitute

    site = sch.state.tree.blocks[block]
    region = site.block.reads[index]
    values = {item.var: value for item, value in site.bindings}
    return suggest_index_map(region.buffer, [substitute(axis.min, values) for axis in region.region], site.loops)


def test_rows_become_columns() -> None:
    sch = Schedule(p.plain_matmul())
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(i, j, k)
    found = suggested(sch, "C", 1)
    assert found is not None and found.text == "lambda i0, i1: (i1, i0)"


def test_tiles_become_blocks() -> None:
    func = p.plain_matmul(4, 8, 6)
    sch = Schedule(func)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    outer, inner = sch.split(j, factors=[None, 4])
    sch.reorder(outer, i, k, inner)
    found = suggested(sch, "C", 1)
    assert found is not None and found.text == "lambda i0, i1: (i1 // 4, i0, i1 % 4)"
    copy = sch.cache_read(block, 1, "global")
    sch.transform_layout(copy, ("write", 0), found)
    check_numbers(func, sch.func)


def test_nothing_to_suggest() -> None:
    sch = Schedule(p.plain_matmul())
    assert suggested(sch, "C", 0) is None
    windows = Schedule(p.convolution())
    assert suggested(windows, "conv", 0) is None
    part = Schedule(p.strided_reads())
    assert suggested(part, "two", 0) is None
    assert isinstance(part.func, t.PrimFunc)
