"""One history for the screen, its editors and cells: what is an undo, what is kept of it, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model
from tests.driver.test_reliance import CASES
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, refused, restarted
from workbench import relay
from workbench._lazy import session_of
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.ui.journal import Replayed, replay
from workbench.ui.workbench import Workbench

DENSE = "dense_nn_bias_add"
"""How the name of the matrix product ends, without the "_pack" that it has where vectors are short."""


pytestmark = pytest.mark.usefixtures("kept_here")


def named(session: Any, ending: str) -> str:
    """The kernel whose name ends so."""
    return next(one for one in session.kernels if one.replace("_pack", "").endswith(ending))


def unroll(screen: Workbench, kernel: str, selection: str = "l:dense_init:0") -> None:
    kernel = named(screen.session, kernel)
    ask(screen, "schedule.apply", kernel=kernel, primitive="unroll", selection=selection, arguments={})


def of_matmul() -> tuple[Workbench, Schedule]:
    schedule = Schedule(plain_matmul(8, 8, 8))
    return Workbench(session_of(schedule), schedule), schedule


def names(schedule: Schedule) -> list[str]:
    return [move.name for move in schedule.moves.done]


# --- what is an undo ----------------------------------------------------------------------------------------------


def test_a_move_in_a_model_with_other_weights_is_no_undo() -> None:
    """The same click had been done on the model before: it brought that one back, with its weights."""
    one, two = wb.open(small_model(seed=0)), wb.open(small_model(seed=5))
    screen = Workbench(one)
    unroll(screen, DENSE)
    screen.session = two
    unroll(screen, DENSE)
    found = screen.session.run(small_inputs())["y"]
    np.testing.assert_allclose(found, two.run(small_inputs())["y"], atol=1e-5)
    assert not np.allclose(found, one.run(small_inputs())["y"], atol=1e-3)
    assert ask(screen, "open")["undo"] == 3


def test_a_move_on_a_session_that_was_given_is_no_undo_of_the_giving() -> None:
    """The program is the same, and so is its schedule after the move: it is this session's all the same."""
    screen = Workbench(wb.open(small_model()))
    steps = ask(screen, "pipeline.open")["steps"]
    ask(screen, "pipeline.without", step=next(step["id"] for step in steps if step["name"] == "SimplifyExpr"))
    without = screen.session
    unroll(screen, DENSE)
    for given in (without, wb.open(small_model()).without("SimplifyExpr")):
        undo = ask(screen, "open")["undo"]
        screen.session = given
        unroll(screen, DENSE)
        assert screen.session.history is given.history and screen.left_out == ()
        assert ask(screen, "open")["undo"] == undo + 2
    moved = screen.session
    for op in ("undo", "undo", "redo"):  # before the giving, then at it: the next redo is this session's move
        ask(screen, f"pipeline.{op}")
    unroll(screen, DENSE)
    assert screen.session is moved and ask(screen, "open")["redo"] == 0


def test_a_move_that_leads_to_the_state_before_a_given_session_is_a_change() -> None:
    screen = Workbench(wb.open(plain_matmul(8, 8, 8)))
    unroll(screen, "main", "l:C:2")
    moved = screen.session
    ask(screen, "pipeline.undo")
    screen.session = moved
    ask(screen, "schedule.undo", kernel="main")
    told = ask(screen, "open")
    assert not screen.session.schedule("main").moves.done and (told["undo"], told["redo"]) == (2, 0)


def test_a_move_is_an_undo_only_where_the_other_kernels_stay() -> None:
    """Swapped results swap the names of the two kernels; schedules go with the kernels, not with the names."""
    x, y = relay.var("x", shape=(4, 8)), relay.var("y", shape=(4, 16))
    a, b = relay.var("a", shape=(16, 8)), relay.var("b", shape=(16, 16))
    results = relay.Tuple([relay.nn.dense(x, a), relay.nn.dense(y, b)])
    screen = Workbench(wb.open(wb.IRModule.from_expr(relay.Function([x, y, a, b], results))))

    def unrolled() -> dict[int, int]:
        """By the length of the sums: how many loops are unrolled by hand and by default."""
        found = {}
        for kernel in screen.session.kernels:
            schedule = screen.session.schedule(kernel)
            buffer: Any = schedule.func.params[0]
            found[int(buffer.shape[1].value)] = names(schedule).count("unroll")
        return found

    def swap() -> None:
        step = ask(screen, "pipeline.open")["steps"][0]["id"]
        text = ask(screen, "pipeline.source", step=step, function="main")["text"].replace("(v0, v1)", "(v1, v0)")
        assert "refused" not in ask(screen, "pipeline.edit", step=step, function="main", text=text)

    begun = unrolled()
    swap()
    ask(screen, "pipeline.undo")
    unroll(screen, "fused_nn_dense")
    swap()
    unroll(screen, "fused_nn_dense")
    ask(screen, "branch", number=1)
    assert unrolled() == begun
    unroll(screen, "fused_nn_dense")
    assert unrolled() == {8: begun[8], 16: begun[16] + 1}


