"""Conformance: every example of every operator, on everything that knows the operator.

An operator declared anywhere runs through the same checks: see `test_strangers_operator.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.cases import agree, as_function, cases, computed, flat, inputs_of, type_of
from tests.topi.judges import JUDGES, PLAIN
from workbench.core.dtype import DataType
from workbench.core.equal import same
from workbench.core.errors import WorkbenchError
from workbench.relay.ir.expr import Call, Expr, Function, Tuple, Var
from workbench.relay.ir.operator import OPERATORS, Example, Operator
from workbench.relay.ir.types import TupleType

TABLE = {
    name: OPERATORS[name]
    for name in OPERATORS
    if OPERATORS[name].__module__.startswith("workbench.") and not name.startswith("dyn.")
}
"""Dynamic forms, which only the interpreter runs, have checks of their own: `test_dynamic`."""
GOOD = list(cases(TABLE, good=True))
BAD = list(cases(TABLE, good=False))


def good(*items: Any) -> Any:
    return pytest.mark.parametrize(("cls", "case"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD])


def check_has_examples(cls: type[Operator]) -> None:
    """Every operator shows at least one good case, and says what it does."""
    assert any(not case.error for case in cls.examples), f"{cls.name} has no examples"
    assert (cls.__doc__ or "").strip(), f"{cls.name} has no description"


def check_type(cls: type[Operator], case: Example) -> None:
    """`infer` tells shape and dtype of what `reference` gives."""
    inputs = inputs_of(case)
    op = cls(**case.attributes)
    kind = op.infer(*map(type_of, inputs))
    assert type_of(_tuple(op.reference(*inputs))) == kind
    assert op.flops(*map(type_of, inputs)) >= 0


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, (tuple, list)) else value


def check_compute(cls: type[Operator], case: Example) -> None:
    """The tensor expression gives the reference's numbers."""
    inputs = inputs_of(case)
    op = cls(**case.attributes)
    found, _, _ = computed(op, inputs)
    for value, wanted in zip(found, flat(op.reference(*inputs)), strict=True):
        agree(value, wanted, case.tolerance)


def check_loops(cls: type[Operator], case: Example) -> None:
    """The loop function made of it gives the reference's numbers, touches only what its blocks declare, and is text."""
    from workbench.tir.interpret import interpret
    from workbench.tir.script import parse, script

    inputs = inputs_of(case)
    op = cls(**case.attributes)
    func, arguments = as_function(op, inputs)
    assert same(parse(script(func)), func)
    assert interpret(func, *arguments, check_regions=True) == 0
    wanted = flat(op.reference(*inputs))
    for value, true in zip(arguments[-len(wanted) :], wanted, strict=True):
        agree(value, true, case.tolerance)


def check_own_loops(cls: type[Operator], case: Example) -> bool:
    """Loops that an operator gives itself: the reference's numbers, declared regions, text.  Whether there are any."""
    from workbench.tir.interpret import interpret
    from workbench.tir.script import parse, script

    inputs = inputs_of(case)
    op = cls(**case.attributes)
    func = op.loops(*map(type_of, inputs))
    if func is None:
        return False
    wanted = flat(op.reference(*inputs))
    results = [np.zeros_like(item) for item in wanted]
    assert same(parse(script(func)), func)
    assert interpret(func, *map(np.array, inputs), *results, check_regions=True) == 0
    for value, true in zip(results, wanted, strict=True):
        agree(value, true, case.tolerance)
    return True


def check_refusal(cls: type[Operator], case: Example) -> None:
    """A bad case is refused with its message, naming the operator, by one `WorkbenchError`."""
    with pytest.raises(WorkbenchError) as caught:
        cls(**case.attributes).infer(*map(type_of, inputs_of(case)))
    assert case.error in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 6
    assert caught.value.code.startswith("E-")


@pytest.mark.parametrize("name", sorted(TABLE))
def test_has_examples(name: str) -> None:
    check_has_examples(TABLE[name])


@good()
def test_type_agrees_with_reference(cls: type[Operator], case: Example) -> None:
    check_type(cls, case)


@good()
def test_compute_agrees_with_reference(cls: type[Operator], case: Example) -> None:
    check_compute(cls, case)


@good()
def test_loops_agree_with_reference(cls: type[Operator], case: Example) -> None:
    check_loops(cls, case)


