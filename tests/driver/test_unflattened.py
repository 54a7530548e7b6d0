"""A loop program without FlattenBuffer: code generation flattens it, and it is run and checked as any other."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.core.errors import WorkbenchError


def test_outputs_stay_outputs_without_the_pass() -> None:
    """`run` asked for the output as an input, wrote into the caller's array and answered nothing."""
    a, b = (te.placeholder((4, 6), name=name) for name in "AB")
    session = wb.open([a, b, te.compute((4, 6), lambda i, j: a[i, j] + b[i, j], name="C")]).without("FlattenBuffer")
    given = {name: np.full((4, 6), value, np.float32) for name, value in (("A", 2), ("B", 3))}
    (found,) = session.run(given).values()
    assert np.array_equal(found, given["A"] + given["B"])
    assert session.check_numerics(given), "every step is right"
    with pytest.raises(WorkbenchError, match="E-RUN-INPUT"):
        session.run({"A": given["A"]})
