"""One wrong use for each error code of the public API: it is that code, says what was found, and reads in six lines."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.frontend.onnx import hostile
from workbench import IRModule, relay, te
from workbench.arith import build as expr
from workbench.arith import nodes as n
from workbench.arith.analyzer import Analyzer
from workbench.contrib import graph_executor
from workbench.core.dtype import DataType
from workbench.core.errors import InternalError, WorkbenchError
from workbench.core.limits import limits
from workbench.core.transform import module_pass
from workbench.relay import dataflow_pattern as dfp
from workbench.relay.interpret import interpret
from workbench.schedule import Schedule
from workbench.tir.script import parse


def x(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape, dtype=dtype)


def typed(made: Any) -> Any:
    """The type of an expression over its free variables."""
    return relay.transform.InferType()(IRModule.from_expr(made))


def built() -> Any:
    data = x(2, 3)
    return relay.build(IRModule.from_expr(relay.Function([data], relay.nn.relu(data))))


def session() -> Any:
    data = x(2, 3)
    return wb.open(IRModule.from_expr(relay.Function([data], relay.nn.relu(data))))


def pair_parameter() -> Any:
    tensor = relay.TensorType((2,), "float32")
    pair = relay.Var("pair", relay.TupleType([tensor, tensor]))
    return relay.Function([pair], relay.TupleGetItem(pair, 0))


def kernel(body: str = "        B[i] = A[i]\n", head: str = "    for i in T.serial(0, 8):\n") -> Any:
    buffers = "A: T.Buffer((8,), 'float32'), B: T.Buffer((8,), 'float32')"
    return parse(f"@T.prim_func\ndef main({buffers}):\n{head}{body}")


@module_pass(opt_level=0, name="GivesNothing")
def GivesNothing(mod: Any, ctx: Any) -> Any:
    """A pass that forgets its result."""


def failing_function() -> Any:
    def fails() -> None:
        raise ValueError("on purpose")

    wb.register_func("tests.errors.fails", fails, override=True)
    return wb.get_global_func("tests.errors.fails")


class _NoCallback(dfp.DFPatternCallback):
    def __init__(self) -> None:
        super().__init__()
        self.pattern = dfp.is_op("nn.relu")(dfp.wildcard())


def sparse_model() -> Any:
    made = hostile.good()
    made.graph.sparse_initializer.add().values.name = "s"
    return made


def limit(name: Any, value: Any) -> None:
    setattr(limits, name, value)


def handle() -> Any:
    return n.Var("h", DataType("handle"))


CASES: dict[str, Callable[[], Any]] = {
    "E-ARITH-BIND": lambda: Analyzer().bind(n.Var("i", DataType("int64")), "a range"),
    "E-ARRAY-TARGET": lambda: wb.nd.array(np.ones(3, "f")).copyto("cpu"),
    "E-BUILD-KIND": lambda: relay.build(3),
    "E-CALL-FAILED": lambda: failing_function()(),
    "E-DEVICE-RUN": lambda: built()["default"](wb.device("cuda", 0)),
    "E-EXECUTOR-MODULE": lambda: graph_executor.GraphModule(3),
    "E-EXPR-BITS": lambda: n.Var("a", DataType("float32")) & n.Var("b", DataType("float32")),
    "E-EXPR-BOOL": lambda: expr.select(n.Var("a", DataType("int64")), 1, 2),
    "E-EXPR-DTYPE": lambda: handle() + n.Var("a", DataType("int64")),
    "E-EXPR-LANES": lambda: n.Var("a", DataType("float32x4")) + n.Var("b", DataType("float32x8")),
    "E-EXPR-OPERAND": lambda: n.Var("a", DataType("int64")) + object(),
    "E-EXPR-RANGE": lambda: expr.const(300, "int8"),
    "E-INTERPRET-PROGRAM": lambda: interpret(3),
    "E-INTRINSIC-ARITY": lambda: expr.call("exp"),
    "E-INTRINSIC-UNKNOWN": lambda: expr.call("expp", n.Var("a", DataType("float32"))),
    "E-LIMIT-NAME": lambda: limit("tensors", 3),
    "E-LIMIT-VALUE": lambda: limit("nodes", -1),
    "E-LOWER-MAIN": lambda: relay.build(IRModule({"main": kernel()})),
    "E-LOWER-PARAMETER": lambda: relay.build(IRModule.from_expr(pair_parameter())),
    "E-MODULE-KEY": lambda: IRModule.from_expr(relay.Function([], relay.const(1.0)))[3.5],
    "E-NOT-EQUAL": lambda: wb.ir.assert_structural_equal(x(2), x(3)),
    "E-ONNX-SPARSE": lambda: relay.frontend.from_onnx(sparse_model()),
    "E-PARAMS-NAME": lambda: relay.build(
        IRModule.from_expr(relay.Function([x(2)], relay.nn.relu(x(2)))), params={"w": np.ones(2, "f")}
    ),
    "E-PARAMS-TYPE": lambda: relay.build(_relu(), params={"x": np.ones((5, 5), "f")}),
    "E-PASS-RESULT": lambda: GivesNothing()(IRModule.from_expr(x(2))),
    "E-PATTERN-KIND": lambda: dfp.wildcard() | 3,
    "E-PATTERN-CALLBACK": lambda: dfp.rewrite(_NoCallback(), relay.nn.relu(x(2))),
    "E-RELAY-PRELUDE": lambda: relay.testing.run_opt_pass(x(2), relay.transform.InferType(), import_prelude=True),
    "E-RELAY-VAR": lambda: relay.var("x", relay.TensorType((2,), "float32"), shape=(2,)),
    "E-RELAY-VISIT": lambda: relay.ExprVisitor().visit(3),
    "E-RULE-UNKNOWN": lambda: __import__("workbench.relay.transforms.fold_constant", fromlist=["RULES"]).RULES["nope"],
    "E-SCRIPT-CLASS": lambda: __import__("workbench.driver.text", fromlist=["script"]).script(IRModule({"f": 3})),
    "E-THREADS": lambda: __import__("workbench.runtime.threads", fromlist=["x"]).set_num_threads(-1),
    "E-TIME-COUNT": lambda: built().module.time_evaluator("main", wb.cpu(0), number=0)(),
    "E-TIR-BLOCK-NAME": lambda: Schedule(_two_blocks()).state.tree,
    "E-TYPE-AXIS": lambda: typed(relay.transpose(x(2, 3), axes=(0, 0))),
    "E-TYPE-DIMENSION": lambda: relay.TensorType(("a b",), "float32"),
    "E-TYPE-DTYPE": lambda: typed(relay.nn.global_avg_pool2d(x(1, 2, 3, 4, dtype="int32"))),
    "E-TYPE-EMPTY": lambda: typed(relay.argmax(x(0), axis=0)),
    "E-TYPE-OPERAND": lambda: typed(relay.nn.relu(relay.Tuple([x(2), x(3)]))),
    "E-TYPE-PAD": lambda: typed(relay.nn.pad(x(2, 3), pad_width=((1, 1),))),
    "E-TYPE-RANGE": lambda: typed(relay.arange(relay.const(0), relay.const(5), relay.const(0))),
    "E-TYPE-RANK": lambda: typed(relay.nn.batch_flatten(x())),
    "E-TYPE-SLICE": lambda: typed(relay.slice_like(x(2), relay.var("y", shape=(3,)), axes=(0,))),
    "E-TYPE-SPLIT": lambda: typed(relay.split(x(5), 2).astuple()),
    "E-TYPE-UNKNOWN": lambda: relay.nn.relu(relay.var("free")).checked_type,
    "E-TYPE-WINDOW": lambda: typed(relay.nn.max_pool2d(x(1, 1, 8, 8), pool_size=(2, 2), padding=(3, 3))),
    "E-CODEGEN-PROCESSOR": lambda: wb.build(kernel(), target="llvm -mcpu=no-such-processor"),
    "E-DATA-MISSING": lambda: wb.data.photo("no_such_picture.png"),
    "E-STEP-UNKNOWN": lambda: session()["Fuse"],
    "E-KERNEL-UNKNOWN": lambda: session().schedule("nothing"),
    "E-OPEN-KIND": lambda: wb.open(3),
    "E-TARGET-FORM": lambda: wb.target.Target("llvm -mcpu=" + "x" * 5000),
    "E-MODULE-FUNCTION": lambda: built().module["nothing"],
    "E-IMPORT-OPTION": lambda: relay.frontend.from_onnx(hostile.good(), convert_config={"stict": True}),
}  # fmt: skip


def _relu() -> Any:
    data = x(2, 3)
    return IRModule.from_expr(relay.Function([data], relay.nn.relu(data)))


def _two_blocks() -> Any:
    block = "        with T.block('S'):\n            v = T.axis.spatial(8, i)\n            B[v] = A[v]\n"
    return kernel(block + "    for i in T.serial(0, 8):\n" + block)


@pytest.mark.parametrize("code", CASES)
def test_wrong_use(code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        CASES[code]()
    error = caught.value
    assert error.code == code, str(error)
    assert not isinstance(error, InternalError)
    assert error.message and len(str(error).split("\n")) <= 6


def test_a_dump_that_cannot_be_written(tmp_path: Path) -> None:
    from workbench.ir.instrument import DumpIR

    (tmp_path / "file").write_text("")
    with pytest.raises(WorkbenchError) as caught, wb.transform.PassContext(
        instruments=[DumpIR(str(tmp_path / "file" / "below"))]
    ):
        relay.transform.InferType()(_relu())
    assert caught.value.code == "E-DUMP-FOLDER"


def test_an_instrument_without_methods() -> None:
    from workbench.ir.instrument import pass_instrument

    with pytest.raises(WorkbenchError) as caught:
        pass_instrument(type("Nothing", (), {}))
    assert caught.value.code == "E-INSTRUMENT-EMPTY"


def test_a_library_that_is_no_library(tmp_path: Path) -> None:
    """E-LOAD-FAILED: the record is right, the system cannot load what is before it."""
    from workbench.runtime import artifact, load_module

    path = tmp_path / "odd.so"
    path.write_bytes(b"not ELF at all" * 40)
    import platform
    import sys

    triple = f"{platform.machine()}-unknown-{'darwin' if sys.platform == 'darwin' else 'linux-gnu'}"
    artifact.append_record(path, {"triple": triple, "cpu_features": "", "functions": {}, "constant_offsets": []})
    with pytest.raises(WorkbenchError) as caught:
        load_module(path)
    assert caught.value.code == "E-LOAD-FAILED" and "odd.so" in str(caught.value)


def test_a_file_too_large_to_be_a_model(tmp_path: Path) -> None:
    """E-IMPORT-SIZE: judged by its size alone, nothing of it is read."""
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 17 << 30)
    with pytest.raises(WorkbenchError) as caught:
        wb.open(str(path))
    assert caught.value.code == "E-IMPORT-SIZE" and caught.value.file == "large.onnx"


def test_te_is_there() -> None:
    a = te.placeholder((4,), name="a")
    with pytest.raises(WorkbenchError) as caught:
        wb.build([a, "b"])
    assert caught.value.code in ("E-BUILD-KIND", "E-TE-ARGUMENT")


def _shared_variable() -> Any:
    from workbench.arith.build import const
    from workbench.tir import nodes as t

    func = kernel()
    loop = func.body.block.body if isinstance(func.body, t.BlockRealize) else func.body
    return func.replace(body=t.SeqStmt((loop, loop.replace(extent=const(4, "int64")))))


def _bad_operator() -> Any:
    from workbench.relay.ir.operator import Fusion, Operator, attribute, operator

    @operator("tests.bad_field")
    class BadField(Operator):
        fusion: Fusion = attribute(Fusion.OPAQUE, "not an attribute")  # type: ignore[misc]

    return BadField


def _inner() -> dict[str, Callable[[], Any]]:
    """Codes below the public names, by the modules that raise them."""
    import dataclasses

    from workbench.analysis.tree import Tree
    from workbench.arith.evaluate import evaluate
    from workbench.driver.history import History
    from workbench.runtime.model import TensorSpec

    two = IRModule({"f": kernel(), "g": kernel()})
    plain = dataclasses.replace(built(), calls=())
    return {
        "E-ARITH-VALUE": lambda: evaluate(n.FloorDiv(expr.const(1, "int64"), expr.const(0, "int64")), {}),
        "E-DEBUG-CALLS": lambda: plain["debug_create"]("default", wb.cpu(0)),
        "E-DTYPE-NUMPY": lambda: DataType("handle").to_numpy(),
        "E-EXPORT-OBJECTS": lambda: wb.build(two).export_library("never_written.o"),
        "E-HISTORY-EMPTY": lambda: History().step((), 0),
        "E-INTERPRET-UNBOUND": lambda: interpret(relay.nn.relu(x(2))),
        "E-MODEL-SHAPE": lambda: TensorSpec("x", ("n",), DataType("float32")).concrete_shape,
        "E-OPERATOR-FIELD": _bad_operator,
        "E-TIR-LOOP-VAR": lambda: Tree.of(_shared_variable()),
        "E-TYPE-DYNAMIC": lambda: relay.TensorType((te.var("n"),), "float32").concrete_shape,
        "E-COMPARE-OUTPUTS": lambda: wb.compare(session(), wb.open(_transposed()), inputs={"x": np.ones((2, 3), "f")}),
    }


def _transposed() -> Any:
    data = x(2, 3)
    return IRModule.from_expr(relay.Function([data], relay.transpose(data)))


INNER = (
    "E-ARITH-VALUE", "E-COMPARE-OUTPUTS", "E-DEBUG-CALLS", "E-DTYPE-NUMPY", "E-EXPORT-OBJECTS", "E-HISTORY-EMPTY",
    "E-INTERPRET-UNBOUND", "E-MODEL-SHAPE", "E-OPERATOR-FIELD", "E-TIR-LOOP-VAR", "E-TYPE-DYNAMIC",
)  # fmt: skip


@pytest.mark.parametrize("code", INNER)
def test_wrong_use_below(code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        _inner()[code]()
    assert caught.value.code == code, str(caught.value)


def test_a_linker_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.runtime.native.build.find_compiler", lambda: ["false"])
    with pytest.raises(WorkbenchError) as caught:
        wb.build(kernel()).export_library(tmp_path / "x.so")
    assert caught.value.code == "E-LINK-FAILED" and not (tmp_path / "x.so").exists()


COMMANDS = {
    "E-CLI-SHAPE": ["inspect", "MODEL", "--shape", "x"],
    "E-RUN-INPUTS": ["run", "MODEL", "--inputs", "no_such_file.npz"],
}


@pytest.mark.parametrize("code", COMMANDS)
def test_wrong_commands(code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from workbench.driver.cli import main

    path = tmp_path / "model.onnx"
    path.write_bytes(hostile.good().SerializeToString())
    with pytest.raises(SystemExit) as left:
        main([str(path) if word == "MODEL" else word for word in COMMANDS[code]])
    assert left.value.code not in (0, None)
    said = capsys.readouterr()
    assert code in said.err + said.out
