"""Arguments of a session's commands that are of another kind: one error each, never Python's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay, te
from workbench.core.errors import InternalError, WorkbenchError
from workbench.relay.build_module import bind_params_by_name

NAME = "fused_nn_relu"
X = np.ones((4, 8), np.float32)


def program() -> Any:
    x = relay.var("x", shape=(4, 8))
    return relay.Function([x], relay.nn.relu(x))


@cache
def session() -> Any:
    return wb.open(program())


@cache
def loops() -> Any:
    a = te.placeholder((8,), name="A")
    return wb.open([a, te.compute((8,), lambda i: a[i] + 1.0, name="B")])


@cache
def compared() -> Any:
    return wb.compare(session(), session(), {"x": X}, repeat=1)


@cache
def checked() -> Any:
    return session().check({"x": X}, native=False).wait()


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a schedule of a number": (lambda: session().edit(schedule={3: session().schedule(NAME)}), "E-EDIT-KIND"),
    "schedules in a list": (lambda: session().edit(schedule=[1]), "E-EDIT-KIND"),
    "schedules as text": (lambda: session().edit(schedule="a"), "E-EDIT-KIND"),
    "kernels in a list": (lambda: session().edit(te=[1]), "E-EDIT-KIND"),
    "a kernel of a number": (lambda: session().edit(te={3: 1}), "E-EDIT-KIND"),
    "a function of a number": (lambda: session().edit(relay={3: program()}), "E-EDIT-KIND"),
    "the schedule of a list": (lambda: session().schedule([1]), "E-KERNEL-UNKNOWN"),
    "the default schedule as a number": (lambda: session().schedule(NAME, default=3), "E-SCHEDULE-ARGUMENT"),
    "passes as text": (lambda: session().rerun(passes="FuseOps"), "E-PASS-KIND"),
    "passes as a number": (lambda: session().rerun(passes=3), "E-PASS-KIND"),
    "disabled as text": (lambda: session().rerun(disabled_pass="FuseOps"), "E-PASS-KIND"),
    "disabled as a number": (lambda: session().rerun(disabled_pass=3), "E-PASS-KIND"),
    "disabled of a number": (lambda: session().rerun(disabled_pass=[3]), "E-PASS-KIND"),
    "disabled of a list": (lambda: session().rerun(disabled_pass=[["FuseOps"]]), "E-PASS-KIND"),
    "disabled of a wrong name": (lambda: session().rerun(disabled_pass=["FuseOp"]), "E-PASS-UNKNOWN"),
    "required as text": (lambda: session().rerun(required_pass="FuseOps"), "E-PASS-KIND"),
    "required as a number": (lambda: session().rerun(required_pass=3), "E-PASS-KIND"),
    "required of a number": (lambda: session().rerun(required_pass=[3]), "E-PASS-KIND"),
    "required of a wrong name": (lambda: session().rerun(required_pass=["FuseOp"]), "E-PASS-UNKNOWN"),
    "replace as text": (lambda: session().rerun(replace="FuseOps"), "E-PASS-KIND"),
    "insert as a list": (lambda: session().rerun(insert=["FuseOps"]), "E-PASS-KIND"),
    "insert at nothing": (lambda: session().rerun(insert={None: "FuseOps"}), "E-PASS-KIND"),
    "opened with passes as text": (lambda: wb.open(program(), passes="FuseOps"), "E-PASS-KIND"),
    "opened with passes as a number": (lambda: wb.open(program(), passes=3), "E-PASS-KIND"),
    "parameters in a list": (lambda: wb.open(program(), params=[1]), "E-PARAMS-KIND"),
    "parameters as text": (lambda: wb.open(program(), params="ab"), "E-PARAMS-KIND"),
    "parameters of a build in a list": (lambda: relay.build(program(), params=[1]), "E-PARAMS-KIND"),
    "parameters of a build in an array": (lambda: relay.build(program(), params=X), "E-PARAMS-KIND"),
    "parameters of a build in an empty list": (lambda: relay.build(program(), params=[]), "E-PARAMS-KIND"),
    "a parameter of a number": (lambda: relay.build(program(), params={3: X}), "E-PARAMS-KIND"),
    "parameters of an executor in a list": (lambda: relay.create_executor(params=[1]), "E-PARAMS-KIND"),
    "parameters bound in a list": (lambda: bind_params_by_name(program(), [1]), "E-PARAMS-KIND"),
    "parameters bound in a number": (lambda: bind_params_by_name(3, {"x": X}), "E-PARAMS-KIND"),
    "bindings in a list": (lambda: relay.create_executor().evaluate(program(), [1]), "E-EVALUATE"),
    "an outside function as a number": (lambda: wb.open(program(), allow_extern=3), "E-OPEN-ARGUMENT"),
    "inputs in a list": (lambda: session().run([1]), "E-RUN-INPUT"),
    "an input of a number": (lambda: session().run({3: 1}), "E-RUN-INPUT"),
    "a built model's inputs in a list": (lambda: session().build().run([1]), "E-RUN-INPUT"),
    "an unknown input of loops": (lambda: loops().run({"A": X[0], "Q": X}), "E-RUN-INPUT"),
    "LLVM's passes on a number": (lambda: session().llvm_passes(3), "E-KERNEL-UNKNOWN"),
    "a number as a path": (lambda: session().save(3), "E-SAVE-WRITE"),
    "a step by a number as text": (lambda: session().step("3"), "E-STEP-UNKNOWN"),
    "a comparison with a number": (lambda: wb.compare(session(), 3, {"x": X}), "E-COMPARE-ARGUMENT"),
    "a comparison of no runs": (lambda: wb.compare(session(), session(), {"x": X}, 0), "E-COMPARE-ARGUMENT"),
    "tolerance as text": (lambda: session().check_numerics({"x": X}, tolerance="a"), "E-NUMERICS-NUMBER"),
    "tolerance that is none": (lambda: session().check_numerics({"x": X}, float("nan")), "E-NUMERICS-NUMBER"),
    "tolerance without end": (lambda: session().check_numerics({"x": X}, float("inf")), "E-NUMERICS-NUMBER"),
    "tolerance below zero": (lambda: session().check_numerics({"x": X}, -1e-3), "E-NUMERICS-NUMBER"),
    "seconds that are none": (lambda: session().check_numerics({"x": X}, seconds=float("nan")), "E-NUMERICS-NUMBER"),
    "checked on an unknown input": (lambda: session().check_numerics({"x": X, "z": X}), "E-RUN-INPUT"),
    "checked without an input": (lambda: session().check_numerics({}), "E-RUN-INPUT"),
    "checked on another shape": (lambda: session().check_numerics({"x": X[:2]}), "E-RUN-SHAPE"),
    "checked on another dtype": (lambda: session().check_numerics({"x": X.astype("float64")}), "E-RUN-DTYPE"),
    "loops checked on another shape": (lambda: loops().check_numerics({"A": X[0, :4]}), "E-RUN-SHAPE"),
    "loops checked on an unknown input": (lambda: loops().check_numerics({"A": X[0], "Q": X}), "E-RUN-INPUT"),
    "a rule that is a number": (lambda: session().debug("FuseOps", rule=3), "E-BREAK-RULE"),
    "a node that is a number": (lambda: session().debug("FuseOps", node=3), "E-BREAK-NODE"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_error(what: str) -> None:
    act, code = MISTAKES[what]
    with pytest.raises(WorkbenchError) as caught:
        act()
    assert caught.value.code == code, f"{caught.value}"


def test_a_text_where_a_list_is_expected_is_answered_with_the_list() -> None:
    for name in ("passes", "disabled_pass", "required_pass"):
        with pytest.raises(WorkbenchError) as caught:
            session().rerun(**{name: "FuseOps"})
        assert caught.value.fix == "['FuseOps']" and caught.value.where == f"rerun({name}=...)"


ODD: tuple[Any, ...] = (
    3, "a", "", "\0", b"q", 1.5, float("nan"), -1, True, None, [1], [], {"a": 1}, {}, (1, 2), X, object(), float,
)  # fmt: skip
PARAMS: dict[str, Callable[..., Any]] = {
    "open": wb.open,
    "relay.build": relay.build,
    "relay.optimize": relay.optimize,
    "bind_params_by_name": bind_params_by_name,
    "create_executor": lambda function, params: relay.create_executor(
        mod=wb.IRModule.from_expr(function), params=params
    ).evaluate()(*(() if params else (X,))),
}
COMMANDS: dict[str, Callable[[Any], Any]] = {
    "open": wb.open,
    **{f"open({name})": lambda odd, name=name: wb.open(program(), **{name: odd})
       for name in ("shape", "target", "params", "passes", "assume", "allow_extern")},
    **{f"{name}(params)": lambda odd, act=act: act(program(), params=odd) for name, act in PARAMS.items()},
    **{f"{name}(params) of": lambda odd, act=act: act(program(), params={"x": odd}) for name, act in PARAMS.items()},
    "evaluate(binds)": lambda odd: relay.create_executor().evaluate(program(), odd),
    "[]": lambda odd: session()[odd],
    "step": lambda odd: session().step(odd),
    "schedule": lambda odd: session().schedule(odd),
    "schedule(default)": lambda odd: session().schedule(NAME, default=odd),
    **{f"rerun({name})": lambda odd, name=name: session().rerun(**{name: odd})
       for name in ("disabled_pass", "required_pass", "passes", "target", "replace", "insert")},
    **{f"rerun({name}) of": lambda odd, name=name: session().rerun(**{name: {"FuseOps": odd}})
       for name in ("replace", "insert")},
    "rerun(passes) of": lambda odd: session().rerun(passes=[odd]),
    "without": lambda odd: session().without(odd),
    **{f"edit({name})": lambda odd, name=name: session().edit(**{name: odd})
       for name in ("relay", "te", "tir", "schedule")},
    **{f"edit({name}) of": lambda odd, name=name: session().edit(**{name: {NAME: odd}})
       for name in ("relay", "te", "tir", "schedule")},
    "edit(at)": lambda odd: session().edit(relay=session().relay.script(), at=odd),
    "rebase": lambda odd: session().rebase(odd),
    **{f"debug({name})": lambda odd, name=name: session().debug(**{"step": "FuseOps", name: odd})
       for name in ("step", "rule", "node", "action")},
    "branches": lambda odd: session().branches[odd],
    "run": lambda odd: session().run(odd),
    "run on": lambda odd: session().run({"x": odd}),
    "built": lambda odd: session().build().run(odd),
    "loops' run": lambda odd: loops().run(odd),
    "loops' run on": lambda odd: loops().run({"A": odd}),
    "loops' run into": lambda odd: loops().run({"A": X[0], "B": odd}),
    "check_numerics": lambda odd: session().check_numerics(odd),
    "check_numerics on": lambda odd: session().check_numerics({"x": odd}),
    "check_numerics of loops on": lambda odd: loops().check_numerics({"A": odd}),
    "check_numerics(find)": lambda odd: session().check_numerics({"x": X}, find=odd),
    "a check's narrow": lambda odd: checked().narrow(odd),
    "a check's save_test": lambda odd: checked().save_test("no.py", odd),
    "origins(call)": lambda odd: session().origins(session().relay.module["main"].body, call=odd),
    "became": lambda odd: session().became(odd),
    "provenance": lambda odd: session().provenance.line(odd, 1),
    "provenance(line)": lambda odd: session().provenance.line(NAME, odd),
    "llvm_passes": lambda odd: session().llvm_passes(odd),
    "compare": lambda odd: wb.compare(session(), odd, {"x": X}, repeat=1),
    "compare(inputs)": lambda odd: wb.compare(session(), session(), odd, repeat=1),
    "compare(names)": lambda odd: wb.compare(session(), session(), {"x": X}, repeat=1, names=odd),
    "a comparison's diff": lambda odd: compared().diff(odd),
    "a program's function": lambda odd: session().tir[odd],
    "a kernel's source": lambda odd: session().codegen[NAME].source(odd),
    "rewrites": lambda odd: session()["FuseOps"].after_rewrites(odd),
    "first_wrong_rewrite": lambda odd: session()["FuseOps"].first_wrong_rewrite(odd),
    "first_wrong_rewrite on": lambda odd: session()["FuseOps"].first_wrong_rewrite({"x": odd}),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_odd_arguments_end_in_an_answer_or_one_error(command: str) -> None:
    for odd in ODD:
        try:
            COMMANDS[command](odd)
        except WorkbenchError as error:
            assert not isinstance(error, InternalError) and error.message, f"{odd!r:.40}: {error}"
