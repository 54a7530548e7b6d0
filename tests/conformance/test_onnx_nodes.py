"""The ONNX operator cases: none wrong, none crashed; those that do not pass are listed in a golden text."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest

from tests.conformance.onnx_nodes import cases, run_case

GOLDEN_FOR = "1.23.2"
"""The onnx version whose cases the golden text lists."""
LEAST_SHARE = 0.85


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_operator_cases(golden) -> None:
    outcomes = [run_case(case) for case in cases()]
    counts = Counter(outcome.status for outcome in outcomes)
    passed = sum(outcome.passed for outcome in outcomes)
    bad = [f"{outcome.name}: {outcome.reason}" for outcome in outcomes if outcome.status in ("wrong", "crashed")]
    assert not bad
    assert passed >= LEAST_SHARE * len(outcomes)
    if onnx.__version__ == GOLDEN_FOR:
        refused = [f"{item.name}  {item.reason.split()[0]}" for item in outcomes if item.status == "refused"]
        head = f"{passed} of {len(outcomes)} pass, "
        head += f"{counts['fixed']} of them with inputs fixed, {counts['folded']} computed at import; refused:"
        golden("\n".join([head, *sorted(refused)]))
