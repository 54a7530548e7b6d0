"""`check_numerics` beyond the planted bugs: the child, the report, the saved test, odd programs."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.codegen.support import function
from tests.driver.bugs import CODEGEN, GRAPH, LOOPS
from tests.driver.programs import small_inputs, small_session
from tests.driver.test_planted_bugs import planted
from workbench import WorkbenchError, relay
from workbench.arith.build import const
from workbench.codegen.llvm.contained import Contained, unit_of
from workbench.core.dtype import DataType
from workbench.core.module import IRModule
from workbench.core.node import substitute
from workbench.core.transform import PASSES, PassContext, function_pass, module_pass
from workbench.driver.history import History
from workbench.driver.numerics import compare as comparing
from workbench.driver.numerics.compare import compare
from workbench.driver.numerics.forms import flat_form
from workbench.driver.session import Session
from workbench.target import Target

FLOAT = DataType("float32")


def called(text: str, seconds: float = 20.0, checked: bool = False) -> Any:
    """What a kernel f(A, B) of 16 floats answers in the child."""
    module = flat_form(IRModule({"f": function(text)}), checked=checked)
    with Contained(seconds) as child:
        child.put("a", np.arange(16, dtype="float32"))
        error = child.load("f", unit_of(module, Target("llvm"), optimise=0))
        assert error is None, error
        return child.call("f", "f", ["a"], [(1, FLOAT, (16,))])


HEAD = 'def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n'


def test_the_child_answers_outputs_and_marks_what_is_not_written() -> None:
    answer = called(HEAD + "    for i in T.serial(15):\n        B[i] = A[i] * 2.0\n")
    assert answer.error is None and answer.outputs[0][14] == 28 and np.isnan(answer.outputs[0][15])


@pytest.mark.parametrize(("index", "said"), [("16", "element 16 of 16"), ("-1", "element -1")])
def test_a_store_beyond_the_ends_is_an_answer(index: str, said: str) -> None:
    answer = called(HEAD + f"    B[{index}] = A[0]\n")
    assert answer.error.code == "E-NUMERICS-OVERRUN" and said in answer.error.found


def test_a_write_to_an_operand_is_an_answer() -> None:
    answer = called(HEAD + "    B[0] = A[0]\n    A[0] = 5.0\n")
    assert answer.error.code == "E-NUMERICS-INPUT" and "argument 0" in str(answer.error)


def test_a_load_beyond_the_ends_is_nan() -> None:
    answer = called(HEAD + "    for i in T.serial(16):\n        B[i] = A[i + 1]\n")
    assert np.isnan(answer.outputs[0][15]) and not np.isnan(answer.outputs[0][14])


def test_a_crash_and_a_hang_are_answers() -> None:
    crash = called(HEAD + "    B[1099511627776] = A[0]\n")
    assert crash.failure == "crashed" and "SIGSEGV" in str(crash.error)
    assert crash.error.code == "E-NUMERICS-CRASH"
    endless = HEAD + "    while A[0] < 1.0:\n        B[0] = A[0]\n"
    hang = called(endless, seconds=3.0)
    assert hang.failure == "hangs" and "no answer within 3 s" in str(hang.error)


def test_checked_mode_reports_in_the_child() -> None:
    answer = called(HEAD + "    for i in T.serial(16):\n        B[i] = A[i + 1]\n", checked=True)
    assert answer.error.code == "E-RUN-BOUNDS"
    for word in ("load from A", "index 16", "extent 16", "i = 15"):
        assert word in f"{answer.error}", f"{answer.error}"


def test_reading_what_nobody_wrote_shows() -> None:
    body = (
        '    C = T.allocate((16,), "float32")\n    for i in T.serial(8):\n        C[i] = A[i]\n'
        "    for i in T.serial(16):\n        B[i] = C[i]\n"
    )
    answer = called(HEAD + body, checked=True)
    assert np.isnan(answer.outputs[0][8:]).all() and not np.isnan(answer.outputs[0][:8]).any()


# --- comparing ---


def test_tolerances() -> None:
    y = np.linspace(1, 2, 10)
    assert compare((y * 1.0005).astype("float32"), y, 1e-3).right
    wrong = compare(np.append(y[:9], 2.01), y, 1e-3)
    assert not wrong.right and wrong.tensor is not None and wrong.tensor.index == (9,) and wrong.tensor.count == 1
    assert compare(y * 1e-9, y * 1.5e-9, 1e-3).right is False, "small numbers are compared as strictly"
    nan = np.array([1.0, np.nan, np.inf])
    assert compare(nan, nan, 1e-3).right
    assert not compare(np.array([1.0, 0.0, np.inf]), nan, 1e-3).right
    assert not compare(np.array([1, 2]), np.array([1, 3]), 1e-3).right
    beyond = np.array([2**60 + 1, 5])
    assert compare(beyond, beyond.copy(), 1e-3).right
    far = compare(beyond + 100, beyond, 1e-3)
    assert not far.right and far.tensor is not None and far.tensor.count == 2, "2**60 and 2**60 + 100"
    assert compare(np.array([1, 3]), np.array([1, 2]), 1e-3, narrow=np.array([1, 3])).right, "a tie in float32"
    assert not compare(np.zeros(3), np.zeros(4), 1e-3).right


# --- the report ---


@pytest.mark.parametrize("with_narrow", [False, True])
def test_tensors_are_compared_alike_in_parts_and_whole(monkeypatch: pytest.MonkeyPatch, with_narrow: bool) -> None:
    rng = np.random.default_rng(5)
    expected = rng.standard_normal((3, 7, 11))
    found = (expected + 1e-3 * rng.standard_normal(expected.shape)).astype("float32")
    found[1, 2, 3] = found[2, 6, 10] = 9.0
    found[0, 0, 0] = expected[2, 0, 0] = np.nan
    found[2, 1, 1] = expected[2, 1, 1] = -np.inf
    narrow = (expected + 1e-4).astype("float32") if with_narrow else None
    gaps = []
    for elements in (1 << 16, 100, 7, 1):
        monkeypatch.setattr(comparing, "CHUNK", elements)
        gaps.append(compare(found, expected, 1e-3, narrow, "here", "x"))
    assert gaps[0].tensor is not None and gaps[0].tensor.index == (0, 0, 0) and gaps[0].tensor.count > 3
    assert {str(gap) for gap in gaps} == {str(gaps[0])}, "the same figures, to the last bit"


def test_the_report_says_where_and_how_far() -> None:
    bug = GRAPH[6]
    with pytest.MonkeyPatch.context() as monkeypatch:
        session, inputs, _ = planted(bug, monkeypatch)
        report = session.check_numerics(inputs)
    text = str(report)
    assert "first wrong step: BrokenFuseOps" in text and "first wrong tensor: relay call subtract" in text
    assert report.tensor.ulp > 1 and report.tensor.found != report.tensor.expected
    assert "save_test" in text and not report


def test_right_has_no_test_to_save(tmp_path: Path) -> None:
    report = small_session().check_numerics(small_inputs(), find="first")
    assert report and "did not need to be run" in str(report)
    with pytest.raises(WorkbenchError) as caught:
        report.save_test(tmp_path / "test_it.py")
    assert caught.value.code == "E-NUMERICS-RIGHT"
    with pytest.raises(WorkbenchError) as caught:
        small_session().check_numerics(small_inputs(), find="last")
    assert caught.value.code == "E-NUMERICS-FIND"
    with pytest.raises(WorkbenchError) as caught:
        small_session().check_numerics({})
    assert caught.value.code == "E-RUN-INPUT"


def test_a_spent_budget_is_named() -> None:
    report = small_session().check_numerics(small_inputs(), seconds=0.0)
    assert {check.verdict for check in report.checks} <= {"not run", "unchanged"}
    assert "the time is spent" in str(report)


# --- the saved test ---


def outcome(path: Path) -> str:
    """Run the tests of a file; the first failure's text, or empty."""
    for name, test in runpy.run_path(str(path)).items():  # never from bytecode: some write the file twice in a second
        if name.startswith("test_"):
            try:
                test()
            except (AssertionError, WorkbenchError) as error:
                return str(error) or "failed"
    return ""


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(bug, id=bug.what, marks=() if bug in (GRAPH[6], CODEGEN[6]) else pytest.mark.nightly)
        for bug in (GRAPH[4], GRAPH[6], LOOPS[0], LOOPS[6], CODEGEN[2], CODEGEN[6])
    ],
)
def test_the_saved_piece_fails_while_the_bug_is_there(bug: Any, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        session, inputs, _ = planted(bug, monkeypatch)
        path = session.check_numerics(inputs).save_test(tmp_path / "test_piece.py")
        assert outcome(path), f"it passes, with the bug:\n{path.read_text()}"
    if bug.patch is not None:
        assert not outcome(path), f"it fails without the bug: {outcome(path)}"
    assert path.stat().st_size + path.with_suffix(".npz").stat().st_size < 40_000, "the piece is not small"


def test_a_test_is_written_of_the_numbers_that_were_checked(tmp_path: Path) -> None:
    """A cell that fills its array anew before it asks for the test changed what the test was made of."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        session, inputs, _ = planted(GRAPH[6], monkeypatch)
        report = session.check_numerics(inputs)
        first, second = (tmp_path / f"test_{name}.npz" for name in ("first", "second"))
        report.save_test(first.with_suffix(".py"))
        for array in inputs.values():
            array.fill(0)
        report.save_test(second.with_suffix(".py"))
    before, after = np.load(first), np.load(second)
    assert before.files == after.files
    for name in before.files:
        np.testing.assert_array_equal(before[name], after[name], err_msg=f"{name} is of the changed inputs")


def test_a_saved_piece_calls_the_pass_by_its_name(tmp_path: Path) -> None:
    from workbench.arith.build import multiply
    from workbench.tir.transforms import flatten_buffer

    good = flatten_buffer.strides_of

    def wrong(buffer: Any) -> Any:
        strides = good(buffer)
        many = len(strides) > 1 and getattr(buffer.shape[0], "value", 1) > 1
        return (multiply(strides[0], 2), *strides[1:]) if many else strides

    base = small_session()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(flatten_buffer, "strides_of", wrong)
        report = Session(History(base.history.root), base.plan).check_numerics(small_inputs())
        assert report.first_wrong == "FlattenBuffer", f"{report}"
        path = report.save_test(tmp_path / "test_piece.py")
        assert 'PASSES["FlattenBuffer"]()(module)' in path.read_text() and outcome(path)
    assert outcome(path) == ""


# --- loop functions ---


def test_loop_functions_large_and_small() -> None:
    for size in (40, 400_000):
        text = (
            f'def f(A: T.Buffer(({size},), "float32"), B: T.Buffer(({size},), "float32")):\n'
            f"    for i in T.serial({size}):\n        B[i] = A[i] * 2.0\n"
        )
        session = wb.open(function(text))
        report = session.check_numerics({"A": np.ones(size, "float32")})
        assert report, f"{report}"


@pytest.mark.parametrize("find", ["first", "all"])
def test_an_edited_loop_function_is_wrong_whichever_step_is_asked_first(find: str) -> None:
    """Halving asks the last step first, which was its own yardstick: a shortened sum was right."""
    lines = HEAD + "    for i in T.serial(16):\n        B[i] = "
    session = wb.open(function(lines + "A[i] * 2.0\n"))
    edited = session.edit(tir={"f": function(lines + "A[i] * 3.0\n")})
    report = edited.check_numerics({"A": np.ones(16, "float32")}, find=find)
    assert report.first_wrong == "Edit" and report.tensor is not None and report.tensor.count == 16, f"{report}"


def test_a_loop_function_beyond_its_buffer_fails_at_import() -> None:
    text = HEAD + "    for i in T.serial(16):\n        B[i] = A[i + 1]\n"
    report = wb.open(function(text)).check_numerics({"A": np.ones(16, "float32")})
    assert report.first_wrong == "Import" and "E-TIR-BOUNDS" in str(report)


SCALED = '''
def f(A: T.Buffer(({size},), "float32"), k: T.int64, s: T.float32, B: T.Buffer(({size},), "float32")):
    for i in T.serial({size}):
        B[i] = A[i] * s + T.Cast("float32", k)
'''


@pytest.mark.parametrize("size", [40, 400_000])
def test_numbers_among_the_parameters_are_passed_on(size: int) -> None:
    session = wb.open(function(SCALED.format(size=size)))
    inputs = {"A": np.ones(size, "float32"), "k": 3, "s": 0.5}
    assert session.check_numerics(inputs)
    lost = session.rerun(insert={"FlattenBuffer": broken_scale()}).check_numerics(inputs)
    assert lost.first_wrong == "BrokenScale", f"{lost}"
    with pytest.raises(WorkbenchError) as caught:
        session.check_numerics({**inputs, "k": 0.5})
    assert caught.value.code == "E-RUN-DTYPE" and "'k'" in caught.value.message


def broken_scale() -> Any:
    """A pass that reads the number `s` as 1."""

    @function_pass(name="BrokenScale")
    def made(func: Any, mod: Any, ctx: Any) -> Any:
        return func.replace(body=substitute(func.body, {func.params[2]: const(1.0, "float32")}))

    return made


def test_what_a_function_returns_is_compared() -> None:
    text = 'def f(A: T.Buffer((4,), "float32"), k: T.int32) -> T.int32:\n    T.ret(k + 2)\n'
    session = wb.open(function(text))
    inputs = {"A": np.ones(4, "float32"), "k": 3}
    assert session.check_numerics(inputs)

    @function_pass(name="OneMore")
    def one_more(func: Any, mod: Any, ctx: Any) -> Any:
        return func.replace(body=substitute(func.body, {func.params[1]: func.params[1] + 1}))

    for after in ("Simplify", "FlattenBuffer"):
        report = session.rerun(insert={after: one_more}).check_numerics(inputs)
        assert report.first_wrong == "OneMore", f"{report}"


def test_an_address_among_the_parameters_is_said() -> None:
    session = wb.open(function('def f(A: T.Buffer((4,), "float32"), p: T.handle):\n    A[0] = 1.0\n'))
    with pytest.raises(WorkbenchError) as caught:
        session.check_numerics({"A": np.ones(4, "float32"), "p": 0})
    assert caught.value.code == "E-RUN-INPUT" and "'p' is an address" in caught.value.message


def test_a_result_without_axes_is_compared() -> None:
    x = relay.var("x", shape=(4,))
    report = wb.open(relay.Function([x], relay.sum(x))).check_numerics({"x": np.ones(4, "float32")})
    assert report, f"{report}"


def test_inputs_of_one_name_are_called_as_the_model_calls_them() -> None:
    inputs = [relay.var("x", shape=(4,)) for _ in range(3)]
    session = wb.open(relay.Function(inputs, inputs[0] - inputs[1] * inputs[2]))
    given = {"x": np.ones(4, "float32"), "x_1": np.full(4, 2, "float32"), "x_2": np.full(4, 3, "float32")}
    assert session.run(given)["output_0"][0] == -5 and session.check_numerics(given)
    assert session["FuseOps"].first_wrong_rewrite(given) is None
    with pytest.raises(WorkbenchError) as caught:
        session.check_numerics({"x": given["x"]})
    assert caught.value.code == "E-RUN-INPUT" and "'x_1' is missing" in caught.value.message


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "bfloat16"])
def test_what_only_a_pass_makes_computable_is_no_fault_of_code_generation(dtype: str) -> None:
    x = relay.var("x", shape=(4, 8), dtype=dtype)
    session = wb.open(relay.Function([x], relay.exp(relay.cast(x, "float32"))))
    values = np.linspace(-1, 2, 32).reshape(4, 8).astype(DataType(dtype).to_numpy())
    report = session.check_numerics({"x": values})
    assert report, f"{report}"


def test_fast_functions_are_checked() -> None:
    x = relay.var("x", shape=(4, 8))
    with wb.transform.PassContext(required_pass=["FastMath"]):
        session = wb.open(relay.Function([x], relay.tanh(relay.exp(x))))
    report = session.check_numerics({"x": np.linspace(-1, 2, 32, dtype="float32").reshape(4, 8)})
    assert "fast_tanh" in session.relay.script() and report, f"{report}"


def test_the_step_at_fault_is_found_by_what_it_runs_and_not_by_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass of a user's has the name of the one that is broken, and its label; the broken one is numbered."""
    from workbench.tir.transforms import flatten_buffer

    good = flatten_buffer.strides_of

    def wrong(buffer: Any) -> Any:
        strides = good(buffer)
        many = len(strides) > 1 and getattr(buffer.shape[0], "value", 1) > 1
        return (strides[0] * 2, *strides[1:]) if many else strides

    @module_pass(name="FlattenBuffer")
    def users(mod: IRModule, ctx: Any) -> IRModule:
        return mod

    base = small_session().rerun(insert={"Schedule": users})
    assert base.labels.index("FlattenBuffer") < base.labels.index("FlattenBuffer#2")
    monkeypatch.setattr(flatten_buffer, "strides_of", wrong)
    report = Session(History(base.history.root), base.plan).check_numerics(small_inputs())
    assert report.first_wrong == "FlattenBuffer#2", f"{report}"


def test_inputs_with_an_index_out_of_range_are_no_steps_fault() -> None:
    x, at = relay.var("x", shape=(5, 4)), relay.var("at", shape=(3,), dtype="int64")
    with PassContext(config={"tir.instrument_bound_checkers": True}):
        session = wb.open(relay.Function([x, at], relay.take(x, at, axis=0)))
    data = np.ones((5, 4), "float32")
    assert session.check_numerics({"x": data, "at": np.array([0, 4, 1])})
    with pytest.raises(WorkbenchError, match=r"E-RUN-INDEX[\s\S]*index 9"):
        session.check_numerics({"x": data, "at": np.array([0, 9, 1])})


# --- inputs are taken by name, as `run` takes them ---


def two_inputs() -> tuple[Any, dict[str, np.ndarray], str]:
    """x - z, inputs that tell them apart, and its text before any pass."""
    x, z = (relay.var(name, shape=(2, 3)) for name in "xz")
    session = wb.open(relay.Function([x, z], relay.subtract(x, z)))
    inputs = {"x": np.full((2, 3), 5, np.float32), "z": np.full((2, 3), 2, np.float32)}
    return session, inputs, session["InferType"].script()


def only_output(session: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    (found,) = session.run(inputs).values()
    return found


SIGNATURE = 'main(x: R.Tensor((2, 3), "float32"), z: R.Tensor((2, 3), "float32"))'
TURNED = 'main(z: R.Tensor((2, 3), "float32"), x: R.Tensor((2, 3), "float32"))'


@pytest.mark.parametrize("find", ["all", "first"])
def test_parameters_in_another_order_are_the_same_program(find: str) -> None:
    """They were taken by position: the edit was blamed, though `run` gives the same."""
    session, inputs, text = two_inputs()
    edited = session.edit(relay=text.replace(SIGNATURE, TURNED), at="InferType")
    np.testing.assert_array_equal(only_output(edited, inputs), only_output(session, inputs))
    assert edited.check_numerics(inputs, find=find).first_wrong is None

    @relay.transform.function_pass(opt_level=0, name="Flip")
    def flip(function: Any, module: Any, context: Any) -> Any:
        return relay.Function([function.params[1], function.params[0]], function.body)

    assert session.rerun(insert={"InferType": flip}).check_numerics(inputs, find=find).first_wrong is None


@pytest.mark.parametrize("find", ["all", "first"])
def test_operands_that_change_places_with_the_parameters_are_wrong(find: str) -> None:
    """By position nothing had changed: another program passed."""
    session, inputs, text = two_inputs()
    edited = session.edit(relay=text.replace(SIGNATURE, TURNED).replace("(x, z)", "(z, x)"), at="InferType")
    assert (only_output(edited, inputs) == -3).all()
    report = edited.check_numerics(inputs, find=find)
    assert report.first_wrong == "Edit" and report.tensor is not None


def test_renamed_inputs_are_taken_in_order_and_told() -> None:
    """By the imported names, or by those that `run` takes."""
    session, inputs, text = two_inputs()
    renamed = session.edit(relay=text.replace("main(x:", "main(data:").replace("(x, z)", "(data, z)"), at="InferType")
    for given in (inputs, {"data": inputs["x"], "z": inputs["z"]}):
        report = renamed.check_numerics(given)
        assert report.first_wrong is None and "x is data" in str(report)
    with pytest.raises(WorkbenchError, match="E-RUN-INPUT"):
        renamed.check_numerics({"other": inputs["x"], "z": inputs["z"]})


def test_the_first_wrong_rewrite_takes_inputs_by_name() -> None:
    session, inputs, text = two_inputs()
    edited = session.edit(relay=text.replace(SIGNATURE, TURNED), at="InferType")
    assert edited["Edit"].first_wrong_rewrite(inputs) is None


def test_a_pass_may_drop_a_parameter_that_nothing_reads() -> None:
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))

    @relay.transform.function_pass(opt_level=0, name="Drop")
    def drop(function: Any, module: Any, context: Any) -> Any:
        return relay.Function(function.params[:1], function.body)

    session = wb.open(relay.Function([x, y], relay.exp(x))).rerun(insert={"InferType": drop})
    given = {"x": np.ones(3, "float32"), "y": np.zeros(3, "float32")}
    report = session.check_numerics(given)
    assert report, f"{report}"


