"""A definition that surely reads outside of a tensor is refused; one that may be right is taken."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.nightly import examples
from workbench import te
from workbench.arith.build import call
from workbench.core.errors import WorkbenchError

X = te.placeholder((4,), name="X")
Z = te.placeholder((4, 4), name="Z")
INDEX = te.placeholder((4,), "int32", name="I")
N = te.var("n")
Y = te.placeholder((N,), name="Y")
K = te.reduce_axis((0, 3), name="k")


def zero():
    return te.const(0.0)


OUTSIDE = {
    "after the end": ([X], 4, lambda i: X[i + 1], "it is 4 at i = 3"),
    "before the begin": ([X], 4, lambda i: X[i - 1], "it is -1 at i = 0"),
    "falling": ([X], 4, lambda i: X[4 - i], "it is 4 at i = 0"),
    "constant": ([X], 4, lambda i: X[7], "index 7"),
    "guard too wide": ([X], 4, lambda i: te.if_then_else(i < 3, X[i + 2], zero()), "it is 4 at i = 2"),
    "untaken side": ([X], 4, lambda i: te.if_then_else(i < 3, zero(), X[i + 1]), "it is 4 at i = 3"),
    "sum": ([X], 3, lambda i: te.sum(X[i + K], axis=K), "it is 4 at i = 2, k = 2"),
    "inside an index": ([X, INDEX], 4, lambda i: X[INDEX[i + 1]], "it is 4 at i = 3"),
    "symbolic": ([Y], N, lambda i: Y[i + 1], "it is n at i = n - 1"),
    "symbolic begin": ([Y], N, lambda i: Y[i - 1], "it is -1 at i = 0"),
}
INSIDE = {
    "whole": ([X], 4, lambda i: X[i]),
    "falling": ([X], 4, lambda i: X[3 - i]),
    "wrapped": ([X], 4, lambda i: X[(i + 1) % 4]),
    "if": ([X], 4, lambda i: te.if_then_else(i < 3, X[i + 1], zero())),
    "else": ([X], 4, lambda i: te.if_then_else(i >= 3, zero(), X[i + 1])),
    "likely": ([X], 4, lambda i: te.if_then_else(call("likely", i < 3), X[i + 1], zero())),
    "select": ([X], 4, lambda i: te.select(i < 3, X[i + 1], zero())),
    "both": ([X], 4, lambda i: te.if_then_else(te.all(i < 3, X[i + 1] > 0), X[i], zero())),
    "one of them": ([X], 4, lambda i: te.if_then_else(te.any(i > 2, X[i + 1] > 0), X[i], zero())),
    "sum where": ([X], 3, lambda i: te.sum(X[i + K], axis=K, where=i + K < 4)),
    "two variables": ([Z], 4, lambda i: te.sum(te.if_then_else(i + K < 4, Z[i, i + K], zero()), axis=K)),
    "data": ([X, INDEX], 4, lambda i: X[INDEX[i]]),
    "a condition that is data": ([X, INDEX], 4, lambda i: te.if_then_else(INDEX[i] > 0, X[i + 1], zero())),
    "symbolic": ([Y], N, lambda i: Y[N - 1 - i]),
    "unrelated sizes": ([Y], te.var("m"), lambda i: Y[i]),
    "no elements": ([X], 0, lambda i: X[i + 9]),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_read_that_surely_leaves_its_tensor_is_refused_with_the_iteration(name):
    inputs, extent, body, found = OUTSIDE[name]
    with pytest.raises(WorkbenchError) as caught:
        te.create_prim_func([*inputs, te.compute((extent,), body, name="C")])
    error = caught.value
    assert error.code == "E-TE-BOUNDS" and "C reads" in str(error) and found in error.found and error.fix
    assert error.expected.startswith("0 to extent")


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_inside_or_cannot_be_decided_is_taken(name):
    inputs, extent, body = INSIDE[name]
    te.create_prim_func([*inputs, te.compute((extent,), body, name="C")])


def test_a_read_under_many_conditions_is_judged_under_each():
    """A condition that came into being where another one had lain was taken for that one, and the read for judged."""
    for bounds in itertools.product((3, 2, 9), repeat=5):

        def body(i, bounds=bounds):
            read = X[i + 1]
            return functools.reduce(operator.add, [te.if_then_else(i >= bound, 0.0, read) for bound in bounds])

        if 9 in bounds:
            with pytest.raises(WorkbenchError, match="E-TE-BOUNDS"):
                te.create_prim_func([X, te.compute((4,), body, name="C")])


def test_the_times_of_a_scan_are_those_that_it_computes():
    data = te.placeholder((5, 3), name="D")
    state = te.placeholder((5, 3), name="state")
    init = te.compute((1, 3), lambda _, i: data[0, i], name="init")

    def program(back):
        step = te.compute((5, 3), lambda t, i: state[t - 1, i] + data[t - back, i], name="update")
        return [data, te.scan(init, step, state, inputs=[data])]

    te.create_prim_func(program(1))
    with pytest.raises(WorkbenchError, match="E-TE-BOUNDS") as caught:
        te.create_prim_func(program(2))
    assert "it is -1 at t = 1" in caught.value.found


def scheduled(program):
    return wb.build(te.create_schedule(program[-1].op), program)


@pytest.mark.parametrize("make", [wb.open, wb.build, scheduled])
def test_every_entrance_refuses(make):
    with pytest.raises(WorkbenchError, match="E-TE-BOUNDS"):
        make([X, te.compute((4,), lambda i: X[i + 1], name="C")])


def test_what_is_inside_runs():
    session = wb.open([X, te.compute((4,), INSIDE["if"][2], name="C")])
    assert session.run({"X": np.arange(4, dtype=np.float32)})["C"].tolist() == [1, 2, 3, 0]


@given(
    extents=st.lists(st.integers(1, 5), min_size=2, max_size=2),
    factors=st.lists(st.integers(-3, 3), min_size=2, max_size=2),
    offset=st.integers(-4, 8),
    shape=st.integers(1, 12),
    kind=st.sampled_from(["none", "bound", "sum", "mod", "else"]),
    limit=st.integers(-2, 8),
)
@settings(max_examples=examples(200), deadline=None)
def test_refused_is_what_an_iteration_proves(extents, factors, offset, shape, kind, limit):
    """Gone through one by one: nothing is refused that stays inside; without conditions all that does not is."""
    guards = {
        "none": lambda i, j: True, "bound": lambda i, j: i < limit, "sum": lambda i, j: i + j < limit,
        "mod": lambda i, j: (i + limit) % 2 == 0, "else": lambda i, j: j >= limit,
    }  # fmt: skip
    guard = guards[kind]
    leaves = any(
        guard(i, j) and not 0 <= factors[0] * i + factors[1] * j + offset < shape
        for i in range(extents[0])
        for j in range(extents[1])
    )
    data = te.placeholder((shape,), name="D")

    def body(i, j):
        index = i * factors[0] + j * factors[1] + offset
        if kind == "none":
            return data[index]
        if kind == "else":
            return te.if_then_else(j < limit, zero(), data[index])
        return te.if_then_else((i + limit) % 2 == 0 if kind == "mod" else guard(i, j), data[index], zero())

    try:
        te.create_prim_func([data, te.compute(tuple(extents), body, name="C")])
    except WorkbenchError as error:
        assert error.code == "E-TE-BOUNDS" and leaves
    else:
        assert not leaves or kind != "none"
