"""What the schedule editor offers at a box is accepted with the arguments that it offers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import examples
from tests.schedule import programs
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.views.editor_boxes import referenced
from workbench.views.schedule import EditorModel

PROGRAMS: Final[tuple[Callable[[], Any], ...]] = (
    programs.matmul, programs.plain_matmul, programs.convolution, programs.packed_convolution, programs.pooling,
    programs.argmax, programs.softmax, programs.chain, programs.reshaped, programs.strided_reads, programs.stencil,
    programs.skewed, programs.fused_pair,
)  # fmt: skip


def refused(model: EditorModel) -> list[str]:
    """What of all that is offered is refused."""
    found: list[str] = []
    for box in referenced(model.schedule)[1]:
        view = model.reasons(box)
        for name, reason in view.reasons.items():
            if reason is None:
                try:
                    model.tried(name, box, view.arguments[name])
                except WorkbenchError as error:
                    found.append(f"{name} {dict(view.arguments[name])} at {box}: {error.code} {error.message}")
    return found


@pytest.mark.parametrize("kind", ["unroll", "parallel", "vectorize"])
def test_reorder_is_offered_for_the_loops_that_change_places(kind: str) -> None:
    """A loop of another kind in the nest may not: the form held it, and was refused as it stood."""
    schedule = Schedule(programs.plain_matmul())
    getattr(schedule, kind)(schedule.get_loops("C")[0])
    model = EditorModel(schedule)
    for box in ("l:C:1", "l:C:2"):
        view = model.reasons(box)
        assert view.reasons["reorder"] is None
        assert view.arguments["reorder"] == {"ordered_loops": ["l:C:1", "l:C:2"]}
    assert not refused(model)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_offered_is_accepted(seed: int) -> None:
    draw = random.Random(seed)
    schedule = Schedule(draw.choice(PROGRAMS)())
    model = EditorModel(schedule)
    for _ in range(draw.randint(1, 5)):
        box = draw.choice(list(referenced(model.schedule)[1]))
        view = model.reasons(box)
        offered = [name for name, reason in view.reasons.items() if reason is None]
        if not offered:
            continue
        name = draw.choice(offered)
        try:
            model.apply(name, box, view.arguments[name])
        except WorkbenchError as error:
            raise AssertionError(f"{name} {view.arguments[name]} at {box}\n{model.schedule.code()}") from error
    assert not refused(model), model.schedule.code()
