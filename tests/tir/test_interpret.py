"""The checking interpreter: numbers against NumPy, dtypes against their definition, every error with its place."""

from __future__ import annotations

import math
import time

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nightly import examples
from workbench.arith import nodes as n
from workbench.arith.intrinsics import INTRINSICS
from workbench.arith.nodes import Var
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.tir import nodes as t
from workbench.tir.build import decl_buffer, load, loop, seq, store
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_intrinsics import lower_intrinsics

MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((m, k), "float32"), B: T.Buffer((k, 12), "float32"), C: T.Buffer((m, 12), "float32")):
    m = T.int64()
    k = T.int64()
    D = T.alloc_buffer((m, 12), "float32", scope="local")
    for i, j, r in T.grid(m, 12, k):
        with T.block("D"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            T.reads(A[vi, vr], B[vr, vj])
            T.writes(D[vi, vj])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vr] * B[vr, vj]
    for i in T.parallel(m):
        for j in T.vectorized(3):
            C[i, T.ramp(j * 4, 1, 4)] = T.max(D[i, T.ramp(j * 4, 1, 4)], T.broadcast(T.float32(0), 4))
"""
CHECKS = {"check_regions": True, "check_races": True}


def arrays(m=5, k=7):
    chance = np.random.default_rng(0)
    return (
        chance.standard_normal((m, k)).astype("f4"),
        chance.standard_normal((k, 12)).astype("f4"),
        np.zeros((m, 12), "f4"),
    )


@pytest.mark.parametrize("checks", [{}, CHECKS])
def test_matmul_sums_in_float32_in_order(checks):
    a, b, c = arrays()
    interpret(parse(MATMUL), a, b, c, **checks)
    expected = np.zeros((5, 12), np.float32)
    for r in range(7):
        expected += a[:, r : r + 1] * b[r : r + 1]
    np.testing.assert_array_equal(c, np.maximum(expected, 0))


ERRORS = {
    "bounds": ("T.parallel(m)", "T.serial(m + 1)", {}),
    "bounds-below": ("A[vi, vr] * B", "A[vi, vr - 1] * B", {}),
    "bounds-vector": ("T.vectorized(3)", "T.vectorized(4)", {}),
    "uninitialised": ("D[vi, vj] = T.float32(0)", "T.evaluate(0)", {}),
    "uninitialised-vector": ("in T.grid(m, 12, k)", "in T.grid(m, 11, k)", {}),
    "region-read": ("B[vr, vj])", "B[vr, vj + 1])", CHECKS),
    "region-write": ("T.writes(D[vi, vj])", "T.writes(D[vi, 0:vj])", CHECKS),
    "region-missing": ("T.reads(A[vi, vr], B[vr, vj])", "T.reads(A[vi, vr])", CHECKS),
    "race-write": ("C[i, T.ramp(j * 4, 1, 4)] =", "C[0, T.ramp(j * 4, 1, 4)] =", CHECKS),
    "race-read": ("T.max(D[i,", "T.max(C[m - 1 - i,", CHECKS),
    "race-vectorized": ("T.ramp(j * 4, 1, 4)] = ", "T.ramp(j * 3, 1, 4)] = ", CHECKS),
    "domain": (
        'vi, vj, vr = T.axis.remap("SSR", [i, j, r])',
        "vi = T.axis.spatial(m, i + 1)\n            vj = T.axis.spatial(12, j)\n            vr = T.axis.reduce(k, r)",
        {},
    ),
    "assert": ("C[i, T.ramp", 'assert i < 2, "too far"\n            C[i, T.ramp', {}),
    "steps": ("T.grid(m, 12, k)", "T.grid(m, 12, k)", {"max_steps": 50}),
    "divide": ("D[vi, vj] = T.float32(0)", "D[vi // (vj - 3), vj] = T.float32(0)", {}),
}


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_errors_of_the_program_say_where(name, golden):
    old, new, options = ERRORS[name]
    assert old in MATMUL
    with pytest.raises(WorkbenchError) as caught:
        interpret(parse(MATMUL.replace(old, new)), *arrays(), **options)
    golden(str(caught.value))


def test_an_array_is_unchanged_after_an_error():
    a, b, c = arrays()
    with pytest.raises(WorkbenchError):
        interpret(parse(MATMUL.replace("T.parallel(m)", "T.serial(m + 1)")), a, b, c)
    assert not c.any()


@pytest.mark.parametrize(
    "change",
    [
        lambda a, b, c: (a, b),
        lambda a, b, c: (a, b, c.astype("f8")),
        lambda a, b, c: (a, b, c[0]),
        lambda a, b, c: (a, b, c[:4]),
        lambda a, b, c: (a, b[:5], c),
        lambda a, b, c: (a, b, c.tolist()),
        lambda a, b, c: (a, c[:, :7], c),
        lambda a, b, c: (a, b, np.broadcast_to(np.float32(0), c.shape)),
        lambda a, b, c: (c[:, :7].astype("f4"), b, "x"),
    ],
)
def test_unfit_arguments_are_refused(change):
    with pytest.raises(WorkbenchError) as caught:
        interpret(parse(MATMUL), *change(*arrays()))
    assert caught.value.code == "E-TIR-ARGUMENT"


def test_memory_given_twice_is_refused():
    function = parse(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n    B[0] = A[1]\n'
    )
    a = np.zeros(4, "f4")
    with pytest.raises(WorkbenchError) as caught:
        interpret(function, a, a)
    assert caught.value.code == "E-TIR-ARGUMENT"
    interpret(function, a, a.copy())


@pytest.mark.parametrize(("kind", "value"), [("int8", 200), ("int64", 1.5), ("int32", "x"), ("bool", 2)])
def test_unfit_scalars_are_refused(kind, value):
    function = t.PrimFunc((Var("s", DataType(kind)),), t.Evaluate(n.IntImm(0)))
    with pytest.raises(WorkbenchError) as caught:
        interpret(function, value)
    assert caught.value.code == "E-TIR-ARGUMENT"


# --- numbers ------------------------------------------------------------------------------------------------------

INTEGERS = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


def computed(make, *values, dtype, lanes=1):
    """One expression of scalars (or of vectors of equal lanes), run by the interpreter."""
    kinds = [DataType(value.dtype.name) for value in values]
    buffers = [decl_buffer((lanes,), kind, f"a{index}") for index, kind in enumerate(kinds)]
    result = decl_buffer((lanes,), dtype, "result")
    where = n.IntImm(0) if lanes == 1 else n.Ramp(n.IntImm(0), n.IntImm(1), lanes)
    body = t.BufferStore(result, make(*(t.BufferLoad(buffer, (where,)) for buffer in buffers)), (where,))
    found = np.zeros(lanes, DataType(dtype).to_numpy())
    interpret(
        t.PrimFunc((*buffers, result), body), *(np.broadcast_to(value, (lanes,)).copy() for value in values), found
    )
    return found[0]


def wrapped(value, kind):
    low, high = DataType(kind).limits()
    return (value - low) % (high - low + 1) + low


@settings(max_examples=examples(120))
@given(st.sampled_from(INTEGERS), st.data(), st.sampled_from([1, 4]))
def test_integers_wrap(kind, data, lanes):
    low, high = DataType(kind).limits()
    pick = st.one_of(st.integers(low, high), st.sampled_from([low, high, 0, 1]))
    a, b = data.draw(pick), data.draw(pick)
    x, y = np.array(a, kind), np.array(b, kind)
    table = {n.Add: a + b, n.Sub: a - b, n.Mul: a * b, n.Min: min(a, b), n.Max: max(a, b)}
    if b:
        truncated = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        table |= {n.FloorDiv: a // b, n.FloorMod: a % b, n.Div: truncated, n.Mod: a - truncated * b}
    cls = data.draw(st.sampled_from(sorted(table, key=lambda cls: cls.__name__)))
    if lanes > 1 and cls in (n.FloorDiv, n.Div) and a == low and b == -1:
        return
    assert int(computed(cls, x, y, dtype=kind, lanes=lanes)) == wrapped(table[cls], kind)
    comparison = data.draw(
        st.sampled_from([(n.LT, a < b), (n.LE, a <= b), (n.EQ, a == b), (n.NE, a != b), (n.GT, a > b), (n.GE, a >= b)])
    )
    assert bool(computed(comparison[0], x, y, dtype="bool", lanes=lanes)) == comparison[1]


FLOATS = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@settings(max_examples=examples(150))
@given(
    st.sampled_from(sorted(FLOATS)),
    st.floats(width=32),
    st.floats(width=32),
    st.sampled_from([1, 4]),
    st.sampled_from([n.Add, n.Sub, n.Mul, n.Div]),
)
def test_floats_round_once_an_operation(kind, a, b, lanes, cls):
    make = FLOATS[kind]
    with np.errstate(all="ignore"):
        x, y = np.array(a).astype(make), np.array(b).astype(make)
        operation = {n.Add: np.add, n.Sub: np.subtract, n.Mul: np.multiply, n.Div: np.divide}[cls]
        # Double precision is enough for one correct rounding of the narrower types.
        expected = operation(x.astype(np.float64), y.astype(np.float64)).astype(make)
    found = computed(cls, x, y, dtype=kind, lanes=lanes)
    if np.isnan(expected.astype(np.float64)):
        assert np.isnan(np.float64(found))
    else:
        assert found.tobytes() == expected.tobytes() or (found == expected == 0)


@pytest.mark.parametrize("lanes", [1, 4])
def test_minimum_and_maximum_keep_nan(lanes):
    nan, one = np.array(np.nan, "f4"), np.array(1, "f4")
    for cls in (n.Min, n.Max):
        assert np.isnan(computed(cls, nan, one, dtype="float32", lanes=lanes))
        assert np.isnan(computed(cls, one, nan, dtype="float32", lanes=lanes))


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (300.7, "float32", "int8", 127),
        (-300.7, "float32", "uint8", 0),
        (math.nan, "float32", "int32", 0),
        (-1.9, "float64", "int32", -1),
        (math.inf, "float32", "int64", 2**63 - 1),
        (1e30, "float64", "uint64", 2**64 - 1),
        (200, "int32", "int8", -56),
        (-1, "int8", "uint32", 2**32 - 1),
        (7, "int32", "bool", True),
        (0.0, "float32", "bool", False),
        (16777217, "int32", "float32", 16777216.0),
        (2**62 + 2**38 + 1, "int64", "float32", float(np.float32(2**62 + 2**39))),
        (True, "bool", "int32", 1),
        (3, "int32", "float16", 3.0),
    ],
)
@pytest.mark.parametrize("lanes", [1, 4])
def test_conversions(value, source, target, expected, lanes):
    made = np.array(value, DataType(source).to_numpy())
    assert (
        computed(lambda x: n.Cast(DataType(target).with_lanes(lanes), x), made, dtype=target, lanes=lanes) == expected
    )


@pytest.mark.parametrize(
    "name", sorted(name for name, entry in INTRINSICS.items() if entry.evaluate is not None and entry.arity == 1)
)
@pytest.mark.parametrize("lanes", [1, 4])
def test_intrinsics_of_floats_match_double_precision(name, lanes):
    entry = INTRINSICS[name]
    if name in ("bitwise_not", "popcount"):
        value = np.array(90, "int32")
        expected = {"bitwise_not": ~90, "popcount": 4}[name]
        assert computed(lambda x: n.Call(x.dtype, name, (x,)), value, dtype="int32", lanes=lanes) == expected
        return
    value = np.array(1.25 if name == "acosh" else 0.625, "f4")
    if entry.result.name == "BOOL":
        assert (
            not computed(
                lambda x: n.Call(DataType("bool").with_lanes(lanes), name, (x,)), value, dtype="bool", lanes=lanes
            )
            or name == "isfinite"
        )
        return
    if name == "likely":
        return
    found = computed(lambda x: n.Call(x.dtype, name, (x,)), value, dtype="float32", lanes=lanes)
    exact = float(entry.evaluate(np.float64(value)))
    assert abs(found - exact) <= 4 * np.spacing(np.float32(abs(exact) or 1e-30))


def test_fused_multiply_add_rounds_once():
    a = np.float32(1 + 2**-12)
    found = computed(
        lambda x, y, z: n.Call(x.dtype, "fma", (x, y, z)),
        np.array(a),
        np.array(a),
        np.array(np.float32(-1)),
        dtype="float32",
    )
    assert float(found) == float(np.float32(float(a) * float(a) - 1))
    assert found != np.float32(np.float32(a * a) - np.float32(1))


def test_shifts_and_bits():
    x, y = np.array(-5, "int8"), np.array(1, "int8")
    for name, expected in (
        ("shift_left", -10),
        ("shift_right", -3),
        ("bitwise_and", 1),
        ("bitwise_or", -5),
        ("bitwise_xor", -6),
    ):
        assert computed(lambda a, b, op=name: n.Call(a.dtype, op, (a, b)), x, y, dtype="int8") == expected


def test_reinterpret_shuffle_and_lane_reductions():
    one = np.array(1.0, "f4")
    assert computed(lambda x: n.Call(DataType("int32"), "reinterpret", (x,)), one, dtype="int32") == 0x3F800000
    source = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((5,), "int32")):
    B[0] = T.reduce_add(A[T.ramp(0, 1, 4)], dtype="int32")
    B[1] = T.reduce_max(A[T.ramp(0, 1, 4)], dtype="int32")
    B[2] = T.reduce_min(A[T.ramp(0, 1, 4)], dtype="int32")
    B[3] = T.shuffle(A[T.ramp(0, 1, 4)], 2, dtype="int32")
    B[4] = T.Let(x, A[0] + T.int32(1), x * x)
"""
    a, b = np.array([5, -2, 9, 4], "i4"), np.zeros(5, "i4")
    interpret(parse(source), a, b)
    assert b.tolist() == [16, 9, -2, 9, 36]


