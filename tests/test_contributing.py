"""The examples of CONTRIBUTING.md run: a pass, a primitive, an operator, an exercise, each added from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay, te
from workbench.core.transform import PASSES
from workbench.relay.ir.operator import OPERATORS
from workbench.schedule import Schedule
from workbench.schedule.registry import PRIMITIVES

PAGE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the page's examples define, each run from a file of its own."""
    defined: dict[str, Any] = {}
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)):
        path = tmp_path_factory.mktemp("example") / f"example_{number}.py"
        path.write_text(code, encoding="utf-8")
        exec(compile(code, str(path), "exec"), defined)
    yield defined
    PASSES.remove("DoubleNegation")
    PRIMITIVES.remove("pragma_unroll")
    OPERATORS.remove("nn.softsign")


def test_the_pass_is_a_step_of_a_session_with_its_rule(names: dict[str, Any]):
    x = relay.var("x", shape=(2, 3))
    function = relay.Function((x,), relay.negative(relay.negative(relay.exp(x))))
    session = wb.open(function, passes=["InferType", names["DoubleNegation"], "FuseOps"])
    step = session["DoubleNegation"]
    assert [firing.rule.name for firing in step.rewrites] == ["negative-negative"]
    assert "negative" not in step.script()
    given = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(session.run({"x": given})["output_0"], np.exp(given), rtol=1e-6)


def test_the_primitive_is_a_method_a_trace_step_and_a_menu_entry(names: dict[str, Any]):
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    schedule = Schedule(te.create_prim_func([a, b]))
    (loop,) = schedule.get_loops(schedule.get_block("B"))
    assert schedule.applicable(loop)["pragma_unroll"] is None
    schedule.pragma_unroll(loop)
    assert "pragma_unroll" in schedule.script() and "sch.pragma_unroll(l0)" in schedule.code()
    replayed = Schedule(te.create_prim_func([a, b]))
    replayed.replay(schedule.trace)
    assert replayed.script() == schedule.script()
    schedule.vectorize(loop)
    refused = schedule.why_not("pragma_unroll", loop)
    assert refused is not None and refused.code == "E-SCHEDULE-PRAGMA"


def test_the_exercise_is_checked_hinted_and_solved_by_its_hints(names: dict[str, Any]):
    (exercise,) = names["EXERCISES"]
    task = wb.teach.task(exercise, student="ada")
    done: list[str] = []

    def answer(sch: Schedule) -> None:
        for lines in done:
            exec(lines, {"sch": sch})

    for _ in exercise.checks:
        report = task.check(answer)
        if report.passed:
            break
        done.append(report.hints()[-1])
    assert report.passed and len(done) == 2, report


def test_the_operator_is_built_typed_run_and_compiled(names: dict[str, Any]):
    x = relay.var("x", shape=(2, 3))
    call = relay.nn.softsign(x, scale=2.0)
    assert call.checked_type == relay.TensorType((2, 3), "float32")
    session = wb.open(relay.Function((x,), call))
    given = np.linspace(-3, 3, 6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(session.run({"x": given})["output_0"], given / (2 + np.abs(given)), rtol=1e-6)
    assert session.check_numerics({"x": given})
