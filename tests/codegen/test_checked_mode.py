"""Checked mode: planted accesses outside a buffer are reported with buffer, axis, index, extent and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.support import build, call, function
from tests.nightly import daily
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.tir.script import script

PLANTED = {
    "one past the end": ("B[i] = A[i + 1]", "load from A", "axis 0", "index 16", "extent 16", "i = 15"),
    "one before": ("B[i] = A[i - 1]", "load from A", "axis 0", "index -1", "extent 16", "i = 0"),
    "a store": ("B[i * 2] = A[i]", "store to B", "axis 0", "index 16", "extent 16", "i = 8"),
    "an unguarded arm": (
        "B[i] = T.if_then_else(i < 20, A[i + 3], T.float32(0.0))",
        "load from A", "axis 0", "index 16", "extent 16", "i = 13",
    ),
    "a gather": ("B[i] = A[T.Cast(\"int64\", A[i]) * 100]", "load from A", "axis 0", "index 100", "extent 16", "i = 1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["serial", "vectorized", "parallel"])
@pytest.mark.parametrize("name", PLANTED)
def test_planted_overruns_are_found(name: str, kind: str) -> None:
    statement, *words = PLANTED[name]
    text = f"""
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.{kind}(16):
            {statement}
    """
    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    with pytest.raises(WorkbenchError) as caught:
        call(text, a, b, checked=True)
    assert caught.value.code == "E-RUN-BOUNDS"
    if kind == "parallel":
        words = words[:2]  # which iteration comes first is open
    for word in words:
        assert word in str(caught.value)


def test_the_second_axis_is_named() -> None:
    text = """
    def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.serial(4):
            for j in T.serial(8):
                B[i, j] = A[i, j + i]
    """
    a, b = np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32")
    call(text, a, b)  # inside the memory, so that only checking finds it
    with pytest.raises(WorkbenchError) as caught:
        call(text, a, b, checked=True)
    assert "axis 1" in str(caught.value)
    assert "i = 1, j = 7" in str(caught.value)


def test_guarded_loads_are_right() -> None:
    text = """
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((18,), "float32")):
        for i in T.vectorized(18):
            B[i] = T.if_then_else(1 <= i and i < 17, A[i - 1], T.float32(0.0))
    """
    a, b = np.arange(16, dtype="float32"), np.zeros(18, "float32")
    call(text, a, b, checked=True)
    np.testing.assert_array_equal(b, np.pad(a, 1))


def test_correct_programs_run_the_same() -> None:
    from tests.codegen.test_statements import MATMUL

    random = np.random.default_rng(3)
    a = random.normal(size=(20, 24)).astype("float32")
    b = random.normal(size=(24, 32)).astype("float32")
    c = np.zeros((20, 32), "float32")
    build(MATMUL, checked=True)(a, b, c)
    np.testing.assert_allclose(c, a.astype("float64") @ b, rtol=1e-5, atol=1e-5)


# --- one element beyond, planted in every access of real kernels ---


def accesses(func: Any) -> list[tuple[Any, int, int]]:
    """(load or store, axis, +1 or -1) wherever the index runs over exactly the whole axis."""
    from workbench.arith.simplify import Simplifier
    from workbench.core.node import pre_order
    from workbench.tir import nodes as t

    ranges = Simplifier()
    found: list[tuple[Any, int, int]] = []
    for node in pre_order(func.body):
        if isinstance(node, t.For):
            ranges.bind_range(node.var, node.min, node.extent)
    for node in pre_order(func.body):
        if not isinstance(node, (t.BufferLoad, t.BufferStore)):
            continue
        for axis, (index, extent) in enumerate(zip(node.indices, node.buffer.shape, strict=True)):
            ends = _ends(index)
            bounds = [ranges.bound(end) for end in ends]
            if ends and min(b.low for b in bounds) == 0 and max(b.high for b in bounds) == extent.value - 1:
                found += [(node, axis, 1), (node, axis, -1)]
    return found


def moved(func: Any, node: Any, axis: int, step: int) -> Any:
    """The function with one access one element further."""
    from workbench.arith import nodes as n
    from workbench.arith.build import add, const
    from workbench.core.node import rewrite

    index = node.indices[axis]
    if isinstance(index, n.Ramp):
        further: Any = n.Ramp(add(index.base, const(step)), index.stride, index.lanes)
    else:
        further = add(index, const(step))
    indices = (*node.indices[:axis], further, *node.indices[axis + 1 :])
    planted = node.replace(indices=indices)
    return rewrite(func, lambda _: None, lambda each: planted if each is node else None)


@pytest.fixture(scope="module")
def session() -> Any:
    """A dense layer and a convolution, scheduled and vectorized."""
    import workbench as wb
    from workbench import relay

    x, w = relay.var("x", shape=(1, 4, 10, 10)), relay.var("w", shape=(16, 4, 3, 3))
    v, u = relay.var("v", shape=(8, 32)), relay.var("u", shape=(48, 32))
    conv = relay.nn.relu(relay.nn.conv2d(x, w, channels=16, kernel_size=(3, 3), padding=(1, 1)))
    return wb.open(relay.Function([x, w, v, u], relay.Tuple([conv, relay.nn.dense(v, u)])))


@pytest.mark.parametrize("step", daily(("Simplify", "VectorizeLoop"), "VectorizeLoop"))
def test_one_element_beyond_is_always_reported(session: Any, step: str) -> None:
    from workbench.codegen.llvm.contained import Contained, unit_of
    from workbench.driver.numerics.forms import checked_form

    count, missed = 0, []
    with Contained() as child:
        for kernel in session.kernels:
            func = session[step].after[kernel]
            lowered = next(k for k in session["Lower"].step.stage.lowered.kernels if k.name == kernel).func
            shapes = [tuple(extent.value for extent in buffer.shape) for buffer in lowered.params]
            for place, shape in enumerate(shapes[:-1]):
                child.put(f"in{place}", np.ones(shape, "float32"))
            for node, axis, further in accesses(func):
                count += 1
                form = checked_form(moved(func, node, axis, further), kernel)
                library = f"{kernel}{count}"
                assert child.load(library, unit_of(IRModule({kernel: form}), session.target, optimise=0)) is None
                last = len(shapes) - 1
                keys = [f"in{place}" for place in range(last)]
                answer = child.call(library, kernel, keys, [(last, node.buffer.dtype.element_of, shapes[-1])])
                extent = node.buffer.shape[axis].value
                verb = "store to" if hasattr(node, "value") else "load from"
                words = (verb, node.buffer.name, f"index {extent if further > 0 else -1};", f"extent {extent} ", " = ")
                said = f"{answer.error} {answer.error and answer.error.found}; " if answer.error else ""
                said = said.replace("\n", "; ")
                missed += [(kernel, node.buffer.name, axis, further, said)] * any(word not in said for word in words)
    assert count >= 20 and not missed, f"{len(missed)} of {count} were not reported: {missed[:3]}"


def _ends(index: Any) -> list[Any]:
    from workbench.tir.transforms.bound_check import _ends as ends

    return list(ends(index) or ())


def test_the_cost_of_right_code_is_small() -> None:
    """A right kernel keeps at most a few of its checks: the rest is proved (the ratio is in benchmarks/checked.py)."""
    from workbench.tir.transforms.bound_check import check_bounds

    func = function(
        """
        def f(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
            for io, i, j in T.grid(8, 8, 64):
                if io * 8 + i < 60:
                    B[io * 8 + i, j] = T.if_then_else(j < 60, A[io * 8 + i, j + 4], T.float32(0.0))
        """
    )
    assert "wb_report" not in script(check_bounds(func))
