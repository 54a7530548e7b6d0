"""The arithmetic peak of one thread, measured: independent chains of fused multiply-adds that live in registers.

    wb.peak_flops()                    # about 1.2e11 on a core that starts one 512-bit multiply-add a cycle
    print(peak_program("llvm"))        # the loop program that is timed

The peak is what a kernel's speed is held against.  It is measured and not looked up, since clocks change with load and
temperature: measure it in the same run as the kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..codegen.backend import building_for
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..runtime.devices import cpu
from ..target.target import Target
from ..tir.nodes import PrimFunc
from ..tir.script import parse
from .build import build

_LOCAL = 12
"""Accumulators: two units with a latency of four to five cycles need ten; sixteen registers leave room for twelve."""

_PROGRAM = """
@T.prim_func
def peak(x: T.Buffer((2, {lanes}), "{dtype}"), out: T.Buffer(({count}, {lanes}), "{dtype}")):
    sums = T.alloc_buffer(({count}, {lanes}), "{dtype}", scope="local")
    for i in T.unroll({count}):
        for l in T.vectorized({lanes}):
            with T.block("zero"):
                vi, vl = T.axis.remap("SS", [i, l])
                T.reads()
                T.writes(sums[vi, vl])
                sums[vi, vl] = T.{dtype}(0)
    for r in range({rounds}):
        for i in T.unroll({count}):
            for l in T.vectorized({lanes}):
                with T.block("multiply_add"):
                    vr = T.axis.scan({rounds}, r)
                    vi, vl = T.axis.remap("SS", [i, l])
                    T.reads(sums[vi, vl], x[0:2, vl])
                    T.writes(sums[vi, vl])
                    sums[vi, vl] = sums[vi, vl] * x[0, vl] + x[1, vl]
    for i in T.unroll({count}):
        for l in T.vectorized({lanes}):
            with T.block("out"):
                vi, vl = T.axis.remap("SS", [i, l])
                T.reads(sums[vi, vl])
                T.writes(out[vi, vl])
                out[vi, vl] = sums[vi, vl]
"""


def peak_program(target: Target | str = "llvm", dtype: str = "float32", rounds: int = 1 << 18) -> PrimFunc:
    """The program that `peak_flops` times: each of 12 vector accumulators becomes s * x[0] + x[1], `rounds` times.

    Vectors are as wide as the target's registers.  `dtype` is "float32" or "float64"; others raise `WorkbenchError`.
    """
    kind = DataType(dtype)
    if kind not in ("float32", "float64"):
        raise WorkbenchError(
            "E-PEAK-DTYPE",
            f"there is no peak for {dtype}",
            found=str(dtype),
            expected="float32 or float64",
            fix='leave it out for "float32"',
        )
    lanes = max(1, Target(target).lanes * 32 // kind.bits)
    parsed = parse(_PROGRAM.format(lanes=lanes, count=_LOCAL, rounds=rounds, dtype=kind))
    assert isinstance(parsed, PrimFunc)
    return parsed


def peak_flops(target: Target | str = "llvm", dtype: str = "float32", repeat: int = 20) -> float:
    """Floating-point operations a second that one thread can do (a multiply-add counts as two), measured now.

    The best of `repeat` runs of about a millisecond each.  Raises `WorkbenchError` for a target that is not this
    machine, or another dtype.
    """
    return peak_timer(building_for(target), dtype, repeat)()


def peak_timer(target: Target, dtype: str, repeat: int = 20) -> Callable[[], float]:
    """What measures the peak whenever it is called, built."""
    program = peak_program(target, dtype)
    library = build(program, target=target)
    count, lanes = (int(extent.value) for extent in program.params[1].shape)  # type: ignore[union-attr]
    x, out = np.full((2, lanes), 0.5, dtype), np.zeros((count, lanes), dtype)
    operations = 2.0 * count * lanes * (1 << 18)
    evaluate = library.time_evaluator("peak", cpu(), number=1, repeat=repeat)

    def measured() -> float:
        found = operations / min(evaluate(x, out).results)
        _MEASURED[_machine(target, dtype)] = found
        return found

    return measured


_MEASURED: dict[tuple[object, ...], float] = {}
"""What was measured last in this process."""


def measured_peak(target: Target | str, bits: int) -> float | None:
    """The peak of one thread on floats of so many bits that this process has measured last; measures nothing."""
    return _MEASURED.get(_machine(Target(target), f"float{bits}"))


def _machine(target: Target, dtype: str) -> tuple[object, ...]:
    return target.kind, target.cpu, target.triple, target.lanes, dtype
