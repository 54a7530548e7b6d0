"""The verifier: sound programs pass, and each check names what breaks it."""

from __future__ import annotations

import pytest

from workbench import build
from workbench.arith import nodes as n
from workbench.arith.nodes import Var
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order
from workbench.tir import nodes as t
from workbench.tir.build import decl_buffer, load, loop, seq, store
from workbench.tir.script import parse
from workbench.tir.verify import CHECKS, problems, verify

GOOD = """
@T.prim_func
def good(A: T.Buffer((m, 16), "float32"), B: T.Buffer((m, 16), "float32")):
    m = T.int64()
    C = T.alloc_buffer((m, 16), "float32")
    for i, j in T.grid(m, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i < 10)
            T.reads(A[vi, 0:16])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            for k in T.serial(16):
                C[vi, vj] = C[vi, vj] + T.if_then_else(vj + k < 16, A[vi, vj + k], T.float32(0))
    for i in T.parallel(m):
        for j in T.vectorized(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(C[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = T.exp(C[vi, vj])
"""

BAD = {
    "marks": ("    m = T.int64()\n", '    m = T.int64()\n    T.func_attr({"signature": ("float32[m, 16]", "int8")})\n'),
    "marks-arena": ("    m = T.int64()\n", '    m = T.int64()\n    T.func_attr({"arena_bytes": -1})\n'),
    "block-names": ('T.block("B")', 'T.block("C")'),
    "bound-once-size": (
        "    for i in T.par",
        "    for m in T.serial(m):\n        C[m, 0] = T.float32(0)\n    for i in T.par",
    ),
    "regions": ("T.writes(B[vi, vj])", "T.writes(B[vi, vj + 1])"),
    "regions-missing": ("T.reads(C[vi, vj])", "T.reads(A[vi, vj])"),
    "regions-short": (
        "T.reads(A[vi, 0:16])\n            T.writes(C[vi, vj])",
        "T.reads(A[vi, 0:16])\n            T.writes(C[vi, vj:vj + 0])",
    ),
    "loops": ("T.vectorized(16)", "T.vectorized(m)"),
    "loops-thread": ("T.vectorized(16)", 'T.vectorized(16, thread="threadIdx.x")'),
    "reductions": ('remap("SS", [i, j])\n                T.reads(C', 'remap("SR", [i, j])\n                T.reads(C'),
    "conditions": ("T.where(i < 10)", "T.where(i)"),
    "buffers": ('B: T.Buffer((m, 16), "float32")', 'B: T.Buffer((m, 16), "float32", scope="local")'),
    "buffers-strides": (
        'C = T.alloc_buffer((m, 16), "float32")',
        'C = T.alloc_buffer((m, 16), "float32", strides=(1,))',
    ),
    "stores": ("= T.exp(C[vi, vj])", '= T.Cast("float64", C[vi, vj])'),
    "calls": ("T.exp(C[vi, vj])", 'T.Call("float32", "exq", C[vi, vj])'),
    "calls-arity": ("T.exp(C[vi, vj])", 'T.Call("float32", "exp")'),
    "calls-dtype": ("T.exp(C[vi, vj])", 'T.exp(C[vi, vj], dtype="float32x4")'),
}


def test_a_good_program_has_no_problems():
    assert problems(parse(GOOD)) == []
    verify(parse(GOOD))


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_bad_program_is_told(name, golden):
    old, new = BAD[name]
    assert GOOD.count(old) == 1
    function = parse(GOOD.replace(old, new))
    found = problems(function)
    assert name.split("-")[0] in {problem.check.split("-")[0] for problem in found} or name == "block-names"
    with pytest.raises(WorkbenchError) as caught:
        verify(function)
    assert caught.value.code == "E-TIR-VERIFY"
    golden(str(caught.value) + "\n" + "\n".join(map(str, found)))


I, X = Var("i"), Var("x", DataType("float32"))  # noqa: E741
A = decl_buffer((4, 4), "float32", "A")
F32, I32, BOOL = DataType("float32"), DataType("int32"), DataType("bool")
ONE, ONE32 = n.IntImm(1), n.IntImm(1, I32)
NOTHING = t.Evaluate(n.IntImm(0))
TWICE = loop(I, 4, store(A, 1.0, I, I))


def block(name="b", iter_vars=(), init=None, body=NOTHING):
    return t.Block(name, iter_vars, (), (), (), init, body)


