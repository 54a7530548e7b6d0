"""te stages that are arguments of the function and read by others: where each call leads (golden), and the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from workbench import te
from workbench.driver.build import build
from workbench.schedule.stages import StageError
from workbench.tir.script import script

Calls = Callable[[te.Schedule, te.Tensor, te.Tensor], Any]


def _program(rows: int, margin: int, declared: bool) -> tuple[te.Schedule, te.Tensor, te.Tensor, te.Tensor]:
    """B = A + 1 (4 x 6) and C (`rows` x 6), which sums `margin` + 1 rows of B."""
    a = te.placeholder((4, 6), name="A")
    b = te.compute((4, 6), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((rows, 6), lambda i, j: b[i, j] + b[i + margin, j], name="C")
    return te.create_schedule([b.op, c.op] if declared else c.op), a, b, c


def _at_a_row(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    s[b].compute_at(s[c], c.op.axis[0])


def _at_a_row_in_parallel(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    _at_a_row(s, b, c)
    s[c].parallel(c.op.axis[0])


def _inlined(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    s[b].compute_inline()


def _cached(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    """The cache stands in a row of its copy, the copy in a row of its consumer."""
    cache = s.cache_write(b, "local")
    s[cache].compute_at(s[b], b.op.axis[0])
    s[b].compute_at(s[c], c.op.axis[0])


def _copy_inlined(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    s.cache_write(b, "local")
    s[b].compute_inline()


def _in_local_storage(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    s[b].set_scope("local")


def _aligned(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    s[b].storage_align(b.op.axis[0], 8, 0)


def _rolling(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    _at_a_row(s, b, c)
    s[b].rolling_buffer()


LEGAL: dict[str, tuple[Calls, int, int]] = {
    "at_a_row": (_at_a_row, 4, 0),
    "at_a_row_in_parallel": (_at_a_row_in_parallel, 4, 0),
    "at_a_row_computed_again": (_at_a_row, 3, 1),
    "inlined": (_inlined, 3, 1),
    "inlined_where_a_part_is_read": (_inlined, 2, 0),
    "cached": (_cached, 4, 0),
    "copy_inlined": (_copy_inlined, 2, 0),
}


@pytest.mark.parametrize("name", LEGAL)
def test_an_argument_is_written_whole(name: str, golden: Golden) -> None:
    calls, rows, margin = LEGAL[name]
    texts: set[str] = set()
    for declared in (False, True):
        s, a, b, c = _program(rows, margin, declared)
        calls(s, b, c)
        texts.add(script(s.to_schedule([a, b, c]).func))
        x = np.arange(24, dtype="float32").reshape(4, 6)
        y, z = np.full((4, 6), -7, "float32"), np.full((rows, 6), -7, "float32")
        build(s, [a, b, c])(x, y, z)
        np.testing.assert_array_equal(y, x + 1)
        np.testing.assert_array_equal(z, (x + 1)[:rows] + (x + 1)[margin : margin + rows])
    assert len(texts) == 1
    golden(texts.pop() + "\n", name)


REFUSED: dict[str, tuple[Calls, int, int, str]] = {
    "read_in_part": (_at_a_row, 2, 0, "E-SCHEDULE-OUTPUT"),
    "written_by_two_threads": (_at_a_row_in_parallel, 3, 1, "E-SCHEDULE-DEPENDENCE"),
    "in_local_storage": (_in_local_storage, 4, 0, "E-SCHEDULE-SCOPE-PARAMETER"),
    "aligned": (_aligned, 4, 0, "E-SCHEDULE-ALIGN-PARAMETER"),
    "rolling": (_rolling, 3, 1, "E-SCHEDULE-OUTPUT"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_leave_an_argument_unwritten_is_refused(name: str, golden: Golden) -> None:
    calls, rows, margin, code = REFUSED[name]
    s, a, b, c = _program(rows, margin, declared=False)
    calls(s, b, c)
    with pytest.raises(StageError) as caught:
        s.to_schedule([a, b, c])
    assert caught.value.code == code
    golden(f"{caught.value}\n", name)


def test_a_size_at_which_an_element_is_left_out_is_told() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((n - 1,), lambda i: b[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    with pytest.raises(StageError) as caught:
        s.to_schedule([a, b, c])
    assert "would not be written, with n = " in caught.value.found
