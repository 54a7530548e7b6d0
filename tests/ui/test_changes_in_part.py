"""A restore that comes to a part: what it did, what was done before it and what is left are all kept, whoever asks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests.ui.asking import ask, refused, restarted
from tests.ui.test_changes import facts, fresh, of_matmul, split, step_id
from tests.ui.test_changes_branches import changed_on_disk, names
from tests.ui.test_changes_offers import of_earlier_times
from workbench.core.transform import PASSES
from workbench.ui.changes_store import ChangesStore, packed, unpacked
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def without(screen: Workbench, label: str) -> None:
    ask(screen, "pipeline.without", step=step_id(screen, label))


def run_cell(screen: Workbench) -> None:
    """The cell that makes a branch."""
    assert screen.session.rerun(disabled_pass=["FuseOps"])


def with_a_branch_of_a_cell() -> Workbench:
    """Three changes: one before going to a branch that a cell has made, going there, and one on it."""
    screen = Workbench(fresh())
    run_cell(screen)
    without(screen, "FoldScaleAxis")
    ask(screen, "branch", number=1)
    without(screen, "SimplifyExpr")
    return screen


# --- it waits for a branch ---


def test_what_was_done_before_a_restore_that_waits_stays_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for the beginning of what is offered, and its file was removed."""
    with_a_branch_of_a_cell()
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 3
    without(second, "EliminateCommonSubexpr")
    told = ask(second, "changes.restore")
    assert told["waits"] and told["restored"] == 1, "what was done before is none of it"
    assert facts(second)["count"] == 2 and facts(second)["offer"]["count"] == 2

    third = Workbench(fresh())
    offer = facts(third)["offer"]
    assert offer["calls"] == ["s = s.without('EliminateCommonSubexpr')", "s = s.without('FoldScaleAxis')"]
    assert ask(third, "changes.restore")["exact"] and names(third) == names(second)


def test_what_is_left_is_told_without_what_was_done_though_some_was_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The one that was refused and is not in force was counted as if none had been done for it."""
    screen = Workbench(fresh())
    run_cell(screen)
    without(screen, "FoldConstant#2")
    without(screen, "FoldScaleAxis")
    ask(screen, "branch", number=1)
    changed_on_disk(tmp_path, 0, {"step": "gone"})
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 3
    told = ask(second, "changes.restore")
    assert (told["restored"], told["left"]) == (1, 1) and told["waits"]
    offer = facts(second)["offer"]
    assert offer["count"] == 1 and "FoldScaleAxis" not in offer["calls"][0]


def test_another_screen_that_discards_the_rest_takes_nothing_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first one had restored of it was on no disk then."""
    with_a_branch_of_a_cell()
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"] and ask(second, "changes.restore")["waits"]
    third = Workbench(fresh())
    assert facts(third)["offer"]["count"] == 3 and facts(second)["offer"] is None
    ask(third, "changes.discard")
    assert facts(second)["count"] == 1
    later = Workbench(fresh())
    assert facts(later)["offer"]["calls"] == ["s = s.without('FoldScaleAxis')"]
    assert ask(later, "changes.restore")["exact"] and names(later) == names(second)


def test_what_waits_is_as_young_as_the_screen_that_shows_a_part_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The one file that holds what was done was removed with the old ones."""
    with_a_branch_of_a_cell()
    restarted(monkeypatch)
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    second = Workbench(fresh())
    assert facts(second)["offer"]
    os.utime(path, (1e9, 1e9))
    assert ask(second, "changes.restore")["waits"]
    split(of_matmul())  # another file: what is old is removed
    assert path.exists()
    path.unlink()
    without(second, "EliminateCommonSubexpr")
    ask(second, "pipeline.undo")
    assert facts(Workbench(fresh()))["offer"]["calls"] == ["s = s.without('FoldScaleAxis')"]


def test_others_are_looked_at_before_a_restore_and_not_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page offered it again after the message was closed, and was refused with "there are no other changes"."""
    with_a_branch_of_a_cell()
    with_a_branch_of_a_cell()
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert (facts(second)["offer"]["of"], facts(second)["offer"]["halted"]) == (2, "")
    assert ask(second, "changes.restore")["waits"]
    ask(second, "changes.read")
    assert (facts(second)["offer"]["of"], facts(second)["offer"]["halted"]) == (2, "begun")
    error = refused(second, "changes.another")
    assert error["message"] == "these changes were restored in part" and "discard" in error["fix"]


