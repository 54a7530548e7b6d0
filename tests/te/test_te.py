"""Tensor expressions: what they say, what they refuse, and the blocks they become."""

from __future__ import annotations

import pytest

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order
from workbench.tir import nodes as t


def blocks(func: t.PrimFunc) -> dict[str, t.Block]:
    return {node.name: node for node in pre_order(func) if isinstance(node, t.Block) and node.name != "root"}


def test_an_elementwise_stage_is_one_block():
    a = te.placeholder((4, 5), name="A")
    b = te.compute((4, 5), lambda i, j: a[i, j] + 1.0, name="B", tag="elemwise", attrs={"anchor": "add"})
    block = blocks(te.create_prim_func([a, b]))["B"]
    assert [item.kind for item in block.iter_vars] == [t.IterKind.SPATIAL] * 2
    assert [region.buffer.name for region in block.reads] == ["A"]
    assert block.annotations == {"tag": "elemwise", "anchor": "add"} and block.init is None


def test_a_reduction_has_an_init_and_a_reduction_iterator():
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((2, 8), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    func = te.create_prim_func([a, b])
    block = blocks(func)["B"]
    assert block.init is not None and [item.kind.value for item in block.iter_vars] == ["S", "R"]
    loops = [node for node in pre_order(func) if isinstance(node, t.For)]
    assert all(loop.min.value == 0 for loop in loops)  # type: ignore[attr-defined]
    assert [region.buffer.name for region in block.reads] == ["A"]


def test_intermediates_are_allocated_and_constants_folded():
    a = te.placeholder((4,), name="A")
    c = te.compute((), lambda: te.const(2.0), name="constant")
    b = te.compute((4,), lambda i: a[i] * c(), name="B")
    d = te.compute((4,), lambda i: te.exp(b[i]), name="D")
    func = te.create_prim_func([a, d])
    root = func.body.block  # type: ignore[attr-defined]
    assert [buffer.name for buffer in root.alloc_buffers] == ["B"]
    assert set(blocks(func)) == {"B", "D"}


def test_names_of_stages_are_made_unique():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="T")
    c = te.compute((4,), lambda i: b[i] + 1.0, name="T")
    assert set(blocks(te.create_prim_func([a, c]))) == {"T", "T_1"}


def test_tuple_reductions_store_all_values_at_once():
    index, value = te.placeholder((4, 8), "int32", name="index"), te.placeholder((4, 8), name="value")
    argmax = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    k = te.reduce_axis((0, 8), "k")
    where, most = te.compute((4,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="T")
    assert (where.dtype, most.dtype) == ("int32", "float32") and where.name == "T_0"
    block = blocks(te.create_prim_func([index, value, where, most]))["T"]
    assert isinstance(block.body, t.LetStmt) and len(block.writes) == 2


def test_symbolic_shapes_stay_symbolic():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    func = te.create_prim_func([a, b])
    assert func.params[0].shape[0] is n  # type: ignore[union-attr]


def test_data_dependent_reads_cover_the_axis():
    a, where = te.placeholder((10,), name="A"), te.placeholder((4,), "int64", name="where")
    b = te.compute((4,), lambda i: a[where[i]], name="B")
    regions = {region.buffer.name: region.region[0] for region in blocks(te.create_prim_func([a, where, b]))["B"].reads}
    assert regions["A"].extent.value == 10  # type: ignore[attr-defined]
    assert regions["where"].extent.value == 1  # type: ignore[attr-defined]


def test_slices_take_their_indices_one_by_one():
    a = te.placeholder((4, 5), name="A")
    b = te.compute((4, 5), lambda i, j: a[i][j] + 1.0)
    assert te.create_prim_func([a, b]).params[0].name == "A"


A = te.placeholder((4, 8), name="A")
K = te.reduce_axis((0, 8), "k")


@pytest.mark.parametrize(
    ("code", "build"),
    [
        ("E-TE-RANK", lambda: A(1)),
        ("E-TE-SHAPE", lambda: te.placeholder((-1,))),
        ("E-TE-ARITY", lambda: te.compute((4, 4), lambda i: A[i, 0])),
        ("E-TE-REDUCE", lambda: te.compute((4,), lambda i: te.sum(A[i, K], axis=K) + 1.0)),
        ("E-TE-AXIS", lambda: te.sum(A[0, 0], axis=3)),
        ("E-TE-ARGS", lambda: te.create_prim_func([te.compute((4, 8), lambda i, j: A[i, j] + 1.0)])),
        ("E-TE-ARGS", lambda: te.create_prim_func([A, A])),
        ("E-EXPR-DIVIDE", lambda: te.compute((4,), lambda i: i / 2)),
        ("E-EXPR-ZERO", lambda: te.compute((4,), lambda i: i // 0)),
        ("E-EXPR-TRUTH", lambda: te.compute((4,), lambda i: 1 if i > 2 else 0)),
    ],
)
def test_refusals(code: str, build):
    with pytest.raises(WorkbenchError) as caught:
        build()
    assert caught.value.code == code


def test_a_stage_may_pass_on_a_reduction():
    total = te.compute((4,), lambda i: te.sum(A[i, K], axis=K), name="total")
    turned = te.compute((4,), lambda i: total[3 - i], name="turned")
    assert set(blocks(te.create_prim_func([A, turned]))) == {"total", "turned"}
