"""What is shown of bindings holds: `covers`, `injective` and `writes_box` against all points of random loops."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from workbench.analysis.bindings import binding_facts, run_box, writes_box
from workbench.analysis.coverage import fills_domain, runs_everywhere
from workbench.analysis.dataflow import tells_apart
from workbench.analysis.tree import Tree
from workbench.arith.digits import Digits
from workbench.arith.nodes import IntImm, PrimExpr
from workbench.arith.scope import Scope
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script

SEEDS = 400
NIGHTLY = 20_000


Points = set[tuple[int, ...]]


@dataclass(frozen=True)
class Drawn:
    """A function of one block."""

    func: t.PrimFunc
    every: list[tuple[int, ...]]
    """The values of its iterators at each point of its loops."""
    runs: list[tuple[int, ...]]
    """Those where it runs."""
    domain: Points

    @property
    def box(self) -> Points:
        """The points in the box around all that the loops reach."""
        sides = (range(min(axis), max(axis) + 1) for axis in zip(*self.every, strict=True))
        return set(itertools.product(*sides))


def drawn(rng: random.Random) -> Drawn:
    lows, count = (0, 0, 0, 1, 2, 3), rng.choice((1, 2, 2))
    loops = [(f"i{number}", rng.choice(lows), rng.randint(1, 6)) for number in range(count)]
    values = [value_text(rng, loops) for _ in range(rng.choice((1, 1, 2)))]
    points = [
        dict(zip((name for name, _, _ in loops), point, strict=True))
        for point in itertools.product(*(range(low, low + extent) for _, low, extent in loops))
    ]
    every = [tuple(eval(value, dict(point)) for value in values) for point in points]
    extents = [max(1, max(at[axis] for at in every) + rng.choice((1, 1, 1, 0, 2))) for axis in range(len(values))]
    where = [f"{value} < {extent}" for value, extent in zip(values, extents, strict=True)]
    where += [f"0 <= {value}" for value in values if min(at[values.index(value)] for at in every) < 0]
    if rng.random() < 0.2:
        where.append(f"{rng.choice(loops)[0]} < {rng.randint(1, 6)}")
    runs = [at for at, point in zip(every, points, strict=True) if all(eval(one, dict(point)) for one in where)]
    func = _function(loops, values, extents, where if len(runs) < len(every) or rng.random() < 0.2 else [])
    domain = set(itertools.product(*map(range, extents)))
    return Drawn(func, every, runs, domain)


def value_text(rng: random.Random, loops: list[tuple[str, int, int]]) -> str:
    name, low, extent = rng.choice(loops)
    other, _, size = rng.choice(loops)
    number = rng.randint(2, 4)
    both = f"{name} * {size} + {other}"
    return rng.choice((
        name, name, f"{name} - {low}", f"{name} // {number}", f"{name} % {number}", f"({name} - {low}) % {number}",
        both, f"({both}) // {number}", f"({both}) % {number}",
        f"{low + extent - 1} - {name}", f"({name} + 1) // {number}", f"{name} // {number} + {other}",
    ))  # fmt: skip


def _function(
    loops: list[tuple[str, int, int]], values: list[str], extents: list[int], where: list[str]
) -> t.PrimFunc:
    shape = ", ".join(map(str, extents)) + ","
    lines = ["@T.prim_func", f'def main(B: T.Buffer(({shape}), "int32")):']
    for number, (name, low, extent) in enumerate(loops):
        lines.append("    " * (number + 1) + f"for {name} in T.serial({low}, {low + extent}):")
    inner = "    " * (len(loops) + 1)
    lines.append(inner + 'with T.block("b"):')
    for number, (value, extent) in enumerate(zip(values, extents, strict=True)):
        lines.append(inner + f"    v{number} = T.axis.spatial({extent}, {value})")
    if where:
        lines.append(inner + f"    T.where({' and '.join(where)})")
    lines.append(inner + f"    B[{', '.join(f'v{number}' for number in range(len(values)))}] = 1")
    func = parse("\n".join(lines))
    assert isinstance(func, t.PrimFunc)
    return func


def fills(values: list[PrimExpr], loops: Sequence[t.For]) -> bool:
    scope = Scope()
    own = [scope.enter(loop.var, loop.min, loop.extent) for loop in loops]
    return Digits(scope, [form for value in values if (form := scope.form(value)) is not None], own).fills


def problem(seed: int) -> str:
    """What is shown and does not hold; empty if there is none."""
    made = drawn(random.Random(seed))
    site = Tree.of(made.func).blocks["b"]
    facts, region = binding_facts(site), site.block.writes[0]
    values = {item.var: value for item, value in site.bindings}
    runs, ends = set(made.runs), run_box(site)
    box = None if ends is None else set(itertools.product(*(range(low.offset, high.offset + 1) for low, high in ends)))
    wrong = [
        name
        for name, shown, holds in (
            ("covers", facts.covers, runs == made.domain),
            ("injective", facts.injective, len(runs) == len(made.runs)),
            ("runs_everywhere", runs_everywhere(site), runs == made.domain),
            ("fills_domain", fills_domain(site), runs == made.domain),
            ("writes_box", writes_box(site, region, site.loops), runs >= made.domain & made.box),
            ("run_box", box is not None, runs == box),
            ("fills", fills(list(values.values()), site.loops), set(made.every) == made.box),
            ("tells_apart", tells_apart(list(values.values()), site.loops), len(set(made.every)) == len(made.every)),
        )
        if shown and not holds
    ]
    return f"seed {seed}: {wrong} of\n{script(made.func)}" if wrong else ""


@pytest.mark.parametrize("begin", range(0, SEEDS, 100))
def test_what_is_shown_of_bindings_holds(begin: int) -> None:
    assert [text for text in map(problem, range(begin, begin + 100)) if text] == []


@pytest.mark.nightly
@pytest.mark.parametrize("begin", range(SEEDS, NIGHTLY, 980))
def test_what_is_shown_of_many_bindings_holds(begin: int) -> None:
    assert [text for text in map(problem, range(begin, begin + 980)) if text] == []


@pytest.mark.parametrize(("index", "fills"), [("v, 0", True), ("0, v + 1", True), ("v, v", False), ("v, v + 1", False)])
def test_a_diagonal_is_no_box(index: str, fills: bool) -> None:
    """It was one under a condition that ends the iterator: each axis has all values, but not in every combination."""
    func = parse(f"""@T.prim_func
