"""The public tutorial of the classic API on intrinsics and maths, written anew from its sequence of calls.

There is no CUDA code generator here: where the tutorial prints CUDA source, the lowered program shows the call.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import workbench as tvm
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir import register_intrin_lowering, register_op_attr
from workbench.tir.script import script
from workbench.tir.transforms.intrinsic_rules import remove_intrin_lowering


@pytest.fixture(autouse=True)
def without_rules() -> Iterator[None]:
    yield
    for name in ("tir.exp", "tir.mylog"):
        for target in ("cuda", "llvm", "default"):
            for level in (10, 98, 99):
                remove_intrin_lowering(name, target, level)


def bound(function):
    """B[i] = function(A[i]) on threads."""
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute(a.shape, lambda i: function(a[i]), name="B")
    s = te.create_schedule(b.op)
    bx, tx = s[b].split(b.op.axis[0], factor=64)
    s[b].bind(bx, te.thread_axis("blockIdx.x"))
    s[b].bind(tx, te.thread_axis("threadIdx.x"))
    return s, [a, b]


def lowered(function, target: str) -> str:
    s, args = bound(function)
    with tvm.target.Target(target):
        return script(tvm.lower(s, args, simple_mode=True))


def test_direct_call_of_a_target_function():
    text = lowered(lambda x: tvm.tir.call_pure_extern("float32", "__expf", x), "cuda")
    assert 'T.call_pure_extern("__expf", A[' in text and 'thread="threadIdx.x"' in text


def test_the_unified_intrinsic():
    assert "T.exp(A[" in lowered(te.exp, "cuda")
    assert "T.exp(A[" not in lowered(te.exp, "llvm")


def test_building_for_a_target_without_a_generator_says_so():
    s, args = bound(te.exp)
    with pytest.raises(WorkbenchError) as caught:
        tvm.build(s, args, "cuda", name="myexp")
    assert "cuda" in str(caught.value)


def my_cuda_math_rule(op):
    """Customised CUDA lowering: a float32 function is the C function with an f."""
    name = op.op.name
    assert name.startswith("tir.")
    dispatch_name = name[4:]
    if op.dtype == "float32":
        return tvm.tir.call_pure_extern("float32", f"{dispatch_name}f", op.args[0])
    if op.dtype == "float64":
        return tvm.tir.call_pure_extern("float64", dispatch_name, op.args[0])
    return op


def test_customised_lowering():
    register_intrin_lowering("tir.exp", target="cuda", f=my_cuda_math_rule, level=99)
    assert 'T.call_pure_extern("expf", A[' in lowered(te.exp, "cuda")


def mylog(x):
    """Customised log intrinsic function."""
    return tvm.tir.call_intrin(x.dtype, "tir.mylog", x)


def my_mylog_rule(op):
    """Lowering of one's own log."""
    if op.dtype == "float32":
        return tvm.tir.call_pure_extern("float32", "logf", op.args[0])
    if op.dtype == "float64":
        return tvm.tir.call_pure_extern("float64", "log", op.args[0])
    return op


def test_an_intrinsic_of_one_s_own():
    register_op_attr("tir.mylog", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    register_intrin_lowering("tir.mylog", target="cuda", f=my_mylog_rule, level=99)
    assert 'T.call_pure_extern("logf", A[' in lowered(mylog, "cuda")


@pytest.mark.parametrize("target", ["llvm", "default"])
def test_rules_for_the_processor_run(target: str):
    register_op_attr("tir.mylog", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    register_intrin_lowering("tir.mylog", target=target, f=my_mylog_rule)
    a = te.placeholder((16,), name="A")
    b = te.compute(a.shape, lambda i: mylog(a[i]), name="B")
    s = te.create_schedule(b.op)
    data, found = np.linspace(1, 4, 16, dtype=np.float32), np.zeros(16, np.float32)
    tvm.build(s, [a, b], "llvm")(data, found)
    np.testing.assert_allclose(found, np.log(data), rtol=1e-6)


def test_the_highest_level_is_asked_first_and_may_pass():
    register_intrin_lowering("tir.exp", target="cuda", f=lambda op: None, level=99)

    @register_intrin_lowering("tir.exp", target="cuda", level=98)
    def second(op):
        return tvm.tir.call_pure_extern(op.dtype, "second", op.args[0])

    register_intrin_lowering("tir.exp", "cuda", lambda op: tvm.tir.call_pure_extern(op.dtype, "third", op.args[0]))
    assert 'T.call_pure_extern("second"' in lowered(te.exp, "cuda")


def test_refusals():
    with pytest.raises(WorkbenchError) as caught:
        register_intrin_lowering("tir.no_such_function", "cuda", my_mylog_rule)
    assert caught.value.code == "E-INTRINSIC-UNKNOWN"
    with pytest.raises(WorkbenchError) as caught:
        register_op_attr("nn.conv2d", "TOpPattern", 3)
    assert caught.value.code == "E-INTRINSIC-ATTRIBUTE"
    register_intrin_lowering("tir.exp", "cuda", lambda op: tvm.tir.call_pure_extern("float64", "exp", op.args[0]))
    with pytest.raises(WorkbenchError) as caught:
        lowered(te.exp, "cuda")
    assert caught.value.code == "E-INTRINSIC-RULE"
