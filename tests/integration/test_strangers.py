"""A pass and an operator, each added by a stranger in a file from outside the package.

Everything they show up in is looked at here: the session's steps and its saved form, the operator's builder, text,
type check and compiled kernel.  (`tests/topi/test_strangers_operator.py` goes deeper into the last; a stranger's
primitive is in `tests/schedule` and `tests/test_contributing.py`.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_session
from workbench import WorkbenchError, relay
from workbench.arith import build
from workbench.core.node import rewrite
from workbench.core.transform import PASSES, function_pass
from workbench.relay.ir.operator import OPERATORS, Fusion, Operator, attribute, example, operator
from workbench.relay.ir.types import TensorType
from workbench.topi.emit import elementwise
from workbench.topi.samples import floats

# --- the stranger's pass ---


@function_pass(opt_level=1, name="StrangersPass", required=["InferType"], applies_to=relay.Function)
def StrangersPass(func: relay.Function, mod: Any, ctx: Any, *, instead: str = "tanh") -> relay.Function:
    """Another activation in place of relu."""

    def post(node: Any) -> Any:
        if isinstance(node, relay.Call) and getattr(node.op, "name", "") == "nn.relu":
            return relay.op.call(instead, node.args[0])
        return None

    return rewrite(func, post)


# --- the stranger's operator ---


@operator("stranger.cube", override=True)
class Cube(Operator):
    """x * x * x, plus a bias."""

    bias: float = attribute(0.0, "added to the cube")
    fusion = Fusion.ELEMWISE
    examples = (example(floats(2, 3)), example(floats(4), bias=0.5))

    def infer(self, data: TensorType) -> TensorType:
        return data

    def reference(self, data: np.ndarray) -> np.ndarray:
        return (data**3 + np.asarray(self.bias, data.dtype)).astype(data.dtype)

    def compute(self, data: Any) -> Any:
        return elementwise(self, lambda x: x * x * x + build.const(self.bias, x.dtype), data)


@pytest.fixture(autouse=True, scope="module")
def _gone_afterwards() -> Iterator[None]:
    yield
    PASSES.remove("StrangersPass")
    OPERATORS.remove("stranger.cube")


def test_a_strangers_pass_is_a_step(tmp_path: Any) -> None:
    session = small_session()
    names = [action.name for action in session.actions if action.kind == "pass" and action.level == "relay"]
    changed = session.rerun(passes=[*names[:4], StrangersPass(instead="sigmoid"), *names[4:]])
    step = changed["StrangersPass"]
    assert step.changed and "+" in str(step.diff()) and "sigmoid" in step.script() and step.error is None
    assert dict(changed.actions[step.index].arguments) == {"instead": "sigmoid"}
    assert changed.check_numerics(small_inputs()).first_wrong == "StrangersPass"
    assert any("relu" in label.name for call in _calls(step.after, "sigmoid") for label in changed.origins(call))
    changed.save(str(tmp_path / "changed.wb.json"))
    back = wb.open(str(tmp_path / "changed.wb.json"))
    np.testing.assert_array_equal(back.run(small_inputs())["y"], changed.run(small_inputs())["y"])
    without = changed.rerun(disabled_pass=["StrangersPass"])
    np.testing.assert_allclose(without.run(small_inputs())["y"], session.run(small_inputs())["y"], rtol=1e-5)


def _calls(module: Any, name: str) -> list[Any]:
    return [node for node in module.nodes() if isinstance(node, relay.Call) and getattr(node.op, "name", "") == name]


def test_a_strangers_pass_refuses_unknown_options() -> None:
    with pytest.raises(WorkbenchError) as caught:
        StrangersPass(insted="tanh")
    assert caught.value.code == "E-PASS-OPTION"


def test_a_strangers_operator_reaches_native_code() -> None:
    x = relay.var("x", shape=(2, 3))
    function = relay.Function([x], relay.nn.relu(relay.op.call("stranger.cube", x, bias=0.5)))
    session = wb.open(function)
    assert "R.stranger.cube(" in session.relay.script() and session.kernels == ("fused_stranger_cube_nn_relu",)
    data = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    (found,) = session.run({"x": data}).values()
    np.testing.assert_allclose(found, np.maximum(data**3 + 0.5, 0), rtol=1e-5)
    assert session.check_numerics({"x": data}), f"{session.check_numerics({'x': data})}"
