"""Footprints against what a step-by-step walk touches, and against hand counts."""

from __future__ import annotations

import random

import pytest

from tests.analysis.naive_cache import Touch, Walker
from tests.nightly import daily
from tests.property.drawing import scheduled
from tests.schedule import programs as p
from workbench import te
from workbench.analysis.footprint import footprints, loops_of, middle
from workbench.analysis.programs import plain
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order
from workbench.schedule import Schedule
from workbench.target.memory import CacheLevel
from workbench.tir import nodes as t

HASWELL = "llvm -mcpu=haswell"


class OneRun(Walker):
    """Touches while `loop` runs once, the loops around it in the middle."""

    def __init__(self, loop: t.For | None, outer: tuple[t.For, ...]) -> None:
        super().__init__(self.collect)
        self.loop, self.fixed = loop, middle(outer)
        self.inside = 0 if loop is not None else 1
        self.found: dict[str, set] = {}

    def collect(self, stmt: t.Stmt, touches: list[Touch]) -> None:
        if self.inside:
            for buffer, where, _ in touches:
                self.found.setdefault(buffer, set()).add(where)

    def run(self, stmt: t.Stmt, values: dict) -> None:
        self.inside += stmt is self.loop
        super().run(stmt, values)
        self.inside -= stmt is self.loop

    def chosen(self, loop: t.For, values: dict) -> range:
        if id(loop.var) in self.fixed:
            return range(self.fixed[id(loop.var)], self.fixed[id(loop.var)] + 1)
        return super().chosen(loop, values)


def touched_under(func: t.PrimFunc, loop: t.For | None, outer: tuple[t.For, ...]) -> dict[str, set]:
    """Elements of each buffer touched while `loop` runs once, step by step; index buffers are filled beforehand."""
    walker = OneRun(loop, outer)
    if any(isinstance(node, t.AllocBuffer) and node.buffer.dtype.is_integer for node in pre_order(func.body)):
        whole = Walker(lambda _, touches: None)
        whole.run(func.body, {})
        walker.memory = dict(whole.memory)
    walker.run(func.body, {})
    return walker.found


@pytest.mark.parametrize("seed", daily(range(12), *range(5, 12), 0))
def test_every_level_of_a_random_schedule_is_exact(seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(list(p.PROGRAMS))
    schedule = Schedule(p.PROGRAMS[name]())
    scheduled(schedule, rng, rng.randint(0, 6))
    func = plain(schedule)
    found = footprints(schedule, HASWELL)
    nests: list = [(None, ()), *loops_of(func)]
    for level, (loop, outer) in zip(found.levels, nests, strict=True):
        expected = {buffer: len(where) for buffer, where in touched_under(func, loop, outer).items()}
        counted = {b.buffer: b.elements for b in level.buffers if b.elements}
        story = f"loop {level.loop}, seed {seed}, {name}:\n{schedule.code()}"
        if level.exact:
            assert counted == expected, story
        else:
            # An index kept in a buffer that holds another one each time: the bounding box counts.
            assert any(buffer.startswith("index") for buffer in counted), story
            assert all(counted[buffer] >= count for buffer, count in expected.items()), story


def test_a_tiled_product(golden) -> None:
    sch = Schedule(p.plain_matmul(1024, 1024, 1024))
    i, j, k = sch.get_loops("C")
    io, ii = sch.split(i, factors=[None, 32])
    jo, ji = sch.split(j, factors=[None, 32])
    ko, ki = sch.split(k, factors=[None, 4])
    sch.reorder(io, jo, ko, ki, ii, ji)
    found = footprints(sch, HASWELL)
    golden(str(found))
    tile = found["i_1"]
    assert {b.buffer: b.elements for b in tile.buffers} == {"A": 32, "B": 32, "C": 1024}
    assert tile.fits == "L1" and found[""].fits == "memory"
    assert found[""].bytes == 3 * 4 * 1024**2 and found[""].exact
    assert found.to_json()["levels"][0]["bytes"] == found[""].bytes


def test_a_convolution_of_real_size_is_exact_and_quick() -> None:
    found = footprints(p.convolution(56, 56, 64, 64), HASWELL)
    whole = {b.buffer: b.elements for b in found[""].buffers}
    assert whole == {"X": 64 * 56 * 56, "pad": 64 * 58 * 58, "W": 64 * 64 * 9, "conv": 64 * 56 * 56,
                     "bias": 64, "relu": 64 * 56 * 56}  # fmt: skip
    assert found[""].exact


def test_own_caches() -> None:
    found = footprints(p.plain_matmul(16, 16, 16), caches=[CacheLevel("tiny", 256, 2, 64)])
    assert [level.fits for level in found.levels if level.loop == "k"] == ["tiny"]
    assert found[""].fits == "memory"


def test_what_depends_on_data_is_bounded_and_says_so() -> None:
    table, chosen = te.placeholder((64, 4), name="table"), te.placeholder((3,), "int64", name="chosen")
    out = te.compute((3, 4), lambda i, j: table[chosen[i], j], name="out")
    found = footprints(te.create_prim_func([table, chosen, out]), HASWELL)[""]
    assert {b.buffer: (b.elements, b.exact) for b in found.buffers} == {
        "chosen": (3, True), "table": (256, False), "out": (12, True)
    }  # fmt: skip


def test_a_symbolic_extent_wants_a_size() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")])
    assert footprints(func, HASWELL, sizes={"n": 10})[""].bytes == 80
    with pytest.raises(WorkbenchError) as caught:
        footprints(func)
    assert caught.value.code == "E-ANALYSIS-SIZE" and "sizes=" in caught.value.fix
    with pytest.raises(WorkbenchError, match="no symbolic extent 'm'"):
        footprints(func, sizes={"n": 1, "m": 2})


def test_an_unknown_loop() -> None:
    with pytest.raises(WorkbenchError) as caught:
        footprints(p.plain_matmul(), HASWELL)["z"]
    assert caught.value.code == "E-ANALYSIS-LOOP"
