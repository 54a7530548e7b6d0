"""Scripts on the pass infrastructure and instruments, written for the classic API; only imports name this package.

Each test is a script as its users write it: the calls, keyword arguments and attributes are theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as tvm
import workbench.relay as relay
from workbench import te
from workbench.contrib.utils import tempdir
from workbench.core.transform import PASSES
from workbench.ir.instrument import (
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from workbench.relay.build_module import bind_params_by_name
from workbench.relay.testing import resnet


@pytest.fixture(autouse=True)
def _passes_stay_as_they_were() -> Any:
    known = set(PASSES)
    yield
    for name in set(PASSES) - known:
        PASSES.remove(name)


# --- how to use the pass infrastructure ---------------------------------------------------------------------------


def example() -> Any:
    shape = (1, 64, 54, 54)
    c_data = np.zeros(shape).astype("float32")
    c_data.fill(0.25)
    c = relay.const(c_data)
    weight = relay.var("weight", shape=(64, 64, 3, 3))
    x = relay.var("x", relay.TensorType((1, 64, 56, 56), "float32"))
    conv = relay.nn.conv2d(x, weight)
    y = relay.add(c, c)
    y = relay.multiply(y, relay.const(2, "float32"))
    y = relay.add(conv, y)
    z = relay.add(y, c)
    z1 = relay.add(y, c)
    z2 = relay.add(z, z1)
    return relay.Function([x, weight], z2)


def test_applying_passes_one_by_one_and_in_sequence() -> None:
    f = example()
    mod = tvm.IRModule.from_expr(f)
    fold_const = relay.transform.FoldConstant()
    mod = fold_const(mod)
    mod = relay.transform.EliminateCommonSubexpr()(mod)
    mod = relay.transform.FuseOps(fuse_opt_level=0)(mod)
    assert mod.astext().count("Primitive=1") == 4

    mod = tvm.IRModule.from_expr(f)
    seq = tvm.transform.Sequential(
        [
            tvm.relay.transform.FoldConstant(),
            tvm.relay.transform.EliminateCommonSubexpr(),
            tvm.relay.transform.FuseOps(fuse_opt_level=2),
        ]
    )
    mod1 = seq(mod)
    with tvm.transform.PassContext(opt_level=3):
        mod2 = seq(mod)
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        mod3 = seq(mod)
    with tvm.transform.PassContext(opt_level=2, required_pass=["EliminateCommonSubexpr"]):
        mod4 = seq(mod)
    counts = [relay.analysis.list_op_freqs(one)["add"] for one in (mod1, mod2, mod3, mod4)]
    assert counts == [4, 3, 4, 3]


@relay.transform.function_pass(opt_level=1)
class CustomPipeline:
    """Multiplies constants."""

    def __init__(self, multiplier: Any) -> None:
        self.multiplier = multiplier

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        obj = self

        class ReplaceConstant(tvm.relay.ExprMutator):
            def visit_constant(self, c: Any) -> Any:
                return relay.multiply(obj.multiplier, c)

        return ReplaceConstant().visit(func)


def test_a_pass_written_as_a_class() -> None:
    f = example()
    mod = tvm.IRModule.from_expr(f)
    custom_pass = CustomPipeline(multiplier=relay.const(3, "float32"))
    assert custom_pass.info.name == "CustomPipeline"
    mod3 = custom_pass(mod)
    assert relay.analysis.list_op_freqs(mod3)["multiply"] == 3
    assert "3f" in str(mod3.astext())


def test_printing_between_passes(capsys: pytest.CaptureFixture[str]) -> None:
    f = example()
    mod = tvm.IRModule.from_expr(f)
    seq = tvm.transform.Sequential(
        [
            relay.transform.FoldConstant(),
            tvm.transform.PrintIR(),
            relay.transform.EliminateCommonSubexpr(),
            relay.transform.FuseOps(),
        ]
    )
    with tvm.transform.PassContext(opt_level=3):
        mod = seq(mod)
    assert "def @main(%x: Tensor[(1, 64, 56, 56), float32]" in capsys.readouterr().out

    @tvm.instrument.pass_instrument
    class PrintIR:
        """Prints the name of each pass, and the module before it."""

        def run_before_pass(self, mod: Any, info: Any) -> None:
            print("Running pass: {}", info)
            print(mod)

    mod = tvm.IRModule.from_expr(f)
    with tvm.transform.PassContext(opt_level=3, instruments=[PrintIR()]):
        with tvm.target.Target("llvm"):
            mod = seq(mod)
    out = capsys.readouterr().out
    assert out.count("Running pass:") >= 4 and "FoldConstant" in out
    print("done")


# --- how to use pass instruments ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network() -> Any:
    relay_mod, relay_params = resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, 224, 224))
    return relay_mod, relay_params


def test_timing_passes(network: Any) -> None:
    relay_mod, _relay_params = network
    assert "def @main(%data: Tensor[(1, 3, 224, 224), float32]" in relay_mod.astext(show_meta_data=False)
    timing_inst = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing_inst]):
        relay_mod = relay.transform.InferType()(relay_mod)
        relay_mod = relay.transform.FoldScaleAxis()(relay_mod)
        profiles = timing_inst.render()
    assert "FoldScaleAxis" in profiles and "us" in profiles

    cur_pass_ctx = tvm.transform.PassContext.current()
    cur_pass_ctx.override_instruments([timing_inst])
    relay_mod = relay.transform.InferType()(relay_mod)
    relay_mod = relay.transform.FoldScaleAxis()(relay_mod)
    profiles = timing_inst.render()
    cur_pass_ctx.override_instruments([])
    assert "InferType" in profiles


@pass_instrument
class RelayCallNodeDiffer:
    """Counts the calls of operators before and after each pass."""

    def __init__(self) -> None:
        self._op_diff: list[Any] = []
        self._op_cnt_before_stack: list[Any] = []

    def enter_pass_ctx(self) -> None:
        self._op_diff = []
        self._op_cnt_before_stack = []

    def exit_pass_ctx(self) -> None:
        assert len(self._op_cnt_before_stack) == 0, "The stack is not empty. Something wrong."

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self._op_cnt_before_stack.append((info.name, self._count_nodes(mod)))

    def run_after_pass(self, mod: Any, info: Any) -> None:
        name_before, op_to_cnt_before = self._op_cnt_before_stack.pop()
        assert name_before == info.name, f"name_before: {name_before}, info.name: {info.name} doesn't match"
        cur_depth = len(self._op_cnt_before_stack)
        op_to_cnt_after = self._count_nodes(mod)
        op_diff = self._diff(op_to_cnt_after, op_to_cnt_before)
        if op_diff:
            self._op_diff.append((cur_depth, info.name, op_diff))

    def get_pass_to_op_diff(self) -> Any:
        return self._op_diff

    @staticmethod
    def _count_nodes(mod: Any) -> Any:
        ret: dict[str, int] = {}

        def visit(node: Any) -> None:
            if isinstance(node, relay.expr.Call):
                if hasattr(node.op, "name"):
                    op_name = node.op.name
                else:
                    return
                ret[op_name] = ret.get(op_name, 0) + 1

        relay.analysis.post_order_visit(mod["main"], visit)
        return ret

    @staticmethod
    def _diff(d_after: Any, d_before: Any) -> Any:
        ret = {}
        key_after, key_before = set(d_after), set(d_before)
        for k in key_before & key_after:
            tmp = d_after[k] - d_before[k]
            if tmp:
                ret[k] = d_after[k] - d_before[k]
        for k in key_after - key_before:
            ret[k] = d_after[k]
        for k in key_before - key_after:
            ret[k] = -d_before[k]
        return ret


def test_an_instrument_of_ones_own(network: Any) -> None:
    relay_mod, relay_params = network
    call_node_inst = RelayCallNodeDiffer()
    desired_layouts = {"nn.conv2d": ["NHWC", "HWIO"]}
    pass_seq = tvm.transform.Sequential(
        [
            relay.transform.FoldConstant(),
            relay.transform.ConvertLayout(desired_layouts),
            relay.transform.FoldConstant(),
        ]
    )
    relay_mod["main"] = bind_params_by_name(relay_mod["main"], relay_params)
    with tvm.transform.PassContext(opt_level=3, instruments=[call_node_inst]):
        relay_mod = pass_seq(relay_mod)
    found = call_node_inst.get_pass_to_op_diff()
    assert any(name == "ConvertLayout" and "layout_transform" in diff for _, name, diff in found)


@pass_instrument
class PassFine:
    def __init__(self, name: str, log: list[str]) -> None:
        self._name, self.log = name, log

    def enter_pass_ctx(self) -> None:
        self.log.append(f"{self._name} enter_pass_ctx")

    def exit_pass_ctx(self) -> None:
        self.log.append(f"{self._name} exit_pass_ctx")

    def should_run(self, mod: Any, info: Any) -> bool:
        self.log.append(f"{self._name} should_run")
        return True

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self.log.append(f"{self._name} run_before_pass")

    def run_after_pass(self, mod: Any, info: Any) -> None:
        self.log.append(f"{self._name} run_after_pass")


@pass_instrument
class PassBadEnterCtx(PassFine):  # type: ignore[misc]
    def enter_pass_ctx(self) -> None:
        self.log.append(f"{self._name} bad enter_pass_ctx!!!")
        raise ValueError(f"{self._name} bad enter_pass_ctx")


@pass_instrument
class PassBadExitCtx(PassFine):  # type: ignore[misc]
    def exit_pass_ctx(self) -> None:
        self.log.append(f"{self._name} bad exit_pass_ctx!!!")
        raise ValueError(f"{self._name} bad exit_pass_ctx")


def test_exceptions_in_instruments() -> None:
    mod = tvm.IRModule.from_expr(example())
    log: list[str] = []
    demo_ctx = tvm.transform.PassContext(
        instruments=[PassFine("PassFine_0", log), PassBadEnterCtx("PassBadEnterCtx", log), PassFine("PassFine_1", log)]
    )
    try:
        with demo_ctx:
            mod = relay.transform.InferType()(mod)
    except Exception as ex:
        log.append("Catching " + str(ex).split("\n")[-1])
    assert log == [
        "PassFine_0 enter_pass_ctx",
        "PassBadEnterCtx bad enter_pass_ctx!!!",
        "PassFine_0 exit_pass_ctx",
        "Catching PassBadEnterCtx bad enter_pass_ctx",
    ]

    log.clear()
    with demo_ctx:
        mod = relay.transform.InferType()(mod)
    assert log == [], "the instruments of the context are gone"

    demo_ctx.override_instruments(
        [PassFine("PassFine_0", log), PassBadExitCtx("PassBadExitCtx", log), PassFine("PassFine_1", log)]
    )
    log.clear()
    try:
        with demo_ctx:
            mod = relay.transform.InferType()(mod)
    except Exception as ex:
        log.append("Catching " + str(ex).split("\n")[-1])
    names = ("PassFine_0", "PassBadExitCtx", "PassFine_1")
    hooks = ("enter_pass_ctx", "should_run", "run_before_pass", "run_after_pass")
    wanted = [f"{name} {hook}" for hook in hooks for name in names]
    assert log == [*wanted, "PassFine_0 exit_pass_ctx", "PassBadExitCtx bad exit_pass_ctx!!!",
                   "Catching PassBadExitCtx bad exit_pass_ctx"]  # fmt: skip
    log.clear()
    with demo_ctx:
        mod = relay.transform.InferType()(mod)
    assert log == []


@pytest.mark.parametrize("hook", ["should_run", "run_before_pass", "run_after_pass"])
def test_exceptions_around_a_pass_leave_every_instrument(hook: str) -> None:
    log: list[str] = []

    def fail(self: Any, mod: Any, info: Any) -> Any:
        raise RuntimeError(f"in {hook}")

    Bad = pass_instrument(type("Bad", (PassFine,), {hook: fail}))
    mod = tvm.IRModule.from_expr(example())
    with pytest.raises(RuntimeError, match=hook):
        with tvm.transform.PassContext(instruments=[PassFine("a", log), Bad("bad", log), PassFine("b", log)]):
            relay.transform.InferType()(mod)
    assert [line for line in log if "exit" in line] == ["a exit_pass_ctx", "bad exit_pass_ctx", "b exit_pass_ctx"]


def test_switching_passes_off_by_an_instrument() -> None:
    @pass_instrument
    class OnlyRequired:
        def __init__(self) -> None:
            self.skipped: list[str] = []

        def should_run(self, mod: Any, info: Any) -> bool:
            if info.name == "FoldConstant":
                self.skipped.append(info.name)
                return False
            return True

    mod = tvm.IRModule.from_expr(example())
    watcher = OnlyRequired()
    with tvm.transform.PassContext(opt_level=3, instruments=[watcher]):
        kept = relay.transform.FoldConstant()(mod)
    assert watcher.skipped == ["FoldConstant"] and relay.analysis.list_op_freqs(kept)["multiply"] == 1
    with tvm.transform.PassContext(opt_level=3, instruments=[watcher], required_pass=["FoldConstant"]):
        folded = relay.transform.FoldConstant()(mod)
    assert "multiply" not in relay.analysis.list_op_freqs(folded)


def test_printing_instruments(capsys: pytest.CaptureFixture[str]) -> None:
    mod = tvm.IRModule.from_expr(example())
    for chosen, words in (
        (PrintBeforeAll(), ("Before InferType", "Before FoldConstant")),
        (PrintAfterAll(), ("After InferType", "After FoldConstant")),
        (PassPrintingInstrument(["FoldConstant"], ["FoldConstant"]), ("Before FoldConstant", "After FoldConstant")),
    ):
        with tvm.transform.PassContext(opt_level=3, instruments=[chosen]):
            relay.transform.FoldConstant()(mod)
        out = capsys.readouterr().out
        assert all(word in out for word in words)
    folder = tempdir()
    with tvm.transform.PassContext(opt_level=3, instruments=[tvm.ir.instrument.DumpIR(folder.temp_dir)]):
        relay.transform.FoldConstant()(mod)
    assert folder.listdir() == ["000_InferType.py", "001_FoldConstant.py"]


# --- the pass manager, as its public tests use it -----------------------------------------------------------------


class OptTester:
    """Doubles the value of a module's functions."""

    def __init__(self, mod: Any) -> None:
        if not isinstance(mod, tvm.IRModule):
            raise TypeError("mod is expected to be the type of tvm.IRModule")
        self.mod = mod

    def analysis(self) -> None:
        pass

    @staticmethod
    def transform(node: Any, ctx: Any = None) -> Any:
        if isinstance(node, tvm.IRModule):
            gv, func = node.get_global_vars()[0], None
            func = node[gv]
            return tvm.IRModule({gv: OptTester.double(func)})
        return OptTester.double(node)

    @staticmethod
    def double(func: Any) -> Any:
        body = relay.add(func.body, func.body)
        return relay.Function(func.params, body, None, func.type_params)


