"""Predictions: nothing is computed, shown or raised before there is a guess; a guess reveals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.teach.test_tasks import is_static
from workbench import teach
from workbench.core.errors import WorkbenchError


class Truth:
    """An answer that knows how often it was asked for."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.asked = 0

    def __call__(self) -> Any:
        self.asked += 1
        return self.value


@pytest.mark.parametrize("none", [None, ...])
def test_without_a_guess_the_card_asks_for_one_and_nothing_is_computed(none: Any) -> None:
    truth = Truth(3072)
    prediction = teach.predict("How many?", truth, guess=none)
    assert prediction.reveal() is prediction and prediction.guess(none).reveal() is prediction
    assert not truth.asked and not prediction.revealed and not prediction.right and prediction.found is None
    for shown in (repr(prediction), prediction._repr_html_()):
        assert "guess first" in shown and "guess=..." in shown and "3072" not in shown
    is_static(prediction._repr_html_())


def test_what_would_tell_the_answer_is_covered_until_there_is_a_guess() -> None:
    shown = Truth("192 cold, 2880 others")
    prediction = teach.predict("How <b>many</b>?", Truth(3072), guess=...).reveal()
    covered = prediction.then(shown)
    assert not shown.asked and "How <b>many</b>?" in repr(covered) and "2880" not in repr(covered)
    is_static(covered._repr_html_())
    assert "<b>" not in covered._repr_html_()
    prediction.guess(1)
    assert isinstance(prediction.then(shown), teach.Covered), "a guess alone has not been answered yet"
    assert prediction.reveal().then(shown) == shown.value and shown.asked == 1


def test_a_prediction_stands_before_the_truth_is_computed(tmp_path: Path) -> None:
    truth = Truth(120)
    record = tmp_path / "answers" / "predictions.jsonl"
    prediction = teach.predict("How many?", truth, record=record)
    prediction.reveal()
    assert not record.exists()
    prediction.guess(100).guess(60)
    assert "predicted: 60" in repr(prediction) and "120" not in repr(prediction) and not truth.asked
    assert prediction.reveal().reveal().found == 120 and truth.asked == 1
    assert not prediction.right and prediction.comment == "more than predicted, by a factor of 2"
    with pytest.raises(WorkbenchError) as caught:
        prediction.guess(120)
    assert caught.value.code == "E-TEACH-PREDICT"
    is_static(prediction._repr_html_())
    (line,) = record.read_text().splitlines()
    assert json.loads(line) == {"question": "How many?", "predicted": 60, "found": 120, "right": False}


def test_zero_and_nothing_are_guesses() -> None:
    """Only None and the dots stand for a guess that is still to come."""
    for value in (0, "", [], False):
        assert teach.predict("x", Truth(value), guess=value).reveal().right


def test_predictions_of_numbers_have_a_tolerance_and_others_are_equal() -> None:
    assert teach.predict("x", lambda: 100, guess=95, tolerance=0.1).reveal().right
    assert not teach.predict("x", lambda: 100, guess=80, tolerance=0.1).reveal().right
    assert teach.predict("x", lambda: ("i", "j"), guess=["i", "j"]).reveal().right
    assert teach.predict("x", lambda: ["i"], guess=["j"]).reveal().comment == "not as predicted"
