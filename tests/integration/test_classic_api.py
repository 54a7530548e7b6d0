"""Scripts of the classic API, with the package's name replaced in their imports."""

from __future__ import annotations

import io
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from tests.driver.programs import onnxruntime_outputs, small_inputs, small_model
from workbench import relay, runtime, te
from workbench.contrib import graph_executor
from workbench.core.node import rewrite
from workbench.core.transform import PASSES
from workbench.ir.instrument import PassTimingInstrument, PrintAfterAll, pass_instrument


@pytest.fixture(autouse=True)
def _passes_stay_as_they_were() -> Any:
    known = set(PASSES)
    yield
    for name in set(PASSES) - known:
        PASSES.remove(name)


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return onnxruntime_outputs(small_model(), small_inputs())[0]


def small_relay() -> tuple[Any, Any]:
    return relay.frontend.from_onnx(small_model(), {"x": (1, 3, 7, 7)})


def test_quick_start(expected: np.ndarray) -> None:
    x = small_inputs()["x"]
    mod, params = relay.frontend.from_onnx(small_model(), {"x": x.shape})
    target = workbench.target.Target("llvm")
    with workbench.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
    dev = workbench.device(str(target), 0)
    gmod = graph_executor.GraphModule(lib["default"](dev))
    gmod["set_input"](0, x)
    gmod["run"]()
    np.testing.assert_allclose(gmod["get_output"](0).numpy(), expected, rtol=1e-3, atol=1e-4)

    module = graph_executor.GraphModule(lib["default"](workbench.cpu(0)))
    module.set_input("x", workbench.nd.array(x))
    module.run()
    out = module.get_output(0, workbench.nd.empty((1, 7))).numpy()
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4)
    seconds = np.array(timeit.Timer(lambda: module.run()).repeat(repeat=2, number=3)) / 3
    assert seconds.min() > 0
    timed = module.benchmark(workbench.cpu(0), number=2, repeat=2)
    assert timed.mean > 0


def test_earlier_outputs_stay_as_they_were() -> None:
    mod, params = small_relay()
    module = graph_executor.GraphModule(relay.build(mod, target="llvm", params=params)["default"](workbench.cpu()))
    module.run(x=small_inputs(1)["x"])
    first = module.get_output(0)
    kept = first.numpy()
    module.run(x=small_inputs(2)["x"])
    np.testing.assert_array_equal(first.numpy(), kept)
    assert np.abs(module.get_output(0).numpy() - kept).max() > 0


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_computes_the_same(level: int, expected: np.ndarray) -> None:
    mod, params = small_relay()
    with workbench.transform.PassContext(opt_level=level):
        lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](workbench.cpu(0)))
    module.run(**small_inputs())
    np.testing.assert_allclose(module.get_output(0).numpy(), expected, rtol=1e-3, atol=1e-4)


