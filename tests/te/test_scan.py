"""te.scan: the blocks it becomes, its numbers against NumPy on interpreter and compiler, and its refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.te.prim_func import lowered
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.verify import verify


def check(func: t.PrimFunc, arrays: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    """The function round-trips, verifies, and gives `wanted` on the interpreter and compiled."""
    verify(func)
    assert script(parse(script(func))) == script(func)
    outputs = [np.zeros(item.shape, item.dtype) for item in wanted]
    for run in (
        lambda *given: interpret(func, *given, check_regions=True, check_races=True),
        lambda *given: wb.build(func)["main"](*given),
    ):
        for output in outputs:
            output[...] = 0
        run(*arrays, *outputs)
        for output, expected in zip(outputs, wanted, strict=True):
            np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


def cumulative() -> tuple[te.Tensor, Any]:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: x[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    return x, te.scan(init, update, state, inputs=[x])


def test_a_running_sum(golden: Golden):
    x, total = cumulative()
    func = te.create_prim_func([x, total])
    golden(script(func) + "\n")
    data = numbers(7, 5)
    check(func, [data], [np.cumsum(data, axis=0)])


def test_the_operation_says_what_it_is():
    _, total = cumulative()
    op = total.op
    assert isinstance(op, te.ScanOp) and op.scan_axis.kind is t.IterKind.SCAN
    assert op.scan_axis.var.name == "t" and total.ndim == 2 and total.dtype == "float32"


def test_a_cell_of_several_stages():
    m, n = 6, 4
    x = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: x[0, i], name="init")
    first = te.compute((m, n), lambda t, i: state[t - 1, i] * 2.0, name="first")
    turned = te.compute((n, m), lambda i, t: first[t, i] + 1.0, name="turned")
    update = te.compute((m, n), lambda t, i: turned[i, t] + x[t, i], name="update")
    made = te.scan(init, update, state, inputs=[x])
    data = numbers(m, n)
    wanted = data.copy()
    for step in range(1, m):
        wanted[step] = wanted[step - 1] * 2 + 1 + data[step]
    check(te.create_prim_func([x, made]), [data], [wanted])


def test_a_recurrent_network():
    steps, batch, hidden = 5, 2, 3
    x = te.placeholder((steps, batch, hidden), name="X")
    w = te.placeholder((hidden, hidden), name="W")
    state = te.placeholder((steps, batch, hidden), name="state")
    k = te.reduce_axis((0, hidden), "k")
    init = te.compute((1, batch, hidden), lambda _, b, h: x[0, b, h], name="init")
    product = te.compute(
        (steps, batch, hidden), lambda t, b, h: te.sum(state[t - 1, b, k] * w[h, k], axis=k), name="product"
    )
    update = te.compute((steps, batch, hidden), lambda t, b, h: te.tanh(product[t, b, h] + x[t, b, h]), name="update")
    data, weight = numbers(steps, batch, hidden), numbers(hidden, hidden) - 0.5
    wanted = data.copy()
    for step in range(1, steps):
        wanted[step] = np.tanh(wanted[step - 1] @ weight.T + data[step])
    made = te.scan(init, update, state, inputs=[x, w])
    check(te.create_prim_func([x, w, made]), [data, weight], [wanted])


def test_an_update_that_reduces():
    steps, size = 4, 3
    x, w = te.placeholder((1, size), name="X"), te.placeholder((size, size), name="W")
    state = te.placeholder((steps, size), name="state")
    k = te.reduce_axis((0, size), "k")
    init = te.compute((1, size), lambda _, i: x[0, i], name="init")
    update = te.compute((steps, size), lambda t, i: te.sum(state[t - 1, k] * w[i, k], axis=k), name="update")
    data, weight = numbers(1, size), numbers(size, size)
    wanted = np.zeros((steps, size), np.float32)
    wanted[0] = data[0]
    for step in range(1, steps):
        wanted[step] = weight @ wanted[step - 1]
    check(te.create_prim_func([x, w, te.scan(init, update, state)]), [data, weight], [wanted])


def two_states(update: Callable[..., Any]) -> Any:
    start = te.placeholder((2, 4), name="A")
    one, two = te.placeholder((6, 4), name="one"), te.placeholder((6, 4), name="two")
    return start, te.scan([start, start], list(update(one, two)), [one, two], name="both")


def two_states_wanted(data: np.ndarray, in_step: bool) -> list[np.ndarray]:
    one, two = np.zeros((6, 4), np.float32), np.zeros((6, 4), np.float32)
    one[:2] = two[:2] = data
    for step in range(2, 6):
        one[step] = one[step - 1] + two[step - 2]
        two[step] = two[step - 1] * 0.5 + (one[step] if in_step else one[step - 1])
    return [one, two]


def test_two_states_in_step(golden: Golden):
    def update(one: te.Tensor, two: te.Tensor) -> Any:
        first = te.compute((6, 4), lambda t, i: one[t - 1, i] + two[t - 2, i], name="first")
        return first, te.compute((6, 4), lambda t, i: two[t - 1, i] * 0.5 + first[t, i], name="second")

    start, made = two_states(update)
    func = te.create_prim_func([start, *made])
    golden(script(func) + "\n")
    data = numbers(2, 4)
    check(func, [data], two_states_wanted(data, in_step=True))


def test_two_states_of_one_update():
    def update(one: te.Tensor, two: te.Tensor) -> Any:
        return te.compute(
            (6, 4), lambda t, i: (one[t - 1, i] + two[t - 2, i], two[t - 1, i] * 0.5 + one[t - 1, i]), name="update"
        )

    start, made = two_states(update)
    data = numbers(2, 4)
    check(te.create_prim_func([start, *made]), [data], two_states_wanted(data, in_step=False))


def test_an_update_given_to_two_states_is_copied():
    start = te.placeholder((1, 4), name="A")
    one, two = te.placeholder((3, 4), name="one"), te.placeholder((3, 4), name="two")
    update = te.compute((3, 4), lambda t, i: one[t - 1, i] + two[t - 1, i], name="update")
    made = te.scan([start, start], [update, update], [one, two])
    info = lowered([start, *made])
    assert info.copies[id(made[0].op), "update"] == ["scan_update", "scan_update_1"]
    data = numbers(1, 4)
    wanted = data * np.array([[1], [2], [4]], np.float32)
    check(info.func, [data], [wanted, wanted])


def test_blocks_are_known_by_operation():
    x, total = cumulative()
    info = lowered([x, total])
    update = total.op.update[0].op
    assert info.blocks[id(update)] == "update" and info.blocks[id(total.op.init[0].op)] == "init"
    assert info.buffers[id(total.op), 0].name == "scan"


def test_a_scan_is_read_by_others():
    x, total = cumulative()
    twice = te.compute(total.shape, lambda i, j: total[i, j] * 2.0, name="twice")
    data = numbers(3, 2)
    check(te.create_prim_func([x, twice]), [data], [np.cumsum(data, axis=0) * 2])


# --- refusals -----------------------------------------------------------------------------------------------------


def ahead() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t, i] + 1.0, name="update"), state)


def too_far_back() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t - 2, i] + 1.0, name="update"), state)


def other_time() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    cell = te.compute((4, 3), lambda t, i: state[t - 1, i] + 1.0, name="cell")
    return te.scan(init, te.compute((4, 3), lambda t, i: cell[t - 1, i] + 1.0, name="update"), state)


def unequal_lists() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    return te.scan([init, init], [te.compute((4, 3), lambda t, i: state[t - 1, i], name="update")], [state])


def other_shapes() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 5), lambda t, i: te.const(0.0), name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t - 1, i], name="update"), state)


def other_ranks() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((3,), lambda i: te.const(0.0), name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t - 1, i], name="update"), state)


def other_dtypes() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0, "int32"), name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t - 1, i], name="update"), state)


def no_placeholder() -> Any:
    state = te.compute((4, 3), lambda t, i: te.const(0.0), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t - 1, i], name="update"), state)


def too_long_init() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((5, 3), lambda t, i: te.const(0.0), name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t - 1, i], name="update"), state)


def one_placeholder_twice() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    update = te.compute((4, 3), lambda t, i: state[t - 1, i], name="update")
    return te.scan([init, init], [update, update], [state, state])


def no_tensors() -> Any:
    return te.scan(1, 2, 3)  # type: ignore[arg-type]


def init_reads_state() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: state[0, i], name="init")
    return te.scan(init, te.compute((4, 3), lambda t, i: state[t - 1, i], name="update"), state)


def extern_in_cell() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    cell = te.extern((4, 3), [state], lambda ins, outs: wb.tir.call_packed("f", ins[0], outs[0]), name="cell")
    return te.scan(init, te.compute((4, 3), lambda t, i: cell[t, i], name="update"), state)


def cell_seen_outside() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    cell = te.compute((4, 3), lambda t, i: state[t - 1, i] + 1.0, name="cell")
    made = te.scan(init, te.compute((4, 3), lambda t, i: cell[t, i] + 1.0, name="update"), state)
    return te.create_prim_func([made, te.compute((4, 3), lambda i, j: cell[i, j], name="out")])


def state_as_argument() -> Any:
    state = te.placeholder((4, 3), name="state")
    init = te.compute((1, 3), lambda t, i: te.const(0.0), name="init")
    made = te.scan(init, te.compute((4, 3), lambda t, i: state[t - 1, i] + 1.0, name="update"), state)
    return te.create_prim_func([state, made])


REFUSALS = [
    ahead, too_far_back, other_time, unequal_lists, other_shapes, other_ranks, other_dtypes, no_placeholder,
    too_long_init, one_placeholder_twice, no_tensors, init_reads_state, extern_in_cell, cell_seen_outside,
    state_as_argument,
]  # fmt: skip


@pytest.mark.parametrize("attempt", REFUSALS)
def test_refusals(golden: Golden, attempt: Callable[[], Any]):
    with pytest.raises(WorkbenchError) as caught:
        attempt()
    error = caught.value
    assert error.code == "E-TE-SCAN" and error.found and error.expected and error.fix
    golden(f"{error}\n")