def get_rand(shape: Any, dtype: str = "float32") -> Any:
    return tvm.nd.array(np.random.default_rng(3).random(shape).astype(dtype))


def test_module_pass() -> None:
    shape = (5, 10)
    dtype = "float32"
    tp = relay.TensorType(shape, dtype)
    x = relay.var("x", tp)
    y = relay.var("y", tp)
    v_add = relay.GlobalVar("myAdd")
    func = relay.Function([x, y], x + y)
    mod = tvm.IRModule({v_add: func})

    pass_name = "module_pass_test"
    opt_level = 0

    @tvm.transform.module_pass(opt_level=opt_level, name=pass_name)
    def transform(expr: Any, ctx: Any) -> Any:
        return OptTester.transform(expr, ctx)

    module_pass = transform
    assert isinstance(module_pass, tvm.transform.ModulePass)
    pass_info = module_pass.info
    assert pass_info.name == pass_name
    assert pass_info.opt_level == opt_level

    ret = module_pass(mod)
    new_v_add = ret.get_global_var(v_add.name_hint)
    assert tvm.ir.structural_equal(ret[new_v_add], OptTester.double(func), map_free_vars=True)

    x_nd = get_rand(shape, dtype)
    y_nd = get_rand(shape, dtype)
    ref_res = (x_nd.numpy() + y_nd.numpy()) * 2
    for target, dev in tvm.testing.enabled_targets():
        for kind in ("graph", "debug"):
            res = relay.create_executor(kind, mod=ret, device=dev, target=target).evaluate(ret[new_v_add])(x_nd, y_nd)
            tvm.testing.assert_allclose(res.numpy(), ref_res, rtol=1e-5)