def main(B: T.Buffer((9, 9), "int32")):
    for i in T.serial(4):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            T.where(i < 3)
            B[{index}] = 1""")
    site = Tree.of(func).blocks["b"]
    assert writes_box(site, site.block.writes[0], site.loops) is fills


ROWS = """@T.prim_func
def main(A: T.Buffer((n, m), "float32"), C: T.Buffer((n, m), "float32")):
    n = T.int64()
    m = T.int64()
    B = T.alloc_buffer((n, m), "float32")
    for i in T.serial(n):
        for j in T.serial(m):
            with T.block("make"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2.0)
        for j in T.serial(m):
            with T.block("use"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = B[vi, vj] + T.float32(1.0)
"""


def test_a_loop_that_stands_still_runs_through_no_domain() -> None:
    """Of symbolic extent it did: a copy inside a loop copied all rows, of which only this one was made."""
    func = parse(ROWS)
    assert isinstance(func, t.PrimFunc)
    site = Tree.of(func).blocks["make"]
    assert binding_facts(site).covers
    assert not binding_facts(site, site.loops[1:]).covers and binding_facts(site, site.loops[1:]).injective
    schedule = Schedule(func)
    copy = schedule.cache_write(schedule.get_block("make"), 0, "local")
    region = schedule.get(copy).writes[0].region[0]
    assert isinstance(region.extent, IntImm) and region.extent.value == 1
    assert len(schedule.get_loops(copy)) == 3, "the loop of both, and the copy's own"
    a, c = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((3, 4), "float32")
    interpret(schedule.func, a, c)
    np.testing.assert_array_equal(c, a * 2 + 1)
    extents = [getattr(schedule.get(loop).extent, "value", None) for loop in schedule.get_loops(copy)]
    assert extents[1] == 1, "one row"


WANDERING = """@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in T.serial(4):
        for a in T.serial(2):
            with T.block("copy"):
                v = T.axis.spatial(T.Range(i * 2, 2), i * 2 + a)
                T.where(i < 2)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2.0)
        for b in T.serial(2):
            with T.block("use"):
                w = T.axis.spatial(4, i * 2 + b)
                T.where(i < 2)
                T.reads(B[w])
                T.writes(C[w])
                C[w] = B[w] + T.float32(1.0)
"""


def test_a_domain_that_moves_with_a_guarded_loop_is_not_run_through() -> None:
    """It was said to be, and compute_at left the guard out: A[4] was read."""
    func = parse(WANDERING)
    assert isinstance(func, t.PrimFunc)
    site = Tree.of(func).blocks["copy"]
    assert not runs_everywhere(site) and not fills_domain(site)
    schedule = Schedule(func)
    with pytest.raises(WorkbenchError, match="E-SCHEDULE-PARTIAL"):
        schedule.compute_at("copy", schedule.get_loops("use")[1])
    plain = parse(WANDERING.replace("in T.serial(4)", "in T.serial(2)").replace("T.where(i < 2)", "T.where(True)"))
    assert isinstance(plain, t.PrimFunc)
    schedule = Schedule(plain)
    schedule.compute_at("copy", schedule.get_loops("use")[1])
    a, c = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    interpret(schedule.func, a, c, check_regions=True)
    np.testing.assert_array_equal(c, a * 2 + 1)
