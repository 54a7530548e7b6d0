"""Modules: thin handles on immutable states; tensors and errors beside them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from workbench.core.errors import WorkbenchError, shorten
from workbench.core.module import IRModule
from workbench.core.table import Table
from workbench.core.tensor import Tensor
from workbench.relay.ir.expr import Function, GlobalVar, const, var


def identity() -> Function:
    x = var("x", shape=(2,))
    return Function((x,), x)


def test_assignment_changes_the_handle_only():
    mod = IRModule({"main": identity()})
    other = mod.copy()
    mod["twin"] = mod["main"]
    assert mod.names() == ("main", "twin") and other.names() == ("main",)
    assert mod[GlobalVar("twin")] is mod["main"]


def test_missing_functions_are_named_with_the_nearest():
    with pytest.raises(WorkbenchError) as caught:
        IRModule({"main": identity()})["mian"]
    assert "did you mean 'main'?" in str(caught.value)


def test_pickling_keeps_sharing_between_functions():
    function = identity()
    mod = pickle.loads(pickle.dumps(IRModule({"a": function, "b": function})))
    assert mod["a"] is mod["b"]
    assert mod.same(IRModule({"a": function, "b": function}))


def test_equal_modules_have_equal_fingerprints():
    one, other = IRModule({"main": identity()}), IRModule({"main": identity()})
    assert one.structural_equal(other) and one.fingerprint() == other.fingerprint()


def test_tensors_are_values():
    assert Tensor.of([1.0, 2.0], "float32") == Tensor.of(np.array([1, 2], np.float32))
    assert Tensor.of([0.0]) != Tensor.of([-0.0])
    assert const([1.0, 2.0]).data.dtype == "float32" and const(3).data.dtype == "int32"


def test_lazy_fill_occupies_nothing_and_pickles():
    huge = Tensor.full((1 << 20, 1 << 10), 0.02, "float32")
    assert huge.nbytes == 1 << 32 and huge.numpy().strides == (0, 0)
    assert len(pickle.dumps(huge)) < 1000
    assert pickle.loads(pickle.dumps(huge)) == huge
    assert Tensor.full((2, 2), 1.5, "float32") == Tensor.of(np.full((2, 2), 1.5, np.float32))


def test_arrays_given_to_tensors_are_copied():
    array = np.zeros(3, np.float32)
    held = Tensor.of(array)
    array[0] = 1
    assert held.numpy()[0] == 0


def test_tables_refuse_clashes_and_answer_misspellings():
    table: Table[int] = Table("thing", filled_by=())
    table.register("alpha", 1)
    with pytest.raises(WorkbenchError, match="registered already"):
        table.register("alpha", 2)
    with pytest.raises(WorkbenchError) as caught:
        table["alfa"]
    assert "alpha" in caught.value.fix
    assert table.get("alfa") is None


def test_errors_are_short_and_show_no_control_characters():
    error = WorkbenchError("E-X", "a\x1b[31m\nb", found="y" * 1000)
    lines = str(error).split("\n")
    assert len(lines) == 2 and "\x1b" not in str(error) and len(lines[1]) < 450
    assert shorten("\u202eabc")[0] != "\u202e"


def test_a_tensor_given_away_is_not_copied() -> None:
    array = np.arange(6, dtype=np.float32)
    held = Tensor.adopt(array)
    assert held.numpy() is array and not array.flags.writeable
    turned = np.arange(6, dtype=np.float32).reshape(2, 3).T
    assert Tensor.adopt(turned).numpy().flags.c_contiguous