# --- control, calls, storage --------------------------------------------------------------------------------------


def test_arms_that_are_not_chosen_do_not_run():
    source = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        B[i] = T.if_then_else(i < 4, A[i] * A[i] + A[i], T.float32(-1))
"""
    a, b = np.arange(4, dtype="f4"), np.zeros(8, "f4")
    interpret(parse(source), a, b)
    assert b.tolist() == [0, 2, 6, 12, -1, -1, -1, -1]


def test_while_if_let_and_return():
    source = """
@T.prim_func
def f(A: T.Buffer((1,), "int64"), n: T.int64):
    A[0] = 1
    while A[0] < n:
        twice: T.let[T.int64] = A[0] * 2
        if twice > 100:
            T.evaluate(T.ret(T.int32(7), dtype="int32"))
        else:
            A[0] = twice
"""
    a = np.zeros(1, "i8")
    assert interpret(parse(source), a, 50) == 0 and a[0] == 64
    assert interpret(parse(source), a, 500) == 7 and a[0] == 64


def test_strides_and_offsets():
    source = """
@T.prim_func
def f(A: T.Buffer((2, 3), "float32", strides=(8, 2), elem_offset=1), B: T.Buffer((3, 2), "float32")):
    C = T.allocate((3, 2), "float32", strides=(1, 3))
    for i, j in T.grid(2, 3):
        C[j, i] = A[i, j]
    for i, j in T.grid(3, 2):
        B[i, j] = C[i, j]
