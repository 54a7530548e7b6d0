"""Packed calls: what is accepted, what is refused and how; interrupts; lifetimes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time

import ml_dtypes
import numpy as np
import pytest

from tests.codegen.support import build
from tests.runtime.interrupting import interrupted_inside
from workbench.core.errors import WorkbenchError
from workbench.runtime import PackedFunc, get_global_func, ndarray, register_func

ADD = """
def add(A: T.Buffer((16, 8), "float32"), n: T.int64, x: T.float32, C: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        C[i, j] = A[i, j] + x + T.Cast("float32", n)
"""


@pytest.fixture(scope="module")
def add() -> PackedFunc:
    return build(ADD)["f"]


def good() -> list[object]:
    return [np.ones((16, 8), "float32"), 2, 0.5, np.zeros((16, 8), "float32")]


def misaligned(shape: tuple[int, ...]) -> np.ndarray:
    raw = np.zeros(int(np.prod(shape)) * 4 + 1, "uint8")
    return raw[1:].view("float32").reshape(shape)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def test_good_arguments_of_many_kinds(add: PackedFunc) -> None:
    for first in (
        np.ones((16, 8), "float32"),
        ndarray.array(np.ones((16, 8), "float32")),
        read_only(np.ones((16, 8), "float32")),
    ):
        for output in (np.zeros((16, 8), "float32"), ndarray.empty((16, 8))):
            add(first, 2, 0.5, output)
            np.testing.assert_array_equal(np.asarray(output), np.full((16, 8), 3.5))
    add(np.ones((16, 8), "float32"), True, 1, good()[3])
    add(np.ones((16, 8), "float32"), np.int64(1), np.float32(1), good()[3])


@pytest.mark.parametrize(
    ("position", "value", "code", "words"),
    [
        (0, np.ones((16, 8)), "E-CALL-DTYPE", ["A", "float64", "float32"]),
        (0, np.ones((16, 8), "int32"), "E-CALL-DTYPE", ["A", "int32"]),
        (0, np.ones((8, 16), "float32"), "E-CALL-SHAPE", ["A", "(8, 16)", "(16, 8)"]),
        (0, np.ones(128, "float32"), "E-CALL-SHAPE", ["(128,)"]),
        (0, np.ones((0, 8), "float32"), "E-CALL-SHAPE", ["(0, 8)"]),
        (0, np.ones((8, 16), "float32").T, "E-CALL-STRIDES", ["A", "ascontiguousarray"]),
        (0, np.ones((32, 8), "float32")[::2], "E-CALL-STRIDES", ["A"]),
        (0, misaligned((16, 8)), "E-CALL-ALIGNMENT", ["A"]),
        (0, np.ones((16, 8), ">f4"), "E-CALL-BYTE-ORDER", ["byte order"]),
        (0, None, "E-CALL-KIND", ["A", "None"]),
        (0, 3, "E-CALL-KIND", ["A", "an int"]),
        (0, "text", "E-CALL-KIND", ["A", "a text"]),
        (0, np.ones((16, 8), ml_dtypes.bfloat16), "E-CALL-DTYPE", ["bfloat16"]),
        (1, 2.5, "E-CALL-KIND", ["n", "an int", "a float"]),
        (1, None, "E-CALL-KIND", ["n", "None"]),
        (2, "x", "E-CALL-KIND", ["x", "a float"]),
        (3, read_only(np.zeros((16, 8), "float32")), "E-CALL-READ-ONLY", ["argument 3"]),
    ],
)
def test_refusals_name_the_argument(add: PackedFunc, position: int, value: object, code: str, words: list[str]) -> None:
    arguments = good()
    arguments[position] = value
    with pytest.raises(WorkbenchError) as caught:
        add(*arguments)
    assert caught.value.code == code
    for word in words:
        assert word in str(caught.value)
    assert not np.asarray(good()[3]).any()


@pytest.mark.parametrize("count", [0, 3, 5])
def test_refuses_a_wrong_number_of_arguments(add: PackedFunc, count: int) -> None:
    with pytest.raises(WorkbenchError, match="E-CALL-COUNT"):
        add(*[*good(), 1][:count])


def test_refuses_overlapping_input_and_output(add: PackedFunc) -> None:
    memory = np.zeros((24, 8), "float32")
    with pytest.raises(WorkbenchError, match="E-CALL-OVERLAP"):
        add(memory[:16], 1, 1.0, memory[8:])
    same = np.zeros((16, 8), "float32")
    with pytest.raises(WorkbenchError, match="E-CALL-OVERLAP"):
        add(same, 1, 1.0, same)


def test_zero_sized_tensors() -> None:
    text = """
    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32"), n: T.int64):
        for i, j in T.grid(n, 4):
            B[i, j] = A[i, j]
    """
    copy = build(text)
    copy(np.zeros((0, 4), "float32"), np.zeros((0, 4), "float32"), 0)
    around = np.full((3, 4), 7.0, "float32")
    copy(np.zeros((0, 4), "float32"), around[1:1], 0)
    np.testing.assert_array_equal(around, np.full((3, 4), 7.0), "nothing around an empty tensor is written")
    copy(np.ones((1, 4), "float32"), around[1:2], 1)
    np.testing.assert_array_equal(around[:, 0], [7.0, 1.0, 7.0])


def test_function_outlives_its_module(add: PackedFunc) -> None:
    function = build(ADD)["f"]
    gc.collect()
    for _ in range(20):
        build(ADD.replace("+ x", "- x"))
    gc.collect()
    arguments = good()
    function(*arguments)
    np.testing.assert_array_equal(arguments[3], np.full((16, 8), 3.5))


ENDLESS = """
def f(A: T.Buffer((64,), "float32"), inside: T.Buffer((1,), "int32")):
    inside[0] = 1
    while inside[0] >= 0:
        inside[0] = inside[0] % 1000000 + 1
"""
LONG = """
def f(A: T.Buffer((64,), "float32"), inside: T.Buffer((1,), "int32")):
    inside[0] = 1
    for r in T.serial(100000000):
        for j in T.serial(64):
            for k in T.serial(1000):
                A[j] = T.sqrt(A[j] + T.Cast("float32", k))
"""
PARALLEL = LONG.replace("T.serial(64)", "T.parallel(64)")


@pytest.mark.parametrize("program", [ENDLESS, LONG, PARALLEL], ids=["ENDLESS", "LONG", "PARALLEL"])
def test_ctrl_c_ends_a_native_call(program: str) -> None:
    """The thread that sends it runs Python meanwhile: native code leaves the interpreter to others."""
    compiled = build(program)["f"]
    inside = np.zeros(1, "int32")
    with interrupted_inside(inside) as sent, pytest.raises(KeyboardInterrupt):
        compiled(np.zeros(64, "float32"), inside)
    assert time.process_time() - sent[0] < 1.0 * 2  # two threads


def test_sigint_ends_a_native_call_in_a_process_of_its_own() -> None:
    """SIGINT itself, with the handler that Python installs, where the caller ignores the signal."""
    script = f"""
    import os, signal, threading, time
    import numpy as np
    from tests.codegen.support import build
    signal.signal(signal.SIGINT, signal.default_int_handler)
    compiled = build({LONG!r})["f"]
    inside = np.zeros(1, "int32")
    def interrupt():
        while not inside[0]:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        compiled(np.zeros(64, "float32"), inside)
    except KeyboardInterrupt:
        print("interrupted")
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=50,
            cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.stdout == "interrupted\n", done.stderr[-2000:]


def test_global_functions() -> None:
    @register_func("test.twice", override=True)
    def twice(x: int) -> int:
        return 2 * x

    found = get_global_func("test.twice")
    assert found is not None and found(21) == 42
    assert get_global_func("test.no-such", allow_missing=True) is None
    with pytest.raises(WorkbenchError, match="E-FUNC-UNKNOWN"):
        get_global_func("test.twicee")
    with pytest.raises(WorkbenchError, match="E-FUNC-CLASH"):
        register_func("test.twice", twice)


def test_errors_of_python_functions_keep_their_words() -> None:
    def fail(x: int) -> int:
        raise ValueError(f"no {x} today")

    register_func("test.fail", fail, override=True)
    function = get_global_func("test.fail")
    assert function is not None
    with pytest.raises(WorkbenchError, match="no 3 today"):
        function(3)


def test_signals_are_python_s_again_after_a_call(add: PackedFunc) -> None:
    before = signal.getsignal(signal.SIGINT)
    add(*good())
    assert signal.getsignal(signal.SIGINT) is before

LATE = """
import sys, warnings
import numpy as np
from workbench.runtime.dlpack import tensor_of
array = np.arange(4.0)
array.flags.writeable = False
kept = [tensor_of(array)]
warnings.showwarning = lambda *_: kept  # a module that goes after ours holds the tensor
print("ended")
"""


def test_a_tensor_may_outlive_the_package_when_the_interpreter_ends() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
