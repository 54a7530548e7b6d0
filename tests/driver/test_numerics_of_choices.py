"""Where an implementation is wrong: the step Lower is named, on small problems that it computes, and so is its test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import EIGHT_LANES, INPUT
from tests.driver.test_numerics import outcome
from workbench import relay, te
from workbench.driver.numerics.entry import meaning_of
from workbench.driver.numerics.shrink import small_kernels
from workbench.driver.session import Session
from workbench.lower.implementations import conv2d
from workbench.relay.transform import PassContext


def opened(taps: int, size: int = 28, target: str = EIGHT_LANES) -> Session:
    x = relay.var(INPUT, shape=(1, 16, size, size))
    weight = np.random.default_rng(0).standard_normal((32, 16, taps, taps)).astype(np.float32)
    made = relay.nn.relu(relay.nn.conv2d(x, relay.const(weight), padding=taps // 2))
    with PassContext(opt_level=2):
        return wb.open(relay.Function([x], made), target=target)


def inputs(size: int = 28) -> dict[str, np.ndarray]:
    return {INPUT: np.random.default_rng(1).standard_normal((1, 16, size, size)).astype(np.float32)}


def twice(compute: Any) -> Any:
    """A wrong implementation."""

    def wrong(*arguments: Any, **named: Any) -> Any:
        made = compute(*arguments, **named)
        return te.compute(made.shape, lambda *at: made(*at) * 2.0, name="twice", tag="injective")

    return wrong


@pytest.mark.parametrize("target", [EIGHT_LANES, "llvm -mcpu=znver5"])
@pytest.mark.parametrize(
    ("taps", "choice"), [(1, ()), (3, ()), (3, ("conv2d.blocks", {"columns": 7})), (3, ("conv2d.plain", {}))]
)
def test_smaller_problems_are_computed_as_the_whole_one(taps: int, choice: Any, target: str) -> None:
    session = opened(taps, target=target)
    (name,) = session.kernels
    if choice:
        session = session.choose(name, choice[0], **choice[1])
    lowered = session.step("Lower").stage.lowered
    assert lowered is not None
    taken, meaning = lowered.kernels[0].choice, meaning_of(lowered.calls[0])
    arrays = [np.zeros(one.checked_type.concrete_shape, np.float32) for one in meaning.function.params]
    small = list(small_kernels(session, name, meaning, arrays))
    assert len(small) > 2 and sum(array.size for array in small[0].inputs) < sum(array.size for array in arrays) / 4
    for one in small:
        choice_there = one.session.step(1).stage.kernels(session.target)[one.kernel].choice
        assert choice_there is not None and taken is not None
        assert choice_there.implementation is taken.implementation, [array.shape for array in one.inputs]


def test_a_wrong_implementation_is_found_and_its_test_fails_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(conv2d, "conv2d_pixels", twice(conv2d.conv2d_pixels))
        session = opened(1)
        assert str(session.candidates(session.kernels[0]).taken).startswith("conv2d.pixels")
        report = session.check_numerics(inputs())
        assert report.first_wrong == "Lower"
        path = report.save_test(tmp_path / "test_it.py")
        assert "conv2d.pixels" in path.read_text() and str(EIGHT_LANES) in path.read_text()
        assert outcome(path)
    assert outcome(path) == ""
