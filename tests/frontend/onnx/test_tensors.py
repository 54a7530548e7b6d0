"""Stored tensors of every element type, raw and typed, against onnx's own reading."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.core.errors import WorkbenchError
from workbench.frontend.onnx.tensors import DTYPES, FOREIGN, TensorReader, to_tensor

VALUES = np.array([[0, 1, -1], [1, 0, 1]])


def stored(number: int, raw: bool) -> TensorProto:
    kind = helper.tensor_dtype_to_np_dtype(number)
    values = np.abs(VALUES) if "uint" in DTYPES[number] or DTYPES[number] == "bool" else VALUES
    array = values.astype(kind)
    if raw:
        return numpy_helper.from_array(array, "t")
    return helper.make_tensor("t", number, array.shape, array.reshape(-1).astype(np.float64).tolist())


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
@pytest.mark.parametrize("number", DTYPES, ids=DTYPES.get)
def test_every_element_type(number: int, raw: bool) -> None:
    proto = stored(number, raw)
    found = to_tensor(proto, TensorReader(), "here")
    expected = numpy_helper.to_array(proto)
    assert found.dtype == DTYPES[number] and found.shape == (2, 3)
    assert np.array_equal(found.numpy().astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("number", FOREIGN, ids=FOREIGN.get)
def test_foreign_element_types_are_named(number: int) -> None:
    with pytest.raises(WorkbenchError, match=FOREIGN[number]):
        to_tensor(TensorProto(data_type=number, dims=[1]), TensorReader(), "here")


def test_numbers_outside_of_the_type_are_refused() -> None:
    proto = TensorProto(data_type=TensorProto.UINT8, dims=[2], int32_data=[1, 256])
    with pytest.raises(WorkbenchError, match="does not fit uint8"):
        to_tensor(proto, TensorReader(), "here")


def test_booleans_are_zero_or_one() -> None:
    proto = TensorProto(data_type=TensorProto.BOOL, dims=[3], raw_data=b"\x00\x02\xff")
    assert to_tensor(proto, TensorReader(), "here").numpy().view(np.uint8).tolist() == [0, 1, 1]


def test_scalars_and_empty_tensors() -> None:
    scalar = to_tensor(numpy_helper.from_array(np.float32(2.5)), TensorReader(), "here")
    empty = to_tensor(numpy_helper.from_array(np.zeros((0, 3), np.int64)), TensorReader(), "here")
    assert scalar.shape == () and scalar.numpy() == 2.5
    assert empty.shape == (0, 3)


def test_bits_of_small_floats_survive() -> None:
    array = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)
    reader = TensorReader()
    found = to_tensor(numpy_helper.from_array(array), reader, "here")
    assert np.array_equal(found.numpy().view(np.uint8), np.arange(256, dtype=np.uint8))
    assert reader.notes == ["here contains values that are not finite"]
