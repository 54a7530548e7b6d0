"""Refusals that teach: the witness in the text, and alternatives that were tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_numbers
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.schedule import Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.build import load, nest, point_region, store


def far_apart(rows: int = 9, columns: int = 6, row_step: int = 4, column_step: int = 1) -> t.PrimFunc:
    """A[i + 4, j] = A[i, j + 1] + 1: iterations of i depend on those four away."""
    a = t.Buffer("A", (build.const(rows + row_step), build.const(columns + column_step)))
    i, j, vi, vj = Var("i"), Var("j"), Var("vi"), Var("vj")
    block = t.Block(
        "step",
        tuple(
            t.IterVar(v, t.Range(build.const(0), build.const(extent)), t.IterKind.SPATIAL)
            for v, extent in ((vi, rows), (vj, columns))
        ),
        (point_region(a, (vi, vj + column_step)),), (point_region(a, (vi + row_step, vj)),), (), None,
        store(a, load(a, vi, vj + column_step) + 1.0, vi + row_step, vj),
    )  # fmt: skip
    body = nest([(i, rows), (j, columns)], t.BlockRealize((i, j), build.const(True), block))
    return p.in_root((a,), (), body)


def reordered(sch: Schedule, block: str, *order: int) -> Any:
    loops = sch.get_loops(block)
    return sch.reorder(*(loops[i] for i in order))


def unfinished(sch: Schedule) -> Any:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    return sch.reverse_compute_at("D", k)


def gone(sch: Schedule) -> Any:
    i, _, _ = sch.get_loops("C")
    sch.split(i, factors=[None, 2])
    return sch.unroll(i)


CASES: dict[str, tuple[Callable[[], t.PrimFunc], Callable[[Schedule], Any]]] = {
    "vectorize a reduction": (p.matmul, lambda s: s.vectorize(s.get_loops("C")[2])),
    "parallel over a reduction": (p.matmul, lambda s: s.parallel(s.get_loops("C")[2])),
    "vectorize what depends four apart": (far_apart, lambda s: s.vectorize(s.get_loops("step")[0])),
    "interchange what depends four apart": (far_apart, lambda s: reordered(s, "step", 1, 0)),
    "fuse in the wrong order": (p.matmul, lambda s: s.fuse(*reversed(s.get_loops("D")))),
    "fuse loops apart": (p.matmul, lambda s: s.fuse(s.get_loops("C")[0], s.get_loops("C")[2])),
    "move an output": (p.matmul, lambda s: s.compute_at("D", s.get_loops("C")[0])),
    "consume before it is finished": (p.matmul, unfinished),
    "inline a reduction": (p.matmul, lambda s: s.compute_inline("C")),
    "consume at several places": (p.chain, lambda s: s.reverse_compute_inline("three")),
    "decompose at a loop of another block": (p.matmul, lambda s: s.decompose_reduction("C", s.get_loops("D")[0])),
    "a loop that is gone": (p.matmul, gone),
    "two open factors": (p.matmul, lambda s: s.split(s.get_loops("C")[0], factors=[None, None])),
    "an index without room": (p.matmul, lambda s: s.compute_at("C", s.get_loops("D")[0], index=7)),
}  # fmt: skip


def refused(name: str) -> tuple[Schedule, ScheduleError]:
    program, attempt = CASES[name]
    sch = Schedule(program())
    with pytest.raises(ScheduleError) as caught:
        attempt(sch)
    return sch, caught.value


@pytest.mark.parametrize("name", CASES)
def test_alternatives(name: str, golden: Golden) -> None:
    sch, error = refused(name)
    before = sch.fingerprint()
    found = sch.suggest(error)
    assert found and sch.fingerprint() == before
    assert error.attempt is not None and error.attempt.primitive == error.primitive
    lines = [f"{each.text}\n" + "".join(f"    {line}\n" for line in each.steps) for each in found]
    golden(f"{error.attempt.line()}\n{error}\n\n{error.underlined}\n\n{''.join(lines)}")


@pytest.mark.parametrize("name", CASES)
def test_every_alternative_can_be_applied_and_is_right(name: str) -> None:
    sch, error = refused(name)
    for suggestion in sch.suggest(error, limit=4):
        made = sch.copy()
        suggestion.apply(made)
        assert made.code().endswith("".join(line + "\n" for line in suggestion.steps))
        check_numbers(CASES[name][0](), made.func)


def test_a_witness_holds_what_it_says() -> None:
    _, error = refused("vectorize what depends four apart")
    conflict = error.witness
    assert abs(conflict.distance()["i"]) == 4
    store_, read = sorted(conflict.statements(), key=lambda node: isinstance(node, t.BufferLoad))
    assert isinstance(store_, t.BufferStore) and isinstance(read, t.BufferLoad)
    assert "split by 4" in error.fix and error.hint in error.fix


def test_a_suggestion_belongs_to_its_state() -> None:
    sch, error = refused("vectorize a reduction")
    found = sch.suggest(error)
    other = Schedule(p.matmul())
    other.get_loops("D")
    with pytest.raises(ScheduleError) as caught:
        found[0].apply(other)
    assert caught.value.code == "E-SCHEDULE-REFERENCE"


def test_nothing_is_made_up() -> None:
    sch, wave = Schedule(p.stencil()), Schedule(p.skewed())
    for handle, error in (
        (sch, sch.why_not("parallel", sch.get_loops("step")[1])),
        (wave, wave.why_not("reorder", *reversed(wave.get_loops("wave")))),
    ):
        assert error is not None and handle.suggest(error) == []
        assert error.fix == error.hint


def test_a_long_sum_is_given_lanes_by_a_split_first() -> None:
    """A partial result for each of 480 iterations made one vector of 480 lanes."""
    sch = Schedule(p.plain_matmul(4, 6, 480))
    error = sch.why_not("vectorize", sch.get_loops("C")[-1])
    assert isinstance(error, ScheduleError)
    factored = [one for one in sch.suggest(error, 8) if "rfactor" in one.text]
    told = [f"use rfactor on {length} iterations of k, split off first" for length in (16, 8)]
    assert [one.text for one in factored] == [*told, "use rfactor on k"]
    factored[0].apply(sch)
    lanes = [site.loop for site in sch.state.tree.loops.values() if site.loop.kind is t.ForKind.VECTORIZED]
    assert [getattr(loop.extent, "value", None) for loop in lanes] == [16]
