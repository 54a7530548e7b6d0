"""Step DropResidual changes what the program computes; written by `report.save_test`.

wrong: relay call nn.conv2d(nn.bias_add(…), const(144,24,1,1), channels=144, kernel_size=(1, 1)): result[0, 113, 15, 27] is -9.0214462, expected -0.02279627, 4.83e+09 ulp away; 448,246 of 451,584 elements are wrong

The test fails as long as the step is wrong.  Arrays: test_dropresidual.npz.
"""

from pathlib import Path

import numpy as np

from workbench import Target
from workbench.core.module import IRModule
from workbench.core.tensor import Tensor
from workbench.core.transform import PASSES, PassContext
from workbench.driver.text import parse

STORED = dict(np.load(Path(__file__).with_name("test_dropresidual.npz")))
INPUTS = [STORED[f"in{place}"] for place in range(sum(name.startswith("in") for name in STORED))]
CONSTANTS = {name: Tensor.of(value) for name, value in STORED.items() if len(name) == 64}

BEFORE = """
@I.ir_module
class Module:
    @R.function
    def main(x16: R.Tensor((1, 24, 56, 56), "float32"), x24: R.Tensor((1, 24, 56, 56), "float32")):
        v0 = R.add(x24, x16)
        v1 = R.nn.conv2d(v0, R.constant("0b1416d2b4a39b304dc39fa4c88ea13f079964241f33017517e8325b7e10b50d", (144, 24, 1, 1), "float32"), channels=144, kernel_size=(1, 1))
        return v1

"""

AFTER = """
@I.ir_module
class Module:
    @R.function
    def main(x16: R.Tensor((1, 24, 56, 56), "float32"), x24: R.Tensor((1, 24, 56, 56), "float32")):
        v0 = R.nn.conv2d(x24, R.constant("0b1416d2b4a39b304dc39fa4c88ea13f079964241f33017517e8325b7e10b50d", (144, 24, 1, 1), "float32"), channels=144, kernel_size=(1, 1))
        return v0

"""  # what the step made of it


def step(module: IRModule) -> IRModule:
    """The step under test."""
    with Target("llvm"), PassContext(opt_level=3):
        return parse(AFTER, CONSTANTS)  # DropResidual has no name to call it by: call it on module here


def test_dropresidual_keeps_the_numbers() -> None:
    from workbench.driver.numerics.piece import named, outputs_of

    before = PASSES["InferType"]()(parse(BEFORE, CONSTANTS))
    given = named(before, INPUTS)
    for one, other in zip(outputs_of(step(before), given), outputs_of(before, given), strict=True):
        scale = float(np.abs(other).mean()) if other.size else 0.0
        np.testing.assert_allclose(one, other, rtol=0.001, atol=1e-4 * min(1.0, scale))