def test_function_class_pass() -> None:
    @relay.transform.function_pass(opt_level=1)
    class TestReplaceFunc:
        """Simple test function to replace one argument."""

        def __init__(self, new_func: Any) -> None:
            self.new_func = new_func

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            return self.new_func

    x = relay.var("x", shape=(10, 20))
    f1 = relay.Function([x], x)
    f2 = relay.Function([x], relay.log(x))
    fpass = TestReplaceFunc(f1)
    assert fpass.info.opt_level == 1
    assert fpass.info.name == "TestReplaceFunc"
    mod = tvm.IRModule.from_expr(f2)
    mod = fpass(mod)
    mod2 = tvm.IRModule.from_expr(f1)
    mod2 = tvm.relay.transform.InferType()(mod2)
    assert tvm.ir.structural_equal(mod["main"], mod2["main"])


def test_function_pass_and_plain_decorator() -> None:
    x = relay.var("x", relay.TensorType((10,), "float32"))
    mod = tvm.IRModule({relay.GlobalVar("myLog"): relay.Function([x], relay.log(x))})

    @relay.transform.function_pass(opt_level=1, name="function_pass_test")
    def transform(expr: Any, mod: Any, ctx: Any) -> Any:
        return OptTester.transform(expr, ctx)

    function_pass = transform
    assert isinstance(function_pass, relay.transform.FunctionPass)
    assert function_pass.info.name == "function_pass_test"
    ret = function_pass(mod)
    assert relay.analysis.list_op_freqs(ret) == {"log": 1, "add": 1}


