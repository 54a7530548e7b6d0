"""A text edit, and a schedule by hand before it that copies the edited block: all copies get it, or a conflict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.core.errors import WorkbenchError


def edited() -> tuple[wb.Session, str]:
    """D = A * 100 + 1: the 100 is an edit of the loops, below the schedules by hand."""
    a = te.placeholder((6,), name="A")
    b = te.compute((6,), lambda i: a[i] * wb.tir.const(3.0, "float32"), name="B")
    d = te.compute((6,), lambda i: b[i] + wb.tir.const(1.0, "float32"), name="D")
    session = wb.open([a, d])
    (name,) = session.kernels
    session = session.edit(schedule={name: session.schedule(name)})
    text = session.tir[name].script()
    return session.edit(tir={name: text.replace("T.float32(3.0)", "T.float32(100.0)")}), name


def partition(schedule: Any) -> None:
    schedule.loop_partition(schedule.get_loops("B")[0], factors=[2, None])


def partition_of_a_tile(schedule: Any) -> None:
    _, inner = schedule.split(schedule.get_loops("B")[0], factors=[2, 3])
    schedule.loop_partition(inner, factors=[2, None])


def partition_beside_another_block(schedule: Any) -> None:
    outer, inner = schedule.split(schedule.get_loops("B")[0], factors=[2, 3])
    schedule.reverse_compute_at("D", outer)
    schedule.loop_partition(inner, factors=[1, None])


@pytest.mark.parametrize("scheduled", [partition, partition_of_a_tile, partition_beside_another_block])
def test_an_edit_of_a_block_that_was_copied(scheduled: Callable[[Any], None]) -> None:
    """The last of the three computed 101 in one part and 4 in the other, without a report."""
    session, name = edited()
    schedule = session.schedule(name)
    scheduled(schedule)
    changed = session.edit(schedule={name: schedule})
    try:
        (found,) = changed.run({"A": np.ones(6, "float32")}).values()
    except WorkbenchError as error:
        assert error.code == "E-EDIT-REBASE"
    else:
        np.testing.assert_array_equal(found, np.full(6, 101, "float32"))


def test_without_copies_the_edit_is_carried() -> None:
    session, name = edited()
    schedule = session.schedule(name)
    schedule.split(schedule.get_loops("B")[0], factors=[2, 3])
    (found,) = session.edit(schedule={name: schedule}).run({"A": np.ones(6, "float32")}).values()
    np.testing.assert_array_equal(found, np.full(6, 101, "float32"))
