"""Tensors of graph steps beside those of the imported model, and the model's outputs after a step."""

from __future__ import annotations

import numpy as np
import pytest

from tests.driver.programs import small_inputs, small_session
from workbench import WorkbenchError
from workbench.driver.intermediates import graph_steps, intermediates, outputs, runnable_steps


def test_what_a_fused_call_gives_stands_for_its_last_operator() -> None:
    session = small_session()
    found = intermediates(session, small_inputs(), "FuseOps")
    assert found.tensors and all(one.gap is not None and one.gap.right for one in found.tensors)
    last = found.tensors[-1]
    assert last.against.startswith("nn.softmax") and last.value.shape == (1, 7)
    assert last.expected is not None and last.expected.dtype == last.value.dtype
    np.testing.assert_allclose(last.value, session.run(small_inputs())["y"], rtol=1e-4)


def test_outputs_after_graph_and_native_steps_agree() -> None:
    session = small_session()
    assert graph_steps(session) == runnable_steps(session)[:-1]
    found = [outputs(session, small_inputs(), step)["y"] for step in ("Import", "FuseOps", "Codegen")]
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, rtol=1e-4)


def test_a_step_without_a_graph_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="E-STEP-VALUES"):
        intermediates(small_session(), small_inputs(), "Codegen")
    with pytest.raises(WorkbenchError, match="E-STEP-VALUES"):
        outputs(small_session(), small_inputs(), "Simplify")
