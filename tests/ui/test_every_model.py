"""The screen of every model answers whatever a page may ask of it."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.conformance.models import ModelCase, model_cases
from workbench.ui.protocol import Reply
from workbench.ui.recording import record
from workbench.ui.workbench import Workbench

ENOUGH = 1_000_000
"""Bytes of answers: graphs, steps, rewrites, and the layers of one kernel at least."""
EVERY_RUN = ("magika_standard_v3_3",)


class Noting(Workbench):
    """Notes what was refused."""

    def ask(self, op: str, /, **args: Any) -> Reply:
        reply = super().ask(op, **args)
        if not reply.content["ok"]:
            self.refused.append((op, args, reply.content["error"]))
        return reply


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.label, marks=[] if case.name in EVERY_RUN else [pytest.mark.nightly])
        for case in model_cases()
        if not case.number
    ],
)
def test_a_screen_refuses_no_question_of_its_own(case: ModelCase) -> None:
    if not case.here:
        pytest.skip(f"the model {case.name}.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    model, inputs = case.load()
    screen = Noting(wb.open(model, shape={key: value.shape for key, value in inputs.items()}))
    screen.refused = []
    recording = record(screen, ENOUGH)
    assert screen.refused == []
    assert len(recording.replies) > 50
