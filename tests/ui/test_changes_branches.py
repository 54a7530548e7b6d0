"""Restoring changes that went to branches: by content and never by number, and not without the cells that made them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import onnx
import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.ui.asking import ask, restarted
from tests.ui.test_changes import facts, fresh, save_with_other_weights, step_id
from workbench import relay
from workbench.ui import changes
from workbench.ui.changes_store import packed, unpacked
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def names(screen: Workbench) -> list[str]:
    return [row.name for row in screen.session.plan.rows]


def on_a_branch_of_a_cell() -> Workbench:
    """A screen on which a change was taken back, and another one made on a branch that a cell had made before."""
    screen = Workbench(fresh())
    assert len(screen.session.rerun(disabled_pass=["FuseOps"]).branches) == 2
    ask(screen, "pipeline.without", step=step_id(screen, "FoldScaleAxis"))
    ask(screen, "pipeline.undo")
    ask(screen, "branch", number=1)
    ask(screen, "pipeline.without", step=step_id(screen, "SimplifyExpr"))
    assert not {"FuseOps", "SimplifyExpr"} & set(names(screen)) and "FoldScaleAxis" in names(screen)
    return screen


def test_a_branch_that_a_cell_made_is_waited_for_and_no_other_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number was another one's by then, and the changes after it were done on that."""
    first = on_a_branch_of_a_cell()
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 2
    told = ask(second, "changes.restore")
    assert (told["restored"], told["left"], told["exact"]) == (0, 0, False)
    assert told["waits"].endswith("-FuseOps") and names(second) == names(Workbench(fresh()))
    again = facts(second)["offer"]
    assert again["count"] == 2 and again["calls"][-1] == "s = s.without('SimplifyExpr')"

    assert ask(second, "changes.restore")["waits"] == told["waits"]  # the cell has not run
    assert second.session.rerun(disabled_pass=["FuseOps"])
    told = ask(second, "changes.restore")
    assert told == {"restored": 2, "refused": [], "left": 0, "exact": True}
    assert names(second) == names(first) and facts(second)["offer"] is None


def test_what_waits_for_a_cell_outlives_another_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Workbench(fresh())
    assert first.session.rerun(disabled_pass=["FuseOps"])
    ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
    ask(first, "branch", number=1)
    ask(first, "pipeline.without", step=step_id(first, "SimplifyExpr"))
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 3
    told = ask(second, "changes.restore")
    assert told["restored"] == 1 and told["waits"] and "FoldScaleAxis" not in names(second)
    assert facts(second)["offer"]["count"] == 2
    third = Workbench(fresh())
    assert third.session.rerun(disabled_pass=["FuseOps"])
    assert facts(third)["offer"]["count"] == 3
    told = ask(third, "changes.restore")
    assert (told["restored"], told["exact"]) == (3, True) and names(third) == names(first)


def test_what_waits_is_discarded_and_what_was_done_stays_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = Workbench(fresh())
    assert first.session.rerun(disabled_pass=["FuseOps"])
    ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
    ask(first, "branch", number=1)
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 2
    assert ask(second, "changes.restore")["waits"]
    ask(second, "changes.discard")
    third = Workbench(fresh())
    assert facts(third)["offer"]["calls"] == ["s = s.without('FoldScaleAxis')"]
    assert ask(third, "changes.restore")["exact"] and names(third) == names(second)


def test_branches_of_another_version_of_the_model_are_found_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing has the same id there: the branches are found by what led to them."""
    model = small_model()
    onnx.save(model, tmp_path / "net.onnx")
    first = Workbench(wb.open(str(tmp_path / "net.onnx")))
    ask(first, "pipeline.without", step=step_id(first, "FuseOps"))
    ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
    ask(first, "branch", number=1)
    ask(first, "pipeline.without", step=step_id(first, "SimplifyExpr"))
    restarted(monkeypatch)
    save_with_other_weights(model, tmp_path / "net.onnx")
    other = wb.open(str(tmp_path / "net.onnx"))
    assert len(other.without("EliminateCommonSubexpr").branches) == 2  # the numbers are others
    second = Workbench(other)
    assert facts(second)["offer"]["note"]
    told = ask(second, "changes.restore")
    assert told == {"restored": 4, "refused": [], "left": 0, "exact": False} and names(second) == names(first)


def test_what_follows_on_a_branch_that_was_refused_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = Workbench(fresh())
    ask(first, "pipeline.without", step=step_id(first, "FuseOps"))
    ask(first, "branch", number=0)
    ask(first, "branch", number=1)
    ask(first, "pipeline.without", step=step_id(first, "SimplifyExpr"))
    ask(first, "pipeline.undo")
    ask(first, "pipeline.undo")
    ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    document = unpacked(path.read_bytes())
    assert document is not None
    document["entries"][0]["args"] = {"step": "gone"}
    path.write_bytes(packed(document))
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]
    told = ask(second, "changes.restore")
    assert told["left"] == 3 + 1 and "waits" not in told, told
    assert told["refused"][2].endswith("a change that made it could not be done again")
    assert told["refused"][3].endswith("it was done on a branch that is missing")
    assert names(second) == names(Workbench(fresh().without("FoldScaleAxis")))


# --- other things that are told by a place, which may be another one's ------------------------------------------------


def changed_on_disk(folder: Path, op: int, args: dict[str, object]) -> None:
    """One command of the one screen that is kept is another one from now on."""
    (path,) = (folder / "cache" / "changes-1").iterdir()
    document = unpacked(path.read_bytes())
    assert document is not None
    document["entries"][op]["args"] = args
    path.write_bytes(packed(document))


def test_a_step_that_is_counted_is_not_another_one_where_one_before_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """FoldConstant#2 was meant, of three; without the one that was put in, that is the next one."""
    first = Workbench(fresh())
    ask(first, "pipeline.insert", step=step_id(first, "Import"), name="FoldConstant")
    ask(first, "pipeline.without", step=step_id(first, "FoldConstant#2"))
    changed_on_disk(tmp_path, 0, {"step": "gone", "name": "FoldConstant"})
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]
    told = ask(second, "changes.restore")
    assert told["left"] == 2 and "which one is meant is not known" in told["refused"][1]
    assert names(second) == names(Workbench(fresh()))