# --- what is kept -------------------------------------------------------------------------------------------------


def test_changes_after_an_undo_past_another_session_are_kept_for_the_program_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Workbench(wb.open(small_model(seed=0)))
    screen.session = wb.open(small_model(seed=5))
    ask(screen, "pipeline.undo")
    unroll(screen, DENSE)
    assert ask(screen, "open")["changes"]["count"] == 1
    restarted(monkeypatch)
    assert ask(Workbench(wb.open(small_model(seed=5))), "open")["changes"]["offer"] is None
    again = Workbench(wb.open(small_model(seed=0)))
    assert ask(again, "open")["changes"]["offer"]["count"] == 1
    assert ask(again, "changes.restore")["exact"]
    assert again.session.plan == screen.session.plan


def test_undo_and_redo_past_another_session_go_on_in_the_journal_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Workbench(wb.open(small_model(seed=0)))
    unroll(screen, DENSE)
    screen.session = wb.open(small_model(seed=5))
    unroll(screen, DENSE)
    for op in ("undo", "undo", "redo", "redo"):
        ask(screen, f"pipeline.{op}")
    ask(screen, "schedule.apply", kernel=named(screen.session, DENSE), primitive="annotate", selection="l:dense_init:0",
        arguments={"ann_key": "a", "ann_val": 1})  # fmt: skip
    restarted(monkeypatch)
    for seed, count in ((0, 1), (5, 2)):
        again = Workbench(wb.open(small_model(seed=seed)))
        assert ask(again, "open")["changes"]["offer"]["count"] == count
        assert ask(again, "changes.restore")["exact"], seed


def test_each_session_that_was_given_has_its_own_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The later one's stood on the earlier one after an undo, and was tried there."""
    unroll(Workbench(wb.open(plain_matmul(8, 8, 8))), "main", "l:C:2")
    unroll(Workbench(wb.open(small_model(seed=5))), DENSE)
    restarted(monkeypatch)
    screen = Workbench(wb.open(plain_matmul(8, 8, 8)))

    def offered() -> str:
        return "\n".join(ask(screen, "open")["changes"]["offer"]["calls"])

    of_first = offered()
    assert "sch.unroll(l2)" in of_first
    screen.session = wb.open(small_model(seed=5))
    of_second = offered()
    assert "sch.unroll(l" in of_second and of_second != of_first
    ask(screen, "pipeline.undo")
    assert offered() == of_first
    ask(screen, "pipeline.redo")
    assert offered() == of_second
    ask(screen, "pipeline.undo")
    ask(screen, "changes.discard")
    ask(screen, "pipeline.redo")
    assert offered() == of_second and ask(screen, "changes.restore")["exact"]


