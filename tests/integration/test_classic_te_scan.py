"""The public tutorial of the classic API on scans and recurrent kernels, written anew from its sequence of calls.

Where the tutorial binds loops to threads of a GPU, the schedule is looked at; its program runs with the loops of the
processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as tvm
import workbench.testing
from workbench import te
from workbench.tir.script import script


def running_sum() -> tuple[Any, ...]:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    s_state = te.placeholder((m, n))
    s_init = te.compute((1, n), lambda _, i: x[0, i])
    s_update = te.compute((m, n), lambda t, i: s_state[t - 1, i] + x[t, i])
    return x, s_init, s_update, te.scan(s_init, s_update, s_state, inputs=[x])


def test_the_schedule_for_threads_is_printed():
    x, s_init, s_update, s_scan = running_sum()
    s = te.create_schedule(s_scan.op)
    num_thread = 256
    block_x = te.thread_axis("blockIdx.x")
    thread_x = te.thread_axis("threadIdx.x")
    xo, xi = s[s_init].split(s_init.op.axis[1], factor=num_thread)
    s[s_init].bind(xo, block_x)
    s[s_init].bind(xi, thread_x)
    xo, xi = s[s_update].split(s_update.op.axis[1], factor=num_thread)
    s[s_update].bind(xo, block_x)
    s[s_update].bind(xi, thread_x)
    with tvm.target.Target("cuda"):
        text = script(tvm.lower(s, [x, s_scan], simple_mode=True))
    assert text.count('thread="threadIdx.x"') == 2 and text.count('thread="blockIdx.x"') == 2


def test_a_scan_runs():
    x, s_init, s_update, s_scan = running_sum()
    s = te.create_schedule(s_scan.op)
    xo, xi = s[s_init].split(s_init.op.axis[1], factor=8)
    s[s_init].vectorize(xi)
    xo, xi = s[s_update].split(s_update.op.axis[1], factor=8)
    s[s_update].parallel(xo)
    fscan = tvm.build(s, [x, s_scan], "llvm", name="myscan")
    n, m = 1024, 10
    a_np = np.random.default_rng(0).uniform(size=(m, n)).astype(s_scan.dtype)
    a, b = tvm.nd.array(a_np), tvm.nd.array(np.zeros((m, n), dtype=s_scan.dtype))
    fscan(a, b)
    tvm.testing.assert_allclose(b.numpy(), np.cumsum(a_np, axis=0), rtol=1e-5)


def two_stages() -> tuple[Any, ...]:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    s_state = te.placeholder((m, n))
    s_init = te.compute((1, n), lambda _, i: x[0, i])
    s_update_s1 = te.compute((m, n), lambda t, i: s_state[t - 1, i] * 2, name="s1")
    s_update_s2 = te.compute((m, n), lambda t, i: s_update_s1[t, i] + x[t, i], name="s2")
    return x, s_update_s1, s_update_s2, te.scan(s_init, s_update_s2, s_state, inputs=[x])


def test_a_cell_of_several_stages():
    x, s_update_s1, s_update_s2, s_scan = two_stages()
    s = te.create_schedule(s_scan.op)
    xo, _xi = s[s_update_s2].split(s_update_s2.op.axis[1], factor=4)
    s[s_update_s1].compute_at(s[s_update_s2], xo)
    text = script(tvm.lower(s, [x, s_scan], simple_mode=True))
    assert "s1" in text
    f = tvm.build(s, [x, s_scan], "llvm")
    data, found = np.random.default_rng(0).random((5, 11), np.float32), np.zeros((5, 11), np.float32)
    wanted = data.copy()
    for step in range(1, 5):
        wanted[step] = wanted[step - 1] * 2 + data[step]
    f(data, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_cell_s_stage_is_put_into_the_update():
    x, s_update_s1, _, s_scan = two_stages()
    s = te.create_schedule(s_scan.op)
    s[s_update_s1].compute_inline()
    text = script(tvm.lower(s, [x, s_scan], simple_mode=True))
    assert "s1" not in text
    f = tvm.build(s, [x, s_scan], "llvm")
    data, found = np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32)
    f(data, found)
    np.testing.assert_allclose(found, np.array([[1], [3], [7], [15]]) * np.ones((1, 3)), rtol=1e-6)


def test_several_states():
    m, n, width = te.var("m"), te.var("n"), te.var("l")
    x = te.placeholder((m, n), name="X")
    s_state1 = te.placeholder((m, n))
    s_state2 = te.placeholder((m, width))
    s_init1 = te.compute((1, n), lambda _, i: x[0, i])
    s_init2 = te.compute((1, width), lambda _, i: 0.0)
    s_update1 = te.compute((m, n), lambda t, i: s_state1[t - 1, i] + x[t, i])
    s_update2 = te.compute((m, width), lambda t, i: s_state2[t - 1, i] + s_state1[t - 1, 0])
    s_scan1, s_scan2 = te.scan([s_init1, s_init2], [s_update1, s_update2], [s_state1, s_state2], inputs=[x])
    s = te.create_schedule(s_scan1.op)
    text = script(tvm.lower(s, [x, s_scan1, s_scan2], simple_mode=True))
    assert "scan_0" in text and "scan_1" in text
    f = tvm.build(s, [x, s_scan1, s_scan2], "llvm")
    data = np.random.default_rng(0).random((6, 4), np.float32)
    one, two = np.zeros((6, 4), np.float32), np.zeros((6, 3), np.float32)
    f(data, one, two)
    sums = np.cumsum(data, axis=0)
    np.testing.assert_allclose(one, sums, rtol=1e-5)
    wanted = np.concatenate([[0], np.cumsum(sums[:-1, 0])])
    np.testing.assert_allclose(two, np.repeat(wanted[:, None], 3, axis=1), rtol=1e-5)
