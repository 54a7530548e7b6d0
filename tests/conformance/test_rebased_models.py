"""Two operators of a real model changed by hand, one after the other, in graph and fused graph: both stay."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import workbench as wb
from tests.conformance.models import ModelCase, model_cases

EVERY_RUN = ("magika_standard_v3_3",)
OTHERS = {
    "nn.relu": "exp", "sigmoid": "exp", "tanh": "exp", "exp": "tanh", "sqrt": "exp", "rsqrt": "exp", "erf": "exp",
    "add": "subtract", "subtract": "add", "multiply": "subtract", "divide": "multiply", "maximum": "minimum",
}  # fmt: skip
CALL = re.compile(rf"R\.({'|'.join(map(re.escape, OTHERS))})\(")
PAIRS = 2


def calls(text: str) -> list[re.Match[str]]:
    return list(CALL.finditer(text))


def with_others(text: str, *numbers: int) -> str:
    """The text with the calls of these numbers calling other operators."""
    found = calls(text)
    for number in sorted(numbers, reverse=True):
        call = found[number]
        text = f"{text[: call.start()]}R.{OTHERS[call[1]]}({text[call.end() :]}"
    return text


def edited(session: Any, label: str) -> str:
    assert session.step(label).error is None, f"{session.step(label).error}"
    return session[label].script()


def opened(case: ModelCase) -> Any:
    if not case.here:
        pytest.skip(f"the model {case.name}.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    model, inputs = case.load()
    return wb.open(model, shape={key: value.shape for key, value in inputs.items()})


CASES = [
    pytest.param(case, id=case.label, marks=[] if case.name in EVERY_RUN else [pytest.mark.nightly])
    for case in model_cases()
    if not case.number
]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES)
def test_two_operators_changed_one_after_the_other(case: ModelCase) -> None:
    session = opened(case)
    text = session["Import"].script()
    rng = random.Random(0)
    for _ in range(PAIRS):
        one, other = rng.sample(range(len(calls(text))), 2)
        both = edited(session["Import"].edit(with_others(text, one, other)), "Edit")
        twice = session["Import"].edit(with_others(text, one))["Import"].edit(with_others(text, other))
        assert edited(twice, "Edit#2") == both, f"calls {one} and {other}"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES)
def test_an_operator_changed_in_the_fused_graph_and_another_above(case: ModelCase) -> None:
    """Where the change above leaves the kernels what they are, its text may be changed in the same way."""
    session = opened(case)
    text, fused = session["Import"].script(), session["FuseOps"].script()
    rng = random.Random(0)
    compared = 0
    for _ in range(2 * PAIRS):
        inner, above = rng.randrange(len(calls(fused))), rng.randrange(len(calls(text)))
        changed = session["Import"].edit(with_others(text, above))
        now = changed["FuseOps"].script()
        names = [[call[1] for call in calls(version)] for version in (fused, now)]
        if len(names[0]) != len(names[1]) or sum(map(str.__ne__, *names)) > 1 or names[0][inner] != names[1][inner]:
            continue
        wanted = edited(changed["FuseOps"].edit(with_others(now, inner)), "Edit#2")
        twice = session["FuseOps"].edit(with_others(fused, inner))["Import"].edit(with_others(text, above))
        assert edited(twice, "Edit#2") == wanted, f"call {inner} of the fused graph, {above} of the graph"
        compared += 1
    assert compared
