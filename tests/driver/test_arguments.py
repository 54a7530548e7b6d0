"""Arguments of a session's commands that are of another kind: one error each, never Python's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import workbench as wb
from workbench import relay
from workbench.core.errors import WorkbenchError


def program() -> Any:
    x = relay.var("x", shape=(4, 8))
    return relay.Function([x], relay.nn.relu(x))


@cache
def session() -> Any:
    return wb.open(program())


NAME = "fused_nn_relu"
MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a schedule of a number": (lambda: session().edit(schedule={3: session().schedule(NAME)}), "E-EDIT-KIND"),
    "schedules in a list": (lambda: session().edit(schedule=[1]), "E-EDIT-KIND"),
    "schedules as text": (lambda: session().edit(schedule="a"), "E-EDIT-KIND"),
    "kernels in a list": (lambda: session().edit(te=[1]), "E-EDIT-KIND"),
    "a kernel of a number": (lambda: session().edit(te={3: 1}), "E-EDIT-KIND"),
    "the schedule of a list": (lambda: session().schedule([1]), "E-KERNEL-UNKNOWN"),
    "passes as text": (lambda: session().rerun(passes="FuseOps"), "E-PASS-KIND"),
    "passes as a number": (lambda: session().rerun(passes=3), "E-PASS-KIND"),
    "disabled as a number": (lambda: session().rerun(disabled_pass=3), "E-PASS-KIND"),
    "disabled of a number": (lambda: session().rerun(disabled_pass=[3]), "E-PASS-UNKNOWN"),
    "replace as text": (lambda: session().rerun(replace="FuseOps"), "E-PASS-KIND"),
    "insert as a list": (lambda: session().rerun(insert=["FuseOps"]), "E-PASS-KIND"),
    "insert at nothing": (lambda: session().rerun(insert={None: "FuseOps"}), "E-PASS-KIND"),
    "opened with passes as text": (lambda: wb.open(program(), passes="FuseOps"), "E-PASS-KIND"),
    "opened with passes as a number": (lambda: wb.open(program(), passes=3), "E-PASS-KIND"),
    "parameters in a list": (lambda: wb.open(program(), params=[1]), "E-OPEN-ARGUMENT"),
    "parameters as text": (lambda: wb.open(program(), params="ab"), "E-OPEN-ARGUMENT"),
    "inputs in a list": (lambda: session().run([1]), "E-RUN-INPUT"),
    "an input of a number": (lambda: session().run({3: 1}), "E-RUN-INPUT"),
    "LLVM's passes on a number": (lambda: session().llvm_passes(3), "E-KERNEL-UNKNOWN"),
    "a number as a path": (lambda: session().save(3), "E-SAVE-WRITE"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_error(what: str) -> None:
    act, code = MISTAKES[what]
    with pytest.raises(WorkbenchError) as caught:
        act()
    assert caught.value.code == code, f"{caught.value}"


def test_a_text_where_a_list_is_expected_is_answered_with_the_list() -> None:
    with pytest.raises(WorkbenchError) as caught:
        session().rerun(passes="FuseOps")
    assert caught.value.fix == "['FuseOps']" and caught.value.where == "rerun(passes=...)"