PASS_FILE = '''from workbench import relay
from workbench.relay.expr_functor import ExprMutator


class Add(ExprMutator):
    def visit_call(self, call):
        made = super().visit_call(call)
        if getattr(call.op, "name", "") != "subtract":
            return made
        return relay.add(made.args[0], relay.multiply(made.args[1], relay.const({factor})))


@relay.transform.function_pass(opt_level=0, name="TurnedAdd")
def turned_add(function, module, context):
    made = Add().visit(function)
    return relay.Function(list(reversed(made.params)), made.body)
'''


def forget(name: str) -> None:
    if name in PASSES:
        PASSES.remove(name)


@pytest.mark.parametrize("importable", [True, False], ids=["of a file", "of a cell"])
def test_the_test_of_a_pass_that_turns_parameters_fails_for_its_fault_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, importable: bool
) -> None:
    """The saved test took inputs by place, and knew no pass of the user's."""
    file = tmp_path / "turning_pass.py"
    monkeypatch.syspath_prepend(tmp_path)

    def written(factor: str) -> Any:
        """The pass, as if the file had been written and imported, or the cell run, in a fresh process."""
        file.write_text(PASS_FILE.replace("{factor}", factor))
        forget("TurnedAdd")
        sys.modules.pop("turning_pass", None)
        importlib.invalidate_caches()
        if importable:
            return importlib.import_module("turning_pass").turned_add
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(file.read_text(), "a cell", "exec"), space)
        return space["turned_add"]

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    session = wb.open(relay.Function([x, y], relay.exp(relay.subtract(relay.tanh(x), y))))
    given = {"x": np.array([0.3, 1, 2], "float32"), "y": np.array([0.1, 0.7, 0.2], "float32")}
    try:
        report = session.rerun(insert={"InferType": written("-1.1")}).check_numerics(given)
        assert report.first_wrong == "TurnedAdd"
        path = report.save_test(tmp_path / "test_piece.py")
        assert ("import turning_pass" in path.read_text()) == importable
        assert ("call it on module here" in path.read_text()) != importable
        written("-1.1")
        assert "Not equal to tolerance" in outcome(path)
        written("-1.0")
        assert (outcome(path) == "") == importable, "the text that the cell's pass made stays wrong"
    finally:
        forget("TurnedAdd")
        sys.modules.pop("turning_pass", None)
