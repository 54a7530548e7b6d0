"""What a user defines anew (a global of an operator, a rule, an intrinsic) an open screen shows as it is now."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench as wb
from tests.driver.test_reliance import CASES, forget  # noqa: F401  (it takes back what the cases define)
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask
from workbench import relay
from workbench.relay.ir.operator import OPERATORS, Fusion, Operator, operator
from workbench.topi.emit import elementwise
from workbench.ui.workbench import Workbench

FOLLOWED = [name for name in CASES if name != "operator"]  # of an operator the program holds the object


def looked_at(screen: Workbench, kernel: str) -> dict[str, Any]:
    """Parts of the screen that keep what they have worked out."""
    found: dict[str, Any] = {"schedule": ask(screen, "schedule.open", kernel=kernel)["script"]}
    passes = ask(screen, "llvm.open", kernel=kernel)["steps"]
    text = {"kernel": kernel, "step": passes[-1]["id"], "side": "after", "start": 0, "count": 200}
    found["llvm"] = ask(screen, "llvm.text", **text)["lines"]
    for step in ask(screen, "tensors.steps").get("graph", []):
        reply = screen.ask("tensors.look", step=step, number=0).content  # refused where an operator has no reference
        found[f"tensor {step}"] = reply["view"] if reply["ok"] else reply["err"]["code"]
    return found


@pytest.mark.parametrize("name", FOLLOWED)
def test_no_part_stays_on_the_program_of_before(name: str) -> None:
    case = CASES[name]
    case.thing.define(3.0)
    screen = Workbench(case.thing.opened())
    kernel = screen.session.kernels[0]
    before = looked_at(screen, kernel)
    case.thing.define(7.0)
    now, fresh = looked_at(screen, kernel), looked_at(Workbench(case.thing.opened()), kernel)
    assert json.dumps(now) == json.dumps(fresh)
    assert now != before


def test_badges_go_with_the_operator_that_was_checked() -> None:
    case = CASES["rule of a pass"]
    case.thing.define(3.0)
    screen = Workbench(case.thing.opened())
    ask(screen, "checks.start")
    assert screen.checks.check is not None
    screen.checks.check.wait()
    assert ask(screen, "checks.state")["state"] == "done"
    case.thing.define(7.0)
    assert ask(screen, "checks.state")["state"] == "none"


def test_a_rate_is_of_the_target_that_it_was_measured_for() -> None:
    screen = Workbench(wb.open(wb.IRModule({"main": plain_matmul(16, 16, 16)}), target="llvm -mcpu=x86-64-v3"))
    assert ask(screen, "schedule.time_here", kernel="main")["states"][0]["rate"] > 0
    screen.session.rerun(target="llvm -mcpu=x86-64")
    ask(screen, "branch", number=1)
    assert ask(screen, "schedule.tree", kernel="main")["states"][0]["rate"] == 0


def test_an_edit_is_taken_whichever_schedules_were_looked_at() -> None:
    a, b = (relay.var(name, shape=(4, 8)) for name in "ab")
    program = wb.IRModule.from_expr(relay.Function([a, b], relay.nn.softmax(relay.nn.relu(relay.add(a, b)))))
    for looked in (False, True):
        screen = Workbench(wb.open(program))
        mine = next(name for name in screen.session.kernels if "add" in name)
        if looked:
            ask(screen, "schedule.open", kernel=next(name for name in screen.session.kernels if name != mine))
        note = {"ann_key": "remark", "ann_val": 1}
        ask(screen, "schedule.apply", kernel=mine, primitive="annotate", selection="b:relu", arguments=note)
        step = next(one["id"] for one in ask(screen, "pipeline.open")["steps"] if one["name"] == "FoldConstant")
        text = ask(screen, "pipeline.source", step=step)["text"].replace("R.add(", "R.multiply(")
        assert "refused" not in ask(screen, "pipeline.edit", step=step, function="main", text=text), looked


def test_a_verdict_of_the_verifier_is_of_the_operators_of_now() -> None:
    """The import reads no operator's type, the verifier does: its word on it was that of the first time for ever."""
    wide = [4]

    @operator("test.times")
    class _Wide(Operator):
        fusion = Fusion.ELEMWISE

        def infer(self, data: Any) -> Any:
            return relay.TensorType((wide[0],), "float32")

        def compute(self, data: Any) -> Any:
            return elementwise(self, lambda x: x + x, data)

    x = relay.var("x", shape=(4,))
    screen = Workbench(wb.open(relay.Function([x], relay.Call(OPERATORS["test.times"](), [x]))))
    step = ask(screen, "pipeline.open")["steps"][0]["id"]
    assert ask(screen, "pipeline.verify", step=step)["problems"] == []
    wide[0] = 2
    (problem,) = ask(screen, "pipeline.verify", step=step)["problems"]
    assert "types-agree" in problem
