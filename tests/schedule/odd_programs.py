"""Programs with something odd about them, which primitives refuse, and steps that refusals share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.schedule import programs as p
from workbench.arith import build
from workbench.arith import nodes as a
from workbench.arith.nodes import Var
from workbench.schedule import LoopRV, Schedule
from workbench.tir import nodes as t
from workbench.tir.build import load, nest, point_region, seq, store
from workbench.tir.script import parse


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


def read_in_bound() -> t.PrimFunc:
    """The second block's loop runs as far as the first one's result says."""
    return parse(
        """
@T.prim_func
def main(X: T.Buffer((6,), "int32"), O: T.Buffer((6, 6), "int32")):
    M = T.alloc_buffer((6,), "int32")
    for i in range(6):
        with T.block("make"):
            vi = T.axis.spatial(6, i)
            T.reads(X[vi])
            T.writes(M[vi])
            M[vi] = X[vi] % 6
    for i in range(6):
        for j in range(M[i]):
            with T.block("use"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(X[vi])
                T.writes(O[vi, vj])
                O[vi, vj] = X[vi]
"""
    )


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


def repeated() -> t.PrimFunc:
    """C = A @ B, each element reduced in two iterations of a loop that binds nothing."""
    from workbench.core.node import rewrite

    def post(node: Any) -> Any:
        if isinstance(node, t.For) and node.var.name == "k":
            return t.For(Var("again"), build.const(0), build.const(2), t.ForKind.SERIAL, node)
        return None

    return rewrite(p.plain_matmul(), post)


def reduced_backwards() -> t.PrimFunc:
    """C = A @ B, summed from the last product to the first."""
    from workbench.core.node import rewrite

    def post(node: Any) -> Any:
        if isinstance(node, t.BlockRealize) and node.block.name == "C":
            i, j, k = node.iter_values
            return node.replace(iter_values=(i, j, build.subtract(4, k)))
        return None

    return rewrite(p.plain_matmul(), post)


def gathered() -> t.PrimFunc:
    """M = X + 1; O[i] = M[I[i]]"""
    x, m, o = buffers("X", "M", "O")
    where = t.Buffer("I", (build.const(6),), p.te.const(0, "int64").dtype)
    one = element("make", m, lambda v: load(x, v) + 1.0, lambda v: v, lambda v: [(x, v)])
    i, vi = Var("i"), Var("vi")
    index = t.BufferLoad(where, (vi,))
    block = t.Block(
        "use", (t.IterVar(vi, t.Range(build.const(0), build.const(6)), t.IterKind.SPATIAL),),
        (t.BufferRegion(m, (t.Range(index, build.const(1)),)), point_region(where, (vi,))),
        (point_region(o, (vi,)),), (), None, t.BufferStore(o, t.BufferLoad(m, (index,)), (vi,)),
    )  # fmt: skip
    two = nest([(i, 6)], t.BlockRealize((i,), build.const(True), block))
    return p.in_root((x, where, o), (m,), seq(one, two))


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


def annotated_first(sch: Schedule) -> list[Any]:
    """The loops of D, the first of them unrolled."""
    loops = sch.get_loops("D")
    sch.unroll(loops[0])
    return loops


def loose_loop(sch: Schedule) -> LoopRV:
    """A reference to the loop z, which contains no block (no getter answers one)."""
    loop = next(site.loop for site in sch.state.tree.loops.values() if site.loop.var.name == "z")
    named = sch.state.named.set("loose", loop.var)
    sch._commit(replace(sch.state, named=named))
    return LoopRV("loose", loop.var)
