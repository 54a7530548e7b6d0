"""What the classic schedule has beside primitives: seeds, nodes of references, masks, helpers."""

from __future__ import annotations

import pytest

from tests.schedule.programs import matmul
from workbench.schedule import Schedule, ScheduleError, has_block, is_output_block
from workbench.schedule import classic as module
from workbench.tir import nodes as t


def test_nodes_of_references() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    found = sch.get_sref(block)
    assert isinstance(found.stmt, t.Block) and found.stmt.name == "C"
    assert found.parent is not None and found.parent.stmt is sch.get_sref(sch.get_loops(block)[2]).stmt
    loop = sch.get_sref(j)
    assert loop.stmt is sch.get(j) and loop.parent is not None and loop.parent.stmt is sch.get(i)
    assert sch.get_sref(sch.get(j)).stmt is sch.get(j) and sch.get_sref(sch.get(block)).stmt is sch.get(block)
    with pytest.raises(ScheduleError) as caught:
        sch.get_sref(Schedule(matmul(5)).get_sref)  # type: ignore[arg-type]
    assert caught.value.code == "E-SCHEDULE-REFERENCE"


def test_a_forgotten_reference_is_refused() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    number = sch.sample_categorical([2], probs=[1.0])
    for reference in (i, number, block):
        sch.remove_rv(reference)
        with pytest.raises(ScheduleError) as caught:
            sch.get(reference)
        assert caught.value.code == "E-SCHEDULE-REFERENCE"
    sch.vectorize(j)
    assert len(sch.trace) == 4


def test_seeds_are_no_steps() -> None:
    sch = Schedule(matmul(), seed=3)
    before = sch.fingerprint()
    sch.seed(4)
    assert sch.fork_seed() != sch.fork_seed()
    assert sch.fingerprint() == before and not sch.undo()
    with pytest.raises(ScheduleError, match="whole number"):
        sch.seed("x")  # type: ignore[arg-type]


def test_errors_are_as_long_as_asked_for() -> None:
    for level, where, underlined in (("detail", True, True), ("fast", True, False), ("none", False, False)):
        sch = Schedule(matmul(), error_render_level=level)
        with pytest.raises(ScheduleError) as caught:
            sch.vectorize(sch.get_loops("C")[2])
        assert bool(caught.value.where) == where and bool(caught.value.underlined) == underlined


def test_masks_verify_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[t.PrimFunc] = []
    monkeypatch.setattr("workbench.schedule.classic.verify", seen.append)
    Schedule(matmul()).get_block("C")
    assert not seen
    sch = Schedule(matmul(), debug_mask="all")
    i, _ = sch.get_loops("D")
    sch.copy().parallel(i)
    assert len(seen) == 2 and seen[-1].attrs is not None


@pytest.mark.parametrize("wrong", [{"debug_mask": "some"}, {"debug_mask": 9}, {"error_render_level": "loud"}])
def test_wrong_settings_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ScheduleError) as caught:
        Schedule(matmul(), **wrong)  # type: ignore[arg-type]
    assert caught.value.code == "E-SCHEDULE-ARGUMENT"
    assert list(module.MASKS) == ["none", "verify_sref_tree", "verify_cached_flags", "all"]


def test_helpers() -> None:
    sch = Schedule(matmul())
    assert has_block(sch, "C") and not has_block(sch, "E")
    assert is_output_block(sch, sch.get_block("D")) and not is_output_block(sch, sch.get_block("C"))
