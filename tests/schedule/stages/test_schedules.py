"""te schedules: the engine's program that each kind of call leads to (golden), and the same numbers as without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Golden
from tests.property.stage_orders import argmax, chain, convolution, matmul, pooling, softmax
from tests.schedule.harness import check_numbers, check_replay
from workbench import te
from workbench.tir.script import parse, script

Made = tuple[te.Schedule, list[te.Tensor]]


def split_by_factor_and_parts() -> Made:
    a, b, d = matmul()
    s = te.create_schedule(d.op)
    s[d].split(d.op.axis[0], factor=4)
    s[d].split(d.op.axis[1], nparts=3)
    return s, [a, b, d]


def fused_and_split_again() -> Made:
    a, b, d = matmul()
    s = te.create_schedule(d.op)
    fused = s[d].fuse(*d.op.axis)
    outer, inner = s[d].split(fused, factor=5)
    s[d].parallel(outer)
    s[d].unroll(inner)
    return s, [a, b, d]


def fused_after_a_reorder() -> Made:
    """Loops that are neighbours in the order of the leaves only."""
    *args, relu = convolution()
    s = te.create_schedule(relu.op)
    o, y, x = relu.op.axis
    s[relu].reorder(y, o, x)
    s[relu].fuse(o, x)
    return s, [*args, relu]


def tiled_with_cache_and_packing() -> Made:
    n, block = 8, 4
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    packed = te.compute((n // block, n, block), lambda x, y, z: b[y, x * block + z], name="packed")
    c = te.compute((n, n), lambda x, y: te.sum(a[x, k] * packed[y // block, k, y % block], axis=k), name="C")
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "local")
    xo, yo, _, _ = s[c].tile(*c.op.axis, block, block)
    s[cache].compute_at(s[c], yo)
    xc, yc = s[cache].op.axis
    ko, ki = s[cache].split(s[cache].op.reduce_axis[0], factor=2)
    s[cache].reorder(ko, xc, ki, yc)
    s[cache].unroll(ki)
    s[cache].vectorize(yc)
    s[packed].vectorize(s[packed].op.axis[2])
    s[c].parallel(xo)
    return s, [a, b, c]


def a_place_inside_a_placed_stage() -> Made:
    """pad stands in a loop of conv, which stands in a loop of relu."""
    *args, relu = convolution()
    added = relu.op.body[0].a.producer
    conv = added.op.body[0].a.producer
    pad = conv.op.body[0].source[0].a.producer
    s = te.create_schedule(relu.op)
    s[added].compute_inline()
    s[pad].compute_at(s[conv], conv.op.axis[1])
    s[conv].compute_at(s[relu], relu.op.axis[0])
    s[conv].reorder(conv.op.axis[1], conv.op.axis[0])
    return s, [*args, relu]


def a_place_in_a_loop_fused_later() -> Made:
    """The loop stays, other loops of the consumer are split, fused and reordered after the call."""
    *args, relu = convolution()
    added = relu.op.body[0].a.producer
    s = te.create_schedule(relu.op)
    o, y, x = relu.op.axis
    s[added].compute_at(s[relu], o)
    fused = s[relu].fuse(y, x)
    outer, inner = s[relu].split(fused, factor=8)
    s[relu].reorder(o, inner, outer)
    return s, [*args, relu]


def inlined_chain() -> Made:
    x, four = chain()
    s = te.create_schedule(four.op)
    for stage in s.stages[1:-1]:
        stage.compute_inline()
    return s, [x, four]


def read_through_two_caches() -> Made:
    a, b, d = matmul()
    c = d.op.body[0].a.producer
    s = te.create_schedule(d.op)
    shared = s.cache_read(a, "shared", [c])
    local = s.cache_read(shared, "local", [c])
    i, _ = c.op.axis
    s[local].compute_at(s[c], s[c].op.reduce_axis[0])
    s[shared].compute_at(s[c], i)
    return s, [a, b, d]


def cached_output_with_its_reader() -> Made:
    x, half = pooling()
    pool = half.op.body[0].a.producer
    s = te.create_schedule(half.op)
    cache = s.cache_write(half, "local")
    s[pool].compute_at(s[cache], s[cache].op.axis[0])
    s[cache].compute_at(s[half], half.op.axis[0])
    return s, [x, half]


def factored_reduction() -> Made:
    x = te.placeholder((6, 10), name="X")
    k = te.reduce_axis((0, 10), name="k")
    y = te.compute((6,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    _, ki = s[y].split(k, factor=4)
    partial = s.rfactor(y, ki, 1)
    s[partial].compute_at(s[y], s[y].op.axis[0])
    s[partial].vectorize(s[partial].op.axis[1])
    return s, [x, y]


def marks_and_remarks() -> Made:
    x, out = softmax()
    s = te.create_schedule(out.op)
    i, j = out.op.axis
    s[out].pragma(i, "auto_unroll_max_step", 16)
    s[out].prefetch(x, i, 1)
    shifted = out.op.body[0].a.producer
    s[shifted].set_scope("local")
    s[shifted].double_buffer()
    s[shifted].storage_align(shifted.op.axis[0], 8, 1)
    s[out].vectorize(j)
    return s, [x, out]


def other_layout() -> Made:
    x, four = chain()
    one = next(stage for stage in te.create_schedule(four.op).stages if stage.op.name == "one").op
    s = te.create_schedule(four.op)
    outer, j, inner = s[one].transform_layout(lambda i, j: (j // 7, i, j % 7))
    s[one].parallel(s[one].fuse(j, inner))
    assert s[one].leaf_iter_vars[0] is outer
    return s, [x, four]


def group() -> Made:
    x, four = chain()
    s = te.create_schedule(four.op)
    one, three = (next(stage.op for stage in s.stages if stage.op.name == name) for name in ("one", "three"))
    members = s.create_group(outputs=three.output(0), inputs=one.output(0), include_inputs=True)
    assert [stage.op.name for stage in members.stages] == ["one", "two", "three"]
    members.compute_at(s[four], four.op.axis[0])
    return s, [x, four]


def scalar_stage() -> Made:
    x = te.placeholder((5,), name="X")
    k = te.reduce_axis((0, 5), name="k")
    total = te.compute((), lambda: te.sum(x[k], axis=k), name="total")
    y = te.compute((5,), lambda i: x[i] - total[()], name="Y")
    s = te.create_schedule(y.op)
    s[total].split(k, factor=2)
    s[total].compute_at(s[y], y.op.axis[0])
    return s, [x, y]


def unit_loop_of_a_scalar() -> Made:
    """A scalar has no loops until `fuse()` gives it one, which another stage can stand in."""
    x = te.placeholder((5,), name="X")
    k = te.reduce_axis((0, 5), name="k")
    twice = te.compute((5,), lambda i: x[i] * 2.0, name="twice")
    total = te.compute((), lambda: te.sum(twice[k], axis=k), name="total")
    y = te.compute((), lambda: total[()] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    unit = s[y].fuse()
    s[total].compute_at(s[y], unit)
    s[twice].compute_at(s[y], unit)
    return s, [x, y]


def cache_for_one_of_two_readers() -> Made:
    x, four = chain()
    s = te.create_schedule(four.op)
    one = next(stage.op for stage in s.stages if stage.op.name == "one")
    s.cache_read(x, "local", [one])
    s.cache_read(x, "shared", four.op)
    return s, [x, four]


def factored_argmax() -> Made:
    x, added = argmax()
    most = added.op.body[0].a.producer
    s = te.create_schedule(added.op)
    outer, _ = s[most].split(most.op.reduce_axis[0], factor=3)
    place, value = s.rfactor(most, outer)
    assert place.op is value.op and s[place].op.num_outputs == 2
    s[place].parallel(s[place].op.axis[0])
    s[most].compute_at(s[added], added.op.axis[0])
    return s, [x, added]


def rolling_window() -> Made:
    x = te.placeholder((8,), name="X")
    twice = te.compute((8,), lambda i: x[i] * 2.0, name="twice")
    y = te.compute((6,), lambda i: twice[i] + twice[i + 1] + twice[i + 2], name="Y")
    s = te.create_schedule(y.op)
    s[twice].compute_at(s[y], y.op.axis[0])
    s[twice].rolling_buffer()
    return s, [x, y]


def scan_with_a_stage_in_the_cell() -> Made:
    x, state = te.placeholder((4, 6), name="X"), te.placeholder((4, 6), name="state")
    init = te.compute((1, 6), lambda _, i: x[0, i], name="init")
    twice = te.compute((4, 6), lambda t, i: state[t - 1, i] * 2.0, name="twice")
    update = te.compute((4, 6), lambda t, i: twice[t, i] + x[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[x])
    s = te.create_schedule(scan.op)
    outer, inner = s[update].split(update.op.axis[1], factor=4)
    s[twice].compute_at(s[update], outer)
    s[update].vectorize(inner)
    return s, [x, scan]


CASES: dict[str, Callable[[], Made]] = {
    case.__name__: case
    for case in (
        split_by_factor_and_parts, fused_and_split_again, fused_after_a_reorder, tiled_with_cache_and_packing,
        a_place_inside_a_placed_stage, a_place_in_a_loop_fused_later, inlined_chain, read_through_two_caches,
        cached_output_with_its_reader, factored_reduction, marks_and_remarks, other_layout, group, scalar_stage,
        scan_with_a_stage_in_the_cell, unit_loop_of_a_scalar, cache_for_one_of_two_readers, factored_argmax,
        rolling_window,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_program(name: str, golden: Golden) -> None:
    s, args = CASES[name]()
    schedule: Any = s.to_schedule(args)
    golden(f"{s!r}\n\n{schedule.code()}\n\n{schedule.script()}\n")
    plain = te.create_prim_func(args)
    check_numbers(plain, schedule.func)
    check_replay(plain, schedule)
    assert script(parse(schedule.script())) == schedule.script()
