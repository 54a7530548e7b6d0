"""`check_numerics` of kernels whose algorithm rounds more than the sum that their operator means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.topi.winograd import growth

TILE, TAPS, CHANNELS = 4, 3, 16


@pytest.fixture(scope="module")
def session() -> Any:
    """A convolution by tiles of 4 x 4 outputs."""
    weight = np.random.default_rng(1).standard_normal((CHANNELS, CHANNELS, TAPS, TAPS)).astype("float32")
    x = relay.var("x", shape=(1, CHANNELS, 24, 24))
    own = relay.nn.contrib_conv2d_winograd_weight_transform(relay.const(weight), tile_size=TILE)
    made = relay.nn.contrib_conv2d_winograd_without_weight_transform(x, own, tile_size=TILE, padding=1)
    return wb.open(relay.Function([x], made))


def spiked() -> dict[str, np.ndarray]:
    """Small data, and a few numbers that are large: their roundings reach results of other windows of their tiles."""
    random = np.random.default_rng(0)
    x = random.standard_normal((1, CHANNELS, 24, 24)).astype("float32") * np.float32(1e-3)
    for _ in range(6):
        x[0, random.integers(CHANNELS), random.integers(24), random.integers(24)] = random.uniform(300, 900)
    return {"x": x}


def test_roundings_of_tiles_are_no_fault(session: Any) -> None:
    report = session.check_numerics(spiked())
    assert report.first_wrong is None, str(report)
    bound = growth(TILE, TAPS)
    told = f"up to {bound:.0f} times those of the sums as written are allowed"
    assert told in str(report) and "conv2d_winograd_without_weight_transform" in str(report)


def test_the_direct_sum_gets_no_such_allowance() -> None:
    x = relay.var("x", shape=(1, CHANNELS, 8, 8))
    weight = relay.const(np.ones((CHANNELS, CHANNELS, TAPS, TAPS), "float32"))
    session = wb.open(relay.Function([x], relay.nn.conv2d(x, weight, padding=1)))
    report = session.check_numerics({"x": np.ones((1, CHANNELS, 8, 8), "float32")})
    assert report.first_wrong is None and "those of the sums as written" not in str(report)


@pytest.mark.parametrize("part", [1e-2, 3e-3])
def test_a_fault_beyond_the_roundings_is_still_one(session: Any, part: float) -> None:
    (kernel,) = [name for name in session.kernels if "without_weight_transform" in name]
    text = session.tir[kernel].script()
    lines = text.splitlines()
    place = max(at for at, line in enumerate(lines) if " = " in line and "[" in line.split(" = ")[0])
    left, right = lines[place].split(" = ", 1)
    lines[place] = f"{left} = ({right}) * T.float32({1 + part!r})"
    edited = session.edit(tir={kernel: "\n".join(lines)})
    report = edited.check_numerics({"x": np.random.default_rng(0).standard_normal((1, CHANNELS, 24, 24)).astype("f")})
    assert report.first_wrong == "Edit", str(report)
