"""An expression knows its type when it is asked: without inference over the program, or recursion, from any thread."""

from __future__ import annotations

import ast
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench import IRModule, relay
from workbench.core.equal import fingerprint, same
from workbench.core.errors import WorkbenchError
from workbench.core.transform import function_pass
from workbench.relay import transform
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.operator import OPERATORS, Operator, attribute, operator
from workbench.relay.ir.operator_type import operator_type
from workbench.relay.ir.plan import expressions
from workbench.relay.ir.script import script
from workbench.relay.ir.types import FuncType, IncompleteType, RefType, TensorType, TupleType

LONG = 20_000
RELU, ADD = OPERATORS["nn.relu"](), OPERATORS["add"]()
SQUARE = TensorType((2, 2))


def x(name: str = "x") -> e.Var:
    return e.Var(name, SQUARE)


def kinds() -> dict[str, tuple[e.Expr, Any]]:
    """Expressions made without a builder, and their types."""
    a, bound = x(), e.Var("bound")
    call = e.Call(ADD, (a, e.Call(RELU, (a,))))
    pair = e.Call(OPERATORS["split"](indices_or_sections=2), (call,))
    function = e.Function((a,), call)
    condition = e.Constant(relay.const(True, "bool").data)
    cell = e.RefCreate(call)
    return {
        "call": (call, SQUARE),
        "item": (e.TupleGetItem(pair, 1), TensorType((1, 2))),
        "tuple": (e.Tuple((call, pair)), TupleType((SQUARE, TupleType((TensorType((1, 2)), TensorType((1, 2))))))),
        "function": (function, FuncType((SQUARE,), SQUARE)),
        "function called": (e.Call(function, (call,)), SQUARE),
        "let": (e.Let(bound, call, e.Call(RELU, (bound,))), SQUARE),
        "if": (e.If(condition, call, a), SQUARE),
        "cell": (cell, RefType(SQUARE)),
        "read": (e.RefRead(cell), SQUARE),
        "write": (e.RefWrite(cell, a), TupleType(())),
    }


@pytest.mark.parametrize("kind", kinds())
def test_an_expression_knows_its_type(kind: str) -> None:
    expr, expected = kinds()[kind]
    assert expr.remembered_type is None
    assert expr.checked_type == expected == expr.remembered_type
    again, _ = kinds()[kind]
    assert infer_type(again) == expected


def deep(kind: str) -> e.Expr:
    a = x()
    if kind == "calls":
        for _ in range(LONG):
            a = e.Call(RELU, (a,))
        return a
    if kind == "tuples":
        for _ in range(LONG):
            a = e.TupleGetItem(e.Tuple((a, a)), 0)
        return a
    names = [e.Var(f"v{index}") for index in range(LONG)]
    values = [e.Call(RELU, (before,)) for before in [a, *names[:-1]]]
    made: e.Expr = names[-1]
    for name, value in zip(reversed(names), reversed(values), strict=True):
        made = e.Let(name, value, made)
    return e.Function((a,), made)


@pytest.mark.parametrize("kind", ["calls", "tuples", "lets"])
def test_long_chains_in_a_thread_with_a_small_stack(kind: str) -> None:
    program, found = deep(kind), []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(program.checked_type))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [FuncType((SQUARE,), SQUARE) if kind == "lets" else SQUARE]


def test_eight_threads_ask_at_once() -> None:
    program = deep("calls")
    nodes = list(expressions(program))
    start, wrong = threading.Barrier(8), []

    def ask(offset: int) -> None:
        start.wait()
        wrong.extend(node for node in nodes[offset::3] if node.checked_type != SQUARE)

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- what stays as it is ---


@pytest.mark.parametrize("kind", kinds())
def test_asking_changes_neither_text_nor_equality_nor_pickles(kind: str) -> None:
    def seen(expr: e.Expr) -> list[Any]:
        function = expr if isinstance(expr, e.Function) else e.as_function(expr)
        return [script(function), function.astext(), fingerprint(function), len(pickle.dumps(function))]

    asked, untouched = kinds()[kind][0], kinds()[kind][0]
    assert asked.checked_type is not None
    assert seen(asked) == seen(untouched)
    assert same(e.as_function(asked), e.as_function(untouched))
    assert pickle.loads(pickle.dumps(asked)).remembered_type is None or isinstance(asked, (e.Var, e.Constant))


# --- what cannot be told ---


def test_a_variable_without_a_type_is_told_of_later() -> None:
    unknown = e.Var("u")
    made = e.Call(RELU, (e.Call(RELU, (unknown,)),))
    assert made.type_or_none is None
    with pytest.raises(WorkbenchError) as caught:
        _ = made.checked_type
    assert caught.value.code == "E-TYPE-UNKNOWN"
    unknown.set_type(SQUARE)
    assert made.type_or_none == SQUARE


def test_inference_tells_what_operands_do_not() -> None:
    """A weight without annotation takes its type from the layer that it belongs to."""
    data, weight = e.Var("data", TensorType((2, 3))), e.Var("weight")
    made = e.Call(OPERATORS["nn.dense"](units=4), (data, weight))
    assert made.type_or_none is None
    infer_type(e.Function((data, weight), made))
    assert made.checked_type == TensorType((2, 4)) and weight.checked_type == TensorType((4, 3))


def test_an_open_annotation_tells_nothing() -> None:
    part = e.Var("part", TupleType((SQUARE, IncompleteType())))
    assert e.Tuple((part,)).type_or_none is None


def ill_typed() -> e.Call:
    return e.Call(ADD, (x(), e.Var("y", TensorType((3,)))))