NODES = {
    "defined": [t.Evaluate(I), store(decl_buffer((1,)), 1.0, 0), seq(loop(I, 4, NOTHING), t.Evaluate(I))],
    "bound-once": [
        t.SeqStmt((TWICE, TWICE)),
        seq(loop(I, 4, NOTHING), loop(I, 5, NOTHING)),
        loop(I, 4, t.LetStmt(I, ONE, NOTHING)),
    ],
    "operand-dtypes": [
        t.Evaluate(n.Add(ONE, ONE32)),
        t.Evaluate(n.And(ONE, ONE)),
        t.Evaluate(n.Add(n.StringImm("a"), n.StringImm("b"))),
    ],
    "kept-dtypes": [
        t.Evaluate(n.Not(ONE)),
        t.Evaluate(n.Select(n.IntImm(1, BOOL), ONE, ONE32)),
        t.LetStmt(X, ONE, NOTHING),
    ],
    "constants": [
        t.Evaluate(n.IntImm(300, DataType("int8"))),
        t.Evaluate(n.IntImm(1, F32)),
        t.Evaluate(n.FloatImm(1.0, I32)),
        t.Evaluate(n.FloorDiv(ONE, n.IntImm(0))),
    ],
    "vectors": [
        t.Evaluate(n.Ramp(n.FloatImm(1.0), n.FloatImm(1.0), 4)),
        t.Evaluate(n.Ramp(ONE, ONE32, 4)),
        t.Evaluate(n.Broadcast(n.Broadcast(ONE, 2), 2)),
        t.Evaluate(n.Cast(I32, n.Broadcast(ONE, 4))),
    ],
    "conditions": [
        t.IfThenElse(ONE, NOTHING),
        t.While(ONE, NOTHING),
        t.AssertStmt(ONE, "x"),
        t.Evaluate(n.Select(ONE, ONE, ONE)),
        t.BlockRealize((), ONE, block()),
    ],
    "calls": [
        t.Evaluate(n.Call(F32, "exp", (ONE,))),
        t.Evaluate(n.Call(F32, "if_then_else", (ONE, ONE, ONE))),
        t.Evaluate(n.Call(I32, "call_extern", (ONE,))),
        t.Evaluate(n.Call(DataType("handle"), "address_of", (ONE,))),
        t.Evaluate(n.Call(F32, "abs", (ONE,))),
    ],
    "accesses": [
        t.BufferStore(A, n.FloatImm(1.0), (ONE,)),
        t.Evaluate(t.BufferLoad(A, (ONE, n.FloatImm(1.0)))),
        t.Evaluate(t.BufferLoad(A, (n.Ramp(ONE, ONE, 4), ONE))),
        t.BlockRealize((), n.IntImm(1, BOOL), t.Block("b", (), (t.BufferRegion(A, ()),), (), (), None, NOTHING)),
    ],
    "stores": [t.BufferStore(A, ONE, (ONE, ONE)), t.BufferStore(A, n.FloatImm(1.0), (ONE, n.Ramp(ONE, ONE, 4)))],
    "buffers": [
        t.AllocBuffer(decl_buffer((-1,)), NOTHING),
        t.AllocBuffer(t.Buffer("B", (n.FloatImm(1.0),)), NOTHING),
        t.AllocBuffer(decl_buffer((1,), scope=""), NOTHING),
        t.AllocBuffer(decl_buffer((1,), "void"), NOTHING),
    ],
    "loops": [
        t.For(X, n.FloatImm(0.0), n.FloatImm(4.0), t.ForKind.SERIAL, NOTHING),
        t.For(I, n.IntImm(0), ONE32, t.ForKind.SERIAL, NOTHING),
        t.For(I, n.IntImm(0), ONE, t.ForKind.THREAD_BINDING, NOTHING),
    ],
    "blocks": [
        block(),
        t.SeqStmt((NOTHING,)),
        t.SeqStmt((NOTHING, t.SeqStmt((NOTHING, NOTHING)))),
        t.BlockRealize((ONE,), n.IntImm(1, BOOL), block()),
        t.BlockRealize(
            (ONE32,), n.IntImm(1, BOOL), block(iter_vars=(t.IterVar(I, t.Range(n.IntImm(0), ONE), t.IterKind.SPATIAL),))
        ),
    ],
}


@pytest.mark.parametrize(("check", "index"), [(check, index) for check in NODES for index in range(len(NODES[check]))])
def test_each_check_finds_its_fault(check, index):
    function = t.PrimFunc((A,), NODES[check][index])
    assert check in {problem.check for problem in problems(function)}
    with pytest.raises(WorkbenchError):
        verify(function)


def test_every_check_is_tested():
    tested = {name.split("-")[0] for name in BAD} | set(NODES)
    assert {check.name for check in CHECKS} - tested - {"block-names"} == set()


def test_conditional_accesses_are_not_judged():
    text = GOOD.replace(
        "T.writes(B[vi, vj])\n                B[vi, vj]",
        "T.writes(B[vi, vj])\n                if vi < 3:\n                    B[vi, vj]",
    )
    assert problems(parse(text)) == []


def test_problems_carry_their_nodes():
    function = parse(GOOD.replace('T.block("B")', 'T.block("C")'))
    (problem,) = problems(function)
    assert any(problem.nodes[0] is node for node in pre_order(function))


def test_twenty_thousand_terms_are_verified():
    expr: n.PrimExpr = load(A, 0, 0)
    for _ in range(20_000):
        expr = n.Add(expr, n.FloatImm(1.0))
    verify(t.PrimFunc((A,), store(A, expr, 0, 0)))


NO_CASTS = [
    ("reinterpret", "int64", "handle"), ("reinterpret", "handle", "int64"), ("reinterpret", "int32", "float64"),
    ("reinterpret", "int8", "bool"), ("reinterpret", "bool", "int8"), ("reinterpret", "int32", "void"),
    ("reinterpret", "int8x4", "float32x2"), ("Cast", "int64", "handle"), ("Cast", "handle", "int64"),
    ("Cast", "int32", "void"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "source", "target"), NO_CASTS)
def test_what_is_no_number_of_so_many_bits_is_not_one_by_a_cast(kind: str, source: str, target: str) -> None:
    given = Var("v", DataType(source))
    value = n.Cast(DataType(target), given) if kind == "Cast" else n.Call(DataType(target), kind, (given,))
    function = t.PrimFunc((given,), t.Evaluate(value))
    with pytest.raises(WorkbenchError) as caught:
        build(function)
    assert caught.value.code == "E-TIR-VERIFY" and source in caught.value.message and target in caught.value.message


@pytest.mark.parametrize(("source", "target"), [("int32", "float32"), ("int8x4", "int32"), ("uint16", "bfloat16")])
def test_bits_are_another_dtype_of_as_many(source: str, target: str) -> None:
    value = n.Call(DataType(target), "reinterpret", (Var("v", DataType(source)),))
    assert problems(t.PrimFunc((value.args[0],), t.Evaluate(value))) == []
