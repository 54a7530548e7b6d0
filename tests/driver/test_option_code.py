"""Options of passes as code: a session's script parses, and makes the session again, whatever its passes were given."""

from __future__ import annotations

import enum
import inspect
import sys
import types
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import TensorProto, helper

import workbench as wb
from workbench import relay, tir
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.core.transform import PASSES, Pass, module_pass
from workbench.driver.option_code import OptionCode
from workbench.tir.script import parse


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    first: int
    second: Any


def skips_additions(expr: Any) -> bool:
    """Whether EliminateCommonSubexpr leaves a call alone."""
    return getattr(getattr(expr, "op", None), "name", "") == "add"


def program() -> Any:
    x = relay.var("x", shape=(4, 8))
    weight = relay.var("weight", shape=(8, 8))
    twice = relay.multiply(relay.add(x, x), relay.add(x, x))
    return relay.Function([x, weight], relay.nn.relu(relay.nn.dense(twice, relay.transpose(weight))))


GIVEN: dict[str, list[dict[str, Any]]] = {
    "AlterOpLayout": [{"lanes": 16}],
    "CombineParallelBatchMatmul": [{"min_num_branches": 4}],
    "CombineParallelConv2D": [{"min_num_branches": 2}],
    "CombineParallelDense": [{"min_num_branches": 2, "to_batch": np.bool_(False)}],
    "ConvertLayout": [
        {"desired_layouts": {"nn.conv2d": ("NHWC", "default")}}, {"desired_layouts": {"nn.conv2d": ["NHWC", "HWIO"]}},
    ],
    "DeadCodeElimination": [{"inline_once": True, "ignore_impurity": True}],
    "EliminateCommonSubexpr": [{"fskip": skips_additions}, {"fskip": None}],
    "EtaExpand": [{"expand_constructor": True}],
    "FoldConstant": [{"fold_qnn": True}],
    "FuseOps": [{"fuse_opt_level": 0}, {"fuse_opt_level": np.int32(1)}],
    "PackWeights": [{"lanes": np.int64(8)}],
    "PrintIR": [{"header": "it's \"here\"\n", "show_meta_data": True}],
    "RemoveUnusedFunctions": [{"entry_functions": ("main",)}, {"entry_functions": ["main"]}],
    "SimplifyFCTranspose": [{"target_weight_name": ["weight"]}, {"target_weight_name": ("weight",)}],
    "ToMixedPrecision": [
        {"mixed_precision_type": DataType("bfloat16")}, {"mixed_precision_type": "float16", "missing_op_mode": 2},
    ],
}  # fmt: skip
CASES = [(name, options) for name, several in GIVEN.items() for options in several]


def test_every_pass_with_options_is_held_here() -> None:
    own = {name: PASSES[name] for name in PASSES if PASSES.is_own(name)}
    factories = {name: entry for name, entry in own.items() if not isinstance(entry, Pass)}
    assert {name for name, entry in factories.items() if inspect.signature(entry).parameters} == set(GIVEN)


def executed(session: Any, **names: Any) -> Any:
    """What a session's script makes."""
    held = {"program": program(), **names}
    exec(compile(session.to_python(), "session.py", "exec"), held)
    return held["s"]


def _shown(options: dict[str, Any]) -> list[Any]:
    """The options in a test's name, which must be the same in each process."""
    return [getattr(value, "__name__", value) for value in options.values()]


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name} {_shown(given)}" for name, given in CASES])
def test_the_script_makes_the_pass_with_its_options_again(name: str, options: dict[str, Any]) -> None:
    session = wb.open(program(), passes=["InferType", PASSES[name](**options), "InferType", "FuseOps"])
    inserted = wb.open(program()).rerun(insert={"SimplifyExpr": PASSES[name](**options)})
    for made in (session, inserted):
        again = executed(made)
        index = made.labels.index(name)
        assert again.labels == made.labels
        assert again.actions[index].arguments == made.actions[index].arguments, made.to_python()
        assert again[index].error is None and again[index].script() == made[index].script()


VALUES: dict[str, Any] = {
    "a number that is none": float("nan"),
    "a number without end": (float("-inf"),),
    "bytes": b"a\0'",
    "an array": np.arange(6, dtype="int16").reshape(2, 3),
    "an array of nothing": np.zeros((0, 3), "float32"),
    "an array without axes": np.array(3.5),
    "a number of NumPy's": np.float32(0.1),
    "a truth value of NumPy's": np.bool_(True),
    "a set": {3, 1, 2},
    "a frozen set": frozenset(["b", "a"]),
    "a dict of tuples": {(1, "a"): [None, True], "b": {"c": (1,)}},
    "an enumeration": Colour.RED,
    "a dtype": DataType("float8_e4m3fn"),
    "a target": wb.Target("llvm -mcpu=x86-64-v3"),
    "a function": skips_additions,
    "a class": Colour,
    "a number of a program": tir.IntImm("int8", 7),
    "a truth value of a program": tir.IntImm("bool", 1),
    "a fraction of a program": tir.FloatImm("float16", 2.5),
    "a number of a program that is none": tir.FloatImm("float32", float("nan")),
    "a text of a program": tir.StringImm("a'b"),
    "a named tuple": Pair(1, Colour.RED),
    "a relay function": relay.Function([], relay.zeros((2,), "float32")),
    "a loop function": parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'),
}
NAMELESS: dict[str, Any] = {
    "a local function": lambda: None,
    "an object": object(),
    "a named tuple of a local kind": namedtuple("Local", "a b")(1, 2),
    "a large array": np.zeros(1000),
    "an array of another kind": np.array(["a", None], object),
    "a function with constants": relay.Function([], relay.const(np.ones(3, "float32"))),
}


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, wb.core.node.Node):
        return type(one) is type(other) and wb.ir.structural_equal(one, other)
    if isinstance(one, (tuple, float)):
        return type(one) is type(other) and repr(one) == repr(other)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("what", VALUES)
