"""Well-formedness: each check by a program that breaks it."""

from __future__ import annotations

import pytest

from tests.relay.programs import let_chain, list_module, mixed_function, network, sum_module
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import FrozenMap
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t
from workbench.relay.ir.verify import CHECKS, require_well_formed, verify, well_formed

X = t.TensorType((2, 3))


@pytest.mark.parametrize("make", [network, list_module, sum_module])
def test_good_modules(make) -> None:
    assert verify(make()) == []


def test_good_functions() -> None:
    assert well_formed(mixed_function()) and well_formed(let_chain(20_000))


def _used_outside() -> e.Expr:
    x, y = e.Var("x", X), e.Var("y")
    return e.Function((x,), e.Tuple((e.Let(y, x, y), y)))


def _wrong_type() -> e.Expr:
    x = e.Var("x", X)
    call = relay.transpose(x)
    call.set_type(X)
    return e.Function((x,), call)


def _open_kernel() -> e.Expr:
    x, p = e.Var("x", X), e.Var("p", X)
    kernel = e.Function((p,), relay.add(p, x), X, (), FrozenMap({"Primitive": 1}))
    return e.Function((x,), e.Call(kernel, (x,)))


def _control_in_kernel() -> e.Expr:
    p = e.Var("p", X)
    return e.Function((p,), e.If(e.const(True), p, p), X, (), FrozenMap({"Primitive": 1}))


def _twice() -> e.Expr:
    x = e.Var("x", X)
    return e.Function((x,), e.Let(x, e.const(1.0), x))


BROKEN = {
    "bound-once": _twice,
    "in-scope": _used_outside,
    "globals-exist": lambda: e.Call(e.GlobalVar("nowhere"), ()),
    "types-agree": _wrong_type,
    "kernels-closed/open": _open_kernel,
    "kernels-closed/control": _control_in_kernel,
}


@pytest.mark.parametrize("check", BROKEN)
def test_broken_programs(check: str, golden) -> None:
    found = verify(BROKEN[check]())
    assert check.split("/")[0] in {violation.check for violation in found}
    golden("\n".join(str(violation) for violation in found))


def test_every_check_has_a_broken_program() -> None:
    assert {name.split("/")[0] for name in BROKEN} == set(CHECKS)


def test_type_errors_are_violations() -> None:
    x = e.Var("x", X)
    bad = e.Function((x,), e.Call(relay.op.get("nn.dense")(units=7), (x, x)))
    (found,) = verify(IRModule({"main": bad}))
    assert found.check == "types-agree" and found.function == "main"


def test_requiring_well_formedness() -> None:
    require_well_formed(network())
    with pytest.raises(WorkbenchError, match="in-scope"):
        require_well_formed(_used_outside())
