"""Compiled models and their executors: classic names, faults, memory of their own, debugging call by call."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.codegen.support import build, function
from workbench import relay
from workbench.contrib import graph_executor
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.runtime import cpu, device, load_module, ndarray, num_threads, set_num_threads
from workbench.runtime.executor import DebugExecutor
from workbench.runtime.model import CompiledModel, KernelCall, TensorSpec

SCALE = """
def scale(A: T.Buffer((4,), "float32"), W: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        B[i] = A[i] * W[i]
"""
MAIN = """
def main(x: T.Buffer((4,), "float32"), w: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    T.func_attr({"role": "entry"})
    with T.block("root"):
        t = T.alloc_buffer((4,), "float32")
        T.evaluate(T.call_tir("scale", T.address_of(x[0]), T.address_of(w[0]),
                              T.address_of(t[0])))
        T.evaluate(T.poll_cancel())
        T.evaluate(T.call_tir("scale", T.address_of(t[0]), T.address_of(w[0]),
                              T.address_of(y[0])))
"""
WEIGHTS = np.array([1, 2, 3, 4], "float32")


def spec(name: str) -> TensorSpec:
    return TensorSpec(name, (4,), DataType("float32"))


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    shapes = ((4,), (4,), (4,))
    return CompiledModel(
        "default",
        build({"main": function(MAIN), "scale": function(SCALE)}),
        inputs=(spec("x"),),
        outputs=(spec("y"),),
        constants=((spec("w"), WEIGHTS),),
        temporaries=(spec("t"),),
        calls=(
            KernelCall("scale", "first", ("x", "w", "t"), shapes),
            KernelCall("scale", "second", ("t", "w", "y"), shapes),
        ),
    )


def test_run_gives_outputs_by_name(model: CompiledModel) -> None:
    x = np.arange(4, dtype="float32")
    first = model.run({"x": x})["y"]
    np.testing.assert_array_equal(first, x * WEIGHTS**2)
    model.run({"x": x + 1})
    np.testing.assert_array_equal(first, x * WEIGHTS**2)  # never overwritten by the next run


@pytest.mark.parametrize(
    ("inputs", "code", "word"),
    [
        ({}, "E-RUN-INPUT", "missing"),
        ({"xx": WEIGHTS}, "E-RUN-INPUT", "did you mean 'x'"),
        ({"x": WEIGHTS.astype("float64")}, "E-RUN-DTYPE", "astype"),
        ({"x": WEIGHTS[:3]}, "E-RUN-SHAPE", "(3,)"),
        ({"x": "text"}, "E-RUN-DTYPE", "x"),
        ({"x": [[1], [2, 3]]}, "E-RUN-DTYPE", "x"),
        ({"x": None}, "E-RUN-DTYPE", "x"),
    ],
)
def test_run_names_bad_inputs(model: CompiledModel, inputs: dict[str, object], code: str, word: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        model.run(inputs)
    assert caught.value.code.startswith(code)
    assert word in str(caught.value)


def test_run_takes_lists_views_and_ndarrays(model: CompiledModel) -> None:
    expected = np.arange(4) * WEIGHTS**2
    strided = np.arange(8, dtype="float32")[::2] / 2
    for given in ([0, 1, 2, 3], ndarray.array([0.0, 1.0, 2.0, 3.0]), strided, np.arange(4, dtype="int8")):
        np.testing.assert_array_equal(model.run({"x": given})["y"], expected)


def test_classic_graph_executor(model: CompiledModel) -> None:
    gmod = graph_executor.GraphModule(model["default"](cpu(0)))
    x = np.arange(4, dtype="float32")
    gmod["set_input"](0, ndarray.array(x))
    gmod["run"]()
    array = np.zeros(4, "float32")
    assert gmod.get_output(0, array) is array and array.any()
    out = gmod.get_output(0, ndarray.empty((4,)))
    np.testing.assert_array_equal(out.numpy(), x * WEIGHTS**2)
    gmod.set_input("x", x + 1)
    gmod.run()
    np.testing.assert_array_equal(gmod.get_output(0).numpy(), (x + 1) * WEIGHTS**2)
    np.testing.assert_array_equal(out.numpy(), x * WEIGHTS**2)
    gmod.run(x=x)
    np.testing.assert_array_equal(gmod["get_output"](0).numpy(), x * WEIGHTS**2)
    assert (gmod.get_num_inputs(), gmod.get_num_outputs()) == (1, 1)
    assert gmod.get_input_index("x") == 0 and gmod.get_input_index("z") == -1
    assert gmod.benchmark(cpu(0), repeat=2, number=2).mean > 0


@pytest.mark.parametrize(
    "call",
    [
        "set_name", "set_index", "output", "method", "device", "output of another shape", "output of another type",
        "output into a list", "output of no writing", "parameters", "parameters by name",
    ],
)  # fmt: skip
def test_executor_faults(model: CompiledModel, call: str) -> None:
    gmod = graph_executor.GraphModule(model["default"](cpu(0)))
    with pytest.raises(WorkbenchError):
        {
            "set_name": lambda: gmod.set_input("z", WEIGHTS),
            "set_index": lambda: gmod.set_input(3, WEIGHTS),
            "output": lambda: gmod.get_output(7),
            "output of another shape": lambda: gmod.get_output(0, np.zeros((2, 4), "float32")),
            "output of another type": lambda: gmod.get_output(0, np.zeros(4, "float16")),
            "output of no writing": lambda: gmod.get_output(0, np.broadcast_to(np.float32(0), (4,))),
            "output into a list": lambda: gmod.get_output(0, [0.0] * 4),
            "parameters": lambda: gmod.load_params(b"bytes"),
            "parameters by name": lambda: gmod["share_params"],
            "method": lambda: gmod["fly"],
            "device": lambda: model["default"](device("cuda")),
        }[call]()


def test_two_executors_do_not_share_memory(model: CompiledModel) -> None:
    one, other = model["default"](cpu(0)), model["default"](cpu(0))
    one.set_input("x", WEIGHTS)
    other.set_input("x", 0 * WEIGHTS)
    one.run()
    other.run()
    assert one.get_output(0).numpy().any() and not other.get_output(0).numpy().any()


def test_debug_executor_keeps_intermediates_and_times(model: CompiledModel) -> None:
    debug = DebugExecutor(model)
    rows = debug.profile(x=WEIGHTS)
    assert [row["label"] for row in rows] == ["first", "second"]
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    np.testing.assert_array_equal(debug.debug_get_output("first").numpy(), WEIGHTS**2)
    np.testing.assert_array_equal(debug.value("t"), WEIGHTS**2)
    np.testing.assert_array_equal(debug.get_output(0).numpy(), WEIGHTS**3)
    with pytest.raises(WorkbenchError, match="E-DEBUG-VALUE"):
        debug.value("q")


def test_models_are_exported_whole(model: CompiledModel, tmp_path: Path) -> None:
    loaded = load_module(model.export_library(str(tmp_path / "model.so")))
    np.testing.assert_array_equal(loaded.run({"x": WEIGHTS})["y"], WEIGHTS**3)
    np.testing.assert_array_equal(DebugExecutor(loaded).profile(x=WEIGHTS)[1]["label"], "second")
    assert json.loads(loaded.get_graph_json())["inputs"] == [["x", [4], "float32"]]


def test_unpacks_as_graph_library_and_parameters(model: CompiledModel) -> None:
    graph, library, params = model
    assert json.loads(graph)["entry"] == "main"
    assert "scale" in library.function_names
    np.testing.assert_array_equal(params["w"].numpy(), WEIGHTS)


def test_time_evaluator(model: CompiledModel) -> None:
    out = ndarray.empty((4,))
    timed = model.module.time_evaluator("scale", cpu(0), number=5, repeat=3)(WEIGHTS, WEIGHTS, out)
    assert len(timed.results) == 3 and 0 < timed.min <= timed.median <= timed.max
    assert "mean (ms)" in str(timed)


def test_thread_counts_are_checked() -> None:
    before = num_threads()
    with pytest.raises(WorkbenchError, match="E-THREADS"):
        set_num_threads(-1)
    set_num_threads(0)
    assert num_threads() >= 1
    set_num_threads(before)


def test_arrays() -> None:
    a = ndarray.array([1.5, 2.5])
    assert (a.dtype, a.shape) == ("float32", (2,))
    assert ndarray.array([1, 2, 3]).dtype == "int64"
    b = ndarray.empty((2,), "float32")
    a.copyto(b)
    a[:] = 0
    np.testing.assert_array_equal(b.numpy(), [1.5, 2.5])
    np.testing.assert_array_equal(np.from_dlpack(b), [1.5, 2.5])
    with pytest.raises(WorkbenchError, match="E-ARRAY-SHAPE"):
        b.copyfrom(np.zeros(3))
    with pytest.raises(WorkbenchError, match="E-CALL-ELEMENT"):
        ndarray.array(np.array(["x"]))
    with pytest.raises(WorkbenchError, match="E-DEVICE-UNKNOWN"):
        device("cpuu")


def test_compiling_and_dropping_does_not_leak() -> None:
    import resource

    text = SCALE
    x = WEIGHTS.copy()

    def cycle(count: int) -> None:
        for _ in range(count):
            build(text)["f"](x, x, np.zeros(4, "float32"))

    cycle(20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cycle(60)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000, f"{grown} KiB for 60 cycles"


@pytest.mark.parametrize(
    "given",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.arange(6, dtype=np.float32).reshape(3, 2).T[::-1].copy(order="F"),
        np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2],
        np.frombuffer(np.arange(6, dtype=np.float32).tobytes(), np.float32).reshape(2, 3),
        np.frombuffer(b"\0" + np.arange(6, dtype=np.float32).tobytes(), np.float32, offset=1).reshape(2, 3),
        np.arange(6, dtype=np.int8).reshape(2, 3),
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
    ],
    ids=["as expected", "swapped", "turned", "strided", "read only", "unaligned", "another dtype", "lists"],
)
def test_inputs_that_the_entry_takes_as_they_are_and_others_give_the_same(given: Any) -> None:
    x = relay.var("x", shape=(2, 3))
    model = wb.open(relay.Function([x], relay.add(x, x))).build()
    expected = 2 * np.asarray(given).astype(np.float32)
    for found in (model.run({"x": given}), model.run(x=given), model.run(MappingProxyType({"x": given}))):
        np.testing.assert_array_equal(found["output_0"], expected)


def test_what_a_person_wrote_is_run_over_zeros() -> None:
    """It may leave parts of an output as they were: nothing that memory held before is to be read there."""
    x = relay.var("x", shape=(4096,))
    session = wb.open(relay.Function([x], relay.nn.relu(x)))
    assert session.build().fills_outputs
    (name,) = session.kernels
    half = session.tir[name].script().replace("T.serial(256)", "T.serial(128)")
    edited = session.edit(tir={name: half})
    assert not edited.build().fills_outputs
    found = edited.run({"x": np.ones(4096, np.float32)})["output_0"]
    assert found[:2048].all() and not found[2048:].any()
