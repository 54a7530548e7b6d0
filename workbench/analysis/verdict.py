"""What an analysis answers to a question of legality: proven, refuted with a witness, or not decided.

    verdict = exactly(lambda: dependence.carried(loop, sites))
    verdict.answer       # True, False, or None where it is not decided
    verdict.tier         # "form": by the form of the accesses; "isl": exactly, by sets of integers
    verdict.why          # in words: what the witness shows, or what stands in the way of an answer

Invariant: True is proof, and False has a witness.  Who asks whether something is legal passes only what is proven.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from .isl_text import NotAffine

Tier = Literal["form", "isl"]
"""Who decided, or was asked last: the quick look at the form of the accesses, or exact sets."""


class Witness(Protocol):
    """An example that stands against the claim, and says so."""

    @property
    def is_certain(self) -> bool:
        """Whether it is one: not where a condition that isl cannot read may rule it out."""
        ...

    def text(self) -> str: ...


W = TypeVar("W", bound=Witness)


@dataclass(frozen=True)
class Verdict(Generic[W]):
    """The answer to one question; made by `proven`, `refuted`, `undecided` and `exactly`."""

    answer: bool | None
    tier: Tier
    why: str = ""
    witness: W | None = None
    remarks: tuple[str, ...] = ()
    """What changes all the same, where that is no matter of legality: sums that are reassociated."""

    def __post_init__(self) -> None:
        if (self.answer is False) != (self.witness is not None):
            raise ValueError("what is refuted has a witness, and nothing else has one")

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three answers: ask for verdict.answer")


def proven(tier: Tier, remarks: tuple[str, ...] = ()) -> Verdict[Any]:
    return Verdict(True, tier, remarks=remarks)


def refuted(tier: Tier, witness: W) -> Verdict[W]:
    return Verdict(False, tier, witness.text(), witness)


def undecided(tier: Tier, why: str) -> Verdict[Any]:
    return Verdict(None, tier, why)


def exactly(question: Callable[[], W | None]) -> Verdict[W]:
    """The verdict of the exact tier on a claim against which `question` looks for a witness.

    None is proof; where `question` raises `NotAffine`, nothing is decided.
    """
    try:
        witness = question()
    except NotAffine as problem:
        return undecided("isl", str(problem))
    if witness is not None and not witness.is_certain:
        return undecided("isl", f"{witness.text()}, unless a condition that is not affine prevents it")
    return proven("isl") if witness is None else refuted("isl", witness)
