"""cache_read and cache_write with chosen consumers: golden, old traces, machine code, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_matmul
from workbench.schedule import Schedule, Trace
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse


def test_all_readers(golden: Golden) -> None:
    check_steps(golden, p.softmax, lambda sch: sch.cache_read("top", 0, "local"))


def test_one_reader(golden: Golden) -> None:
    check_steps(golden, p.softmax, lambda sch: sch.cache_read("shifted", 0, "local", consumer_blocks=["shifted"]))


def test_other_readers(golden: Golden) -> None:
    check_steps(golden, p.softmax, lambda sch: sch.cache_read("top", 0, "local", ["shifted"]))


def test_written_and_read_at_once(golden: Golden) -> None:
    check_steps(golden, p.softmax, lambda sch: sch.cache_write("shifted", 0, "local", consumer_blocks=["total"]))


def test_readers_in_the_same_loops(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_at("total", sch.get_loops("out")[0])
        sch.cache_write("total", 0, "local", ["out"])

    check_steps(golden, p.softmax, steps)


def test_a_trace_of_version_one_lets_only_its_block_read() -> None:
    assert "consumer_blocks=[b0]" in Trace.from_json(OLD).as_python()
    sch = Schedule(p.softmax())
    Trace.from_json(OLD).apply_to(sch)
    assert "(X[vi, vj] - top[vi])" in sch.script() and "X_local[vi, vk1]" in sch.script()


OLD = """{"format": "workbench.schedule", "version": 1, "function": "main", "steps": [
  {"primitive": "get_block", "version": 1, "arguments": {"name": "top"}, "results": ["b0"]},
  {"primitive": "cache_read", "version": 1,
   "arguments": {"block": {"result": "b0"}, "read_buffer_index": 0, "storage_scope": "local"}, "results": ["b1"]}
]}"""


def test_machine_code_agrees_with_numpy() -> None:
    def steps(sch: Schedule) -> None:
        sch.cache_read("C", 0, "local")
        sch.cache_write("C", 0, "local", ["D"])

    check_matmul(steps)


def test_one_part_of_an_output() -> None:
    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("D")[0], factors=[2, None])
        sch.cache_write("D", 0, "local")

    check_matmul(steps)


def partly_written() -> t.PrimFunc:
    """O[i] = X[i] for the first four of six elements, then P = O."""
    from workbench.arith import build
    from workbench.arith.nodes import Var
    from workbench.tir.build import decl_buffer, load, nest, point_region, seq, store

    x, o, q = (decl_buffer((6,), name=name) for name in ("X", "O", "P"))
    stages = []
    for name, source, target, extent in (("make", x, o, 4), ("use", o, q, 6)):
        i, vi = Var("i"), Var("vi")
        block = t.Block(
            name, (t.IterVar(vi, t.Range(build.const(0), build.const(extent)), t.IterKind.SPATIAL),),
            (point_region(source, (vi,)),), (point_region(target, (vi,)),), (), None,
            store(target, load(source, vi), vi),
        )  # fmt: skip
        stages.append(nest([(i, extent)], t.BlockRealize((i,), build.const(True), block)))
    return p.in_root((x, o, q), (), seq(*stages))


def backwards() -> t.PrimFunc:
    """`partly_written` with its stages the other way round."""
    func = partly_written()
    root = func.body.block
    return func.replace(body=func.body.replace(block=root.replace(body=t.SeqStmt(tuple(reversed(root.body.stmts))))))


def every_second() -> t.PrimFunc:
    """M[i] = X[i] for even i, then O = M."""
    return parse(
        "@T.prim_func\n"
        "def main(X: T.Buffer((8,), 'float32'), O: T.Buffer((8,), 'float32')):\n"
        "    with T.block('root'):\n"
        "        M = T.alloc_buffer((8,), 'float32')\n"
        "        for i in range(8):\n            with T.block('make'):\n                v = T.axis.spatial(8, i)\n"
        "                T.where(i % 2 == 0)\n                T.reads(X[v])\n                T.writes(M[v])\n"
        "                M[v] = X[v]\n"
        "        for i in range(8):\n            with T.block('use'):\n                v = T.axis.spatial(8, i)\n"
        "                T.reads(M[v])\n                T.writes(O[v])\n                O[v] = M[v]\n"
    )


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "no consumer": (p.softmax, lambda s: s.cache_read("top", 0, "local", ["total"]), "E-SCHEDULE-CACHE-CONSUMER"),
    "part of a parameter": (
        partly_written, lambda s: s.cache_write("make", 0, "local", ["use"]), "E-SCHEDULE-PARTIAL",
    ),
    "a consumer before": (
        backwards, lambda s: s.cache_write("make", 0, "local", ["use"]), "E-SCHEDULE-READ-BEFORE",
    ),
    "every second element": (every_second, lambda s: s.cache_write("make", 0, "local"), "E-SCHEDULE-PARTIAL"),
    "no scope": (p.matmul, lambda s: s.cache_read("C", 0, "a b"), "E-SCHEDULE-SCOPE"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, attempt, code = REFUSALS[name]
    check_refusal(golden, program, attempt, code)


def test_the_programs_of_the_refusals_run() -> None:
    from tests.schedule.executing import inputs

    for program in (partly_written(), backwards()):
        interpret(program, *inputs(program))
