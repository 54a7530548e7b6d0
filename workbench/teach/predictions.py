"""Predict, then reveal: one learns most from a number that one had guessed otherwise.

    rows = teach.predict("How many elements of A does one row of C need?", truth=lambda: 20, guess=...)
    rows.reveal()                        # a card that asks for the guess; with guess=400: 20; predicted was 400
    rows.then(lambda: product.show())    # what would tell the answer: covered until the guess stands

Invariant: the truth is not computed before a prediction stands, and the first prediction stays; works without a screen.
A lesson that is run from its first cell to its last holds no guess (`...` is none), raises nothing and tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import WorkbenchError
from . import card
from .answers import plain


class Prediction:
    """A question, what was predicted, and, once revealed, what is so."""

    def __init__(
        self, question: str, truth: Callable[[], Any], tolerance: float = 0.0, record: str | Path | None = None
    ) -> None:
        self.question = question
        self._truth = truth
        self.tolerance = tolerance
        self.record = Path(record) if record is not None else None
        self.guesses: list[Any] = []
        self.revealed = False
        self.found: Any = None

    def guess(self, value: Any) -> Prediction:
        """Predict.  Only what is said before the reveal counts; the last word then is the prediction."""
        if self.revealed:
            raise WorkbenchError(
                "E-TEACH-PREDICT", "the answer is known already", found=repr(self.found), fix="ask the next question"
            )
        if not _is_none(value):
            self.guesses = [plain(value)]
        return self

    def reveal(self) -> Prediction:
        """Compute the truth, if there is a prediction; else the card says: guess first."""
        if self.guesses and not self.revealed:
            self.found = plain(self._truth())
            self.revealed = True
            self._keep()
        return self

    def then(self, show: Callable[[], Any]) -> Any:
        """What `show()` gives, once the truth is revealed; before, a card that stands in its place."""
        return show() if self.revealed else Covered(self)

    def _keep(self) -> None:
        """Append to the record: one JSON object a line."""
        if self.record is not None:
            row = {"question": self.question, "predicted": self.guesses[0], "found": self.found, "right": self.right}
            self.record.parent.mkdir(parents=True, exist_ok=True)
            with self.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, default=str) + "\n")

    @property
    def right(self) -> bool:
        if not self.revealed:
            return False
        one, other = self.guesses[0], self.found
        if _is_number(one) and _is_number(other):
            return abs(one - other) <= self.tolerance * max(1.0, abs(other))
        return one == other

    @property
    def comment(self) -> str:
        """How far off a number was."""
        if self.right:
            return "as predicted"
        one, other = self.guesses[0], self.found
        if _is_number(one) and _is_number(other) and one and other and one * other > 0:
            ratio = max(one / other, other / one)
            return f"{'less' if one > other else 'more'} than predicted, by a factor of {ratio:.3g}"
        return "not as predicted"

    def __repr__(self) -> str:
        return card.prediction_text(self)

    def _repr_html_(self) -> str:
        return card.prediction_html(self)


@dataclass(frozen=True)
class Covered:
    """Stands where something would tell the answer of a question that waits for its guess."""

    prediction: Prediction

    def __repr__(self) -> str:
        return card.covered_text(self.prediction)

    def _repr_html_(self) -> str:
        return card.covered_html(self.prediction)


def _is_none(value: Any) -> bool:
    """Whether a guess is still to be typed: None, or the dots that notebooks hold in its place."""
    return value is None or value is ...


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def predict(
    question: str,
    truth: Callable[[], Any],
    guess: Any = None,
    tolerance: float = 0.0,
    record: str | Path | None = None,
) -> Prediction:
    """A question whose answer `truth()` computes; `guess` is None or `...` as long as there is none.

    `tolerance` is relative, `record` a file that predictions go to.
    """
    return Prediction(question, truth, tolerance, record).guess(guess)
