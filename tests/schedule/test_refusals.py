"""Every refusal once: its golden text, and the schedule left as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench.schedule
from tests.conftest import Golden
from tests.schedule import programs as p
from workbench.arith import build
from workbench.arith import nodes as a
from workbench.arith.nodes import Var
from workbench.schedule import Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.build import load, nest, point_region, seq, store

Attempt = Callable[[Schedule], Any]


def annotated_first(sch: Schedule) -> list[Any]:
    loops = sch.get_loops("D")
    sch.unroll(loops[0])
    return loops


def vector_around_parallel(sch: Schedule) -> Any:
    i, j = sch.get_loops("D")
    sch.parallel(j)
    return sch.vectorize(i)


def parallel_inside_vector(sch: Schedule) -> Any:
    i, j = sch.get_loops("D")
    sch.vectorize(i)
    return sch.parallel(j)


def fuse_triangle(sch: Schedule) -> Any:
    return sch.fuse(*sch.get_loops("tri"))


def reorder_triangle(sch: Schedule) -> Any:
    i, j = sch.get_loops("tri")
    return sch.reorder(j, i)


def consumed(sch: Schedule) -> Any:
    _, j = sch.get_loops("D")
    sch.split(j, factors=[None, 2])
    return sch.vectorize(j)


def foreign(sch: Schedule) -> Any:
    other = Schedule(p.chain())
    return sch.vectorize(other.get_loops("one")[0])


def branch(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    block = sch.get_block("D")
    i, j = sch.get_loops(block)
    return sch.reorder(j, i)


def across_nests(sch: Schedule) -> Any:
    return sch.reorder(sch.get_loops("C")[0], sch.get_loops("D")[0])


def move_annotated(sch: Schedule) -> Any:
    sch.vectorize(sch.get_loops("C")[1])
    return sch.compute_at("C", sch.get_loops("D")[0])


def inside_vector(sch: Schedule) -> Any:
    _, j = sch.get_loops("D")
    sch.vectorize(j)
    return sch.compute_at("C", j)


def decompose_inside(sch: Schedule) -> Any:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    return sch.decompose_reduction(block, j)


def decompose_twice(sch: Schedule) -> Any:
    block = sch.get_block("C")
    loops = sch.get_loops(block)
    sch.decompose_reduction(block, loops[2])
    return sch.decompose_reduction(block, loops[2])


def decompose_again_reduced(sch: Schedule) -> Any:
    sch.compute_at("pool2", sch.get_loops("use")[0])
    block = sch.get_block("pool2")
    return sch.decompose_reduction(block, sch.get_loops(block)[0])


def decompose_mixed_loop(sch: Schedule) -> Any:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    fused = sch.fuse(i, j, k)
    return sch.decompose_reduction(block, fused)


def decompose_mixed_predicate(sch: Schedule) -> Any:
    block = sch.get_block("mixed")
    return sch.decompose_reduction(block, sch.get_loops(block)[1])


def unfinished(sch: Schedule) -> Any:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    return sch.reverse_compute_at("D", k)


def late_producer(sch: Schedule) -> Any:
    sch.compute_at("top", sch.get_loops("shifted")[0])
    return sch.reverse_compute_at("out", sch.get_loops("shifted")[0])


def shared_cache(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.cache_write("C", 0, "local")


def cache_written(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.cache_read("D", 0, "local")


ATTEMPTS: dict[str, tuple[Callable[[], t.PrimFunc], Attempt]] = {}


def attempt(name: str, program: Callable[[], t.PrimFunc], action: Attempt) -> None:
    assert name not in ATTEMPTS
    ATTEMPTS[name] = (program, action)


def triangle() -> t.PrimFunc:
    """for i, for j in range(i + 1): B[i, j] = A[i, j]"""
    source, target = t.Buffer("A", (build.const(5), build.const(5))), t.Buffer("B", (build.const(5), build.const(5)))
    i, j, vi, vj = Var("i"), Var("j"), Var("vi"), Var("vj")
    block = t.Block(
        "tri", tuple(t.IterVar(v, t.Range(build.const(0), build.const(5)), t.IterKind.SPATIAL) for v in (vi, vj)),
        (point_region(source, (vi, vj)),), (point_region(target, (vi, vj)),), (), None,
        store(target, load(source, vi, vj), vi, vj),
    )  # fmt: skip
    realize = t.BlockRealize((i, j), build.const(True), block)
    return p.in_root((source, target), (), nest([(i, 5), (j, build.add(i, 1))], realize))


def element(
    name: str, target: t.Buffer, value: Any, index: Any, reads: Any, extent: int = 6,
    kind: t.IterKind = t.IterKind.SPATIAL,
    predicate: Callable[[Var], Any] = lambda loop: True,
) -> t.Stmt:  # fmt: skip
    """for i: target[index(vi)] = value(vi)"""
    i, vi = Var("i"), Var("vi")
    block = t.Block(
        name, (t.IterVar(vi, t.Range(build.const(0), build.const(extent)), kind),),
        tuple(point_region(buffer, (where,)) for buffer, where in reads(vi)), (point_region(target, (index(vi),)),), (),
    None,
        store(target, value(vi), index(vi)),
    )  # fmt: skip
    return nest([(i, extent)], t.BlockRealize((i,), build.convert(predicate(i)), block))


def buffers(*names: str, extent: int = 6) -> tuple[t.Buffer, ...]:
    return tuple(t.Buffer(name, (build.const(extent),)) for name in names)


def pair(
    first_index: Callable[[Var], Any] = lambda v: v, predicate: Callable[[Var], Any] = lambda loop: True,
    kind: t.IterKind = t.IterKind.SPATIAL, extra: str = "",
) -> t.PrimFunc:  # fmt: skip
    """M = X + 1; O = M * 2, with one thing odd about the first block."""
    x, m, o = buffers("X", "M", "O")
    one = element(
        "make", m, lambda v: load(x, v) + 1.0, first_index, lambda v: [(x, v)], kind=kind, predicate=predicate
    )
    two = element("use", o, lambda v: load(m, v) * 2.0, lambda v: v, lambda v: [(m, v)])
    more = []
    if extra == "writer":
        more = [element("again", m, lambda v: load(x, v), lambda v: v, lambda v: [(x, v)])]
    if extra == "input changes":
        more = [element("change", x, lambda v: build.const(0.0), lambda v: v, lambda v: [])]
    if extra == "statement":
        more = [t.For(Var("z"), build.const(0), build.const(5), t.ForKind.SERIAL, t.Evaluate(build.const(0)))]
    return p.in_root((x, o), (m,), seq(one, *more, two))


def unread() -> t.PrimFunc:
    x, m, o = buffers("X", "M", "O")
    one = element("make", m, lambda v: load(x, v) + 1.0, lambda v: v, lambda v: [(x, v)])
    two = element("use", o, lambda v: load(x, v) * 2.0, lambda v: v, lambda v: [(x, v)])
    return p.in_root((x, o), (m,), seq(one, two))


def indirect() -> t.PrimFunc:
    """O[I[i]] = X[i]"""
    x, o = buffers("X", "O")
    where = t.Buffer("I", (build.const(6),), p.te.const(0, "int64").dtype)
    i, vi = Var("i"), Var("vi")
    block = t.Block(
        "scatter", (t.IterVar(vi, t.Range(build.const(0), build.const(6)), t.IterKind.SPATIAL),),
        (point_region(x, (vi,)), point_region(where, (vi,))),
        (t.BufferRegion(o, (t.Range(t.BufferLoad(where, (vi,)), build.const(1)),)),), (), None,
        t.BufferStore(o, load(x, vi), (t.BufferLoad(where, (vi,)),)),
    )  # fmt: skip
    return p.in_root((x, where, o), (), nest([(i, 6)], t.BlockRealize((i,), build.const(True), block)))


def shifted_store() -> t.PrimFunc:
    """O[v + 1] = X[v]"""
    (x,), (o,) = buffers("X"), buffers("O", extent=7)
    return p.in_root((x, o), (), element("make", o, lambda v: load(x, v), lambda v: v + 1, lambda v: [(x, v)]))


def read_in_condition() -> t.PrimFunc:
    """The second block runs where the first one's result is positive."""
    x, m, o = buffers("X", "M", "O")
    one = element("make", m, lambda v: load(x, v) + 1.0, lambda v: v, lambda v: [(x, v)])
    two = element(
        "use", o, lambda v: load(m, v), lambda v: v, lambda v: [(m, v)], predicate=lambda i: load(m, i) > 0.0
    )  # fmt: skip
    return p.in_root((x, o), (m,), seq(one, two))


