"""Type inference: every kind of expression, what is found without annotations, and how refusals read."""

from __future__ import annotations

import pytest

from tests.relay.programs import chain, let_chain, list_module, mixed_function, sum_module
from workbench import relay
from workbench.arith.nodes import Var as Dimension
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.operator import Operator, attribute, operator
from workbench.relay.ir.unify import Mismatch, Unifier

F32 = t.scalar_type("float32")
X = t.TensorType((2, 3))


def call(name: str, *args: e.Expr, **attributes: object) -> e.Call:
    """A call without types, as a parser makes it."""
    return e.Call(relay.op.get(name)(**attributes), args)


def test_operators_and_tuples() -> None:
    x = e.Var("x", X)
    pair = e.Tuple((call("exp", x), call("transpose", x)))
    assert infer_type(e.TupleGetItem(pair, 1)) == t.TensorType((3, 2))
    assert pair.checked_type == t.TupleType((X, t.TensorType((3, 2))))


def test_parameters_without_annotation_take_types_from_calls() -> None:
    y = e.Var("y")
    function = e.Function((y,), call("add", y, y))
    infer_type(e.Call(function, (e.Var("x", X),)))
    assert function.checked_type == t.FuncType((X,), X) and y.checked_type == X


def test_let_polymorphism() -> None:
    a, f = t.TypeVar("A"), e.Var("f")
    p = e.Var("p", a)
    uses = e.Tuple((e.Call(f, (e.Var("x", X),)), e.Call(f, (e.const(1),))))
    found = infer_type(e.Let(f, e.Function((p,), p, a, (a,)), uses))
    assert found == t.TupleType((X, t.scalar_type("int32")))


def test_explicit_type_arguments() -> None:
    a = t.TypeVar("A")
    p = e.Var("p", a)
    identity = e.Function((p,), p, a, (a,))
    assert infer_type(e.Call(identity, (e.Var("x", X),), (X,))) == X
    with pytest.raises(WorkbenchError, match="does not agree"):
        infer_type(e.Call(identity, (e.Var("x", X),), (F32,)))


def test_recursion_through_let_without_result_type() -> None:
    f, n = e.Var("f"), e.Var("n", t.scalar_type("int32"))
    body = e.If(call("less", n, e.const(1)), e.const(0), e.Call(f, (call("subtract", n, e.const(1)),)))
    assert infer_type(e.Let(f, e.Function((n,), body), e.Call(f, (e.const(3),)))) == t.scalar_type("int32")


def test_recursion_through_the_module() -> None:
    mod = infer_type(sum_module())
    assert mod["main"].checked_type == t.FuncType((t.scalar_type("int32"),), t.scalar_type("int32"))


def test_mutual_recursion_without_annotated_results() -> None:
    n, m = e.Var("n", t.scalar_type("int32")), e.Var("m", t.scalar_type("int32"))
    even = e.Function((n,), e.If(call("less", n, e.const(1)), e.const(True), e.Call(e.GlobalVar("odd"), (n,))))
    odd = e.Function((m,), e.If(call("less", m, e.const(1)), e.const(False), e.Call(e.GlobalVar("even"), (m,))))
    mod = infer_type(IRModule({"even": even, "odd": odd}))
    assert mod["odd"].checked_type.ret_type == t.scalar_type("bool")


def test_data_types_and_match() -> None:
    mod = infer_type(list_module())
    assert mod["main"].checked_type == t.FuncType((X,), t.scalar_type("int32"))


def test_every_other_kind_of_expression() -> None:
    function = mixed_function()
    infer_type(function)
    assert all(node.type_or_none is not None for node in relay_expressions(function))


def relay_expressions(root: e.Expr) -> list[e.Expr]:
    from workbench.relay.ir.plan import expressions

    return list(expressions(root))


def test_references() -> None:
    cell = e.RefCreate(e.Var("x", X))
    assert infer_type(e.RefRead(cell)) == X
    assert infer_type(e.RefWrite(cell, e.Var("y", X))) == t.TupleType(())
    with pytest.raises(WorkbenchError, match="what the reference holds"):
        infer_type(e.RefWrite(cell, e.const(1.0)))


def test_symbolic_dimensions_stand_for_the_argument() -> None:
    n = Dimension("n")
    p = e.Var("p", t.TensorType((n, 3)))
    double = e.Function((p,), call("concatenate", e.Tuple((p, p)), axis=0))
    found = infer_type(e.Call(double, (e.Var("x", t.TensorType((5, 3))),)))
    assert found == t.TensorType((10, 3))


