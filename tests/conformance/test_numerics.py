"""`check_numerics` is green on whole models; the small ones always, the rest nightly."""

from __future__ import annotations

import pytest

from tests.conformance.numerics import MODELS, SMALL, check


@pytest.mark.parametrize("name", SMALL)
def test_every_step_of_a_small_model_is_right(name: str) -> None:
    row = check(name)
    if row.verdict == "the file is not here":
        pytest.skip(f"{name}: {row.verdict}")
    assert row.verdict == "right", f"{row}\n{row.text}"


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name in MODELS if name not in SMALL])
def test_every_step_of_a_model_is_right(name: str) -> None:
    row = check(name)
    if row.verdict == "the file is not here":
        pytest.skip(f"{name}: {row.verdict}")
    assert row.verdict == "right", f"{row}\n{row.text}"
