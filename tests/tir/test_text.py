"""Text of loop programs: exact round trips, names, depth, and an error for everything that is no program."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nightly import daily, examples
from tests.tir.programs import Programs
from workbench.arith import build
from workbench.arith import nodes as n
from workbench.arith.nodes import Var
from workbench.core.equal import first_difference, same
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import FrozenMap, pre_order
from workbench.core.source import ParseError
from workbench.tir import nodes as t
from workbench.tir.build import decl_buffer, load, loop, seq, store
from workbench.tir.script import parse, prim_func, script, text

MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((16, n), "float32"), B: T.Buffer((n, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    n = T.int64()
    T.func_attr({"noalias": True, "target": T.target("llvm")})
    D = T.alloc_buffer((16, 16), "float32", scope="local")
    for i, j, k in T.grid(16, 16, n):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.where(i * 4 + j < 10 and not (j < 3))
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(D[vi, vj])
            T.block_attr({"anchor": "matmul"})
            with T.init():
                D[vi, vj] = 0
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i in T.parallel(16):
        half: T.let[T.int64] = i // 2
        for j in T.vectorized(4, annotations={"why": "shown"}):
            C[i, T.ramp(j * 4, 1, 4)] = T.max(D[half, T.ramp(j * 4, 1, 4)], T.broadcast(T.float32(0), 4))
    for tx in T.thread_binding(1, 8, thread="threadIdx.x"):
        if tx < 3:
            T.evaluate(T.call_extern("puts", tx, dtype="int32"))
        elif tx == 4:
            assert tx > 2, "never"
        else:
            while T.likely(D[tx, 0] < T.float32(3)):
                D[tx, 0] += T.exp(D[tx, 0])
"""


def assert_round_trip(function):
    shown = script(function)
    read = parse(shown)
    assert first_difference(function, read, names=True, map_free_variables=True) is None
    assert script(read) == shown
    return shown


@settings(max_examples=examples(200))
@given(st.integers(0, 10**9))
def test_random_programs_round_trip(seed):
    assert_round_trip(Programs(seed).function())


def test_a_program_prints_as_written(golden):
    golden(assert_round_trip(parse(MATMUL)))


def test_every_node_class_is_drawn_by_the_random_programs():
    seen = {type(node) for seed in range(400) for node in pre_order(Programs(seed).function())}
    classes = {
        cls
        for module in (n, t)
        for cls in vars(module).values()
        if isinstance(cls, type) and hasattr(cls, "field_names")
    }
    abstract = {n.PrimExpr, n.BinaryExpr, n.CompareExpr, t.Stmt, n.Node, t.FrozenMap}
    assert classes - abstract - seen == set()


def test_module_round_trips():
    module = IRModule({"first": parse(MATMUL), "second": Programs(3).function()})
    read = parse(script(module))
    assert isinstance(read, IRModule)
    assert read.same(module)


# --- depth --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("shape", daily(("left", "calls", "shared", "right", "mixed", "select", "lets"), "shared"))
def test_chains_of_twenty_thousand_terms_round_trip(shape):
    i = Var("i")
    buffer = decl_buffer((4,), "int64", "A")
    expr: n.PrimExpr = i
    for number in range(20_000):
        if shape == "left" or (shape == "mixed" and number % 3):
            expr = n.Add(expr, n.IntImm(number))
        elif shape in ("right", "mixed"):
            expr = n.Mul(n.IntImm(number), expr)
        elif shape == "calls":
            expr = n.Call(n.DataType("int64"), "abs", (n.Min(expr, i),))
        elif shape == "select":
            expr = n.Call(n.DataType("int64"), "if_then_else", (n.LT(i, n.IntImm(number)), i, expr))
        elif shape == "lets":
            variable = Var(f"x{number}")
            expr = n.Let(variable, i, n.Add(expr, variable))
        else:
            expr = n.Add(expr, expr) if number < 2000 else expr
    function = t.PrimFunc((buffer,), loop(i, 4, store(buffer, expr, i)))
    limit = sys.getrecursionlimit()
    assert_round_trip(function)
    assert sys.getrecursionlimit() == limit


