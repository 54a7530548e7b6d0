"""Runs end when they are told to: Ctrl-C and time limits reach into single long kernels of every kind."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.runtime.interrupting import interrupted_inside
from workbench.core.errors import WorkbenchError
from workbench.core.limits import limits
from workbench.tir.script import parse

HEAD = (
    "@T.prim_func\ndef main(A: T.Buffer((1024,), 'float32'), n: T.int64, inside: T.Buffer((1,), 'int32')):\n"
    "    inside[0] = 1\n"
)
KERNELS = {
    "flat": "    for i in T.serial(0, 2000000000000):\n        A[i % 1024] = A[(i + 7) % 1024] * T.float32(0.5)\n",
    "flat_reduction": "    for i in T.serial(0, 2000000000001):\n        A[0] = A[0] + A[i % 1024]\n",
    "nested": (
        "    for i in T.serial(0, 100000000):\n        for j in T.serial(0, 100000):\n"
        "            A[j % 1024] = A[(i + j) % 1024] * T.float32(0.5)\n"
    ),
    "parallel_flat": "    for i in T.parallel(2000000000000):\n        A[i % 1024] = A[(i + 7) % 1024] + A[3]\n",
    "parallel_nested": (
        "    for i in T.parallel(64):\n        for j in T.serial(0, 1000000000000):\n"
        "            A[(i + j) % 1024] = A[(i + j + 1) % 1024] * T.float32(0.5)\n"
    ),
    "vectors": (
        "    for i in T.serial(0, 1000000000000):\n        for j in T.vectorized(8):\n"
        "            A[(i % 128) * 8 + j] = A[(i % 128) * 8 + j] * T.float32(0.5)\n"
    ),
    "while": "    while A[0] < T.float32(1):\n        A[0] = A[0] * T.float32(0.5)\n",
    "symbolic": "    for i in T.serial(0, n):\n        A[i % 1024] = A[(i + 7) % 1024] * T.float32(0.5)\n",
}
"""Each would run for minutes at least."""


@pytest.mark.parametrize("name", KERNELS)
def test_ctrl_c_in_one_long_kernel(name: str) -> None:
    function = wb.build(parse(HEAD + KERNELS[name]))["main"]
    data, inside = np.zeros(1024, "f"), np.zeros(1, "int32")
    with interrupted_inside(inside) as sent, pytest.raises(KeyboardInterrupt):
        function(data, 1 << 40, inside)
    assert time.process_time() - sent[0] < 1.0 * 2  # two threads
    small = wb.build(parse(HEAD + "    for i in T.serial(0, 1024):\n        A[i] = A[i] + T.float32(1)\n"))["main"]
    small(data, 1, inside)
    assert np.all(data >= 1)


def long_model() -> Any:
    from workbench import relay

    x = relay.var("x", shape=(64, 256))
    out = x
    for _ in range(400):
        out = relay.nn.dense(out, relay.const(np.full((256, 256), 0.01, "f")))
    return relay.build(wb.IRModule.from_expr(relay.Function([x], out)))


def test_time_limits_of_runs() -> None:
    model = long_model()
    x = {"x": np.ones((64, 256), "f")}
    expected = model.run(x)
    before = limits.run_seconds
    with pytest.raises(WorkbenchError) as caught, wb.time_limit(0.021):
        for _ in range(1000):
            model.run(x)
    assert caught.value.code == "E-TIME-LIMIT" and caught.value.fix
    assert limits.run_seconds == before
    again = model.run(x)
    assert all(np.array_equal(again[name], expected[name]) for name in expected)


def test_one_run_that_never_ends_is_time_boxed() -> None:
    from workbench.runtime.threads import limit_run

    function = wb.build(parse(HEAD + KERNELS["while"]))["main"]
    started = time.process_time()
    with pytest.raises(WorkbenchError) as caught, wb.time_limit(0.3):
        limit_run()
        function(np.zeros(1024, "f"), 1, np.zeros(1, "int32"))
    limit_run()
    assert caught.value.code == "E-TIME-LIMIT" and "run_seconds" in caught.value.fix
    assert time.process_time() - started < 2


@pytest.mark.parametrize("value", [0, -1, True, "5", None, float("nan")])
def test_time_limits_are_positive(value: Any) -> None:
    with pytest.raises(WorkbenchError) as caught, wb.time_limit(value):
        pass
    assert caught.value.code == "E-TIME-VALUE"
