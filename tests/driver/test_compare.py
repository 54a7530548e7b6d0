"""Two sessions side by side: what of them is said to differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay, te
from workbench.driver.intermediates import outputs
from workbench.script import tir as T

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


# --- arrays for what a run writes ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def product() -> Any:
    """A product of matrices, and the same with its multiplication turned into an addition."""
    a, b = te.placeholder((8, 8), name="A"), te.placeholder((8, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    session = wb.open([a, b, c])
    text = session.tir["main"].script()
    assert " * " in text
    return session, session.edit(tir={"main": text.replace(" * ", " + ")})


@pytest.mark.parametrize("kind", [np.array, wb.nd.array], ids=["numpy", "NDArray"])
def test_an_array_given_for_the_output_is_not_compared_with_itself(product: Any, kind: Any) -> None:
    """Both runs wrote the one array that was given, and a wrong edit was said to make no difference."""
    inputs = {"A": np.full((8, 8), 0.5, np.float32), "B": np.full((8, 8), 0.25, np.float32)}
    without = wb.compare(*product, inputs, repeat=1).differences
    assert without == {"C": 5.0}
    kept = kind(np.full((8, 8), 9.0, np.float32))
    assert wb.compare(*product, {**inputs, "C": kept}, repeat=1).differences == without
    left = kept if kind is np.array else kept.numpy()
    assert (left == 9.0).all(), "a comparison wrote into the caller's array"


def test_what_a_program_reads_and_writes_is_the_same_for_every_run() -> None:
    """The second session began with what the first had made, and twelve runs were left in the caller's array."""

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):  # pyright: ignore
        for i in range(4):
            B[i] = B[i] + A[i]

    session = wb.open(main)
    text = session.tir["main"].script()
    assert "B[i] + A[i]" in text
    edited = session.edit(tir={"main": text.replace("B[i] + A[i]", "B[i] + A[i] * T.float32(3)")})
    given = {"A": np.ones(4, np.float32), "B": np.full(4, 7, np.float32)}
    assert wb.compare(session, edited, given, repeat=2).differences == {"B": 2.0}
    assert given["B"].tolist() == [7.0] * 4, "a comparison wrote into the caller's array"
    assert outputs(session, given, "Codegen")["B"].tolist() == [8.0] * 4
    assert outputs(session, given, "Codegen")["B"].tolist() == [8.0] * 4, "the second look begins with the first's end"
    assert given["B"].tolist() == [7.0] * 4, "a look at the outputs wrote into the caller's array"


def test_a_check_of_indices_leaves_the_caller_s_arrays_alone() -> None:
    """`check_numerics` runs the program once before, where indices are checked: into the array that was given."""

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):  # pyright: ignore
        for i in range(4):
            B[i] = B[i] + A[i]

    given = {"A": np.ones(4, np.float32), "B": np.full(4, 7, np.float32)}
    with wb.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        report = wb.open(main).check_numerics(given)
    assert report and given["B"].tolist() == [7.0] * 4