def test_deep_expressions_in_every_place_round_trip():
    def deep(variable):
        expr = variable
        for _ in range(300):
            expr = n.Add(n.Sub(n.IntImm(1), expr), variable)
        return expr

    i, j, m = Var("i"), Var("j"), Var("m")
    v = Var("v")
    true = n.LT(deep(j), n.IntImm(3))
    A = t.Buffer("A", (deep(m),))
    B = t.Buffer("B", (deep(j),), strides=(deep(j),), elem_offset=deep(i))
    region = t.BufferRegion(A, (t.Range(deep(v), deep(j)),))
    body = seq(t.IfThenElse(true, t.While(true, t.AssertStmt(true, "x")), t.IfThenElse(true, t.Evaluate(deep(v)))))
    block = t.Block(
        "b",
        (t.IterVar(v, t.Range(deep(i), deep(j)), t.IterKind.SPATIAL),),
        (region,),
        (region,),
        (B,),
        None,
        body,
        FrozenMap({"k": deep(v)}),
    )
    inner = t.BlockRealize((deep(j),), true, block)
    nest = t.For(
        j, deep(i), deep(i), t.ForKind.SERIAL, t.LetStmt(Var("y"), deep(j), inner), "", FrozenMap({"k": deep(i)})
    )
    assert_round_trip(t.PrimFunc((A,), loop(i, deep(m), loop(Var("k"), deep(i), nest)), FrozenMap({"a": deep(m)})))


def test_loops_nested_eighty_deep_round_trip():
    buffer = decl_buffer((1,), "int64", "A")
    for kind in (t.ForKind.SERIAL, t.ForKind.UNROLLED):
        body: t.Stmt = store(buffer, 1, 0)
        for level in range(80):
            body = loop(Var(f"i{level}"), 1, body, kind)
        assert_round_trip(t.PrimFunc((buffer,), body))


@pytest.mark.nightly
def test_twenty_thousand_lets_and_allocations_round_trip():
    body: t.Stmt = t.Evaluate(build.const(0))
    for number in range(10_000):
        body = t.LetStmt(Var(f"x{number}"), build.const(number), body)
        body = t.AllocBuffer(decl_buffer((number + 1,), name=f"B{number}"), body)
    assert_round_trip(t.PrimFunc((), body))


# --- names --------------------------------------------------------------------------------------------------------


def test_names_that_clash_are_told_apart_and_kept(golden):
    outer, inner, odd = Var("i"), Var("i"), Var("for")
    A = decl_buffer((4, 4, 4), name="i")
    body = loop(outer, 4, loop(inner, 4, loop(odd, 4, store(A, load(A, inner, outer, odd), outer, inner, odd))))
    golden(assert_round_trip(t.PrimFunc((A,), body)))


def test_one_name_in_sequence_needs_no_suffix():
    A = decl_buffer((4,), name="A")
    function = t.PrimFunc((A,), seq(*(loop(i, 4, store(A, 1.0, i)) for i in (Var("i"), Var("i")))))
    assert "i_1" not in assert_round_trip(function)


def test_a_variable_bound_twice_stays_one_variable():
    i = Var("i")
    A = decl_buffer((4,), name="A")
    twice = loop(i, 4, store(A, 1.0, i))
    function = t.PrimFunc((A,), t.SeqStmt((twice, twice)))
    read = parse(assert_round_trip(function))
    first, second = read.body.stmts
    assert first.var is second.var


def test_spans_point_at_what_was_printed():
    function = parse(MATMUL)
    shown = text(function)
    loops = [node for node in pre_order(function) if isinstance(node, t.For)]
    assert [shown.line_of(node) for node in loops[:3]] == [6, 6, 6]
    for node, span in shown.spans:
        if isinstance(node, (Var, t.Buffer)):
            assert shown.text[span.start : span.end] == node.name
    stores = [node for node in pre_order(function) if isinstance(node, t.BufferStore)]
    assert shown.lines[shown.line_of(stores[0]) - 1].strip().startswith("D[vi, vj] = T.float32(0.0)")


def test_any_node_has_text():
    function = parse(MATMUL)
    for node in pre_order(function):
        assert isinstance(script(node), str)


def test_unknown_nodes_and_values_are_told():
    class Odd:
        def __repr__(self):
            return "odd"

    function = t.PrimFunc((), t.Evaluate(build.const(0)), FrozenMap({"a": Odd()}))
    assert 'T.opaque("odd")' in script(function)
    with pytest.raises(ParseError, match="has no text"):
        parse(script(function))
    with pytest.raises(WorkbenchError) as caught:
        script(n.PrimExpr())
    assert caught.value.code == "E-TIR-PRINT"


