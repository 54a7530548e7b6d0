"""A reduction over nothing gives its identity: in the loop interpreter, in native code, scheduled or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.arith import nodes as n
from workbench.arith.build import const
from workbench.core.node import pre_order
from workbench.core.transform import PASSES
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse

REDUCERS: dict[str, tuple[Callable[..., Any], float]] = {
    "sum": (te.sum, 0.0), "prod": (te.prod, 1.0), "max": (te.max, -np.inf), "min": (te.min, np.inf),
}  # fmt: skip
JUDGES: dict[str, Callable[..., Any]] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
ARRANGED: dict[str, Callable[[Any, Any], None]] = {
    "as written": lambda s, c: None,
    "reduction outside": lambda s, c: s[c].reorder(c.op.reduce_axis[0], c.op.axis[0]),
    "split": lambda s, c: s[c].split(c.op.reduce_axis[0], 4),
    "split and turned": lambda s, c: _turned(s, c),
}


def _turned(s: Any, c: Any) -> None:
    outer, inner = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(outer, c.op.axis[0], inner)


def reduction(extent: Any, reducer: Callable[..., Any]) -> tuple[te.Tensor, te.Tensor]:
    a = te.placeholder((3, extent), name="A")
    k = te.reduce_axis((0, extent), name="k")
    return a, te.compute((3,), lambda i: reducer(a[i, k], axis=k), name="C")


@pytest.mark.parametrize("arranged", ARRANGED)
@pytest.mark.parametrize("name", REDUCERS)
@pytest.mark.parametrize("known", [True, False], ids=["constant", "variable"])
def test_identity_of_nothing(known: bool, name: str, arranged: str) -> None:
    reducer, identity = REDUCERS[name]
    a, c = reduction(0 if known else te.var("n"), reducer)
    schedule = te.create_schedule(c.op)
    ARRANGED[arranged](schedule, c)
    func = schedule.to_schedule([a, c]).func
    empty, wanted = np.zeros((3, 0), np.float32), np.full(3, identity, np.float32)
    found = np.full(3, 77, np.float32)
    interpret(func, empty, found, check_regions=True)
    np.testing.assert_array_equal(found, wanted)
    found[...] = 77
    wb.build(func)["main"](empty, found)
    np.testing.assert_array_equal(found, wanted)


def _first(schedule: Schedule, primitive: str) -> None:
    """The primitive on the loop of the reduction."""
    row, over = schedule.get_loops("C")
    match primitive:
        case "fuse":
            schedule.fuse(row, over)
        case "fuse and split":
            schedule.split(schedule.fuse(row, over), [None, 2])
        case "split and fuse":
            outer, inner = schedule.split(over, [None, 4])
            schedule.reorder(outer, row, inner)
            schedule.fuse(row, inner)
        case "read_at":
            schedule.read_at(over, schedule.get_block("C"), 0, "local")
        case "write_at":
            schedule.write_at(row, schedule.get_block("C"), 0, "local")
        case "rfactor":
            schedule.rfactor(schedule.split(over, [None, 4])[1], 0)
        case _:
            getattr(schedule, primitive)(over)


@pytest.mark.parametrize(
    ("primitive", "known"),
    [(name, known) for name in ("fuse", "fuse and split", "split and fuse", "read_at", "write_at", "rfactor")
     for known in (True, False)] + [("parallel", True), ("vectorize", True), ("unroll", True)],
)  # fmt: skip
@pytest.mark.parametrize("name", REDUCERS)
def test_identity_of_nothing_after_a_primitive(name: str, primitive: str, known: bool) -> None:
    """The init stood in a loop that never runs: what was in memory came out."""
    reducer, identity = REDUCERS[name]
    extent = te.var("n")
    schedule = Schedule(te.create_prim_func(list(reduction(0 if known else extent, reducer))))
    _first(schedule, primitive)
    run = wb.build(schedule.func)["main"]
    for count in (0,) if known else (0, 1, 5, 8):
        values = np.random.default_rng(1).uniform(1, 2, (3, count)).astype(np.float32)
        wanted = np.full(3, identity, np.float64) if count == 0 else JUDGES[name](values.astype(np.float64), axis=1)
        for execute in (run, lambda *given: interpret(schedule.func, *given)):
            found = np.full(3, 77, np.float32)
            execute(values, found)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("arranged", ARRANGED)
def test_of_something_as_before(arranged: str) -> None:
    """The same program with elements: the identity does not appear twice."""
    a, c = reduction(te.var("n"), te.sum)
    schedule = te.create_schedule(c.op)
    ARRANGED[arranged](schedule, c)
    func = schedule.to_schedule([a, c]).func
    for extent in (1, 4, 6):
        values = np.arange(3 * extent, dtype=np.float32).reshape(3, extent)
        found = np.full(3, 77, np.float32)
        interpret(func, values, found)
        np.testing.assert_array_equal(found, values.sum(1))


UNDER_LOOPS = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")):
    for k in range(4):
        with T.block("C"):
            vi = T.axis.spatial(1, 0)
            vk = T.axis.reduce(4, k)
            T.reads(A[vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vk]
"""


def test_deep_nests_are_lowered() -> None:
    """No recursion over loops, and no walk from each of them to what none of them drives."""
    func = parse(UNDER_LOOPS)
    body = func.body
    for number in range(1_000):
        body = t.For(n.Var(f"q{number}"), const(0), const(1), t.ForKind.SERIAL, body)
    lowered = PASSES["LowerBlocks"]()(wb.IRModule({"main": func.replace(body=body)}))["main"]
    assert sum(isinstance(part, t.For) for part in pre_order(lowered)) == 1_001
    with pytest.raises(wb.WorkbenchError, match="E-TIR-INTERPRET"):
        interpret(func.replace(body=body), np.ones(4, "float32"), np.zeros(1, "float32"))


GUARDED = """
@T.prim_func
def main(A: T.Buffer((5, 8), "int32"), C: T.Buffer((5,), "int32"), n: T.int64):
    for i, j in T.grid(5, 8):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.where({where})
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vj]
"""


@pytest.mark.parametrize("where", ["j >= i", "j >= 2", "j < n", "j >= n", "j < 6", "i + j < n", "j < n and i >= 2",
                                   "j % 2 == 1", "j < i", "j <= i and j < n"])  # fmt: skip
def test_guards_of_a_reduction_mean_the_same_everywhere(where: str) -> None:
    """The init runs with the domain's first value, or where nothing of the reduction does: it was put in front of the
    loop without what the guard says of loops around it (``j >= i``), or of its own beginning (``j >= 2``)."""
    func = parse(GUARDED.format(where=where))
    assert isinstance(func, t.PrimFunc)
    turned = Schedule(func)
    turned.reorder(*reversed(turned.get_loops("S")))
    data = np.arange(40, dtype=np.int32).reshape(5, 8)
    for size in (0, 3, 8):
        expected = np.full(5, 1000, np.int32)
        for i in range(5):
            runs = [j for j in range(8) if eval(where, {"i": i, "j": j, "n": size})]
            ends = where == "j < n" or (where == "j < n and i >= 2" and i >= 2) or where == "j <= i and j < n"
            starts = 0 if 0 in runs or (not runs and ends) else 1000
            expected[i] = starts + data[i, runs].sum()
        for program in (func, turned.func):
            found, native = np.full(5, 1000, np.int32), np.full(5, 1000, np.int32)
            interpret(program, data, found, size)
            wb.build(program)["main"](data, native, size)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(native, expected)
