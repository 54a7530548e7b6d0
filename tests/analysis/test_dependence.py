"""Dependences: exact answers with witnesses, compared with the truth by running through all iterations."""

from __future__ import annotations

import pytest

from tests.schedule import programs as p
from workbench.analysis import dependence
from workbench.analysis.bindings import binding_facts, writes_once
from workbench.analysis.dependence import NotAffine
from workbench.analysis.recovery import recovered, touches
from workbench.analysis.tree import Tree
from workbench.schedule import Schedule


def carried(name: str, block: str, loop: int) -> dependence.Conflict | None:
    tree = Tree.of(p.PROGRAMS[name]())
    found = tree.blocks[block].loops[loop]
    return dependence.carried(found, tree.under(found))


@pytest.mark.parametrize(
    ("program", "block", "free"),
    (
        ("matmul", "C", (True, True, False)), ("convolution", "conv", (True, True, True, False, False, False)),
        ("pooling", "pool", (True, True, True, False, False)), ("stencil", "step", (False, False)),
        ("skewed", "wave", (False, True)), ("fused_pair", "make", (False,)), ("softmax", "total", (True, False)),
    ),
)  # fmt: skip
def test_which_loops_carry_dependences(program: str, block: str, free: tuple[bool, ...]) -> None:
    assert tuple(carried(program, block, loop) is None for loop in range(len(free))) == free


def test_a_witness_names_two_iterations_and_the_element() -> None:
    conflict = carried("skewed", "wave", 0)
    assert conflict is not None
    assert conflict.first_at["i"] < conflict.second_at["i"]
    verbs = {conflict.first.writes, conflict.second.writes}
    assert True in verbs and "B[" in conflict.text()
    (row, column), i = conflict.element, conflict.first_at["i"]
    assert row in (i, i + 1) and 0 <= column <= 5


def test_the_structural_tier_agrees_with_the_exact_one() -> None:
    for name, make in p.PROGRAMS.items():
        tree = Tree.of(make())
        for site in tree.leaves:
            for loop in site.loops:
                sites = tree.under(loop)
                shown = all(id(loop.var) in recovered([loop], touched) for touched in touches(sites).values())
                if shown:
                    assert dependence.carried(loop, sites) is None, (name, site.name, loop.var.name)


def test_the_structural_tier_takes_fused_loops_apart() -> None:
    schedule = Schedule(p.matmul())
    loops = schedule.get_loops(schedule.get_block("C"))
    fused = schedule.get(schedule.fuse(*loops[:2]))
    sites = Tree.of(schedule.func).under(fused)
    assert all(id(fused.var) in recovered([fused], touched) for touched in touches(sites).values())


def test_interchange() -> None:
    tree = Tree.of(p.skewed())
    i, j = tree.blocks["wave"].loops
    sites = tree.under(i)
    assert dependence.violated([i, j], [j, i], sites, lambda one, other: False) is not None
    assert dependence.violated([i, j], [i, j], sites, lambda one, other: False) is None


def test_indirect_accesses_are_not_affine() -> None:
    from tests.schedule.odd_programs import indirect

    tree = Tree.of(indirect())
    loop = tree.blocks["scatter"].loops[0]
    with pytest.raises(NotAffine, match="loaded from I"):
        dependence.carried(loop, tree.under(loop))


def test_without_islpy_the_structural_tier_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "available", lambda: False)
    sch = Schedule(p.matmul())
    i, _, k = sch.get_loops("C")
    assert sch.why_not("parallel", i) is None
    error = sch.why_not("parallel", k)
    assert error is not None and error.code == "E-SCHEDULE-UNPROVEN" and "islpy" in error.found
    wave = Schedule(p.skewed())
    refused = wave.why_not("reorder", *reversed(wave.get_loops("wave")))
    assert refused is not None and refused.code == "E-SCHEDULE-UNPROVEN"


def test_bindings_are_counted() -> None:
    sch = Schedule(p.plain_matmul())
    i, j, k = sch.get_loops("C")
    fused = sch.fuse(i, j)
    sch.split(fused, factors=[None, 7])
    facts = binding_facts(sch.state.tree.blocks["C"])
    assert facts.injective and facts.guards_only and facts.covers
    assert writes_once(sch.state.tree.blocks["C"].block)
    assert k
    windows = Schedule(p.chain())
    windows.compute_at("two", windows.get_loops("three")[1])
    facts = binding_facts(windows.state.tree.blocks["two"])
    assert not facts.injective and facts.guards_only


def test_answers_come_quickly() -> None:
    """A convolution's seven loops, each asked: well below what a person notices."""
    import time

    tree = Tree.of(p.convolution(8, 8, 8, 8))
    loops = tree.blocks["conv"].loops
    begin = time.perf_counter()
    for loop in loops:
        dependence.carried(loop, tree.under(loop))
    assert time.perf_counter() - begin < 2.0