def test_a_value_is_what_its_code_says(what: str) -> None:
    code = OptionCode()
    text = code.of(VALUES[what], "option")
    assert not code.remarks
    held: dict[str, Any] = {"wb": wb}
    exec("\n".join([*code.imports, f"made = {text}"]), held)
    assert alike(VALUES[what], held["made"]), text


@pytest.mark.parametrize("what", NAMELESS)
def test_a_value_without_text_is_asked_for(what: str) -> None:
    value = NAMELESS[what]

    @module_pass(name="Takes this")
    def takes(mod: Any, ctx: Any, *, some: Any = None) -> Any:
        return mod

    session = wb.open(program()).rerun(insert={"SimplifyExpr": takes(some=(1, value))})
    text = session.to_python()
    (line,) = [line for line in text.split("\n") if line.startswith("# Takes_this_some: ")]
    assert "define it here first" in line and "(1, Takes_this_some)" in text
    assert executed(session, Takes_this_some=value).labels == session.labels


def test_a_local_function_for_a_pass_of_the_workbench_is_asked_for() -> None:
    skip = lambda expr: False  # noqa: E731
    session = wb.open(program()).rerun(replace={"EliminateCommonSubexpr": PASSES["EliminateCommonSubexpr"](fskip=skip)})
    assert "# EliminateCommonSubexpr_fskip: an option of kind function" in session.to_python()
    assert executed(session, EliminateCommonSubexpr_fskip=skip).labels == session.labels
    with pytest.raises(NameError, match="EliminateCommonSubexpr_fskip"):
        executed(session)
    with pytest.raises(WorkbenchError, match="E-SAVE-OPTION"):
        session.plan.rows[session.labels.index("EliminateCommonSubexpr") - 1].to_json()


@pytest.fixture
def two_modules(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Two modules, each with functions of the same names that answer differently."""
    made: list[Any] = []
    for module, answer in (("users_first", True), ("users_second", False)):
        held = types.ModuleType(module)
        for name in ("keep", "s", "wb", "np", "PASSES", "DataType", "b0", "sch", "EliminateCommonSubexpr_fskip"):
            exec(f"def {name}(expr): return {answer}", vars(held))
        monkeypatch.setitem(sys.modules, module, held)
        made.append(held)
    return made


def test_functions_of_one_name_are_told_apart(two_modules: list[Any]) -> None:
    eliminate = PASSES["EliminateCommonSubexpr"]
    passes = ["InferType", *(eliminate(fskip=module.keep) for module in two_modules), "FuseOps"]
    session = wb.open(program(), passes=passes)
    again = executed(session)
    for label in ("EliminateCommonSubexpr", "EliminateCommonSubexpr#2"):
        assert again[label].script() == session[label].script(), session.to_python()
    assert session["EliminateCommonSubexpr"].script() != session["EliminateCommonSubexpr#2"].script()


@pytest.mark.parametrize("name", ["s", "wb", "np", "PASSES", "DataType", "b0", "sch"])
def test_a_function_named_like_something_of_the_script(name: str, two_modules: list[Any]) -> None:
    skip = getattr(two_modules[0], name)
    options = {"mixed_precision_type": DataType("float16")}
    passes = ["InferType", PASSES["EliminateCommonSubexpr"](fskip=skip), PASSES["ToMixedPrecision"](**options)]
    session = wb.open(program(), passes=[*passes, PASSES["FuseOps"](fuse_opt_level=np.int32(1))])
    session = session.rerun(insert={"InferType": PASSES["EliminateCommonSubexpr"](fskip=skip)})
    again = executed(session)
    assert again.labels == session.labels, session.to_python()
    for step, other in zip(session.steps, again.steps, strict=True):
        assert other.error is None and other.script() == step.script(), session.to_python()


def test_a_variable_left_to_the_reader_has_a_name_of_its_own(two_modules: list[Any]) -> None:
    local = lambda expr: False  # noqa: E731
    imported = two_modules[0].EliminateCommonSubexpr_fskip
    eliminate = PASSES["EliminateCommonSubexpr"]
    session = wb.open(program(), passes=["InferType", eliminate(fskip=imported), eliminate(fskip=local), "FuseOps"])
    again = executed(session, option_EliminateCommonSubexpr_fskip=local)
    for label in ("EliminateCommonSubexpr", "EliminateCommonSubexpr#2"):
        assert again[label].script() == session[label].script(), session.to_python()


@pytest.mark.parametrize("name", ["program", "wb", "x"])
def test_an_assumed_input_named_like_something_of_the_script(name: str) -> None:
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["data", name], ["y"])],
        "g",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (6,)),
         helper.make_tensor_value_info(name, TensorProto.INT64, (2,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 3))],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    value = np.array([2, 3])
    session = wb.open(model, assume={name: value})
    again = executed(session, program=model, **({"assumed": {name: value}} if name != "x" else {name: value}))
    assert again["Import"].script() == session["Import"].script()
