"""Reductions whose spatial iterations share elements or read of one another: their inits may not all run first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks

TEXT = """@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), N: T.Buffer((1,), "int64"), C: T.Buffer((8,), "float32")):
    for {first}, {second} in T.grid({extents}):
        with T.block("C"):
            vi = T.axis.spatial({domain}, {value})
            vk = T.axis.reduce(3, k)
            T.reads({reads})
            T.writes({writes})
            with T.init():
                {init}
            {update}
"""
SUMS = {
    "one element": ("A[vi, vk]", "C[vi // 2]", "C[vi // 2] = 0.0", "C[vi // 2] = C[vi // 2] + A[vi, vk]"),
    "an init that reads another": (
        "A[vi, vk], C[vi]", "C[vi + 1]", "C[vi + 1] = C[vi]", "C[vi + 1] = C[vi + 1] + A[vi, vk]",
    ),
    "a neighbour": ("A[vi, vk], C[vi + 1]", "C[vi]", "C[vi] = 0.0", "C[vi] = C[vi] + A[vi, vk] + C[vi + 1]"),
    "the greatest": ("A[vi, 0:3]", "C[vi // 2]", "C[vi // 2] = A[vi, 0]", "C[vi // 2] = T.max(C[vi // 2], A[vi, vk])"),
}  # fmt: skip
MOVED = (
    "A[vi % 4, vk], N[0]", "C[vi], N[0]", "C[vi] = 0.0", "C[vi] = C[vi] + A[vi % 4, vk]\n            N[0] = N[0] + 1",
)  # fmt: skip


def made(order: str, parts: tuple[str, ...], value: str = "i", domain: int = 4) -> t.PrimFunc:
    words = dict(zip(("reads", "writes", "init", "update"), parts, strict=True))
    extents = ", ".join({"i": "4", "k": "3"}[name] for name in order)
    func = parse(TEXT.format(first=order[0], second=order[1], extents=extents, value=value, domain=domain, **words))
    assert isinstance(func, t.PrimFunc)
    return func


def results(func: t.PrimFunc) -> list[list[float]]:
    """By the blocks, by the loops they are lowered to, by the machine."""
    lowered = lower_blocks(func)
    found: list[list[float]] = []
    for run in (lambda *a: interpret(func, *a), lambda *a: interpret(lowered, *a), wb.build(func)["main"]):
        into = np.full(8, 5, "float32")
        run(np.arange(12, dtype="float32").reshape(4, 3), np.zeros(1, "int64"), into)
        found.append(into.tolist())
    return found


@pytest.mark.parametrize("order", ["ik", "ki"])
@pytest.mark.parametrize("name", SUMS)
def test_lowered_as_it_stands(name: str, order: str) -> None:
    blocks, lowered, native = results(made(order, SUMS[name]))
    assert blocks == lowered == native


def test_where_sums_stand_may_change() -> None:
    blocks, lowered, native = results(made("ki", MOVED, "i + N[0] % 4", 8))
    assert blocks == lowered == native


def decomposed(sch: Schedule) -> None:
    sch.decompose_reduction("C", sch.get_loops("C")[0])


def reordered(sch: Schedule) -> None:
    sch.reorder(*reversed(sch.get_loops("C")))


@pytest.mark.parametrize(("step", "codes"), [
    (decomposed, {"E-SCHEDULE-INIT-SHARED"}),
    (reordered, {"E-SCHEDULE-DEPENDENCE", "E-SCHEDULE-UNPROVEN"}),
])  # fmt: skip
@pytest.mark.parametrize("name", SUMS)
def test_steps_that_would_start_them_otherwise_are_refused(
    name: str, step: Callable[[Schedule], None], codes: set[str]
) -> None:
    with pytest.raises(WorkbenchError) as caught:
        step(Schedule(made("ik", SUMS[name])))
    assert caught.value.code in codes


@pytest.mark.parametrize("step", [decomposed, reordered])
def test_sums_of_their_own_are_free(step: Callable[[Schedule], None]) -> None:
    func = made("ik", ("A[vi, vk]", "C[vi + 1]", "C[vi + 1] = 0.0", "C[vi + 1] = C[vi + 1] + A[vi, vk]"))
    sch = Schedule(func)
    step(sch)
    assert results(sch.func) == results(func)
