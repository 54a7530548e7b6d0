"""ONNX nodes at the edges of what they take: nothing, zeros, NaN, sums of many small numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.conformance.corners import agree, answers, one_node, onnxruntime, standard

X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
NAN = np.nan


def check(model: Any, given: dict[str, np.ndarray], wanted: list[Any], relative: float = 1e-6) -> None:
    for found in answers(model, given).values():
        agree(found, wanted, relative)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("largest", [0, 1])
def test_the_first_none_of_an_order(axis: int, largest: int) -> None:
    model, given = one_node("TopK", [X, np.array([0])], ["float32", "int64"], axis=axis, largest=largest)
    wanted = standard(model, given)
    agree(onnxruntime(model, given), wanted)
    check(model, given, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("operator", "each"), [("CumSum", 0.1), ("CumProd", 1.01)])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_running_totals_of_many_small_numbers(
    operator: str, each: float, dtype: str, exclusive: int, reverse: int
) -> None:
    """Rounded once each: added up in half precision they stop at 256."""
    count = 4096 if operator == "CumSum" else 512
    x = np.full(count, each).astype(dtype)
    options = {"exclusive": exclusive, "reverse": reverse}
    model, given = one_node(operator, [x, np.array(0)], opset=26 if operator == "CumProd" else 14, **options)
    wide = x.astype(np.float64)
    start = [0.0 if operator == "CumSum" else 1.0]
    wide = np.concatenate([start, wide[:-1]]) if exclusive else wide
    total = np.cumsum(wide) if operator == "CumSum" else np.cumprod(wide)
    check(model, given, [(total[::-1] if reverse else total).astype(dtype)], float(ml_dtypes.finfo(dtype).eps))


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
def test_place_of_the_extreme_among_nan(operator: str, last: int) -> None:
    """NaN comes before every number, as in the standard's reference; onnxruntime answers by its order of comparing."""
    x = np.array([[1, NAN, 3, NAN], [NAN, 5, NAN, 1], [NAN] * 4, [np.inf, -np.inf, np.inf, -np.inf]], np.float32)
    model, given = one_node(operator, [x], ["int64"], axis=1, select_last_index=last)
    check(model, given, standard(model, given))


REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
              "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")  # fmt: skip


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [None, np.array([], np.int64)], ids=["left-out", "empty"])
@pytest.mark.parametrize("operator", REDUCTIONS)
def test_reduction_over_no_axes(operator: str, axes: Any, keepdims: int) -> None:
    """With `noop_with_empty_axes` nothing is summed, and what stands around the sum is done all the same."""
    model, given = one_node(operator, [X, axes], noop_with_empty_axes=1, keepdims=keepdims)
    wanted = standard(model, given)
    agree(onnxruntime(model, given), wanted)
    check(model, given, wanted)


WITHOUT_INTEGERS = ("ReduceMean", "ReduceLogSum", "ReduceLogSumExp")
"""A logarithm or a mean of nothing is no integer."""


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize(
    ("operator", "dtype"),
    [(name, dtype) for name in REDUCTIONS for dtype in ("float32", "int32")
     if dtype == "float32" or name not in WITHOUT_INTEGERS],
)  # fmt: skip
def test_reduction_of_nothing(operator: str, keepdims: int, dtype: str) -> None:
    """Its identity; the mean of no floats is NaN (onnxruntime: 0)."""
    model, given = one_node(operator, [np.zeros((2, 0, 3), dtype), np.array([1])], keepdims=keepdims)
    check(model, given, standard(model, given))


@pytest.mark.parametrize("values", [[0, 0, 0], [0, 1, 2], [-3, -1, -2], [1.5, 2.5, 255], [-1, 0, 1], [1e-30, 0, 0]])
def test_dynamic_quantisation(values: list[float]) -> None:
    """Of zeros: the standard's reference takes their range as 1 (onnxruntime: the scale)."""
    model, given = one_node("DynamicQuantizeLinear", [np.array(values, np.float32)], ["uint8", "float32", "uint8"])
    wanted = standard(model, given)
    check(model, given, wanted)
    if any(values):
        agree(onnxruntime(model, given), wanted)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_sequences_of_no_length(operator: str, gates: int, direction: str) -> None:
    """The state after no step is the initial one, as the recurrence says.

    onnxruntime answers zeros there; the standard's reference takes no notice of lengths at all.  The rest agrees.
    """
    random = np.random.default_rng(0)
    steps, batch, inputs, hidden = 4, 3, 2, 5
    count = 2 if direction == "bidirectional" else 1
    shapes = [(steps, batch, inputs), (count, gates * hidden, inputs), (count, gates * hidden, hidden),
              (count, 2 * gates * hidden)]  # fmt: skip
    x, w, r, b = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    states = [random.standard_normal((count, batch, hidden)).astype(np.float32) for _ in range(1 + (gates == 4))]
    operands = [x, w, r, b, np.array([0, 4, 2], np.int32), *states]
    kinds = ["float32"] * (1 + len(states))
    model, given = one_node(operator, operands, kinds, opset=14, hidden_size=hidden, direction=direction)
    wanted = onnxruntime(model, given)
    for last, initial in zip(wanted[1:], states, strict=True):
        assert not last[:, 0].any()
        last[:, 0] = initial[:, 0]
    check(model, given, wanted, 1e-5)