def read_as_vector() -> t.PrimFunc:
    """The second block reads four elements at once."""
    x, m, o = buffers("X", "M", "O")
    one = element("make", m, lambda v: load(x, v) + 1.0, lambda v: v, lambda v: [(x, v)])
    i, vi = Var("i"), Var("vi")
    lanes = a.Ramp(build.const(0), build.const(1), 4)
    block = t.Block(
        "use", (t.IterVar(vi, t.Range(build.const(0), build.const(1)), t.IterKind.SPATIAL),),
        (t.BufferRegion(m, (t.Range(build.const(0), build.const(4)),)),),
        (t.BufferRegion(o, (t.Range(build.const(0), build.const(4)),)),), (), None,
        t.BufferStore(o, t.BufferLoad(m, (lanes,)), (lanes,)),
    )  # fmt: skip
    two = nest([(i, 1)], t.BlockRealize((i,), build.const(True), block))
    return p.in_root((x, o), (m,), seq(one, two))


def old_values() -> t.PrimFunc:
    """O is read by an earlier block of the same loop body."""
    x, m, o, r = buffers("X", "M", "O", "R")
    one = element("make", m, lambda v: load(x, v) + 1.0, lambda v: v, lambda v: [(x, v)])
    early = element("early", r, lambda v: load(o, v), lambda v: v, lambda v: [(o, v)])
    two = element("use", o, lambda v: load(m, v) * 2.0, lambda v: v, lambda v: [(m, v)])
    return p.in_root((x, o, r), (m,), seq(one, early, two))


