"""Every operator of the table on special values and without elements, natively and interpreted: see `special_matrix`.

What is written out below has no agreed value, with the reason; all else agrees with the operator's reference.
"""

from __future__ import annotations

import pytest

from tests.conformance.special_matrix import Case, cases, run, table

NAMES = sorted(table())
EVERY = 120
"""Each run of the tests looks at one case of so many; the nightly one at all."""


def without_value(case: Case) -> str:
    """Why a case has no value to agree on; empty for all others."""
    special = case.kind in ("NaN", "infinity", "minus infinity", "all")
    if special and case.operator.endswith("_transpose"):
        return "zeros between the elements of data are multiplied by weights that are not finite"
    if special and case.operator in ("image.grid_sample", "vision.roi_align", "nn.deformable_conv2d"):
        return "places that are not finite lie nowhere"
    if special and case.operator.startswith(("fast_", "nn.fast_")):
        return "the fast forms say how far they are right, for finite numbers"
    return ""


def judged(name: str) -> list[Case]:
    return [case for case in cases(name) if not without_value(case)]


def wrong(chosen: list[Case]) -> list[str]:
    return [f"{case.name} {case.attributes}: {problem}" for case in chosen for problem in run(case)]


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("part", range(2))
def test_sample(part: int) -> None:
    every = [case for name in NAMES for case in judged(name)]
    chosen = every[part * EVERY // 2 :: EVERY]
    assert len(chosen) > 30
    assert wrong(chosen) == []


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_all(name: str, record_property) -> None:
    record_property("cases", len(judged(name)))
    assert wrong(judged(name)) == []


def test_what_has_no_value_is_little() -> None:
    """No rule of exemption takes all of an operator."""
    assert all(judged(name) for name in NAMES if list(cases(name)))
