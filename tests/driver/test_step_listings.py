"""Names that last: from step to step a text differs by what the step did, and parses back to the step's program."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model, small_session
from workbench.core.equal import structural_equal
from workbench.core.line_diff import line_hunks
from workbench.driver.step_listings import lasting_script, listings_of
from workbench.driver.text import constants_in, parse, script


def graph_steps(session: Any) -> list[Any]:
    return [session.step(n) for n, action in enumerate(session.actions) if action.level == "relay"]


@pytest.mark.parametrize("step", [step.label for step in graph_steps(small_session())])
def test_it_parses_back_to_the_program(step: str) -> None:
    session = small_session()
    module = session.step(step).stage.module
    parsed = parse(lasting_script(session.step(step)), constants_in(module))
    for name in module.names():
        assert structural_equal(parsed[name], module[name])


def test_the_first_text_is_the_script() -> None:
    step = small_session().step(0)
    assert lasting_script(step) == script(step.stage.module)


def test_a_step_renames_nothing_that_it_leaves_alone() -> None:
    session = small_session()
    for step in graph_steps(session)[1:]:
        before, after = (lasting_script(one).split("\n") for one in (step.previous, step))
        if not step.changed:
            assert before == after
            continue
        kept = [line.split(" = ")[0].strip() for line in after if " = R." in line]
        assert len(kept) == len(set(kept)) or "def fused_" in "\n".join(after)
        changed = sum(hunk.after_count for hunk in line_hunks(before, after))
        shown = step_lines(session, step.label)
        assert changed <= shown + 2, (step.label, changed, shown)


def step_lines(session: Any, label: str) -> int:
    """The lines that the difference by identity counts."""
    return sum(change.size for change in session[label].diff().changes)


def test_a_value_keeps_its_name_through_all_steps() -> None:
    """The softmax at the end, before which operators are folded, put in and fused."""
    session = small_session()
    lines = [next(line for line in lasting_script(step).split("\n") if "nn.softmax" in line and "def " not in line)
             for step in graph_steps(session)[:-1]]  # fmt: skip
    assert len({line.split(" = ")[0].strip() for line in lines}) == 1, lines


def test_an_edit_of_one_operator_changes_one_line_of_every_later_text() -> None:
    session = wb.open(small_model())
    edited = session["Import"].edit(session["Import"].script().replace("v10, axis=1", "v10, axis=0"))
    last = "FuseOps"
    before, after = (lasting_script(one.step(last)).split("\n") for one in (session, edited))
    assert [line.strip() for line in after if line not in before] == ["v0 = R.nn.softmax(p0, axis=0)"]


def test_listings_are_made_once() -> None:
    step = small_session().step("FuseOps")
    assert listings_of(step)["main"] is listings_of(step)["main"]


def test_loop_programs_are_written_as_always() -> None:
    step = small_session().step("Lower")
    assert lasting_script(step) == script(step.stage.module) and listings_of(step) == {}
