"""What the entry says of its parameters: only outputs are written, so one array may be given for two inputs."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.driver.build import build_model


def model():
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    return build_model(relay.Function([x, y], relay.add(x, y)))


def test_one_array_for_two_inputs() -> None:
    data = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(model().run({"x": data, "y": data})["output_0"], data + data)


def test_an_output_needs_memory_of_its_own() -> None:
    data = np.arange(4, dtype=np.float32)
    with pytest.raises(WorkbenchError, match="E-CALL-OVERLAP"):
        model().module["main"](data, np.ones(4, np.float32), data)