def test_module_class_pass() -> None:
    @tvm.transform.module_pass(opt_level=1)
    class TestPipeline:
        """Simple test function to replace one argument to another."""

        def __init__(self, new_mod: Any, replace: bool) -> None:
            self.new_mod = new_mod
            self.replace = replace

        def transform_module(self, mod: Any, ctx: Any) -> Any:
            if self.replace:
                return self.new_mod
            return mod

    x = relay.var("x", shape=(10, 20))
    m1 = tvm.IRModule.from_expr(relay.Function([x], x))
    m2 = tvm.IRModule.from_expr(relay.Function([x], relay.log(x)))
    fpass = TestPipeline(m2, replace=True)
    assert fpass.info.name == "TestPipeline"
    assert fpass(m1).same(m2)
    assert TestPipeline(m2, replace=False)(m1).same(m1)


def test_sequential_with_scoping() -> None:
    shape = (1, 2, 3)
    c_data = np.array(shape).astype("float32")
    tp = relay.TensorType(shape, "float32")

    def before() -> Any:
        c = relay.const(c_data)
        x = relay.var("x", tp)
        y = relay.add(c, c)
        y = relay.multiply(y, relay.const(2, "float32"))
        y = relay.add(x, y)
        z = relay.add(y, c)
        z1 = relay.add(y, c)
        z2 = relay.add(z, z1)
        return relay.Function([x], z2)

    def expected() -> Any:
        x = relay.var("x", tp)
        c_folded = (c_data + c_data) * 2
        y = relay.add(x, relay.const(c_folded))
        z = relay.add(y, relay.const(c_data))
        z1 = relay.add(z, z)
        return relay.Function([x], z1)

    seq = tvm.transform.Sequential(
        [
            relay.transform.InferType(),
            relay.transform.FoldConstant(),
            relay.transform.EliminateCommonSubexpr(),
        ]
    )
    mod = tvm.IRModule({"main": before()})
    with tvm.transform.PassContext(opt_level=3):
        with tvm.target.Target("llvm"):
            mod = seq(mod)
    zz = mod["main"]
    zexpected = relay.transform.InferType()(tvm.IRModule.from_expr(expected()))["main"]
    assert tvm.ir.structural_equal(zz, zexpected)


def test_contexts_nest_and_configure() -> None:
    outside = tvm.transform.PassContext.current()
    with tvm.transform.PassContext(opt_level=4, config={"relay.FuseOps.max_depth": 1}) as ctx:
        assert tvm.transform.PassContext.current() is ctx and ctx.opt_level == 4
        with relay.build_config(opt_level=1):
            assert tvm.transform.PassContext.current().opt_level == 1
        mod = relay.transform.FuseOps()(tvm.IRModule.from_expr(example()))
        assert mod.astext().count("Primitive=1") == 7
    assert tvm.transform.PassContext.current() is outside
    with pytest.raises(tvm.TVMError):
        tvm.transform.PassContext(config={"relay.FuseOps.no_such_option": 1})


def test_print_ir_of_te_and_relay_modules(capsys: pytest.CaptureFixture[str]) -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")])
    print(tvm.IRModule({"main": func}).script())
    assert "T.prim_func" in capsys.readouterr().out
