"""Relay's script: what it looks like, exact round trips, refusals with a place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.nightly import examples
from tests.relay.generate import programs
from tests.relay.programs import chain, let_chain, list_module, mixed_function, network, sum_module
from workbench import relay
from workbench.arith.nodes import Var as Dimension
from workbench.core.dtype import DataType
from workbench.core.equal import first_difference, same
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import FrozenMap
from workbench.core.tensor import Tensor
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t
from workbench.relay.ir.operator import Operator, attribute, operator
from workbench.relay.ir.script import constants_of, parse, script, text


def difference(left, right) -> str | None:
    parts = [(one.functions, one.type_definitions) if isinstance(one, IRModule) else one for one in (left, right)]
    return first_difference(*parts, names=True, map_free_variables=True)


def assert_round_trip(program) -> str:
    written = script(program)
    again = parse(written, constants_of(program))
    assert difference(program, again) is None, written
    assert script(again) == written
    return written


@pytest.mark.parametrize("make", [network, list_module, sum_module, mixed_function])
def test_programs_read_back(make, golden) -> None:
    golden(assert_round_trip(make()), suffix=".py")


@settings(max_examples=examples(150))
@given(function=programs())
def test_random_programs_read_back(function: e.Function) -> None:
    assert_round_trip(function)


@pytest.mark.slow
@pytest.mark.parametrize("make", [chain, let_chain])
def test_chains_read_back(make) -> None:
    function = make(20_000)
    assert same(parse(script(function)), function)


def test_names_that_clash_or_are_no_identifiers() -> None:
    shape = t.TensorType((2,))
    params = tuple(e.Var(name, shape) for name in ("x", "x", "conv/w:0", "for", "", "v0", "R", "größe", "f0"))
    body = e.Tuple((*params, relay.exp(params[0]), e.Function((e.Var("x"),), params[1])))
    assert_round_trip(e.Function(params, body))


def test_symbolic_shapes_and_type_parameters() -> None:
    n, other, a = Dimension("n"), Dimension("n"), t.TypeVar("A")
    shapes = [(n, 3), (n * 2 + 1, other), (t.Any(), n // 4, n % 3), (n - (other - 1), 0)]
    params = tuple(e.Var(f"p{index}", t.TensorType(shape, "int8")) for index, shape in enumerate(shapes))
    held = e.Var("held", t.FuncType((a, t.RefType(a)), t.TupleType((a,)), ()))
    poly = e.Var("poly", t.FuncType((b := t.TypeVar("B"),), b, (b,)))
    unknown = e.Var("unknown", t.TupleType((t.IncompleteType(), t.TypeCall(t.GlobalTypeVar("List"), (a,)))))
    assert_round_trip(e.Function((*params, held, poly, unknown), params[0], t.TensorType((n,)), (a,)))


def test_free_variables_and_bare_expressions() -> None:
    free = e.Var("free", t.TensorType((2,)))
    assert_round_trip(relay.add(free, free))
    assert_round_trip(e.Function((), e.Tuple((free, e.Var("free")))))
    assert_round_trip(e.const(3))
    assert_round_trip(free)


DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint64", "bool", "float8_e4m3fn"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_of_every_dtype(dtype: str) -> None:
    kind = DataType(dtype).to_numpy()
    values = np.array([0, 1, 0.1, 100.3, 1e-3]).astype(kind)
    tensors = [Tensor.of(values), Tensor.of(values[1]), Tensor.of(values[:0]), Tensor.full((3, 4), values[2], dtype)]
    tensors += [Tensor.of(np.zeros((40, 2), kind)), Tensor.of(values.reshape(1, 5, 1))]
    assert_round_trip(e.Function((), e.Tuple(tuple(e.Constant(data) for data in tensors))))


def test_special_floats_keep_their_bits() -> None:
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324], "float64")
    payload = np.array([0x7FC00001], "uint32").view("float32")
    assert_round_trip(e.Function((), e.Tuple((e.Constant(Tensor.of(odd)), e.Constant(Tensor.of(payload))))))


def test_large_constants_are_named() -> None:
    data = e.const(np.arange(100, dtype="float32"))
    written = script(e.Function((), data))
    assert data.data.fingerprint in written
    with pytest.raises(WorkbenchError, match="is not in the table"):
        parse(written)


def test_lazy_fills_stay_lazy() -> None:
    fill = e.Constant(Tensor.full((1 << 20, 1 << 10), 0.5, "float32"))
    again = parse(script(e.Function((), fill)))
    assert again.body.data.fill_value == 0.5


@operator("test.script.all-kinds", override=True)
class AllKinds(Operator):
    """An operator with an attribute of any value."""

    value: object = attribute(None, "anything")

    def infer(self, *x: t.Type) -> t.Type:
        return t.TensorType(())


VALUES = [
    1, -1, True, 1.5, -0.0, 1e300, float("inf"), "text", 'a "quoted" \\ text\n', b"bytes", (), (1,), (1, (2, "x")),
    DataType("float32"), FrozenMap({"a": (1,), "b c": None}), np.float32(0.1), np.int8(-3), t.TensorType((2,)), t.Any(),
    t.Kind.SHAPE_VAR, Tensor.of([1.0, 2.0], "float32"), Dimension("n") * 2,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_attribute_values_are_exact(value: object) -> None:
    assert_round_trip(e.Function((), e.Call(AllKinds(value), ())))
    assert_round_trip(e.Function((), e.Tuple(()), None, (), FrozenMap({"value": value})))


def test_attribute_value_without_text() -> None:
    with pytest.raises(WorkbenchError, match="has no text"):
        script(e.Function((), e.Call(AllKinds(object()), ())))


def test_matches_with_annotations_wildcards_and_no_clauses() -> None:
    kind = t.TypeCall(t.GlobalTypeVar("we ird"), ())
    x, inner = e.Var("x", kind), e.Var("inner", t.TensorType((2,)))
    pattern = e.PatternConstructor(e.Constructor("C", "we ird"), (e.PatternVar(inner), e.PatternWildcard()))
    clauses = (e.Clause(pattern, inner), e.Clause(e.PatternTuple((e.PatternVar(e.Var("a")), e.PatternTuple(()))), x))
    whole = e.Tuple((e.Match(x, clauses, False), e.Match(x, (), True), e.Match(x, (), False)))
    assert_round_trip(e.Function((x,), whole))


def test_blocks_share_what_both_need() -> None:
    x = relay.var("x", shape=(2,))
    shared = relay.exp(x)
    branch = e.If(e.const(True), relay.negative(shared), relay.tanh(shared))
    written = assert_round_trip(e.Function((x,), branch))
    assert written.index("R.exp") < written.index("if ")


def test_spans_lead_from_text_to_nodes() -> None:
    x = relay.var("x", shape=(2,))
    inner = relay.exp(x)
    outer = relay.negative(inner)
    shown = text(e.Function((x,), outer))
    line = shown.line_of(outer)
    assert line is not None and shown.lines[line - 1].strip() == "v1 = R.negative(v0)"
    assert shown.at(line, shown.lines[line - 1].index("R.negative") + 1) is outer
    assert "^" * len("R.exp(x)") in shown.underlined([inner])


def test_nested_calls_are_read() -> None:
    function = parse("@R.function\ndef f(x: R.Tensor((2,))):\n    return R.nn.relu(R.add(x, R.const(1.0)))\n")
    assert function.body.op.name == "nn.relu" and function.body.args[0].op.name == "add"


HEAD = '@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n    '
REFUSALS = {
    "syntax": "def main(:",
    "nothing": "",
    "two": "@R.function\ndef f():\n    return ()\n@R.function\ndef g():\n    return ()\n",
    "no-decorator": "def main(x):\n    return x",
    "no-return": HEAD + "y = R.exp(x)",
    "after-return": HEAD + "return x\n    y = x",
    "unknown-name": HEAD + "return xx",
    "unknown-operator": HEAD + "return R.nn.rellu(x)",
    "unknown-attribute": HEAD + "return R.nn.softmax(x, axes=1)",
    "bad-attribute": HEAD + 'return R.reshape(x, newshape="a")',
    "missing-attribute": HEAD + "return R.reshape(x)",
    "number": HEAD + "return R.add(x, 1.0)",
    "statement": HEAD + "for i in x:\n        pass\n    return x",
    "lambda": HEAD + "return (lambda: x)()",
    "if-without-else": HEAD + "if x:\n        y = x\n    return x",
    "branches-differ": HEAD + "if x:\n        y = x\n    else:\n        z = x\n    return x",
    "block-without-result": HEAD + "with R.block():\n        y: R.let = x\n    return x",
    "return-in-branch": HEAD + "if x:\n        return x\n    else:\n        y = x\n    return y",
    "unpacking": HEAD + "a, b = x\n    return a",
    "annotation": HEAD + "y: int = x\n    return y",
    "dtype": '@R.function\ndef f(x: R.Tensor((2,), "flot32")):\n    return x',
    "type": "@R.function\ndef f(x: int):\n    return x",
    "dimension": '@R.function\ndef f(x: R.Tensor((n,), "int8")):\n    return x',
    "negative-dimension": '@R.function\ndef f(x: R.Tensor((-1,), "int8")):\n    return x',
    "defaults": "@R.function\ndef f(x=1):\n    return x",
    "ragged-constant": HEAD + 'return R.const([[1], [2, 3]], "int8")',
    "constant-range": HEAD + 'return R.const(300, "int8")',
    "tuple-index": HEAD + "return (x,)[x]",
    "keyword-to-function": HEAD + "return G.f(x, axis=1)",
    "pattern": HEAD + "match R.complete(x):\n        case 1:\n            y = x\n    return y",
    "match-form": HEAD + "match x:\n        case _:\n            y = x\n    return y",
    "import": "import os",
    "module-member": "@I.ir_module\nclass M:\n    x = 1",
    "type-member": "@R.type\nclass M:\n    1 + 1",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str, golden) -> None:
    with pytest.raises(WorkbenchError) as caught:
        parse(REFUSALS[name])
    assert caught.value.code == "E-RELAY-PARSE" and caught.value.where.startswith("line ")
    golden(str(caught.value))


@pytest.mark.parametrize(
    "source",
    [
        HEAD + "return " + "(" * 300 + "x" + ")" * 300,
        HEAD + "return " + "R.exp(" * 5000 + "x" + ")" * 5000,
        "@R.function\ndef f(x: R.Tensor((" + "1+" * 20_000 + '1,), "int8")):\n    return x',
        "".join(f"{' ' * depth}if x:\n" for depth in range(200)) + " " * 200 + "pass",
        "\0",
        "9" * 10_000,
    ],
    ids=["parentheses", "calls", "sum", "blocks", "nul", "digits"],
)
def test_deep_or_odd_text_is_refused(source: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        parse(source)
    assert caught.value.code == "E-RELAY-PARSE"