def test_unknown_dimensions_meet_every_dimension() -> None:
    p = e.Var("p", t.TensorType((t.Any(), 3)))
    assert isinstance(infer_type(e.Call(e.Function((p,), p), (e.Var("x", X),))).shape[0], t.Any)
    with pytest.raises(WorkbenchError, match="axis 1 is 3 against 4"):
        infer_type(e.Call(e.Function((p,), p), (e.Var("y", t.TensorType((2, 4))),)))


def test_chains() -> None:
    assert infer_type(chain(20_000)).ret_type == t.TensorType((2,))
    assert infer_type(let_chain(20_000)).ret_type == t.TensorType((2,))


def test_a_changed_callee_is_noticed() -> None:
    x, y = e.Var("x", X), e.Var("y", X)
    callee = e.Function((x,), call("exp", x))
    main = e.Function((y,), e.Call(e.GlobalVar("callee"), (y,)))
    mod = infer_type(IRModule({"callee": callee, "main": main}))
    other = e.Var("x", X)
    changed = mod.with_functions({"callee": e.Function((other,), call("transpose", other))})
    assert infer_type(changed)["main"].checked_type.ret_type == t.TensorType((3, 2))


def test_waiting_operator_is_typed_later() -> None:
    """The closure's parameter is known only after its body was visited."""
    p, f = e.Var("p"), e.Var("f")
    body = e.TupleGetItem(call("split", p, indices_or_sections=3, axis=1), 0)
    assert infer_type(e.Let(f, e.Function((p,), body), e.Call(f, (e.Var("x", X),)))) == t.TensorType((2, 1))


@operator("test.infer.picky", override=True)
class Picky(Operator):
    """Accepts one operand and fails in its own way."""

    kind: int = attribute(0, "what goes wrong")

    def infer(self, x: t.TensorType) -> t.Type:
        return x.fields  # type: ignore[attr-defined]


REFUSALS = {
    "E-TYPE-ARITY": lambda x: e.Call(relay.op.get("add")(), (x,)),
    "E-TYPE-CONDITION": lambda x: e.If(x, x, x),
    "E-TYPE-MISMATCH": lambda x: e.If(e.const(True), x, e.const(1.0)),
    "E-TYPE-UNBOUND": lambda x: call("add", x, e.Var("nobody")),
    "E-TYPE-INCOMPLETE": lambda x: e.Function((e.Var("free"),), x),
    "E-TYPE-GLOBAL": lambda x: e.Call(e.GlobalVar("nowhere"), (x,)),
    "E-TYPE-ADT": lambda x: e.Call(e.Constructor("Cons", "List"), (x,)),
    "E-TYPE-TUPLE": lambda x: e.TupleGetItem(x, 0),
    "E-TYPE-INDEX": lambda x: e.TupleGetItem(e.Tuple((x,)), 4),
    "E-TYPE-CALL": lambda x: e.Call(x, (x,)),
    "E-TYPE-OPERATOR": lambda x: e.Call(Picky(), (x,)),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_refusals(code: str, golden) -> None:
    with pytest.raises(WorkbenchError) as caught:
        infer_type(REFUSALS[code](e.Var("x", X)))
    assert caught.value.code == code
    golden(str(caught.value))


def test_refusal_in_a_module_names_the_function() -> None:
    x = e.Var("x", X)
    with pytest.raises(WorkbenchError) as caught:
        infer_type(IRModule({"main": e.Function((x,), call("nn.dense", x, x, units=7))}))
    assert "nn.dense(Tensor[(2, 3), float32], Tensor[(2, 3), float32], units=7) in function main" in caught.value.where


def test_wrong_constructor_and_wrong_pattern() -> None:
    mod = list_module()
    with pytest.raises(WorkbenchError, match="has no constructor Con"):
        infer_type(e.Constructor("Con", "List"), mod)
    pattern = e.PatternConstructor(e.Constructor("Cons", "List"), (e.PatternWildcard(),))
    items = e.Var("items", t.TypeCall(t.GlobalTypeVar("List"), (X,)))
    with pytest.raises(WorkbenchError, match="takes 2 operands, not 1"):
        infer_type(e.Match(items, (e.Clause(pattern, items),)), mod)


def test_unification_refuses_a_type_inside_itself() -> None:
    unknown, solver = t.IncompleteType(), Unifier()
    with pytest.raises(Mismatch, match="cannot contain itself"):
        solver.unify(unknown, t.TupleType((unknown,)))
