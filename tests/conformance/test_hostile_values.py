"""Values that trap, overflow or point outside, known only at run time: defined results, never a signal or a wild read.

Integer division by zero gives 0, and so does its remainder; the least integer divided by -1 wraps; indices outside are
brought into range by reads and ignored by writes; floats beyond an integer's range saturate.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.conformance.hostile_values import CASES, LEAST
from workbench.relay.ir.operator import OPERATORS


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """What the child printed: rows after the one that ended it, if any, are missing."""
    command = [sys.executable, "-m", "tests.conformance.hostile_values"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return dict(json.loads(line) for line in made.stdout.splitlines() if line.startswith("["))


def quotient(operator: str, a: int, b: int) -> int:
    """Python's own arithmetic, with 0 for what is divided by 0."""
    if b == 0:
        return 0
    floor = operator.startswith("floor")
    found = a // b if floor else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a - found * b if operator.endswith("mod") else found


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", CASES)
def test_result_is_defined(name: str, results: dict[str, Any]) -> None:
    assert name in results, "the process ended before this row"
    operator, attributes, inputs = CASES[name]
    if operator in ("divide", "mod") or operator.startswith(("floor", "trunc")):
        dtype = inputs[0].dtype
        pairs = zip(inputs[0].tolist(), inputs[1].tolist(), strict=True)
        wanted = [quotient(operator, a, b) for a, b in pairs]
        span = 2 ** (8 * dtype.itemsize)
        low = LEAST.get(dtype.name, 0)
        assert results[name] == [(item - low) % span + low for item in wanted]
        return
    if operator.startswith(("image", "vision", "nn.deform")):
        return  # places that are not finite have no value; that none is read from outside is the point
    with np.errstate(all="ignore"):
        reference = OPERATORS[operator](**attributes).reference(*inputs)
    found = np.array(results[name], dtype=np.float64)
    assert found.shape == reference.shape
    np.testing.assert_array_equal(found, reference.astype(np.float64))
