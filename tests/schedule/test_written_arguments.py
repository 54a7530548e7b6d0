"""Arguments of primitives as people write them: buffers by name, maps of any number of indices, constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule.harness import check_replay
from tests.schedule.programs import matmul
from workbench.arith.build import const
from workbench.schedule import Schedule, ScheduleError

WRITTEN: dict[str, tuple[Callable[[Schedule], Any], Callable[[Schedule], Any]]] = {
    "a buffer by name": (lambda s: s.cache_read("C", "B", "local"), lambda s: s.cache_read("C", 1, "local")),
    "a buffer itself": (
        lambda s: s.cache_read("C", s.func.params[1], "local"), lambda s: s.cache_read("C", 1, "local"),
    ),
    "a written buffer by name": (lambda s: s.cache_write("C", "C", "local"), lambda s: s.cache_write("C", 0, "local")),
    "a scope by name": (lambda s: s.set_scope("C", "C", "shared"), lambda s: s.set_scope("C", 0, "shared")),
    "rows by name": (lambda s: s.storage_align("C", "C", -2, 128, 96), lambda s: s.storage_align("C", 0, 0, 128, 96)),
    "a map of any number of indices": (
        lambda s: s.transform_layout("C", ("write", 0), lambda *i: (i[1], i[0])),
        lambda s: s.transform_layout("C", ("write", 0), lambda i, j: (j, i)),
    ),
    "a map of the first and the rest": (
        lambda s: s.transform_block_layout("D", lambda n, *rest: (*rest, n)),
        lambda s: s.transform_block_layout("D", lambda i, j: (j, i)),
    ),
    "a factor that is a constant of a program": (
        lambda s: s.split(s.get_loops("C")[0], [None, const(2)]), lambda s: s.split(s.get_loops("C")[0], [None, 2]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", WRITTEN)
def test_an_argument_may_be_written_in_several_ways(form: str) -> None:
    """The same program, by a trace that comes back."""
    one, other = Schedule(matmul()), Schedule(matmul())
    for sch, steps in zip((one, other), WRITTEN[form], strict=True):
        steps(sch)
    assert one.script() == other.script()
    check_replay(matmul(), one)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda s: s.cache_read("C", "Z", "local"),
        lambda s: s.cache_write("C", "A", "local"),
        lambda s: s.set_scope("C", "D", "local"),
    ],
)
def test_a_buffer_that_the_block_does_not_touch_so_is_refused_by_name(attempt: Callable[[Schedule], Any]) -> None:
    with pytest.raises(ScheduleError) as caught:
        attempt(Schedule(matmul()))
    assert caught.value.code == "E-SCHEDULE-BUFFER" and caught.value.fix
