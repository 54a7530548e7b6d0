"""A step costs what it changes: calls are counted, not times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.growing import TE
from tests.work import calls
from workbench import te, topi
from workbench.analysis.tree import Tree, statements_in
from workbench.arith.scope import Scope
from workbench.core.node import children, written_count, written_size
from workbench.schedule import Schedule
from workbench.schedule.inlining import size_of, stored_size, uses
from workbench.schedule.rules.generic import inline_elementwise
from workbench.tir.nodes import BufferStore


def chain(count: int) -> Schedule:
    return Schedule(te.create_prim_func(TE["te_chain"](count)))


def joined_sums(count: int) -> Schedule:
    """`count` sums, and their concatenation."""
    x = te.placeholder((4, 8), name="x")
    sums = [te.compute((4, 8), lambda i, j, at=at: x[i, j] + float(at), name=f"s{at}") for at in range(count)]
    return Schedule(te.create_prim_func([x, topi.concatenate(sums, axis=0)]))


STEPS: dict[str, Callable[[Schedule], Any]] = {
    "compute_inline": lambda sch: sch.compute_inline(sch.get_block("s1")),
    "split": lambda sch: sch.split(sch.get_loops(sch.get_block("s1"))[1], factors=[None, 2]),
    "fuse": lambda sch: sch.fuse(*sch.get_loops(sch.get_block("s1"))),
    "vectorize": lambda sch: sch.vectorize(sch.get_loops(sch.get_block("s1"))[1]),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_makes_one_tree(name: str) -> None:
    """There were two of the new state, one of them thrown away, and a third to tidy what had been split."""
    schedule = chain(6)
    _ = schedule.state.tree
    assert calls(lambda: (STEPS[name](schedule), schedule.state.tree), Tree.of) == 1


@pytest.mark.parametrize("name", STEPS)
def test_a_step_looks_into_no_nest_that_it_leaves_alone(name: str) -> None:
    few, many = chain(10), chain(40)
    for schedule in (few, many):
        schedule.unroll(schedule.get_loops("s0")[1])  # what is kept about nests is known
        schedule.split(schedule.get_loops("s2")[1], factors=[None, 2])
        schedule.compute_inline("s4")
    counts = [calls(lambda sch=sch: STEPS[name](sch), children, statements_in) for sch in (few, many)]
    assert counts[1] - counts[0] <= 30 * 16, counts  # the tree has four statements of each nest, the root its buffer


def test_blocks_inlined_into_one_ask_for_each_access_once() -> None:
    """Each step found the regions of all accesses of the block that grew."""
    few, many = joined_sums(16), joined_sums(32)
    counts = [calls(lambda sch=sch: inline_elementwise(sch), Scope.linear) for sch in (few, many)]
    assert counts[1] <= 2.3 * counts[0], counts
    assert len(many.state.tree.leaves) == 1


def test_blocks_inlined_into_one_walk_it_a_few_times() -> None:
    schedule = joined_sums(16)
    counts = calls(lambda: inline_elementwise(schedule), children)
    assert counts <= 16 * 600, counts


@pytest.mark.parametrize("name", ["te_chain", "te_doubled", "te_consumers", "joined"])
def test_what_is_kept_of_a_body_is_what_is_counted(name: str) -> None:
    """Sizes and uses after a load was replaced follow from those before it."""
    schedule = joined_sums(9) if name == "joined" else Schedule(te.create_prim_func(TE[name](9)))
    while len(leaves := schedule.state.tree.leaves) > 1:
        for site in leaves:
            body = site.block.body
            assert size_of(body) == written_size(body)
            assert isinstance(body, BufferStore)
            assert stored_size(body) == written_size(body.value)
            for region in site.block.reads:
                found = written_count(body, lambda node, own=region.buffer: int(getattr(node, "buffer", None) is own))
                assert uses(body, region.buffer) == found
        before = len(leaves)
        inline_first(schedule)
        if len(schedule.state.tree.leaves) == before:
            break


def inline_first(schedule: Schedule) -> None:
    for site in schedule.state.tree.leaves:
        if schedule.why_not("compute_inline", site.name) is None:
            schedule.compute_inline(site.name)
            return
