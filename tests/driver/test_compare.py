"""Two sessions side by side: what of them is said to differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay

X = {"x": np.linspace(-1, 1, 8, dtype=np.float32)}


@pytest.fixture(scope="module")
def session() -> Any:
    x = relay.var("x", shape=(8,))
    return wb.open(relay.Function([x], relay.nn.relu(relay.exp(x))), target="llvm -mcpu=x86-64-v2")


def test_the_steps_of_another_target_are_the_same_steps(session: Any) -> None:
    """A target is part of every step's key: sessions that differ by it alone have all steps in common."""
    other = session.rerun(target="llvm -mcpu=x86-64-v3")
    compared = wb.compare(session, other, X, repeat=1)
    assert compared.differing_steps == () and compared.last_common == "Import"
    assert compared.differing_settings == {"target": ("llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3")}
    text = str(compared)
    assert "other target: llvm -mcpu=x86-64-v2 | llvm -mcpu=x86-64-v3" in text
    assert "steps only in one of them: none" in text


def test_times_are_the_least_of_runs_in_turn_and_the_slowest_is_told(session: Any) -> None:
    """The comparison said neither, and a run of the same model told the least."""
    compared = wb.compare(session, session.without("FuseOps"), X, repeat=4)
    assert compared.runs == 4
    assert all(0 < least <= most for least, most in zip(compared.milliseconds, compared.slowest, strict=True))
    text = str(compared)
    assert "the least of 4 runs of both in turn" in text and text.count("slowest +") == 2
    html = compared._repr_mimebundle_()["text/html"]
    assert "the least of 4 runs in turn" in html and html.count("(slowest +") == 2


def test_what_differs_beside_the_target_is_still_told(session: Any) -> None:
    other = session.rerun(target="llvm -mcpu=x86-64-v3").without("FuseOps")
    compared = wb.compare(session, other, X, repeat=1)
    assert compared.differing_steps == ("FuseOps",) and compared.differing_settings
    compared = wb.compare(session, session.without("FuseOps"), X, repeat=1)
    assert compared.differing_steps == ("FuseOps",) and not compared.differing_settings


def test_another_level_is_told_beside_the_steps_it_takes_away(session: Any) -> None:
    x = relay.var("x", shape=(8,))
    function = relay.Function([x], relay.nn.relu(relay.exp(x)))
    with wb.transform.PassContext(opt_level=1):
        other = wb.open(function, target="llvm -mcpu=x86-64-v2")
    compared = wb.compare(session, other, X, repeat=1)
    assert "InferType" not in compared.differing_steps and "Codegen" not in compared.differing_steps
    assert list(compared.differing_settings) == ["opt_level"]


def test_kernels_of_other_names_have_the_same_code() -> None:
    """One clip of three edited gave the others further numbers: all three kernels were said to have other code."""
    weights = relay.const(np.ones((4, 4, 3, 3), np.float32))
    y = x = relay.var("x", shape=(1, 4, 8, 8))
    for a_max in (6.0, 6.0, 5.0):
        y = relay.clip(relay.nn.conv2d(y, weights, padding=(1, 1)), a_min=0.0, a_max=a_max)
    session = wb.open(relay.Function([x], y))
    edited = session.edit(relay=session.relay.script().replace("a_max=6.0", "a_max=3.0", 1))
    inputs = {"x": np.ones((1, 4, 8, 8), np.float32)}
    compared = wb.compare(session, edited, inputs, repeat=1)
    assert compared.kernels == (2, 3) and compared.differing_kernels == ("fused_nn_conv2d_clip",)
    assert wb.compare(session, session, inputs, repeat=1).differing_kernels == ()