def test_operands_that_do_not_fit_are_refused_when_asked() -> None:
    made = e.Call(RELU, (ill_typed(),))
    assert made.type_or_none is None
    for _ in range(2):
        with pytest.raises(
            WorkbenchError, match=r"add\(Tensor\[\(2, 2\), float32\], Tensor\[\(3\), float32\]\)"
        ) as caught:
            _ = made.checked_type
        assert caught.value.code == "E-TYPE-BROADCAST"


def test_builders_refuse_at_the_call() -> None:
    with pytest.raises(WorkbenchError) as caught:
        relay.add(x(), e.Var("y", TensorType((3,))))
    assert caught.value.code == "E-TYPE-BROADCAST"


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: e.Function((x(),), e.Call(RELU, (x(),)), TensorType((3,))), "E-TYPE-MISMATCH"),
        (lambda: e.If(relay.const(True, "bool"), x(), e.Var("y", TensorType((3,)))), "E-TYPE-MISMATCH"),
        (lambda: e.If(x(), x(), x()), "E-TYPE-CONDITION"),
        (lambda: e.Call(e.Function((x(),), x()), (e.Var("y", TensorType((3,))),)), "E-TYPE-MISMATCH"),
        (lambda: e.Let(e.Var("a", TensorType((3,))), x(), x()), "E-TYPE-MISMATCH"),
        (lambda: e.TupleGetItem(e.Tuple((x(),)), 1), "E-TYPE-INDEX"),
        (lambda: e.RefWrite(e.RefCreate(x()), e.Var("y", TensorType((3,)))), "E-TYPE-MISMATCH"),
    ],
)
def test_asking_hides_nothing_that_inference_refuses(build: Callable[[], e.Expr], code: str) -> None:
    program = build()
    assert program.type_or_none is None
    with pytest.raises(WorkbenchError) as caught:
        infer_type(program)
    assert caught.value.code == code


# --- how often operators are asked ---


@operator("typed.counted", override=True)
class Counted(Operator):
    """Counts how often it is asked for its type."""

    extent: int = attribute(2, "rows of the result")

    def infer(self, data: TensorType) -> TensorType:
        asked.append(self.extent)
        return TensorType((self.extent, *data.shape[1:]), data.dtype)


asked: list[int] = []


@pytest.fixture(autouse=True, scope="module")
def _registered_here_only() -> Iterator[None]:
    yield
    OPERATORS.remove("typed.counted")


def test_an_operator_is_asked_once_for_each_call() -> None:
    a: e.Expr = x()
    for _ in range(50):
        a = e.Call(Counted(), (a,))
    asked.clear()
    for node in expressions(a):
        assert node.checked_type == SQUARE
    assert len(asked) == 50
    untold: e.Expr = e.Var("u")
    for _ in range(50):
        untold = e.Call(Counted(), (untold,))
    asked.clear()
    assert all(node.type_or_none is None for node in expressions(untold)) and asked == []


def test_types_are_remembered_by_operator_attributes_and_operand_types() -> None:
    generous, transpose = TensorType((2, 3)), OPERATORS["transpose"]
    first = operator_type(transpose(axes=(1, 0)), [generous])
    assert operator_type(transpose(axes=(1, 0)), [TensorType((2, 3))]) is first
    assert operator_type(transpose(axes=(0, 1)), [generous]) == generous
    assert operator_type(transpose(axes=(1, 0)), [TensorType((2, 3), "int8")]) == TensorType((3, 2), "int8")
    two, one = TupleType((generous, generous)), TupleType((generous,))
    join = OPERATORS["concatenate"](axis=0)
    assert [operator_type(join, [fields]).shape[0] for fields in (two, one)] == [4, 2]  # type: ignore[attr-defined]


def test_an_operator_from_outside_may_change_its_mind() -> None:
    asked.clear()
    for extent in (3, 3):
        assert operator_type(Counted(extent=extent), [SQUARE]) == TensorType((3, 2))
    assert asked == [3, 3]


# --- passes ---


@function_pass(opt_level=0, name="TypedCallsDoubled", applies_to=e.Function)
def Doubled(func: e.Function, mod: Any, ctx: Any) -> e.Function:
    """f(x) + f(x), written with bare nodes and no inference."""
    made = e.Call(ADD, (func.body, func.body))
    assert made.checked_type == func.body.checked_type
    return e.Function(func.params, made)


def test_a_pass_makes_calls_that_the_next_one_may_ask() -> None:
    a = x()
    mod = IRModule({"main": e.Function((a,), e.Call(RELU, (a,)))})
    made = transform.SimplifyExpr()(Doubled(mod))
    assert made["main"].checked_type == FuncType((SQUARE,), SQUARE)
    mixed = transform.FoldConstant()(
        IRModule({"main": e.Function((), e.Call(ADD, (relay.const(1.0), relay.const(2.0))))})
    )
    np.testing.assert_array_equal(mixed["main"].body.data.numpy(), np.float32(3))


# --- who may set a type ---

SETS_TYPES = {
    "relay/ir/expr.py": "a let's variable takes the type of its value",
    "relay/ir/infer.py": "inference",
    "relay/transforms/inline.py": "a variable's copy",
    "relay/transforms/canonical_form.py": "a new variable",
    "relay/dataflow_pattern/rewriting.py": "a new parameter",
}


def test_types_are_set_by_inference_and_on_variables_only() -> None:
    package = Path(e.__file__).parent.parent.parent
    files = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    found = {
        path.relative_to(package).as_posix()
        for path, text in files.items()
        if "set_type(" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "set_type"
    }
    assert found == set(SETS_TYPES)
