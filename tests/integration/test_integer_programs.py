"""Random programs of integers: native code and every pass that says so give what the interpreter gives, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from tests.nightly import tonight
from tests.relay.generate_integers import integer_program
from tests.relay.transforms.test_passes import EXACT, PASSES
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.transform import PassContext
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Function
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.script import script

EACH = 40
"""Programs of a part."""
PARTS = [0, *(pytest.param(part, marks=pytest.mark.nightly) for part in tonight(range(1, 251)))]


def expected(function: Function, inputs: dict[str, np.ndarray]) -> tuple[IRModule, list[np.ndarray]]:
    mod = IRModule({"main": function})
    infer_type(mod)
    with np.errstate(all="ignore"):
        return mod, [np.asarray(value) for value in interpret(mod, *inputs.values())]


def assert_equal(found: list[np.ndarray], wanted: list[np.ndarray], function: Function, seed: int) -> None:
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        told = f"seed {seed}, result {place}\n{script(function)}"
        assert one.dtype == other.dtype and np.array_equal(one, other), told


@pytest.mark.parametrize("part", PARTS)
def test_native_code_keeps_every_bit(part: int, record_property: Callable[[str, object], None]) -> None:
    for seed in range(part * EACH, (part + 1) * EACH):
        function, inputs = integer_program(seed)
        mod, wanted = expected(function, inputs)
        try:
            found = wb.open(mod).run(inputs)
        except WorkbenchError as error:
            # What passes make of constants may divide by zero: refused then, not computed.
            assert "division by the constant zero" in str(error), f"seed {seed}\n{script(function)}\n{error}"
            continue
        assert_equal(list(found.values()), wanted, function, seed)
    record_property("programs", EACH)


def test_products_of_data_may_overflow() -> None:
    """A square counted as no less than zero: its remainder was rounded down, its sign was known."""
    x = relay.var("x", shape=(4,), dtype="int64")
    given = np.array([3, -5, 2**40 + 3, -(2**62) + 7])
    square, numbers = relay.multiply(x, x), [relay.const(np.int64(value)) for value in (100, 0, 3)]
    results = (relay.mod(square, numbers[0]), relay.less(square, numbers[1]), relay.floor_divide(square, numbers[2]))
    found = wb.open(relay.Function([x], relay.Tuple(results))).run({"x": given})
    wanted = np.fmod(given * given, 100), given * given < 0, given * given // 3
    for one, other in zip(found.values(), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("part", PARTS)
def test_exact_passes_keep_every_bit(part: int, record_property: Callable[[str, object], None]) -> None:
    for seed in range(part * EACH, (part + 1) * EACH):
        function, inputs = integer_program(seed)
        mod, wanted = expected(function, inputs)
        for name in sorted(EXACT):
            with PassContext(opt_level=4), np.errstate(all="ignore"):
                found = [np.asarray(value) for value in interpret(PASSES[name](mod), *inputs.values())]
            assert_equal(found, wanted, function, seed)
    record_property("programs", EACH)
