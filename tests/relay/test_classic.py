"""Relay's classic text: what it looks like, and that it reads back."""

from __future__ import annotations

import pytest

from tests.relay.programs import list_module, mixed_function, network, sum_module
from workbench import relay
from workbench.core.equal import first_difference
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.relay import transform
from workbench.relay.ir.classic import astext, fromtext, parse_expr
from workbench.relay.ir.infer import infer_type


def assert_reads_back(mod: IRModule) -> None:
    text = astext(mod, show_meta_data=True)
    found = fromtext(text)
    parts = [(module.functions, module.type_definitions) for module in (mod, found)]
    assert first_difference(*parts, names=False, map_free_variables=True) is None, text


def test_text_of_a_function(golden) -> None:
    x = relay.var("x", shape=(1, 3, 4, 4))
    mod = IRModule.from_expr(relay.nn.relu(relay.nn.avg_pool2d(x, pool_size=(2, 2)) * 2.0))
    golden(astext(transform.InferType()(mod)))


def test_text_of_every_kind_of_expression(golden) -> None:
    golden(astext(mixed_function()) + astext(list_module()) + astext(sum_module()))


@pytest.mark.parametrize("make", [network, list_module, sum_module])
def test_modules_read_back(make) -> None:
    assert_reads_back(make())


def test_every_kind_of_expression_reads_back() -> None:
    assert_reads_back(IRModule({"main": mixed_function()}))


def test_fused_module_reads_back() -> None:
    steps = transform.Sequential([transform.SimplifyInference(), transform.FoldConstant(), transform.FuseOps()])
    assert_reads_back(steps(network()))


def test_hand_written_text_with_infix_and_nesting() -> None:
    func = parse_expr("fn (%a: Tensor[(2), float32]) { nn.relu(%a * 2f + %a) }")
    assert infer_type(func).ret_type == relay.TensorType((2,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @main(%x: Tensor[(2), float32]) { nn.rellu(%x) }", "there is no operator nn.rellu"),
        ("def @main(%x: Tensor[(2), float32]) { %y }", "%y is not defined here"),
        ("def @main(%x: Tensor[(2), flot32]) { %x }", "not a data type"),
        ("def @main(%x) { add(%x, %x, axis=1) }", "has no attribute axis"),
        ("def @main(%x) { %x", "'}' is expected here"),
        ("def @main(%x) { meta[relay.Constant][3] }", "there is no data"),
        ("def @main(%x) { # }", "unexpected character"),
        ("def @main(%x) { " + "(" * 400 + "%x", "levels of nesting"),
        ("def @main(%x) { match (%x) { Nope => %x } }", "there is no constructor"),
    ],
)
def test_refusals_have_a_place(text: str, message: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        fromtext(text)
    assert caught.value.code == "E-RELAY-PARSE"
    assert message in caught.value.message
    assert caught.value.where.startswith("line 1:")
