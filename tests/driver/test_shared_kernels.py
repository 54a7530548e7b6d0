"""Edits of a kernel that several calls share, where a change above gives some of these calls kernels of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench import relay


def noted(session: Any, kernel: str, note: str = "note") -> Any:
    """The session with an annotation on the first loop of a kernel, as a schedule by hand."""
    schedule = session.schedule(kernel)
    schedule.annotate(schedule.get_loops(schedule.get_block("leaky_relu"))[0], note, 1)
    return session.edit(schedule={kernel: schedule})


def shared_leaky(*alphas: float) -> Any:
    """A softmax and a leaky_relu in turn; those of one alpha share a kernel, and all softmaxes do."""
    x = body = relay.var("x", shape=(4, 8))
    for alpha in alphas:
        body = relay.nn.softmax(relay.nn.leaky_relu(body, alpha))
    return relay.Function([x], body)


def shared_session(*alphas: float) -> tuple[Any, str]:
    """A session whose first leaky_relu kernel is shared, and that kernel."""
    session = wb.open(shared_leaky(*alphas), passes=["InferType"])
    return session, next(name for name in session.kernels if "leaky" in name)


def with_alphas(session: Any, *alphas: float) -> Any:
    """The session with other alphas in its graph, above all that was done by hand."""
    text = session["InferType"].script()
    parts = re.split(r"alpha=[0-9.]+", text)
    assert len(parts) == len(alphas) + 1
    made = "".join(f"{part}alpha={alpha}" for part, alpha in zip(parts, alphas, strict=False)) + parts[-1]
    return session.edit(relay=made, at="InferType")


def leaky_scripts(session: Any, step: str) -> list[str]:
    return [session[step].program[name].script() for name in session.kernels if "leaky" in name]


def unrolled(session: Any, kernel: str) -> Any:
    return session.edit(tir={kernel: session.tir[kernel].script().replace("T.serial(", "T.unroll(", 1)})


@pytest.mark.parametrize("alphas", [(0.125, 0.5), (0.25, 0.5), (0.5, 0.125), (0.5, 0.5), (0.125, 0.125)])
def test_an_edit_of_a_shared_kernel_follows_all_its_calls(alphas: tuple[float, float], tmp_path: Path) -> None:
    session, kernel = shared_session(0.125, 0.125)
    for edited, sign, step in (
        (unrolled(session, kernel), "T.unroll(", "Edit#2"),
        (noted(session, kernel), '"note"', "Schedule"),
    ):
        changed = with_alphas(edited, *alphas)
        changed.save(str(tmp_path / "s.wb.json"))
        for made in (changed, wb.open(str(tmp_path / "s.wb.json"))):
            assert made[step].error is None, f"{made[step].error}"
            scripts = leaky_scripts(made, step)
            assert len(scripts) == len(set(alphas)) and all(sign in script for script in scripts), scripts


def test_an_edit_of_a_shared_kernel_that_fits_only_one_of_its_calls_stops() -> None:
    session, kernel = shared_session(0.125, 0.125)
    edited = session.edit(tir={kernel: session.tir[kernel].script().replace("0.125", "0.75")})
    changed = with_alphas(edited, 0.125, 0.5)
    error = changed["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE" and "fused_nn_leaky_relu_1" in error.where, f"{error}"
    assert "0.75" in error.found and "0.5" in error.found
    kept = changed.rebase()
    scripts = leaky_scripts(kept, "Edit#2")
    assert kept["Edit#2"].error is None and "(0.75)" in scripts[0] and "(0.5)" in scripts[1]


def test_a_call_of_a_shared_kernel_that_shares_one_with_another_call_now_is_reported() -> None:
    session, kernel = shared_session(0.125, 0.125, 0.375)
    changed = with_alphas(unrolled(session, kernel), 0.125, 0.375, 0.375)
    error = changed["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE", f"{error}"
    assert "shared by further calls now: fused_nn_leaky_relu_1 (call 5)" in error.found
    first, second = leaky_scripts(changed.rebase(), "Edit#2")
    assert "T.unroll(" in first and "T.unroll(" not in second


def test_the_calls_of_a_shared_kernel_are_told_from_others_of_its_name() -> None:
    session, kernel = shared_session(0.125, 0.125, 0.375)
    changed = with_alphas(unrolled(session, kernel), 0.125, 0.5, 0.625)
    assert changed["Edit#2"].error is None
    assert ["T.unroll(" in script for script in leaky_scripts(changed, "Edit#2")] == [True, True, False]


def test_a_call_of_a_shared_kernel_that_is_another_operator_now_is_reported_and_one_that_is_gone_is_not() -> None:
    session, kernel = shared_session(0.125, 0.125)
    edited = unrolled(session, kernel)
    text = session["InferType"].script()
    place = text.rindex("nn.leaky_relu")
    other = edited.edit(
        relay=text[:place] + "tanh" + text[place:].split("leaky_relu", 1)[1].replace(", alpha=0.125", ""),
        at="InferType",
    )
    error = other["Edit#2"].error
    assert error is not None and "1 of its calls is of another kernel now: fused_tanh (call 3)" in error.found
    gone = edited.edit(relay=wb.IRModule.from_expr(shared_leaky(0.125)), at="Import")
    assert gone["Edit#2"].error is None and "T.unroll(" in leaky_scripts(gone, "Edit#2")[0]


def test_one_of_the_kernels_of_a_schedule_gets_another_schedule() -> None:
    session, kernel = shared_session(0.125, 0.125)
    changed = with_alphas(noted(session, kernel), 0.125, 0.5)
    again = noted(changed, "fused_nn_leaky_relu_1", "other")
    scripts = leaky_scripts(again, "Schedule")
    assert ['"note"' in script for script in scripts] == [True, True], "a schedule begins with what is there"
    assert ['"other"' in script for script in scripts] == [False, True] and again["Codegen"].error is None
    lines = again.to_python()
    assert lines.count("s.edit(schedule=") == 2 and lines.count("annotate(") == 3
