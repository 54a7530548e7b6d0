"""Memory of compiling the largest model: 548 MB of weights, in processes of its own, and right numbers at the end."""

from __future__ import annotations

import sys

import pytest

from benchmarks.memory import compile_peak


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the high-water mark from /proc")
def test_vgg19_compiles_within_two_and_a_half_times_its_weights() -> None:
    found = compile_peak("vgg19")
    print({key: f"{value / 2**20:.0f} MB" for key, value in found.items() if key not in ("ratio", "used")})
    assert found["weights"] > 500 << 20
    assert found["used"] <= 1, f"the output is wrong: {found['used']:.2f} of the tolerance"
    assert found["ratio"] <= 2.5, f"peak memory is {found['ratio']:.2f} times the weights"
