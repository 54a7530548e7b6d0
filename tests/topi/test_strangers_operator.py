"""An operator added from outside, in one file: this one.  The class is all there is to write.

From it come the relay builder, the topi function, type check, interpreter, text, tensor expression and every
conformance check of `test_every_operator`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.test_every_operator import (
    check_compute,
    check_has_examples,
    check_loops,
    check_refusal,
    check_type,
)
from workbench import relay, te, topi
from workbench.arith import build
from workbench.core.equal import same
from workbench.core.errors import WorkbenchError
from workbench.relay.ir.operator import OPERATORS, Fusion, Operator, attribute, bad, example, operator
from workbench.relay.ir.types import TensorType
from workbench.topi import attributes as convert
from workbench.topi.emit import elementwise
from workbench.topi.samples import floats, ints
from workbench.topi.shapes import float_dtype, tensor


@operator("stranger.softshrink", override=True)
class SoftShrink(Operator):
    """x brought nearer to zero by `lambd`, at most to zero."""

    lambd: float = attribute(0.5, "how much nearer", convert=convert.real)
    fusion = Fusion.ELEMWISE
    examples = (example(floats(2, 3)), example(floats(7), lambd=0.1), bad(ints(3), error="float dtype"))

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        float_dtype(self, kind, "data")
        return kind

    def reference(self, data: np.ndarray) -> np.ndarray:
        return (np.sign(data) * np.maximum(np.abs(data) - np.asarray(self.lambd, data.dtype), 0)).astype(data.dtype)

    def compute(self, data: Any) -> Any:
        bound = build.const(self.lambd, data.dtype)

        def element(x: Any) -> Any:
            return build.select(x > bound, x - bound, build.select(x < -bound, x + bound, build.const(0, x.dtype)))

        return elementwise(self, element, data)


@pytest.fixture(autouse=True, scope="module")
def _registered_here_only() -> Any:
    yield
    OPERATORS.remove("stranger.softshrink")


def test_it_conforms() -> None:
    check_has_examples(SoftShrink)
    for case in SoftShrink.examples:
        if case.error:
            check_refusal(SoftShrink, case)
        else:
            check_type(SoftShrink, case)
            check_compute(SoftShrink, case)
            check_loops(SoftShrink, case)


def test_it_is_called_interpreted_and_printed_like_any_other() -> None:
    from workbench.relay.interpret import interpret
    from workbench.relay.ir.script import script
    from workbench.relay.ir.script_parse import parse

    x = relay.var("x", shape=(2, 3))
    call = relay.op.call("stranger.softshrink", x, lambd=0.25)
    assert call.checked_type == TensorType((2, 3)) and call.attrs.lambd == 0.25
    func = relay.Function((x,), call, call.checked_type)
    assert same(parse(script(func)), func)
    data = np.array([[1, -1, 0.1], [0, -0.3, 2]], np.float32)
    expected = np.array([[0.75, -0.75, 0], [0, -0.05, 1.75]], np.float32)
    np.testing.assert_allclose(interpret(func, data), expected, atol=1e-6)


def test_it_works_on_te_tensors_and_becomes_a_block() -> None:
    from workbench.topi.functions import function

    a = te.placeholder((2, 3), name="a")
    made = function("stranger", "softshrink")(a, lambd=0.1)
    assert made.shape == (2, 3)
    block = te.create_prim_func([a, topi.add(made, made)])
    assert block.params[0].name == "a"


def test_an_operator_without_examples_is_found_out() -> None:
    @operator("stranger.silent", override=True)
    class Silent(Operator):
        """Says nothing."""

    try:
        with pytest.raises(AssertionError, match="no examples"):
            check_has_examples(Silent)
    finally:
        OPERATORS.remove("stranger.silent")


def test_a_taken_name_is_refused() -> None:
    with pytest.raises(WorkbenchError) as caught:

        @operator("add")
        class Another(Operator):
            """Clashes."""

    assert caught.value.code == "E-TABLE-CLASH"
