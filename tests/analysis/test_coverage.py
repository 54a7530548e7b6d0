"""Whether loops run through the domains of a block, against enumeration."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.property.drawing import scheduled
from tests.property.offset_programs import short
from tests.property.schedule_programs import drawn
from tests.property.sum_programs import continued, partial_sum, skewed_sum
from workbench.analysis.coverage import everywhere, fills_domain, runs_everywhere
from workbench.analysis.flow import effort
from workbench.analysis.tree import BlockSite, Tree
from workbench.arith.evaluate import evaluate
from workbench.schedule import Schedule
from workbench.tir import nodes as t


def test_a_skewed_sum_runs_everywhere() -> None:
    site = Tree.of(skewed_sum(5, 3)[0]).blocks["sum"]
    assert runs_everywhere(site) and fills_domain(site)


def test_a_partial_sum_fills_its_domain_without_running_everywhere() -> None:
    site = Tree.of(partial_sum(4, 5, 2)[0]).blocks["sum"]
    assert fills_domain(site) and not runs_everywhere(site)


def test_what_is_left_out_is_told() -> None:
    assert not fills_domain(Tree.of(short(4)[0]).blocks["most"])
    assert not fills_domain(Tree.of(continued(3, 4)[0]).blocks["others"])  # never begun


def test_nothing_is_shown_without_effort() -> None:
    with effort(0):
        assert not runs_everywhere(Tree.of(skewed_sum(5, 3)[0]).blocks["sum"])


def test_what_was_not_asked_is_asked_later() -> None:
    site = Tree.of(skewed_sum(5, 3)[0]).blocks["sum"]
    with effort(0):
        verdict = everywhere(site)
    assert (verdict.answer, verdict.why) == (None, "the question was not asked")
    assert everywhere(site).answer is True


def test_a_witness_says_what_does_not_run() -> None:
    verdict = everywhere(Tree.of(partial_sum(4, 5, 2)[0]).blocks["sum"])
    assert (verdict.answer, verdict.tier) == (False, "isl")
    assert verdict.why.startswith("nothing runs at ")


def span(of: t.For | t.Range) -> range:
    low = int(evaluate(of.min, {}))
    return range(low, low + int(evaluate(of.extent, {})))


def run_values(site: BlockSite, starts: bool) -> set[tuple[int, ...]]:
    """The values of the iterators (of the spatial ones, where reductions are at their least, if `starts`) that run."""
    found: set[tuple[int, ...]] = set()
    for point in itertools.product(*map(span, site.loops)):
        known = {loop.var: value for loop, value in zip(site.loops, point, strict=True)}
        values = [(item, int(evaluate(value, known))) for item, value in site.bindings]
        if not evaluate(site.realize.predicate, known):
            continue
        sums = [value == span(item.dom).start for item, value in values if item.kind is t.IterKind.REDUCE]
        if starts and site.block.init is not None and not all(sums):
            continue
        found.add(tuple(value for item, value in values if not starts or item.kind is not t.IterKind.REDUCE))
    return found


def domain(site: BlockSite, spatial: bool) -> set[tuple[int, ...]]:
    kept = [item for item, _ in site.bindings if not spatial or item.kind is not t.IterKind.REDUCE]
    return set(itertools.product(*(span(item.dom) for item in kept)))


@pytest.mark.parametrize("begin", range(0, 120, 40))
def test_both_answers_are_those_of_enumeration(begin: int) -> None:
    shown = 0
    for seed in range(begin, begin + 40):
        rng = random.Random(seed)
        case = drawn(rng, rng.choice(("skewed_sum", "partial_sum", "tailed_sum", "short", "partial", "chain", "late")))
        if case.sizes:
            continue
        sch = Schedule(case.func)
        scheduled(sch, rng, 4, ["split", "fuse", "reorder", "loop_partition", "compute_at", "reverse_compute_at"])
        for site in sch.state.tree.leaves:
            run = run_values(site, False)
            whole = domain(site, False) <= run
            filled = domain(site, True) <= run_values(site, True)
            verdict = everywhere(site)
            assert verdict.answer is whole, f"seed {seed}: {site.name} in\n{sch.script()}"
            if verdict.witness is not None:
                point = tuple(verdict.witness.at[item.var] for item, _ in site.bindings)
                assert point in domain(site, False) - run, f"seed {seed}: {verdict.why}"
            assert fills_domain(site) == filled, f"seed {seed}: {site.name} in\n{sch.script()}"
            shown += whole != filled
    assert shown
