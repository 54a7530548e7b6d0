"""Questions with known answers tell mutants of what legality rests on: a few in every run, more at night."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.nightly import tonight
from tests.property.known_answers import Question, prepared, shown
from tests.property.made_mutants import EQUIVALENT, check, sample

SHARE = 0.04
SHOWN = {
    "bodies": (54, 1201), "boxes": (420, 10766), "statements": (47, 1388), "forms": (340, 8569),
    "opaque forms": (152, 4366), "scopes": (162, 4111), "loops": (1, 28), "conditions": (99, 2787),
    "bindings": (112, 2843), "nests": (42, 1039), "written": (20, 375), "lines": (4, 114),
    "random nests": (87, 2082), "schedules": (31, 1833), "programs": (53, 2344), "sums": (57, 1065),
    "stores": (3, 79),
}
"""How many answers say something, by sweep: of a share of the questions, and of all."""
NOTICED = (
    "accesses._is_same: one.buffer is other.buffer  ->  one.buffer is not other.buffer",
    "scope.Scope._unit_ends: atom.inner is not None  ->  atom.inner is None",
)
"""Those of every run."""
NOT_YET: dict[str, str] = {
    "bindings._Bound.covers: low is not None and high is not None  ->  low is not None":
        "a domain that begins where it is known, and ends where that changes",
    "bindings.run_box: any  ->  all": "a block whose conditions end an iterator twice",
    "bindings.writes_all: any  ->  all": "a sum under a condition in its body, with an init",
    "dataflow.Dataflow._in_earlier_iterations: 1  ->  0": "a loop of n iterations, of which the earlier ones write",
    "dataflow.Dataflow._tile: any  ->  all #2": "tiles by a digit of two loops",
    "dataflow.Dataflow._touched: 0  ->  -1": "a read whose index has no end below",
    "digits.Digits._made: read is not None and run is not None and self._take_all_combinations(read[0])  ->  "
    "read is not None and run is not None": "digits of a sum of digits that depend on each other",
    "dataflow.Dataflow._in_earlier_iterations: not runs or not self._is_under(write, own, given)  ->  "
    "not self._is_under(write, own, given)": "earlier iterations of a loop that runs at once: such programs race",
    "digits.run_of: low is None or high is None or scope.moves(low, own) or scope.moves(high, own)  ->  "
    "low is None or high is None or scope.moves(low, own)": "a loop whose extent alone moves with another one",
    "filled_boxes._runs: goes_with_it or atom in write.reduced or scope.has_iterations(atom)  ->  "
    "goes_with_it or scope.has_iterations(atom)": "a sum whose loops may not run, under no condition",
    "filled_boxes._Filling._runs: own is not self.own or digits.heeded == set(self.most)  ->  "
    "digits.heeded == set(self.most)": "the ends of loops beside a sum that a condition ends",
    "scope.Scope.limits: any  ->  all": "data that wrap on one side of a condition, with a reader under another one",
}  # fmt: skip
"""Mutants that change an answer, and that no question tells yet: which one would."""
A_NIGHT = 15
"""Mutants in a part of the nightly sweep."""


@cache
def _questions(share: float) -> list[Question]:
    return prepared(share)


def test_no_answer_is_wrong_and_none_is_weaker() -> None:
    found = shown(_questions(SHARE))
    assert {name: count for name, count in found.items() if count < SHOWN[name][0]} == {}, found


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_no_answer_of_all_is_wrong_and_none_is_weaker() -> None:
    found = shown(_questions(1.0))
    assert {name: count for name, count in found.items() if count < SHOWN[name][1]} == {}, found


def test_mutants_that_change_no_answer_are_in_the_sample() -> None:
    """A function that is rewritten takes its mutants along: their reasons go with them."""
    names = [mutant.name for mutant in sample()]
    assert len(set(names)) == len(names)
    assert set(EQUIVALENT) <= set(names)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_few_mutants_are_noticed() -> None:
    numbers = [number for number, mutant in enumerate(sample()) if mutant.name in NOTICED]
    assert len(numbers) == len(NOTICED)
    for number, outcome in check(numbers, _questions(SHARE), SHARE):
        assert outcome.is_noticed, f"{sample()[number].name}: {outcome}"


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("begin", tonight(range(0, len(sample()), A_NIGHT)))
def test_mutants_are_noticed(begin: int, record_property: Any) -> None:
    wanted = [n for n in range(begin, begin + A_NIGHT) if n < len(sample()) and sample()[n].name not in EQUIVALENT]
    outcomes = dict(check(wanted, _questions(1.0)))
    missed = [sample()[number].name for number, outcome in outcomes.items() if not outcome.is_noticed]
    record_property("mutants noticed", len(outcomes) - len(missed))
    record_property("of", len(outcomes))
    assert [name for name in missed if name not in NOT_YET] == []