def test_a_restore_that_waits_from_its_first_step_on_has_done_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Workbench(fresh())
    run_cell(screen)
    ask(screen, "branch", number=1)
    without(screen, "SimplifyExpr")
    restarted(monkeypatch)
    without(Workbench(fresh()), "FuseOps")
    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 1
    ask(second, "changes.another")
    assert ask(second, "changes.restore")["waits"] and facts(second)["offer"]["halted"] == ""
    ask(second, "changes.another")
    assert facts(second)["offer"]["count"] == 1 and facts(second)["told"] == {}, "which was of the other"


# --- some were refused ---


@pytest.fixture(name="cell")
def _cell() -> Iterator[type]:
    """`cell.run()` defines the pass MyPass, in this process; `cell.gone()`: in the next one it has not run."""

    class Cell:
        @staticmethod
        def run() -> None:
            @wb.relay.transform.function_pass(opt_level=0, name="MyPass")
            def MyPass(function: wb.relay.Function, mod: wb.IRModule, ctx: object) -> wb.relay.Function:
                return function

        @staticmethod
        def gone() -> None:
            if "MyPass" in PASSES:
                PASSES.remove("MyPass")

    yield Cell
    Cell.gone()


def with_my_pass(cell: type) -> Workbench:
    """A screen with three changes, one of them a pass that a cell defines, whose kernel is gone."""
    cell.run()
    screen = Workbench(fresh())
    without(screen, "FoldScaleAxis")
    ask(screen, "pipeline.insert", step=step_id(screen, "SimplifyInference"), name="MyPass")
    without(screen, "EliminateCommonSubexpr")
    cell.gone()
    return screen


def test_what_a_cell_defines_is_restored_when_it_has_run(
    monkeypatch: pytest.MonkeyPatch, cell: type, tmp_path: Path
) -> None:
    """It was refused once and was lost for good."""
    first = with_my_pass(cell)
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 3
    for _ in range(2):  # pressed again before the cell has run, it comes to the same
        told = ask(second, "changes.restore")
        assert (told["restored"], told["left"], told["exact"]) == (2, 1, False)
        offer = facts(second)["offer"]
        assert (offer["count"], offer["halted"]) == (1, "refused")
        assert offer["calls"] == told["refused"] and "insert" in offer["calls"][0] and "MyPass" in offer["calls"][0]
        assert len(second._changes._record.entries) == 2
    assert len([*(tmp_path / "cache" / "changes-1").iterdir()]) == 1, "the whole, which holds what is shown here"
    third = Workbench(fresh())  # the kernel was restarted in the middle
    assert (facts(third)["offer"]["count"], facts(third)["offer"]["of"]) == (3, 1)
    assert ask(third, "changes.restore")["left"] == 1
    cell.run()
    assert ask(third, "changes.restore") == {"restored": 3, "refused": [], "left": 0, "exact": True}
    assert names(third) == names(first) and facts(third)["offer"] is None
    assert ask(third, "open")["calls"] == ask(first, "open")["calls"]


def test_what_was_refused_is_not_put_behind_what_was_changed_since(
    monkeypatch: pytest.MonkeyPatch, cell: type
) -> None:
    """What was changed before the restore stays."""
    with_my_pass(cell)
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]
    without(second, "FuseOps")
    ask(second, "changes.restore")
    without(second, "SimplifyExpr")
    cell.run()
    before = names(second)
    error = refused(second, "changes.restore")
    assert "changed since" in error["message"] and "undo" in error["fix"] and names(second) == before
    assert facts(second)["offer"]["halted"] == "refused"
    ask(second, "pipeline.undo")
    assert ask(second, "changes.restore")["restored"] == 3
    assert ask(second, "open")["undo"] == 4 and facts(second)["offer"] is None
    assert "MyPass" in names(second) and not {"FuseOps", "FoldScaleAxis", "EliminateCommonSubexpr"} & {*names(second)}


