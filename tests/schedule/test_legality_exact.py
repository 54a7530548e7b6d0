"""What only exact value flow can tell: programs that are not regular are moved, inlined, and refused rightly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import check_numbers, check_replay
from workbench.analysis import dependence
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.core.equal import fingerprint
from workbench.schedule import Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.build import load, nest, point_region, seq, store


def stage(
    name: str, target: t.Buffer, source: t.Buffer, extent: int, *, at: int = 0, read: int = 0, plus: float = 1.0
) -> t.Stmt:
    """for i in range(extent): target[i + at] = source[i + read] + plus"""
    i, v = Var("i"), Var(f"v_{name}")
    block = t.Block(
        name, (t.IterVar(v, t.Range(build.const(0), build.const(extent)), t.IterKind.SPATIAL),),
        (point_region(source, (v + read,)),), (point_region(target, (v + at,)),), (), None,
        store(target, load(source, v + read) + plus, v + at),
    )  # fmt: skip
    return nest([(i, extent)], t.BlockRealize((i,), build.const(True), block))


def buffers(*names: str, extent: int = 8) -> list[t.Buffer]:
    return [t.Buffer(name, (build.const(extent),)) for name in names]


def two_parts() -> t.PrimFunc:
    """M is made in two halves; O reads all of it."""
    x, o, m = buffers("X", "O", "M")
    body = seq(
        stage("low", m, x, 4), stage("high", m, x, 4, at=4, read=4, plus=2.0), stage("use", o, m, 8, plus=0.5)
    )  # fmt: skip
    return p.in_root((x, o), (m,), body)


def used_twice() -> t.PrimFunc:
    """M is made, used, made again and used again."""
    x, o, r, m = buffers("X", "O", "R", "M")
    body = seq(
        stage("first", m, x, 8), stage("early", o, m, 8), stage("again", m, x, 8, plus=5.0), stage("late", r, m, 8)
    )  # fmt: skip
    return p.in_root((x, o, r), (m,), body)


def in_place() -> t.PrimFunc:
    """M is made, then each element changed in place, then read."""
    x, o, m = buffers("X", "O", "M")
    body = seq(stage("make", m, x, 8), stage("change", m, m, 8, plus=3.0), stage("use", o, m, 8))
    return p.in_root((x, o), (m,), body)


def running_sum(kind: t.IterKind = t.IterKind.SCAN) -> t.PrimFunc:
    """S[i + 1] = S[i] + X[i] over i, then O = S * 1 + 1."""
    x, o = buffers("X", "O")
    s = t.Buffer("S", (build.const(9),))
    start_i, v0, i, v = Var("z"), Var("v0"), Var("i"), Var("v")
    begin = t.Block(
        "begin", (t.IterVar(v0, t.Range(build.const(0), build.const(1)), t.IterKind.SPATIAL),), (),
        (point_region(s, (v0,)),), (), None, store(s, build.const(0.0), v0),
    )  # fmt: skip
    step = t.Block(
        "step", (t.IterVar(v, t.Range(build.const(0), build.const(8)), kind),),
        (point_region(s, (v,)), point_region(x, (v,))), (point_region(s, (v + 1,)),), (), None,
        store(s, load(s, v) + load(x, v), v + 1),
    )  # fmt: skip
    body = seq(
        nest([(start_i, 1)], t.BlockRealize((start_i,), build.const(True), begin)),
        nest([(i, 8)], t.BlockRealize((i,), build.const(True), step)),
        stage("use", o, s, 8, read=1),
    )
    return p.in_root((x, o), (s,), body)


def decomposed(sch: Schedule) -> None:
    i, _, _ = sch.get_loops("C")
    sch.decompose_reduction("C", i)


def loops(sch: Schedule, block: str) -> list[Any]:
    return sch.get_loops(block)


def move_decomposed(sch: Schedule) -> None:
    decomposed(sch)
    sch.reverse_compute_at("D", loops(sch, "C")[1])


def move_window_by_window(sch: Schedule) -> None:
    sch.reverse_compute_at("three", loops(sch, "two")[1])


LEGAL: dict[str, tuple[Callable[[], t.PrimFunc], Callable[[Schedule], Any]]] = {
    "one of two halves moves to its use": (two_parts, lambda s: s.compute_at("high", loops(s, "use")[0])),
    "a producer moves to the nearer of two consumers": (
        p.softmax, lambda s: s.compute_at("shifted", loops(s, "total")[0])
    ),
    "the second of two lives of a buffer moves": (used_twice, lambda s: s.compute_at("again", loops(s, "late")[0])),
    "what is changed in place moves to its use": (in_place, lambda s: s.compute_at("change", loops(s, "use")[0])),
    "a running sum is used step by step": (
        running_sum, lambda s: s.reverse_compute_at("use", loops(s, "step")[0])
    ),
    "a running sum is made where it is used": (running_sum, lambda s: s.compute_at("step", loops(s, "use")[0])),
    "a consumer that looks back slides along": (p.chain, move_window_by_window),
    "a consumer follows a reduction in two parts": (p.matmul, move_decomposed),
    "the first of two lives moves": (used_twice, lambda s: s.compute_at("first", loops(s, "early")[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", LEGAL)
def test_what_flow_proves_is_done(name: str) -> None:
    program, steps = LEGAL[name]
    func = program()
    sch = Schedule(func)
    steps(sch)
    check_numbers(func, sch.func)
    check_replay(func, sch)


ILLEGAL: dict[str, tuple[Callable[[], t.PrimFunc], Callable[[Schedule], Any], str]] = {
    "the first of two lives does not move past the second": (
        used_twice, lambda s: s.compute_at("first", loops(s, "late")[0]), "early at (0) would read M[0] without",
    ),
    "a producer does not move behind an earlier consumer": (
        p.softmax, lambda s: s.compute_at("shifted", loops(s, "out")[0]), "total at (0, 0) would read shifted[0, 0]",
    ),
    "what is read before it is changed does not move": (
        in_place, lambda s: s.compute_at("make", loops(s, "use")[0]), "would read M",
    ),
    "a consumer that looks ahead does not come early": (
        q.reduced_windows, lambda s: s.reverse_compute_at("use", loops(s, "pool2")[0]), "would read pool2[7] without",
    ),
    "what has two lives is not inlined": (used_twice, lambda s: s.compute_inline("first"), "M has other writers too"),
}  # fmt: skip


@pytest.mark.parametrize("name", ILLEGAL)
def test_what_would_change_is_refused_with_the_read_that_would(name: str) -> None:
    program, steps, said = ILLEGAL[name]
    sch = Schedule(program())
    before = fingerprint(sch.func)
    with pytest.raises(ScheduleError) as caught:
        steps(sch)
    error = caught.value
    assert said in error.found, error.found
    assert error.expected and error.fix and error.nodes and fingerprint(sch.func) == before


@pytest.mark.parametrize(
    "name", ["the second of two lives of a buffer moves", "a running sum is made where it is used"]
)
def test_without_islpy_the_quick_tier_serves_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "available", lambda: False)
    program, steps = LEGAL[name]
    with pytest.raises(ScheduleError, match="islpy is not installed"):
        steps(Schedule(program()))
    plain = Schedule(p.matmul())
    plain.compute_at("C", loops(plain, "D")[0])


def test_indirect_programs_are_refused_as_before() -> None:
    from workbench.tir.script import parse

    func = parse(
        "@T.prim_func\n"
        "def main(X: T.Buffer((6,), 'float32'), I: T.Buffer((6,), 'int32'), O: T.Buffer((6,), 'float32')):\n"
        "    with T.block('root'):\n"
        "        M = T.alloc_buffer((6,), 'float32')\n"
        "        for i in range(6):\n            with T.block('make'):\n                v = T.axis.spatial(6, i)\n"
        "                T.reads(X[v], I[v])\n                T.writes(M[0:6])\n                M[I[v]] = X[v]\n"
        "        for i in range(6):\n            with T.block('use'):\n                v = T.axis.spatial(6, i)\n"
        "                T.reads(M[v])\n                T.writes(O[v])\n                O[v] = M[v]\n"
    )
    sch = Schedule(func)
    refused = sch.why_not("compute_at", sch.get_block("make"), sch.get_loops("use")[0])
    assert refused is not None and "not decided exactly" in refused.found
