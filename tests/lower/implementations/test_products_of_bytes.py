"""Products of bytes on machines that have an instruction for them: which are taken, their numbers, and their code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.nightly import some
from workbench import relay
from workbench.core.module import IRModule
from workbench.relay.interpret import interpret as meaning

MACHINES = {
    "llvm -mcpu=znver5": "vpdpbusd",
    "llvm -mcpu=alderlake": "vpdpbusd",
    "llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod": "sdot",
}
"""Targets, and the instruction that each has."""
WITHOUT = "llvm -mcpu=x86-64-v3"


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """From the whole range, its ends among them."""
    made = np.random.default_rng(sum(shape)).integers(*ends(dtype), shape, endpoint=True, dtype=dtype)
    made.flat[0], made.flat[-1] = ends(dtype)
    return made


def ends(dtype: str) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def convolution(dtype: str, layout: str, channels: int) -> Any:
    """A convolution with padding and strides, of 20 output channels; data less a zero point."""
    shape = (1, channels, 9, 7) if layout == "NCHW" else (1, 9, 7, channels)
    x = relay.var("x", shape=shape, dtype=dtype)
    taps = numbers((20, channels, 3, 3), "int8")
    weight = taps if layout == "NCHW" else taps.transpose(2, 3, 1, 0)
    data = relay.subtract(relay.cast(x, "int32"), relay.const(np.int32(5)))
    made = relay.nn.conv2d(
        data, relay.const(weight.astype("int32")), padding=(1, 0, 2, 1), strides=(2, 1), data_layout=layout,
        kernel_layout="OIHW" if layout == "NCHW" else "HWIO",
    )  # fmt: skip
    bias = relay.const(np.arange(20, dtype="int32"))
    return relay.Function([x], relay.nn.bias_add(made, bias, axis=1 if layout == "NCHW" else 3))


def product(dtype: str, inner: int) -> Any:
    x = relay.var("x", shape=(6, inner), dtype=dtype)
    weight = relay.const(numbers((20, inner), "int8").astype("int32"))
    return relay.Function([x], relay.nn.dense(relay.cast(x, "int32"), weight))


def weight_of_a_run(dtype: str, layout: str) -> Any:
    """Operands of bytes as they come, the weight brought by each run."""
    x = relay.var("x", shape=(1, 8, 9, 7) if layout == "NCHW" else (1, 9, 7, 8), dtype=dtype)
    w = relay.var("w", shape=(20, 8, 3, 3) if layout == "NCHW" else (3, 3, 8, 20), dtype="int8")
    kernel = "OIHW" if layout == "NCHW" else "HWIO"
    made = relay.nn.conv2d(x, w, padding=1, data_layout=layout, kernel_layout=kernel, out_dtype="int32")
    return relay.Function([x, w], made)


PROGRAMS = {
    "a weight of each run, NCHW uint8": weight_of_a_run("uint8", "NCHW"),
    "a weight of each run, NHWC int8": weight_of_a_run("int8", "NHWC"),
    **{
        f"{layout} {channels} {dtype}": convolution(dtype, layout, channels)
        for layout in ("NCHW", "NHWC") for channels in (8, 3) for dtype in ("uint8", "int8")
    },
    **{f"dense {inner} {dtype}": product(dtype, inner) for inner in (12, 10) for dtype in ("uint8", "int8")},
}  # fmt: skip


def wanted(program: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Inputs, and the result as the program is written, by the operators' references."""
    kinds = {parameter.name_hint: parameter.type_annotation for parameter in program.params}
    given = {name: numbers(kind.concrete_shape, str(kind.dtype)) for name, kind in kinds.items()}
    return given, np.asarray(meaning(IRModule.from_expr(program), *given.values()))


@pytest.mark.parametrize("target", [*MACHINES, WITHOUT])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_graph_of_every_machine_means_the_same(name: str, target: str) -> None:
    given, result = wanted(PROGRAMS[name])
    packed = wb.open(PROGRAMS[name], target=target)["FoldConstant#3"].program.module
    np.testing.assert_array_equal(np.asarray(meaning(packed, *given.values())), result)
    assert ("4i" in str(packed) or "4c" in str(packed)) == (target in MACHINES)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("name", some(PROGRAMS, 3))
def test_the_instruction_is_in_the_code(name: str, target: str) -> None:
    session = wb.open(PROGRAMS[name], target=target)
    assert MACHINES[target] in session.build().get_source("asm")


@pytest.mark.parametrize("name", PROGRAMS)
def test_this_machine_computes_the_same(name: str) -> None:
    given, result = wanted(PROGRAMS[name])
    np.testing.assert_array_equal(next(iter(wb.open(PROGRAMS[name]).run(given).values())), result)
