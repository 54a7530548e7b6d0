"""One-node ONNX models for values that are easy to get wrong, and what the standard says they give.

`answers` holds the same node's results by the interpreter and by native code; what is wanted comes from the standard's
reference evaluator, or from onnxruntime, or from float64 NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper

from tests.conformance.onnx_nodes import run_interpreted, run_model, run_native

EXECUTORS = {"interpreter": run_interpreted, "native": run_native}


def one_node(
    operator: str,
    inputs: Sequence[Any],
    kinds: Sequence[Any] | None = None,
    opset: int = 21,
    **attributes: Any,
) -> tuple[Any, dict[str, np.ndarray]]:
    """(model, inputs by name); an input None is left out; `kinds` are the dtypes of the outputs."""
    given = {f"x{at}": np.asarray(value) for at, value in enumerate(inputs) if value is not None}
    wanted = list(kinds or [given["x0"].dtype])
    node = helper.make_node(
        operator,
        [f"x{at}" if value is not None else "" for at, value in enumerate(inputs)],
        [f"y{at}" for at in range(len(wanted))],
        **attributes,
    )
    number = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [node],
        operator,
        [helper.make_tensor_value_info(name, number(value.dtype), value.shape) for name, value in given.items()],
        [helper.make_tensor_value_info(f"y{at}", number(np.dtype(kind)), None) for at, kind in enumerate(wanted)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), given


def standard(model: Any, given: dict[str, np.ndarray]) -> list[Any]:
    """By the standard's reference evaluator, in the dtypes that the model declares (NumPy widens sums of integers)."""
    from onnx.reference import ReferenceEvaluator

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = ReferenceEvaluator(model).run(None, given)
    kinds = [helper.tensor_dtype_to_np_dtype(output.type.tensor_type.elem_type) for output in model.graph.output]
    return [np.asarray(value).astype(kind) for value, kind in zip(found, kinds, strict=True)]


def onnxruntime(model: Any, given: dict[str, np.ndarray]) -> list[Any]:
    """By onnxruntime."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    return list(ort.InferenceSession(model.SerializeToString(), options).run(None, given))


def answers(model: Any, given: dict[str, np.ndarray]) -> dict[str, list[Any]]:
    """The model's outputs by each executor."""
    return {name: run_model(model, given, run)[0] for name, run in EXECUTORS.items()}


def agree(found: Sequence[Any], wanted: Sequence[Any], relative: float = 1e-6) -> None:
    """The same dtypes, shapes and numbers; NaN where NaN is wanted."""
    assert len(found) == len(wanted)
    for mine, theirs in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        if mine.dtype.kind in "iub":
            np.testing.assert_array_equal(mine, theirs)
        else:
            wide = mine.astype(np.float64), theirs.astype(np.float64)
            np.testing.assert_allclose(*wide, rtol=relative, atol=relative)
