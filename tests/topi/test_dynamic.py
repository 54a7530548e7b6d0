"""Dynamic forms: their types fit what they answer, they agree with their static forms, and refuse what they must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.cases import agree, cases, flat, inputs_of, type_of
from tests.topi.test_every_operator import check_has_examples, check_refusal
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Call, Constant, Var, const
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.operator import OPERATORS, Example, Operator
from workbench.relay.ir.types import TensorType
from workbench.relay.ir.unify import Unifier

TABLE: dict[str, type[Operator]] = {name: OPERATORS[name] for name in OPERATORS if name.startswith("dyn.")}
GOOD = list(cases(TABLE, good=True))
BAD = list(cases(TABLE, good=False))
good = pytest.mark.parametrize(("cls", "case"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD])


def test_there_are_some() -> None:
    assert len(TABLE) == 14


@pytest.mark.parametrize("name", TABLE)
def test_has_examples(name: str) -> None:
    check_has_examples(TABLE[name])


@good
def test_types_and_numbers(cls: Any, case: Example) -> None:
    inputs = inputs_of(case)
    op = cls(**case.attributes)
    found = op.reference(*inputs)
    known = type_of(tuple(found) if isinstance(found, list) else found)
    Unifier().unify(op.infer(*map(type_of, inputs)), known)
    params = tuple(Var(f"x{at}", type_of(value)) for at, value in enumerate(inputs))
    mod = IRModule.from_expr(Call(op, params))
    for one, other in zip(flat(interpret(mod, *inputs)), flat(found), strict=True):
        agree(one, other)


@good
def test_becomes_static(cls: Any, case: Example) -> None:
    """With constants for the values the call is static, and gives the same."""
    inputs = inputs_of(case)
    op, places = cls(**case.attributes), cls.value_places()
    operands = tuple(
        const(value) if at in places else Var(f"x{at}", type_of(value)) for at, value in enumerate(inputs)
    )
    params = [operand for operand in operands if isinstance(operand, Var)]
    made = transform.DynamicToStatic()(infer_type(IRModule.from_expr(Call(op, operands))))
    values = [value for at, value in enumerate(inputs) if at not in places]
    body = made["main"].body
    assert isinstance(body, Constant) or (isinstance(body, Call) and not body.op.name.startswith("dyn."))
    for one, other in zip(flat(interpret(made, *values[: len(params)])), flat(op.reference(*inputs)), strict=True):
        agree(one, other)


@pytest.mark.parametrize(("cls", "case"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_refusals(cls: Any, case: Example) -> None:
    check_refusal(cls, case)


def test_builders_choose_the_form() -> None:
    x, shape = relay.var("x", shape=(2, 6)), relay.var("shape", shape=(3,), dtype="int64")
    made = relay.reshape(x, newshape=shape)
    assert made.op.name == "dyn.reshape" and len(made.checked_type.shape) == 3


def test_compiling_one_is_refused() -> None:
    from workbench.topi.dynamic import DynReshape

    with pytest.raises(WorkbenchError, match="known at run time only") as caught:
        DynReshape().compute(None, None)
    assert caught.value.code == "E-TYPE-DYNAMIC" and "DynamicToStatic" in caught.value.fix


def test_shapes_become_known_in_turn() -> None:
    """reshape(x, shape_of(y)) where y's own shape is computed from constants."""
    x, y = relay.var("x", shape=(12,)), relay.var("y", shape=(6, 2))
    shape = relay.multiply(relay.const(np.array([3, 2], "int64")), relay.const(np.array([1, 2], "int64")))
    turned = relay.reshape(y, newshape=shape)
    whole = relay.add(relay.reshape(x, newshape=relay.shape_of(turned, dtype="int64")), turned)
    mod = infer_type(IRModule.from_expr(whole))
    made = transform.DynamicToStatic()(mod)
    assert made["main"].body.checked_type == TensorType((3, 4))
    assert not any(name.startswith("dyn.") for name in relay.analysis.list_op_freqs(made))
    values = [np.arange(12, dtype="float32"), np.ones((6, 2), "float32")]
    np.testing.assert_array_equal(interpret(made, *values), interpret(mod, *values))


def test_why_not() -> None:
    from workbench.core.rewrite import why_not
    from workbench.relay.transforms.dynamic_to_static import RULES

    x, shape = relay.var("x", shape=(2, 6)), relay.var("shape", shape=(3,), dtype="int64")
    assert "newshape is a constant; found %shape" in str(
        why_not(RULES["dynamic-to-static"], relay.reshape(x, newshape=shape))
    )
