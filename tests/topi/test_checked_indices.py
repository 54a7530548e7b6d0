"""Indices that are data: brought into range without a word, and reported when they are out of it in checked mode."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import workbench as wb
from workbench import relay, te, topi
from workbench.core.errors import WorkbenchError
from workbench.core.pass_context import INDEX_CODE
from workbench.core.transform import PassContext
from workbench.driver.text import parse, script
from workbench.frontend.onnx import from_onnx

CHECKED = {"tir.instrument_bound_checkers": True}
X = np.arange(20, dtype="float32").reshape(5, 4)


def data() -> Any:
    return relay.var("x", shape=(5, 4))


def index(*shape: int, dtype: str = "int64") -> Any:
    return relay.var("i", shape=shape, dtype=dtype)


def onnx_model(op: str, shape: tuple[int, ...], result: tuple[int, ...], **attributes: Any) -> Any:
    """A module of one ONNX node on x and i."""
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "i"], ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (5, 4)),
         helper.make_tensor_value_info("i", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
    )  # fmt: skip
    return from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))[0]


def taken(i: Any, **attributes: Any) -> Any:
    x = data()
    return wb.IRModule.from_expr(relay.Function([x, i], relay.nn.relu(relay.take(x, i, **attributes))))


def gathered(i: Any, axis: int) -> Any:
    x = data()
    return wb.IRModule.from_expr(relay.Function([x, i], relay.nn.relu(relay.gather(x, axis, i))))


def gathered_nd(i: Any) -> Any:
    x = data()
    return wb.IRModule.from_expr(relay.Function([x, i], relay.gather_nd(x, i)))


ROWS, WIDE, TUPLES = [0, 4, 2], [[0, 1, -5, 4], [1, 0, 0, -1]], [[0, 4, -1], [3, -4, 0]]
CASES: dict[str, tuple[Any, Any, np.ndarray, Any, tuple[str, ...]]] = {
    # the module, good indices, what they give, the same with one index out of range, what is said of it
    "take": (lambda: taken(index(3), axis=0), ROWS, X[ROWS], [0, 5, 2],
             ("take along axis 0", "index 5", "0 to extent 5")),
    "take below": (lambda: taken(index(3), axis=1), [0, 3, 2], X[:, [0, 3, 2]], [0, 3, -1],
                   ("take along axis 1", "index -1", "0 to extent 4")),
    "take of the flat data": (lambda: taken(index(3)), [19, 0, 7], X.reshape(-1)[[19, 0, 7]], [19, 20, 7],
                              ("take along the flat data", "index 20", "0 to extent 20")),
    "take, fast": (lambda: taken(index(3, dtype="int32"), axis=0, mode="fast"), ROWS, X[ROWS], [0, 4, 9],
                   ("take along axis 0", "index 9", "i0 = 2")),
    "gather": (lambda: gathered(index(2, 4, dtype="int32"), 0), WIDE, np.take_along_axis(X, np.array(WIDE) % 5, 0),
               [[0, 1, -6, 4], [0, 0, 0, 0]], ("gather along axis 0", "index -6", "-5 to extent 5", "i0 = 0, i1 = 2")),
    "gather_nd": (lambda: gathered_nd(index(2, 3)), TUPLES, X[tuple(TUPLES)], [[0, 4, -1], [3, 4, 0]],
                  ("gather_nd along axis 1", "index 4", "-4 to extent 4")),
    "ONNX Gather": (lambda: onnx_model("Gather", (3,), (3, 4), axis=0), [0, -1, 2], X[[0, -1, 2]], [0, 5, 2],
                    ("take along axis 0", "index 5")),
    "ONNX Gather below": (lambda: onnx_model("Gather", (3,), (3, 4), axis=0), [0, -5, 2], X[[0, -5, 2]], [0, -6, 2],
                          ("take along axis 0", "index -1")),
    "ONNX GatherElements": (lambda: onnx_model("GatherElements", (2, 4), (2, 4), axis=0), WIDE,
                            np.take_along_axis(X, np.array(WIDE) % 5, 0), [[0, 1, -7, 4], [0, 0, 0, 0]],
                            ("gather along axis 0", "index -7", "-5 to extent 5")),
    "ONNX GatherND": (lambda: onnx_model("GatherND", (3, 2), (3,)), np.transpose(TUPLES), X[tuple(TUPLES)],
                      [[0, 3], [4, -5], [-1, 0]], ("gather_nd along axis 1", "index -5", "-4 to extent 4")),
}  # fmt: skip


def inputs(module: Any, indices: Any) -> dict[str, np.ndarray]:
    return {"x": X, "i": np.asarray(indices, module["main"].params[1].type_annotation.dtype.to_numpy())}


@pytest.mark.parametrize("name", CASES)
def test_an_index_out_of_range_is_reported_in_checked_mode(name: str) -> None:
    make, good, expected, bad, said = CASES[name]
    module = make()
    plain = wb.open(module)
    with PassContext(config=CHECKED):
        session, built = wb.open(module), relay.build(module)
    required = plain.rerun(required_pass=["BoundCheck"])
    (found,) = plain.run(inputs(module, bad)).values()
    assert np.isin(found, X).all() and found.shape == expected.shape, "nothing outside is read"
    for runs in (plain, session, required, built):
        np.testing.assert_array_equal(*runs.run(inputs(module, good)).values(), expected)
    for runs in (session, required, built):
        with pytest.raises(WorkbenchError) as caught:
            runs.run(inputs(module, bad))
        assert caught.value.code == "E-RUN-INDEX" and "i0 = " in caught.value.where
        assert all(word in str(caught.value) for word in said), f"{caught.value}"
    assert session.check_numerics(inputs(module, good))
    assert "index_within" in script(session["Schedule"].after)
    assert not any("index_within" in script(step.after) for step in plain.steps)
    assert not any("index_within" in script(step.after) for step in session.steps[session.labels.index("BoundCheck") :])


def test_what_wraps_has_no_index_out_of_range() -> None:
    with PassContext(config=CHECKED):
        session = wb.open(taken(index(3), axis=0, mode="wrap"))
    np.testing.assert_array_equal(*session.run({"x": X, "i": np.array([7, -1, 0])}).values(), X[[2, 4, 0]])


def test_a_checked_program_is_a_text_like_others() -> None:
    with PassContext(config=CHECKED):
        session = wb.open(taken(index(3), axis=0))
    (kernel,) = session.kernels
    text = script(session["Schedule"].after)
    assert script(parse(text)) == text
    edited = session.edit(tir={kernel: session.tir[kernel].script().replace("T.float32(0.0)", "T.float32(0.5)")})
    with pytest.raises(WorkbenchError, match="E-RUN-INDEX"):
        edited.run({"x": X, "i": np.array([0, 5, 0])})


def test_a_large_gather_in_lanes_and_threads() -> None:
    x, i = relay.var("x", shape=(500, 64)), relay.var("i", shape=(3000,), dtype="int64")
    module = wb.IRModule.from_expr(relay.Function([x, i], relay.tanh(relay.take(x, i, axis=0))))
    with PassContext(config=CHECKED):
        built = relay.build(module)
    values, rows = np.random.default_rng(0).random((500, 64), "float32"), np.arange(3000) % 500
    np.testing.assert_allclose(*built.run({"x": values, "i": rows}).values(), np.tanh(values[rows]), rtol=1e-5)
    rows[2345] = 500
    with pytest.raises(WorkbenchError) as caught:
        built.run({"x": values, "i": rows})
    assert caught.value.found == "index 500" and "i0 = 2345" in caught.value.where


@pytest.mark.parametrize("disabled", [["BoundCheck"], ["BoundCheck", "Simplify"]])
def test_without_the_pass_nothing_is_reported(disabled: list[str]) -> None:
    with PassContext(config=CHECKED, disabled_pass=disabled):
        session = wb.open(taken(index(3), axis=0))
    np.testing.assert_array_equal(*session.run({"x": X, "i": np.array([0, 9, -3])}).values(), X[[0, 4, 0]])


@pytest.mark.parametrize("context", [{"config": CHECKED}, {"required_pass": ["BoundCheck"]}])
def test_the_interpreter_and_tensor_expressions_report_it_too(context: dict[str, Any]) -> None:
    entered: AbstractContextManager[Any] = PassContext(**context)
    with entered:
        with pytest.raises(WorkbenchError) as caught:
            relay.create_executor("debug").evaluate(taken(index(3), axis=0)["main"])(X, np.array([0, 5, 2]))
        assert caught.value.code == "E-RUN-INDEX" and caught.value.found == "index 5"
        a, b = te.placeholder((5, 4), name="a"), te.placeholder((3,), dtype="int32", name="b")
        built = wb.build([a, b, topi.take(a, b, axis=0)])
    with pytest.raises(WorkbenchError, match="E-RUN-INDEX"):
        built["main"](X, np.array([0, -1, 2], "int32"), np.zeros((3, 4), "float32"))


def test_a_constant_index_is_reported_when_it_is_folded() -> None:
    body = relay.take(relay.const(X), relay.const(np.array([0, 9])), axis=0)
    with PassContext(config=CHECKED), pytest.raises(WorkbenchError) as caught:
        relay.build(relay.Function([], body))
    assert caught.value.code == "E-RUN-INDEX" and "take" in caught.value.where


U = np.array([100.0, 200.0], "float32")
FLAT = np.arange(5, dtype="float32")


def scattered(kind: str, mode: str = "update", index_dtype: str = "int64") -> Any:
    """A module that scatters two updates into five elements."""
    y, u = relay.var("y", shape=(5,)), relay.var("u", shape=(2,))
    j = relay.var("j", shape=(2,), dtype=index_dtype)
    made = (
        relay.scatter_elements(y, j, u, 0, mode)
        if kind == "elements"
        else relay.scatter_nd(y, relay.expand_dims(j, 0), u, mode)
    )
    return wb.IRModule.from_expr(relay.Function([y, j, u], made))


SCATTERS = [
    (kind, mode, dtype)
    for kind in ("elements", "nd")
    for mode, dtype in (("update", "int64"), ("add", "int32"), ("mul", "int64"), ("min", "int32"), ("max", "int64"))
]
JOINED: dict[str, Any] = {
    "update": lambda old, new: new, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "mode", "dtype"), SCATTERS)
def test_an_update_out_of_range_is_left_out_and_reported_in_checked_mode(kind: str, mode: str, dtype: str) -> None:
    module = scattered(kind, mode, dtype)
    plain = wb.open(module)
    with PassContext(config=CHECKED):
        session, built = wb.open(module), relay.build(module)
    required = plain.rerun(required_pass=["BoundCheck"])
    for given in ([1, -5], [4, 0]):
        expected = FLAT.copy()
        expected[given] = JOINED[mode](FLAT[given], U)
        for runs in (plain, session, required, built):
            found = runs.run({"y": FLAT, "j": np.array(given, dtype), "u": U})
            np.testing.assert_array_equal(*found.values(), expected)
    for given, worst in (([1, 5], 5), ([1, -6], -6), ([1, np.iinfo(dtype).min], np.iinfo(dtype).min)):
        inputs = {"y": FLAT, "j": np.array(given, dtype), "u": U}
        expected = FLAT.copy()
        expected[1] = JOINED[mode](FLAT[1], U[0])
        np.testing.assert_array_equal(*plain.run(inputs).values(), expected)
        for runs in (session, required, built):
            with pytest.raises(WorkbenchError) as caught:
                runs.run(inputs)
            assert caught.value.code == INDEX_CODE and caught.value.found == f"index {worst}", f"{caught.value}"
            assert f"scatter_{kind} along axis 0" in caught.value.message


@pytest.mark.parametrize(("kind", "mode", "dtype"), SCATTERS)
def test_a_scatter_as_a_tensor_expression_reports_it_too(kind: str, mode: str, dtype: str) -> None:
    def built() -> Any:
        y, u = te.placeholder((5,), name="y"), te.placeholder((2,), name="u")
        j = te.placeholder((2,) if kind == "elements" else (1, 2), dtype=dtype, name="j")
        made = topi.scatter_elements(y, j, u, 0, mode) if kind == "elements" else topi.scatter_nd(y, j, u, mode)
        return wb.build([y, j, u, made])["main"]

    def run(function: Any, given: list[int]) -> Any:
        found, indices = np.zeros(5, "float32"), np.array(given, dtype)
        function(FLAT, indices if kind == "elements" else indices[None], U, found)
        return found

    plain = built()
    with PassContext(config=CHECKED):
        checked = built()
    for given in ([1, -5], [4, 0]):
        expected = FLAT.copy()
        expected[given] = JOINED[mode](FLAT[given], U)
        for function in (plain, checked):
            np.testing.assert_array_equal(run(function, given), expected)
    for outside in (5, -6):
        expected = FLAT.copy()
        expected[1] = JOINED[mode](FLAT[1], U[0])
        np.testing.assert_array_equal(run(plain, [1, outside]), expected)
        with pytest.raises(WorkbenchError) as caught:
            run(checked, [1, outside])
        assert caught.value.code == INDEX_CODE and caught.value.found == f"index {outside}"


@pytest.mark.parametrize("kind", ["elements", "nd"])
def test_the_interpreter_reports_scatters_too(kind: str) -> None:
    evaluate = relay.create_executor("debug").evaluate(scattered(kind)["main"])
    given = (FLAT, np.array([1, 9]), U)
    assert evaluate(*given).numpy()[1] == 100
    with PassContext(config=CHECKED), pytest.raises(WorkbenchError) as caught:
        evaluate(*given)
    assert caught.value.code == INDEX_CODE and caught.value.found == "index 9"


@pytest.mark.parametrize(("op", "shape"), [("ScatterElements", (1, 4)), ("ScatterND", (1, 1))])
def test_a_scatter_of_a_model_is_reported_by_the_index_that_was_given(op: str, shape: tuple[int, ...]) -> None:
    model = scatter_model(op, shape)
    with PassContext(config=CHECKED):
        session = wb.open(model)
    assert session.check_numerics({"x": X, "i": np.full(shape, -5), "u": np.ones((1, 4), "float32")})
    with pytest.raises(WorkbenchError) as caught:
        session.run({"x": X, "i": np.full(shape, -6), "u": np.ones((1, 4), "float32")})
    assert caught.value.code == INDEX_CODE and caught.value.found == "index -6" and "-5" in caught.value.expected


def test_what_a_session_without_the_checks_is_offered_brings_them() -> None:
    """BoundCheck put in later sees indices that are in range already; the fix of the refusal names what helps."""
    module, bad = taken(index(3), axis=0), {"x": X, "i": np.array([0, 9, 2])}
    with PassContext(disabled_pass=["BoundCheck"]):
        session = wb.open(module)
    with pytest.raises(WorkbenchError) as caught:
        session.rerun(required_pass=["BoundCheck"])
    assert caught.value.code == "E-PASS-DISABLED" and "without disabled_pass=['BoundCheck']" in caught.value.fix
    with pytest.raises(WorkbenchError, match=INDEX_CODE):
        wb.open(module).rerun(required_pass=["BoundCheck"]).run(bad)


def scatter_model(op: str, indices: tuple[int, ...]) -> Any:
    """An ONNX model of one scatter of a row."""
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "i", "u"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (5, 4)),
         helper.make_tensor_value_info("i", TensorProto.INT64, indices),
         helper.make_tensor_value_info("u", TensorProto.FLOAT, (1, 4))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (5, 4))],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    return model


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_a_negative_index_is_counted_back_once(op: str) -> None:
    """ONNX's -7 of an axis of 5 is outside: nothing is written; counted back twice it would be element 3."""
    indices = (1, 4) if op == "ScatterElements" else (1, 1)
    session = wb.open(scatter_model(op, indices))
    ones = np.full((1, 4), 99, "float32")
    for given, row in ((-1, 4), (-5, 0), (-7, None)):
        (found,) = session.run({"x": X, "i": np.full(indices, given, "int64"), "u": ones}).values()
        expected = X.copy()
        if row is not None:
            expected[row] = 99
        np.testing.assert_array_equal(found, expected, err_msg=str(given))