"""
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.zeros((3, 2), "f4")
    interpret(parse(source), a, b)
    np.testing.assert_array_equal(b, a.T)


CALLEE = """
@I.ir_module
class Module:
    @T.prim_func
    def row(A: T.Buffer((k,), "float32"), B: T.Buffer((k,), "float32"), scale: T.float32):
        k = T.int64()
        for i in T.parallel(k):
            B[i] = A[i] * scale

    @T.prim_func
    def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
        C = T.alloc_buffer((3, 4), "float32")
        for i in T.serial(3):
            T.evaluate(T.call_tir("row", T.address_of(A[i, 0]), T.address_of(C[i, 0]), T.float32(2), 4))
            T.evaluate(T.poll_cancel())
            T.evaluate(T.call_tir("row", T.address_of(C[i, 0]), T.address_of(B[i, 0]), T.float32(3), 4))
"""


def test_calls_go_through_the_module():
    module = parse(CALLEE)
    assert isinstance(module, IRModule)
    a, b = np.arange(12, dtype="f4").reshape(3, 4), np.zeros((3, 4), "f4")
    interpret(module["main"], a, b, module=module, check_races=True)
    np.testing.assert_array_equal(b, a * 6)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("T.float32(3), 4))", "T.float32(3), 5))", "E-TIR-UNINITIALISED"),
        ("T.float32(3), 4))", "T.float32(3), 13))", "E-TIR-BOUNDS"),
        ('"row", T.address_of(C[i, 0])', '"rwo", T.address_of(C[i, 0])', "E-TIR-CALL"),
        ("T.float32(3), 4))", "T.float32(3)))", "E-TIR-ARGUMENT"),
        ("(B[i, 0])", "(C[i, 0])", None),
        ('C = T.alloc_buffer((3, 4), "float32")', 'C = T.alloc_buffer((3, 4), "float64")', "E-TIR-ARGUMENT"),
        ("T.address_of(C[i, 0]), T.float32(2)", "3, T.float32(2)", "E-TIR-ARGUMENT"),
        ("T.address_of(A[i, 0])", "T.address_of(C[i, 0])", "E-TIR-UNINITIALISED"),
        ("T.address_of(A[i, 0])", "T.address_of(A[i + 3, 0])", "E-TIR-BOUNDS"),
    ],
)
def test_calls_are_checked(old, new, code):
    module = parse(CALLEE.replace(old, new))
    a, b = np.zeros((3, 4), "f4"), np.zeros((3, 4), "f4")
    if code is None:
        interpret(module["main"], a, b, module=module)
        return
    with pytest.raises(WorkbenchError) as caught:
        interpret(module["main"], a, b, module=module)
    assert caught.value.code == code


def test_calling_without_a_module_or_without_end():
    module = parse(CALLEE)
    a = np.zeros((3, 4), "f4")
    with pytest.raises(WorkbenchError) as caught:
        interpret(module["main"], a, a.copy())
    assert caught.value.code == "E-TIR-CALL"
    endless = parse(
        '@I.ir_module\nclass M:\n    @T.prim_func\n    def main():\n        T.evaluate(T.call_tir("main"))\n'
    )
    with pytest.raises(WorkbenchError) as caught:
        interpret(endless["main"], module=endless)
    assert caught.value.code == "E-TIR-INTERPRET"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (t.Evaluate(Var("x")), "E-TIR-UNDEFINED"),
        (store(decl_buffer((1,)), 1.0, 0), "E-TIR-UNDEFINED"),
        (t.Evaluate(n.Add(n.IntImm(1), n.IntImm(1, DataType("int32")))), "E-TIR-DTYPE"),
        (t.Evaluate(n.Call(DataType("int32"), "call_extern", (n.StringImm("puts"),))), "E-TIR-INTERPRET"),
        (t.Evaluate(n.Call(DataType("int32"), "no_such", ())), "E-TIR-INTERPRET"),
        (t.Block("b", (), (), (), (), None, t.Evaluate(n.IntImm(0))), "E-TIR-INTERPRET"),
        (t.AllocBuffer(decl_buffer((1,), "float32x4"), t.Evaluate(n.IntImm(0))), "E-TIR-INTERPRET"),
    ],
)
def test_what_cannot_run_is_refused(body, code):
    with pytest.raises(WorkbenchError) as caught:
        interpret(t.PrimFunc((), body))
    assert caught.value.code == code


def test_a_store_of_another_dtype_is_refused():
    A = decl_buffer((1,), "float32", "A")
    with pytest.raises(WorkbenchError) as caught:
        interpret(t.PrimFunc((A,), t.BufferStore(A, n.IntImm(1), (n.IntImm(0),))), np.zeros(1, "f4"))
    assert caught.value.code == "E-TIR-DTYPE"


def test_eighty_loops_and_long_chains_run():
    A = decl_buffer((1,), "int64", "A")
    body: t.Stmt = store(A, load(A, 0) + 1, 0)
    for level in range(60):
        body = loop(Var(f"i{level}"), 2 if level < 6 else 1, body)
    expr: n.PrimExpr = load(A, 0)
    for number in range(20_000):
        expr = n.Add(expr, n.IntImm(number % 3))
    a = np.zeros(1, "i8")
    interpret(t.PrimFunc((A,), seq(body, store(A, expr, 0))), a)
    assert a[0] == 64 + sum(number % 3 for number in range(20_000))


def test_too_deep_a_nest_is_told():
    body: t.Stmt = t.Evaluate(n.IntImm(0))
    for level in range(150):
        body = loop(Var(f"i{level}"), 1, body)
    with pytest.raises(WorkbenchError) as caught:
        interpret(t.PrimFunc((), body))
    assert caught.value.code == "E-TIR-INTERPRET"


def test_shared_parts_are_computed_once():
    A = decl_buffer((1,), "int64", "A")
    expr: n.PrimExpr = load(A, 0)
    for _ in range(200):
        expr = n.Add(expr, expr)
    a = np.ones(1, "i8")
    interpret(t.PrimFunc((A,), store(A, expr, 0)), a)
    assert a[0] == 0


def test_speed():
    function = parse(MATMUL)
    a, b, c = arrays(40, 100)
    interpret(function, a, b, c)
    begin = time.perf_counter()
    interpret(function, a, b, c)
    assert 40 * 12 * 100 / (time.perf_counter() - begin) > 150_000  # quiet machines reach 1.5 million a second


def test_a_value_of_its_own_in_a_masked_store_is_one_for_each_lane() -> None:
    """A float function written out binds vectors by let: they stayed vectors beside scalars (E-TIR-DTYPE)."""
    func = parse(
        '''@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    if T.ramp(0, 1, 8) < T.broadcast(5, 8):
        B[T.ramp(0, 1, 8)] = T.exp(A[T.ramp(0, 1, 8)])
'''
    )
    values, found, written_out = np.arange(8, dtype="f"), np.zeros(8, "f"), np.zeros(8, "f")
    interpret(func, values, found)
    interpret(lower_intrinsics(func), values, written_out)
    np.testing.assert_allclose(found, np.where(values < 5, np.exp(values), 0), rtol=1e-6)
    np.testing.assert_allclose(written_out, found, rtol=1e-6)