def test_what_was_refused_is_discarded_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was done stays kept, and so do the times before, of which nothing was asked."""
    older, newest = of_earlier_times(tmp_path, 2, 4)
    changed_on_disk_of(newest)
    screen = of_matmul()
    assert facts(screen)["offer"]["of"] == 2
    assert ask(screen, "changes.restore")["left"] == 1
    assert facts(screen)["offer"]["halted"] == "refused"
    ask(screen, "changes.discard")
    assert facts(screen)["offer"] is None and older.exists() and not newest.exists()
    restarted(monkeypatch)
    assert facts(of_matmul())["offer"]["calls"][0].count("factors=[None, 2]") == 1


def test_moves_of_a_schedule_are_done_once_however_often_it_is_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = of_matmul()
    split(first)
    split(first, "l:C:1", 4)
    ask(first, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0")
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    changed_on_disk(tmp_path, 1, {"kernel": "main", "primitive": "split", "selection": "l:C:9", "arguments": {}})
    restarted(monkeypatch)
    second = of_matmul()
    assert facts(second)["offer"]
    came = []
    for _ in range(3):
        told = ask(second, "changes.restore")
        came.append((told, second.code, ask(second, "open")["calls"], second.schedule.fingerprint()))
    assert came[0] == came[1] == came[2] and told["restored"] == 2 and second.code.count("sch.parallel") == 1
    assert [*path.parent.iterdir()] == [path]


def changed_on_disk_of(path: Path) -> None:
    """The one change of a file is done to a loop that there is not."""
    document = unpacked(path.read_bytes())
    assert document is not None
    document["entries"][0]["args"]["selection"] = "l:C:9"
    path.write_bytes(packed(document))


# --- what a cell does again, and a person had taken back ---


def with_a_cells_move() -> Workbench:
    """A screen whose cell reorders the loops."""
    screen = of_matmul()
    ask(screen, "schedule.open", kernel="main")
    i, j, k = screen.schedule.get_loops("C")
    screen.schedule.reorder(k, i, j)
    ask(screen, "open")
    return screen


def test_a_cells_move_that_was_taken_back_is_there_again_before_all_is_done_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As many changes were in force as before the first restore: nothing was taken back, and each was done twice."""
    first = with_a_cells_move()
    ask(first, "pipeline.undo")
    split(first)
    ask(first, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0")
    changed_on_disk(tmp_path, 3, {"kernel": "main", "primitive": "parallel", "selection": "l:C:9", "arguments": {}})
    restarted(monkeypatch)
    second = with_a_cells_move()
    assert facts(second)["offer"]
    came = []
    for _ in range(3):
        told = ask(second, "changes.restore")
        came.append((told, second.code, ask(second, "open")["calls"], len(second._changes._record.entries)))
    assert came[0] == came[1] == came[2] and told["restored"] == 1 and second.code.count("sch.split") == 1


# --- the disk is full ---


def test_what_is_left_is_not_discarded_while_what_was_restored_of_it_cannot_be_kept(
    monkeypatch: pytest.MonkeyPatch, cell: type, tmp_path: Path
) -> None:
    """The file was removed that held it, and nothing else did."""
    with_my_pass(cell)
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"] and ask(second, "changes.restore")["left"] == 1
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    with monkeypatch.context() as full:
        full.setattr(ChangesStore, "save", lambda *given: "No space left on device")
        error = refused(second, "changes.discard")
        assert "No space left on device" in error["found"] and "discard" in error["fix"]
        assert path.exists() and facts(second)["offer"]["halted"] == "refused"
        assert facts(second)["trouble"] == "" and facts(second)["count"] == 2, "they are kept with what is offered"
    ask(second, "changes.discard")
    assert facts(second)["offer"] is None and not path.exists()
    third = Workbench(fresh())
    assert facts(third)["offer"]["count"] == 2 and ask(third, "changes.restore")["exact"]


def test_where_nothing_is_to_be_kept_any_more_no_trouble_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told until something was saved, though nothing was left that could get lost."""
    screen = of_matmul()
    with monkeypatch.context() as full:
        full.setattr(ChangesStore, "save", lambda *given: "No space left on device")
        split(screen)
        assert facts(screen)["trouble"]
    ask(screen, "pipeline.undo")
    assert facts(screen)["trouble"] == ""