def symbolic_margin() -> t.PrimFunc:
    """M[i, j + 1] = X[i, j]; O[i, j] = M[i, j + 1], for j in range(n)"""
    n = Var("n")
    x, o = (t.Buffer(name, (build.const(4), n)) for name in ("X", "O"))
    m = t.Buffer("M", (build.const(4), build.add(n, 1)))

    def stage(name: str, source: t.Buffer, target: t.Buffer, read: int, write: int) -> t.Stmt:
        i, j, vi, vj = Var("i"), Var("j"), Var("vi"), Var("vj")
        iter_vars = (
            t.IterVar(vi, t.Range(build.const(0), build.const(4)), t.IterKind.SPATIAL),
            t.IterVar(vj, t.Range(build.const(0), n), t.IterKind.SPATIAL),
        )
        block = t.Block(
            name, iter_vars, (point_region(source, (vi, vj + read)),), (point_region(target, (vi, vj + write)),), (),
    None,
            store(target, load(source, vi, vj + read), vi, vj + write),
        )  # fmt: skip
        return nest([(i, 4), (j, n)], t.BlockRealize((i, j), build.const(True), block))

    return p.in_root((x, o), (m,), seq(stage("make", x, m, 0, 1), stage("use", m, o, 1, 0)))


def reduced_windows() -> t.PrimFunc:
    """Sums over pairs of rows, read in overlapping windows."""
    te = p.te
    x = te.placeholder((8, 3), name="X")
    k = te.reduce_axis((0, 3), name="k")
    pool = te.compute((8,), lambda i: te.sum(x[i, k], axis=k), name="pool2")
    use = te.compute((7,), lambda i: pool[i] - pool[i + 1], name="use")
    return te.create_prim_func([x, use])


def mixed_predicate() -> t.PrimFunc:
    """C[i] += A[i, k] where i + k < 5"""
    from workbench.core.node import rewrite

    func = p.plain_matmul(4, 4, 4)

    def post(node: Any) -> Any:
        if isinstance(node, t.BlockRealize) and node.block.name == "C":
            i, _, k = node.iter_values
            return node.replace(predicate=build.less(i + k, 5), block=node.block.replace(name="mixed"))
        return None

    return rewrite(func, post)


def symbolic() -> t.PrimFunc:
    te = p.te
    n = Var("n")
    x = te.placeholder((n,), name="X")
    return te.create_prim_func([x, te.compute((n,), lambda i: x[i] + 1.0, name="Y")])


def effects() -> t.PrimFunc:
    x, o = buffers("X", "O")
    body = element("print", o, lambda v: load(x, v), lambda v: v, lambda v: [(x, v)])
    assert isinstance(body, t.For) and isinstance(body.body, t.BlockRealize)
    block = body.body.block
    call = t.Evaluate(a.Call(block.body.value.dtype, "no_such_pure_call", ()))  # type: ignore[attr-defined]
    changed = block.replace(body=seq(block.body, call))
    return p.in_root((x, o), (), body.replace(body=body.body.replace(block=changed)))


