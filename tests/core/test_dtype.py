"""Data types are text that knows its parts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError

SCALARS = [
    "bool",
    "int8",
    "int64",
    "uint8",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3fn",
    "int4",
    "handle",
]


@given(st.sampled_from(SCALARS), st.integers(1, 64))
def test_lanes_and_back(name: str, lanes: int):
    vector = DataType(name).with_lanes(lanes)
    assert vector.lanes == lanes and vector.element_of == name
    assert DataType(str(vector)) is vector
    assert pickle.loads(pickle.dumps(vector)) is vector


def test_a_dtype_is_its_name():
    assert DataType("float32") == "float32"
    assert DataType(np.float32) is DataType("float32")
    assert DataType("float") == "float32" and DataType("int") == "int32"
    assert DataType("float32x1") is DataType("float32")
    assert DataType("float32xvscalex4").scalable


def test_sizes_and_limits():
    assert DataType("float32x16").bytes == 64 and DataType("bool").bytes == 1
    assert DataType("int8").limits() == (-128, 127) and DataType("uint8").limits() == (0, 255)


def test_numpy_counterparts():
    import ml_dtypes

    assert DataType("bfloat16").to_numpy() == ml_dtypes.bfloat16
    assert DataType("float32x4").to_numpy() == np.float32


@pytest.mark.parametrize("text", ["float31", "", "floaty", "float32x0", "float32x-1", "complex64", "x" * 1000])
def test_unknown_types_are_refused(text: str):
    with pytest.raises(WorkbenchError) as caught:
        DataType(text)
    assert caught.value.code == "E-DTYPE-UNKNOWN" and caught.value.expected