# --- classic ways of writing --------------------------------------------------------------------------------------


CLASSIC = '''
# from tvm.script import tir as T
from workbench.script import tir as T

@T.prim_func
def classic(a: T.handle, B: "T.Buffer((m, 4), 'float32')", k: T.int32) -> None:
    """What it does."""
    m = T.int64()
    A = T.match_buffer(a, (m, 4), "float32", strides=(4, 1))
    for i in range(m):
        for j in T.serial(0, 4):
            with T.block():
                vi = T.axis.spatial(m, i)
                vj = T.axis.spatial((0, 4), j)
                T.reads([A[vi, vj]])
                T.writes(B[vi, 0:4])
                B[vi, vj] = A[vi, vj] * 2 + 1
    pass
'''


def test_classic_spellings_are_read(golden):
    golden(script(parse(CLASSIC)))


def test_prim_func_reads_a_python_function():
    from workbench.tir.language import T

    @prim_func
    def double(A: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            A[i] = A[i] * T.float32(2)

    assert isinstance(double, t.PrimFunc)
    assert double.attrs["global_symbol"] == "double"

    @T.prim_func(private=True)
    def other(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(2)

    assert "global_symbol" not in other.attrs


def test_prim_func_without_source_is_an_error():
    namespace: dict = {}
    exec("def f(A):\n    pass", namespace)
    with pytest.raises(WorkbenchError) as caught:
        prim_func(namespace["f"])
    assert caught.value.code == "E-TIR-SOURCE"


# --- errors -------------------------------------------------------------------------------------------------------

BODY = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), n: T.int64):\n    {}\n'
WRONG = {
    "unknown-name": "A[i] = 1.0",
    "near-name": "for ii in T.serial(4):\n        A[i] = 1.0",
    "rank": "A[0, 1] = 1.0",
    "no-loop": "for i in enumerate(3):\n        pass",
    "misspelt-loop": "for i in T.seriel(3):\n        pass",
    "grid-count": "for i, j in T.grid(3):\n        pass",
    "import": "import os",
    "call": "T.evaluate(print(1))",
    "lambda": "T.evaluate(lambda: 0)",
    "attribute": "T.evaluate(n.shape)",
    "unknown-intrinsic": "T.evaluate(T.exq(n))",
    "arity": "T.evaluate(T.exp(n, n))",
    "keyword": "T.evaluate(T.exp(n, dtyp=1))",
    "literal-range": "T.evaluate(T.int8(300))",
    "float-for-integer": "T.evaluate(T.int8(1.5))",
    "integer-division": "T.evaluate(n / n)",
    "not-a-condition": "T.evaluate(not n)",
    "slice": "T.evaluate(A[0:3])",
    "bare-buffer": "T.evaluate(A)",
    "axis-outside-block": "vi = T.axis.spatial(4, n)",
    "where-outside-block": "T.where(n < 3)",
    "init-outside-block": "with T.init():\n        pass",
    "remap-of-no-loop": 'with T.block("b"):\n        vi, vj = T.axis.remap("SS", [n, n])',
    "remap-kinds": 'with T.block("b"):\n        vi, vj = T.axis.remap("SX", [n, n])',
    "unknown-with": "with open('x'):\n        pass",
    "expression-alone": "n + 1",
    "return": "return n",
    "two-targets": "x = y = 1",
    "chained-target": "n.x = 1",
    "bad-dtype": "x: T.let[T.int63] = 1",
    "bad-target": 'T.func_attr({"target": T.target("no-such-target")})',
    "attr-key": "T.func_attr({1: 2})",
    "ramp-lanes": "T.evaluate(T.ramp(n, 1, 0))",
    "power": "T.evaluate(n ** 2)",
    "is": "T.evaluate(n is n)",
    "needs-dtype": 'T.evaluate(T.call_extern("f"))',
    "own-abbreviation": "e0: T.expr = e0 + 1\n    T.evaluate(e0)",
    "while-else": "while n < 3:\n        pass\n    else:\n        pass",
    "star": "T.evaluate(T.exp(*n))",
    "syntax": "A[0] = = 1",
    "bad-indent": "A[0] = 1.0\n      A[0] = 1.0",
    "unclosed": "A[0] = (1.0",
    "unknown-syntax": "T.evaluate([n for n in A])",
    "buffer-without-shape": "B = T.alloc_buffer()",
    "negative-lanes": "T.evaluate(T.broadcast(1.0, -1))",
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_text_is_refused_with_a_place(name, golden):
    with pytest.raises(ParseError) as caught:
        parse(BODY.format(WRONG[name]))
    error = caught.value
    assert error.code == "E-TIR-PARSE"
    assert error.line >= 3 and error.column >= 1
    assert str(error).count("\n") <= 6
    golden(str(error))


HEADS = {
    "nothing": "",
    "comment": "# nothing\n",
    "no-decorator": "def f():\n    pass\n",
    "two-functions": "@T.prim_func\ndef f():\n    pass\n\n@T.prim_func\ndef g():\n    pass\n",
    "statement": "x = 1\n",
    "parameter-without-type": "@T.prim_func\ndef f(A):\n    pass\n",
    "odd-parameter": "@T.prim_func\ndef f(A: int):\n    pass\n",
    "default": "@T.prim_func\ndef f(n: T.int64 = 3):\n    pass\n",
    "unknown-shape": '@T.prim_func\ndef f(A: T.Buffer((k,), "float32")):\n    pass\n',
    "unknown-option": "@T.prim_func(fast=True)\ndef f():\n    pass\n",
    "same-parameters": "@T.prim_func\ndef f(n: T.int64, m: T.int64, n: T.int64):\n    pass\n",
    "class-with-statement": "@I.ir_module\nclass M:\n    x = 1\n",
    "same-functions": "class M:\n" + 2 * "    @T.prim_func\n    def f():\n        pass\n",
}


@pytest.mark.parametrize("name", sorted(HEADS))
def test_wrong_heads_are_refused(name, golden):
    with pytest.raises(ParseError) as caught:
        parse(HEADS[name])
    golden(str(caught.value))


@pytest.mark.parametrize(
    "junk",
    [
        b"\xff\xfe\x00junk",
        "\x00",
        "@T.prim_func\ndef f():\n    T.evaluate(\x00)",
        "\ud800",
        "a" * 1_000_000,
        "(" * 100_000 + ")" * 100_000,
        "-" * 100_000 + "1",
        "not " * 50_000 + "x",
        "a+" * 100_000 + "a",
        "[" * 100_000,
        "x." * 50_000 + "y",
        "@T.prim_func\ndef f():\n    T.evaluate(" + "(" * 100_000,
        "f(" * 5_000,
        "lambda: " * 20_000,
        "if x:\n" * 3,
        "".join(" " * k + "if x:\n" for k in range(150)),
        "\t x\n  y",
        "\x0c\x0b",
        "@T.prim_func\ndef f():\n    T.evaluate(" + "1" * 10_000 + ")",
        'f"{' * 1000,
        "0x" + "f" * 100_000,
        "'" * 99_999,
        "a if b else " * 20_000 + "c",
        "{" * 300 + "}" * 300,
        "x = " * 50_000 + "1",
        "😀",
        "\u202e",
        "@T.prim_func\ndef f():\n    T.evaluate(" + "+".join(["T.exp(1.0)"] * 3000) + ")",
    ],
    ids=map(str, range(28)),
)
def test_junk_gives_the_one_error(junk):
    with pytest.raises(ParseError) as caught:
        parse(junk)
    assert caught.value.code == "E-TIR-PARSE"
    assert all(len(line) < 500 for line in str(caught.value).split("\n"))


@settings(max_examples=examples(150))
@given(st.integers(0, 10**9))
def test_damaged_text_is_read_or_refused(seed):
    chance = random.Random(seed)
    words = list(MATMUL)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(words))
        choice = chance.random()
        if choice < 0.4:
            del words[place : place + chance.randint(1, 6)]
        elif choice < 0.8:
            words[place] = chance.choice(list("()[]{},.:=+-*/%<>'\"\n\t 0aT\x00é"))
        else:
            begin = chance.randrange(len(words))
            words[place:place] = words[begin : begin + 20]
    try:
        made = parse("".join(words))
    except ParseError:
        return
    assert same(parse(script(made)), made) or isinstance(made, IRModule)


def test_text_must_be_text():
    with pytest.raises(WorkbenchError):
        parse(3)  # type: ignore[arg-type]


def test_windows_line_ends_and_marks_are_read():
    plain = parse(MATMUL)
    assert same(parse("\ufeff" + MATMUL.replace("\n", "\r\n")), plain)
    assert same(parse(MATMUL.encode()), plain)