@pytest.mark.parametrize(("cls", "case"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_refusal(cls: type[Operator], case: Example) -> None:
    check_refusal(cls, case)


OWN_LOOPS = ("scatter_elements", "scatter_nd", "cumsum", "cumprod", "sort", "argsort", "topk")


@good()
def test_own_loops_agree_with_reference(cls: type[Operator], case: Example) -> None:
    check_own_loops(cls, case)


@pytest.mark.parametrize("name", OWN_LOOPS)
def test_some_operators_have_loops_of_their_own(name: str) -> None:
    """They take time in proportion to what they read, and reach native code."""
    from workbench.core.module import IRModule
    from workbench.driver.build import build_model

    cls = OPERATORS[name]
    assert any(check_own_loops(cls, case) for case in cls.examples if not case.error)
    for case in cls.examples:
        if not case.error:
            inputs = inputs_of(case)
            parameters = [Var(f"x{at}", type_of(value)) for at, value in enumerate(inputs)]
            call = Call(cls(**case.attributes), tuple(parameters))
            call.set_type(call.op.infer(*map(type_of, inputs)))
            results = build_model(IRModule.from_expr(Function(tuple(parameters), call))).run_arrays(inputs)
            for found, wanted in zip(results, flat(call.op.reference(*inputs)), strict=True):
                agree(found, wanted, case.tolerance)


JUDGED = [row for row in GOOD if row[1].name in JUDGES]


@pytest.mark.parametrize(("cls", "case"), [row[1:] for row in JUDGED], ids=[row[0] for row in JUDGED])
def test_reference_agrees_with_its_judge(cls: type[Operator], case: Example) -> None:
    inputs = inputs_of(case)
    op = cls(**case.attributes)
    with np.errstate(all="ignore"):
        wanted = JUDGES[cls.name](op, *inputs)
    if wanted is None:
        return
    for value, true in zip(flat(op.reference(*inputs)), wanted, strict=True):
        agree(value, np.asarray(true).astype(value.dtype), case.tolerance)


def test_every_operator_has_a_judge() -> None:
    assert sorted(set(TABLE) - set(JUDGES) - set(PLAIN)) == []
    assert sorted((set(JUDGES) | set(PLAIN)) - set(TABLE)) == []


@good()
def test_decomposition_agrees_with_reference(cls: type[Operator], case: Example) -> None:
    inputs = inputs_of(case)
    op = cls(**case.attributes)
    parameters = [Var(f"x{at}", type_of(value)) for at, value in enumerate(inputs)]
    body = op.decompose(*parameters)
    if body is None:
        return
    from workbench.relay.interpret import interpret

    assert isinstance(body, Expr)
    found = interpret(Function(tuple(parameters), body), *inputs)
    for value, wanted in zip(flat(found), flat(op.reference(*inputs)), strict=True):
        agree(np.asarray(value), wanted, 2e-4)


@good()
def test_float64_follows_the_operands(cls: type[Operator], case: Example) -> None:
    """The same example in float64 gives float64, near the float32 result (unless an attribute says its dtype)."""
    inputs = inputs_of(case)
    op = cls(**case.attributes)
    stated = {"dtype", "out_dtype"} & set(cls.field_names)
    if stated or not any(array.dtype == np.float32 for value in inputs for array in flat(value)):
        return
    wide = [_widened(value) for value in inputs]
    for value, narrow in zip(flat(op.reference(*wide)), flat(op.reference(*inputs)), strict=True):
        assert value.dtype == (np.float64 if narrow.dtype == np.float32 else narrow.dtype)
        if narrow.dtype == np.float32:
            np.testing.assert_allclose(narrow, value, rtol=2e-4, atol=1e-5)


def _widened(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_widened(item) for item in value)
    return value.astype(np.float64) if value.dtype == np.float32 else value


@good()
def test_script_round_trip(cls: type[Operator], case: Example) -> None:
    """A function that calls the operator prints to text that parses back to the same program."""
    from workbench.relay.ir.script import script
    from workbench.relay.ir.script_parse import parse

    inputs = inputs_of(case)
    parameters = [Var(f"x{at}", type_of(value)) for at, value in enumerate(inputs)]
    op = cls(**case.attributes)
    call = Call(op, tuple(parameters))
    func = Function(tuple(parameters), call, op.infer(*map(type_of, inputs)))
    assert same(parse(script(func)), func)


@good()
def test_builder_makes_the_same_call(cls: type[Operator], case: Example) -> None:
    """The relay builder and the topi function agree with the class."""
    from workbench.topi.calls import call

    inputs = inputs_of(case)
    operands: list[Any] = [Var(f"x{at}", type_of(value)) for at, value in enumerate(inputs)]
    names = [operand.name for operand in cls.operands()]
    made = call(cls, **dict(zip(names, operands, strict=False)), **case.attributes)
    assert same(made.op, cls(**case.attributes))
    assert made.checked_type == made.op.infer(*map(type_of, inputs))  # type: ignore[union-attr]
    assert not isinstance(made, Tuple) and not isinstance(made.type_or_none, type(None) | DataType)
    assert isinstance(made.checked_type, TupleType) or made.checked_type is not None
