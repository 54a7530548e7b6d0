"""ToMixedPrecision: what computes in which float, results, numbers of interpreter and native code, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import workbench as wb
from tests.nightly import examples
from tests.relay.generate import flat, inputs_of, programs
from tests.relay.programs import network, network_input, weights
from workbench import relay
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.transform import PassContext
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.script import script
from workbench.relay.ir.verify import verify

KEEP = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}


def mixed(mod: IRModule, keep: bool = True, **options: Any) -> IRModule:
    with PassContext(opt_level=3, config=KEEP if keep else {}):
        return transform.ToMixedPrecision(**options)(mod)


def chain() -> IRModule:
    x = relay.var("x", shape=(1, 4, 6, 6))
    conv = relay.nn.relu(relay.add(relay.nn.conv2d(x, weights(4, 4, 3, 3)), weights(4, 1, 1)))
    joined = relay.concatenate([conv, relay.tanh(conv)], axis=1)
    return infer_type(IRModule.from_expr(e.Tuple((relay.nn.softmax(joined, axis=1), joined))))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_before_and_after(dtype: str, golden) -> None:
    mod = chain()
    made = mixed(mod, keep=False, mixed_precision_type=dtype)
    assert verify(made) == []
    kinds = [field.dtype for field in made["main"].body.checked_type.fields]
    assert kinds == ["float32", dtype]
    golden(f"{script(mod)}\n\n{script(made)}", suffix=".py")


def test_results_keep_their_float_if_asked() -> None:
    mod = chain()
    assert mixed(mod)["main"].checked_type == mod["main"].checked_type


@settings(max_examples=examples(40))
@given(function=programs())
def test_random_programs(function: e.Function) -> None:
    mod = infer_type(IRModule({"main": function}))
    made = mixed(mod)
    assert verify(made) == []
    inputs = inputs_of(function)
    for one, other in zip(flat(interpret(made, *inputs)), flat(interpret(mod, *inputs)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=2e-2 * max(1.0, np.abs(other).max(initial=0)))


def test_native_code() -> None:
    mod = network()
    session = wb.open(mod, passes=["InferType", "SimplifyInference", "FoldConstant", transform.ToMixedPrecision(),
                                   "FoldConstant", "FuseOps"])  # fmt: skip
    (found,) = session.run({"x": network_input()}).values()
    np.testing.assert_allclose(found, interpret(mod, network_input()), atol=2e-3)
    assert "float16" in script(session["FuseOps"].after)


def test_missing_operators() -> None:
    x = relay.var("x", shape=(2, 6))
    body = relay.sin(relay.nn.dense(x, weights(4, 6)))
    mod = infer_type(IRModule.from_expr(body))
    assert mixed(mod, keep=False)["main"].body.checked_type.dtype == "float32"
    assert mixed(mod, keep=False, missing_op_mode=2)["main"].body.checked_type.dtype == "float16"
    with pytest.raises(WorkbenchError, match="no rule for sin"):
        mixed(mod, missing_op_mode=0)


@pytest.mark.parametrize(
    "options", [{"mixed_precision_type": "int8"}, {"mixed_precision_type": "float64"}, {"missing_op_mode": 3}]
)
def test_refusals(options: dict[str, Any]) -> None:
    with pytest.raises(WorkbenchError) as caught:
        mixed(chain(), **options)
    assert caught.value.code == "E-PASS-OPTION"


EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


@pytest.mark.parametrize("dtype", EPS)
def test_values_are_rounded_where_the_casts_stand_and_nowhere_else(dtype: str) -> None:
    """What the classic pass documents: heavy operators on small operands, added up in float32, rounded once after.

    Followed step by step in float64 with these roundings alone; another placement (a sum rounded term by term, a
    softmax in the small float, a result rounded twice) is further away than the last rounding may be.
    """
    small = DataType(dtype).to_numpy()
    generator = np.random.default_rng(7)
    x, w, b = (generator.standard_normal(shape).astype(np.float32) for shape in ((8, 256), (32, 256), (32,)))
    data = relay.var("x", shape=x.shape)
    dense = relay.nn.relu(relay.add(relay.nn.dense(data, relay.const(w)), relay.const(b)))
    mod = infer_type(IRModule.from_expr(relay.Function([data], e.Tuple((dense, relay.nn.softmax(dense, axis=-1))))))
    made = mixed(mod, keep=False, mixed_precision_type=dtype)
    assert [field.dtype for field in made["main"].body.checked_type.fields] == [dtype, "float32"]

    def rounded(value: np.ndarray) -> np.ndarray:
        return value.astype(small).astype(np.float64)

    heavy = rounded(rounded(x) @ rounded(w).T)
    follows = np.maximum(rounded(heavy + rounded(b)), 0)
    session = wb.open(made, passes=["InferType", "FoldConstant", "FuseOps"])
    for found in (flat(interpret(made, x)), list(session.run({"x": x}).values())):
        assert [str(DataType(one.dtype)) for one in found] == [dtype, "float32"]
        one = found[0].astype(np.float64)
        differs = one != follows  # float32's sum may lie on the other side of a tie: at most one unit, and rarely
        assert differs.mean() <= 0.02 and (np.abs(one - follows) <= EPS[dtype] * np.abs(heavy) + EPS[dtype]).all()
        own = np.exp(one - one.max(-1, keepdims=True))
        np.testing.assert_allclose(found[1], own / own.sum(-1, keepdims=True), rtol=1e-5, atol=1e-7)