def test_undo_and_redo_past_another_session_go_on_in_what_is_replayed() -> None:
    """Each session that was given has its own: the undo past it stood there, with nothing to undo."""
    screen = Workbench(wb.open(plain_matmul(8, 8, 8)))
    unroll(screen, "main", "l:C:2")
    screen.session = wb.open(small_model(seed=5))
    unroll(screen, DENSE)
    assert replay(screen.journal()) == Replayed(1, ())
    ask(screen, "pipeline.undo")
    ask(screen, "pipeline.undo")
    ask(screen, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0", arguments={})
    ask(screen, "pipeline.undo")
    assert replay(screen.journal()) == Replayed(3, ())
    assert refused(screen, "branch", number=-1)["code"] == "E-UI-ARGUMENT"
    assert replay(screen.journal()) == Replayed(4, ())


def test_a_redo_past_another_session_goes_on_in_what_is_replayed() -> None:
    screen = Workbench(wb.open(plain_matmul(8, 8, 8)))
    screen.session = wb.open(small_model(seed=5))
    unroll(screen, DENSE)
    for op in ("undo", "undo", "redo", "redo", "undo"):
        ask(screen, f"pipeline.{op}")
    assert replay(screen.journal()) == Replayed(4, ())


def test_a_redo_after_a_cells_undo_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, schedule = of_matmul()
    ask(screen, "schedule.apply", kernel="main", primitive="unroll", selection="l:C:1", arguments={})
    schedule.undo()
    ask(screen, "open")
    ask(screen, "schedule.redo", kernel="main")
    ask(screen, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0", arguments={})
    assert names(schedule) == ["unroll", "parallel"]
    restarted(monkeypatch)
    screen, schedule = of_matmul()
    told = ask(screen, "changes.restore") if ask(screen, "open")["changes"]["offer"] else None
    assert told is not None and told["exact"] and told["refused"] == []
    assert names(schedule) == ["unroll", "parallel"]


def of_a_cell(*moves: str) -> tuple[Workbench, Schedule]:
    """A screen after moves of a cell ("cell.parallel") and of a person ("parallel", "undo")."""
    screen, schedule = of_matmul()
    for move in moves:
        name = move.removeprefix("cell.")
        if name in ("undo", "redo"):
            ask(screen, f"schedule.{name}", kernel="main") if move == name else getattr(schedule, name)()
        elif move == name:
            ask(screen, "schedule.apply", kernel="main", primitive=name, selection=PLACES[name], arguments={})
        else:
            getattr(schedule, name)(schedule.get_loops("C")[int(PLACES[name][-1])])
        assert screen.session
    return screen, schedule


PLACES = {"parallel": "l:C:0", "vectorize": "l:C:1", "unroll": "l:C:2"}


@pytest.mark.parametrize(
    ("moves", "count"),
    [
        ("cell.parallel, cell.unroll, undo", 1),
        ("cell.unroll, undo", 1),
        ("cell.unroll, undo, cell.parallel", 1),
        ("cell.parallel, unroll, cell.undo", 1),
        ("cell.parallel, cell.unroll", 0),
        ("cell.parallel, cell.unroll, cell.undo", 0),
        ("cell.parallel, cell.unroll, cell.undo, cell.redo", 0),
        ("cell.parallel, unroll, undo", 0),
        ("cell.parallel, undo, redo", 0),
        ("parallel, cell.undo", 0),
        ("parallel, undo", 0),
    ],
)
def test_what_a_person_took_back_of_a_cells_work_is_kept(
    moves: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is offered where the cells alone come to the same."""
    done = moves.split(", ")
    screen, schedule = of_a_cell(*done)
    assert ask(screen, "open")["changes"]["count"] == count
    restarted(monkeypatch)
    again, other = of_a_cell(*(move for move in done if move.startswith("cell.")))
    offer = ask(again, "open")["changes"]["offer"]
    assert (offer["count"] if offer else 0) == count
    if count:
        assert len(offer["calls"]) == count and ask(again, "changes.restore")["exact"]
    assert names(other) == names(schedule)


def test_a_restore_is_not_exact_where_a_users_intrinsic_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["tensor intrinsic"]
    case.thing.define(3.0)
    screen = Workbench(case.thing.opened())
    kernel = screen.session.kernels[0]
    pending = list(ask(screen, "schedule.open", kernel=kernel)["tree"])
    while pending:
        box = pending.pop()
        pending += box["children"]
        if screen.ask("schedule.apply", kernel=kernel, primitive="annotate", selection=box["id"],
                      arguments={"ann_key": "a", "ann_val": 1}).content["ok"]:  # fmt: skip
            break
    restarted(monkeypatch)
    for value, exact in ((3.0, True), (7.0, False)):
        case.thing.define(value)
        again = Workbench(case.thing.opened())
        assert ask(again, "open")["changes"]["offer"] is not None
        assert ask(again, "changes.restore")["exact"] is exact


# --- a cell's move that the session refuses --------------------------------------------------------------------------


def refusing() -> tuple[Workbench, Schedule]:
    """A screen on two kernels, one of them of a cell, which the session refuses a move of: alpha is another one."""
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    body = relay.nn.softmax(relay.nn.dense(relay.nn.leaky_relu(relay.exp(x), alpha=0.5), w))
    session = wb.open(wb.IRModule.from_expr(relay.Function([x, w], body)))
    schedule = session.schedule(next(kernel for kernel in session.kernels if "leaky" in kernel))
    screen = Workbench(session, schedule)
    loop = schedule.get_loops(schedule.get_block("leaky_relu"))[0]
    schedule.annotate(loop, "a", 1)
    assert screen.session
    call = next(one for one in ask(screen, "calls", layer="relay")["calls"] if "leaky" in one["op"])
    place = {"layer": "relay", "step": "", "place": call["place"], "number": call["number"]}
    ask(screen, "set_attribute", **place, name="alpha", text="0.25")
    schedule.parallel(loop)
    assert ask(screen, "open")["trouble"]["code"] == "E-EDIT-SCHEDULE"
    return screen, schedule


def in_session(screen: Workbench, schedule: Schedule) -> list[str]:
    return names(screen.session.schedule(schedule.func_working_on))


def test_a_cells_move_that_was_refused_is_taken_over_once_it_fits() -> None:
    screen, schedule = refusing()
    ask(screen, "pipeline.undo")
    told = ask(screen, "open")
    assert told["trouble"] is None and "T.parallel" in schedule.script()
    assert in_session(screen, schedule) == names(schedule)
    assert "sch.parallel(" in told["calls"][-1], told["calls"]


def test_a_refused_move_is_told_and_tried_again_after_a_click_on_another_kernel() -> None:
    screen, schedule = refusing()
    kernel = next(kernel for kernel in screen.session.kernels if "softmax" in kernel)
    box = ask(screen, "schedule.open", kernel=kernel)["tree"][0]["id"]
    ask(screen, "schedule.apply", kernel=kernel, primitive="annotate", selection=box,
        arguments={"ann_key": "a", "ann_val": 1})  # fmt: skip
    assert ask(screen, "open")["trouble"]["code"] == "E-EDIT-SCHEDULE"
    ask(screen, "pipeline.undo")
    assert ask(screen, "open")["trouble"]["code"] == "E-EDIT-SCHEDULE"
    ask(screen, "pipeline.undo")
    assert ask(screen, "open")["trouble"] is None
    assert in_session(screen, schedule) == names(schedule) and names(schedule)[-1] == "parallel"


def test_a_refused_move_of_an_open_editor_stays_while_another_kernel_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    session = wb.open(small_model())
    product = named(session, DENSE)
    schedule = session.schedule(product)
    screen = Workbench(session, schedule)
    other = next(kernel for kernel in session.kernels if kernel != product)
    box = ask(screen, "schedule.open", kernel=other)["tree"][0]["id"]
    loop = schedule.get_loops("dense_init")[0]
    with monkeypatch.context() as patch:
        patch.setattr(type(session), "edit", refusal)
        schedule.unroll(loop)
        assert ask(screen, "open")["trouble"]["code"] == "E-TEST"
        ask(screen, "schedule.open", kernel=product)  # what asks only is no further attempt
        assert refused(screen, "schedule.apply", kernel=product, primitive="annotate", selection="l:dense_init:0",
                       arguments={"ann_key": "b", "ann_val": 1})["code"] == "E-TEST"  # fmt: skip
        assert ask(screen, "open")["trouble"]["code"] == "E-TEST" and names(schedule)[-1] == "unroll"
    ask(screen, "schedule.apply", kernel=other, primitive="annotate", selection=box,
        arguments={"ann_key": "a", "ann_val": 1})  # fmt: skip
    told = ask(screen, "open")
    assert names(schedule)[-1] == "unroll" and told["trouble"] is None and len(told["calls"]) == 2
    assert in_session(screen, schedule) == names(schedule)


def refusal(*_: object, **__: object) -> None:
    raise WorkbenchError("E-TEST", "not now")


def test_moves_after_a_look_that_only_asked_are_told_all() -> None:
    screen, schedule = of_matmul()
    schedule.parallel(schedule.get_loops("C")[0])
    assert screen.session
    loops = schedule.get_loops("C")
    assert screen.session
    schedule.unroll(loops[2])
    schedule.vectorize(loops[1])
    assert [call.count("sch.unroll") + call.count("sch.vectorize") for call in ask(screen, "open")["calls"]] == [0, 2]
