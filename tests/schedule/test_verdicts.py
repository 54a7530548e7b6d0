"""Questions of legality have three answers, and say which tier gave them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from workbench.analysis import dependence
from workbench.analysis.isl_text import NotAffine
from workbench.analysis.verdict import Verdict, exactly, proven, refuted, undecided
from workbench.schedule import Schedule
from workbench.schedule.legality import blocks_under, independent, reorderable
from workbench.tir import nodes as t


class Found:
    is_certain = True

    def text(self) -> str:
        return "1 is not 2"


def not_asked() -> Any:
    raise NotAffine("i * j")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (lambda: None, (True, "")), (Found, (False, "1 is not 2")), (not_asked, (None, "i * j")),
    ],
)  # fmt: skip
def test_the_exact_tier_answers(question: Callable[[], Any], expected: tuple[bool | None, str]) -> None:
    verdict = exactly(question)
    assert (verdict.answer, verdict.why, verdict.tier) == (*expected, "isl")
    assert isinstance(verdict.witness, Found) is (verdict.answer is False)


@pytest.mark.parametrize(("answer", "witness"), [(True, Found()), (None, Found()), (False, None)])
def test_what_is_refuted_and_nothing_else_has_a_witness(answer: bool | None, witness: Found | None) -> None:
    with pytest.raises(ValueError, match="witness"):
        Verdict(answer, "isl", "", witness)


@pytest.mark.parametrize("verdict", [proven("form"), refuted("isl", Found()), undecided("isl", "i * j")])
def test_a_verdict_is_no_truth_value(verdict: Verdict[Found]) -> None:
    with pytest.raises(TypeError, match=r"verdict\.answer"):
        bool(verdict)


def asked_of(program: Callable[[], t.PrimFunc], block: str, at: int) -> Verdict[dependence.Conflict]:
    """Whether loop `at` around `block` may run at once."""
    sch = Schedule(program())
    site = sch.state.tree.blocks[block]
    return independent(sch.state, site.loops[at], blocks_under(sch.state, site.loops[at]), False, False)


def test_forms_prove() -> None:
    verdict = asked_of(p.matmul, "C", 0)
    assert (verdict.answer, verdict.tier) == (True, "form")


def test_sets_prove() -> None:
    verdict = asked_of(p.skewed, "wave", 1)
    assert (verdict.answer, verdict.tier) == (True, "isl")


def test_a_witness_refutes() -> None:
    verdict = asked_of(p.matmul, "C", 2)
    assert (verdict.answer, verdict.tier) == (False, "isl")
    assert verdict.witness is not None
    assert verdict.witness.distance() == {"i": 0, "j": 0, "k": 1}
    assert verdict.why == verdict.witness.text()


def test_what_is_not_affine_is_not_decided() -> None:
    verdict = asked_of(q.indirect, "scatter", 0)
    assert (verdict.answer, verdict.tier) == (None, "isl")
    assert "is written inside; not affine: " in verdict.why


def test_without_islpy_forms_have_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "available", lambda: False)
    verdict = asked_of(p.matmul, "C", 2)
    assert (verdict.answer, verdict.tier) == (None, "form")
    assert verdict.why.endswith("islpy is not installed")


def test_sums_that_are_reassociated_are_remarked_on() -> None:
    sch = Schedule(p.gram(4, 3))
    loops = next(site for site in sch.state.tree.leaves if len(site.loops) > 2).loops
    verdict = reorderable(loops, loops[::-1], blocks_under(sch.state, loops[0]))
    assert (verdict.answer, verdict.tier, verdict.remarks) == (True, "form", ())
    sch = Schedule(p.convolution())
    loops = max(sch.state.tree.leaves, key=lambda site: len(site.loops)).loops
    verdict = reorderable(loops, loops[::-1], blocks_under(sch.state, loops[0]))
    assert verdict.answer and verdict.remarks
    assert verdict.remarks[0].startswith("legal if reassociated")