attempt("split kind", p.matmul, lambda s: s.split(annotated_first(s)[0], factors=[None, 2]))
attempt("split two open factors", p.matmul, lambda s: s.split(s.get_loops("D")[0], factors=[None, None]))
attempt("split product", p.matmul, lambda s: s.split(s.get_loops("D")[1], factors=[2, 2]))
attempt("split factor zero", p.matmul, lambda s: s.split(s.get_loops("D")[1], factors=[None, 0]))
attempt("split factor text", p.matmul, lambda s: s.split(s.get_loops("D")[1], factors=[None, "4"]))
attempt("split missing argument", p.matmul, lambda s: s.split(s.get_loops("D")[1]))
attempt("split statements", lambda: pair(extra="statement"), lambda s: s.split(_loose_loop(s), factors=[None, 2]))
attempt("fuse kind", p.matmul, lambda s: s.fuse(*annotated_first(s)))
attempt("fuse order", p.matmul, lambda s: s.fuse(*reversed(s.get_loops("D"))))
attempt("fuse triangle", triangle, fuse_triangle)
attempt("fuse nothing", p.matmul, lambda s: s.fuse())
attempt("fuse twice", p.matmul, lambda s: s.fuse(s.get_loops("D")[0], s.get_loops("D")[0]))
attempt("reorder kind", p.matmul, lambda s: s.reorder(*reversed(annotated_first(s))))
attempt("reorder triangle", triangle, reorder_triangle)
attempt("reorder branch", p.matmul, branch)
attempt("reorder across nests", p.matmul, across_nests)
attempt("reorder dependence", p.skewed, lambda s: s.reorder(*reversed(s.get_loops("wave"))))
attempt("vectorize reduction", p.matmul, lambda s: s.vectorize(s.get_loops("C")[2]))
attempt("vectorize stencil", p.stencil, lambda s: s.vectorize(s.get_loops("step")[1]))
attempt("vectorize symbolic", symbolic, lambda s: s.vectorize(s.get_loops("Y")[0]))
attempt("vectorize around parallel", p.matmul, vector_around_parallel)
attempt("vectorize indirect", indirect, lambda s: s.vectorize(s.get_loops("scatter")[0]))
attempt("parallel carried", p.fused_pair, lambda s: s.parallel(s.get_loops("make")[0]))
attempt("parallel inside vector", p.matmul, parallel_inside_vector)
attempt("parallel twice", p.matmul, lambda s: s.parallel(annotated_first(s)[0]))
attempt("parallel opaque", lambda: pair(kind=t.IterKind.OPAQUE), lambda s: s.parallel(s.get_loops("make")[0]))
attempt("parallel effects", effects, lambda s: s.parallel(s.get_loops("print")[0]))
attempt("parallel statement", lambda: pair(extra="statement"), lambda s: s.parallel(_loose_loop(s)))
attempt("unroll symbolic", symbolic, lambda s: s.unroll(s.get_loops("Y")[0]))
attempt("bind axis", p.matmul, lambda s: s.bind(s.get_loops("D")[0], "threadIdx.q"))
attempt("annotate empty", p.matmul, lambda s: s.annotate(s.get_block("C"), "", 1))
attempt("no such block", p.matmul, lambda s: s.get_block("E"))
attempt("consumed", p.matmul, consumed)
attempt("foreign", p.matmul, foreign)
attempt("compute_at output", p.matmul, lambda s: s.compute_at("D", s.get_loops("C")[0]))
attempt("compute_at consumer outside", p.softmax, lambda s: s.compute_at("shifted", s.get_loops("total")[0]))
attempt("compute_at no consumer", unread, lambda s: s.compute_at("make", s.get_loops("use")[0]))
attempt("compute_at own loop", p.matmul, lambda s: s.compute_at("C", s.get_loops("C")[0]))
attempt("compute_at annotated", p.matmul, move_annotated)
attempt("compute_at inside vector", p.matmul, inside_vector)
attempt("compute_at index", p.matmul, lambda s: s.compute_at("C", s.get_loops("D")[0], index=7))
attempt("compute_at root", p.matmul, lambda s: s.compute_at("root", s.get_loops("D")[0]))
attempt("compute_at two writers", lambda: pair(extra="writer"), lambda s: s.compute_at("make", s.get_loops("use")[0]))
attempt(
    "compute_at input changes",
    lambda: pair(extra="input changes"),
    lambda s: s.compute_at("make", s.get_loops("use")[0]),
)
attempt(
    "compute_at partial",
    lambda: pair(predicate=lambda i: build.less(i, 3)),
    lambda s: s.compute_at("make", s.get_loops("use")[0]),
)
attempt("reverse_compute_at unfinished", p.matmul, unfinished)
attempt("reverse_compute_at late producer", p.softmax, late_producer)
attempt("reverse_compute_at no producer", p.softmax, lambda s: s.reverse_compute_at("out", s.get_loops("top")[0]))
attempt("reverse_compute_at beyond", p.chain, lambda s: s.reverse_compute_at("three", s.get_loops("two")[1]))
attempt("inline reduction", p.matmul, lambda s: s.compute_inline("C"))
attempt("inline index", lambda: pair(first_index=lambda v: build.const(5) - v), lambda s: s.compute_inline("make"))
attempt("inline unread", unread, lambda s: s.compute_inline("make"))
attempt("reverse inline no input", p.chain, lambda s: s.reverse_compute_inline("one"))
attempt("reverse inline reads", p.chain, lambda s: s.reverse_compute_inline("three"))
attempt("reverse inline into reduction", p.matmul, lambda s: s.reverse_compute_inline("D"))
attempt("reverse inline index", p.reshaped, lambda s: s.reverse_compute_inline("flat"))
attempt("cache_write no buffer", p.matmul, lambda s: s.cache_write("C", 1, "local"))
attempt("cache_write shared", p.matmul, shared_cache)
attempt("cache_read written", p.matmul, cache_written)
attempt("set_scope parameter", p.matmul, lambda s: s.set_scope("D", 0, "local"))
attempt("set_scope name", p.matmul, lambda s: s.set_scope("C", 0, "no scope!"))
attempt("decompose no init", p.matmul, decompose_twice)
attempt("decompose not around", p.matmul, lambda s: s.decompose_reduction("C", s.get_loops("D")[0]))
attempt("decompose inside", p.matmul, decompose_inside)
attempt("decompose reduced twice", reduced_windows, decompose_again_reduced)
attempt("decompose mixed loop", p.plain_matmul, decompose_mixed_loop)
attempt("decompose mixed predicate", mixed_predicate, decompose_mixed_predicate)
attempt("cache_write region", shifted_store, lambda s: s.cache_write("make", 0, "local"))
attempt("inline read in condition", read_in_condition, lambda s: s.compute_inline("make"))
attempt("inline read as vector", read_as_vector, lambda s: s.compute_inline("make"))
attempt("reverse_compute_at old values", old_values, lambda s: s.reverse_compute_at("use", s.get_loops("make")[0]))
attempt("reverse_compute_at unrelated", unread, lambda s: s.reverse_compute_at("use", s.get_loops("make")[0]))
attempt("reverse_compute_at symbolic", symbolic_margin, lambda s: s.reverse_compute_at("use", s.get_loops("make")[0]))


