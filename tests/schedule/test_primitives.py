"""Each primitive, before and after: golden texts, the same numbers, the same program from the trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.executing import inputs
from workbench.schedule import PRIMITIVES, Schedule, Trace
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret


def split_exact(sch: Schedule) -> None:
    sch.split(sch.get_loops("C")[1], factors=[None, 3])


def split_guarded(sch: Schedule) -> None:
    sch.split(sch.get_loops("C")[2], factors=[2, None])
    sch.split(sch.get_loops("D")[1], factors=[3, 3])


def fuse(sch: Schedule) -> None:
    sch.fuse(*sch.get_loops("D"))


def fuse_split_again(sch: Schedule) -> None:
    fused = sch.fuse(*sch.get_loops("C")[:2])
    sch.split(fused, factors=[None, 6])


def reorder(sch: Schedule) -> None:
    i, _, k = sch.get_loops("C")
    sch.reorder(k, i)


def vectorize(sch: Schedule) -> None:
    sch.vectorize(sch.get_loops("D")[1])


def parallel(sch: Schedule) -> None:
    sch.parallel(sch.get_loops("C")[0])


def unroll(sch: Schedule) -> None:
    sch.unroll(sch.get_loops("C")[2])


def bind(sch: Schedule) -> None:
    sch.bind(sch.get_loops("D")[0], "threadIdx.x")


def compute_at_row(sch: Schedule) -> None:
    sch.compute_at("C", sch.get_loops("D")[0])


def compute_at_tile(sch: Schedule) -> None:
    block = sch.get_block("D")
    _, j = sch.get_loops(block)
    outer, _ = sch.split(j, factors=[None, 4])
    sch.compute_at("C", outer, preserve_unit_loops=True)


def compute_at_window(sch: Schedule) -> None:
    sch.compute_at("pad", sch.get_loops("conv")[1])


def reverse_compute_at(sch: Schedule) -> None:
    sch.reverse_compute_at("D", sch.get_loops("C")[0])


def compute_inline(sch: Schedule) -> None:
    sch.compute_inline("two")


def compute_inline_padding(sch: Schedule) -> None:
    sch.compute_inline("pad")


def reverse_compute_inline(sch: Schedule) -> None:
    sch.compute_inline("one")
    sch.compute_inline("two")
    sch.reverse_compute_inline("three")


def reverse_inline_last(sch: Schedule) -> None:
    sch.reverse_compute_inline("four")


def cache_write(sch: Schedule) -> None:
    sch.cache_write("C", 0, "local")


def cache_read(sch: Schedule) -> None:
    sch.cache_read("C", 1, "local")


def set_scope(sch: Schedule) -> None:
    sch.set_scope("C", 0, "local")


def annotate(sch: Schedule) -> None:
    block = sch.get_block("C")
    sch.annotate(block, "note", "why")
    sch.annotate(sch.get_loops(block)[0], "factor", 4)


def decompose_reduction(sch: Schedule) -> None:
    block = sch.get_block("C")
    sch.decompose_reduction(block, sch.get_loops(block)[1])


def decompose_reordered(sch: Schedule) -> None:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    sch.decompose_reduction(block, k)


CASES: dict[Callable[[Schedule], None], Callable[[], t.PrimFunc]] = {
    split_exact: p.matmul, split_guarded: p.matmul, fuse: p.matmul, fuse_split_again: p.matmul, reorder: p.matmul,
    vectorize: p.matmul, parallel: p.matmul, unroll: p.matmul, bind: p.matmul, compute_at_row: p.matmul,
    compute_at_tile: p.matmul, compute_at_window: p.convolution, reverse_compute_at: p.matmul, compute_inline: p.chain,
    compute_inline_padding: p.convolution, reverse_inline_last: p.chain, cache_write: p.plain_matmul,
    cache_read: p.plain_matmul, set_scope: p.matmul, annotate: p.plain_matmul, decompose_reduction: p.plain_matmul,
    decompose_reordered: p.plain_matmul,
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_before_and_after(case: Callable[[Schedule], None], golden: Golden) -> None:
    func = CASES[case]()
    sch = Schedule(func)
    before = sch.script()
    case(sch)
    notes = "".join(f"# step {number}: {note}\n" for number, found in sch.notes.items() for note in found)
    golden(f"# before\n{before}\n\n# steps\n{sch.code()}{notes}\n# after\n{sch.script()}\n")
    expected, found = inputs(func), inputs(func)
    interpret(func, *expected)
    interpret(sch.func, *found, check_regions=True)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_trace_round_trip_and_replay(case: Callable[[Schedule], None]) -> None:
    func = CASES[case]()
    sch = Schedule(func)
    case(sch)
    read = Trace.from_json(sch.trace.as_json())
    assert read == sch.trace
    again = Schedule(func)
    read.apply_to(again)
    assert again.fingerprint() == sch.fingerprint()
    names: dict[str, object] = {"sch": Schedule(func)}
    exec(sch.code(), names)
    typed = names["sch"]
    assert isinstance(typed, Schedule)
    assert typed.fingerprint() == sch.fingerprint()


def test_every_primitive_has_a_case_and_a_documented_sketch() -> None:
    used = {step.primitive for case, func in CASES.items() for step in _steps(case, func())}
    own = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("primitives/test_*.py")}
    for name, entry in PRIMITIVES.items():
        if entry.category == "get":
            continue
        assert name in used | {"reverse_compute_inline"} | own, name
        assert (
            "before:" in entry.doc and "after:" in entry.doc and "Raises `ScheduleError`" in entry.doc
        ) or name == "unroll"


def _steps(case: Callable[[Schedule], None], func: t.PrimFunc) -> Trace:
    sch = Schedule(func)
    case(sch)
    return sch.trace


def test_a_trace_replays_on_other_shapes() -> None:
    sch = Schedule(p.matmul(4, 6, 5))
    compute_at_tile(sch)
    other = p.matmul(7, 9, 3)
    replayed = Schedule(other)
    sch.trace.apply_to(replayed)
    assert len(replayed.trace) == len(sch.trace)
    expected, found = inputs(other), inputs(other)
    interpret(other, *expected)
    interpret(replayed.func, *found, check_regions=True)
    assert np.array_equal(found[-1], expected[-1])


def test_symbolic_extents_split_with_a_guard(golden: Golden) -> None:
    from workbench import te
    from workbench.arith.nodes import Var

    n = Var("n")
    x = te.placeholder((n,), name="X")
    func = te.create_prim_func([x, te.compute((n,), lambda i: x[i] + 1.0, name="Y")])
    sch = Schedule(func)
    outer, inner = sch.split(sch.get_loops("Y")[0], factors=[None, 4])
    sch.parallel(outer)
    sch.vectorize(inner)
    golden(sch.script())
    data, result = np.arange(10, dtype="float32"), np.zeros(10, "float32")
    interpret(sch.func, data, result)
    assert np.array_equal(result, data + 1)


def test_origins_lead_back_to_the_block_before() -> None:
    from workbench.core import origin
    from workbench.core.node import post_order

    func = p.matmul()
    with origin.recording(post_order(func)) as table:
        sch = Schedule(func)
        split_exact(sch)
    old = next(node for node in post_order(func) if isinstance(node, t.Block) and node.name == "C")
    loops = [node for node in post_order(sch.func) if isinstance(node, t.For) and node.var.name.startswith("j_")]
    assert loops and all(table.of(loop) for loop in loops)
    new = next(node for node in post_order(sch.func) if isinstance(node, t.Block) and node.name == "C")
    assert new is old or old in table.of(new)