def test_disabled_and_required_passes(expected: np.ndarray) -> None:
    mod, params = small_relay()
    with workbench.transform.PassContext(opt_level=1, required_pass=["FoldScaleAxis"], disabled_pass=["SimplifyExpr"]):
        lib = relay.build(mod, "llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](workbench.cpu(0)))
    module.run(**small_inputs())
    np.testing.assert_allclose(module.get_output(0).numpy(), expected, rtol=1e-3, atol=1e-4)


def addone() -> Any:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    return [a, te.compute((n,), lambda i: a[i] + 1.0, name="B")]


def test_an_exported_library_is_loaded(tmp_path: Path) -> None:
    built = workbench.build(te.create_prim_func(addone(), name="addone"), target="llvm", name="addone")
    path = tmp_path / "addone.so"
    built.export_library(str(path))
    mod = runtime.load_module(str(path))
    a = workbench.nd.array(np.array([1, 2, 3], "float32"), device=workbench.cpu(0))
    b = workbench.nd.empty((3,), "float32", workbench.cpu(0))
    mod["addone"](a, b)
    np.testing.assert_array_equal(b.numpy(), [2, 3, 4])
    assert mod.get_function("addone") is not None


def test_an_exported_model_is_loaded(tmp_path: Path, expected: np.ndarray) -> None:
    mod, params = small_relay()
    relay.build(mod, target="llvm", params=params).export_library(str(tmp_path / "small.so"))
    loaded = runtime.load_module(str(tmp_path / "small.so"))
    module = graph_executor.GraphModule(loaded["default"](workbench.cpu(0)))
    module.run(**small_inputs())
    np.testing.assert_allclose(module.get_output(0).numpy(), expected, rtol=1e-3, atol=1e-4)


def test_arrays() -> None:
    made = workbench.nd.array([1, 2, 3], device=workbench.cpu(0))
    assert made.shape == (3,) and made.device == workbench.cpu(0)
    assert workbench.nd.array([1.5]).dtype == "float32"
    assert workbench.nd.array(np.arange(4, dtype="int8"), workbench.cpu(0)).dtype == "int8"
    np.testing.assert_array_equal(made.asnumpy(), [1, 2, 3])
    np.testing.assert_array_equal(made.copyto(workbench.cpu(0)).numpy(), [1, 2, 3])


# --- passes -------------------------------------------------------------------------------------------------------


def example() -> Any:
    """The function of the classic pass tutorial."""
    shape = (1, 64, 54, 54)
    c = relay.const(np.ones(shape, "float32"))
    weight = relay.var("weight", shape=(64, 64, 3, 3))
    x = relay.var("x", relay.TensorType((1, 64, 56, 56), "float32"))
    conv = relay.nn.conv2d(x, weight)
    y = relay.add(c, c)
    y = relay.multiply(y, relay.const(2, "float32"))
    y = relay.add(conv, y)
    z = relay.add(y, c)
    z1 = relay.add(y, c)
    return relay.Function([x, weight], relay.add(z, z1))


def test_passes_by_hand_and_in_sequence() -> None:
    mod = workbench.IRModule.from_expr(example())
    folded = relay.transform.FoldConstant()(mod)
    merged = relay.transform.EliminateCommonSubexpr()(folded)
    fused = relay.transform.FuseOps(fuse_opt_level=2)(merged)
    assert "Primitive" in fused.astext()

    seq = workbench.transform.Sequential(
        [
            relay.transform.FoldConstant(),
            relay.transform.EliminateCommonSubexpr(),
            relay.transform.FuseOps(fuse_opt_level=2),
        ]
    )
    mod1 = seq(mod)
    with workbench.transform.PassContext(opt_level=3):
        mod2 = seq(mod)
    with workbench.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        mod3 = seq(mod)
    with workbench.target.Target("llvm"), workbench.transform.PassContext(opt_level=3):
        mod4 = relay.transform.Sequential([relay.transform.FoldConstant(), relay.transform.FuseOps()])(mod)
    counts = [len([line for line in m.astext().split("\n") if " add(" in line]) for m in (mod1, mod2, mod3, mod4)]
    assert counts[1] < counts[2], f"merging removes an addition: {counts}"
    assert workbench.ir.structural_equal(mod2, fused)


def test_a_pass_class_of_ones_own() -> None:
    @relay.transform.function_pass(opt_level=1)
    class CustomPipeline:
        """Multiplies every constant."""

        def __init__(self, multiplier: Any) -> None:
            self.multiplier = multiplier

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            def post(node: Any) -> Any:
                return relay.multiply(self.multiplier, node) if isinstance(node, relay.Constant) else None

            return rewrite(func, post)

    mod = workbench.IRModule.from_expr(example())
    custom_pass = CustomPipeline(multiplier=relay.const(3, "float32"))
    assert custom_pass.info.name == "CustomPipeline"
    assert "3f" in custom_pass(mod).astext()


def test_module_passes_of_ones_own() -> None:
    @workbench.transform.module_pass(opt_level=2)
    def transform(mod: Any, ctx: Any) -> Any:
        tp = relay.TensorType((10,), "float32")
        x = relay.var("x", tp)
        func = relay.Function([x], relay.abs(x))
        new_mod = workbench.IRModule({relay.GlobalVar("abs"): func})
        new_mod.update(mod)
        return new_mod

    assert isinstance(transform, workbench.transform.ModulePass)
    assert transform.info.opt_level == 2
    assert set(transform(workbench.IRModule.from_expr(example())).names()) == {"abs", "main"}


def test_instruments(capsys: pytest.CaptureFixture[str]) -> None:
    mod = workbench.IRModule.from_expr(example())
    timing = PassTimingInstrument()
    with workbench.transform.PassContext(instruments=[timing]):
        mod = relay.transform.FoldConstant()(relay.transform.InferType()(mod))
        profiles = timing.render()
    assert "FoldConstant" in profiles and "InferType" in profiles

    with workbench.transform.PassContext(opt_level=3, instruments=[PrintAfterAll()]):
        relay.transform.FuseOps()(mod)
    assert "After FuseOps" in capsys.readouterr().out

    counts: dict[str, int] = {}

    @pass_instrument
    class Counter:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            counts[info.name] = counts.get(info.name, 0) + 1

    with workbench.transform.PassContext(opt_level=3, instruments=[Counter()]):
        relay.transform.FuseOps()(mod)
    assert counts["FuseOps"] == 1


def test_modules_as_text() -> None:
    mod = workbench.IRModule.from_expr(example())
    text = mod.astext()
    assert "def @main(%x: Tensor[(1, 64, 56, 56), float32]" in text
    assert "nn.conv2d" in str(mod)
    again = workbench.relay.fromtext(text) if "meta[" not in text else None
    assert again is None or workbench.ir.structural_equal(again, mod)


def test_operators_by_hand_run() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    mod = workbench.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(relay.subtract(x, y))))
    lib = relay.build(mod, target="llvm")
    module = graph_executor.GraphModule(lib["default"](workbench.cpu()))
    a, b = (np.random.default_rng(seed).standard_normal((2, 3)).astype("float32") for seed in (0, 1))
    module.set_input(x=a, y=b)
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(a - b, 0))


def test_timing_a_function() -> None:
    built = workbench.build(te.create_prim_func(addone(), name="addone"), target="llvm", name="addone")
    a, b = workbench.nd.array(np.zeros(64, "float32")), workbench.nd.empty((64,))
    result = built.time_evaluator("addone", workbench.cpu(0), number=5, repeat=2)(a, b)
    assert result.mean > 0 and len(result.results) == 2
    assert "define" in built.get_source("ll") and io.StringIO(built.get_source("asm")).readline()
