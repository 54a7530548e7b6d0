"""The ONNX operator cases, compiled and interpreted: none wrong, none crashed; what does not pass is in golden texts.

What compiles is compared with the claims of `frontend.onnx.coverage()`, both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import onnx
import pytest

from tests.conformance.claims import Probe, contradictions, probes, run_all, run_probe
from tests.conformance.onnx_nodes import Crew, Outcome, cases, run_cases
from workbench.frontend.onnx import coverage, support

GOLDEN_FOR = "1.23.2"
"""The onnx version whose cases the golden texts list."""
LEAST_SHARE = 0.85
PARTS = 12
"""Each takes every twelfth case."""
SAMPLE = 36
"""Every run has one case of so many."""


def listed(outcomes: Sequence[Outcome]) -> str:
    """Counts, and what is refused with its code, by name; after a look that nothing is wrong."""
    wrong = [item for item in outcomes if not (item.passed or item.status == "refused")]
    bad = [f"{item.name}: {item.status} {item.reason}" for item in wrong]
    assert not bad
    counts = Counter(outcome.status for outcome in outcomes)
    passed = sum(outcome.passed for outcome in outcomes)
    assert passed >= LEAST_SHARE * len(outcomes)
    head = f"{passed} of {len(outcomes)} pass, {counts['fixed']} of them with inputs fixed, "
    head += f"{counts['folded']} computed at import; refused:"
    refused = [f"{item.name}  {item.reason.split()[0]}" for item in outcomes if item.status == "refused"]
    return "\n".join([head, *sorted(refused)])


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_sample_compiled() -> None:
    chosen = cases()[2::SAMPLE]
    assert len(chosen) > 40
    listed(run_cases(chosen, compiled=True))


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(PARTS))
def test_compiled(part: int, golden) -> None:
    """Every case in native code; a claimed one passes, one that is not claimed does not."""
    chosen = cases()[part::PARTS]
    outcomes = run_cases(chosen, compiled=True)
    text = listed(outcomes)
    if onnx.__version__ == GOLDEN_FOR:
        golden(text)
        by_name = {outcome.name: outcome for outcome in outcomes}
        own = list(probes(chosen, older=False))
        assert contradictions([(probe, by_name[probe.name]) for probe in own]) == []


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_every_claim_once_at_older_versions() -> None:
    chosen: dict[tuple[str, int], Probe] = {}
    for probe in probes(cases()):
        covered = support.claimed(probe.operator, probe.opset, probe.types)
        if not probe.own and covered and not support.excepted(probe.operator, probe.name):
            chosen.setdefault((probe.operator, probe.since), probe)
    found = Crew(list(chosen.values()), 1, run=run_probe).run()
    assert [outcome for outcome in found if not (outcome.passed or outcome.status == "unjudged")] == []


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_every_case_at_every_version(record_property) -> None:
    """The claims are what can be claimed, no more and no less."""
    found = run_all(cases(), older=True)
    record_property("cases", len(found))
    assert contradictions(found) == []


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_interpreted(golden) -> None:
    text = listed(run_cases(cases(), compiled=False))
    if onnx.__version__ == GOLDEN_FOR:
        golden(text)


def test_claims_are_readable() -> None:
    rows = coverage()
    assert len({row.operator for row in rows}) > 150
    for row in rows:
        first, last = map(int, row.opsets.split("-"))
        assert 1 <= first <= last and row.types
    dropout = next(row for row in rows if row.operator == "Dropout")
    assert "random" in dropout.less
    assert support.claimed("Conv", 22, frozenset({"float32"}))
    assert not support.claimed("Conv", 22, frozenset({"string"}))
