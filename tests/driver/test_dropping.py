"""What of edits does not apply any more is counted as a person made it, and told of all steps before it is dropped."""

from __future__ import annotations

import re

import numpy as np

import workbench as wb
from tests.driver.programs import EIGHT_LANES
from workbench import relay
from workbench.driver.dropping import Loss, applicable_plan
from workbench.driver.rebase import Dropped, Rebased, RebaseError


def convolutions() -> relay.Function:
    """Two, of weights that are packed for their loops."""
    weights = relay.const(np.ones((4, 4, 3, 3), np.float32))
    y = x = relay.var("x", shape=(1, 8, 8, 4))
    for limit in (6.0, 5.0):
        y = relay.clip(relay.nn.conv2d(y, weights, padding=(1, 1), data_layout="NHWC"), a_min=0.0, a_max=limit)
    return relay.Function([x], y)


def changed(session: wb.Session, step: str, old: str, new: str) -> wb.Session:
    text = session[step].program["main"].script()
    assert old in text
    return session[step].edit({"main": text.replace(old, new, 1)})


def in_two_conflicts() -> wb.Session:
    """An attribute of each operator is changed in the fused graph, in a step of its own, and then in the one before."""
    session = wb.open(convolutions(), target=EIGHT_LANES)
    session = changed(session, "FuseOps", "a_max=6.0", "a_max=3.0")
    session = changed(session, "Edit", "a_max=5.0", "a_max=2.0")
    return changed(changed(session, "InferType", "a_max=6.0", "a_max=4.0"), "Edit", "a_max=5.0", "a_max=4.5")


def test_the_parts_of_all_edits_are_told_and_telling_makes_no_branch() -> None:
    session = in_two_conflicts()
    branches = len(session.branches)
    _, losses = applicable_plan(session)
    assert losses == tuple(
        Loss(step, "main", f"clip(a_min=0.0, a_max={mine})", f"clip(a_min=0.0, a_max={was}) is {now} now")
        for step, was, mine, now in (
            ("Edit#3", 6.0, 3.0, "clip(a_min=0.0, a_max=4.0)"), ("Edit#4", 5.0, 2.0, "clip(a_min=0.0, a_max=4.5)"),
        )
    )  # fmt: skip
    assert len(session.branches) == branches
    made = session.rebase()
    assert [label for label in made.labels if label.startswith("Edit")] == ["Edit", "Edit#2"]
    assert applicable_plan(made) == (made.plan, ())
    assert len(session.branches) == branches + 1


def test_an_edited_graph_counts_its_places() -> None:
    session = changed(wb.open(convolutions(), target=EIGHT_LANES), "FuseOps", "a_max=6.0", "a_max=3.0")
    error = changed(session, "InferType", "a_max=6.0", "a_max=4.0").step("Edit#2").error
    assert error is not None
    assert error.message == "1 of 1 changed places of this edit by hand do not apply to what comes before them now"


def test_a_schedule_counts_the_steps_of_the_person_and_those_of_the_default_by_themselves() -> None:
    """One split counted as all the steps of the default schedule too, once that was another one."""
    session = wb.open(convolutions(), target=EIGHT_LANES)
    kernel = session.kernels[0]
    schedule = session.schedule(kernel)
    blocks = schedule.get_child_blocks(schedule.get_block("root"))
    loops = [loop for block in blocks for loop in schedule.get_loops(block)]
    serial = [loop for loop in loops if re.search(r"serial", str(schedule.get(loop).kind).lower())]
    schedule.split(serial[-1], factors=[None, 2])
    error = session.edit(schedule={kernel: schedule}).without("PackWeights").step("Schedule").error
    assert error is not None
    assert error.message == (
        "1 of 1 steps by hand and 16 steps of the default schedule beneath them "
        "do not apply to what comes before them now"
    )


def test_places_that_are_told_in_the_same_words_count_each() -> None:
    lost = Dropped("an operand of add()", "what comes before has changed it as well")
    error = RebaseError([Rebased("main", None, ("exp()",), (lost, lost))], "step Edit")
    assert error.message.startswith("2 of 3 changed places of this edit by hand")
