"""Whatever is handed to compiled code as an argument: one error that names it, through every way in; never a wild read.

Direct calls are in `test_calls`; here are models, executors, and an exported library loaded by plain tvm-ffi.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from workbench import relay, te
from workbench.contrib import graph_executor
from workbench.core.errors import InternalError, WorkbenchError
from workbench.tir.interpret import interpret
from workbench.ui.workbench import Workbench


class Liar:
    """Says that it is an array, and is none."""

    def __init__(self, **interface: Any) -> None:
        self.__array_interface__ = {"version": 3, "typestr": "<f4", "shape": (4, 8), **interface}


class Raises:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no")


def misaligned() -> np.ndarray:
    return np.zeros(4 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 8)


def masked() -> Any:
    """What lies under the mask is no number of the caller's."""
    return np.ma.masked_array(np.ones((4, 8), np.float32), mask=np.eye(4, 8, dtype=bool))


WRONG: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "text": lambda: "x",
    "bytes": lambda: b"\0" * 128,
    "number": lambda: 3.0,
    "dict": lambda: {"x": 1},
    "list_of_texts": lambda: [["a"] * 8] * 4,
    "ragged_list": lambda: [[1.0] * 8, [1.0] * 7],
    "objects": lambda: np.full((4, 8), None),
    "dates": lambda: np.zeros((4, 8), "datetime64[s]"),
    "records": lambda: np.zeros((4, 8), [("a", "f4")]),
    "complex": lambda: np.ones((4, 8), np.complex64),
    "wider": lambda: np.ones((4, 8), np.float64),
    "integers": lambda: np.ones((4, 8), np.int64),
    "rank": lambda: np.ones(32, np.float32),
    "rank_0": lambda: np.float32(1),
    "rank_12": lambda: np.ones((1,) * 10 + (4, 8), np.float32),
    "shape": lambda: np.ones((8, 4), np.float32),
    "one_too_few": lambda: np.ones((4, 7), np.float32),
    "empty": lambda: np.ones((0, 8), np.float32),
    "too_large": lambda: np.broadcast_to(np.float32(1), (1 << 40, 8)),
    "lying_interface": lambda: Liar(data=(8, False), shape=(4, -8)),
    "raises": Raises,
    "masked": lambda: masked(),
    "class": lambda: np.ndarray,
    "generator": lambda: (x for x in [1.0]),
}
RIGHT: dict[str, Callable[[], Any]] = {
    "list": lambda: [[1.0] * 8] * 4,
    "strided": lambda: np.ones((8, 8), np.float32)[::2],
    "reversed": lambda: np.ones((4, 8), np.float32)[::-1, ::-1],
    "transposed": lambda: np.ones((8, 4), np.float32).T,
    "repeated": lambda: np.broadcast_to(np.float32(1), (4, 8)),
    "big_endian": lambda: np.ones((4, 8), ">f4"),
    "misaligned": lambda: misaligned() + np.float32(1),
    "misaligned_view": lambda: _ones(misaligned()),
    "read_only": lambda: _frozen(np.ones((4, 8), np.float32)),
    "half": lambda: np.ones((4, 8), np.float16),
    "brain": lambda: np.ones((4, 8), ml_dtypes.bfloat16),
    "small_integers": lambda: np.ones((4, 8), np.int16),
    "subclass": lambda: np.ones((4, 8), np.float32).view(np.matrix),
    "nd": lambda: wb.nd.array(np.ones((4, 8), np.float32)),
}
"""These mean what the model takes, so they are taken (copied where need be)."""


def _ones(array: np.ndarray) -> np.ndarray:
    array[...] = 1
    return array


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.fixture(scope="module")
def model() -> Any:
    x = relay.var("x", shape=(4, 8))
    doubled = relay.add(relay.nn.relu(x), relay.const(np.ones((4, 8), "f")))
    return relay.build(wb.IRModule.from_expr(relay.Function([x], doubled)))


def by_run(model: Any, value: Any) -> np.ndarray:
    return next(iter(model.run({"x": value}).values()))


def by_executor(model: Any, value: Any) -> np.ndarray:
    executor = graph_executor.GraphModule(model["default"](wb.cpu(0)))
    executor.set_input("x", value)
    executor.run()
    return executor.get_output(0).numpy()


WAYS = {"run": by_run, "executor": by_executor}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("way", WAYS)
def test_wrong_inputs_are_named(way: str, name: str, model: Any) -> None:
    with pytest.raises(WorkbenchError) as caught:
        WAYS[way](model, WRONG[name]())
    error = caught.value
    assert not isinstance(error, InternalError)
    assert error.code.startswith("E-RUN-") and "'x'" in error.message, str(error)
    assert error.found


def added() -> Any:
    a, b = (te.placeholder((4, 8), name=name) for name in "AB")
    return te.create_prim_func([a, b, te.compute((4, 8), lambda i, j: a[i, j] + b[i, j], name="C")])


ONES = np.ones((4, 8), np.float32)
GRAPH = relay.Function([relay.var("x", shape=(4, 8))], relay.const(ONES))
MASKED: dict[str, Callable[[Any], Any]] = {
    "a call": lambda given: wb.build(added())["main"](given, ONES, ONES.copy()),
    "a call that writes it": lambda given: wb.build(added())["main"](ONES, ONES, given),
    "a session": lambda given: wb.open(added()).run({"A": given, "B": ONES}),
    "a comparison": lambda given: wb.compare(*[wb.open(added())] * 2, {"A": ONES, "B": ONES, "C": given}),
    "a check": lambda given: wb.open(added()).check({"A": given, "B": ONES}),
    "the interpreter of loops": lambda given: interpret(added(), given, ONES, ONES.copy()),
    "the interpreter of graphs": lambda given: relay.create_executor("debug").evaluate(GRAPH)(given),
    "nd.array": wb.nd.array,
    "copyfrom": lambda given: wb.nd.empty((4, 8)).copyfrom(given),
    "a constant": relay.const,
    "a screen": lambda given: setattr(Workbench(wb.open(added())), "inputs", {"A": given, "B": ONES}),
}