def _loose_loop(sch: Schedule) -> Any:
    """A reference to the loop that contains no block (no getter answers one)."""
    from workbench.schedule.references import LoopRV

    loop = next(site.loop for site in sch.state.tree.loops.values() if site.loop.var.name == "z")
    from dataclasses import replace

    named = sch.state.named.set("loose", loop.var)
    sch._commit(replace(sch.state, named=named))
    return LoopRV("loose", loop.var)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action = ATTEMPTS[name]
    sch = Schedule(program())
    with pytest.raises(ScheduleError) as caught:
        action(sch)
    error = caught.value
    assert error.code and error.message and error.found and error.expected and error.fix
    assert error.kept == "the schedule is unchanged"
    golden(f"{error}\n\n{error.underlined}".rstrip() + "\n")


@pytest.mark.parametrize("name", ATTEMPTS)
def test_refusal_leaves_the_schedule_unchanged(name: str) -> None:
    program, action = ATTEMPTS[name]
    sch = Schedule(program())
    noted: list[tuple[Schedule, str]] = []
    original = Schedule._commit

    def noting(self: Schedule, state: Any) -> None:
        original(self, state)
        noted.append((self, self.fingerprint()))

    Schedule._commit = noting  # type: ignore[method-assign]
    try:
        with pytest.raises(ScheduleError):
            action(sch)
        seen = [fingerprint for owner, fingerprint in noted if owner is sch]
    finally:
        Schedule._commit = original  # type: ignore[method-assign]
    assert not seen or sch.fingerprint() == seen[-1]


def test_every_code_of_the_package_is_met() -> None:
    folder = Path(workbench.schedule.__file__).parent
    written = {
        code
        for path in (*folder.glob("*.py"), *(folder / "primitives").glob("*.py"))
        for code in re.findall(r'"(E-SCHEDULE-[A-Z-]+)"', path.read_text(encoding="utf-8"))
    }
    met: set[str] = set()
    for program, action in ATTEMPTS.values():
        try:
            action(Schedule(program()))
        except ScheduleError as error:
            met.add(error.code)
    elsewhere = {
        "E-SCHEDULE-FUNCTION", "E-SCHEDULE-PRIMITIVE", "E-SCHEDULE-SELECTION",  # test_schedule
        "E-SCHEDULE-FORM",  # test_schedule
        "E-SCHEDULE-BRANCH-NUMBER", "E-SCHEDULE-REBASE",  # test_history
    }  # fmt: skip
    assert sorted(written - met - elsewhere) == []
