"""A replay that is interrupted goes on where it was; kernels are found by what they are, whoever moved them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.ui.asking import ask, restarted
from tests.ui.test_changes import facts, fresh, step_id
from tests.ui.test_changes_branches import changed_on_disk, names, of_relus
from workbench import relay
from workbench.driver.session import Session
from workbench.ui.changes_replay import Replay, still_to_come
from workbench.ui.changes_store import packed, unpacked
from workbench.ui.protocol import Answer
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def test_an_undo_that_was_interrupted_takes_back_one_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Gone on with, it was taken for the undo of the one before, which had been refused, and was left out."""
    first = Workbench(fresh())
    for label in ("FoldScaleAxis", "SimplifyExpr"):
        ask(first, "pipeline.without", step=step_id(first, label))
    ask(first, "pipeline.undo")
    changed_on_disk(tmp_path, 0, {"step": "gone"})
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]
    undo, once = second._changes._commands["pipeline.undo"], [True]

    def interrupted(args: dict[str, Any]) -> Answer:
        if once:
            once.clear()
            raise KeyboardInterrupt
        return undo(args)

    monkeypatch.setitem(second._changes._commands, "pipeline.undo", interrupted)
    with pytest.raises(KeyboardInterrupt):
        second.ask("changes.restore")
    assert "SimplifyExpr" not in names(second) and facts(second)["offer"]["halted"] == "begun"
    assert ask(second, "changes.restore")["left"] == 1
    assert names(second) == names(Workbench(fresh()))


@pytest.fixture(name="signals")
def _signals() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("signals")
def test_an_interrupt_while_a_command_is_noted_comes_after_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It was refused, noted as refused, and tried and told once more."""
    first = Workbench(fresh())
    for label in ("FoldScaleAxis", "SimplifyExpr"):
        ask(first, "pipeline.without", step=step_id(first, label))
    changed_on_disk(tmp_path, 0, {"step": "gone"})
    restarted(monkeypatch)
    second = Workbench(fresh())
    assert facts(second)["offer"]
    note = Replay.note

    def pressed(*args: Any) -> None:
        note(*args)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(Replay, "note", pressed)
        with pytest.raises(KeyboardInterrupt):
            second.ask("changes.restore")
    told = facts(second)["told"]
    assert (told["restored"], told["left"]) == (1, 1)


@pytest.mark.parametrize(
    ("turned", "at", "left"),
    [
        (["", "", ""], 1, 2), (["", "", "undo", ""], 1, 1), (["", "undo", "redo"], 2, 1), (["", "", "undo"], 2, 0),
        (["undo", "redo", ""], 2, 1),
    ],
)  # fmt: skip
def test_what_is_still_to_come_of_what_is_in_force_at_the_end(turned: list[str], at: int, left: int) -> None:
    assert still_to_come([{"turned": one} for one in turned], at) == left


def test_a_cells_moves_go_to_the_kernel_that_is_made_of_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They were kept by the kernel's name alone: names are numbered, and another kernel had it by then."""
    first = of_relus(2)
    ask(first, "pipeline.without", step=step_id(first, "FuseOps"))
    kernels = [one["name"] for one in ask(first, "kernels")["kernels"] if "leaky" in one["name"]]
    block = ask(first, "schedule.open", kernel=kernels[1])["tree"][0]["id"].split(":")[1]
    schedule = first._editors.editor(kernels[1]).schedule
    schedule.annotate(schedule.get_loops(block)[0], "remark", "a")  # as a cell does
    ask(first, "open")
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    document = unpacked(path.read_bytes())
    assert document is not None and document["entries"][1]["op"] == "schedule.replay"
    document["entries"][1]["args"]["kernel"] = kernels[0]  # as where the names have shifted
    path.write_bytes(packed(document))
    restarted(monkeypatch)
    second = of_relus(2)
    assert facts(second)["offer"] and ask(second, "changes.restore")["refused"] == []
    assert "remark" in second.session.schedule(kernels[1]).code()
    assert "remark" not in second.session.schedule(kernels[0]).code()


def test_a_kernel_is_found_by_what_it_is_where_no_list_of_kernels_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was an assertion: refused with "AssertionError: ", and not asked at all under `python -O`."""
    first = of_relus(1)
    kernel = ask(first, "kernels")["kernels"][0]["name"]
    selection = ask(first, "schedule.open", kernel=kernel)["tree"][0]["id"]
    mark = {"ann_key": "remark", "ann_val": "a"}
    ask(first, "schedule.apply", kernel=kernel, primitive="annotate", selection=selection, arguments=mark)
    restarted(monkeypatch)
    second = of_relus(1)
    assert facts(second)["offer"]
    monkeypatch.setattr(Session, "kernels", property(lambda self: ()))
    assert ask(second, "changes.restore") == {"restored": 1, "refused": [], "left": 0, "exact": True}


def layer() -> Workbench:
    x, weight = relay.var("x", shape=(4, 8)), relay.const(np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8))
    return Workbench(wb.open(wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.dense(x, weight))))))


def test_code_that_leads_to_where_a_schedule_is_leaves_the_restore_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took away the question that a move which was taken back had left, and nothing told of that."""
    first = layer()
    at = {"kernel": first.session.kernels[0]}
    ask(first, "schedule.go", **at, number=2)
    ask(first, "schedule.undo", **at)
    code = ask(first, "schedule.open", **at)["code"]
    ask(first, "schedule.replay", **at, code=code)
    ask(first, "schedule.apply", **at, primitive="add_unit_loop", selection="l:dense:2", arguments={})
    restarted(monkeypatch)
    second = layer()
    assert ask(second, "open")["changes"]["offer"] is not None and ask(second, "changes.restore")["exact"]
    assert second.session.to_python() == first.session.to_python()


def test_going_to_where_a_schedule_is_leaves_the_restore_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, by a click on the state that the tree of schedules marks; a later move could not be gone to again."""
    first = layer()
    at = {"kernel": first.session.kernels[0]}
    ask(first, "schedule.go", **at, number=2)
    ask(first, "schedule.undo", **at)
    ask(first, "schedule.go", **at, number=ask(first, "schedule.tree", **at)["here"])
    ask(first, "schedule.apply", **at, primitive="add_unit_loop", selection="l:dense:2", arguments={})
    there = ask(first, "schedule.tree", **at)["here"]
    ask(first, "schedule.apply", **at, primitive="add_unit_loop", selection="l:dense:2", arguments={})
    ask(first, "schedule.go", **at, number=there)
    restarted(monkeypatch)
    second = layer()
    assert ask(second, "open")["changes"]["offer"] is not None and ask(second, "changes.restore")["exact"]
    assert second.session.to_python() == first.session.to_python()