@pytest.mark.parametrize("way", MASKED)
def test_what_lies_under_a_mask_is_not_read(way: str) -> None:
    """Programs ran on what the caller had said to be no number."""
    with pytest.raises(WorkbenchError, match="E-RUN-MASKED") as caught:
        MASKED[way](masked())
    assert "filled" in caught.value.fix and caught.value.found == "4 of 32 elements masked"
    if way != "a constant":
        MASKED[way](np.ma.masked_array(ONES.copy()))  # nothing is masked in it


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("way", WAYS)
def test_inputs_that_mean_the_same_are_taken(way: str, name: str, model: Any) -> None:
    np.testing.assert_array_equal(WAYS[way](model, RIGHT[name]()), np.full((4, 8), 2, "f"))


@pytest.mark.parametrize("key", ["y", "", 1, -2, None, 1.5, ("x",), 1 << 70])
def test_inputs_that_are_not_there(key: Any, model: Any) -> None:
    executor = graph_executor.GraphModule(model["default"](wb.cpu(0)))
    with pytest.raises(WorkbenchError):
        executor.set_input(key, np.ones((4, 8), "f")) if key is not None else executor.get_input(key)
    with pytest.raises(WorkbenchError):
        executor.get_output(key)


def test_outputs_are_never_the_inputs(model: Any) -> None:
    x = np.ones((4, 8), "f")
    out = by_run(model, x)
    assert not np.shares_memory(out, x) and np.array_equal(x, np.ones((4, 8), "f"))
    again = by_run(model, x * 3)
    assert not np.shares_memory(out, again) and np.array_equal(out, np.full((4, 8), 2, "f"))


# --- an exported library, as a stranger loads it -------------------------------------------------------------------

KERNEL = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        B[i, j] = A[i, j] + T.float32(1)
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import tvm_ffi

    from workbench.tir.script import parse

    path = tmp_path_factory.mktemp("exported") / "add.so"
    wb.build(parse(KERNEL)).export_library(path)
    return tvm_ffi.load_module(str(path))["main"]


FOREIGN_WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "dtype": (lambda: np.ones((4, 8), np.float64), "E-CALL-DTYPE"),
    "integers": (lambda: np.ones((4, 8), np.int32), "E-CALL-DTYPE"),
    "half": (lambda: np.ones((4, 8), np.float16), "E-CALL-DTYPE"),
    "shape": (lambda: np.ones((8, 4), np.float32), "E-CALL-SHAPE"),
    "rank": (lambda: np.ones(32, np.float32), "E-CALL-SHAPE"),
    "empty": (lambda: np.ones((0, 8), np.float32), "E-CALL-SHAPE"),
    "strided": (lambda: np.ones((8, 8), np.float32)[::2], "E-CALL-STRIDES"),
    "transposed": (lambda: np.ones((8, 4), np.float32).T, "E-CALL-STRIDES"),
    "reversed": (lambda: np.ones((4, 8), np.float32)[::-1], "E-CALL-STRIDES"),
    "misaligned": (misaligned, "E-CALL-ALIGNMENT"),
    "none": (lambda: None, "E-CALL-KIND"),
    "number": (lambda: 3, "E-CALL-KIND"),
    "text": (lambda: "x", "E-CALL-KIND"),
}


@pytest.mark.parametrize("name", FOREIGN_WRONG)
@pytest.mark.parametrize("position", [0, 1])
def test_a_library_checks_by_itself(foreign: Any, name: str, position: int) -> None:
    make, code = FOREIGN_WRONG[name]
    arguments = [np.ones((4, 8), "f"), np.zeros((4, 8), "f")]
    arguments[position] = make()
    with pytest.raises(Exception, match=code) as caught:
        foreign(*arguments)
    assert ("A" if position == 0 else "B") in str(caught.value)
    assert position == 1 or not np.asarray(arguments[1]).any()


def test_a_library_refuses_overlaps_and_counts(foreign: Any) -> None:
    memory = np.zeros((6, 8), "f")
    with pytest.raises(Exception, match="E-CALL-OVERLAP"):
        foreign(memory[:4], memory[2:])
    for count in (0, 1, 3, 300):
        with pytest.raises(Exception, match="E-CALL-COUNT"):
            foreign(*[np.ones((4, 8), "f")] * count)
    out = np.zeros((4, 8), "f")
    foreign(np.ones((4, 8), "f"), out)
    assert np.array_equal(out, np.full((4, 8), 2, "f"))


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    for content in (b"", b"\x7fELF" + b"\0" * 60, b"WORKBENCH-LIB-1\n" * 4, b"\xff" * 24 + b"WORKBENCH-LIB-1\n"):
        path = tmp_path / "x.so"
        path.write_bytes(content)
        with pytest.raises(WorkbenchError) as caught:
            wb.runtime.load_module(path)
        assert caught.value.code.startswith("E-LOAD-")
    for odd in (tmp_path, tmp_path / "\0", "/dev/zero", tmp_path / "fifo"):
        if str(odd).endswith("fifo"):
            import os

            os.mkfifo(odd)
        with pytest.raises(WorkbenchError) as caught:
            wb.runtime.load_module(odd)
        assert caught.value.code in ("E-LOAD-FILE", "E-LOAD-FORMAT"), str(caught.value)
