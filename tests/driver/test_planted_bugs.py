"""Bugs planted at every level: `check_numerics` names the planted step as the first wrong one, and the first tensor.

The table is in `bugs.py`.  A broken pass takes the good one's place (`rerun(replace=...)`); lowering and code
generation are patched, and the session computed anew.  The sessions without a bug are right throughout.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver.bugs import BUGS, GRAPH, Bug, broken
from tests.driver.programs import (
    parallel_inputs,
    parallel_session,
    small_inputs,
    small_session,
    wide_inputs,
    wide_session,
)  # fmt: skip
from tests.nightly import some
from workbench.driver.history import History
from workbench.driver.session import Session

MODELS = {
    "small": (small_session, small_inputs),
    "wide": (wide_session, wide_inputs),
    "parallel": (parallel_session, parallel_inputs),
}


def planted(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, int]:
    """The session with a bug, its inputs, and the position of the step at fault; the places of bugs are told by kernels
    of operators, so that layouts stay as they are."""
    make, inputs = MODELS[bug.model]
    good = make().without("AlterOpLayout")
    position = good.labels.index(bug.step)
    if bug.change is not None:
        return good.rerun(replace={bug.step: broken(bug.step.partition("#")[0], bug.change)}), inputs(), position
    assert bug.patch is not None
    bug.patch(monkeypatch)
    return Session(History(good.history.root), good.plan), inputs(), position


@pytest.mark.parametrize("model", MODELS)
def test_without_a_bug_every_step_is_right(model: str) -> None:
    make, inputs = MODELS[model]
    report = make().check_numerics(inputs())
    assert report, f"no bug is planted, but:\n{report}"


@pytest.mark.parametrize("bug", some(BUGS, 12), ids=lambda bug: f"{bug.step}: {bug.what}")
def test_a_planted_bug_is_named(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    session, inputs, position = planted(bug, monkeypatch)
    report = session.check_numerics(inputs)
    assert report.first_wrong == session.labels[position], f"planted at {session.labels[position]}:\n{report}"
    assert [check.step for check in report.checks] == list(session.labels[: position + 1])
    last = report.checks[-1]
    assert last.verdict in bug.verdicts, f"{report}"
    said = f"{last.tensor} {last.note}" if last.tensor is not None else last.note
    assert any(word in said for word in bug.place.split("|")), f"{bug.place} is not said in: {said}"


@pytest.mark.parametrize(
    "bug", some([GRAPH[3], *BUGS[len(GRAPH) :: 7]], 3), ids=lambda bug: f"{bug.step}: {bug.what}"
)
def test_bisection_names_the_same_step(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    session, inputs, position = planted(bug, monkeypatch)
    report = session.check_numerics(inputs, find="first")
    assert report.first_wrong == session.labels[position], f"planted at {session.labels[position]}:\n{report}"
    ran = sum(check.verdict != "not run" for check in report.checks)
    assert ran <= 7, f"bisection ran {ran} steps:\n{report}"
