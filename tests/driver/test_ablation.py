"""What each pass of the graph does: the program without it, in numbers."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_session
from tests.schedule.programs import plain_matmul
from workbench.core.errors import WorkbenchError
from workbench.driver.ablation import figures, graph_passes, without


def test_every_pass_is_left_out_once_and_no_branch_is_made() -> None:
    session = small_session()
    branches = len(session.branches)
    found = session.ablation()
    assert [row.step for row in found.rows] == graph_passes(session)
    assert len(session.branches) == branches
    fused = found["FuseOps"].figures
    assert fused is not None and fused.kernels > found.base.kernels
    assert fused.bytes is not None and found.base.bytes is not None and fused.bytes > found.base.bytes
    assert fused == figures(session.without("FuseOps"))


def test_times_are_estimated_and_only_with_inputs_measured() -> None:
    session = small_session()
    alone = without(session, "FuseOps").figures
    assert alone is not None and alone.time is None
    found = session.ablation(small_inputs())
    fused = found["FuseOps"].figures
    assert found.base.cycles and found.base.time and fused is not None and fused.time
    assert "cycles (estimated)" in str(found) and "ms (measured)" in str(found)
    assert "ms (measured)" not in str(session.ablation())


def test_a_pass_without_which_the_code_is_the_same_has_no_time_and_another_one_is_measured_against_the_whole() -> None:
    found = small_session().ablation(small_inputs())
    for name in ("InferType", "EliminateCommonSubexpr", "FoldConstant#2"):
        row = found[name]
        assert row.same_code and row.slower is None and row.figures is not None and row.figures.time is None
    row = found["FuseOps"]
    assert not row.same_code and row.slower is not None and row.slower.least <= row.slower.seconds
    lines = {line.split()[0]: line for line in str(found).splitlines()}
    assert lines["InferType"].endswith("same code") and "same code" not in lines["FuseOps"]
    assert " to " in lines["nothing"] and " to " in lines["FuseOps"]
    assert not any(row.same_code for row in small_session().ablation().rows), "not asked for, not compiled"


def test_the_table_says_what_leaving_a_pass_out_changes() -> None:
    found = small_session().ablation()
    lines = {line.split()[0]: line for line in str(found).splitlines()}
    assert lines["nothing"].split()[2] == str(found.base.kernels)
    fused = found["FuseOps"].figures
    assert fused is not None and f"{fused.kernels - found.base.kernels:+}" in lines["FuseOps"]
    assert "<pre" in found._repr_html_()


def test_what_is_no_pass_of_a_graph_is_refused() -> None:
    session = small_session()
    with pytest.raises(WorkbenchError, match="E-ABLATION-PASS"):
        without(session, "Lower")
    with pytest.raises(WorkbenchError, match="E-ABLATION-PASS"):
        session.ablation()["Fuse"]
    with pytest.raises(WorkbenchError, match="E-SESSION-LEVEL"):
        wb.open(plain_matmul(8, 8, 8)).ablation()