def of_relus(count: int) -> Workbench:
    x = relay.var("x", shape=(2, 8))
    made = relay.nn.leaky_relu(relay.exp(x), alpha=0.5)
    if count > 1:
        made = relay.nn.leaky_relu(relay.exp(made), alpha=0.25)
    return Workbench(wb.open(wb.IRModule.from_expr(relay.Function([x], relay.sqrt(made)))))


@pytest.mark.parametrize(("count", "refused"), [(2, []), (1, ["nn.leaky_relu, 2 of 2"])])
def test_a_call_is_found_by_its_operator(count: int, refused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = of_relus(2)
    call = [one for one in ask(first, "calls", layer="relay")["calls"] if "leaky" in one["op"]][1]
    at = {"layer": "relay", "step": "", "place": call["place"], "number": call["number"]}
    ask(first, "set_attribute", **at, name="alpha", text="0.125")
    restarted(monkeypatch)
    monkeypatch.setattr(changes.Changes, "_find", lambda self: self._store.found(changes._key(self._place)))
    second = of_relus(count)
    assert facts(second)["offer"]
    told = ask(second, "changes.restore")
    assert len(told["refused"]) == len(refused) and all(a in b for a, b in zip(refused, told["refused"], strict=True))
    alphas = [one["facts"]["alpha"] for one in ask(second, "calls", layer="relay")["calls"] if "leaky" in one["op"]]
    assert alphas == ([0.5, 0.125] if count == 2 else [0.5])


def test_a_kernel_is_found_by_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two kernels of the same operators: their names are numbered, the first goes without."""
    first = of_relus(2)
    ask(first, "pipeline.without", step=step_id(first, "FuseOps"))
    kernels = [one["name"] for one in ask(first, "kernels")["kernels"] if "leaky" in one["name"]]
    assert len(kernels) == 2
    selection = ask(first, "schedule.open", kernel=kernels[1])["tree"][0]["id"]
    mark = {"ann_key": "remark", "ann_val": "a"}
    ask(first, "schedule.apply", kernel=kernels[1], primitive="annotate", selection=selection, arguments=mark)
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    document = unpacked(path.read_bytes())
    assert document is not None
    document["entries"][1]["args"]["kernel"] = kernels[0]  # as where the names have shifted
    path.write_bytes(packed(document))
    restarted(monkeypatch)
    second = of_relus(2)
    assert facts(second)["offer"] and ask(second, "changes.restore")["refused"] == []
    assert "remark" in second.session.schedule(kernels[1]).code()
    assert "remark" not in second.session.schedule(kernels[0]).code()


# --- random histories ---

CELLS = ("FuseOps", "FoldScaleAxis", "PackWeights")


def random_history(draw: random.Random) -> tuple[Workbench, list[str]]:
    """A screen on which anything was done in any order, and what cells made branches without, meanwhile."""
    screen, cells = Workbench(fresh()), list[str]()
    for _ in range(draw.randint(4, 14)):
        what = draw.choice(("without", "switch_on", "branch", "branch", "undo", "redo", "cell"))
        steps = ask(screen, "pipeline.open")["steps"]
        out = [step["id"] for step in steps if step["left_out"]]
        if what == "cell":
            cells.append(draw.choice(CELLS))
            assert screen.session.branches[0].rerun(disabled_pass=cells[-1:])
        elif what == "branch":
            ask(screen, "branch", number=draw.randrange(len(screen.session.branches)))
        elif what == "without":
            ask(screen, "pipeline.without", step=draw.choice([one["id"] for one in steps[1:10] if not one["left_out"]]))
        elif what == "switch_on" and out:
            ask(screen, "pipeline.switch_on", step=draw.choice(out))
        elif what in ("undo", "redo") and ask(screen, "open")[what]:
            ask(screen, f"pipeline.{what}")
    return screen, cells


def run_cells(cells: list[str], screen: Workbench) -> None:
    """In another order than the first time: the branches have other numbers."""
    for name in reversed(cells):
        assert screen.session.branches[0].rerun(disabled_pass=[name])


@pytest.mark.slow
def test_any_history_comes_back_with_its_cells_run_before_or_when_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    came = Counter[str]()
    for seed in range(24):
        draw = random.Random(seed)
        first, cells = random_history(draw)
        with monkeypatch.context() as patched:
            restarted(patched)
            second = Workbench(fresh())
            if facts(second)["offer"] is None:
                continue
            if draw.random() < 0.5:
                run_cells(cells, second)
            told = ask(second, "changes.restore")
            came["waits" if "waits" in told else "exact"] += 1
            if "waits" in told:
                run_cells(cells, second)
                told = ask(second, "changes.restore")
            assert (told["left"], told["exact"], "waits" in told) == (0, True, False), (seed, told)
            assert second.session.plan.rows == first.session.plan.rows
            for screen in (first, second):
                screen._changes._store.forget(changes._key(screen._changes._place), screen._changes._record.token)
    assert came["waits"] and came["exact"] > came["waits"]
