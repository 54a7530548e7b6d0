"""The program that measures the arithmetic peak: right numbers, and nothing but multiply-adds in its loop."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from workbench.driver.peak import measured_peak, peak_flops, peak_program
from workbench.target.host import architecture


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers(dtype: str) -> None:
    """s becomes s / 2 + 1/2, three times from 0."""
    program = peak_program("llvm", dtype, rounds=3)
    count, lanes = (extent.value for extent in program.params[1].shape)
    x, out = np.full((2, lanes), 0.5, dtype), np.zeros((count, lanes), dtype)
    wb.build(program, target="llvm")["peak"](x, out)
    assert np.array_equal(out, np.full((count, lanes), 0.875, dtype))


@pytest.mark.skipif(architecture() != "x86_64", reason="reads the names of x86 instructions")
def test_the_loop_multiplies_and_adds_in_registers() -> None:
    library = wb.build(peak_program("llvm"), target="llvm")
    lines = library.get_source("asm").splitlines()
    fused = [line for line in lines if "vfmadd" in line]
    assert len(fused) >= 12
    assert not any(re.search(r"\(%r", line) for line in fused if "rip" not in line), "an operand comes from memory"


def test_it_is_measured() -> None:
    assert peak_flops(repeat=2) > 1e8


def test_what_was_measured_is_at_hand_and_nothing_else() -> None:
    found = peak_flops(repeat=1)
    assert measured_peak("llvm", 32) == measured_peak("llvm -num-cores=1", 32) == found
    assert measured_peak("llvm -mcpu=cortex-a53", 32) is None


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(wb.WorkbenchError) as caught:
        wb.peak_flops(dtype="int8")
    assert caught.value.code == "E-PEAK-DTYPE"
    assert "float32 or float64" in str(caught.value)
