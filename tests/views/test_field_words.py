"""The editor's form of split: factors that fit the loop, and refusals in the words of the field."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.schedule.schedule import Schedule
from workbench.views.schedule import EditorModel


def model(extent: int) -> tuple[EditorModel, str]:
    a = te.placeholder((extent, 5), name="A")
    b = te.compute((extent, 5), lambda i, j: a[i, j] * 2.0, name="B")
    made = EditorModel(Schedule(te.create_prim_func([a, b])))
    pending = list(made.view().tree)
    while pending[0].kind != "loop":
        pending[:1] = pending[0].children
    return made, pending[0].id


@pytest.mark.parametrize(
    ("extent", "factors"),
    [(2, [None, 2]), (3, [None, 3]), (4, [None, 2]), (6, [None, 3]), (10, [None, 5]), (14, [None, 7]),
     (64, [None, 4]), (49, [None, 7]), (13, [None, 4])],
)  # fmt: skip
def test_a_split_that_is_offered_fits_the_loop(extent: int, factors: list[Any]) -> None:
    """Of a loop of two iterations `auto, 4` was offered, and made two of the four."""
    made, box = model(extent)
    assert made.reasons(box).arguments["split"]["factors"] == factors
    made.apply("split", box, {"factors": factors})


@pytest.mark.parametrize(
    ("factors", "said", "unsaid"),
    [
        ([None, None], ("at most one of them auto", "found     auto, auto", "for example auto, 8"), "None"),
        ([2, 2], ("factors 2, 2 make 4", "use auto, 2"), "None"),
        (["x", 2], ("change what the field says",), "docstring"),
    ],
)
def test_a_refusal_speaks_of_what_the_field_says(factors: list[Any], said: tuple[str, ...], unsaid: str) -> None:
    made, box = model(64)
    with pytest.raises(WorkbenchError) as caught:
        made.apply("split", box, {"factors": factors})
    text = str(caught.value)
    assert all(part in text for part in said) and unsaid not in text


def test_a_cell_is_refused_in_the_words_of_python() -> None:
    made, _ = model(64)
    schedule = made.schedule
    with pytest.raises(WorkbenchError, match="for example \\[None, 8\\]"):
        schedule.split(schedule.get_loops("B")[0], [None, None])
