"""The random schedules find planted bugs: a sample in every run, all of them in the nightly one."""

from __future__ import annotations

import pytest

from tests.property.mutants import BY_NAME, MUTANTS, hunt, stands

FEWEST = 40
SAMPLE = (
    "split-guard-off-by-one", "decompose-init-after", "less-or-equal-is-less",
)  # fmt: skip
NOT_YET: dict[str, str] = {
}
"""Planted bugs that the fuzz does not find within a minute, and why."""


def test_the_planted_bugs_are_many_and_stand() -> None:
    """A line that is rewritten takes its bug along: plant another.  A few may be missing while that is done."""
    assert len(BY_NAME) == len(MUTANTS)
    gone = [mutant.name for mutant in MUTANTS if not stands(mutant)]
    assert len(MUTANTS) - len(gone) >= max(FEWEST, 0.8 * len(MUTANTS)), f"gone: {gone}"
    assert {mutant.kind for mutant in MUTANTS} == {"primitive", "legality", "bounds", "simplifier"}
    assert len(NOT_YET) <= 0.05 * len(MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SAMPLE if stands(BY_NAME[name])])
def test_a_planted_bug_is_found(name: str) -> None:
    outcome = hunt(BY_NAME[name])
    assert outcome.found, str(outcome)


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [mutant.name for mutant in MUTANTS if stands(mutant) and mutant.name not in NOT_YET])
def test_every_planted_bug_is_found(name: str) -> None:
    outcome = hunt(BY_NAME[name])
    assert outcome.found, str(outcome)
